//! Which of all events belong to an election: what its leader did until it led, what the others did until they followed
//! it, what brought that about, and what came of it.

use std::collections::{BTreeMap, BTreeSet};

use super::election::Which;
use super::order::CommonOrder;
use super::pairs::{At, Pairs};
use crate::core::message::Kind;
use crate::trace::record::{Entry, Record};

/// How long before and after the leader another member may notice that it needs one, for what it does then to be a part of
/// the same election. A member that called elections for hours without success joins one, too.
const TOGETHER: i128 = 1_000_000_000;

/// A time in which a member had no leader; or the moment at which it got another.
struct Gap {
    record: usize,
    /// The epoch of the leader that it had before, and since when; none if it had none since it was started.
    before: Option<(u64, i128)>,
    start: i128,
    /// None while it lasts.
    end: Option<i128>,
    /// The epoch in which it ended, and whether this member leads in it.
    epoch: u64,
    leads: bool,
}

/// The entries that belong together.
pub struct Selected {
    /// The epoch of the election; none if it has not ended.
    pub epoch: Option<u64>,
    /// The epoch of the last leader that the members had in common before, if any had one.
    pub common: Option<u64>,
    pub entries: BTreeSet<At>,
}

/// What is known of all records.
pub struct KnownRecords<'a> {
    pub records: &'a [&'a Record],
    pub pairs: &'a Pairs,
    pub order: &'a CommonOrder,
}

