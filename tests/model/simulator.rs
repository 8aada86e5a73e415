//! The bully's message counts, exact, as the literature gives them; and random schedules.

use electd_election::core::message::Kind;
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{
    Counter, Delays, FaultSet, Faults, MessageCounts, Scenario, ScenarioOutcome, Schedule, SimError,
};

/// The cluster sizes whose counts are checked.
const SIZES: std::ops::RangeInclusive<u64> = 2..=crate::fewer(8, 12);

/// How many random schedules a test runs; `make sim` runs more.
const SEEDS: u64 = crate::fewer(40, 2000);

/// How many with all faults, of each algorithm and quorum.
pub const BEYOND: u64 = crate::fewer(12, 40);

/// Events that happen only in storms.
const STORMS: [&str; 3] =
    ["timings reloaded", "disks that stood still", "messages to an earlier version"];

/// Events that happen only where members run jobs, and are drained and checked.
const JOBS: [&str; 8] = [
    "members drained",
    "members undrained",
    "health checks that changed",
    "pauses asked for",
    "ends of pauses asked for",
    "jobs started",
    "  ended in order, of these",
    "  not, for a guard was killed",
];

/// Events that happen only where faults stay; faults with a moving target happen in storms as well.
const STAYS: [&str; 21] = [
    "clusters with a hasty member",
    "faults aimed at whom they meet",
    "writes of slow disks",
    "writes that failed",
    "disks stuck for good",
    "dials gone astray",
    "links dead for good",
    "  in one direction only",
    "members never reachable",
    "files edited",
    "members renamed",
    "disks wiped",
    "disks rolled back",
    "disks of another, refused",
    "bootstraps kept on",
    "clusters of unequal timings",
    "clusters of longer timings once",
    "clusters of more than 8",
    "faults right after a command",
    "times a leader was promised",
    "times none was",
];

/// Events that happen only where a leader judges orders, or drains are answered.
const ORDERS: [&str; 7] = [
    "drains that a leader judges",
    "drains answered",
    "  refused, of those judged",
    "  not decided in time",
    "other addresses asked for",
    "coroners that ended",
    "  replaced, of these",
];

/// A cluster of `n` whose highest member led and died.
fn leader_died(n: u64, initiators: &[u64], detected: bool) -> Scenario {
    let place = |number: &u64| usize::try_from(*number).unwrap();
    Scenario {
        crashed: vec![place(&n)],
        initiators: initiators.iter().map(place).collect(),
        detected,
        ..Scenario::new(place(&n))
    }
}

fn run(scenario: &Scenario) -> ScenarioOutcome {
    scenario.run().unwrap_or_else(|error| panic!("{error}: {scenario:?}"))
}

fn counts(election: u64, answer: u64, coordinator: u64) -> MessageCounts {
    MessageCounts::from([
        (Kind::Election, election),
        (Kind::Answer, answer),
        (Kind::Coordinator, coordinator),
    ])
}

/// "Death not known beforehand (ELECTION also goes to the dead), lowest initiator i, k = N-i."
fn unknown_death(n: u64, lowest: u64) -> MessageCounts {
    let k = n - lowest;
    counts(k * (k + 1) / 2, k * (k - 1) / 2, n - 2)
}

/// "Death known (the detector filters it), M live, lowest initiator of rank r (1 = lowest)."
fn known_death(n: u64, lowest: u64) -> MessageCounts {
    let (m, r) = (n - 1, lowest);
    let asked = (m - r) * (m - r + 1) / 2;
    counts(asked, asked, m - 1)
}

#[test]
fn counts_are_exact_when_the_death_is_not_known() {
    for n in SIZES {
        for initiator in 1..n {
            let outcome = run(&leader_died(n, &[initiator], false));
            assert_eq!(outcome.messages, unknown_death(n, initiator), "{initiator} of {n}");
            let k = n - initiator;
            assert_eq!(outcome.messages.total(), k * k + n - 2);
            assert_eq!((outcome.leader as u64, outcome.epoch.0), (n - 1, 1));
        }
    }
}

/// Claim: counts.
#[test]
fn counts_are_exact_when_the_death_is_known() {
    for n in SIZES {
        for initiator in 1..n {
            let outcome = run(&leader_died(n, &[initiator], true));
            assert_eq!(outcome.messages, known_death(n, initiator), "{initiator} of {n}");
            let (m, r) = (n - 1, initiator);
            assert_eq!(outcome.messages.total(), (m - r) * (m - r + 1) + m - 1);
            assert_eq!((outcome.leader as u64, outcome.epoch.0), (n - 1, 1));
        }
    }
}

#[test]
fn best_and_worst_case() {
    for n in SIZES {
        let total =
            |initiator, detected| run(&leader_died(n, &[initiator], detected)).messages.total();
        assert_eq!(total(n - 1, false), n - 1, "best: the highest survivor notices");
        assert_eq!(total(1, false), n * n - n - 1, "worst: the lowest notices");
        assert_eq!(total(n - 1, true), n - 2);
        assert_eq!(total(1, true), (n - 1) * (n - 1) - 1);
    }
}

