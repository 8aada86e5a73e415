//! A run of a cluster by script, in lock-step: for traces that tell a story.

use std::time::Duration;

use super::SimError;
use super::network;
use super::node::Death;
use super::orders;
use super::setup::Setup;
use super::world::World;
use crate::core::message::Forwarded;
use crate::core::settings::{AlgorithmKind, Preempt};
use crate::core::types::{Task, Time};
use crate::core::{CommandId, Input, OperatorCommand};
use crate::trace::{Detail, TraceLine};

/// An action on a member, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayStep {
    /// Its process is started.
    Start(usize),
    /// Its process is gone: connections end, and dials are refused.
    Kill(usize),
    /// Its host is gone, silently.
    Vanish(usize),
    /// It is asked for an election.
    Elect(usize),
    /// It is asked to hand over.
    Resign(usize),
    /// It is given a new task.
    HandOut(usize),
    /// It is asked to stop.
    Stop(usize),
}

/// A script.
#[derive(Clone, Debug)]
pub struct Play {
    /// How many members there are.
    pub nodes: usize,
    /// How they elect.
    pub algorithm: AlgorithmKind,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// The actions, in order of time.
    pub steps: Vec<(Duration, PlayStep)>,
    /// From when on there is a trace.
    pub from: Duration,
    /// When it ends.
    pub until: Duration,
}

impl Play {
    /// Plays the script. Tells what happened, heartbeats and hellos left out.
    ///
    /// # Errors
    /// When an invariant is broken.
    pub fn run(&self) -> Result<Vec<TraceLine>, SimError> {
        let mut world = World::new(Setup {
            preempt: self.preempt,
            detail: Some(Detail::Election),
            ..Setup::plain(self.algorithm, vec![Some(0); self.nodes])
        });
        for (after, step) in &self.steps {
            run_until(&mut world, Time(0) + *after)?;
            perform(&mut world, *step);
        }
        run_until(&mut world, Time(0) + self.until)?;
        let from = Time(0) + self.from;
        Ok(world.lines.into_iter().filter(|line| line.time >= from).collect())
    }
}

fn run_until(world: &mut World, until: Time) -> Result<(), SimError> {
    while world.step(until) {
        if let Some(breach) = world.checker.breach.take() {
            return Err(SimError::Breach(breach));
        }
    }
    world.now = until;
    Ok(())
}

fn perform(world: &mut World, step: PlayStep) {
    let ask = |world: &mut World, number: usize, command| {
        world.give(number - 1, Input::Command { id: CommandId(0), command });
    };
    match step {
        PlayStep::Start(number) => {
            orders::start(world, number - 1);
            network::dial_all(world, number - 1);
        }
        PlayStep::Kill(number) => world.die(number - 1, Death::Killed),
        PlayStep::Vanish(number) => world.die(number - 1, Death::Vanished),
        PlayStep::Elect(number) => ask(world, number, OperatorCommand::Elect),
        PlayStep::Resign(number) => ask(world, number, Forwarded::Resign { to: None }.into()),
        PlayStep::HandOut(number) => {
            let task = Task::new(*b"new");
            ask(world, number, OperatorCommand::HandOut { task });
        }
        PlayStep::Stop(number) => ask(world, number, OperatorCommand::Stop),
    }
}
