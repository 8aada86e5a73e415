//! Conversions of messages between the core's types and those of the JSON.

use std::sync::Arc;

use super::bounds::{Number, version as version_pair, version_of};
use super::schema as wire;
use super::values::{
    ballot, elected, freed, lap, ready, release, wire_elected, wire_ready, wire_timing,
};
use crate::core::message as core;
use crate::core::types::{Epoch, NodeId, Rank};

fn coordinator(epoch: Epoch, rank: Rank) -> wire::Message {
    wire::Message::Coordinator { epoch: epoch.into(), rank: rank.into() }
}

fn wire_preempt(epoch: Epoch, rank: Rank, votes: Vec<NodeId>) -> wire::Message {
    let votes = votes.into_iter().map(|id| id.0).collect();
    wire::Message::Preempt { epoch: epoch.into(), rank: rank.into(), votes }
}

fn announced(epoch: Number, rank: wire::Rank) -> core::Message {
    core::Message::Coordinator { epoch: epoch.into(), rank: rank.into() }
}

impl From<&core::Message> for wire::Message {
    fn from(message: &core::Message) -> Self {
        use core::Message as M;
        match message.clone() {
            M::Election { round, rank, eligible } => {
                Self::Election { round: round.into(), rank: rank.into(), eligible }
            }
            M::Answer { round } => Self::Answer { round: round.into() },
            M::Coordinator { epoch, rank } => coordinator(epoch, rank),
            M::Heartbeat { epoch, number, rank, lease, settled, members, pause, chosen } => {
                let members = members.iter().copied().map(Into::into).collect();
                let (epoch, rank, lease_ns) = (epoch.into(), rank.into(), lease.into());
                let (settled, pause) = (version_pair(settled), pause.map(Into::into));
                let chosen = chosen.map(|id| id.0);
                Self::Heartbeat { epoch, number, rank, lease_ns, settled, members, pause, chosen }
            }
            M::Acknowledge { incarnation, epoch, number, rank, eligible, pause } => {
                let (incarnation, epoch) = (incarnation.into(), epoch.into());
                let (rank, pause) = (rank.into(), pause.map(Into::into));
                Self::Acknowledge { incarnation, epoch, number, rank, eligible, pause }
            }
            M::View(view) => Self::View(view.into()),
            M::Preempt { epoch, rank, votes } => wire_preempt(epoch, rank, votes),
            M::PreVote { number, epoch, list } => {
                Self::Trial { number, epoch: epoch.into(), list: version_pair(list) }
            }
            M::PreVoteReply { number, opinion, epoch } => {
                Self::Opinion { number, opinion: opinion.into(), epoch: epoch.into() }
            }
            M::VoteRequest { number, epoch, lease, list } => {
                let (lease_ns, list) = (lease.into(), version_pair(list));
                Self::Claim { number, epoch: epoch.into(), lease_ns, list }
            }
            M::Vote { incarnation, number, epoch } => {
                Self::Grant { incarnation: incarnation.into(), number, epoch: epoch.into() }
            }
            M::Denial { number, opinion, epoch } => {
                Self::Refuse { number, opinion: opinion.into(), epoch: epoch.into() }
            }
            M::Lower { round } => Self::Lower { round: round.into() },
            M::AreYouThere { number, under, rank, eligible } => Self::AreYouThere {
                number,
                under: under.map(Into::into),
                rank: rank.into(),
                eligible,
            },
            M::AreYouNormal { number, epoch } => Self::AreYouNormal { number, epoch: epoch.into() },
            M::Halt { number, round, rank, incumbent } => {
                Self::Halt { number, round: round.into(), rank: rank.into(), incumbent }
            }
            M::Elected { number, round, task } => wire_elected(number, round, task),
            M::Task(task) => Self::Task(task.into()),
            M::Ready { number, round, task } => wire_ready(number, round, task),
            M::Reply { number, accepted } => Self::Reply { number, accepted },
            M::Ballot(ballot) => ballot.into(),
            M::Lap(lap) => lap.into(),
            M::Probe { number } => Self::Probe { number },
            M::Alive { number } => Self::Alive { number },
            M::Timing { timing } => Self::Timing { timing: wire_timing(timing) },
            M::Freed { leader, epoch } => Self::Freed { leader: leader.0, epoch: epoch.into() },
            M::Release { epoch, successor, eligible } => {
                Self::Release { epoch: epoch.into(), successor: successor.map(|id| id.0), eligible }
            }
            M::Forward { number, command } => Self::Forward { number, command: command.into() },
            M::List { list } => Self::List((&*list).into()),
            M::Listed { version } => Self::Listed { version: version_pair(version) },
            M::Outcome { number, result } => {
                Self::Outcome { number, result: result.map(Into::into).map_err(Into::into) }
            }
        }
    }
}