/// All sets of initiators of up to seven members, the top live one not among them.
#[test]
fn several_initiators_cost_no_more_than_the_lowest_of_them() {
    for n in 3..=7_u64 {
        for set in 1..1_u64 << (n - 2) {
            let initiators = (1..n - 1).filter(|i| set & (1 << (i - 1)) != 0).collect::<Vec<_>>();
            let lowest = initiators[0];
            let known = run(&leader_died(n, &initiators, true));
            assert_eq!(known.messages, known_death(n, lowest), "{initiators:?} of {n}");
            let unknown = run(&leader_died(n, &initiators, false));
            assert_eq!(unknown.messages, unknown_death(n, lowest), "{initiators:?} of {n}");
        }
    }
}

/// Members count by their rank, whatever their numbers: here they rank in the reverse order of
/// these, and in pairs that only their numbers tell apart.
#[test]
fn counts_follow_the_ranks_and_not_the_numbers() {
    for n in SIZES {
        let reversed = |n: u64| (0..n).rev().map(|place| place as i64).collect::<Vec<_>>();
        for initiator in 2..=n {
            let scenario = Scenario {
                attributes: reversed(n),
                crashed: vec![1],
                ..leader_died(n, &[initiator], false)
            };
            let outcome = run(&scenario);
            assert_eq!(outcome.messages, unknown_death(n, n + 1 - initiator), "{scenario:?}");
            assert_eq!(outcome.leader, 2);
        }
        let pairs = (0..n).map(|place| place as i64 / 2).collect();
        let scenario = Scenario { attributes: pairs, ..leader_died(n, &[1], true) };
        assert_eq!(run(&scenario).messages, known_death(n, 1), "{scenario:?}");
    }
}

#[test]
fn without_a_death_the_highest_leads_whoever_calls() {
    for n in 1..=9 {
        for initiator in 1..=n {
            let outcome = run(&Scenario { initiators: vec![initiator], ..Scenario::new(n) });
            assert_eq!((outcome.leader, outcome.epoch.0), (n, 1));
        }
    }
}

#[test]
fn under_random_delays_the_counts_are_upper_bounds() {
    for seed in 0..crate::fewer(5, 20) {
        for n in SIZES {
            for initiator in 1..n {
                for (detected, bound) in
                    [(false, unknown_death(n, initiator)), (true, known_death(n, initiator))]
                {
                    let scenario = leader_died(n, &[initiator], detected);
                    let scenario = Scenario { delays: Delays::Random, seed, ..scenario };
                    let outcome = run(&scenario);
                    assert_eq!((outcome.leader as u64, outcome.epoch.0), (n - 1, 1));
                    let messages = outcome.messages;
                    for (kind, count) in messages.list(AlgorithmKind::Bully) {
                        assert!(count <= bound[kind], "{scenario:?}: {messages:?}");
                    }
                    assert!(messages.total() <= bound.total(), "{scenario:?}: {messages:?}");
                }
            }
        }
    }
}

#[test]
fn a_run_follows_from_its_seed() {
    let run = || {
        Schedule { trace: true, ..Schedule::new(AlgorithmKind::Bully, 7) }
            .run()
            .expect("seed 7 is fine")
            .trace
    };
    assert_eq!(run(), run());
}

#[test]
fn a_life_in_which_members_come_and_go_follows_from_its_seed() {
    let run = |seed| {
        let schedule = Schedule::new(AlgorithmKind::Halting, seed);
        let (quorum, faults, trace) = (Quorum::Majority, FaultSet::All, true);
        let run = Schedule { quorum, faults, trace, ..schedule }.run().expect("the seed is fine");
        (run.faults, run.trace)
    };
    let changed =
        (0..BEYOND).find(|seed| run(*seed).0[Counter::Changed] > 0).expect("none changed");
    assert_eq!(run(changed), run(changed));
}

pub fn live(schedule: Schedule) -> Faults {
    match schedule.run() {
        Ok(run) => run.faults,
        Err(failure) => panic!("{failure}\nreplay: {}", failure.replay()),
    }
}

#[test]
fn random_schedules_keep_the_invariants_and_converge() {
    for seed in 0..SEEDS {
        live(Schedule::new(AlgorithmKind::Bully, seed));
    }
}

/// Whatever happens to network, processes and clocks; and each of these faults does happen.
/// Claim: one-leader.
#[test]
fn all_faults_fire_and_nothing_breaks() {
    for quorum in Quorum::ALL {
        let mut all = Faults::default();
        for algorithm in AlgorithmKind::ALL {
            for seed in 0..BEYOND {
                let schedule = Schedule::new(algorithm, seed);
                all += live(Schedule { quorum, faults: FaultSet::All, ..schedule });
            }
        }
        for (what, times) in all.list() {
            // With a majority an epoch is never led in twice, and lists never diverge.
            let apart = ["  in an epoch of another", "sides estranged by changes"];
            let never = quorum == Quorum::Majority && apart.contains(&what);
            // So few runs need not meet these.
            let rare = ["changes void", "sides estranged by changes", "removed members barred"];
            // With a majority it takes a leader that is late to see the end of its lease.
            let late = quorum == Quorum::Majority && what == "  beside another leader";
            let rare = crate::IS_SHORT || late || rare.contains(&what);
            let elsewhere = [&STORMS[..], &STAYS, &JOBS, &ORDERS];
            let elsewhere = elsewhere.iter().any(|list| list.contains(&what));
            let fits = if never || elsewhere { times == 0 } else { times > 0 || rare };
            assert!(fits, "{what}: {times}, quorum {}", quorum.name());
        }
    }
}

