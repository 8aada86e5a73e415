//! The connections between a member and one peer: the peer speaks on one, and this member speaks on the other.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::types::{Epoch, Time};

/// The number of an inbound connection; the caller uses no number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConnectionId(pub u64);

/// The connections between this member and a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    /// The connection on which the peer speaks, and the address that it comes from.
    inbound: Option<(ConnectionId, String)>,
    /// Whether the connection to the peer is up: its WELCOME has come.
    outbound: bool,
    /// The epoch in which this leader announced itself to the peer on the present connection.
    announced_epoch: Option<Epoch>,
    /// Whether this member's hello carried timings that changed before it could send to the peer.
    sent_older_timing: bool,
    /// Since when the peer has been heard while nothing could be sent to it.
    one_way_since: Option<Time>,
    /// Whether that lasted `failure`: then the peer is no rival, neighbour or successor.
    unreachable: bool,
}

impl Lines {
    /// The connection on which the peer speaks.
    pub fn inbound(&self) -> Option<ConnectionId> {
        self.inbound.as_ref().map(|(connection, _)| *connection)
    }

    /// The address that this connection comes from.
    pub fn address(&self) -> Option<&str> {
        self.inbound.as_ref().map(|(_, address)| address.as_str())
    }

    /// Whether this member can send to the peer.
    pub fn is_up(&self) -> bool {
        self.outbound
    }

    /// Whether the peer was heard for `failure`, while nothing could be sent to it.
    pub fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    /// Whether this leader announced itself to the peer, on the present connection, in this epoch.
    pub(in crate::core) fn is_announced(&self, epoch: Epoch) -> bool {
        self.announced_epoch == Some(epoch)
    }

    /// This leader announced itself in this epoch; none: the connection is new.
    pub(in crate::core) fn set_announced(&mut self, epoch: Option<Epoch>) {
        self.announced_epoch = epoch;
    }

    /// The peer speaks on this connection, which comes from this address.
    pub(in crate::core) fn accept(&mut self, connection: ConnectionId, address: String) {
        self.inbound = Some((connection, address));
    }

    /// The peer does not speak on its connection any more.
    pub(in crate::core) fn end_inbound(&mut self) -> Option<ConnectionId> {
        self.inbound.take().map(|(connection, _)| connection)
    }

    /// Whether this member can send to the peer from now on.
    pub(in crate::core) fn set_up(&mut self, up: bool) {
        self.outbound = up;
    }

    /// Both connections have ended.
    pub(in crate::core) fn end(&mut self) {
        (self.inbound, self.outbound, self.announced_epoch) = Default::default();
    }

    /// The hello to the peer may carry older timings than this member has now.
    pub(in crate::core) fn mark_older_timing(&mut self) {
        self.sent_older_timing = true;
    }

    /// Whether the hello carried older timings; this member sends the present ones now.
    pub(in crate::core) fn take_older_timing(&mut self) -> bool {
        std::mem::take(&mut self.sent_older_timing)
    }

    /// The peer is a new process, or was reached: it has `failure` to be reached from now on.
    pub(in crate::core) fn count_anew(&mut self) {
        (self.unreachable, self.one_way_since) = Default::default();
    }

    /// This member starts anew, and discovers the peer like all others.
    pub(in crate::core) fn end_look(&mut self) {
        self.unreachable = false;
    }

    /// The peer was silent, like a dead one: it has `failure` to be reached once it is heard again.
    pub(in crate::core) fn forget_age(&mut self) {
        self.one_way_since = None;
    }

    /// Whether the peer speaks to this member, which cannot send to it.
    pub(super) fn is_one_way(&self) -> bool {
        self.inbound.is_some() && !self.outbound
    }

    /// After each change: a peer that this member can send to is reached. A peer that repeatedly ends its own
    /// connection and dials again, as one that refuses this member does, stays out of reach all the same.
    pub(super) fn count_anew_if_up(&mut self) {
        if self.outbound {
            self.count_anew();
        }
    }

    /// Looks whether the peer is unreachable from now on: it is `heard`, and nothing could be sent to it for this
    /// long. Otherwise returns when to look again: not before the peer is heard, if it is silent now.
    pub(super) fn look(&mut self, limit: Duration, heard: bool, now: Time) -> Option<Time> {
        let due = *self.one_way_since.get_or_insert(now) + limit;
        self.unreachable |= due <= now && heard;
        (now < due).then_some(due)
    }
}
