//! Whether a leadership has lasted without a break, so that what was done to begin it may be undone.

use std::time::Duration;

use crate::core::types::{NodeId, Time};

/// A leader that this member has followed for 16 times `failure` is steady, as for a member that comes and goes.
pub const STEADY: u32 = 16;

/// The leadership that lasts, and since when this member knows it.
#[derive(Debug, Default)]
pub(super) struct Steady {
    of: Option<((NodeId, u64), Time)>,
}

impl Steady {
    /// Takes the leader and epoch that this member knows now. Returns whether they have been the same for this long.
    pub fn observe(&mut self, led: Option<(NodeId, u64)>, after: Duration, now: Time) -> bool {
        let Some(led) = led else {
            self.of = None;
            return false;
        };
        let (_, since) = match self.of {
            Some(known) if known.0 == led => known,
            _ => *self.of.insert((led, now)),
        };
        now.since(since) >= after
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_one_leadership_without_a_break_is_steady() {
        let mut steady = Steady::default();
        let mut look = |epoch: Option<u64>, ms: u64| {
            let led = epoch.map(|epoch| (NodeId(Uuid::from_u128(1)), epoch));
            steady.observe(led, Duration::from_millis(100), Time(ms * 1_000_000))
        };
        assert!(!look(Some(7), 0) && !look(Some(7), 99) && look(Some(7), 100));
        assert!(!look(Some(8), 101) && !look(None, 150) && !look(Some(8), 201));
        assert!(look(Some(8), 301));
    }
}
