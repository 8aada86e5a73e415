//! Members that elect and record it.

use std::collections::BTreeMap;

use crate::trace::merge::TimedRecord;
use crate::trace::record::{Entry, Record};

/// Members, each with a clock of its own. Times are in microseconds by a clock that none of them has.
pub struct World {
    pub records: Vec<TimedRecord>,
    pub ahead: Vec<i128>,
    /// How many messages each sent to each on the present connection.
    pub places: BTreeMap<(usize, usize), u64>,
}

/// A message that was sent.
#[derive(Clone)]
pub struct Message {
    from: usize,
    to: usize,
    entry: Entry,
}

/// By its own clock a member is up for so long when all begins.
pub const UPTIME: i128 = 60_000_000_000;

impl World {
    pub fn of(names: [&str; 4]) -> World {
        let records = names.map(|node| TimedRecord {
            record: Record {
                node: node.to_owned(),
                cluster: "test".to_owned(),
                incarnation: 1,
                algorithm: "bully".to_owned(),
                now_ns: 2 * UPTIME as u64,
                members: names.map(str::to_owned).to_vec(),
                ..Record::default()
            },
            ahead_ns: -UPTIME,
        });
        World { records: records.to_vec(), ahead: vec![0; 4], places: BTreeMap::new() }
    }

    /// The clocks of the members are ahead by so much, in milliseconds, and nobody knows.
    pub fn skewed(mut self, ahead_ms: [i128; 4]) -> World {
        self.ahead = ahead_ms.map(|ahead| ahead * 1_000_000).to_vec();
        self
    }

    pub fn add(&mut self, node: usize, at: u64, mut entry: Entry, causes: &[u64]) -> u64 {
        let time = i128::from(at) * 1000 + UPTIME + self.ahead[node];
        let entries = &mut self.records[node].record.entries;
        let n = entries.len() as u64 + 1;
        (entry.n, entry.at_ns, entry.causes) = (n, time as u64, causes.to_vec());
        entries.push(entry);
        n
    }

    pub fn became(&mut self, node: usize, at: u64, (phase, epoch): (&str, u64), cause: u64) -> u64 {
        let leader = (epoch > 1).then(|| "c".to_owned()).filter(|_| phase != "electing");
        let entry = Entry {
            what: "became".to_owned(),
            label: phase.to_owned(),
            phase: Some(phase.to_owned()),
            number: Some(epoch),
            leader,
            ..Entry::default()
        };
        self.add(node, at, entry, &[cause])
    }

    pub fn sees(&mut self, node: usize, at: u64, what: &str, peer: usize) -> u64 {
        let (what, peer) = (what.to_owned(), Some(self.records[peer].record.node.clone()));
        self.add(node, at, Entry { what: what.clone(), label: what, peer, ..Entry::default() }, &[])
    }

    pub fn send(
        &mut self,
        (from, to): (usize, usize),
        at: u64,
        (kind, number): (&str, u64),
        cause: u64,
    ) -> Message {
        let place = self.places.entry((from, to)).or_default();
        let entry = Entry {
            what: "sent".to_owned(),
            label: format!("{} {number}", kind.to_uppercase()),
            peer: Some(self.records[to].record.node.clone()),
            kind: Some(kind.to_owned().into()),
            number: Some(number),
            place: Some(*place),
            ..Entry::default()
        };
        *place += 1;
        self.add(from, at, entry.clone(), &[cause]);
        Message { from, to, entry }
    }

    pub fn take(&mut self, message: &Message, at: u64) -> u64 {
        let Record { node, incarnation, .. } = &self.records[message.from].record;
        let entry = Entry {
            what: "got".to_owned(),
            peer: Some(node.clone()),
            incarnation: Some(*incarnation),
            ..message.entry.clone()
        };
        self.add(message.to, at, entry, &[])
    }

    /// The connection is another one.
    pub fn reconnects(&mut self, from: usize, to: usize) {
        self.places.insert((from, to), 0);
    }

    /// Member d is dead. a notices it and asks b and c; b asks c; c leads in this epoch.
    pub fn fails_over(&mut self, epoch: u64, begin: u64) {
        let t = |after: u64| begin + after;
        let (a, b, c) = (0, 1, 2);
        let death = self.sees(a, t(0), "ended", 3);
        self.became(a, t(0), ("electing", epoch - 1), death);
        let to_b = self.send((a, b), t(0), ("election", epoch), death);
        let to_c = self.send((a, c), t(0), ("election", epoch), death);
        self.sees(a, t(100), "lost", 3); // of which nothing comes
        let asked = self.take(&to_b, t(200));
        let yes = self.send((b, a), t(200), ("answer", epoch), asked);
        self.became(b, t(200), ("electing", epoch - 1), asked);
        let also = self.send((b, c), t(200), ("election", epoch), asked);
        let asked = self.take(&to_c, t(300));
        let yes_too = self.send((c, a), t(300), ("answer", epoch), asked);
        self.became(c, t(300), ("leading", epoch), asked);
        let news = [a, b].map(|to| self.send((c, to), t(300), ("coordinator", epoch), asked));
        let asked = self.take(&also, t(450));
        let yes_again = self.send((c, b), t(450), ("answer", epoch), asked);
        self.take(&yes, t(400));
        self.take(&yes_too, t(500));
        for (to, news) in [a, b].into_iter().zip(&news) {
            let heard = self.take(news, t(600));
            self.became(to, t(600), ("following", epoch), heard);
        }
        self.take(&yes_again, t(650));
    }

    /// All led by d, in epoch 1.
    pub fn settle(&mut self) {
        for node in 0..4 {
            self.became(node, 0, (if node == 3 { "leading" } else { "following" }, 1), 0);
        }
    }

    /// d tells nothing.
    pub fn without_d(&mut self) -> Vec<TimedRecord> {
        self.records.iter().filter(|timed| timed.record.node != "d").cloned().collect()
    }
}

pub fn failover() -> World {
    let mut world = World::of(["a", "b", "c", "d"]);
    world.settle();
    world.fails_over(2, 1_000_000);
    world
}
