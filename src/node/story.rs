//! What the log tells of a node's changes of state. A node without a leader may go through the same few
//! changes again and again; the log tells each of them once, and then every ten seconds with how
//! often it came meanwhile. A change to a known leader is always told, but for that of a leader to a greater
//! epoch of its own, which repeats where a member tells of ever later ones.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};
use crate::core::{Phase, Reason, Transition};

/// How long a change that repeats is only counted.
const QUIET: Duration = Duration::from_secs(10);

/// How many kinds of changes are remembered; members without a leader go through fewer.
const MOST: usize = 16;

/// Which changes count as the same: their epochs and waiting times differ without progress.
type Kind = (Phase, Phase, Option<NodeId>, Discriminant<Reason>);

/// The changes that were told since a leader was known last.
#[derive(Debug, Default)]
pub struct Story(VecDeque<Told>);

#[derive(Debug)]
struct Told {
    kind: Kind,
    at: Time,
    /// How often it came since then.
    untold: u64,
}

impl Story {
    /// Logs a change, unless it was told a moment ago.
    pub fn log(&mut self, change: &Transition, members: &MemberList, now: Time) {
        let Some(untold) = self.tell(change, now) else { return };
        let Transition { from, to, leader, epoch, reason } = change;
        let leader = leader.map_or_else(|| "none".to_owned(), |id| members.name(id));
        let (from, to, reason) = (from.name(), to.name(), reason.sentence(members));
        let repeats = match untold {
            0 => String::new(),
            times => format!(" ({times} times more in the last {} s)", QUIET.as_secs()),
        };
        log::info!("{from} -> {to}, leader {leader}, epoch {epoch}: {reason}{repeats}");
    }

    /// Whether a change is to be told, and how often it came untold before.
    fn tell(&mut self, change: &Transition, now: Time) -> Option<u64> {
        let leads_on = change.from == Phase::Leading && change.to == Phase::Leading;
        if change.leader.is_some() && !leads_on {
            self.0.clear();
            return Some(0);
        }
        let kind = (change.from, change.to, change.leader, discriminant(&change.reason));
        if let Some(told) = self.0.iter_mut().find(|told| told.kind == kind) {
            if now.since(told.at) < QUIET {
                told.untold += 1;
                return None;
            }
            told.at = now;
            return Some(std::mem::take(&mut told.untold));
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Told { kind, at: now, untold: 0 });
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::types::Epoch;
    use uuid::Uuid;

    fn waits(wait: u64) -> Transition {
        let (from, to, leader) = (Phase::Electing, Phase::Waiting, None);
        let reason = Reason::NoMajority(Duration::from_millis(wait));
        Transition { from, to, leader, epoch: Epoch(wait), reason }
    }

    fn elects() -> Transition {
        let (from, to, reason) = (Phase::Waiting, Phase::Electing, Reason::NoCoordinator);
        Transition { from, to, leader: None, epoch: Epoch(1), reason }
    }

    #[test]
    fn what_repeats_is_told_once_and_then_with_its_number() {
        let mut story = Story::default();
        let second = |second: u64| Time(second * 1_000_000_000);
        assert_eq!(story.tell(&waits(1), second(0)), Some(0));
        assert_eq!(story.tell(&elects(), second(0)), Some(0), "another change");
        for at in 1..10 {
            assert_eq!(story.tell(&waits(at), second(at)), None);
            assert_eq!(story.tell(&elects(), second(at)), None);
        }
        assert_eq!(story.tell(&waits(7), second(10)), Some(9));
        assert_eq!(story.tell(&waits(8), second(11)), None);
    }

    #[test]
    fn a_known_leader_is_always_told_and_begins_the_story_anew() {
        let mut story = Story::default();
        let leader = Some(NodeId(Uuid::from_u128(1)));
        let follows = Transition { to: Phase::Following, leader, ..elects() };
        for _ in 0..3 {
            assert_eq!(story.tell(&waits(1), Time(0)), Some(0));
            assert_eq!(story.tell(&waits(2), Time(0)), None);
            assert_eq!(story.tell(&follows, Time(0)), Some(0));
        }
    }

    #[test]
    fn a_leader_that_takes_one_epoch_after_another_is_told_once() {
        let mut story = Story::default();
        let leader = Some(NodeId(Uuid::from_u128(1)));
        let (from, to, reason) = (Phase::Leading, Phase::Leading, Reason::Reclaimed);
        let again = |epoch| Transition { from, to, leader, epoch, reason: reason.clone() };
        assert_eq!(story.tell(&again(Epoch(2)), Time(0)), Some(0));
        assert!((3..100).all(|epoch| story.tell(&again(Epoch(epoch)), Time(epoch)).is_none()));
        assert_eq!(story.tell(&again(Epoch(100)), Time(0) + QUIET), Some(97));
    }

    #[test]
    fn the_memory_of_a_story_is_bounded() {
        let mut story = Story::default();
        for number in 0..100 {
            let reason = match number % 2 {
                0 => Reason::Isolated,
                _ => Reason::AnswererLost,
            };
            let from = if number % 3 == 0 { Phase::Starting } else { Phase::Halted };
            story.tell(&Transition { from, reason, ..waits(number) }, Time(number));
        }
        assert!(story.0.len() <= MOST);
    }
}
