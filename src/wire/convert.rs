//! Conversions of messages between the core's types and those of the JSON.

use std::sync::Arc;
use std::time::Duration;

use super::schema as wire;
use super::values::{
    ballot, elected, freed, lap, nanos, ready, release, version as version_pair, version_of,
    wire_elected, wire_ready,
};
use crate::core::message as core;
use crate::core::types::{Epoch, Incarnation, NodeId};

impl From<&core::Message> for wire::Message {
    fn from(message: &core::Message) -> Self {
        use core::Message as M;
        match message.clone() {
            M::Election { round, rank, stands } => {
                Self::Election { round: round.0, rank: rank.into(), stands }
            }
            M::Answer { round } => Self::Answer { round: round.0 },
            M::Coordinator { epoch, rank } => {
                Self::Coordinator { epoch: epoch.0, rank: rank.into() }
            }
            M::Heartbeat { epoch, number, rank, lease, settled, members } => {
                let (epoch, lease_ns, settled) = (epoch.0, nanos(lease), version_pair(settled));
                let (rank, members) =
                    (rank.into(), members.iter().copied().map(Into::into).collect());
                Self::Heartbeat { epoch, number, rank, lease_ns, settled, members }
            }
            M::Acknowledge { incarnation, epoch, number, rank, stands } => {
                let incarnation = incarnation.0;
                Self::Acknowledge { incarnation, epoch: epoch.0, number, rank: rank.into(), stands }
            }
            M::View(view) => Self::View(view.into()),
            M::Preempt { epoch, rank, votes } => {
                let votes = votes.into_iter().map(|id| id.0).collect();
                Self::Preempt { epoch: epoch.0, rank: rank.into(), votes }
            }
            M::Trial { number, epoch, list } => {
                Self::Trial { number, epoch: epoch.0, list: version_pair(list) }
            }
            M::Opinion { number, opinion, epoch } => {
                Self::Opinion { number, opinion: opinion.into(), epoch: epoch.0 }
            }
            M::Claim { number, epoch, lease, list } => {
                let (lease_ns, list) = (nanos(lease), version_pair(list));
                Self::Claim { number, epoch: epoch.0, lease_ns, list }
            }
            M::Grant { incarnation, number, epoch } => {
                Self::Grant { incarnation: incarnation.0, number, epoch: epoch.0 }
            }
            M::Refuse { number, opinion, epoch } => {
                Self::Refuse { number, opinion: opinion.into(), epoch: epoch.0 }
            }
            M::Lower { round } => Self::Lower { round: round.0 },
            M::AreYouThere { number, under, rank, stands } => {
                let under = under.map(|epoch| epoch.0);
                Self::AreYouThere { number, under, rank: rank.into(), stands }
            }
            M::AreYouNormal { number, epoch } => Self::AreYouNormal { number, epoch: epoch.0 },
            M::Halt { number, round, rank, incumbent } => {
                Self::Halt { number, round: round.0, rank: rank.into(), incumbent }
            }
            M::Elected { number, round, task } => wire_elected(number, round, task),
            M::Task(task) => Self::Task(task.into()),
            M::Ready { number, round, task } => wire_ready(number, round, task),
            M::Reply { number, accepted } => Self::Reply { number, accepted },
            M::Ballot(ballot) => ballot.into(),
            M::Lap(lap) => lap.into(),
            M::Probe { number } => Self::Probe { number },
            M::Alive { number } => Self::Alive { number },
            M::Freed { leader, epoch } => Self::Freed { leader: leader.0, epoch: epoch.0 },
            M::Release { epoch, successor, stands } => {
                Self::Release { epoch: epoch.0, successor: successor.map(|id| id.0), stands }
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
            M::Election { round, rank, stands } => {
                Self::Election { round: Epoch(round), rank: rank.into(), stands }
            }
            M::Answer { round } => Self::Answer { round: Epoch(round) },
            M::Coordinator { epoch, rank } => {
                Self::Coordinator { epoch: Epoch(epoch), rank: rank.into() }
            }
            M::Heartbeat { epoch, number, rank, lease_ns, settled, members } => {
                let (epoch, rank) = (Epoch(epoch), rank.into());
                let (lease, settled) = (Duration::from_nanos(lease_ns), version_of(settled));
                let members = members.into_iter().map(Into::into).collect();
                Self::Heartbeat { epoch, number, rank, lease, settled, members }
            }
            M::Acknowledge { incarnation, epoch, number, rank, stands } => {
                let (incarnation, epoch) = (Incarnation(incarnation), Epoch(epoch));
                Self::Acknowledge { incarnation, epoch, number, rank: rank.into(), stands }
            }
            M::View(view) => Self::View(view.into()),
            M::Preempt { epoch, rank, votes } => {
                let votes = votes.into_iter().map(NodeId).collect();
                Self::Preempt { epoch: Epoch(epoch), rank: rank.into(), votes }
            }
            M::Trial { number, epoch, list } => {
                Self::Trial { number, epoch: Epoch(epoch), list: version_of(list) }
            }
            M::Opinion { number, opinion, epoch } => {
                Self::Opinion { number, opinion: opinion.into(), epoch: Epoch(epoch) }
            }
            M::Claim { number, epoch, lease_ns, list } => {
                let (lease, list) = (Duration::from_nanos(lease_ns), version_of(list));
                Self::Claim { number, epoch: Epoch(epoch), lease, list }
            }
            M::Grant { incarnation, number, epoch } => {
                let incarnation = Incarnation(incarnation);
                Self::Grant { incarnation, number, epoch: Epoch(epoch) }
            }
            M::Refuse { number, opinion, epoch } => {
                Self::Refuse { number, opinion: opinion.into(), epoch: Epoch(epoch) }
            }
            M::Lower { round } => Self::Lower { round: Epoch(round) },
            M::AreYouThere { number, under, rank, stands } => {
                let under = under.map(Epoch);
                Self::AreYouThere { number, under, rank: rank.into(), stands }
            }
            M::AreYouNormal { number, epoch } => Self::AreYouNormal { number, epoch: Epoch(epoch) },
            M::Halt { number, round, rank, incumbent } => {
                Self::Halt { number, round: Epoch(round), rank: rank.into(), incumbent }
            }
            M::Elected { number, round, task } => elected(number, round, task),
            M::Task(task) => Self::Task(task.into()),
            M::Ready { number, round, task } => ready(number, round, task),
            M::Reply { number, accepted } => Self::Reply { number, accepted },
            M::Ballot { run, candidate, hops } => Self::Ballot(ballot(run, candidate, hops)),
            M::Lap { run, leader, hops } => Self::Lap(lap(run, leader, hops)),
            M::Probe { number } => Self::Probe { number },
            M::Alive { number } => Self::Alive { number },
            M::Freed { leader, epoch } => freed(leader, epoch),
            M::Release { epoch, successor, stands } => release(epoch, successor, stands),
            M::Forward { number, command } => Self::Forward { number, command: command.into() },
            M::List(list) => Self::List { list: Arc::new(list.into()) },
            M::Listed { version } => Self::Listed { version: version_of(version) },
            M::Outcome { number, result } => {
                Self::Outcome { number, result: result.map(Into::into).map_err(Into::into) }
            }
        }
    }
}
