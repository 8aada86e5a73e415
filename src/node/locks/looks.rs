//! When the names that this member wants are looked at, each of them: there may be thousands, and most turns of the election
//! thread change nothing of any.

use std::collections::BTreeMap;
use std::time::Duration;

use electd_facts::locks::LockHindrance;

use crate::core::locks::table::LockName;
use crate::core::types::{Time, Version};

/// Between two looks because of what programs want there is this part of a heartbeat: so what a thousand of them want, one
/// right after the other, is one change for the coordinator.
const APART: u32 = 10;

/// What names depend on besides what programs and the configuration say of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookedAt {
    pub hindered: Option<LockHindrance>,
    pub is_drained: bool,
    /// The version of the last done table.
    pub table: Version,
    /// Whether a majority of the voters supports this member.
    pub is_supported: bool,
}

#[derive(Debug, Default)]
pub struct NamesLook {
    /// When they are to be looked at next, if nothing else comes.
    due: Option<Time>,
    /// When they were, because of what programs want.
    last: Time,
    pub looked_at: LookedAt,
    /// The number of each name that is wanted.
    pub numbers: BTreeMap<LockName, u64>,
    /// How many of these nobody held at the last look.
    pub lacking: usize,
    /// Whether any program may act at the last look.
    pub is_acting: bool,
}

impl NamesLook {
    /// They are to be looked at by then.
    pub fn at(&mut self, time: Time) {
        self.due = Some(self.due.map_or(time, |due| due.min(time)));
    }

    /// They are to be looked at now, or a while after the last time.
    pub fn soon(&mut self, now: Time, heartbeat: Duration) {
        self.at(now.max(self.last + heartbeat / APART));
    }

    pub fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// Whether they are to be looked at now. If so, that is done.
    pub fn take(&mut self, now: Time) -> bool {
        let is_due = self.due.take_if(|due| *due <= now).is_some();
        if is_due {
            self.last = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_look_is_at_once_and_the_next_ones_come_together() {
        let (beat, now) = (Duration::from_millis(100), Time(1 << 40));
        let mut looks = NamesLook::default();
        looks.soon(now, beat);
        assert!(looks.take(now) && !looks.take(now));
        (0..100).for_each(|_| looks.soon(now, beat));
        let next = now + beat / 10;
        assert!(!looks.take(now) && looks.deadline() == Some(next));
        assert!(looks.take(next) && looks.deadline().is_none());
        looks.soon(next, beat);
        looks.at(next);
        assert!(looks.take(next), "what cannot wait does not");
    }
}
