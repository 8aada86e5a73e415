//! How late threads of this host wake up: an ordinary one, and one in real time.

use std::thread;
use std::time::{Duration, Instant};

use super::{Realtime, refusal};

const TIME: Duration = Duration::from_secs(3);

/// Between two times that a thread wakes up.
const STEP: Duration = Duration::from_millis(2);

/// How late each was at most.
pub struct WakeUps {
    /// The ordinary one.
    pub ordinary: Duration,
    /// That in real time, or why the system refuses one.
    pub realtime: Result<Duration, String>,
}

impl WakeUps {
    /// Measures both at the same time, for a few seconds.
    pub fn measure() -> WakeUps {
        let urgent = refusal().map_or(Ok(()), Err).and_then(|()| {
            let wish = Realtime::begin(true);
            let thread = thread::Builder::new().spawn(move || {
                wish.enter();
                latest(TIME, STEP)
            });
            thread.map_err(|error| format!("no thread can be started: {error}"))
        });
        let ordinary = latest(TIME, STEP);
        let realtime = urgent.and_then(|it| it.join().map_err(|_| "its thread ended".to_owned()));
        WakeUps { ordinary, realtime }
    }
}

/// Sleeps again and again for this time, and says how late it woke up at most.
fn latest(time: Duration, step: Duration) -> Duration {
    let (begin, mut latest) = (Instant::now(), Duration::ZERO);
    while begin.elapsed() < time {
        let due = Instant::now() + step;
        thread::sleep(step);
        latest = latest.max(due.elapsed());
    }
    latest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_wakes_up_a_little_late_at_least() {
        let late = latest(Duration::from_millis(20), Duration::from_millis(1));
        assert!(late > Duration::ZERO && late < Duration::from_secs(60), "{late:?}");
    }
}
