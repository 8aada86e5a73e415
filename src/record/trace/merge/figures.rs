//! How many messages an election takes by the formulas of docs/algorithms.md.

use std::ops::RangeInclusive;

use crate::core::settings::AlgorithmKind;

/// The least and the most messages of the algorithm for this many live members, if nobody else is asked, nothing is lost
/// and nobody fails meanwhile: of the bully M - 1 and M^2 - 1, of the halting algorithm 6 (M - 1) and 9 M - 7, of the
/// ring 2 M and the greater of 3 M - 1 and M (M + 3) / 2. Where several members notice a failure at one time, it is
/// chance which of these it takes.
///
/// ```
/// use electd_election::core::settings::AlgorithmKind;
/// use electd_record::trace::merge::figures::messages;
///
/// assert_eq!(messages(AlgorithmKind::Bully, 4), 3..=15);
/// assert_eq!(messages(AlgorithmKind::Halting, 4), 18..=29);
/// assert_eq!((messages(AlgorithmKind::Ring, 4), messages(AlgorithmKind::Ring, 2)), (8..=14, 4..=5));
/// assert_eq!(AlgorithmKind::ALL.map(|algorithm| messages(algorithm, 1)), [0..=0, 0..=0, 0..=0]);
/// ```
#[must_use]
pub fn messages(algorithm: AlgorithmKind, members: usize) -> RangeInclusive<u64> {
    let m = (members as u64).clamp(1, 1 << 20);
    match algorithm {
        _ if m == 1 => 0..=0,
        AlgorithmKind::Bully => m - 1..=m * m - 1,
        AlgorithmKind::Halting => 6 * (m - 1)..=9 * m - 7,
        AlgorithmKind::Ring => 2 * m..=(3 * m - 1).max(m * (m + 3) / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of docs/algorithms.md.
    #[test]
    fn each_number_of_members_has_its_least_and_its_most() {
        for (members, bully, halting, ring) in [
            (0, 0..=0, 0..=0, 0..=0),
            (1, 0..=0, 0..=0, 0..=0),
            (2, 1..=3, 6..=11, 4..=5),
            (3, 2..=8, 12..=20, 6..=9),
            (4, 3..=15, 18..=29, 8..=14),
            (5, 4..=24, 24..=38, 10..=20),
            (6, 5..=35, 30..=47, 12..=27),
        ] {
            assert_eq!(messages(AlgorithmKind::Bully, members), bully, "{members}");
            assert_eq!(messages(AlgorithmKind::Halting, members), halting, "{members}");
            assert_eq!(messages(AlgorithmKind::Ring, members), ring, "{members}");
        }
        let most = 1_048_576; // more than any list has, and the square of it is a number still
        assert_eq!(messages(AlgorithmKind::Bully, usize::MAX), most - 1..=most * most - 1);
    }
}
