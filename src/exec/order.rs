//! The orders of electd to a guard, and of the guard to the process that becomes the command.
//!
//! No order says when the leadership ends: the guard gets the alarms with its first order. And none holds a moment,
//! which a guard in another time namespace would take for another one.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::Pid;

use super::alarms::{Alarm, Alarms};
use super::equipment::Equipment;
use crate::core::types::Time;
use crate::coroner::passing::{self, Received};
use crate::node::now;

/// An order to a guard while its job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardOrder {
    /// To show that it is alive: it answers each order with one byte.
    Answer,
    /// To end the job: TERM immediately, and KILL at this time, unless its alarm comes first.
    End {
        /// In CLOCK_BOOTTIME.
        kill: Time,
    },
}

impl GuardOrder {
    /// Its length on the wire.
    pub const LENGTH: usize = 16;

    /// How it is written: which one, and the time that is left, both as little-endian numbers.
    #[must_use]
    pub fn bytes(self) -> [u8; GuardOrder::LENGTH] {
        let (which, time) = match self {
            GuardOrder::Answer => (0, 0),
            GuardOrder::End { kill } => (1, kill.0.saturating_sub(now().0)),
        };
        pair(which, time)
    }

    /// The order in these bytes.
    #[must_use]
    pub fn read(bytes: &[u8; GuardOrder::LENGTH]) -> GuardOrder {
        match number(bytes, 0) {
            0 => GuardOrder::Answer,
            _ => GuardOrder::End { kill: now() + Duration::from_nanos(number(bytes, 8)) },
        }
    }
}

/// What a guard says to electd as it ends, after its answers to orders, which are bytes of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWord {
    /// Nothing of the job is left.
    Clean,
    /// Something of the job may be left, and electd would not find it.
    Unclean,
}

impl LastWord {
    /// How it is written: as no letter of a sentence, which may follow.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            LastWord::Clean => 1,
            LastWord::Unclean => 2,
        }
    }

    /// The word in this byte, if it is one.
    #[must_use]
    pub fn of(byte: u8) -> Option<LastWord> {
        [LastWord::Clean, LastWord::Unclean].into_iter().find(|word| word.byte() == byte)
    }
}

/// How a guard ended its command, which it says before its last word. It says nothing if the command ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// By TERM.
    Term,
    /// By KILL, as TERM was not enough.
    Kill,
}

impl Means {
    /// How it is written: as no letter of a sentence, as the last word.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Means::Term => 3,
            Means::Kill => 4,
        }
    }

    /// The means in this byte, if it is one.
    #[must_use]
    pub fn of(byte: u8) -> Option<Means> {
        [Means::Term, Means::Kill].into_iter().find(|means| means.byte() == byte)
    }

    /// Its name, as the log has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Means::Term => "TERM",
            Means::Kill => "KILL",
        }
    }
}

/// The first order to a guard: the node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginOrder {
    /// The epoch that it leads in.
    pub epoch: u64,
    /// The process group of electd, if that has a terminal in the foreground, which is the command's then.
    pub group: Option<Pid>,
}

impl BeginOrder {
    /// Its length on the wire.
    pub const LENGTH: usize = 16;

    /// How it is written: epoch and group, both as little-endian numbers.
    #[must_use]
    pub fn bytes(self) -> [u8; BeginOrder::LENGTH] {
        let group = self.group.map_or(0, |group| group.as_raw_nonzero().get().unsigned_abs());
        pair(self.epoch, group.into())
    }

    /// The order in these bytes.
    #[must_use]
    pub fn read(bytes: &[u8; BeginOrder::LENGTH]) -> BeginOrder {
        let group = i32::try_from(number(bytes, 8)).ok().and_then(Pid::from_raw);
        BeginOrder { epoch: number(bytes, 0), group }
    }

    /// Says so to a guard that waits, and gives it the alarms that it acts by and its equipment.
    ///
    /// # Errors
    /// The error of the system, for one where the guard has ended.
    pub fn send(
        self,
        guard: &UnixStream,
        alarms: &Alarms,
        equipment: &Equipment,
    ) -> io::Result<()> {
        let alarms = [alarms.term.as_fd(), alarms.kill.as_fd()].into_iter();
        let given: Vec<_> = alarms.chain(equipment.fds()).collect();
        passing::send(guard, &self.bytes(), &given) // so few bytes are sent as a whole
    }

