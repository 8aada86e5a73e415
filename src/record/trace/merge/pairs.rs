//! Which message that one node sent is which that another took.
//!
//! Both record its kind, its number, and how many messages went before it on its connection: these are the same. A
//! connection keeps the order, and loses nothing but its end; so does a pair of connections, one after the other.

use std::collections::BTreeMap;

use crate::trace::record::{Entry, Record};

/// An entry: the place of its record, and its place in that.
pub type At = (usize, usize);

/// The messages of which both ends were recorded.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Where each was sent, by where it was taken; and the other way round.
    sent: BTreeMap<At, At>,
    taken: BTreeMap<At, At>,
}

impl Pairs {
    /// Where the message that was taken here was sent.
    pub fn sent(&self, taken: At) -> Option<At> {
        self.sent.get(&taken).copied()
    }

    /// Where the message that was sent here was taken.
    pub fn taken(&self, sent: At) -> Option<At> {
        self.taken.get(&sent).copied()
    }

    /// All of them: where each was sent, and where it was taken.
    pub fn iter(&self) -> impl Iterator<Item = (At, At)> {
        self.taken.iter().map(|(sent, taken)| (*sent, *taken))
    }

    /// These are not one message.
    pub fn part(&mut self, taken: At) {
        if let Some(sent) = self.sent.remove(&taken) {
            self.taken.remove(&sent);
        }
    }

    fn join(&mut self, sent: At, taken: At) {
        self.sent.insert(taken, sent);
        self.taken.insert(sent, taken);
    }

    /// Finds the pairs in these records.
    pub fn find(records: &[&Record]) -> Pairs {
        let mut pairs = Pairs::default();
        for (sender, from) in records.iter().enumerate() {
            for (receiver, to) in records.iter().enumerate() {
                let sent = messages(from, "sent", |entry| entry.peer.as_ref() == Some(&to.node));
                let taken = messages(to, "got", |entry| {
                    entry.peer.as_ref() == Some(&from.node)
                        && entry.incarnation == Some(from.incarnation)
                });
                for (out, into) in matches(from, &sent, to, &taken) {
                    pairs.join((sender, sent[out]), (receiver, taken[into]));
                }
            }
        }
        pairs
    }
}

fn messages(record: &Record, what: &str, is_one: impl Fn(&Entry) -> bool) -> Vec<usize> {
    let entries = record.entries.iter().enumerate();
    entries.filter(|(_, entry)| entry.what == what && is_one(entry)).map(|(at, _)| at).collect()
}

/// The messages of one sender to one receiver that were taken, by their places in these lists.
fn matches(from: &Record, sent: &[usize], to: &Record, taken: &[usize]) -> Vec<(usize, usize)> {
    let (sent, taken): (Vec<&Entry>, Vec<&Entry>) = (
        sent.iter().map(|at| &from.entries[*at]).collect(),
        taken.iter().map(|at| &to.entries[*at]).collect(),
    );
    let said = |entry: &Entry| (entry.kind.clone(), entry.number, entry.label.clone());
    let placed = |entry: &Entry| (said(entry), entry.place);
    let exact = in_order(&sent, &taken, 0..sent.len(), 0..taken.len(), placed);
    // Where a message was dropped, or one left before its sender knew of the connection, the counts differ: the order
    // tells what the places do not.
    let mut found = Vec::new();
    let (mut from, mut into) = (0, 0);
    for (out, at) in exact.into_iter().chain([(sent.len(), taken.len())]) {
        found.extend(in_order(&sent, &taken, from..out, into..at, said));
        if out < sent.len() {
            found.push((out, at));
        }
        (from, into) = (out + 1, at + 1);
    }
    found
}

/// Finds each message that was taken among those that were sent, all in one order.
fn in_order<K: Ord>(
    sent: &[&Entry],
    taken: &[&Entry],
    from: std::ops::Range<usize>,
    into: std::ops::Range<usize>,
    key: impl Fn(&Entry) -> K,
) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for at in from.clone() {
        places.entry(key(sent[at])).or_default().push(at);
    }
    let (mut next, mut found) = (from.start, Vec::new());
    for at in into {
        let Some(places) = places.get(&key(taken[at])) else { continue };
        if let Some(place) = places.get(places.partition_point(|place| *place < next)) {
            found.push((*place, at));
            next = place + 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_that_are_parted_are_ends_of_no_message() {
        let mut pairs = Pairs::default();
        pairs.join((0, 1), (1, 2));
        pairs.join((0, 3), (1, 4));
        pairs.part((1, 2));
        pairs.part((1, 2)); // nothing is left to do
        assert_eq!((pairs.sent((1, 2)), pairs.taken((0, 1))), (None, None));
        assert_eq!(pairs.iter().collect::<Vec<_>>(), [((0, 3), (1, 4))]);
        assert_eq!((pairs.sent((1, 4)), pairs.taken((0, 3))), (Some((0, 3)), Some((1, 4))));
    }
}
