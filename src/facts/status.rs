//! What `GET /status` answers: one atomic view of a node, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::changed::ChangeStatus;
use super::entry::{GivenUp, HistoryEntry};
pub use super::leaderless::LeaderlessStatus;
use super::locks::TableVersion;
pub use super::refused::RefusalCause;
pub use super::takeover::TakeoverStatus;

/// A node's status. Field names and meanings are part of electd's interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The cluster's name.
    pub cluster: String,
    /// The node that answers.
    pub node: NodeRef,
    /// Its version of electd; empty of a node that does not tell it.
    #[serde(default)]
    pub version: String,
    /// starting, electing, waiting, halted, reorganizing, following, leading or stopping.
    pub state: String,
    /// The leader that this node follows, or itself; null while none is known.
    pub leader: Option<LeaderStatus>,
    /// Since when this node knows no leader, and why; null while it names one, and before its first change of state.
    pub leaderless: Option<LeaderlessStatus>,
    /// The named leader's epoch; without one, the last known.
    pub epoch: u64,
    /// none or majority.
    pub quorum: String,
    /// The election algorithm.
    pub algorithm: String,
    /// always, never, or after a time, such as "after 30s".
    pub preempt: String,
    /// The source of this node's last rank, in words; or "none: " and why it has none.
    pub rank_source: String,
    /// The result of this node's health check; null if it has none.
    pub health: Option<HealthStatus>,
    /// The part that only the halting algorithm has; null with the others.
    pub halting: Option<HaltingStatus>,
    /// Time left of the lease, if this node leads; null in mode none and for all others.
    pub lease_remaining_ms: Option<u64>,
    /// How long the slowest of the latest 16 durable writes took, in milliseconds; null before the first.
    pub durable_write_ms: Option<f64>,
    /// Whether it has the real-time scheduling that its file asks for; null if the file does not.
    pub realtime: Option<RealtimeStatus>,
    /// The guarantee, in words.
    pub guarantee: String,
    /// The longest failover that the timings allow, computed from them; null for a lone member.
    pub worst_failover_ms: Option<u64>,
    /// The same after a crash of the leader's process alone, from the end of its job.
    pub crash_failover_ms: Option<u64>,
    /// The same if all processes of the leader are killed at once; null also where nothing but silence shows that.
    pub proven_failover_ms: Option<u64>,
    /// How the present member list differs from the file of this node, in words; null if it does not.
    pub differs_from_file: Option<String>,
    /// Why an operator keeps this node from leading; null if none does.
    pub drain: Option<DrainStatus>,
    /// Whether an operator had this node hand over, so that it leads only if no other can. Ends by `electd undrain`, by a
    /// restart, and without preemption when the next leader is steady.
    #[serde(default)]
    pub resigned: bool,
    /// Why this node leads only if no other can: what it ran failed soon after its start. Null if it does not stand back.
    pub failure: Option<FailureStatus>,
    /// The takeover that this node waits for; null if it does not rank above the leader, or may not preempt it.
    pub takeover: Option<TakeoverStatus>,
    /// At a leader: the members that are to take over from it, by name, and when it lets each, such as
    /// `2026-11-22T10:58:33.123Z`. It has seen each break of theirs; a member that was restarted has not.
    #[serde(default)]
    pub takeovers: BTreeMap<String, String>,
    /// Since when the cluster is paused, as far as this node knows; null if it is not.
    pub pause: Option<PauseStatus>,
    /// The member that an operator chose to lead, whatever its rank, as far as this node knows; null if none is.
    pub switchover: Option<String>,
    /// All members, in id order.
    pub members: Vec<MemberStatus>,
    /// This start's number.
    pub incarnation: u64,
    /// Time since the node started.
    pub uptime_ms: u64,
    /// Age of this view. One older than `failure` is stalled and names no leader.
    pub age_ms: u64,
    /// Whether the election thread missed its turn, so that this node counts itself as failed.
    pub stalled: bool,
    /// The last time that this node led beside another leader, as in a partition; null where that
    /// did not happen since its start.
    pub partition: Option<PartitionStatus>,
    /// Messages by kind.
    pub messages: BTreeMap<String, MessageCount>,
    /// The dropped messages by queue, which was full or not connected; `events` and `leadership` are
    /// those that receivers within this process missed, and `events` the readers of `GET /events` that were cut off.
    pub dropped: BTreeMap<String, u64>,
    /// When the certificate of this node ends, or the first of those that it hangs on; null without `tls`.
    pub certificate_ends: Option<String>,
    /// Connections that were refused before a hello, by this node or by the other side, by cause.
    #[serde(default)]
    pub refused: BTreeMap<String, u64>,
    /// Members that refuse this node or that it refuses, each with the reason in words.
    pub rejections: Vec<RejectionStatus>,
    /// The latest changes of state, oldest first, at most 32.
    pub changes: Vec<ChangeStatus>,
    /// What is wrong although the node works, the worst first; looked at every second.
    #[serde(default)]
    pub problems: Vec<Problem>,
    /// How many more members may fail, one after another, before nobody can lead, as far as this node
    /// knows; 0 while it knows no leader.
    #[serde(default)]
    pub failures_tolerated: u64,
    /// How many it would be if all members were alive and eligible, and a leader led.
    #[serde(default)]
    pub failures_tolerated_at_most: u64,
    /// The leadership that this node knew last: since when, and why the one before ended; null before the first.
    pub last_leadership: Option<HistoryEntry>,
    /// The last leadership that this node gave up by itself or by an order, and why; left out if it knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<GivenUp>,
    /// What is wrong with the disk of this node, while the problem `storage` lasts; else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskTrouble>,
    /// How many locks each member holds, as far as this node knows; left out if none holds any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub locks_held: BTreeMap<String, u64>,
    /// The version of the last done table of locks that this node knows; left out before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locks_version: Option<TableVersion>,
    /// How many locks are wanted that nobody holds, as far as this node knows; left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub locks_unheld: u64,
    /// Where the work of this leader is reached, as `--url` says; left out of others, and without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the clock of this node's host shows now, in milliseconds since 1970; null of a node of an earlier version.
    #[serde(default)]
    pub clock_ms: Option<u64>,
    /// When the process that read this status asked for it, and when it had the answer, by its own clock in the same unit.
    #[serde(skip)]
    pub asked_ms: Option<(u64, u64)>,
    /// The id of the latest event: for `GET /events` the Last-Event-ID of a client that has read this status.
    pub last_event: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whether a node has the real-time scheduling and the locked memory that its file asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealtimeStatus {
    /// Whether it has all of it.
    pub holds: bool,
    /// What the system refused, and the remedy, in words; null if nothing.
    pub refused: Option<String>,
}

