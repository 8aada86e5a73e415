//! What each deed does to a cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Experiment, ExperimentError, ExperimentOutcome};
use crate::core::Phase;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::Time;
use crate::sim::{Deed, Delays};
use crate::trace::{DrawnEvent, DrawnWhat};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn of(algorithm: AlgorithmKind, deeds: &[(u64, Deed)]) -> Experiment {
    let deeds = deeds.iter().map(|(at, deed)| (ms(*at), deed.clone())).collect();
    Experiment { deeds, until: ms(4000), ..Experiment::new(algorithm, 5) }
}

fn seen(experiment: &Experiment) -> ExperimentOutcome {
    experiment.run().unwrap_or_else(|trouble| panic!("{experiment:?}: {trouble}"))
}

fn set(numbers: &[usize]) -> BTreeSet<usize> {
    numbers.iter().copied().collect()
}

/// The leaders that the live members name in the end.
fn leaders(observed: &ExperimentOutcome) -> BTreeSet<Option<usize>> {
    let live = observed.members.iter().filter(|member| member.phase.is_some());
    live.map(|member| member.leader).collect()
}

fn all(check: impl Fn(AlgorithmKind)) {
    AlgorithmKind::ALL.into_iter().for_each(check);
}

#[test]
fn the_last_leads_until_something_is_done() {
    all(|algorithm| {
        let observed = seen(&of(algorithm, &[]));
        assert_eq!(leaders(&observed), BTreeSet::from([Some(5)]));
        assert!(observed.elections.is_empty(), "{:?}", observed.elections);
        assert_eq!((observed.leaderless, observed.rivalled), (ms(0), ms(0)));
    });
}

#[test]
fn a_killed_leader_is_missed_at_once_and_a_vanished_one_after_a_silence() {
    all(|algorithm| {
        let killed = seen(&of(algorithm, &[(100, Deed::Kill(5))]));
        let vanished = seen(&of(algorithm, &[(100, Deed::Vanish(5))]));
        for (observed, earliest, latest) in [(&killed, 100, 500), (&vanished, 500, 1500)] {
            assert_eq!(leaders(observed), BTreeSet::from([Some(4)]));
            assert_eq!(observed.members[4].phase, None);
            let at = observed.elections[0].at.since(Time(0));
            assert!((ms(earliest)..ms(latest)).contains(&at), "{algorithm:?}: {at:?}");
            assert_eq!(observed.elections[0].alive, [1, 2, 3, 4]);
        }
    });
}

#[test]
fn a_member_that_is_started_again_leads_again() {
    all(|algorithm| {
        for death in [Deed::Kill(5), Deed::Vanish(5)] {
            let observed = seen(&of(algorithm, &[(100, death), (1500, Deed::Restart(5))]));
            assert_eq!(leaders(&observed), BTreeSet::from([Some(5)]), "{algorithm:?}");
            assert!(observed.elections.len() > 1);
        }
    });
}

#[test]
fn a_frozen_leader_is_replaced_and_returns_when_it_thaws() {
    all(|algorithm| {
        let frozen = seen(&of(algorithm, &[(100, Deed::Freeze(5))]));
        assert!(frozen.members[4].frozen);
        assert_eq!(frozen.members[0].leader, Some(4), "{algorithm:?}");
        let thawed = seen(&of(algorithm, &[(100, Deed::Freeze(5)), (1200, Deed::Thaw(5))]));
        assert!(!thawed.members[4].frozen);
        assert_eq!(leaders(&thawed), BTreeSet::from([Some(5)]), "{algorithm:?}");
    });
}

#[test]
fn without_a_quorum_a_cut_makes_two_leaders_and_with_one_it_does_not() {
    all(|algorithm| {
        for (delays, seed) in [(Delays::Lockstep, 1), (Delays::Random, 2), (Delays::Random, 3)] {
            let cut = Deed::Cut(set(&[1, 2]), set(&[3, 4, 5]));
            let alone = Experiment { delays, seed, ..of(algorithm, &[(100, cut)]) };
            let observed = seen(&alone);
            assert!(observed.rivalled > ms(1000), "{algorithm:?}: {observed:?}");
            assert_eq!(leaders(&observed), BTreeSet::from([Some(2), Some(5)]));
            let observed = seen(&Experiment { quorum: Quorum::Majority, ..alone });
            assert_eq!(observed.rivalled, ms(0));
            let leading: Vec<_> = observed.members.iter().map(|member| member.phase).collect();
            assert_eq!(leading.iter().filter(|phase| **phase == Some(Phase::Leading)).count(), 1);
        }
    });
}

#[test]
fn sides_that_are_healed_agree() {
    all(|algorithm| {
        let (one, other) = (set(&[4, 5]), set(&[1, 2, 3]));
        let cut = Deed::Cut(one.clone(), other.clone());
        for heal in [Deed::HealAll, Deed::Heal(other, one)] {
            let observed = seen(&of(algorithm, &[(100, cut.clone()), (1500, heal)]));
            assert_eq!(leaders(&observed), BTreeSet::from([Some(5)]), "{algorithm:?}");
            assert!(observed.rivalled > ms(0) && observed.rivalled < ms(2000));
        }
    });
}