impl From<wire::Message> for core::Message {
    fn from(message: wire::Message) -> Self {
        use wire::Message as M;
        match message {
            M::Election { round, rank, eligible } => {
                Self::Election { round: round.into(), rank: rank.into(), eligible }
            }
            M::Answer { round } => Self::Answer { round: round.into() },
            M::Coordinator { epoch, rank } => announced(epoch, rank),
            M::Heartbeat { epoch, number, rank, lease_ns, settled, members, pause, chosen } => {
                let (epoch, rank, lease) = (epoch.into(), rank.into(), lease_ns.into());
                let (settled, chosen) = (version_of(settled), chosen.map(NodeId));
                let members = members.into_iter().map(Into::into);
                let (members, pause) = (members.collect(), pause.map(Into::into));
                Self::Heartbeat { epoch, number, rank, lease, settled, members, pause, chosen }
            }
            M::Acknowledge { incarnation, epoch, number, rank, eligible, pause } => {
                let (incarnation, epoch) = (incarnation.into(), epoch.into());
                let (rank, pause) = (rank.into(), pause.map(Into::into));
                Self::Acknowledge { incarnation, epoch, number, rank, eligible, pause }
            }
            M::View(view) => Self::View(view.into()),
            M::Preempt { epoch, rank, votes } => {
                let votes = votes.into_iter().map(NodeId).collect();
                Self::Preempt { epoch: epoch.into(), rank: rank.into(), votes }
            }
            M::Trial { number, epoch, list } => {
                Self::PreVote { number, epoch: epoch.into(), list: version_of(list) }
            }
            M::Opinion { number, opinion, epoch } => {
                Self::PreVoteReply { number, opinion: opinion.into(), epoch: epoch.into() }
            }
            M::Claim { number, epoch, lease_ns, list } => {
                let (lease, list) = (lease_ns.into(), version_of(list));
                Self::VoteRequest { number, epoch: epoch.into(), lease, list }
            }
            M::Grant { incarnation, number, epoch } => {
                let incarnation = incarnation.into();
                Self::Vote { incarnation, number, epoch: epoch.into() }
            }
            M::Refuse { number, opinion, epoch } => {
                Self::Denial { number, opinion: opinion.into(), epoch: epoch.into() }
            }
            M::Lower { round } => Self::Lower { round: round.into() },
            M::AreYouThere { number, under, rank, eligible } => {
                let under = under.map(Into::into);
                Self::AreYouThere { number, under, rank: rank.into(), eligible }
            }
            M::AreYouNormal { number, epoch } => Self::AreYouNormal { number, epoch: epoch.into() },
            M::Halt { number, round, rank, incumbent } => {
                Self::Halt { number, round: round.into(), rank: rank.into(), incumbent }
            }
            M::Elected { number, round, task } => elected(number, round, task),
            M::Task(task) => Self::Task(task.into()),
            M::Ready { number, round, task } => ready(number, round, task),
            M::Reply { number, accepted } => Self::Reply { number, accepted },
            M::Ballot { run, candidate, hops } => Self::Ballot(ballot(run, candidate, hops)),
            M::Lap { run, leader, hops } => Self::Lap(lap(run, leader, hops)),
            M::Probe { number } => Self::Probe { number },
            M::Alive { number } => Self::Alive { number },
            M::Timing { timing } => Self::Timing { timing: timing.map(Into::into) },
            M::Freed { leader, epoch } => freed(leader, epoch),
            M::Release { epoch, successor, eligible } => release(epoch, successor, eligible),
            M::Forward { number, command } => Self::Forward { number, command: command.into() },
            M::List(list) => Self::List { list: Arc::new(list.into()) },
            M::Listed { version } => Self::Listed { version: version_of(version) },
            M::Outcome { number, result } => {
                Self::Outcome { number, result: result.map(Into::into).map_err(Into::into) }
            }
        }
    }
}
