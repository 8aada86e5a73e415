//! A member's knowledge of one peer.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::core::back_off::BackOff;
use crate::core::death::Lives;
use crate::core::membership::ListVersion;
use crate::core::message::{Hello, Liveness, MemberReport};
use crate::core::planted::Fault;
use crate::core::settings::Timing;
use crate::core::streak::Streak;
use crate::core::types::{Epoch, Incarnation, NodeId, Rank, Time};

/// A peer with rare heartbeats may be silent for at most this many times as long as others.
const MOST_FAILURES: u32 = 16;

/// How this member met the sender of a hello before.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::core) enum Met {
    /// It was met before.
    #[default]
    Known,
    /// It was not met before, and no earlier incarnation of it was thought alive.
    New,
    /// An earlier incarnation of it was thought alive until now.
    Restarted,
}

/// This member's knowledge of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Peer {
    pub(super) process: Process,
    /// Its last two lives, and which of them are proved to be over.
    pub(in crate::core) lives: Lives,
    pub(super) status: Liveness,
    /// Whether the death was proved to this member itself, so that hearsay cannot undo it.
    pub(super) proved: bool,
    /// When it was last heard, by any message of its own.
    pub(super) heard: Option<Time>,
    /// When it last said which leader it follows, or that it leads.
    pub(super) declared: Option<Time>,
    /// Its rank, as it last said.
    pub(super) rank: Rank,
    pub(super) eligible: bool,
    pub(super) said: Said,
    /// Its version of electd, by its last hello.
    pub(super) version: Option<Arc<str>>,
    pub lines: Lines,
    /// For how long it has been eligible without a break.
    pub(super) streak: Streak,
    /// How often it failed those that relied on it.
    pub(super) failings: Failings,
}

/// How often a peer failed those that relied on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failings {
    /// How often it was to lead and did not, since it last led or started.
    passed: BackOff,
    /// How often this member, as leader, gave up its epoch for this peer, which then did not lead.
    declined: BackOff,
}

/// The incarnation and process of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// The incarnation met last; 0 before the first meeting.
    pub(super) incarnation: Incarnation,
    /// That incarnation's process.
    pub(super) instance: u64,
    /// The greatest incarnation that answered at its own address, and its process, if this incarnation of this member
    /// met it. A process that only dials this member may say any number.
    pub(super) proven: (Incarnation, Option<u64>),
    /// The incarnation that only a leader's report says is alive: this member has not met it.
    pub(super) vouched: Incarnation,
}

/// What a peer last said of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Said {
    /// The last epoch in which it said that it leads, with the value of its rank then.
    pub(super) leads_with: Option<(Epoch, i64)>,
    /// The round of its last ELECTION as an eligible member: a leader of an earlier epoch may not know.
    pub(super) called: Epoch,
    /// The version of the protocol that both members speak.
    pub(super) protocol: u32,
    pub(super) timing: Option<[u64; 4]>,
    pub(super) list: ListVersion,
}

impl Peer {
    /// How often this member waits for a peer that does not come to lead, before it passes the peer over.
    pub(in crate::core) const TWICE: u32 = 2;

    pub fn id(&self) -> NodeId {
        self.rank.id
    }

    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Whether it may be nominated, as it last said.
    pub fn is_eligible(&self) -> bool {
        self.eligible
    }

    pub fn status(&self) -> Liveness {
        self.status
    }

    /// The incarnation met last; 0 before the first meeting.
    pub fn incarnation(&self) -> Incarnation {
        self.process.incarnation
    }

    pub fn timing(&self) -> Option<[u64; 4]> {
        self.said.timing
    }

    /// Its T2, by its own timings.
    pub(in crate::core) fn t2(&self) -> Option<Duration> {
        let [heartbeat, failure, message, lease] = self.said.timing?.map(Duration::from_nanos);
        Some(Timing { heartbeat, failure, message, lease }.t2())
    }

    /// When this process of it was last heard.
    pub fn heard(&self) -> Option<Time> {
        self.heard
    }

    pub(in crate::core) fn declared(&self) -> Option<Time> {
        self.declared
    }

