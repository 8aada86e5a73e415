//! Which message that one node sent is which that another took.
//!
//! Both record its kind, its number, and how many messages went before it on its connection. A connection keeps the
//! order, and loses nothing but its end. So first each connection that the sender had is found among those that the
//! receiver had, within one start of each, and then each message within its connection: no clock is asked.

use std::collections::BTreeMap;

use crate::trace::record::{Entry, Record};

/// The connections of one way that are compared, the latest ones: a member that comes and goes has more.
const MOST_CONNECTIONS: usize = 256;

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
                for (sent, taken) in (SentMessages { from, to }).pairs() {
                    pairs.join((sender, sent), (receiver, taken));
                }
            }
        }
        pairs
    }
}

/// All that one node sent to another.
struct SentMessages<'r> {
    from: &'r Record,
    to: &'r Record,
}

/// The messages of one connection, by their places in the record of one end.
type Conversation = Vec<usize>;

/// Messages by their places: where they were sent, and where they were taken.
type Matched = Vec<(usize, usize)>;

impl SentMessages<'_> {
    fn pairs(&self) -> Matched {
        let (sent, taken) = (self.sent(), self.taken());
        let mut all = Matched::new();
        for (out, into, found) in self.chain(&sent, &taken) {
            // A message that its sender counted as one of the connection before, as it did not know of this one yet.
            let early = found.first().map_or(0, |(first, at)| {
                let place = |entry: &Entry| entry.place.unwrap_or(0);
                place(&self.to.entries[*at]).saturating_sub(place(&self.from.entries[*first]))
            });
            let before = out.checked_sub(1).filter(|_| early > 0);
            let before = before.map_or(&[][..], |before| &sent[before].0);
            let open = before.iter().filter(|at| !all.iter().any(|(sent, _)| sent == *at));
            let open: Conversation = open.copied().collect();
            let late = open.len().saturating_sub(usize::try_from(early).unwrap_or(usize::MAX));
            let head: Conversation =
                taken[into].iter().copied().take_while(|at| *at < found[0].1).collect();
            all.extend(self.in_order(&open[late..], &head, said));
            all.extend(found);
        }
        all
    }

    /// What was sent, by connections, and whether each of them was one to the receiver's present process.
    fn sent(&self) -> Vec<(Conversation, bool)> {
        let mut all = vec![(Conversation::new(), true)];
        for (at, entry) in self.from.entries.iter().enumerate() {
            match entry.what.as_str() {
                _ if entry.peer.as_ref() != Some(&self.to.node) => {}
                "connected" => {
                    let is_present =
                        entry.incarnation.is_none_or(|started| started == self.to.incarnation);
                    all.push((Conversation::new(), is_present));
                }
                "sent" => {
                    if self.begins_anew(&self.from.entries, all.last().map(|last| &last.0), at) {
                        all.push((Conversation::new(), true));
                    }
                    if let Some((last, _)) = all.last_mut() {
                        last.push(at);
                    }
                }
                _ => {}
            }
        }
        all.split_off(all.len().saturating_sub(MOST_CONNECTIONS))
    }

    /// What the sender's present process sent and the receiver took, by connections.
    fn taken(&self) -> Vec<Conversation> {
        let mut all = vec![Conversation::new()];
        for (at, entry) in self.to.entries.iter().enumerate() {
            let is_one = entry.peer.as_ref() == Some(&self.from.node)
                && entry.incarnation == Some(self.from.incarnation);
            match entry.what.as_str() {
                _ if !is_one => {}
                "met" => all.push(Conversation::new()),
                "got" => {
                    if self.begins_anew(&self.to.entries, all.last(), at) {
                        all.push(Conversation::new());
                    }
                    if let Some(last) = all.last_mut() {
                        last.push(at);
                    }
                }
                _ => {}
            }
        }
        all.retain(|connection| !connection.is_empty());
        all.split_off(all.len().saturating_sub(MOST_CONNECTIONS))
    }

    /// Whether a message is the first that was recorded of another connection than this one.
    fn begins_anew(&self, entries: &[Entry], present: Option<&Conversation>, at: usize) -> bool {
        let last = present.and_then(|present| present.last());
        last.is_some_and(|last| entries[at].place <= entries[*last].place)
    }

    /// Which connection of the sender is which of the receiver, with the messages on it. All are in order on both sides,
    /// so those are taken that have the most messages in common together.
    fn chain(
        &self,
        sent: &[(Conversation, bool)],
        taken: &[Conversation],
    ) -> Vec<(usize, usize, Matched)> {
        let found: Vec<Vec<(u64, Matched)>> = sent
            .iter()
            .map(|(out, is_present)| {
                let out = if *is_present { &out[..] } else { &[] };
                taken.iter().map(|into| self.matches(out, into)).collect()
            })
            .collect();
        // The most that the connections up to these have in common.
        let mut most = vec![vec![0; taken.len() + 1]; sent.len() + 1];
        for (out, row) in found.iter().enumerate() {
            for (into, (weight, _)) in row.iter().enumerate() {
                let both = most[out][into] + weight;
                most[out + 1][into + 1] = both.max(most[out][into + 1]).max(most[out + 1][into]);
            }
        }
        let (mut out, mut into, mut chain) = (sent.len(), taken.len(), Vec::new());
        while out > 0 && into > 0 {
            let (weight, found) = &found[out - 1][into - 1];
            if most[out][into] == most[out - 1][into] {
                out -= 1;
            } else if most[out][into] == most[out][into - 1] || *weight == 0 {
                into -= 1;
            } else {
                (out, into) = (out - 1, into - 1);
                chain.push((out, into, found.clone()));
            }
        }
        chain.reverse();
        chain
    }

    /// The messages that were sent and taken, if these are the two ends of one connection, and how much speaks for it.
    fn matches(&self, sent: &[usize], taken: &[usize]) -> (u64, Matched) {
        let (weight, by_place) = self.by_place(sent, taken);
        // Where the sender began to count too late, the places show less than the order.
        let by_order = self.in_order(sent, taken, said);
        let weight = weight + by_order.len().max(by_place.len()) as u64;
        (weight, if by_order.len() > by_place.len() { by_order } else { by_place })
    }

    /// The same, first of all by their places, and how many of these are equal.
    fn by_place(&self, sent: &[usize], taken: &[usize]) -> (u64, Matched) {
        let exact = self.in_order(sent, taken, |entry| (said(entry), entry.place));
        let mut found = Matched::new();
        let (mut from, mut into) = (0, 0);
        // Where a message was dropped the counts differ: the order shows what the places do not.
        for (out, at) in exact.iter().copied().map(Some).chain([None]).map(|pair| {
            let place = |all: &[usize], at: usize| all.partition_point(|one| *one < at);
            pair.map_or((sent.len(), taken.len()), |(out, at)| (place(sent, out), place(taken, at)))
        }) {
            found.extend(self.in_order(&sent[from..out], &taken[into..at], said));
            if out < sent.len() {
                found.push((sent[out], taken[at]));
            }
            (from, into) = (out + 1, at + 1);
        }
        (exact.len() as u64, found)
    }

    /// Finds each message that was taken among those that were sent, all in one order.
    fn in_order<K: Ord>(
        &self,
        sent: &[usize],
        taken: &[usize],
        key: impl Fn(&Entry) -> K,
    ) -> Matched {
        let mut places: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for at in sent {
            places.entry(key(&self.from.entries[*at])).or_default().push(*at);
        }
        let (mut next, mut found) = (0, Matched::new());
        for at in taken {
            let Some(places) = places.get(&key(&self.to.entries[*at])) else { continue };
            if let Some(place) = places.get(places.partition_point(|place| *place < next)) {
                found.push((*place, *at));
                next = place + 1;
            }
        }
        found
    }
}

