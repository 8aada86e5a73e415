//! One order of all entries, in which nothing comes before what brought it about.

use super::pairs::{At, Pairs};
use crate::trace::record::Record;

/// All entries in order, and when each happened by the common clock: never before an entry that precedes it.
pub struct CommonOrder {
    pub all: Vec<At>,
    times: Vec<Vec<i128>>,
}

impl CommonOrder {
    /// When this happened.
    pub fn time(&self, at: At) -> i128 {
        self.times[at.0][at.1]
    }

    /// The order of these records, whose clocks are advanced by this. Each record keeps its own order, and a message is
    /// sent before it is taken. Pairs that make that impossible, as no honest records do, are parted.
    pub fn of(records: &[&Record], ahead: &[i128], pairs: &mut Pairs) -> CommonOrder {
        let mut all = Vec::new();
        let mut times: Vec<Vec<i128>> = records.iter().map(|_| Vec::new()).collect();
        loop {
            let next = times.iter().enumerate().filter_map(|(record, done)| {
                let (at, entry) = ((record, done.len()), records[record].entries.get(done.len())?);
                let before = done.last().copied();
                let sent = pairs.sent(at).map(|sent| times[sent.0].get(sent.1).copied());
                let own = i128::from(entry.at_ns) + ahead[record];
                let time = own.max(before.unwrap_or(own)).max(sent.flatten().unwrap_or(own));
                Some((sent == Some(None), time, at))
            });
            let Some((waits, time, at)) = next.min() else { return CommonOrder { all, times } };
            if waits {
                pairs.part(at); // each record waits for another
            } else {
                times[at.0].push(time);
                all.push(at);
            }
        }
    }
}
