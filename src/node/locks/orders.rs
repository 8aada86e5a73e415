//! What operators want of locks: a node passes it on to the holder, or to the member that is to hold the lock next, and
//! answers when the lock is where it is to be.

use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::Sender;

use super::order::LockOrder;
use crate::core::locks::member::LockMember;
use crate::core::locks::table::{LockHold, LockName};
use crate::core::locks::word::{LockWants, LockWord};
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};
use crate::node::command::CommandError;

/// How long what runs under a lock may take to end, once its holder is to give the lock back.
pub const ENDING: Duration = Duration::from_secs(300);

/// How soon another member takes a lock that was given back, if any is to.
const TAKING: Duration = Duration::from_secs(1);

/// So many orders of operators wait at a time.
pub(super) const MOST_ORDERS: usize = 64;

/// The answer to an operator.
pub type OrderAnswer = Sender<Result<String, CommandError>>;

/// An order that was passed on.
#[derive(Debug)]
struct PendingOrder {
    number: u64,
    name: LockName,
    /// Under which the lock was held when the order came.
    token: Option<u64>,
    /// The member that is to hold it, until it says that it comes before all others.
    to: Option<NodeId>,
    until: Time,
    answer: OrderAnswer,
}

/// The orders that this node passed on and that are not done.
#[derive(Debug, Default)]
pub struct LockOrders {
    last: u64,
    pending: Vec<PendingOrder>,
}

impl LockOrders {
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// The next number of an order.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub fn deadline(&self) -> Option<Time> {
        self.pending.iter().map(|order| order.until).min()
    }

    /// Takes an order, and returns what is to be said to whom; this member itself may be meant.
    pub fn take(
        &mut self,
        (member, list): (&LockMember, &MemberList),
        wishes: &[(NodeId, Arc<LockWants>)],
        (name, order): (LockName, LockOrder),
        (until, answer): (Time, OrderAnswer),
    ) -> Option<(NodeId, LockWord)> {
        let hold = member.holder().table().and_then(|table| table.get(&name));
        match judge(wishes, list, (&name, hold), &order) {
            Ok(to) => {
                let (number, token) = (self.number(), hold.map(|hold| hold.token));
                let pending = PendingOrder { number, name: name.clone(), token, to, until, answer };
                self.pending.push(pending);
                let first = to.map(|to| (to, None)).or(hold.map(|hold| (hold.by.member, token)));
                first.map(|(whom, token)| (whom, LockWord::Order { number, name, token }))
            }
            Err(outcome) => {
                let _ = answer.try_send(outcome); // the caller may have given up
                None
            }
        }
    }

    /// A member answered. Returns what is to be said next.
    pub fn ordered(
        &mut self,
        (member, list): (&LockMember, &MemberList),
        (from, number, done): (NodeId, u64, bool),
        now: Time,
    ) -> Option<(NodeId, LockWord)> {
        let at = self.pending.iter().position(|order| order.number == number)?;
        if !done {
            let PendingOrder { name, to, answer, .. } = self.pending.swap_remove(at);
            let from = list.name(from);
            let _ = answer.try_send(Err(match to {
                Some(_) => CommandError::Refused(format!(
                    "{from} does not want the lock {name}: no program there waits for it"
                )),
                None => {
                    CommandError::NotNow(format!("{from} does not hold the lock {name} any more"))
                }
            })); // the caller may have given up
            return None;
        }
        let order = &mut self.pending[at];
        if order.to.take().is_none() {
            order.until = now + ENDING; // the holder obeys
            return None;
        }
        let hold = member.holder().table().and_then(|table| table.get(&order.name))?;
        let (name, token) = (order.name.clone(), Some(hold.token));
        order.token = token;
        Some((hold.by.member, LockWord::Order { number, name, token }))
    }

    /// Answers what is done by now, and what takes too long.
    pub fn look(&mut self, member: &LockMember, list: &MemberList, now: Time) {
        let table = member.holder().table();
        self.pending.retain_mut(|order| {
            let hold = table.and_then(|table| table.get(&order.name));
            if hold.is_none() && order.token.is_some() {
                order.until = order.until.min(now + TAKING);
            }
            let moved = hold.filter(|hold| Some(hold.token) != order.token);
            let name = &order.name;
            let outcome = match moved {
                Some(LockHold { by, token }) => {
                    let holder = list.name(by.member);
                    Ok(format!("{holder} holds the lock {name} now, under token {token}"))
                }
                None if now < order.until => return true,
                None if hold.is_none() && order.token.is_some() => {
                    Ok(format!("nobody holds the lock {name} now"))
                }
                None => {
                    let what = format!("the lock {name} is still where it was");
                    Err(CommandError::Unanswered(what))
                }
            };
            let _ = order.answer.try_send(outcome); // the caller may have given up
            false
        });
    }
}

/// Whether an order is passed on, and to which member first that is to hold the lock; else its outcome.
fn judge(
    wishes: &[(NodeId, Arc<LockWants>)],
    list: &MemberList,
    (name, hold): (&LockName, Option<LockHold>),
    order: &LockOrder,
) -> Result<Option<NodeId>, Result<String, CommandError>> {
    let holder = hold.map(|hold| list.name(hold.by.member));
    match order {
        LockOrder::Release => match holder {
            Some(_) => Ok(None),
            None => Err(Err(CommandError::Refused(format!("nobody holds the lock {name}")))),
        },
        LockOrder::Move { to } => {
            let Some(target) = list.named(to) else {
                let what = format!("no member is named \"{to}\"");
                return Err(Err(CommandError::Invalid(what)));
            };
            if hold.is_some_and(|hold| hold.by.member == target.id) {
                return Err(Ok(format!("{to} holds the lock {name} already")));
            }
            Ok(Some(target.id))
        }
        LockOrder::Forget => {
            let wants = wishes.iter().find(|(_, wants)| wants.contains_key(name));
            Err(match (holder, wants) {
                (Some(holder), _) => {
                    Err(CommandError::Refused(format!("{holder} holds the lock {name}")))
                }
                (None, Some((id, _))) => {
                    let who = list.name(*id);
                    Err(CommandError::Refused(format!("{who} wants the lock {name}")))
                }
                (None, None) => Ok(format!("no member holds or wants the lock {name}")),
            })
        }
    }
}
