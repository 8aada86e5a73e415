//! The latest part of a record, and how much that holds at most: more than any node tells, so that a member that lies in
//! its record harms nobody who merges it with those of others.

use std::collections::BTreeSet;

use super::record::{Entry, MessageKind, Record};

/// The entries that are merged where memory is scarce: more than 16 elections of 64 members.
const LATEST: usize = 4096;

/// The names in them: those of all members, and of many that were removed.
const MOST_NAMES: usize = 512;
/// The bytes of their words.
const MOST_TEXT: usize = 1024 * 1024;
/// Their causes, of which each takes 8 bytes of a node's record.
const MOST_CAUSES: usize = 192 * 1024;
/// The entries of one turn, in which a member tells each other something a few times.
const MOST_AT_ONCE: usize = 512;

impl Record {
    /// The same with its latest entries alone, to be merged in a process that has better things to do.
    ///
    /// ```
    /// use electd_record::trace::record::{Entry, Record};
    ///
    /// let entries = (0..5000).map(|n| Entry { n, at_ns: n, ..Entry::default() }).collect();
    /// let latest = Record { entries, ..Record::default() }.latest()?;
    /// assert_eq!((latest.entries.len(), latest.entries[0].n), (4096, 904));
    /// assert_eq!(latest.since_ns, 904, "nothing is missing from there on");
    /// # Ok::<(), &str>(())
    /// ```
    ///
    /// # Errors
    /// If they hold more than those of any node, with what there is too much of.
    pub fn latest(mut self) -> Result<Record, &'static str> {
        let left_out = self.entries.len().saturating_sub(LATEST);
        self.entries.drain(..left_out);
        if let Some(first) = self.entries.first().filter(|_| left_out > 0) {
            self.since_ns = self.since_ns.max(first.at_ns);
        }
        let entries = &self.entries;
        let peers = entries.iter().filter_map(|entry| entry.peer.as_ref());
        let names: BTreeSet<&String> = self.members.iter().chain(peers).collect();
        let is_too_much = [
            (names.len().max(self.members.len()) > MOST_NAMES, "too many names"),
            (
                names
                    .into_iter()
                    .map(|name| &**name)
                    .chain(words(entries))
                    .map(str::len)
                    .sum::<usize>()
                    > MOST_TEXT,
                "too many words",
            ),
            (
                entries.iter().map(|entry| entry.causes.len()).sum::<usize>() > MOST_CAUSES,
                "too many causes",
            ),
            (
                entries.chunk_by(|a, b| a.at_ns == b.at_ns).any(|turn| turn.len() > MOST_AT_ONCE),
                "too much at one time",
            ),
        ];
        match is_too_much.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, what)) => Err(what),
            None => Ok(self),
        }
    }
}

/// All words of these entries.
fn words(entries: &[Entry]) -> impl Iterator<Item = &str> {
    entries.iter().flat_map(|Entry { what, label, kind, phase, leader, reason, .. }| {
        let kind = kind.as_ref().map(MessageKind::name);
        let words = [phase, leader, reason].map(Option::as_deref);
        [&**what, &**label].into_iter().chain(kind).chain(words.into_iter().flatten())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_holds_more_than_a_nodes_is_refused_with_what_is_too_much() {
        let entry = |n: u64| Entry { n, at_ns: n, what: "sent".to_owned(), ..Entry::default() };
        let with = |change: fn(&mut Entry, u64)| {
            let entries = (0..4096).map(|n| {
                let mut entry = entry(n);
                change(&mut entry, n);
                entry
            });
            Record { entries: entries.collect(), ..Record::default() }.latest()
        };
        assert_eq!(with(|_, _| {}).unwrap().entries.len(), 4096);
        assert_eq!(with(|entry, n| entry.peer = Some(n.to_string())), Err("too many names"));
        assert_eq!(with(|entry, _| entry.reason = Some("a".repeat(300))), Err("too many words"));
        assert_eq!(with(|entry, _| entry.causes = vec![0; 64]), Err("too many causes"));
        assert_eq!(with(|entry, n| entry.at_ns = n / 600), Err("too much at one time"));
        let all = with(|entry, n| {
            (entry.peer, entry.reason) = (Some(n.to_string()), Some("a".repeat(300)));
            (entry.causes, entry.at_ns) = (vec![0; 64], n / 600);
        });
        assert_eq!(all, Err("too many names"), "what is told first");
        let members = vec!["a".to_owned(); 513];
        assert_eq!(Record { members, ..Record::default() }.latest(), Err("too many names"));
    }

    #[test]
    fn a_record_that_holds_as_much_as_it_may_is_taken() {
        let entry = |n: u64| Entry { n, at_ns: n, ..Entry::default() };
        let holds = |entries: Vec<Entry>| Record { entries, ..Record::default() }.latest().is_ok();
        let peers = |count: u64| {
            (0..count).map(|n| Entry { peer: Some(n.to_string()), ..entry(n) }).collect::<Vec<_>>()
        };
        assert!(holds(peers(512)) && !holds(peers(513)));
        let words = |bytes: usize| vec![Entry { label: "a".repeat(bytes), ..entry(0) }];
        assert!(holds(words(1_048_576)) && !holds(words(1_048_577)));
        // All words of an entry count.
        let text = |bytes: usize| Some("a".repeat(bytes));
        let each = |more: usize| {
            let (label, what) = ("a".repeat(149_796), "a".repeat(149_796 + more));
            let [phase, leader, reason, peer] = std::array::from_fn(|_| text(149_796));
            let kind = text(149_796).map(MessageKind::Other);
            let entry = Entry { label, what, kind, phase, leader, reason, peer, ..entry(0) };
            Record { entries: vec![entry], members: vec!["abcd".to_owned()], ..Record::default() }
                .latest()
        };
        assert!(each(0).is_ok());
        assert_eq!(each(1), Err("too many words"));
        let caused = |count: usize| vec![Entry { causes: vec![0; count], ..entry(0) }];
        assert!(holds(caused(196_608)) && !holds(caused(196_609)));
        let at_once = |count: usize| vec![entry(0); count];
        assert!(holds(at_once(512)) && !holds(at_once(513)));
    }

    #[test]
    fn the_latest_entries_stay_and_nothing_is_missing_since_the_first_of_them() {
        let latest = |count: u64, since_ns: u64| {
            let entries = (0..count).map(|n| Entry { n, at_ns: 10 + n, ..Entry::default() });
            let record = Record { since_ns, entries: entries.collect(), ..Record::default() };
            let latest = record.latest().unwrap();
            (latest.entries.len(), latest.entries[0].n, latest.since_ns)
        };
        assert_eq!(latest(4096, 3), (4096, 0, 3), "all of them");
        assert_eq!(latest(4099, 3), (4096, 3, 13));
        assert_eq!(latest(4099, 20), (4096, 3, 20), "the record began later");
    }
}
