//! The status that is made of a snapshot, for people and programs.

use std::collections::BTreeMap;
use std::time::Duration;

use electd_facts::entry::GivenUp;
use serde_json::Value;

use super::Published;
use super::changes::halting_word;
use super::snapshot::Snapshot;
use crate::config::guarantee::Guarantee;
use crate::core::membership::{Member, MemberList};
use crate::core::message::Liveness;
use crate::core::protocol::VERSION;
use crate::core::settings::{RankKind, Settings, Timing};
use crate::core::types::{Drain, NodeId, Pause, Role, Time};
use crate::core::{Cause, Phase, Split};
use crate::flight::document::Recording;
use crate::node::clock;
use crate::node::failures::JobFailure;
use crate::node::members::against_file;
use crate::node::problems::{tolerated, tolerated_at_most};
use crate::node::status::{
    DrainStatus, FailureStatus, HaltingStatus, LeaderStatus, LeaderlessStatus, MemberStatus,
    MessageCount, NodeRef, OtherLeader, PartitionStatus, PauseStatus, RankStatus, RejectionStatus,
    Status, TakeoverStatus,
};
use crate::trace::record::Record;

impl Published {
    /// What this member recorded of its elections.
    pub fn record(&self) -> Record {
        let (list, settings) = (self.members(), &self.settings);
        let (since_ns, entries) = self.recorded.entries(&list);
        Record {
            cluster: settings.cluster.clone(),
            node: self.own_name(&list),
            incarnation: self.incarnation.0,
            algorithm: settings.algorithm.name().to_owned(),
            quorum: settings.quorum.name().to_owned(),
            now_ns: clock::now().0,
            wall_ms: clock::wall_clock_ms(),
            since_ns,
            members: list.iter().map(|member| member.name.clone()).collect(),
            entries,
        }
    }

    /// The same with all that the core took and put out of late, as a file.
    pub fn recording(&self) -> String {
        let segments = self.taped.segments(); // first, so that the record reaches further
        Recording::new(self.record(), &segments).written()
    }

    fn guarantee(&self, list: &MemberList, timing: &Timing) -> Guarantee {
        let Settings { algorithm, quorum, trust_refused, .. } = self.settings;
        let roles: Vec<Role> = list.iter().map(|member| member.role).collect();
        Guarantee::of(algorithm, quorum, timing, &roles, trust_refused)
    }

    /// The status. A stalled member counts itself as failed; until it says so itself, this does.
    pub fn status(&self) -> Status {
        let (snapshot, watched) = (self.snapshot.read().clone(), self.watched());
        let now = clock::now();
        let (settings, list, measures) = (&self.settings, &snapshot.list, &self.measures);
        let guarantee = self.guarantee(list, &snapshot.timing);
        let failovers = guarantee.failovers(snapshot.is_unsteady()).map(|time| time.map(millis));
        let stalled = snapshot.phase != Phase::Stopping && !self.is_believable(&snapshot, now);
        let phase = if stalled { Phase::Starting } else { snapshot.phase };
        let leader = snapshot.leader.filter(|_| !stalled).and_then(|id| list.get(id));
        let lease = snapshot.lease.filter(|_| !stalled).map(|lease| lease.since(now));
        let mut status = Status {
            cluster: settings.cluster.clone(),
            node: NodeRef { id: settings.id.to_string(), name: self.own_name(list) },
            version: VERSION.to_owned(),
            state: phase.name().to_owned(),
            leader: leader.map(|member| LeaderStatus {
                id: member.id.to_string(),
                name: member.name.clone(),
                address: member.address.clone(),
                epoch: snapshot.epoch.0,
            }),
            epoch: snapshot.epoch.0,
            quorum: settings.quorum.name().to_owned(),
            algorithm: settings.algorithm.name().to_owned(),
            preempt: settings.preempt.to_string(),
            rank_source: snapshot.rank_source.to_string(),
            health: watched.health.clone(),
            halting: halting(settings, phase, &snapshot),
            lease_remaining_ms: lease.map(millis),
            realtime: self.realtime.status(),
            durable_write_ms: measures.pace.slowest().map(|time| time.as_secs_f64() * 1000.0),
            guarantee: guarantee.text(),
            worst_failover_ms: failovers[0],
            crash_failover_ms: failovers[1],
            proven_failover_ms: failovers[2],
            differs_from_file: against_file(list, &self.file.read(), settings.quorum),
            drain: snapshot.drain.as_ref().map(drain_status),
            resigned: snapshot.has_resigned && self.failures.present().is_none(),
            failure: self.failures.present().map(failure_status),
            takeover: takeover(settings, &snapshot).filter(|_| !stalled),
            takeovers: takeovers(&snapshot),
            pause: pause_status(&snapshot.pause),
            switchover: snapshot.switchover.map(|id| list.name(id)),
            members: self.members_status(&snapshot),
            incarnation: self.incarnation.0,
            uptime_ms: millis(now.since(self.started)),
            age_ms: millis(self.since_turn(now)),
            stalled,
            partition: snapshot.split.map(|split| Published::partition(list, &split, now)),
            messages: self.messages(),
            dropped: self.dropped(),
            certificate_ends: self.certificate_end().map(|end| end.to_string()),
            refused: self.refused(),
            rejections: self.rejections(&snapshot),
            changes: snapshot.changes.status(settings),
            problems: watched.problems.clone(),
            disk: watched.disk,
            last_leadership: watched.history.last().cloned(),
            given_up: GivenUp::last_of(&watched.history),
            clock_ms: Some(clock::wall_clock_ms()),
            last_event: Some(measures.events.last().to_string()),
            url: self.urls.of_leader().filter(|_| phase == Phase::Leading),
            ..Status::default() // what the lines below set
        };
        status.leaderless = self.leaderless(&status, now);
        status.failures_tolerated = tolerated(&status);
        status.failures_tolerated_at_most = tolerated_at_most(&status);
        status
    }

