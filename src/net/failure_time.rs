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
