//! The time `failure`, which the network waits by and which may change while the node runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::deadline::STEP;

/// `failure`, as all threads of the network see it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FailureTime(Arc<AtomicU64>);

impl FailureTime {
    /// With this `failure`.
    pub fn new(failure: Duration) -> FailureTime {
        let failure_time = FailureTime(Arc::default());
        failure_time.set(failure);
        failure_time
    }

    /// Another one from now on: what is being waited for keeps the older.
    pub fn set(&self, failure: Duration) {
        let nanos = u64::try_from(failure.as_nanos()).unwrap_or(u64::MAX);
        self.0.store(nanos, Ordering::Relaxed);
    }

    /// The silence that makes a suspect.
    pub fn failure(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// The longest for one step of a dial or a hello.
    pub fn step(&self) -> Duration {
        self.failure().min(STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several steps may follow each other while a node stops, and that has a second.
    #[test]
    fn a_step_takes_no_longer_than_failure_and_than_a_part_of_a_second() {
        let of = |ms| {
            let failure_time = FailureTime::new(Duration::from_millis(ms));
            (failure_time.failure().as_millis(), failure_time.step().as_millis())
        };
        assert_eq!([of(1), of(400), of(500)], [(1, 1), (400, 400), (500, 400)]);
        assert_eq!(FailureTime::new(Duration::MAX).step(), STEP);
    }
}