    /// Waits for it, for the alarms of TERM and KILL, and for the equipment. None if electd ended, or no longer needs the
    /// guard.
    ///
    /// # Errors
    /// The error of the system, or one that says that the bytes are no such order.
    pub fn receive(electd: impl AsFd) -> io::Result<Option<(BeginOrder, [Alarm; 2], Equipment)>> {
        let mut bytes = [0; BeginOrder::LENGTH];
        let Received { count, given } = passing::receive_all(electd, &mut bytes)?;
        if count == 0 {
            return Ok(None);
        }
        let mut given = given?.into_iter();
        let alarms = [given.next(), given.next()].map(|alarm| alarm.map(Alarm::of));
        match (count, alarms, Equipment::of(given)) {
            (BeginOrder::LENGTH, [Some(term), Some(kill)], Some(equipment)) => {
                Ok(Some((BeginOrder::read(&bytes), [term, kill], equipment)))
            }
            _ => Err(io::Error::other("this is no word to begin")),
        }
    }
}

/// Two numbers, one after the other.
fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

/// The number that is written here.
fn number(bytes: &[u8], at: usize) -> u64 {
    let part = bytes[at..].iter().take(8);
    part.rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use rustix::io::{FdFlags, fcntl_getfd};

    use super::*;
    use crate::exec::deadlines::Deadlines;
    use crate::exec::equipment::tests::equipment;

    #[test]
    fn each_word_is_read_as_it_was_written() {
        assert_eq!(GuardOrder::Answer.bytes(), [0; GuardOrder::LENGTH]);
        assert_eq!(GuardOrder::read(&GuardOrder::Answer.bytes()), GuardOrder::Answer);
        let past = GuardOrder::End { kill: Time(0) }.bytes();
        assert_eq!(past, pair(1, 0), "no time is left");
        for left in [Duration::ZERO, Duration::from_secs(600)] {
            let (before, bytes) = (now(), GuardOrder::End { kill: now() + left }.bytes());
            let GuardOrder::End { kill } = GuardOrder::read(&bytes) else { panic!("{bytes:?}") };
            assert!((before + left..=now() + left).contains(&kill), "{kill:?}");
        }
        let begin = BeginOrder { epoch: 7, group: Pid::from_raw(258) };
        assert_eq!(begin.bytes(), [7, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        for group in [None, Pid::from_raw(i32::MAX)] {
            let begin = BeginOrder { epoch: u64::MAX - 1, group };
            assert_eq!(BeginOrder::read(&begin.bytes()), begin);
        }
    }

    #[test]
    fn the_word_to_begin_comes_with_alarms_that_both_sides_share() {
        let (electd, guard) = UnixStream::pair().unwrap();
        let alarms = Alarms::new(Deadlines::of_renewal(Duration::from_secs(1))).unwrap();
        let begin = BeginOrder { epoch: 7, group: None };
        let given = equipment();
        begin.send(&electd, &alarms, &given).unwrap();
        let (received, [term, kill], equipment) = BeginOrder::receive(&guard).unwrap().unwrap();
        assert_eq!(received, begin);
        for alarm in [term.as_fd(), kill.as_fd()].into_iter().chain(equipment.fds()) {
            assert!(fcntl_getfd(alarm).unwrap().contains(FdFlags::CLOEXEC), "no command has it");
        }
        alarms.term.set(Time(u64::MAX / 2)).unwrap();
        assert_eq!((term.check_due().unwrap(), kill.check_due().unwrap()), (false, true));
        rustix::io::write(&electd, &begin.bytes()).unwrap();
        let refused = BeginOrder::receive(&guard).unwrap_err().to_string();
        assert_eq!(refused, "this is no word to begin", "there are no alarms to act by");
        drop(electd);
        assert!(BeginOrder::receive(&guard).unwrap().is_none(), "electd has ended");
        let (electd, guard) = UnixStream::pair().unwrap();
        drop(guard);
        assert!(
            begin.send(&electd, &alarms, &given).is_err(),
            "the guard has ended: another takes its place"
        );
    }
}
