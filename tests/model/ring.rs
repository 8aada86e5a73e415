//! The ring's message counts, exact, as the literature gives them; and random schedules.

use electd_election::core::message::Kind;
use electd_election::core::settings::AlgorithmKind;
use electd_model::sim::{Delays, MessageCounts, Scenario, ScenarioOutcome, Schedule};

/// The ring sizes whose counts are checked.
const SIZES: std::ops::RangeInclusive<usize> = 2..=crate::fewer(8, 12) as usize;

/// How many random schedules a test runs; `make sim` runs more.
const SEEDS: u64 = crate::fewer(40, 2000);

/// Lock-step, and two draws of random delays: no order of arrivals may change a count.
const DELAYS: [(Delays, u64); 3] =
    [(Delays::Lockstep, 0), (Delays::Random, 1), (Delays::Random, 2)];

fn counts(election: usize, elected: usize) -> MessageCounts {
    MessageCounts::from([(Kind::Election, election as u64), (Kind::Elected, elected as u64)])
}

/// A ring of `n` in which this member, by its number, is the best.
fn ring(n: usize, best: usize, initiators: &[usize]) -> Scenario {
    Scenario {
        algorithm: AlgorithmKind::Ring,
        attributes: (1..=n).map(|node| i64::from(node == best)).collect(),
        initiators: initiators.to_vec(),
        ..Scenario::new(n)
    }
}

/// A ring in which all initiate at once, and no initiator ranks above another.
fn flat_ring(attributes: &[i64]) -> Scenario {
    Scenario {
        algorithm: AlgorithmKind::Ring,
        attributes: attributes.to_vec(),
        hierarchy: false,
        initiators: (1..=attributes.len()).collect(),
        ..Scenario::new(attributes.len())
    }
}

fn run(scenario: &Scenario) -> ScenarioOutcome {
    scenario.run().unwrap_or_else(|error| panic!("{error}: {scenario:?}"))
}

/// Runs a scenario under all delays; the count of each kind must always be the same.
fn assert_counts(scenario: &Scenario, leader: usize, expected: MessageCounts) {
    for (delays, seed) in DELAYS {
        let scenario = Scenario { delays, seed, ..scenario.clone() };
        let outcome = run(&scenario);
        let told =
            |kinds: &MessageCounts| (kinds[Kind::Election], kinds[Kind::Elected], kinds.total());
        assert_eq!((outcome.leader, outcome.epoch.0), (leader, 1), "{scenario:?}");
        assert_eq!(told(&outcome.messages), told(&expected), "{scenario:?}");
    }
}

/// The members of a ring in its order, each with its clockwise distance to another.
struct Order(Vec<usize>);

impl Order {
    fn distance(&self, from: usize, to: usize) -> usize {
        let place = |node| self.0.iter().position(|other| *other == node).unwrap();
        (place(to) + self.0.len() - place(from)) % self.0.len()
    }
}

/// "One initiator: 2N + d: ELECTION N + d, ELECTED N."
/// Claim: counts.
#[test]
fn one_initiator_costs_two_laps_and_its_distance_to_the_best() {
    for n in SIZES {
        let order = Order((1..=n).collect());
        for best in 1..=n {
            for initiator in 1..=n {
                let d = order.distance(initiator, best);
                assert_counts(&ring(n, best, &[initiator]), best, counts(n + d, n));
            }
        }
    }
}

/// Seed 004: "Best case: the process with best attr is the initiator. N msgs ... and then another
/// N"; "Worst case: the initiator process is the successor of the process with the best attr ...
/// So total of 3N - 1 msgs."
#[test]
fn best_and_worst_case() {
    for n in SIZES {
        let total = |initiator| run(&ring(n, n, &[initiator])).messages.total();
        assert_eq!(total(n), 2 * n as u64, "the best initiates");
        assert_eq!(total(1), 3 * n as u64 - 1, "its successor initiates");
        assert_eq!((1..=n).map(total).max(), Some(3 * n as u64 - 1));
    }
}

/// "On a repaired ring, N becomes the number of live members."
#[test]
fn a_repaired_ring_is_a_smaller_one() {
    for n in 3..=7_usize {
        for dead in (1..(1_usize << n) - 1).filter(|dead| dead.count_ones() <= 3) {
            let (crashed, live): (Vec<_>, Vec<_>) = (1..=n).partition(|i| dead >> (i - 1) & 1 == 1);
            if live.len() == 1 {
                continue; // elects itself: see below
            }
            let order = Order(live.clone());
            for &best in &live {
                let initiator = live[best % live.len()];
                let d = order.distance(initiator, best);
                let scenario = Scenario {
                    crashed: crashed.clone(),
                    detected: true,
                    ..ring(n, best, &[initiator])
                };
                assert_counts(&scenario, best, counts(live.len() + d, live.len()));
            }
        }
    }
}

