//! Checks everything that nodes said over a whole test against what must never happen.

use std::collections::BTreeMap;

use electd::node::status::Status;

/// Every status that a test has seen, in short.
pub struct Record {
    may_split: bool,
    /// The node that said `leading` in each epoch.
    leaders: BTreeMap<u64, String>,
    /// The greatest epoch that each life of each node has told.
    epochs: BTreeMap<(String, u64), u64>,
    /// The greatest epoch that each node has led in, over all its starts.
    led: BTreeMap<String, u64>,
}

impl Record {
    /// An empty one. In mode none, either side of a partition has a leader, in epochs that may be the same.
    pub fn of(may_split: bool) -> Record {
        let (leaders, epochs, led) = Default::default();
        Record { may_split, leaders, epochs, led }
    }

    /// Takes a status in, or says which promise it breaks.
    pub fn take(&mut self, status: &Status) -> Result<(), String> {
        let (name, epoch) = (&status.node.name, status.epoch);
        let told = self.epochs.entry((name.clone(), status.incarnation)).or_default();
        if epoch < *told {
            return Err(format!("{name} went back from epoch {told} to {epoch}"));
        }
        *told = epoch;
        if status.state != "leading" {
            return Ok(());
        }
        let first = self.leaders.entry(epoch).or_insert_with(|| name.clone());
        if first != name && !self.may_split {
            return Err(format!("{first} and {name} both led in epoch {epoch}"));
        }
        let last = self.led.entry(name.clone()).or_default();
        if epoch < *last {
            return Err(format!("{name} led in epoch {last} and then in {epoch}"));
        }
        *last = epoch;
        Ok(())
    }

    /// The greatest epoch that anybody has told.
    pub fn greatest_epoch(&self) -> u64 {
        self.epochs.values().copied().max().unwrap_or(0)
    }
}