    /// Whether this is the last incarnation that this member knows of, be it only from a leader's report.
    pub(in crate::core) fn is_present(&self, incarnation: Incarnation) -> bool {
        self.process.incarnation == incarnation && self.process.vouched <= incarnation
    }

    /// The last life of the peer that this member met, if that is certified to be over.
    pub fn certified(&self) -> Option<Incarnation> {
        self.lives.certificate().map(|certificate| certificate.incarnation)
    }

    /// Whether this member has the proof that the process which said this hello is dead.
    pub(in crate::core) fn is_buried(&self, hello: &Hello) -> bool {
        self.lives.is_over(hello.incarnation, hello.death)
    }

    /// Whether this is the process that this member met last.
    pub(in crate::core) fn is_process(&self, incarnation: Incarnation, instance: u64) -> bool {
        (self.process.incarnation, self.process.instance) == (incarnation, instance)
    }

    pub(in crate::core) fn proven(&self) -> (Incarnation, Option<u64>) {
        self.process.proven
    }

    pub(in crate::core) fn leads_with(&self) -> Option<(Epoch, i64)> {
        self.said.leads_with
    }

    /// The version of the protocol that it and this member speak.
    pub fn protocol(&self) -> u32 {
        self.said.protocol
    }

    pub(in crate::core) fn list(&self) -> ListVersion {
        self.said.list
    }

    /// When it will have been eligible for this long without a break, or for longer after many breaks; none while it
    /// is ineligible.
    pub(in crate::core) fn eligible_by(&self, after: Duration) -> Option<Time> {
        self.streak.due(after)
    }

    /// Whether it is connected, which means in both directions. (C1)
    pub fn connected(&self) -> bool {
        self.lines.inbound().is_some() && self.lines.is_up()
    }

    /// What the detector counts: whether it is connected, and heard only one way.
    pub(super) fn counted(&self) -> [usize; 2] {
        [self.connected(), self.lines.is_one_way()].map(usize::from)
    }

    /// The report on it for third members.
    pub(super) fn report(&self) -> MemberReport {
        let Peer { process: Process { incarnation, .. }, status, eligible, rank, .. } = *self;
        MemberReport { id: rank.id, incarnation, status, eligible, value: rank.value }
    }

    /// Alive as far as this member knows.
    pub fn alive(&self) -> bool {
        self.status == Liveness::Alive
    }

    /// Whether this process was heard, and is suspected or dead by now.
    pub(super) fn is_lost(&self) -> bool {
        self.heard.is_some() && !self.alive()
    }

    /// Whether it is alive and not unreachable.
    pub fn counts(&self) -> bool {
        self.alive() && (!self.lines.is_unreachable() || Fault::DeafCounts.is_planted())
    }

    /// For how long it may be silent, if others may be for `limit`: at least two of its own heartbeat intervals, as
    /// its timings may differ; but no file or lie lets it be silent for ever. (L3)
    pub(in crate::core) fn silence(&self, limit: Duration) -> Duration {
        let heartbeat =
            self.said.timing.map_or(Duration::ZERO, |[nanos, ..]| Duration::from_nanos(nanos));
        limit.max(heartbeat.saturating_mul(2).min(limit.saturating_mul(MOST_FAILURES)))
    }

    /// Whether it was heard within the last `limit`.
    pub fn heard_within(&self, limit: Duration, now: Time) -> bool {
        self.heard.is_some_and(|heard| now.since(heard) < limit)
    }

    /// Whether it was to lead and did not, more than once: once may be bad luck.
    pub fn is_passed_over(&self) -> bool {
        self.failings.passed.times() >= Peer::TWICE
    }

    /// Whether that happened so recently that this member does not obey its elections.
    pub(in crate::core) fn is_ignored(&self, now: Time) -> bool {
        self.is_passed_over() && self.failings.passed.holds(now)
    }

    /// Whether this member, as leader, recently gave up its epoch for this peer, which then did not lead.
    pub(in crate::core) fn did_not_succeed(&self, now: Time) -> bool {
        self.failings.declined.holds(now)
    }

    /// A time that is halved each time that it was to lead and did not.
    pub(in crate::core) fn sooner(&self, time: Duration) -> Duration {
        self.failings.passed.sooner(time)
    }