impl KnownRecords<'_> {
    /// The entries of this election; none if nobody recorded it.
    pub fn select(&self, which: Which) -> Option<Selected> {
        let gaps = self.gaps();
        let last = gaps.iter().filter(|gap| gap.end.is_some()).map(|gap| gap.epoch).max();
        let is_open = |record| gaps.iter().any(|gap| gap.record == record && gap.end.is_none());
        let epoch = match which {
            Which::All => {
                let entries = self.order.all.iter().copied().collect();
                return Some(Selected { epoch: None, common: None, entries });
            }
            Which::Epoch(epoch) => epoch,
            Which::Last if (0..self.records.len()).all(is_open) => return self.under_way(&gaps),
            Which::Last => last?,
        };
        let of_epoch = || gaps.iter().filter(|gap| gap.end.is_some() && gap.epoch == epoch);
        let leader = of_epoch().find(|gap| gap.leads);
        let first = leader.or_else(|| of_epoch().min_by_key(|gap| gap.end))?;
        let first_end = first.end?;
        let together = || of_epoch().filter(|gap| gap.start <= first_end + TOGETHER);
        let end =
            if leader.is_some() { first.end } else { together().filter_map(|gap| gap.end).max() };
        let end = end?;
        // A member without a leader when there was a new one had lost one, too.
        let is_open = |gap: &&Gap| {
            gap.end.is_none_or(|until| until > first_end)
                && gap.epoch != epoch
                && gap.before.is_none_or(|(before, _)| before < epoch)
        };
        let lost = || together().chain(gaps.iter().filter(is_open));
        let ElectionBegin { start, earliest } = begin(lost(), first.start, first_end);
        let is_in_gap = |at: &At, time: i128| {
            let mut own = of_epoch().filter(|gap| gap.record == at.0 && gap.start <= end);
            own.any(|gap| (gap.start.max(start)..=gap.end.unwrap_or(end)).contains(&time))
        };
        let is_first = |at: &At| {
            let (time, entry) = (self.order.time(*at), self.entry(*at));
            let is_of_leader = at.0 == first.record && (first.start..=first_end).contains(&time);
            let is_named = entry.elects(epoch) || time <= end && entry.tells_of(epoch);
            time >= start && (is_in_gap(at, time) || is_of_leader || is_named)
        };
        let first: Vec<At> = self.order.all.iter().copied().filter(is_first).collect();
        let mut entries = self.all_of(&first, (epoch, start));
        self.add_causes(&mut entries, earliest);
        let had = lost().filter(|gap| gap.start <= first_end).filter_map(|gap| gap.before);
        let common = had.map(|(epoch, _)| epoch).max();
        Some(Selected { epoch: Some(epoch), common, entries })
    }

    /// An election that has not ended: all since the members have no leader.
    fn under_way(&self, gaps: &[Gap]) -> Option<Selected> {
        let open = || gaps.iter().filter(|gap| gap.end.is_none());
        let (first, last) =
            (open().map(|gap| gap.start).min()?, open().map(|gap| gap.start).max()?);
        let ElectionBegin { start, .. } = begin(open(), first, last + 1);
        let entries = self.order.all.iter().copied().filter(|at| self.order.time(*at) >= start);
        let common = open().filter_map(|gap| gap.before).map(|(epoch, _)| epoch).max();
        Some(Selected { epoch: None, common, entries: entries.collect() })
    }

    fn entry(&self, at: At) -> &Entry {
        &self.records[at.0].entries[at.1]
    }

    /// The times without a leader of all members.
    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for (record, recorded) in self.records.iter().enumerate() {
            let mut since = (!recorded.entries.is_empty()).then(|| self.order.time((record, 0)));
            let mut before = None;
            for (at, entry) in recorded.entries.iter().enumerate() {
                let (time, epoch) = (self.order.time((record, at)), entry.number.unwrap_or(0));
                if entry.settles() {
                    let (start, leads) = (since.take().unwrap_or(time), entry.leads());
                    gaps.push(Gap { record, before, start, end: Some(time), epoch, leads });
                    before = Some((epoch, time));
                } else if entry.phase.is_some() {
                    since.get_or_insert(time);
                }
            }
            if let Some(start) = since {
                gaps.push(Gap { record, before, start, end: None, epoch: 0, leads: false });
            }
        }
        gaps
    }

    /// These entries with all of their turns, what brought them about since this time, and what came of them.
    fn all_of(&self, first: &[At], (epoch, start): (u64, i128)) -> BTreeSet<At> {
        let links = self.links();
        let (mut found, mut open) = (BTreeSet::new(), first.to_vec());
        while let Some(at) = open.pop() {
            let turn = self.turn(at);
            if !found.insert(turn[0]) {
                continue;
            }
            // The election before is another one.
            let is_earlier =
                |at: &At| self.entry(*at).settles() && self.entry(*at).number < Some(epoch);
            if turn.iter().any(is_earlier) {
                continue;
            }
            let near = turn.iter().flat_map(|at| links.get(at).into_iter().flatten());
            let is_later =
                |at: &At| self.entry(*at).settles() && self.entry(*at).number > Some(epoch);
            let near = near.filter(|at| self.order.time(**at) >= start);
            open.extend(near.filter(|at| !self.turn(**at).iter().any(is_later)));
        }
        let entries = found.iter().flat_map(|at| self.turn(*at));
        let is_alone = |at: &At| !links.contains_key(at) && self.entry(*at).is_about_connection();
        entries.filter(|at| !is_alone(at)).collect()
    }

    /// Adds the turns that brought these about after this time, while the members still had the leader before; but not
    /// what brought about those: a member that tries in vain is its own cause for hours.
    fn add_causes(&self, entries: &mut BTreeSet<At>, earliest: i128) {
        for at in entries.clone() {
            let own = causes(self.records[at.0], at.1).map(|cause| (at.0, cause));
            let found = own.chain(self.pairs.sent(at));
            let turns = found.filter(|at| self.order.time(*at) > earliest);
            let found = turns.flat_map(|at| self.turn(at));
            entries.extend(found.filter(|at| !self.entry(*at).settles()));
        }
    }

    /// The entries that each entry brought about or was brought about by.
    fn links(&self) -> BTreeMap<At, Vec<At>> {
        let mut links: BTreeMap<At, Vec<At>> = BTreeMap::new();
        let mut link = |one: At, other: At| {
            links.entry(one).or_default().push(other);
            links.entry(other).or_default().push(one);
        };
        self.pairs.iter().for_each(|(sent, taken)| link(sent, taken));
        for at in &self.order.all {
            causes(self.records[at.0], at.1).for_each(|cause| link((at.0, cause), *at));
        }
        links
    }

    /// All entries of a turn of a member: they have one time.
    fn turn(&self, at: At) -> Vec<At> {
        let entries = &self.records[at.0].entries;
        let is_same = |other: &Entry| other.at_ns == entries[at.1].at_ns;
        let before = entries[..at.1].iter().rev().take_while(|entry| is_same(entry)).count();
        let after = entries[at.1..].iter().take_while(|entry| is_same(entry)).count();
        (at.1 - before..at.1 + after).map(|place| (at.0, place)).collect()
    }
}

/// When an election began.
struct ElectionBegin {
    /// From when on what the members do may be a part of it.
    start: i128,
    /// What brought it about came after this.
    earliest: i128,
}

