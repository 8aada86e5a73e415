//! Orders of operators that a leader judges, and coroners that are replaced.

use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{Counter, FaultSet, Faults, Schedule};

use crate::simulator::{BEYOND, live};

/// Drains that the leader judges never leave nobody that may lead (A6), and coroners that are replaced certify no death
/// before the job has ended (Z7).
/// Claim: in-order.
#[test]
fn orders_leave_a_member_that_may_lead() {
    let mut all = Faults::default();
    for quorum in Quorum::ALL {
        for algorithm in AlgorithmKind::ALL {
            for seed in 0..BEYOND {
                let schedule = Schedule::new(algorithm, seed);
                all += live(Schedule { quorum, faults: FaultSet::Orders, ..schedule });
            }
        }
    }
    for (counter, what) in [
        (Counter::Drained, "drained"),
        (Counter::DrainsRefused, "refused"),
        (Counter::DrainsUndecided, "undecided"),
        (Counter::Changed, "moved"),
        (Counter::CoronersReplaced, "replaced"),
    ] {
        assert!(all[counter] > 0 || crate::IS_SHORT, "{what}");
    }
}
