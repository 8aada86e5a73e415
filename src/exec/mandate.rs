//! By what the command of an attached process runs: the leadership of the node, or a lock that the node holds.

use std::time::Duration;

use crossbeam::channel::Receiver;

use super::turns::LockTurn;
use crate::node::NodeHandle;
use crate::node::Subscription;
use crate::node::handle::{Command, Handle};
use crate::node::leadership::{Change, Hold, Leadership};
use crate::node::locks::{
    LockRefused, LockWant, NamedHold, OncePer, PeriodHindrance, UrlOf, WantedLock,
};

/// How long the node may take to hand over.
const RESIGN: Duration = Duration::from_secs(5);

/// One lock of a command is like any other.
const WANT: LockWant = LockWant { weight: 1, prefer: 0 };

/// By what it runs.
pub(super) enum Mandate {
    /// The leadership of the node.
    Leadership(NodeHandle),
    /// A lock, which the node wants once it is this process's turn. It is given back before the turn ends.
    Lock {
        wanted: Option<WantedLock>,
        turn: LockTurn,
        has_come: bool,
        /// The command runs once in each of these periods; and whether it waits for the next one.
        period: Option<(OncePer, bool)>,
    },
}

/// As long as it lives, nothing goes that the command runs by.
#[expect(dead_code, reason = "it is there to be dropped")]
pub(super) enum MandateHold {
    Leadership(Hold),
    Lock(NamedHold),
}

impl Mandate {
    /// The node wants the lock from now on, as it is the turn of this process; or later, if the node has yet to give the
    /// lock back for the process before.
    ///
    /// # Errors
    /// Why the node does not.
    pub fn take_turn(&mut self, node: &NodeHandle) -> Result<(), LockRefused> {
        let Mandate::Lock { wanted, turn, has_come, period } = self else { return Ok(()) };
        *has_come = true;
        let lock = match period {
            Some((once, _)) => node.lock_once(turn.name.clone(), WANT, *once),
            None => node.lock(turn.name.clone(), WANT),
        };
        match lock {
            Ok(lock) => *wanted = Some(lock),
            Err(LockRefused::Wanted) => {}
            Err(refused) => return Err(refused),
        }
        Ok(())
    }

    /// Whether the node has yet to give the lock back for the process before.
    pub fn is_overdue(&self) -> bool {
        matches!(self, Mandate::Lock { wanted: None, has_come: true, .. })
    }

    /// What a URL of the command is of; nothing before the turn.
    pub fn url_of(&self) -> Option<UrlOf> {
        match self {
            Mandate::Leadership(_) => Some(None),
            Mandate::Lock { wanted, .. } => wanted.as_ref().map(|lock| Some(lock.name().clone())),
        }
    }

    /// All changes from now on; none of a lock before the turn.
    pub fn changes(&self) -> Option<Subscription<Change>> {
        match self {
            Mandate::Leadership(node) => Some(node.leadership_changes()),
            Mandate::Lock { wanted, .. } => wanted.as_ref().map(WantedLock::changes),
        }
    }

    /// What keeps the command from a run of the present period, unless it waits for the next one.
    pub fn hindrance(&self, node: &NodeHandle) -> Option<PeriodHindrance> {
        let Mandate::Lock { turn, wanted: Some(wanted), period: Some((once, stays)), .. } = self
        else {
            return None;
        };
        let hindrance = node.period_hindrance(&turn.name, *once, wanted.since())?;
        (!stays || hindrance == PeriodHindrance::Differs).then_some(hindrance)
    }

    /// Whether the command runs once in each period.
    pub fn is_of_periods(&self) -> bool {
        matches!(self, Mandate::Lock { period: Some(_), .. })
    }

    /// The run of this period ended with this code.
    pub fn end_run(&self, code: u8) {
        if let Mandate::Lock { wanted: Some(wanted), .. } = self {
            wanted.end_run(code);
        }
    }

    /// Something comes here when it is the turn of this process.
    pub fn turn(&self) -> Option<&Receiver<()>> {
        match self {
            Mandate::Leadership(_) => None,
            Mandate::Lock { turn, .. } => Some(&turn.comes),
        }
    }

    /// What the command may run by now; the epoch of a lock is its token.
    pub fn leadership(&self) -> Option<Leadership> {
        match self {
            Mandate::Leadership(node) => node.leadership(),
            Mandate::Lock { wanted, .. } => wanted.as_ref()?.leadership(),
        }
    }

    /// Delays its end, for at most this long once that is wanted. None if that is not possible now.
    pub fn hold_for(&self, most: Duration) -> Option<MandateHold> {
        match self {
            Mandate::Leadership(node) => node.hold_for(most).ok().map(MandateHold::Leadership),
            Mandate::Lock { wanted, .. } => {
                wanted.as_ref()?.hold_for(most).ok().map(MandateHold::Lock)
            }
        }
    }

    /// Another member is to have it. Returns why the node keeps it, if it does.
    pub fn hand_over(&self) -> Option<String> {
        match self {
            Mandate::Leadership(node) => {
                let done = node.command(Command::Resign { to: None }, RESIGN);
                done.err().map(|why| why.to_string())
            }
            Mandate::Lock { wanted, .. } => {
                wanted.iter().for_each(WantedLock::give_back);
                None
            }
        }
    }

    /// Another member is to have it for a time, as the command failed in this way.
    pub fn stand_back(&self, reason: &str) {
        match self {
            Mandate::Leadership(node) => node.stand_back(reason),
            Mandate::Lock { wanted, .. } => wanted.iter().for_each(|it| it.stand_back(reason)),
        }
    }

    /// A command was ended, as no renewal came in time. The history of leaderships has nothing of locks.
    pub fn note_late_renewal(&self, node: &NodeHandle, epoch: u64) {
        match self {
            Mandate::Leadership(node) => node.note_late_renewal(epoch),
            Mandate::Lock { .. } => _ = node.tally().late_renewals.inc(),
        }
    }
}
