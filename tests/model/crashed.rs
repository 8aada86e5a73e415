//! Each election after crashes ends, with a majority as without.

use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{Delays, Scenario, SimError};

/// Longer elections, too: after `failure` a voter whose disk stands still denies its vote. With halting a lower member may
/// win, as a higher one follows the dead leader until it misses it.
/// Claim: bound.
#[test]
fn an_election_after_crashes_ends_while_a_majority_lives() {
    for (nodes, dead) in [(3, 1), (4, 1), (5, 1), (5, 2), (6, 2), (9, 4)] {
        for algorithm in AlgorithmKind::ALL {
            for quorum in Quorum::ALL {
                for detected in [false, true] {
                    for (delays, seed) in [(Delays::Lockstep, 0), (Delays::Random, 1)] {
                        let scenario = Scenario {
                            algorithm,
                            quorum,
                            crashed: (nodes - dead + 1..=nodes).collect(),
                            detected,
                            delays,
                            seed,
                            ..Scenario::new(nodes)
                        };
                        let leader = scenario.run().map(|outcome| outcome.leader);
                        let ended = leader.as_ref().is_ok_and(|leader| *leader <= nodes - dead);
                        assert!(ended, "{scenario:?}: {leader:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_election_without_a_majority_is_refused_in_words() {
    let left = |quorum| Scenario { quorum, crashed: vec![3, 4], ..Scenario::new(4) }.run();
    assert_eq!(left(Quorum::None).map(|outcome| outcome.leader), Ok(2));
    let error = left(Quorum::Majority).expect_err("two of four are none");
    assert_eq!(error, SimError::Minority { left: 2, nodes: 4, majority: 3 });
    assert!(error.is_usage());
    let words = "--crash: 2 of 4 nodes are left, which are no majority, so none comes to lead; let 3 live, or give \
                 --quorum none";
    assert_eq!(error.to_string(), words);
}
