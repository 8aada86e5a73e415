//! How much of what was not synced survives.

use electd_election::core::random::Random;

/// So many parts of [`Share::WHOLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    const WHOLE: u64 = 4;

    /// Nothing survives.
    pub const NONE: Share = Share(0);

    /// Everything survives.
    #[cfg(test)]
    pub const ALL: Share = Share(Share::WHOLE);

    /// From nothing to everything: the extremes are what disks do most, and a fair coin for each sector would never show
    /// them.
    pub fn drawn(random: &mut Random) -> Share {
        Share(random.below(Share::WHOLE + 1))
    }

    /// Whether one of those that survive in this share does.
    pub fn keeps(self, random: &mut Random) -> bool {
        random.below(Share::WHOLE) < self.0
    }
}
