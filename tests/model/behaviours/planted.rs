//! Each planted fault of votes, promises and certificates is refused, if a recording shows it: docs/spec/README.md says
//! which do not, and why.

use std::panic::{self, AssertUnwindSafe};

use electd_election::core::planted::{BUILT_IN, Fault, plant};
use electd_election::core::settings::AlgorithmKind;
use electd_model::sim::{FaultSet, Schedule};
use electd_record::behaviour::{RefusedRecording, judge};

use super::{lives, run_of};

/// A fault, and the first run that was found to show it. Another run is looked for if that does not any more.
const SEEN: &[(Fault, FaultSet, u64)] = &[
    (Fault::EpochTwice, FaultSet::All, 97),
    (Fault::VoteNoPromise, FaultSet::Storm, 3),
    (Fault::VoteNotDurable, FaultSet::All, 2),
    (Fault::ReserveForgotten, FaultSet::Storm, 66),
    (Fault::Unsure, FaultSet::All, 0),
    (Fault::LeadsAfterRelease, FaultSet::Storm, 1),
    (Fault::LeaseFromReceipt, FaultSet::All, 0),
    (Fault::NoDrift, FaultSet::Storm, 4),
    (Fault::OlderCopy, FaultSet::All, 11),
    (Fault::OlderLeader, FaultSet::Jobs, 18),
    (Fault::OlderRelease, FaultSet::Jobs, 3),
    (Fault::OwnVoteFree, FaultSet::All, 4),
    (Fault::DoneTooSoon, FaultSet::All, 2),
    (Fault::PromiseForgotten, FaultSet::All, 0),
    (Fault::ReleaseNotAwaited, FaultSet::Storm, 3),
    (Fault::StaleVote, FaultSet::All, 10),
    (Fault::StaleList, FaultSet::All, 4),
    (Fault::PromiseTooSoon, FaultSet::Storm, 6),
    (Fault::JobNotAwaited, FaultSet::Jobs, 0),
    (Fault::JobUntold, FaultSet::Jobs, 0),
    (Fault::CertificateBelieved, FaultSet::All, 1),
    (Fault::DeadBinds, FaultSet::All, 252),
];

/// How many seeds are tried for each fault and each set of faults.
const SEEDS: u64 = 300;

/// What a run with this fault is refused for, if its recording without the fault is not.
fn refusal(fault: Fault, schedule: Schedule) -> Option<RefusedRecording> {
    plant(Some(fault));
    let broken = panic::catch_unwind(AssertUnwindSafe(|| lives(schedule)));
    plant(None);
    let refused = judge(&broken.ok()?).err()?;
    judge(&lives(schedule)).is_ok().then_some(refused)
}

/// The first run that shows it: that which did before, or another.
fn search(fault: Fault, set: FaultSet, seed: u64) -> Option<(Schedule, RefusedRecording)> {
    let sets = [FaultSet::All, FaultSet::Storm, FaultSet::Jobs];
    let others = (0..SEEDS).flat_map(|seed| sets.map(|set| (set, seed)));
    std::iter::once((set, seed)).chain(others).find_map(|(set, seed)| {
        let schedule = run_of(AlgorithmKind::Bully, set, seed);
        Some((schedule, refusal(fault, schedule)?))
    })
}

/// Only a build with the feature `planted` can break a rule. `MUTANTS` names the faults to try.
#[test]
fn planted_faults_are_refused() {
    if !BUILT_IN {
        return;
    }
    let names = std::env::var("MUTANTS").unwrap_or_default();
    let wanted = |name: &str| {
        names.is_empty() || names.split_whitespace().any(|begin| name.starts_with(begin))
    };
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {})); // a broken core may panic
    let mut missed = Vec::new();
    for (fault, set, seed) in SEEN {
        let plan = fault.plan();
        if !wanted(plan.name) {
            continue;
        }
        match search(*fault, *set, *seed) {
            Some((Schedule { faults, seed, .. }, refused)) => {
                println!("{:<30} {} {} {seed}: {refused}", plan.name, plan.rule, faults.name());
            }
            None => {
                println!("{:<30} {} NOT REFUSED", plan.name, plan.rule);
                missed.push(plan.name);
            }
        }
    }
    panic::set_hook(hook);
    assert_eq!(missed, [""; 0]);
}