/// When the election began that ended these gaps: when the members lost the last leader that they had in common. A
/// member that had lost it long before the others was alone with that, and tried in vain. Where no member had a leader
/// before, it began when the first gap did, which is the leader's.
fn begin<'g>(gaps: impl Iterator<Item = &'g Gap> + Clone, first: i128, end: i128) -> ElectionBegin {
    let gaps = gaps.filter(|gap| gap.start <= end);
    let common = gaps.clone().filter_map(|gap| gap.before).map(|(epoch, _)| epoch).max();
    let is_common = |gap: &&Gap| gap.before.map(|(epoch, _)| epoch) == common;
    let had = gaps.clone().filter(is_common);
    // A member may follow the next leader without a time between.
    let lost = had.clone().filter(|gap| gap.end != Some(gap.start)).map(|gap| gap.start).max();
    let latest = match common {
        Some(_) => lost.or_else(|| had.clone().map(|gap| gap.start).max()).unwrap_or(first),
        None => first,
    };
    let is_near = |start: &i128| (latest - TOGETHER..=latest).contains(start);
    let start = had.clone().map(|gap| gap.start).filter(is_near).min().unwrap_or(latest);
    let settled = had.filter_map(|gap| gap.before).map(|(_, since)| since);
    let settled = settled.filter(|since| *since <= start).max().unwrap_or(i128::MIN);
    ElectionBegin { start, earliest: settled.max(start - TOGETHER) }
}

/// The places of the entries that brought this one about: all are earlier.
pub fn causes(record: &Record, at: usize) -> impl Iterator<Item = usize> {
    let earlier = &record.entries[..at];
    record.entries[at].causes.iter().filter_map(|cause| {
        let found = earlier.binary_search_by_key(cause, |entry| entry.n);
        found.ok()
    })
}

impl Entry {
    /// Whether the node leads from here on.
    fn leads(&self) -> bool {
        self.phase.as_deref() == Some("leading")
    }

    /// Whether it is a message by which this epoch comes about.
    fn elects(&self, epoch: u64) -> bool {
        use Kind::{Answer, Elected, Election, Halt, Lower, PreVote, Ready, Vote, VoteRequest};
        let kinds = [Answer, Elected, Election, Halt, Lower, PreVote, Ready, Vote, VoteRequest];
        self.number == Some(epoch) && self.known().is_some_and(|kind| kinds.contains(&kind))
    }

    /// Whether it announces the leader of this epoch, or the node follows that leader from here on: it does so
    /// whenever it comes back, too.
    fn tells_of(&self, epoch: u64) -> bool {
        self.number == Some(epoch) && (self.settles() || self.known() == Some(Kind::Coordinator))
    }

    /// Whether it is about a connection or a dial, which matters only if something came of it.
    fn is_about_connection(&self) -> bool {
        let kinds = ["connected", "met", "lost", "ended", "refused", "certified"];
        kinds.contains(&self.what.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_kind(kind: &str, number: u64) -> Entry {
        Entry { kind: Some(kind.to_owned().into()), number: Some(number), ..Entry::default() }
    }

    #[test]
    fn an_epoch_comes_about_by_some_messages_and_is_told_of_by_others() {
        for kind in
            ["election", "answer", "lower", "halt", "elected", "ready", "trial", "claim", "grant"]
        {
            let told = [7, 8].map(|epoch| of_kind(kind, 7).elects(epoch));
            assert_eq!(told, [true, false], "{kind}");
            assert!(!of_kind(kind, 7).tells_of(7), "{kind}");
        }
        for kind in ["coordinator", "heartbeat", "view", "release"] {
            assert!(!of_kind(kind, 7).elects(7), "{kind}");
        }
        let tells = |entry: &Entry| [7, 8].map(|epoch| entry.tells_of(epoch));
        assert_eq!(tells(&of_kind("coordinator", 7)), [true, false]);
        assert_eq!(tells(&of_kind("heartbeat", 7)), [false, false]);
        for (phase, is_told, leads) in
            [("following", true, false), ("leading", true, true), ("electing", false, false)]
        {
            let (phase, number) = (Some(phase.to_owned()), Some(7));
            let entry = Entry { phase, number, ..Entry::default() };
            assert_eq!((tells(&entry), entry.leads()), ([is_told, false], leads), "{entry:?}");
        }
    }

    #[test]
    fn what_befalls_a_connection_is_told_from_the_rest() {
        let is_about = |what: &str| {
            let what = what.to_owned();
            Entry { what, ..Entry::default() }.is_about_connection()
        };
        for what in ["connected", "met", "lost", "ended", "refused", "certified"] {
            assert!(is_about(what), "{what}");
        }
        assert!(!["sent", "got", "became", "waited", "started"].into_iter().any(is_about));
    }
}
