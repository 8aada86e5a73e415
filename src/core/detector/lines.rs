//! The connections between a member and one peer: on one of them the peer speaks, on the other one it is told something.

use std::time::Duration;

use crate::core::types::{Epoch, Time};

/// Names one inbound connection; the caller numbers them, never twice the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// The connections between this member and a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The connection on which it speaks to this member, and where it comes from.
    inbound: Option<(ConnectionId, String)>,
    /// Whether the connection to it is up: its WELCOME has come.
    outbound: bool,
    /// The epoch of which this member, leading, has told it on the present connection.
    told_epoch: Option<Epoch>,
    /// This member got other timings after it dialed the peer, and before it could tell it anything.
    told_older_timing: bool,
    /// Since when it has been heard and could be told nothing.
    untold_since: Option<Time>,
    /// It was so for `failure`: no rival, neighbour or successor, however loud.
    unreachable: bool,
}

impl Lines {
    /// The connection on which it speaks to this member.
    #[must_use]
    pub fn inbound(&self) -> Option<ConnectionId> {
        self.inbound.as_ref().map(|(connection, _)| *connection)
    }

    /// Where that connection comes from.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.inbound.as_ref().map(|(_, address)| address.as_str())
    }

    /// Whether it can be told something.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.outbound
    }

    /// Whether it was heard for `failure`, and could be told nothing meanwhile.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    /// Whether it was told on the present connection that this member leads in this epoch.
    pub(in crate::core) fn is_told(&self, epoch: Epoch) -> bool {
        self.told_epoch == Some(epoch)
    }

    /// It was told so; with none, its connection is new.
    pub(in crate::core) fn note_told(&mut self, epoch: Option<Epoch>) {
        self.told_epoch = epoch;
    }

    /// It speaks on this connection, which comes from there.
    pub(in crate::core) fn accept(&mut self, connection: ConnectionId, address: String) {
        self.inbound = Some((connection, address));
    }

    /// It speaks on that connection no more.
    pub(in crate::core) fn end_inbound(&mut self) -> Option<ConnectionId> {
        self.inbound.take().map(|(connection, _)| connection)
    }

    /// It can be told something from now on, or no more.
    pub(in crate::core) fn set_up(&mut self, up: bool) {
        self.outbound = up;
    }

    /// Both connections have ended.
    pub(in crate::core) fn end(&mut self) {
        (self.inbound, self.outbound, self.told_epoch) = Default::default();
    }

    /// It may have been told older timings than this member has now.
    pub(in crate::core) fn note_older_timing(&mut self) {
        self.told_older_timing = true;
    }

    /// Whether it was told older timings, which it is told anew now.
    pub(in crate::core) fn take_older_timing(&mut self) -> bool {
        std::mem::take(&mut self.told_older_timing)
    }

    /// It has `failure` from now on to be reached: it is a new process, or was reached.
    pub(in crate::core) fn count_anew(&mut self) {
        (self.unreachable, self.untold_since) = Default::default();
    }

    /// This member starts anew, and looks for it like for all others.
    pub(in crate::core) fn is_looked_for(&mut self) {
        self.unreachable = false;
    }

    /// It was silent, as one that is gone: it has `failure` to be reached once it is heard again.
    pub(in crate::core) fn was_silent(&mut self) {
        self.untold_since = None;
    }

    /// Whether it speaks to this member, which cannot say anything to it.
    pub(super) fn is_untold(&self) -> bool {
        self.inbound.is_some() && !self.outbound
    }

    /// Notes what its connections are now. It may end its own connection and dial again, time after time, as a
    /// member does that refuses this one: it could be told nothing all the same.
    pub(super) fn note_reach(&mut self) {
        if self.outbound {
            self.count_anew();
        }
    }

    /// Looks whether it is to be passed over from now on, as it is `heard` and could be told nothing for this long. Gives
    /// when to look again otherwise: not before it is heard, if it is silent now.
    pub(super) fn look(&mut self, limit: Duration, heard: bool, now: Time) -> Option<Time> {
        let due = *self.untold_since.get_or_insert(now) + limit;
        self.unreachable |= due <= now && heard;
        (now < due).then_some(due)
    }
}
