//! The timers of the core: each kind at most once, so that arming again replaces and no stale
//! expiry exists.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::random::Random;
use super::types::Time;

/// All timers, with when each is armed and in which phase it counts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray, Serialize, Deserialize,
)]
#[repr(usize)]
pub enum Timer {
    /// Armed at power-on for `failure`; ends the discovery of the others. Phase: starting.
    PowerOn,
    /// Armed for T1 by a member that asks the higher ones; no higher member is there. Phase: electing.
    Answer,
    /// Armed for T2; the member that answered did not come to lead. Armed for `failure` when a lower leader was asked
    /// to hand over, and again at each of its announcements. Phase: waiting. Ring: armed for the longest time of a
    /// run; its messages were lost. Phases: electing, waiting.
    Coordinator,
    /// Armed for the interval between two heartbeat rounds. Phase: leading.
    Heartbeat,
    /// Armed for the earliest moment at which a watched member may have been silent for `failure`. Phases: leading
    /// (watches all), following, electing, waiting (watch the last leader: the member that was asked to answer or to
    /// hand over may fall silent meanwhile); and any phase in which the algorithm watches a member.
    Silence,
    /// Halting: armed for `failure`; the coordinator asks whether all are Normal. Phase: leading.
    Check,
    /// Armed for the interval between two signs of life besides those of the leader: an organizer's to the members
    /// that it halted, and a ring's probes. Any phase.
    Pulse,
    /// Majority: armed by a candidate for T1; not enough voters answered. Any phase.
    Voters,
    /// Majority: armed for the end of the lease. Phase: leading.
    Lease,
    /// Armed for `failure` while a change of the member list is in progress. Any phase: the leader may be elected
    /// anew meanwhile.
    Change,
    /// Armed while commands wait for the leader's outcome. Any phase.
    Forward,
    /// Armed while a leader that hands over or stops waits for its job. Any phase: the leadership may end otherwise
    /// meanwhile.
    Job,
    /// Armed for when a peer that is heard has been out of reach for `failure`. Any phase.
    Reach,
}

impl Timer {
    /// Whether it counts in any phase.
    fn goes_on(self) -> bool {
        use Timer::{Change, Forward, Job, Pulse, Reach, Voters};
        matches!(self, Forward | Pulse | Voters | Change | Job | Reach)
    }
}

const ALL: &[Timer] = Timer::VARIANTS;

/// A timer that is not armed is due at the end of time.
const NEVER: Time = Time(u64::MAX);

/// When each timer is due.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimerTable {
    due: [Time; ALL.len()],
    random: Random,
}

impl TimerTable {
    /// No timer is armed. The seed is for jitter.
    pub fn new(seed: u64) -> TimerTable {
        TimerTable { due: [NEVER; ALL.len()], random: Random::new(seed) }
    }

    /// A random time up to this one, so that two members do not keep acting at the same moment.
    pub fn jitter(&mut self, most: Duration) -> Duration {
        self.random.up_to(most)
    }

    /// Arms a timer, or moves it.
    pub fn arm(&mut self, timer: Timer, due: Time) {
        self.due[timer as usize] = due;
    }

    pub fn cancel(&mut self, timer: Timer) {
        self.due[timer as usize] = NEVER;
    }

    /// Disarms every timer that belongs to a phase.
    pub fn cancel_phase(&mut self) {
        for &timer in ALL {
            if !timer.goes_on() {
                self.cancel(timer);
            }
        }
    }

    /// When a timer is due, if it is armed.
    pub fn due(&self, timer: Timer) -> Option<Time> {
        Some(self.due[timer as usize]).filter(|due| *due < NEVER)
    }

    pub fn next(&self) -> Option<Time> {
        self.due.iter().min().copied().filter(|due| *due < NEVER)
    }

    /// Takes the earliest timer that is due, disarming it.
    pub fn take_due(&mut self, now: Time) -> Option<Timer> {
        let due = self.next().filter(|due| *due <= now)?;
        let &timer = ALL.iter().find(|&&timer| self.due[timer as usize] == due)?;
        self.cancel(timer);
        Some(timer)
    }

    /// What is overdue is due now, and is late no more.
    pub fn catch_up(&mut self, now: Time) {
        for due in &mut self.due {
            *due = now.max(*due);
        }
    }

    /// How long the earliest timer has been overdue.
    pub fn lateness(&self, now: Time) -> Duration {
        self.next().map_or(Duration::ZERO, |due| now.since(due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arming_again_replaces_and_due_timers_come_earliest_first() {
        let mut timers = TimerTable::new(0);
        timers.arm(Timer::Answer, Time(5));
        timers.arm(Timer::Answer, Time(9));
        timers.arm(Timer::Silence, Time(7));
        assert_eq!(timers.next(), Some(Time(7)));
        assert_eq!(timers.take_due(Time(6)), None, "the first arming is forgotten");
        assert_eq!(timers.take_due(Time(10)), Some(Timer::Silence));
        assert_eq!(timers.take_due(Time(10)), Some(Timer::Answer));
        assert_eq!(timers.take_due(Time(10)), None);
    }

    #[test]
    fn what_was_overdue_is_due_at_once_and_late_no_more() {
        let mut timers = TimerTable::new(0);
        timers.arm(Timer::Pulse, Time(5));
        timers.arm(Timer::Reach, Time(12));
        timers.catch_up(Time(9));
        assert_eq!(timers.lateness(Time(9)), Duration::ZERO);
        assert_eq!(timers.take_due(Time(9)), Some(Timer::Pulse));
        assert_eq!(timers.due(Timer::Reach), Some(Time(12)));
        assert_eq!(timers.due(Timer::Silence), None);
    }

    #[test]
    fn a_change_of_phase_keeps_what_is_due_in_any() {
        let mut timers = TimerTable::new(0);
        for &timer in ALL {
            timers.arm(timer, Time(1));
        }
        timers.cancel_phase();
        assert_eq!(timers.take_due(Time(1)), Some(Timer::Pulse));
        assert_eq!(timers.take_due(Time(1)), Some(Timer::Voters));
        assert_eq!(timers.take_due(Time(1)), Some(Timer::Change));
        assert_eq!(timers.take_due(Time(1)), Some(Timer::Forward));
        assert_eq!(timers.take_due(Time(1)), Some(Timer::Job));
        assert_eq!(timers.take_due(Time(1)), Some(Timer::Reach));
        assert_eq!(timers.next(), None);
    }
}
