//! The coordinator has names moved that had better be elsewhere, and an operator has all of them looked at.

use std::time::Duration;

use crossbeam::channel::{Sender, bounded};

use super::moves::{BEGUN, MovePolicy};
use super::order::LockOrder;
use super::side::LockSide;
use crate::core::Core;
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::word::LockWord;
use crate::core::types::{NodeId, Time};
use crate::node::command::CommandError;

/// How long the member that is to hold a name has to say that it wants that.
const ANSWERS: Duration = Duration::from_secs(10);

impl LockSide {
    /// An operator has the locks spread anew. Returns what is to be said to the coordinator, if that is another member.
    pub(super) fn order_rebalance(
        &mut self,
        core: &Core,
        (until, answer): (Time, Sender<Result<String, CommandError>>),
    ) -> Option<(NodeId, LockWord)> {
        let leader = core.leader().map(|leader| leader.id);
        let outcome = match leader {
            _ if self.member.is_none() => {
                let why = super::request::LockRefused::QuorumNone;
                Err(CommandError::Refused(why.to_string()))
            }
            None => Err(CommandError::NotNow("no leader is known".to_owned())),
            Some(leader) if leader != core.id() => {
                let number = self.orders.number();
                self.moves.passed.push((number, until, answer));
                return Some((leader, LockWord::Rebalance { number }));
            }
            Some(_) => {
                self.moves.is_asked = true;
                Ok(BEGUN.to_owned())
            }
        };
        let _ = answer.try_send(outcome); // the caller may have given up
        None
    }

    /// The coordinator has names moved that had better be elsewhere, by and by.
    pub(super) fn move_names(&mut self, core: &Core, view: &ElectionView) {
        let now = view.now;
        self.moves.give_up(now);
        if view.leads(core.id()).is_none() {
            return self.moves.end();
        }
        if now < self.moves.next {
            return;
        }
        self.moves.next = now + view.timing.heartbeat;
        let Some(member) = self.member.as_ref().filter(|_| self.may_better()) else { return };
        let policy = MovePolicy {
            preempt: core.settings().preempt,
            spread: self.config.rebalance,
            is_paused: core.pause().paused,
        };
        let chosen = self.moves.choose(member.better_places(view), policy, now);
        for (name, to) in chosen {
            let Some(member) = &self.member else { return };
            let order = LockOrder::Move { to: core.members().name(to) };
            let (answer, outcome) = bounded(1);
            log::info!(
                event = "lock_moves", lock = name.as_str();
                "has the lock {name} moved to {}", core.members().name(to)
            );
            self.moves.under_way.push((name.clone(), outcome));
            let (of, wishes) = ((member, &**core.members()), &self.seen.wishes[..]);
            let first = self.orders.take(of, wishes, (name, order), (now + ANSWERS, answer));
            self.pass_on(core, first, now);
        }
    }

    /// Whether anything says that a name that is held were better elsewhere.
    fn may_better(&self) -> bool {
        let is_moving = self.moves.is_asked || !self.moves.under_way.is_empty();
        let by_rule = self.config.rebalance.is_some() || self.config.has_followers();
        is_moving || by_rule || self.moves.is_preferred
    }
}