/// That an operator keeps a node from leading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainStatus {
    /// Since when, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// When it ends by itself; null if it does not.
    pub until: Option<String>,
    /// The operator's words.
    pub reason: String,
}

/// That a node stands back, as its job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureStatus {
    /// When it failed last, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// Until when the node stands back.
    pub until: String,
    /// How many failures came one after another.
    pub count: u32,
    /// How it failed, in words.
    pub reason: String,
}

/// That the cluster is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseStatus {
    /// Since when, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// When it ends by itself; null if it does not.
    pub until: Option<String>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// When it was seen first, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// The name of a [`ProblemKind`](super::problem::ProblemKind).
    pub kind: String,
    /// The member that it is about, by name, if it is about another one; or a word that tells it from others of its kind.
    #[serde(default)]
    pub about: String,
    /// What is wrong, in words.
    pub text: String,
}

/// What is wrong with the disk of a node. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskTrouble {
    /// It has no room for the state.
    Full,
    /// It is read-only.
    ReadOnly,
    /// A write has been under way for long.
    Stuck,
    /// A write failed for another reason, or what a later version names otherwise.
    #[serde(other)]
    Failing,
}

impl DiskTrouble {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            DiskTrouble::Full => "its disk is full",
            DiskTrouble::ReadOnly => "its disk is read-only",
            DiskTrouble::Stuck => "its disk hangs",
            DiskTrouble::Failing => "its disk fails",
        }
    }
}