/// What a message said, as far as it was recorded. Its first word is the name of its kind, which versions write in
/// different ways.
fn said(entry: &Entry) -> impl Ord + use<> {
    let more = entry.label.split_once(' ').map(|(_, more)| more.to_owned());
    (entry.kind.clone(), entry.number, more)
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

    /// What a sent to b or b took of a: each start of a connection with the peer's incarnation, `+1`, and each message
    /// with its place, `DEAD 4`.
    fn record(node: &str, peer: &str, words: &[&str]) -> Record {
        let entries = words.iter().enumerate().map(|(at, word)| {
            let (first, rest) = word.split_at(1);
            let begins = first == "+";
            let (label, place) = word.split_once(' ').unwrap_or((word, ""));
            let what = match (node, begins) {
                ("a", true) => "connected",
                ("a", false) => "sent",
                (_, true) => "met",
                (_, false) => "got",
            };
            Entry {
                n: at as u64,
                at_ns: at as u64,
                what: what.to_owned(),
                peer: Some(peer.to_owned()),
                label: label.to_owned(),
                kind: Some(label.to_lowercase().into()),
                place: place.parse().ok(),
                incarnation: if begins { rest.parse().ok() } else { Some(1) },
                ..Entry::default()
            }
        });
        let (node, entries) = (node.to_owned(), entries.collect());
        Record { node, incarnation: 1, entries, ..Record::default() }
    }

    fn found(sent: &[&str], taken: &[&str]) -> Vec<(usize, usize)> {
        let (from, to) = (record("a", "b", sent), record("b", "a", taken));
        let pairs = Pairs::find(&[&from, &to]);
        pairs.iter().map(|(sent, taken)| (sent.1, taken.1)).collect()
    }

    #[test]
    fn a_message_is_found_on_its_own_connection_and_not_on_a_later_one() {
        let sent = ["+1", "DEAD 3", "+1", "LIST 0", "DEAD 4"];
        assert_eq!(
            found(&sent, &["+1", "LIST 0", "DEAD 4"]),
            [(3, 1), (4, 2)],
            "the first was lost"
        );
        assert_eq!(
            found(&sent, &["+1", "LIST 0", "DEAD 3"]),
            [(3, 1), (4, 2)],
            "one was not counted"
        );
        assert_eq!(found(&sent, &["+1", "DEAD 3", "+1", "LIST 0"]), [(1, 1), (3, 3)]);
        let again = ["+1", "DEAD 3", "+1", "DEAD 3", "+1", "DEAD 3"];
        assert_eq!(found(&again, &["+1", "DEAD 3", "+1", "DEAD 3", "+1", "DEAD 3"]).len(), 3);
    }

    #[test]
    fn what_went_to_an_earlier_process_was_not_taken_by_a_later_one() {
        let sent = ["+0", "DEAD 3", "LIST 4", "+1", "TASK 1", "DEAD 3"];
        assert_eq!(found(&sent, &["+1", "TASK 1", "DEAD 3"]), [(4, 1), (5, 2)]);
        assert_eq!(found(&sent, &["+1", "LIST 4"]), [], "another process sent it");
    }

    #[test]
    fn a_message_that_left_before_its_sender_knew_of_the_connection_is_found() {
        let sent = ["+1", "TASK 0", "DEAD 7", "+1", "LIST 0", "LIST 1"];
        let taken = ["+1", "TASK 0", "+1", "DEAD 0", "LIST 1", "LIST 2"];
        assert_eq!(found(&sent, &taken), [(1, 1), (2, 3), (4, 4), (5, 5)]);
    }

    #[test]
    fn a_member_that_comes_and_goes_is_compared_as_far_as_that_costs_little() {
        let sent: Vec<&str> = ["+1", "DEAD 0"].repeat(300);
        let found = found(&sent, &sent);
        assert_eq!((found.len(), found.last()), (256, Some(&(599, 599))));
    }
}
