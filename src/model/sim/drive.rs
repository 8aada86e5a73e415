//! How long the writes of a simulated disk take: as long as in all of the world, or as this disk does.

use std::time::Duration;

use crate::core::random::Random;
use crate::core::types::Time;

/// How long the store waits after a write that failed, before it tries again.
const RETRY: Duration = Duration::from_millis(500);

/// The disk of one host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drive {
    /// How long a write takes at least and at most, where it differs from the rest of the world.
    pub speed: Option<(Duration, Duration)>,
    /// One in this many writes fails and is tried again; none if 0.
    pub fails: u64,
    /// No write ends any more.
    pub stuck: bool,
    /// No write ends before then.
    pub stalled_until: Time,
}

impl Drive {
    /// When a write that starts now will be done, where others take up to `usual`; never where none.
    /// Tells also how often it fails before.
    pub fn write(self, now: Time, usual: Duration, random: &mut Random) -> Option<(Time, u64)> {
        if self.stuck {
            return None;
        }
        let mut after = match self.speed {
            Some((least, most)) => least + random.up_to(most.saturating_sub(least)),
            None => random.up_to(usual),
        };
        let mut failures = 0;
        while self.fails > 0 && random.below(self.fails) == 0 {
            failures += 1;
            after += RETRY;
        }
        Some(((now + after).max(self.stalled_until), failures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_as_long_as_its_disk_does() {
        let ms = Duration::from_millis;
        let mut random = Random::new(1);
        for _ in 0..100 {
            let mut write = |drive: Drive| drive.write(Time(0), ms(10), &mut random);
            let (usual, _) = write(Drive::default()).expect("it ends");
            assert!(usual < Time(0) + ms(10));
            let speed = Some((ms(200), ms(300)));
            let (slow, _) = write(Drive { speed, ..Drive::default() }).expect("it ends");
            assert!(Time(0) + ms(200) <= slow && slow < Time(0) + ms(300));
            assert_eq!(write(Drive { stuck: true, ..Drive::default() }), None);
            let until = Time(0) + ms(50);
            let stalled = write(Drive { stalled_until: until, ..Drive::default() });
            assert_eq!(stalled, Some((until, 0)));
            let (at, failures) = write(Drive { fails: 2, ..Drive::default() }).expect("it ends");
            assert!(at >= Time(0) + RETRY * u32::try_from(failures).unwrap_or(0));
        }
    }
}
