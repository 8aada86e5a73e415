//! The moves that the coordinator has holders make, so that names come to be where they had better be: each as if an operator
//! had asked for it, so that its work ends first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, TryRecvError};

use super::orders::OrderAnswer;
use crate::config::locks::SpreadRebalance;
use crate::core::locks::member::outside::{BetterPlace, WhyBetter};
use crate::core::locks::table::LockName;
use crate::core::locks::word::LockWants;
use crate::core::settings::Preempt;
use crate::core::types::{NodeId, Time};
use crate::node::command::CommandError;

/// What an operator is told whose order is carried out from now on.
pub(super) const BEGUN: &str = "the locks are spread anew, one after the other";

/// How long a name stays that could not be moved.
const AGAIN: Duration = Duration::from_secs(60);

/// By what the coordinator moves names that somebody holds.
#[derive(Clone, Copy, Debug)]
pub struct MovePolicy {
    pub preempt: Preempt,
    pub spread: Option<SpreadRebalance>,
    /// The cluster is paused: an operator alone moves names.
    pub is_paused: bool,
}

/// The moves of a coordinator.
#[derive(Debug, Default)]
pub struct LockMoves {
    pub(super) under_way: Vec<(LockName, Receiver<Result<String, CommandError>>)>,
    /// The names that could not be moved, and until when they stay.
    refused: BTreeMap<LockName, Time>,
    /// Where each name had better be, and since when.
    better: BTreeMap<LockName, (NodeId, Time)>,
    /// Since when work could be spread better.
    uneven: Option<Time>,
    /// An operator asked for it, and not all is done.
    pub is_asked: bool,
    /// Whether any member is preferred to another for any name.
    pub(super) is_preferred: bool,
    /// When it looks next.
    pub(super) next: Time,
    /// Orders of operators that were passed on to the coordinator.
    pub(super) passed: Vec<(u64, Time, OrderAnswer)>,
}

impl LockMoves {
    /// The names that are to move now, of those that had better be elsewhere.
    pub(super) fn choose(
        &mut self,
        found: Vec<BetterPlace>,
        policy: MovePolicy,
        now: Time,
    ) -> Vec<(LockName, NodeId)> {
        self.settle(now);
        let before = std::mem::take(&mut self.better);
        for BetterPlace { name, to, .. } in &found {
            let known = before.get(name).filter(|(member, _)| member == to);
            self.better.insert(name.clone(), known.copied().unwrap_or((*to, now)));
        }
        let is_uneven = found.iter().any(|it| it.why == WhyBetter::Lighter);
        self.uneven = is_uneven.then(|| self.uneven.unwrap_or(now));
        self.is_asked &= !found.is_empty() || !self.under_way.is_empty();
        let at_once = policy.spread.map_or(1, |spread| spread.at_once);
        let free = at_once.saturating_sub(self.under_way.len());
        let due = found.into_iter().filter(|it| self.is_due(it, policy, now));
        due.take(free).map(|it| (it.name, it.to)).collect()
    }

    /// Whether a name moves by now. Members that are preferred preempt as the cluster's leader is preempted; work that is only
    /// uneven stays unless the configuration or an operator has it spread anew. (G12)
    fn is_due(&self, it: &BetterPlace, policy: MovePolicy, now: Time) -> bool {
        let stays = self.refused.contains_key(&it.name);
        if stays || self.under_way.iter().any(|(name, _)| *name == it.name) {
            return false;
        }
        let since = self.better.get(&it.name).map_or(now, |(_, since)| *since);
        let by_itself = match (it.why, policy.preempt) {
            (WhyBetter::Beside, _) => true,
            (WhyBetter::Preferred { more_than_others: true }, Preempt::Always) => true,
            (WhyBetter::Preferred { more_than_others: true }, Preempt::After(length)) => {
                now.since(since) >= length
            }
            (WhyBetter::Preferred { .. }, _) => false,
            (WhyBetter::Lighter, _) => {
                let is_long =
                    |uneven| policy.spread.is_some_and(|it| now.since(uneven) >= it.after);
                self.uneven.is_some_and(is_long)
            }
        };
        self.is_asked || by_itself && !policy.is_paused
    }

    /// What members want, of late.
    pub(super) fn see_wishes(&mut self, wishes: &[(NodeId, Arc<LockWants>)]) {
        let mut wants = wishes.iter().flat_map(|(_, wants)| wants.values());
        self.is_preferred = wants.any(|want| want.prefer > 1);
    }

    /// Takes note of moves that are over.
    fn settle(&mut self, now: Time) {
        self.refused.retain(|_, until| *until > now);
        let refused = &mut self.refused;
        self.under_way.retain(|(name, outcome)| match outcome.try_recv() {
            Err(TryRecvError::Empty) => true,
            Ok(Ok(_)) => false,
            Ok(Err(_)) | Err(TryRecvError::Disconnected) => {
                refused.insert(name.clone(), now + AGAIN);
                false
            }
        });
    }

