//! What electd and a guard say to each other ([`crate::local::pair`]).
//!
//! No order says when the leadership ends: the guard gets the alarms with its first order. And none holds a moment,
//! which a guard in another time namespace would take for another one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::alarms::{Alarm, Alarms};
use super::equipment::Equipment;
use crate::core::types::Time;
use crate::local::pair;
use crate::node::now;

/// An order to a guard, which it answers with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuardOrder {
    /// The first one, which has no answer: the node leads. The alarms and the equipment come with it.
    Begin(BeginOrder),
    /// To show that it is alive.
    Answer,
    /// To end the job: TERM immediately, and KILL when this time is over, unless its alarm comes first; by the alarm alone
    /// without a time.
    End { left: Option<Duration> },
}

impl GuardOrder {
    /// To end the job, with KILL at this time; by the alarm alone at the end of all time.
    #[must_use]
    pub fn end_by(kill: Time) -> GuardOrder {
        GuardOrder::End { left: (kill != Time(u64::MAX)).then(|| kill.since(now())) }
    }
}

/// What a guard says to electd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuardWord {
    /// The answer to an order.
    Lives,
    /// How it ended its command. It says nothing if the command ended by itself.
    Ended(Means),
    /// Its last word.
    Last(LastWord),
    /// Why it failed, after its last word.
    Failed(String),
}

/// What a guard says as it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LastWord {
    /// Nothing of the job is left.
    Clean,
    /// Something of the job may be left, and electd would not find it.
    Unclean,
}

/// How a guard ended its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Means {
    /// By TERM.
    Term,
    /// By KILL, as TERM was not enough.
    Kill,
}

impl Means {
    /// Its name, as the log has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Means::Term => "TERM",
            Means::Kill => "KILL",
        }
    }
}

/// The first order to a guard, which it passes on to the process that becomes the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginOrder {
    /// The epoch that the node leads in.
    pub epoch: u64,
    /// The process group of electd, if that has a terminal in the foreground, which is the command's then.
    pub group: Option<i32>,
}

impl BeginOrder {
    /// Says so to a guard that waits, and gives it the alarms that it acts by and its equipment.
    ///
    /// # Errors
    /// The error of the system, for one where the guard has ended.
    pub fn send(self, guard: &OwnedFd, alarms: &Alarms, equipment: &Equipment) -> io::Result<()> {
        let alarms = [alarms.term.as_fd(), alarms.kill.as_fd()].into_iter();
        let given: Vec<_> = alarms.chain(equipment.fds()).collect();
        pair::say(guard, &GuardOrder::Begin(self), &given)
    }

    /// Waits for it, for the alarms of TERM and KILL, and for the equipment. None if electd ended, or no longer needs the
    /// guard.
    ///
    /// # Errors
    /// The error of the system, or one that says that this is no such order.
    pub fn receive(electd: impl AsFd) -> io::Result<Option<(BeginOrder, [Alarm; 2], Equipment)>> {
        let Some((order, given)) = pair::hear(electd, None)? else { return Ok(None) };
        let mut given = given.into_iter();
        let alarms = [given.next(), given.next()].map(|alarm| alarm.map(Alarm::of));
        match (order, alarms, Equipment::of(given)) {
            (GuardOrder::Begin(begin), [Some(term), Some(kill)], Some(equipment)) => {
                Ok(Some((begin, [term, kill], equipment)))
            }
            _ => Err(io::Error::other("this is no word to begin")),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;
    use crate::exec::deadlines::Deadlines;
    use crate::exec::equipment::tests::equipment;

    #[test]
    fn an_order_to_end_says_what_time_is_left() {
        assert_eq!(GuardOrder::end_by(Time(u64::MAX)), GuardOrder::End { left: None });
        assert_eq!(GuardOrder::end_by(Time(0)), GuardOrder::End { left: Some(Duration::ZERO) });
        let before = now();
        let GuardOrder::End { left: Some(left) } =
            GuardOrder::end_by(before + Duration::from_secs(600))
        else {
            panic!("it has a time")
        };
        assert!((before + left..=now() + left).contains(&(before + Duration::from_secs(600))));
    }

    #[test]
    fn the_word_to_begin_comes_with_alarms_that_both_sides_share() {
        let (electd, guard) = pair::new().unwrap();
        let alarms = Alarms::new(Deadlines::of_renewal(Duration::from_secs(1))).unwrap();
        let begin = BeginOrder { epoch: u64::MAX, group: Some(258) };
        let given = equipment();
        begin.send(&electd, &alarms, &given).unwrap();
        let (received, [term, kill], equipment) = BeginOrder::receive(&guard).unwrap().unwrap();
        assert_eq!(received, begin);
        for alarm in [term.as_fd(), kill.as_fd()].into_iter().chain(equipment.fds()) {
            assert!(fcntl_getfd(alarm).unwrap().contains(FdFlags::CLOEXEC), "no command has it");
        }
        alarms.term.set(Time(u64::MAX / 2)).unwrap();
        assert_eq!((term.check_due().unwrap(), kill.check_due().unwrap()), (false, true));
        pair::say(&electd, &GuardOrder::Begin(begin), &[]).unwrap();
        let refused = BeginOrder::receive(&guard).unwrap_err().to_string();
        assert_eq!(refused, "this is no word to begin", "there are no alarms to act by");
        drop(electd);
        assert!(BeginOrder::receive(&guard).unwrap().is_none(), "electd has ended");
        let (electd, guard) = pair::new().unwrap();
        drop(guard);
        assert!(
            begin.send(&electd, &alarms, &given).is_err(),
            "the guard has ended: another takes its place"
        );
    }
}