/// A job runs only while its member leads: with a majority never two at one instant.
/// Claim: one-job.
#[test]
fn no_two_jobs_run_at_one_instant() {
    for quorum in Quorum::ALL {
        let mut all = Faults::default();
        for algorithm in AlgorithmKind::ALL {
            for seed in 0..BEYOND {
                let schedule = Schedule::new(algorithm, seed);
                all += live(Schedule { quorum, faults: FaultSet::Jobs, ..schedule });
            }
        }
        assert!(all[Counter::JobsStarted] > 0 && all[Counter::JobsEnded] > 0);
    }
}

/// Storms of faults, each of which does happen.
/// Claim: one-leader.
#[test]
fn storms_break_nothing() {
    for quorum in Quorum::ALL {
        let mut all = Faults::default();
        for algorithm in AlgorithmKind::ALL {
            for seed in 0..BEYOND / 2 {
                let schedule = Schedule::new(algorithm, seed);
                all += live(Schedule { quorum, faults: FaultSet::Storm, ..schedule });
            }
        }
        assert!(all[Counter::Aimed] > 0 && all[Counter::DiskStalls] > 0);
        assert!(crate::IS_SHORT || (all[Counter::Retimed] > 0 && all[Counter::SentToOlder] > 0));
    }
}

/// Lasting faults break no invariant, each of them does happen, and there is always a leader where one
/// is promised.
/// Claim: survivor.
#[test]
fn worlds_that_stay_broken_have_one_leader() {
    let mut all = Faults::default();
    for (algorithm, seeds) in
        AlgorithmKind::ALL.into_iter().zip([BEYOND * 3, BEYOND / 4, BEYOND / 4])
    {
        for quorum in Quorum::ALL {
            for seed in 0..seeds {
                let schedule = Schedule::new(algorithm, seed);
                all += live(Schedule { quorum, faults: FaultSet::Stay, ..schedule });
            }
        }
    }
    for (what, times) in all.list().filter(|(what, _)| STAYS.contains(what)) {
        assert!(times > 0 || crate::IS_SHORT, "{what}");
    }
}

#[test]
fn what_the_model_rules_out_does_not_happen_within_it() {
    let mut all = Faults::default();
    for seed in 0..BEYOND {
        all += live(Schedule::new(AlgorithmKind::Ring, seed));
    }
    for counter in
        [Counter::Delayed, Counter::Lost, Counter::Doubled, Counter::Stopped, Counter::Broken]
    {
        assert_eq!(all[counter], 0, "{counter:?}");
    }
    for counter in [Counter::Additions, Counter::Removals, Counter::Ended] {
        assert_eq!(all[counter], 0, "{counter:?}");
    }
    assert!(all[Counter::Starts] > 0 && all[Counter::Kills] > 0);
}

#[test]
fn scenarios_that_make_no_sense_are_refused_in_words() {
    let five = || Scenario::new(5);
    let cases = [
        (Scenario::new(0), "--nodes 0: give a number from 1 to 1000"),
        (Scenario::new(1001), "--nodes 1001: give a number from 1 to 1000"),
        (
            Scenario { initiators: vec![6], ..five() },
            "--initiators 6: there is no such node; they are numbered 1 to 5",
        ),
        (
            Scenario { initiators: vec![2, 2], ..five() },
            "--initiators: node 2 is named twice; name it once",
        ),
        (
            Scenario { crashed: vec![0], ..five() },
            "--crash 0: there is no such node; they are numbered 1 to 5",
        ),
        (
            Scenario { crashed: vec![5], initiators: vec![5], ..five() },
            "--initiators 5: node 5 crashes before the election; name a live one",
        ),
        (
            Scenario { attributes: vec![1; 4], ..five() },
            "--attributes: 4 for 5 nodes; give one for each, from node 1 on",
        ),
        (
            Scenario { hierarchy: false, ..five() },
            "--no-hierarchy: with --algorithm bully initiators have no hierarchy; leave it out, or \
             give --algorithm ring",
        ),
        (
            Scenario { crashed: vec![1], ..Scenario::new(1) },
            "--crash: no node is left to elect; let one live",
        ),
    ];
    for (scenario, sentence) in cases {
        let error: SimError = scenario.run().expect_err(sentence);
        assert_eq!(error.to_string(), sentence);
        assert!(error.is_usage());
    }
}