    /// Another member leads.
    pub(super) fn end(&mut self) {
        let (passed, is_preferred) = (std::mem::take(&mut self.passed), self.is_preferred);
        *self = LockMoves { passed, is_preferred, ..LockMoves::default() };
    }

    /// The coordinator answered an order that was passed on. False if it was no such order.
    pub fn answered(&mut self, number: u64, done: bool) -> bool {
        let Some(at) = self.passed.iter().position(|(passed, ..)| *passed == number) else {
            return false;
        };
        let (.., answer) = self.passed.swap_remove(at);
        let refused = || CommandError::NotNow("that member leads no more".to_owned());
        let _ = answer.try_send(if done { Ok(BEGUN.to_owned()) } else { Err(refused()) }); // the caller may have given up
        true
    }

    pub(super) fn give_up(&mut self, now: Time) {
        let late = self.passed.extract_if(.., |(_, until, _)| *until <= now);
        late.for_each(|(.., answer)| {
            let what = "the leader did not answer".to_owned();
            let _ = answer.try_send(Err(CommandError::Unanswered(what))); // the caller may have given up
        });
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::bounded;
    use uuid::Uuid;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn found(why: WhyBetter) -> Vec<BetterPlace> {
        let place =
            |text| BetterPlace { name: LockName::new(text).unwrap(), from: id(1), to: id(2), why };
        ["x", "y", "z"].map(place).into()
    }

    /// How many of three names move after so many seconds.
    fn moved(moves: &mut LockMoves, why: WhyBetter, policy: MovePolicy, seconds: u32) -> usize {
        let _ = moves.choose(found(why), policy, Time(0));
        moves.choose(found(why), policy, Time(0) + SECOND * seconds).len()
    }

    /// Rule G12.
    #[test]
    fn what_is_held_moves_only_by_a_rule_or_an_order() {
        let policy = |preempt| MovePolicy { preempt, spread: None, is_paused: false };
        let preferred = WhyBetter::Preferred { more_than_others: true };
        let failed = WhyBetter::Preferred { more_than_others: false };
        let after = Preempt::After(SECOND * 30);
        for (why, policy, seconds, expected) in [
            (WhyBetter::Lighter, policy(Preempt::Always), 3600, 0),
            (failed, policy(Preempt::Always), 3600, 0),
            (preferred, policy(Preempt::Always), 0, 1),
            (preferred, policy(Preempt::Never), 3600, 0),
            (preferred, policy(after), 29, 0),
            (preferred, policy(after), 30, 1),
            (WhyBetter::Beside, policy(Preempt::Never), 0, 1),
        ] {
            let count = moved(&mut LockMoves::default(), why, policy, seconds);
            assert_eq!(count, expected, "{why:?} {policy:?} {seconds}");
            let paused = MovePolicy { is_paused: true, ..policy };
            assert_eq!(moved(&mut LockMoves::default(), why, paused, seconds), 0);
            let mut asked = LockMoves { is_asked: true, ..LockMoves::default() };
            assert_eq!(moved(&mut asked, why, paused, seconds), 1);
        }
    }

    #[test]
    fn work_is_spread_anew_after_a_while_and_so_many_names_move_at_once() {
        let spread = Some(SpreadRebalance { after: SECOND * 300, at_once: 2 });
        let policy = MovePolicy { preempt: Preempt::Always, spread, is_paused: false };
        assert_eq!(moved(&mut LockMoves::default(), WhyBetter::Lighter, policy, 299), 0);
        let mut moves = LockMoves::default();
        assert_eq!(moved(&mut moves, WhyBetter::Lighter, policy, 300), 2);
        // Once they have, an even spread begins anew.
        let _ = moves.choose(Vec::new(), policy, Time(0) + SECOND * 301);
        let now = Time(0) + SECOND * 302;
        assert!(moves.choose(found(WhyBetter::Lighter), policy, now).is_empty());
    }

    #[test]
    fn the_next_name_waits_for_the_last_and_what_was_refused_stays() {
        let policy = MovePolicy { preempt: Preempt::Never, spread: None, is_paused: false };
        let mut moves = LockMoves { is_asked: true, ..LockMoves::default() };
        let mut begin = |seconds| {
            let now = Time(0) + SECOND * seconds;
            let chosen = moves.choose(found(WhyBetter::Lighter), policy, now);
            let (answer, outcome) = bounded(1);
            let name = chosen.first().map(|(name, _)| name.clone());
            moves.under_way.extend(name.clone().map(|name| (name, outcome)));
            (name.map(|name| name.to_string()), answer)
        };
        let (first, done) = begin(0);
        assert_eq!((first.as_deref(), begin(1).0), (Some("x"), None));
        done.send(Err(CommandError::Refused("no".to_owned()))).unwrap();
        assert_eq!(begin(2).0.as_deref(), Some("y"));
    }
}
