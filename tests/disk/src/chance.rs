//! Numbers drawn from a seed: the same seed loses the same.

/// SplitMix64, which has no seed that it cannot begin with.
#[derive(Clone, Debug)]
pub struct Chance(u64);

/// How much of something survives: so many parts of [`Share::WHOLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    const WHOLE: u64 = 4;

    /// Nothing survives.
    pub const NONE: Share = Share(0);

    /// Everything survives.
    pub const ALL: Share = Share(Share::WHOLE);
}

impl Chance {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// How much survives, from nothing to everything: the extremes are what disks do most, and a fair coin for each
    /// sector would never show them.
    pub fn share(&mut self) -> Share {
        Share(self.below(Share::WHOLE + 1))
    }

    /// Whether one of those that survive in this share does.
    pub fn keeps(&mut self, share: Share) -> bool {
        self.below(Share::WHOLE) < share.0
    }
}