    /// Why a node with this status names no leader. The thread "watch" tells it, which cannot know of a stall yet.
    fn leaderless(&self, status: &Status, now: Time) -> Option<LeaderlessStatus> {
        if status.stalled {
            let since = self.since_turn(now);
            return Some(LeaderlessStatus {
                since: clock::moment(clock::wall_clock_ms().saturating_sub(millis(since))),
                lasts_ms: millis(since),
                cause: Cause::Stalled.name().to_owned(),
                reason: "its election thread missed its turn".to_owned(),
            });
        }
        let shown = self.watched().leaderless.clone().filter(|_| status.leader.is_none())?;
        Some(shown.at(clock::wall_clock_ms()))
    }

    /// The name of this node; who was removed keeps it until it ends.
    fn own_name(&self, list: &MemberList) -> String {
        let id = self.settings.id;
        list.get(id).map_or_else(|| self.settings.members.name(id), |own| own.name.clone())
    }

    fn is_believable(&self, snapshot: &Snapshot, now: Time) -> bool {
        match snapshot.phase {
            Phase::Leading => now < snapshot.until,
            _ => self.is_live(),
        }
    }

    fn partition(list: &MemberList, split: &Split, now: Time) -> PartitionStatus {
        let other = list.name(split.other);
        PartitionStatus {
            own_epoch: split.own.0,
            other: OtherLeader { name: other, epoch: split.theirs.0 },
            lasted_at_most_ms: millis(split.lasted),
            healed_ms_ago: millis(now.since(split.met)),
        }
    }

    fn dropped(&self) -> BTreeMap<String, u64> {
        let others =
            [("events", self.measures.events.dropped()), ("leadership", self.feed.missed())];
        let all = self.measures.counters.drops().chain(others);
        all.map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn rejections(&self, snapshot: &Snapshot) -> Vec<RejectionStatus> {
        let (list, before) = (&snapshot.list, &self.measures.handshakes);
        [snapshot.rejections.status(list), before.status(list)].concat()
    }

    fn refused(&self) -> BTreeMap<String, u64> {
        self.measures.counters.refusals().map(|(cause, count)| (cause.to_owned(), count)).collect()
    }

    fn members_status(&self, snapshot: &Snapshot) -> Vec<MemberStatus> {
        let rtt = |id| self.measures.round_trips.latest(id).map(|time| time.as_secs_f64() * 1000.0);
        let status = |member: &Member| MemberStatus {
            rtt_ms: rtt(member.id),
            failed_dial: self.measures.counters.failed_dial(member.id),
            refuses_dials: self.measures.counters.is_refused(member.id),
            ..member_status(member, snapshot, self.settings.rank)
        };
        snapshot.list.iter().map(status).collect()
    }

    fn messages(&self) -> BTreeMap<String, MessageCount> {
        let counts = self.measures.counters.messages();
        counts
            .map(|(kind, sent, received)| (kind.name().to_owned(), MessageCount { sent, received }))
            .collect()
    }
}

fn halting(settings: &Settings, phase: Phase, snapshot: &Snapshot) -> Option<HaltingStatus> {
    let halter = snapshot.halter.map(|id| snapshot.list.name(id));
    let task_bytes = snapshot.task.content.len();
    halting_word(settings, phase).map(|status| HaltingStatus { status, halter, task_bytes })
}

fn takeovers(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let named = |(id, at): &(NodeId, u64)| (snapshot.list.name(*id), clock::moment(*at));
    snapshot.takeovers.iter().map(named).collect()
}

fn takeover(settings: &Settings, snapshot: &Snapshot) -> Option<TakeoverStatus> {
    let (from, at) = snapshot.takeover?;
    let why = TakeoverStatus::why(&settings.preempt.to_string(), at.is_some());
    Some(TakeoverStatus { from: snapshot.list.name(from), at: at.map(clock::moment), why })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn failure_status(failure: JobFailure) -> FailureStatus {
    let JobFailure { count, since_ms, until_ms, reason } = failure;
    FailureStatus { since: clock::moment(since_ms), until: clock::moment(until_ms), count, reason }
}

fn drain_status(drain: &Drain) -> DrainStatus {
    let Drain { since, until, reason } = drain;
    DrainStatus {
        since: clock::moment(*since),
        until: until.map(clock::moment),
        reason: reason.clone(),
    }
}

fn pause_status(pause: &Pause) -> Option<PauseStatus> {
    let since = clock::moment(pause.since);
    pause.paused.then(|| PauseStatus { since, until: pause.until.map(clock::moment) })
}

fn member_status(member: &Member, snapshot: &Snapshot, rank: RankKind) -> MemberStatus {
    let known = snapshot.members.iter().find(|known| known.id == member.id);
    let (eligible, status) =
        known.map_or((false, Liveness::Suspected), |known| (known.eligible, known.status));
    let id = member.id.to_string();
    let value = match rank {
        RankKind::Id => Value::String(id.clone()),
        _ => known.and_then(|known| known.value).into(),
    };
    MemberStatus {
        name: member.name.clone(),
        address: member.address.clone(),
        admin: member.admin.clone(),
        role: member.role.name().to_owned(),
        eligible,
        status: status.name().to_owned(),
        rtt_ms: None,
        failed_dial: None,
        refuses_dials: false,
        version: known.and_then(|known| known.version.as_deref()).map(str::to_owned),
        passed_over: known.and_then(|known| known.passed_over).map(str::to_owned),
        rank: RankStatus { by: rank.name().to_owned(), value },
        id,
    }
}

#[cfg(test)]
mod tests;
