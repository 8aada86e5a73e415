//! How the log describes a node's changes of state, and which changes are no news: a node without a
//! leader may repeat the same few changes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use log::Level;

use crate::core::membership::MemberList;
use crate::core::types::{Epoch, NodeId};
use crate::core::{Phase, Reason, Transition};

/// The leadership that was known last.
#[derive(Debug, Default)]
pub struct Story(Option<(NodeId, Epoch)>);

impl Story {
    /// Logs a change.
    pub fn log(&mut self, change: &Transition, members: &MemberList) {
        let same = self.kind(change).map(|kind| kind.to_string());
        let Transition { from, to, leader, epoch, reason } = change;
        let leader = leader.map_or_else(|| "none".to_owned(), |id| members.name(id));
        let (from, to, words) = (from.name(), to.name(), reason.sentence(members));
        let (level, event) = (level(change), event(change));
        log::log!(
            level, event = event, same = same.as_deref(), from = from, to = to, leader = leader, epoch = epoch.0,
            reason = words;
            "{from} -> {to}, leader {leader}, epoch {epoch}: {words}"
        );
    }

    /// What a change has in common with those that it only repeats; none if it gives or takes this member a leader,
    /// as that is always news. The others are equal if there was no progress between them. Progress is a new leader
    /// or a new epoch, except the epochs of a leader that takes one after the other, as when a member reports ever
    /// later ones.
    fn kind(&mut self, change: &Transition) -> Option<u64> {
        let Transition { from, to, leader, epoch, reason } = change;
        let leads_on = *from == Phase::Leading && *to == Phase::Leading;
        if !leads_on && let Some(leader) = leader {
            self.0 = Some((*leader, *epoch));
        }
        if !leads_on && (from.has_leader() || to.has_leader()) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (from, to, leader, discriminant(reason), self.0).hash(&mut hasher);
        Some(hasher.finish())
    }
}

/// How much an operator has to know of a change.
fn level(change: &Transition) -> Level {
    match event(change) {
        "leadership_lost" | "stalled" => Level::Warn,
        _ => Level::Info,
    }
}