/// The result of a node's health check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthStatus {
    /// Whether the node may lead, as far as its health goes. Not before the first check passed.
    pub healthy: bool,
    /// Since when, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// The last line that the latest check printed; at most 200 characters.
    pub output: String,
    /// How the latest check failed, in words; for an unhealthy node whose check passes again, how the
    /// last failed one did. Null if the node is healthy and the latest check passed, or if none has
    /// ended yet.
    pub failure: Option<String>,
}

/// A node in the halting algorithm, in the terms of its paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HaltingStatus {
    /// down, election, reorganization or normal.
    pub status: String,
    /// The name of the member that halted this member, while its election is under way.
    pub halter: Option<String>,
    /// The length of the task handed out last; 0 where none was. `GET /task` gives it.
    pub task_bytes: usize,
}

/// A member's id and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRef {
    /// UUID version 4.
    pub id: String,
    /// The name in the config.
    pub name: String,
}

/// The leader, with the epoch that it leads in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaderStatus {
    /// UUID version 4.
    pub id: String,
    /// The name in the config.
    pub name: String,
    /// Where members dial it.
    pub address: String,
    /// Its epoch, the fencing token.
    pub epoch: u64,
}

/// One member as this node sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// UUID version 4.
    pub id: String,
    /// The name in the config.
    pub name: String,
    /// Where members dial it.
    pub address: String,
    /// Where its HTTP is; null where it serves none.
    pub admin: Option<String>,
    /// member, witness or observer.
    pub role: String,
    /// Whether it may be nominated.
    #[serde(rename = "stands")]
    pub eligible: bool,
    /// alive, suspected or dead.
    pub status: String,
    /// How long it took to acknowledge a heartbeat of this node lately, in milliseconds; null where this node does
    /// not lead.
    pub rtt_ms: Option<f64>,
    /// Why elections pass the member over although this node hears it, in words; null if they do not.
    pub passed_over: Option<String>,
    /// Its version of electd, as it told this node last; null if it did not.
    pub version: Option<String>,
    /// Why the last dial of this node to the member led to no connection, in words; null if they are connected.
    pub failed_dial: Option<String>,
    /// Whether its host refused that dial, so that the host is up and no process listens there; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses_dials: bool,
    /// The value that the member is compared by.
    pub rank: RankStatus,
}

/// A member's rank: the attribute, then the id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankStatus {
    /// The kind of attribute.
    pub by: String,
    /// Its value; with `id`, the id itself; null while the member has none, or has not been met.
    pub value: serde_json::Value,
}

/// How many messages of one kind were sent and received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageCount {
    /// Handed to a connection.
    pub sent: u64,
    /// Read from connections.
    pub received: u64,
}

/// Two simultaneous leaders: this node and another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionStatus {
    /// The epoch that this node led in.
    pub own_epoch: u64,
    /// The other leader.
    pub other: OtherLeader,
    /// How long both led, at most: since this node began to lead in this epoch, or heard the other
    /// for the last time before, whichever was later.
    pub lasted_at_most_ms: u64,
    /// How long ago they met, so that one stepped down.
    pub healed_ms_ago: u64,
}

/// Another leader, met by a leader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherLeader {
    /// The name in the config.
    pub name: String,
    /// The epoch that it led in.
    pub epoch: u64,
}

/// A refusal at the hello.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RejectionStatus {
    /// The name of the peer, or its address where it is not a member.
    pub peer: String,
    /// The reason, in words.
    pub reason: String,
    /// The same for programs; left out by a node of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RefusalCause>,
    /// Whether the peer refuses this node; left out where this node refuses the peer, and by a node of an earlier version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_peer: bool,
}

#[cfg(test)]
mod tests;