    pub(in crate::core) fn says_rank(&mut self, rank: Rank, eligible: bool) {
        (self.rank, self.eligible) = (rank, eligible);
    }

    pub(in crate::core) fn set_eligible(&mut self, eligible: bool) {
        self.eligible = eligible;
    }

    pub(in crate::core) fn calls(&mut self, round: Epoch, eligible: bool) {
        self.eligible = eligible;
        if eligible {
            self.said.called = round;
        }
    }

    /// It says that it leads in this epoch, and that its rank has this value now.
    pub(in crate::core) fn says_present_rank(&mut self, epoch: Epoch, value: i64) {
        self.said.leads_with = Some((epoch, value));
    }

    /// Its version of electd; none before its first hello that has one.
    pub fn version(&self) -> Option<&Arc<str>> {
        self.version.as_ref()
    }

    pub(in crate::core) fn says_timing(&mut self, timing: [u64; 4]) {
        self.said.timing = Some(timing);
    }

    pub(in crate::core) fn says_list(&mut self, version: ListVersion) {
        self.said.list = version;
    }

    /// It answered at its own address as this process. Returns whether no later incarnation did before.
    pub(in crate::core) fn answers_as(&mut self, incarnation: Incarnation, instance: u64) -> bool {
        let newer = self.process.proven.0 < incarnation;
        self.process.proven = (incarnation, Some(instance));
        newer
    }

    /// It answered at its own address, and had lost what it stored before: none of its later starts counts.
    pub(in crate::core) fn lost_its_state(&mut self) {
        self.process.proven = (Incarnation::LOST, None);
    }

    /// Only an earlier process of it was heard.
    pub(in crate::core) fn forget_hearing(&mut self) {
        self.heard = None;
    }

    /// This member starts anew, and suspects all peers.
    pub(in crate::core) fn suspect(&mut self) {
        self.status = Liveness::Suspected;
    }

    /// It leads: forgets its earlier failures to lead.
    pub(in crate::core) fn came_to_lead(&mut self) {
        self.failings.passed = BackOff::default();
    }

    /// This member, as leader, gave up its epoch for this peer, which does not lead.
    pub(in crate::core) fn note_no_success(&mut self, unit: Duration, now: Time) {
        self.failings.declined.again(unit, now);
    }

    /// It was to lead, or to continue its election, and did not. Returns whether it is passed over from now on.
    pub(in crate::core) fn note_no_leadership(&mut self, unit: Duration, now: Time) -> bool {
        self.failings.passed.again(unit, now);
        self.failings.passed.times() == Peer::TWICE
    }

    /// Takes over the content of its hello, and the version of the protocol that both speak, unless the hello was
    /// refused. Returns how this member met it before.
    pub(in crate::core) fn meet(&mut self, hello: &Hello, protocol: Option<u32>) -> Met {
        let met = match self.is_process(hello.incarnation, hello.instance) {
            true => Met::Known,
            false if self.process.incarnation.0 > 0 && self.alive() => Met::Restarted,
            false => Met::New,
        };
        self.process.incarnation = hello.incarnation;
        self.process.instance = hello.instance;
        self.lives.meet(hello.incarnation, hello.death);
        self.says_rank(Rank { id: hello.id, ..hello.rank }, hello.eligible);
        if hello.view.leader.is_some_and(|leader| leader.id == hello.id) {
            self.says_present_rank(hello.view.epoch, hello.rank.value);
        }
        self.said.protocol = protocol.unwrap_or(self.said.protocol);
        self.said.timing = Some(hello.timing);
        self.version.clone_from(&hello.version);
        self.lines.set_announced(None);
        if met != Met::Known {
            self.lines.count_anew();
            self.failings = Failings::default();
        }
        met
    }

    /// Passes this peer over if nothing could be sent to it for `limit` although it was heard; its silences may last
    /// up to `rarest`. Returns when to look again; none if only its next message can change that.
    pub(super) fn judge_unreachable(
        &mut self,
        (limit, rarest): (Duration, Duration),
        now: Time,
    ) -> Option<Time> {
        if !self.heard_within(rarest, now) {
            self.lines.forget_age();
            return None;
        }
        let heard = self.heard_within(limit, now);
        self.lines.look(limit, heard, now)
    }
}