/// Rule Q2.
#[test]
fn slow_disks_delay_no_vote() {
    all(|algorithm| {
        let elected = |before: &[Deed]| {
            let slow = before.iter().map(|deed| (0, deed.clone()));
            let deeds: Vec<_> = slow.chain([(100, Deed::Kill(5))]).collect();
            let quorum = Quorum::Majority;
            let observed = seen(&Experiment { quorum, ..of(algorithm, &deeds) });
            observed.elections.last().expect("an election").at
        };
        let slow: Vec<Deed> = (1..5).map(Deed::Slow).collect();
        assert_eq!(elected(&slow), elected(&[]), "{algorithm:?}");
    });
}

#[test]
fn a_member_that_is_asked_calls_an_election() {
    all(|algorithm| {
        let observed = seen(&of(algorithm, &[(100, Deed::Elect(3))]));
        let sends = |at: Duration| {
            let sent = observed.events.iter().filter(move |event| event.time == Time(0) + at);
            sent.filter(|event| event.node == 2 && matches!(event.what, DrawnWhat::Sends { .. }))
                .count()
        };
        assert!(sends(ms(100)) > 0, "{algorithm:?}");
        assert_eq!(leaders(&observed), BTreeSet::from([Some(5)]));
    });
}

#[test]
fn a_message_is_dropped_by_its_place() {
    all(|algorithm| {
        let kill = of(algorithm, &[(100, Deed::Kill(5))]);
        let first = |observed: &ExperimentOutcome| {
            let way = observed.events.iter().find(|event| match event.what {
                DrawnWhat::Sends { to, .. } => (event.node, to) == (0, 1),
                _ => false,
            });
            matches!(way.expect("it sends").what, DrawnWhat::Sends { lost, .. } if lost)
        };
        let kept = seen(&kill);
        let dropped = seen(&Experiment { lost: BTreeSet::from([(1, 2, 1)]), ..kill });
        assert!(!first(&kept) && first(&dropped), "{algorithm:?}");
        assert_eq!(leaders(&dropped), BTreeSet::from([Some(4)]), "it is made good");
    });
}

#[test]
fn what_cannot_be_done_is_said() {
    let (one, other) = (set(&[1]), set(&[2, 3]));
    let cut = || Deed::Cut(one.clone(), other.clone());
    let back = Deed::Cut(other.clone(), one.clone());
    for (before, deed) in [
        (Deed::Kill(5), Deed::Kill(5)),
        (Deed::Kill(5), Deed::Vanish(5)),
        (Deed::Kill(5), Deed::Freeze(5)),
        (Deed::Kill(5), Deed::Elect(5)),
        (Deed::Freeze(5), Deed::Freeze(5)),
        (Deed::Elect(5), Deed::Restart(5)),
        (Deed::Elect(5), Deed::Thaw(5)),
        (Deed::Elect(5), Deed::HealAll),
        (cut(), back),
        (cut(), Deed::Heal(set(&[1]), set(&[2]))),
    ] {
        let outcome = of(AlgorithmKind::Bully, &[(100, before), (200, deed.clone())]).run();
        assert!(matches!(outcome, Err(ExperimentError::Idle(1, _))), "{deed:?}: {outcome:?}");
    }
}

#[test]
fn a_run_follows_from_what_is_asked() {
    let kill = of(AlgorithmKind::Ring, &[(100, Deed::Kill(5))]);
    let of_seed = |seed| seen(&Experiment { seed, delays: Delays::Random, ..kill.clone() });
    assert_eq!(of_seed(7), of_seed(7));
    assert_ne!(of_seed(7), of_seed(8));
}

/// The first picture of README.md: the host of the leader of three is lost.
#[test]
fn the_first_picture_of_the_readme_shows_a_run() {
    let lost = Duration::from_secs(1);
    let observed = Experiment {
        quorum: Quorum::Majority,
        deeds: vec![(lost, Deed::Vanish(3))],
        until: Duration::from_secs(4),
        ..Experiment::new(AlgorithmKind::Bully, 3)
    };
    let observed = observed.run().unwrap();
    let leads = |event: &&DrawnEvent| {
        matches!(event.what, DrawnWhat::Becomes { phase: Phase::Leading, .. })
    };
    let led: Vec<&DrawnEvent> = observed.events.iter().filter(leads).collect();
    let [before, after] = led[..] else { panic!("{led:?}") };
    assert_eq!((before.node, after.node), (2, 1), "c, then b");
    let epoch = |event: &DrawnEvent| event.what.label().replace("leads in ", "");
    let later = after.time.since(Time(0) + lost).as_millis();
    let picture = include_str!("../../../../docs/three-hosts.svg");
    let words = [epoch(before), format!("{}, {later} ms later", epoch(after))];
    let is_shown = words.iter().all(|words| picture.contains(&format!(">{words}<")));
    assert!(is_shown, "the picture has to say: {words:?}");
}