/// A change as one word, as `GET /events` has it, and whether it is a warning.
fn event(change: &Transition) -> &'static str {
    use Reason::{
        Drained, HaltedBy, ListChanged, Outranks, Preempted, Removed, Resigned, Stopped,
        SwitchedOver, Unhealthy,
    };
    let in_order = matches!(
        change.reason,
        Drained
            | HaltedBy(_)
            | ListChanged
            | Outranks(_)
            | Preempted(_)
            | Removed
            | Resigned
            | SwitchedOver(_)
            | Stopped
            | Unhealthy
    );
    match (change.from, change.to) {
        _ if matches!(change.reason, Reason::Stalled(_)) => "stalled",
        (_, Phase::Leading) => "leading",
        (Phase::Leading, to) if to != Phase::Reorganizing && !in_order => "leadership_lost",
        (_, Phase::Following) => "following",
        (_, Phase::Stopping) => "stopping",
        _ => "no_leader",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::node::logged::{fields, logged};
    use crate::node::words::tests::members;
    use uuid::Uuid;

    fn waits(wait: u64) -> Transition {
        let (from, to, leader) = (Phase::Electing, Phase::Waiting, None);
        let reason = Reason::NoMajority(Duration::from_millis(wait));
        Transition { from, to, leader, epoch: Epoch(wait), reason }
    }

    fn follows(epoch: u64) -> Transition {
        let leader = NodeId(Uuid::from_u128(1));
        let reason = Reason::Announced(leader);
        let (from, to) = (Phase::Electing, Phase::Following);
        Transition { from, to, leader: Some(leader), epoch: Epoch(epoch), reason }
    }

    #[test]
    fn changes_are_the_same_until_another_leadership_is_known() {
        let mut story = Story::default();
        let first = story.kind(&waits(1));
        assert_eq!(story.kind(&waits(2)), first, "times and epochs are no progress");
        story.kind(&follows(4));
        let second = story.kind(&waits(5));
        assert_ne!(second, first);
        story.kind(&follows(4));
        assert_eq!(story.kind(&waits(6)), second, "the same leader in between");
        story.kind(&follows(7));
        assert_ne!(story.kind(&waits(8)), second);
    }

    #[test]
    fn to_find_or_lose_a_leader_is_news_each_time() {
        let mut story = Story::default();
        let loses = Transition { from: Phase::Following, ..waits(4) };
        for change in [follows(4), loses.clone(), follows(4), loses] {
            assert_eq!(story.kind(&change), None, "{change:?}");
        }
    }

    #[test]
    fn a_leader_that_takes_one_epoch_after_another_makes_no_progress() {
        let mut story = Story::default();
        let again = |epoch| {
            let (phase, reason) = (Phase::Leading, Reason::Reclaimed);
            Transition { from: phase, to: phase, reason, ..follows(epoch) }
        };
        let first = story.kind(&again(2));
        assert!(first.is_some());
        assert!((3..9).all(|epoch| story.kind(&again(epoch)) == first));
    }

    #[test]
    fn only_what_repeats_all_of_an_earlier_change_is_the_same() {
        let mut story = Story::default();
        let phase = Phase::Leading;
        let leads_on =
            Transition { from: phase, to: phase, reason: Reason::Reclaimed, ..follows(2) };
        let other = NodeId(Uuid::from_u128(2));
        let changes = [
            waits(1),
            Transition { from: Phase::Starting, ..waits(1) },
            Transition { to: Phase::Starting, ..waits(1) },
            Transition { reason: Reason::Stalled(Duration::ZERO), ..waits(1) },
            leads_on.clone(),
            Transition { leader: Some(other), ..leads_on },
        ];
        let kinds = changes.each_ref().map(|change| story.kind(change));
        assert!(kinds.iter().all(Option::is_some), "{kinds:?}");
        let different: std::collections::BTreeSet<_> = kinds.iter().collect();
        assert_eq!(different.len(), kinds.len());
        assert_eq!(changes.each_ref().map(|change| story.kind(change)), kinds, "each once more");
    }

    /// Programs that read the log as JSON rely on them.
    #[test]
    fn each_line_has_the_change_in_its_fields() {
        let list = members();
        let told = |change: &Transition| fields(|| Story::default().log(change, &list)).join("\n");
        let found =
            "event=following same=None from=electing to=following leader=a epoch=4 reason=a leads";
        assert_eq!(told(&follows(4)), found);
        let same = Story::default().kind(&waits(5)).unwrap();
        let words = waits(5).reason.sentence(&list);
        let expected = format!(
            "event=no_leader same={same} from=electing to=waiting leader=none epoch=5 reason={words}"
        );
        assert_eq!(told(&waits(5)), expected);
    }

    #[test]
    fn a_leadership_that_ends_in_order_is_no_warning() {
        let ends =
            |reason| Transition { from: Phase::Leading, to: Phase::Starting, reason, ..waits(1) };
        let id = NodeId(Uuid::from_u128(2));
        let in_order = [
            Reason::Drained,
            Reason::HaltedBy(id),
            Reason::ListChanged,
            Reason::Outranks(id),
            Reason::Preempted(id),
            Reason::Removed,
            Reason::Resigned,
            Reason::SwitchedOver(id),
            Reason::Stopped,
            Reason::Unhealthy,
        ];
        for change in in_order.map(ends) {
            assert_eq!((level(&change), event(&change)), (Level::Info, "no_leader"), "{change:?}");
        }
        for change in [Reason::LeaseEnded, Reason::Overruled(id), Reason::SameEpoch(id)].map(ends) {
            let told = (level(&change), event(&change));
            assert_eq!(told, (Level::Warn, "leadership_lost"), "{change:?}");
        }
        let stalled = ends(Reason::Stalled(Duration::from_secs(1)));
        assert_eq!((level(&stalled), event(&stalled)), (Level::Warn, "stalled"));
        let taken_in = Transition { to: Phase::Reorganizing, ..ends(Reason::NewTask) };
        assert_eq!((level(&taken_in), event(&taken_in)), (Level::Info, "no_leader"));
    }

    #[test]
    fn a_change_is_a_line_with_the_word_for_it() {
        let list = members();
        let line = |change: &Transition| logged(|| Story::default().log(change, &list)).join("\n");
        let stops = Transition {
            from: Phase::Following,
            to: Phase::Stopping,
            reason: Reason::Stopped,
            ..waits(4)
        };
        let leads = Transition { to: Phase::Leading, reason: Reason::Highest, ..follows(4) };
        assert_eq!(
            line(&follows(4)),
            "INFO following: electing -> following, leader a, epoch 4: a leads"
        );
        assert_eq!(
            line(&leads),
            "INFO leading: electing -> leading, leader a, epoch 4: won: no eligible member ranks higher"
        );
        assert_eq!(
            line(&stops),
            "INFO stopping: following -> stopping, leader none, epoch 4: stopping"
        );
    }
}
