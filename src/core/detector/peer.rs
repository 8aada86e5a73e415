//! What a member knows of one other.

use std::time::Duration;

use crate::core::damping::Damping;
use crate::core::membership::ListVersion;
use crate::core::message::{Liveness, MemberReport};
use crate::core::planted::Fault;
use crate::core::streak::Streak;
use crate::core::types::{Epoch, Incarnation, NodeId, Rank, Time};

/// While members elect, one that has a reason to speak does so at least once in this many times `failure`.
const RAREST: u32 = 4;

/// Names one inbound connection; the caller numbers them, never twice the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A member whose heartbeats are rarer than that is suspected between two of them.
const MOST_FAILURES: u32 = 16;

/// What this member knows of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Which run of it this is.
    pub process: Process,
    /// Alive, suspected or dead.
    pub status: Liveness,
    /// Whether the death was proved to this member itself, so that hearsay cannot undo it.
    pub proved: bool,
    /// When it was last heard, by any message of its own.
    pub heard: Option<Time>,
    /// When it last said whom it follows, or that it leads.
    pub declared: Option<Time>,
    /// Its rank, as it told it last.
    pub rank: Rank,
    /// Whether it may be nominated.
    pub eligible: bool,
    /// What else it told last.
    pub said: Said,
    /// Its connections.
    pub lines: Lines,
    /// For how long it has been eligible without a break.
    pub streak: Streak,
    /// How often it was to lead and did not, since it led last or started.
    pub passed: Damping,
    /// How often this member, leading, gave up its epoch for it in vain.
    pub(in crate::core) let_down: Damping,
}

/// Which run of a peer this is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// The incarnation met last; 0 before the first meeting.
    pub incarnation: Incarnation,
    /// That incarnation's process.
    pub instance: u64,
    /// The greatest incarnation that answered at its own address, and its process, if this run of this
    /// member met it. A process that only dials this member may say any number.
    pub proven: (Incarnation, Option<u64>),
    /// The incarnation that is alive by a leader's word alone, as this member has not met it.
    pub(super) vouched: Incarnation,
}

/// What a peer told last of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Said {
    /// The epoch in which it said last that it leads, and the value of its rank as it was then.
    pub leads_with: Option<(Epoch, i64)>,
    /// The round of its last ELECTION as an eligible member: a leader of an earlier epoch may not know.
    pub called: Epoch,
    /// The version of the protocol that both speak.
    pub protocol: u32,
    /// Its timings.
    pub timing: Option<[u64; 4]>,
    /// The version of its member list.
    pub list: ListVersion,
}

/// The connections between this member and a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The connection on which it speaks to this member, and where it comes from.
    pub inbound: Option<(ConnectionId, String)>,
    /// Whether the connection to it is up: its WELCOME has come.
    pub outbound: bool,
    /// The epoch of which this member, leading, has told it on the present connection.
    pub told_epoch: Option<Epoch>,
    /// This member got other timings after it dialed the peer, and before it could tell it anything.
    pub told_older_timing: bool,
    /// Since when it has been heard and could be told nothing.
    pub(in crate::core) untold_since: Option<Time>,
    /// It was so for `failure`: no rival, neighbour or successor, however loud.
    pub unreachable: bool,
}

impl Peer {
    /// So often it has to let this member wait in vain before it is passed over.
    pub(in crate::core) const TWICE: u32 = 2;

    /// Connected means both directions.
    #[must_use]
    pub fn connected(&self) -> bool {
        self.lines.inbound.is_some() && self.lines.outbound
    }

    /// What third members are told of it.
    pub(super) fn report(&self, id: NodeId) -> MemberReport {
        let Peer { process: Process { incarnation, .. }, status, eligible, rank, .. } = *self;
        MemberReport { id, incarnation, status, eligible, value: rank.value }
    }

    /// Alive as far as this member knows.
    #[must_use]
    pub fn alive(&self) -> bool {
        self.status == Liveness::Alive
    }

    /// This process was heard, and is suspected or dead by now.
    pub(super) fn is_lost(&self) -> bool {
        self.heard.is_some() && !self.alive()
    }

    /// Alive, and it can be told something, or may be soon.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.alive() && (!self.lines.unreachable || Fault::DeafCounts.is_planted())
    }

    /// For how long it may be silent where others may be for `limit`: at least two of its own heartbeats, as
    /// its timings may differ; but no file or lie lets it be silent for ever.
    #[must_use]
    pub(super) fn silence(&self, limit: Duration) -> Duration {
        let heartbeat =
            self.said.timing.map_or(Duration::ZERO, |[nanos, ..]| Duration::from_nanos(nanos));
        limit.max(heartbeat.saturating_mul(2).min(limit.saturating_mul(MOST_FAILURES)))
    }

    /// Whether it was heard within the last `limit`.
    #[must_use]
    pub fn heard_within(&self, limit: Duration, now: Time) -> bool {
        self.heard.is_some_and(|heard| now.since(heard) < limit)
    }

    /// Whether it was to lead and did not, more than once: once may be bad luck.
    #[must_use]
    pub fn is_passed_over(&self) -> bool {
        self.passed.times() >= Peer::TWICE
    }

    /// Whether it speaks to this member, which cannot say anything to it.
    pub(super) fn is_untold(&self) -> bool {
        self.lines.inbound.is_some() && !self.lines.outbound
    }

    /// Notes what its connections are now. It may end its own connection and dial again, time after time, as a
    /// member does that refuses this one: it could be told nothing all the same.
    pub(super) fn note_reach(&mut self) {
        if self.lines.outbound {
            (self.lines.unreachable, self.lines.untold_since) = Default::default();
        }
    }

    /// Looks whether it is to be passed over from now on. Gives when to look again otherwise: not before it is heard, if it
    /// is silent now.
    pub(super) fn is_unreachable_by(&mut self, limit: Duration, now: Time) -> Option<Time> {
        if !self.heard_within(limit.saturating_mul(RAREST), now) {
            self.lines.untold_since = None; // it is silent, as one that is gone
            return None;
        }
        let since = *self.lines.untold_since.get_or_insert(now);
        let due = since + limit;
        self.lines.unreachable |= due <= now && self.heard_within(limit, now);
        (now < due).then_some(due)
    }
}
