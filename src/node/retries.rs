//! How soon work that failed begins again, and when another host is to try it.

use std::time::Duration;

/// The shortest and the longest wait before work is started again.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Work that fails within this time has failed soon after its start: perhaps it cannot run on this host.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The waits before work is started again: each is twice as long as the last, until it has run for long.
pub(crate) struct RestartBackOff(Duration);

impl RestartBackOff {
    pub fn new() -> RestartBackOff {
        RestartBackOff(BACK_OFF.0)
    }

    /// The work has run for this long.
    pub fn ran(&mut self, time: Duration) {
        if time > BACK_OFF.1 {
            self.0 = BACK_OFF.0;
        }
    }

    /// The next wait.
    pub fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(BACK_OFF.1);
        wait
    }
}

/// The failures of work in a row.
pub(super) struct Retries {
    back_off: RestartBackOff,
    soon: u32,
}

impl Retries {
    pub fn new() -> Retries {
        Retries { back_off: RestartBackOff::new(), soon: 0 }
    }

    /// The work failed after this time. Returns whether another host is to try, and how long to wait here.
    pub fn failed(&mut self, ran: Duration) -> (bool, Duration) {
        self.back_off.ran(ran);
        self.soon = if ran < SOON { self.soon + 1 } else { 0 };
        (self.soon > 1, self.back_off.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_fails_soon_moves_at_the_second_time_and_waits_longer_each_time() {
        let (soon, late) = (SOON - Duration::from_millis(1), SOON + Duration::from_millis(1));
        let mut retries = Retries::new();
        let mut failed = |ran| {
            let (moves, wait) = retries.failed(ran);
            (moves, wait.as_secs())
        };
        assert_eq!([failed(soon), failed(soon), failed(soon)], [(false, 1), (true, 2), (true, 4)]);
        assert_eq!([failed(late), failed(soon), failed(soon)], [(false, 1), (false, 2), (true, 4)]);
        let later: Vec<u64> = (0..5).map(|_| failed(soon).1).collect();
        assert_eq!(later, [8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_command_waits_for_longer_each_time_until_it_has_run_for_long() {
        let seconds = Duration::from_secs;
        let mut back_off = RestartBackOff::new();
        let mut waits = |ran: u64, times: usize| -> Vec<u64> {
            let wait = |_| {
                back_off.ran(seconds(ran));
                back_off.next().as_secs()
            };
            (0..times).map(wait).collect()
        };
        assert_eq!(waits(1, 9), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(waits(60, 1), [60], "it has not run for longer than it waited");
        assert_eq!(waits(61, 1), [1]);
        assert_eq!(waits(1, 2), [2, 4]);
    }
}
