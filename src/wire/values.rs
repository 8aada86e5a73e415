//! Conversions of what messages carry between the core's types and those of the JSON.

use std::time::Duration;

use uuid::Uuid;

use super::bounds::{Nanos, Number, Version, version, version_of};
use super::schema as wire;
use crate::core::message as core;
use crate::core::message::View;
use crate::core::types::{Epoch, NodeId, Pause, Rank, Task, TaskVersion};

impl From<Task> for wire::Task {
    fn from(task: Task) -> Self {
        wire::Task { version: version(task.version), content: wire::Content(task.content) }
    }
}

impl From<wire::Task> for Task {
    fn from(task: wire::Task) -> Self {
        Task { version: version_of(task.version), content: task.content.0 }
    }
}

impl From<core::Opinion> for wire::Opinion {
    fn from(opinion: core::Opinion) -> Self {
        match opinion {
            core::Opinion::Yes => Self::Yes,
            core::Opinion::YesIf { released, wait } => {
                Self::YesIf { released: released.into(), wait_ns: wait.into() }
            }
            core::Opinion::No { wait } => Self::No { wait_ns: wait.into(), uninformed: false },
            core::Opinion::Uninformed { wait } => {
                Self::No { wait_ns: wait.into(), uninformed: true }
            }
        }
    }
}

impl From<wire::Opinion> for core::Opinion {
    fn from(opinion: wire::Opinion) -> Self {
        match opinion {
            wire::Opinion::Yes => Self::Yes,
            wire::Opinion::YesIf { released, wait_ns } => {
                Self::YesIf { released: released.into(), wait: wait_ns.into() }
            }
            wire::Opinion::No { wait_ns, uninformed: true } => {
                Self::Uninformed { wait: wait_ns.into() }
            }
            wire::Opinion::No { wait_ns, .. } => Self::No { wait: wait_ns.into() },
        }
    }
}

impl From<core::Ballot> for wire::Message {
    fn from(ballot: core::Ballot) -> Self {
        let core::Ballot { run, candidate, hops } = ballot;
        Self::Ballot { run: run.into(), candidate: candidate.into(), hops }
    }
}

impl From<core::Lap> for wire::Message {
    fn from(lap: core::Lap) -> Self {
        let core::Lap { run, leader, hops } = lap;
        Self::Lap { run: run.into(), leader: leader.into(), hops }
    }
}

pub fn wire_elected(number: u64, round: Epoch, task: TaskVersion) -> wire::Message {
    wire::Message::Elected { number, round: round.into(), task: version(task) }
}

pub fn elected(number: u64, round: Number, task: Version) -> core::Message {
    core::Message::Elected { number, round: round.into(), task: version_of(task) }
}

pub fn wire_ready(number: u64, round: Epoch, task: Task) -> wire::Message {
    wire::Message::Ready { number, round: round.into(), task: task.into() }
}

pub fn ready(number: u64, round: Number, task: wire::Task) -> core::Message {
    core::Message::Ready { number, round: round.into(), task: task.into() }
}

pub fn freed(leader: Uuid, epoch: Number) -> core::Message {
    core::Message::Freed { leader: NodeId(leader), epoch: epoch.into() }
}

pub fn release(epoch: Number, successor: Option<Uuid>, eligible: bool) -> core::Message {
    let (epoch, successor) = (epoch.into(), successor.map(NodeId));
    core::Message::Release { epoch, successor, eligible }
}

pub fn ballot(run: wire::Run, candidate: wire::Candidate, hops: u32) -> core::Ballot {
    core::Ballot { run: run.into(), candidate: candidate.into(), hops }
}

pub fn lap(run: wire::Run, leader: wire::Candidate, hops: u32) -> core::Lap {
    core::Lap { run: run.into(), leader: leader.into(), hops }
}

impl From<core::Run> for wire::Run {
    fn from(run: core::Run) -> Self {
        wire::Run { epoch: run.epoch.into(), initiator: run.initiator.0 }
    }
}

impl From<wire::Run> for core::Run {
    fn from(run: wire::Run) -> Self {
        core::Run { epoch: run.epoch.into(), initiator: NodeId(run.initiator) }
    }
}

impl From<core::Candidate> for wire::Candidate {
    fn from(candidate: core::Candidate) -> Self {
        let core::Candidate { eligible, rank, incarnation } = candidate;
        wire::Candidate { eligible, rank: rank.into(), incarnation: incarnation.into() }
    }
}

impl From<wire::Candidate> for core::Candidate {
    fn from(candidate: wire::Candidate) -> Self {
        let wire::Candidate { eligible, rank, incarnation } = candidate;
        core::Candidate { eligible, rank: rank.into(), incarnation: incarnation.into() }
    }
}

impl From<View> for wire::View {
    fn from(view: View) -> Self {
        wire::View { epoch: view.epoch.into(), leader: view.leader.map(Into::into) }
    }
}

impl From<wire::View> for View {
    fn from(view: wire::View) -> Self {
        View { epoch: view.epoch.into(), leader: view.leader.map(Into::into) }
    }
}

impl From<Rank> for wire::Rank {
    fn from(rank: Rank) -> Self {
        wire::Rank { value: rank.value, id: rank.id.0 }
    }
}

impl From<wire::Rank> for Rank {
    fn from(rank: wire::Rank) -> Self {
        Rank { value: rank.value, id: NodeId(rank.id) }
    }
}

impl From<core::MemberReport> for wire::MemberReport {
    fn from(report: core::MemberReport) -> Self {
        let status = match report.status {
            core::Liveness::Alive => wire::Liveness::Alive,
            core::Liveness::Suspected => wire::Liveness::Suspected,
            core::Liveness::Dead => wire::Liveness::Dead,
        };
        let core::MemberReport { id, incarnation, eligible, value, .. } = report;
        wire::MemberReport { id: id.0, incarnation: incarnation.into(), status, eligible, value }
    }
}

impl From<wire::MemberReport> for core::MemberReport {
    fn from(report: wire::MemberReport) -> Self {
        let status = match report.status {
            wire::Liveness::Alive => core::Liveness::Alive,
            wire::Liveness::Suspected => core::Liveness::Suspected,
            wire::Liveness::Dead => core::Liveness::Dead,
        };
        let (id, incarnation) = (NodeId(report.id), report.incarnation.into());
        let wire::MemberReport { eligible, value, .. } = report;
        core::MemberReport { id, incarnation, status, eligible, value }
    }
}

impl From<Pause> for wire::Pause {
    fn from(Pause { version, paused, since, until }: Pause) -> Self {
        let (since_ms, until_ms) = (Number::of(since), until.map(Number::of));
        wire::Pause { version: super::bounds::version(version), paused, since_ms, until_ms }
    }
}

impl From<wire::Pause> for Pause {
    fn from(wire::Pause { version, paused, since_ms, until_ms }: wire::Pause) -> Self {
        let (since, until) = (since_ms.get(), until_ms.map(Number::get));
        Pause { version: version_of(version), paused, since, until }
    }
}

pub fn wire_timing(timing: [u64; 4]) -> [Nanos; 4] {
    timing.map(|nanos| Duration::from_nanos(nanos).into())
}
