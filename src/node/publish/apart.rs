//! Whether timings that one member takes part it from the others: a voter promises nothing for longer than 16
//! times its own lease, so of two members whose leases are further apart one would not vote for the other.
//!
//! Nobody keeps the others from a reload: neither a member that is gone, whatever it told last, nor a few that
//! tell absurd timings.

use crate::core::settings::LONGEST_PROMISE;
use crate::core::types::NodeId;

/// The first of the other live voters that a change of this voter's lease parts from it, if too few are left then
/// for a majority, and fewer than before. All leases are in nanoseconds.
pub(super) fn too_far(
    others: &[(NodeId, u64)],
    majority: usize,
    present: u64,
    next: u64,
) -> Option<(NodeId, u64)> {
    let is_near = |own: u64, (_, lease): &(NodeId, u64)| {
        own.max(*lease) <= own.min(*lease).saturating_mul(LONGEST_PROMISE.into())
    };
    let near = |own| 1 + others.iter().filter(|other| is_near(own, other)).count();
    if near(next) >= majority.min(near(present)) {
        return None;
    }
    others.iter().find(|other| !is_near(next, other)).copied()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const S: u64 = 1_000_000_000;

    fn voters(leases: &[u64]) -> Vec<(NodeId, u64)> {
        (1..).map(|id| NodeId(Uuid::from_u128(id))).zip(leases.iter().copied()).collect()
    }

    #[test]
    fn a_lease_that_leaves_no_majority_is_too_far_and_the_first_such_voter_is_named() {
        let others = voters(&[S, S, S, S]);
        assert_eq!(too_far(&others, 3, S, 16 * S), None);
        assert_eq!(too_far(&others, 3, S, 16 * S + 1), Some(others[0]));
        assert_eq!(too_far(&others, 3, 16 * S, S), None);
        assert_eq!(too_far(&others, 3, S, S / 17), Some(others[0]));
    }

    #[test]
    fn a_few_that_tell_absurd_leases_keep_nobody_from_a_reload() {
        let absurd = u64::MAX;
        assert_eq!(too_far(&voters(&[S, absurd]), 2, S, 2 * S), None);
        assert_eq!(too_far(&voters(&[0, absurd, S, S]), 3, S, 16 * S), None);
        // With an honest one down, the others are too few in any case.
        assert_eq!(too_far(&voters(&[absurd]), 2, S, 2 * S), None);
        // They do not hide that an honest one is left behind.
        let others = voters(&[S, absurd]);
        assert_eq!(too_far(&others, 2, S, 17 * S), Some(others[0]));
    }

    #[test]
    fn a_way_back_from_timings_that_part_the_members_is_open() {
        let others = voters(&[S, S]);
        assert_eq!(too_far(&others, 2, 100 * S, 50 * S), None);
        assert_eq!(too_far(&others, 2, 100 * S, S), None);
    }
}
