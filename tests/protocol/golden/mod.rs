//! Golden traces: the input and the actions of each member, step by step.
//!
//! A change of a trace is a change of behaviour: look at the difference, and commit it only when
//! every changed line is understood. `INSTA_UPDATE=always cargo test --test protocol golden` writes them.

use std::time::Duration;

use electd_election::core::settings::{AlgorithmKind, Preempt};
use electd_model::sim::{Play, PlayStep, Scenario};
use electd_record::trace::TraceLine;

/// The stories that every algorithm has, each with its own course; and `story` for its others.
macro_rules! stories_of_all {
    ($algorithm:expr) => {
        use electd_model::sim::PlayStep;

        /// The events from a second after the start on.
        fn story(nodes: usize, steps: &[(u64, PlayStep)], until: u64) -> String {
            $crate::golden::after_a_second($algorithm, nodes, steps, until)
        }

        #[test]
        fn first_start_of_three() {
            insta::assert_snapshot!($crate::golden::first_start($algorithm, 3));
        }

        #[test]
        fn leader_dies_with_proof() {
            insta::assert_snapshot!(story(4, &[(0, PlayStep::Kill(4))], 300));
        }

        #[test]
        fn leader_vanishes() {
            insta::assert_snapshot!(story(4, &[(0, PlayStep::Vanish(4))], 900));
        }

        #[test]
        fn the_highest_restarts_and_takes_over() {
            insta::assert_snapshot!(story(
                3,
                &[(0, PlayStep::Kill(3)), (500, PlayStep::Start(3))],
                800
            ));
        }

        #[test]
        fn a_lower_one_joins() {
            insta::assert_snapshot!(story(
                3,
                &[(0, PlayStep::Kill(1)), (500, PlayStep::Start(1))],
                800
            ));
        }

        #[test]
        fn the_leader_resigns() {
            insta::assert_snapshot!(story(3, &[(0, PlayStep::Resign(3))], 300));
        }

        #[test]
        fn the_leader_stops_in_order() {
            insta::assert_snapshot!(story(3, &[(0, PlayStep::Stop(3))], 300));
        }

        #[test]
        fn all_initiate_at_once() {
            insta::assert_snapshot!($crate::golden::all_at_once($algorithm));
        }
    };
}
use stories_of_all;

mod bully;
mod halting;
mod ring;

fn text(trace: &[TraceLine]) -> String {
    trace.iter().map(|line| format!("{line}\n")).collect()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The first start of a cluster, all members at the same time.
fn first_start(algorithm: AlgorithmKind, nodes: usize) -> String {
    let steps = (1..=nodes).map(|node| (ms(0), PlayStep::Start(node))).collect();
    play(algorithm, nodes, steps, ms(0), ms(400))
}

/// A cluster that started at 0 and, a second later, has all the steps happen at their times.
fn after_a_second(
    algorithm: AlgorithmKind,
    nodes: usize,
    steps: &[(u64, PlayStep)],
    until: u64,
) -> String {
    let starts = (1..=nodes).map(|node| (ms(0), PlayStep::Start(node)));
    let later = steps.iter().map(|(at, step)| (ms(1000 + at), *step));
    play(algorithm, nodes, starts.chain(later).collect(), ms(1000), ms(1000 + until))
}

fn play(
    algorithm: AlgorithmKind,
    nodes: usize,
    steps: Vec<(Duration, PlayStep)>,
    from: Duration,
    until: Duration,
) -> String {
    let play = Play { algorithm, nodes, preempt: Preempt::Always, steps, from, until };
    text(&play.run().expect("the invariants hold"))
}

/// Five members, whose leader died unnoticed: all others call an election simultaneously.
fn all_at_once(algorithm: AlgorithmKind) -> String {
    let scenario = Scenario {
        algorithm,
        initiators: (1..=4).collect(),
        crashed: vec![5],
        trace: true,
        ..Scenario::new(5)
    };
    text(&scenario.run().expect("the election ends").trace)
}
