//! Golden traces: what each member is told and does, step by step.
//!
//! A change of a trace is a change of behaviour: look at the difference, and commit it only when
//! every changed line is understood. `INSTA_UPDATE=always cargo test --test golden` writes them.

use std::time::Duration;

use electd::core::settings::{AlgorithmKind, Preempt};
use electd::sim::Step::{Elect, Kill, Resign, Start, Stop, Vanish};
use electd::sim::{Play, Scenario, Step};
use electd::trace::Line;

fn text(trace: &[Line]) -> String {
    trace.iter().map(|line| format!("{line}\n")).collect()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A cluster that started at 0 and, a second later, has all the steps happen at their times.
fn after_a_second(nodes: usize, steps: &[(u64, Step)], until: u64) -> String {
    let starts = (1..=nodes).map(|node| (ms(0), Start(node)));
    let later = steps.iter().map(|(at, step)| (ms(1000 + at), *step));
    let play = Play {
        algorithm: AlgorithmKind::Bully,
        nodes,
        preempt: Preempt::Always,
        steps: starts.chain(later).collect(),
        from: ms(1000),
        until: ms(1000 + until),
    };
    text(&play.run().expect("the invariants hold"))
}

#[test]
fn first_start_of_three() {
    let steps = (1..=3).map(|node| (ms(0), Start(node))).collect();
    let play = Play {
        algorithm: AlgorithmKind::Bully,
        nodes: 3,
        preempt: Preempt::Always,
        steps,
        from: ms(0),
        until: ms(400),
    };
    insta::assert_snapshot!(text(&play.run().expect("the invariants hold")));
}

#[test]
fn leader_dies_with_proof() {
    insta::assert_snapshot!(after_a_second(4, &[(0, Kill(4))], 300));
}

#[test]
fn leader_vanishes() {
    insta::assert_snapshot!(after_a_second(4, &[(0, Vanish(4))], 900));
}

#[test]
fn the_one_who_answered_dies_before_it_announces() {
    let steps = [(0, Vanish(4)), (0, Elect(2)), (50, Kill(3))];
    insta::assert_snapshot!(after_a_second(4, &steps, 400));
}

#[test]
fn the_highest_restarts_and_takes_over() {
    insta::assert_snapshot!(after_a_second(3, &[(0, Kill(3)), (500, Start(3))], 800));
}

#[test]
fn a_lower_one_joins() {
    insta::assert_snapshot!(after_a_second(3, &[(0, Kill(1)), (500, Start(1))], 800));
}

#[test]
fn the_leader_resigns() {
    insta::assert_snapshot!(after_a_second(3, &[(0, Resign(3))], 300));
}

#[test]
fn the_leader_stops_in_order() {
    insta::assert_snapshot!(after_a_second(3, &[(0, Stop(3))], 300));
}

#[test]
fn all_initiate_at_once() {
    let scenario = Scenario {
        initiators: (1..=4).collect(),
        crashed: vec![5],
        trace: true,
        ..Scenario::new(5)
    };
    insta::assert_snapshot!(text(&scenario.run().expect("the election ends").trace));
}
