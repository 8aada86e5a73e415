//! Clients that are slow on purpose.

use std::thread;
use std::time::Duration;

/// How a hostile client spends its time between two attacks.
pub fn pace(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}