/// "Set S initiates at once, hierarchy on: ELECTION = N + dist(greatest initiator -> best) + sum
/// over the other w in S of dist(w -> next greater initiator); ELECTED = N."
#[test]
fn the_greatest_initiator_ends_the_runs_of_the_others() {
    for n in 2..=6 {
        let order = Order((1..=n).collect());
        for set in 1..1_u32 << n {
            let initiators = (1..=n).filter(|i| set >> (i - 1) & 1 == 1).collect::<Vec<_>>();
            let greatest = *initiators.last().unwrap();
            // Ids ascend clockwise, so the next greater initiator is the next one.
            let others = initiators.windows(2).map(|w| order.distance(w[0], w[1])).sum::<usize>();
            for best in 1..=n {
                let election = n + order.distance(greatest, best) + others;
                assert_counts(&ring(n, best, &initiators), best, counts(election, n));
            }
        }
    }
}

/// "All initiate at once, attribute = id, no initiator hierarchy: 3N - 1 to N(N+3)/2".
#[test]
fn without_the_hierarchy_the_order_of_the_attributes_decides() {
    for n in SIZES {
        let ascending = (1..=n as i64).collect::<Vec<_>>();
        let descending = ascending.iter().rev().copied().collect::<Vec<_>>();
        assert_counts(&flat_ring(&ascending), n, counts(2 * n - 1, n));
        assert_counts(&flat_ring(&descending), 1, counts(n * (n + 1) / 2, n));
    }
}

/// "3N - 1 to N(N+3)/2; mean of ELECTION is N*H(N)".
#[test]
fn without_the_hierarchy_the_mean_is_that_of_chang_and_roberts() {
    for n in 2..=6_usize {
        let (mut sum, mut runs) = (0, 0);
        for attributes in permutations(n) {
            let messages = run(&flat_ring(&attributes)).messages;
            let total = messages.total() as usize;
            assert!((3 * n - 1..=n * (n + 3) / 2).contains(&total), "{total} for {attributes:?}");
            sum += messages[Kind::Election];
            runs += 1;
        }
        // N * H(N), times N! so that it is whole.
        let harmonic = (1..=n as u64).map(|i| runs / i).sum::<u64>();
        assert_eq!(sum, n as u64 * harmonic, "{n} members");
    }
}

/// All orders of 1 to n.
fn permutations(n: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for value in 1..=n as i64 {
        let insert = |order: Vec<i64>| {
            (0..=order.len()).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, value);
                longer
            })
        };
        all = all.into_iter().flat_map(insert).collect();
    }
    all
}

/// Seed 004: "when nodes fail, the ring may get broken, and liveness may be violated" - unless it
/// is repaired: the deaths are found on the way.
#[test]
fn a_ring_that_breaks_unseen_is_repaired() {
    for n in 3..=8 {
        for dead in 1..n {
            for (delays, seed) in DELAYS {
                let crashed = vec![dead, n];
                let initiators = (1..n).find(|node| *node != dead).into_iter().collect();
                let scenario = Scenario {
                    algorithm: AlgorithmKind::Ring,
                    crashed,
                    initiators,
                    delays,
                    seed,
                    ..Scenario::new(n)
                };
                let best = if dead == n - 1 { n - 2 } else { n - 1 };
                assert_eq!(run(&scenario).leader, best, "{scenario:?}");
            }
        }
    }
}

/// "A single live member elects itself without a message."
#[test]
fn a_single_live_member_elects_itself() {
    for n in 1..=5 {
        let crashed = (2..=n).collect::<Vec<_>>();
        let scenario = Scenario { crashed, detected: true, ..ring(n, 1, &[1]) };
        assert_counts(&scenario, 1, counts(0, 0));
    }
}

/// Seed 004: "shouldn't matter which process calls for the election"; "diff processes can't
/// initiate elections that result in diff leaders".
#[test]
fn the_outcome_does_not_depend_on_who_calls() {
    for set in 1..1_u32 << 5 {
        let initiators = (1..=5).filter(|i| set >> (i - 1) & 1 == 1).collect::<Vec<_>>();
        assert_eq!(run(&ring(5, 3, &initiators)).leader, 3, "{initiators:?}");
    }
}

#[test]
fn random_schedules_keep_the_invariants_and_converge() {
    for seed in 0..SEEDS {
        let schedule = Schedule::new(AlgorithmKind::Ring, seed);
        if let Err(failure) = schedule.run() {
            panic!("{failure}\nreplay: {}", failure.replay());
        }
    }
}
