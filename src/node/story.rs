//! How the log describes a node's changes of state.

use log::Level;

use crate::core::membership::MemberList;
use crate::core::{Phase, Reason, Transition};
use crate::trace::reason::sentence;

/// Logs a change.
pub fn log(change: &Transition, members: &MemberList) {
    let Transition { from, to, leader, epoch, reason } = change;
    let leader = leader.map_or_else(|| "none".to_owned(), |id| members.name(id));
    let (from, to, words) = (from.name(), to.name(), sentence(reason, members));
    let (level, event) = (level(change), event(change));
    log::log!(
        level, event = event, from = from, to = to, leader = leader, epoch = epoch.0, reason = words;
        "{from} -> {to}, leader {leader}, epoch {epoch}: {words}"
    );
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
        Drained, HaltedBy, JobFailed, ListChanged, Outranks, Preempted, Removed, Resigned, Stopped,
        SwitchedOver, Unhealthy,
    };
    let in_order = matches!(
        change.reason,
        Drained
            | HaltedBy(_)
            | JobFailed
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
    use crate::core::types::{Epoch, NodeId};
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

    /// Programs that read the log as JSON rely on them.
    #[test]
    fn each_line_has_the_change_in_its_fields() {
        let list = members();
        let told = |change: &Transition| fields(|| log(change, &list)).join("\n");
        let found = "event=following from=electing to=following leader=a epoch=4 reason=a leads";
        assert_eq!(told(&follows(4)), found);
        let words = sentence(&waits(5).reason, &list);
        let expected =
            format!("event=no_leader from=electing to=waiting leader=none epoch=5 reason={words}");
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
            Reason::JobFailed,
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
        let line = |change: &Transition| logged(|| log(change, &list)).join("\n");
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
