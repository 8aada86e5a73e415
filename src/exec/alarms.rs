//! The alarms of a job: timers of the kernel that electd and the guard share.
//!
//! Each renewal of the leadership postpones them, on the thread that learns of it, by three calls that
//! never wait. That wakes no thread; an alarm that was not postponed in time goes off and wakes the
//! thread that has to act.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_gettime, timerfd_settime,
};

use super::deadlines::Deadlines;
use crate::calls::Named;
use crate::core::types::Time;
use crate::node::leadership::Renewed;
use crate::node::since_boot;

/// A timer in CLOCK_BOOTTIME, which several processes may share.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set.
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        timerfd_create(TimerfdClockId::Boottime, flags).map(Alarm).named("timerfd_create")
    }

    /// One that another process made.
    pub fn of(timer: OwnedFd) -> Alarm {
        Alarm(timer)
    }

    /// It goes off then, and not before.
    pub fn set(&self, at: Time) -> io::Result<()> {
        let spec =
            Itimerspec { it_interval: timespec(0), it_value: timespec(since_boot(at).max(1)) };
        let set = timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &spec);
        set.map(drop).named("timerfd_settime")
    }

    /// Until it goes off; zero once it did, and where it was never set.
    pub fn left(&self) -> io::Result<Duration> {
        let left = timerfd_gettime(&self.0).named("timerfd_gettime")?.it_value;
        let seconds = u64::try_from(left.tv_sec).unwrap_or_default();
        Ok(Duration::new(seconds, u32::try_from(left.tv_nsec).unwrap_or_default()))
    }

    /// Whether it has gone off, and was not put off since.
    pub fn check_due(&self) -> io::Result<bool> {
        self.left().map(|left| left.is_zero())
    }

    /// Clears an alarm that went off: the next wait lasts until it goes off again.
    pub fn disarm(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]); // nothing is there if it was put off
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn timespec(nanos: u64) -> Timespec {
    let [tv_sec, tv_nsec] = [nanos / 1_000_000_000, nanos % 1_000_000_000].map(u64::cast_signed);
    Timespec { tv_sec, tv_nsec: tv_nsec as _ }
}

/// The alarms that go off if the leadership is not renewed.
#[derive(Debug)]
pub struct Alarms {
    /// The guard sends TERM.
    pub term: Alarm,
    /// The guard sends KILL.
    pub kill: Alarm,
    /// The guard should have acted: electd kills it.
    pub late: Alarm,
    /// Where the node does not say for how long a renewal is good.
    default: Deadlines,
}

impl Alarms {
    /// None is set yet.
    pub fn new(default: Deadlines) -> io::Result<Alarms> {
        Ok(Alarms { term: Alarm::new()?, kill: Alarm::new()?, late: Alarm::new()?, default })
    }

    /// How long before the end of the leadership they go off.
    pub fn deadlines(&self, renewal: Option<Duration>) -> Deadlines {
        renewal.map_or(self.default, Deadlines::of_renewal)
    }
}

impl Renewed for Alarms {
    fn renewed(&self, until: Time, renewal: Option<Duration>) {
        let Deadlines { term, kill } = self.deadlines(renewal);
        for (alarm, before) in [(&self.term, term), (&self.kill, kill), (&self.late, kill / 2)] {
            let before = u64::try_from(before.as_nanos()).unwrap_or(u64::MAX);
            let _ = alarm.set(Time(until.0.saturating_sub(before))); // a timer can always be set
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;
    use crate::node::now;

    #[test]
    fn an_alarm_goes_off_unless_it_is_put_off() {
        let alarm = Alarm::new().unwrap();
        assert!(alarm.check_due().unwrap(), "it is not set");
        alarm.set(now() + Duration::from_secs(60)).unwrap();
        let left = alarm.left().unwrap();
        assert!((50..60).contains(&left.as_secs()) && left.subsec_nanos() > 0, "{left:?}");
        alarm.set(Time(0)).unwrap();
        assert!(alarm.check_due().unwrap());
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        let mut waits = [PollFd::new(&alarm, PollFlags::IN)];
        assert_eq!(poll(&mut waits, Some(&limit)), Ok(1), "whoever waits is woken");
        alarm.disarm();
        assert!(alarm.check_due().unwrap(), "nobody put it off");
        alarm.set(now() + Duration::from_secs(60)).unwrap();
        assert!(!alarm.check_due().unwrap());
    }

    /// A clock that stands still while the host sleeps would have a job outlive the lease.
    #[test]
    fn an_alarm_goes_by_the_time_since_the_boot_and_nobody_waits_to_clear_it() {
        use std::os::fd::AsRawFd;
        let alarm = Alarm::new().unwrap();
        let info = format!("/proc/self/fdinfo/{}", alarm.as_fd().as_raw_fd());
        let told = std::fs::read_to_string(info).unwrap();
        assert!(told.contains("\nclockid: 7\n"), "CLOCK_BOOTTIME: {told}");
        let flags = rustix::fs::fcntl_getfl(&alarm).unwrap();
        assert!(flags.contains(rustix::fs::OFlags::NONBLOCK), "{flags:?}");
        let Timespec { tv_sec, tv_nsec } = timespec(5_000_000_007);
        assert_eq!((tv_sec, tv_nsec), (5, 7));
    }

    #[test]
    fn a_leadership_that_ends_before_the_time_to_end_a_job_leaves_none() {
        let alarms = Alarms::new(Deadlines::of_renewal(Duration::from_secs(800))).unwrap();
        alarms.renewed(Time(5), None);
        let Alarms { term, kill, late, .. } = alarms;
        assert_eq!([term, kill, late].map(|alarm| alarm.check_due().unwrap()), [true; 3]);
    }

    #[test]
    fn term_comes_before_kill_and_whoever_is_late_is_killed_before_the_leadership_ends() {
        let (whole, until) = (Duration::from_secs(800), now() + Duration::from_secs(1000));
        let alarms = Alarms::new(Deadlines::of_renewal(whole)).unwrap();
        for (renewal, times) in [(None, [800, 900, 950]), (Some(whole / 2), [900, 950, 975])] {
            alarms.renewed(until, renewal);
            let left =
                [&alarms.term, &alarms.kill, &alarms.late].map(|alarm| alarm.left().unwrap());
            for (left, about) in left.into_iter().zip(times) {
                assert!((about - 5..=about).contains(&left.as_secs()), "{left:?} of {about} s");
            }
        }
    }
}
