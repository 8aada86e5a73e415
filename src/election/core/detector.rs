//! The failure detector: this member's knowledge of every other member, first-hand and second-hand.
//!
//! Silence makes a suspect. A refused redial proves a death, and a hello of a new incarnation proves the death of the
//! older one (seed 000, notes 8 and 9). What a third member reports of a member counts only for an incarnation not
//! older than the one that was met.

mod lines;
mod peer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use lines::{ConnectionId, Lines};
pub(super) use peer::Met;
pub use peer::{Failings, Peer, Process, Said};

use super::membership::{Member, MemberList};
use super::message::{Liveness, MemberReport};
use super::protocol::Protocols;
use super::types::{Epoch, Incarnation, NodeId, Rank, Time};

/// The peers that were looked for, and when to look again.
pub type SoughtPeers = (Vec<NodeId>, Option<Time>);

/// All other members, by id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Detector {
    members: Arc<MemberList>,
    /// This member's own place in the list.
    own: Option<usize>,
    /// One for each member, in the order of the list; that of this member has no meaning.
    peers: Vec<Peer>,
    /// The same in short, as this member reports it; its own entry is the last that it sent. It is shared with the
    /// leader's last reports when equal, so that comparing is usually a pointer check.
    reports: Arc<[MemberReport]>,
    connected: usize,
    /// How many peers are heard while nothing can be sent to them.
    one_way: usize,
}

impl Detector {
    /// Knows only the members' names: it has met none, so it suspects all.
    pub fn new(members: &Arc<MemberList>, own: NodeId) -> Detector {
        let unmet = |member: &Member| Peer {
            rank: Rank { value: 0, id: member.id },
            eligible: member.may_lead(),
            said: Said { protocol: Protocols::OURS.lowest, ..Said::default() },
            ..Peer::default()
        };
        let peers: Vec<Peer> = members.iter().map(unmet).collect();
        Detector {
            members: members.clone(),
            own: members.position(own),
            reports: peers.iter().map(Peer::report).collect(),
            peers,
            connected: 0,
            one_way: 0,
        }
    }

    /// The incarnations that an earlier incarnation of this member met. Their processes are not known any more.
    pub fn remember(&mut self, met: &[(NodeId, Incarnation)]) {
        for (id, incarnation) in met {
            self.change(*id, |peer| peer.process.proven = (*incarnation, None));
        }
    }

    /// The greatest incarnation that each peer proved to have.
    pub fn met(&self) -> impl Iterator<Item = (NodeId, Incarnation)> {
        let proven = self.iter().map(|peer| (peer.id(), peer.process.proven.0));
        proven.filter(|(_, incarnation)| incarnation.0 > 0)
    }

    /// Takes another list, and keeps what it knows of the members that stay.
    pub fn adopt(&mut self, members: &Arc<MemberList>, own: NodeId) {
        let mut fresh = Detector::new(members, own);
        for member in members.iter() {
            if let Some(known) = self.get(member.id) {
                fresh.change(member.id, |peer| peer.clone_from(known));
            }
        }
        *self = fresh;
    }

    fn place(&self, id: NodeId) -> Option<usize> {
        let place = self.members.position(id)?;
        Some(place).filter(|place| Some(*place) != self.own)
    }

    /// A peer; none for this member itself and for strangers.
    pub fn get(&self, id: NodeId) -> Option<&Peer> {
        self.place(id).map(|place| &self.peers[place])
    }

    /// All other members in id order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Peer> {
        let all = self.peers.iter().enumerate();
        all.filter(|(place, _)| Some(*place) != self.own).map(|(_, peer)| peer)
    }

    pub(super) fn ids(&self) -> Vec<NodeId> {
        self.iter().map(Peer::id).collect()
    }

    /// Changes a peer's entry. Returns what the change returns; nothing for this member itself and for strangers.
    pub fn change<T: Default>(&mut self, id: NodeId, change: impl FnOnce(&mut Peer) -> T) -> T {
        let Some(place) = self.place(id) else { return T::default() };
        let peer = &mut self.peers[place];
        let before = peer.counted();
        let result = change(peer);
        peer.lines.count_anew_if_up();
        let after = peer.counted();
        let report = peer.report();
        self.connected = self.connected + after[0] - before[0];
        self.one_way = self.one_way + after[1] - before[1];
        self.tell(place, report);
        result
    }

    fn tell(&mut self, place: usize, report: MemberReport) {
        if self.reports[place] != report {
            Arc::make_mut(&mut self.reports)[place] = report;
        }
    }

    /// Whether all others are connected, in both directions.
    pub fn all_connected(&self) -> bool {
        self.connected + usize::from(self.own.is_some()) == self.peers.len()
    }

    /// How many peers are heard while nothing can be sent to them.
    pub fn one_way(&self) -> usize {
        self.one_way
    }

    /// Passes over the peers to which nothing could be sent for the first limit, and that were silent for less than
    /// the second. Returns them, and when to look again.
    pub fn look_for_unreachable(&mut self, limits: (Duration, Duration), now: Time) -> SoughtPeers {
        let (mut late, mut next) = (Vec::new(), None);
        for peer in &mut self.peers {
            if peer.lines.is_one_way() && !peer.lines.is_unreachable() {
                match peer.judge_unreachable(limits, now) {
                    Some(due) => next = Some(next.map_or(due, |earliest: Time| earliest.min(due))),
                    None if peer.lines.is_unreachable() => late.push(peer.id()),
                    None => {}
                }
            }
        }
        (late, next)
    }

    /// Whether a member is alive and not unreachable.
    pub fn counts(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(Peer::counts)
    }

    /// Whether a member is alive, as far as this member knows.
    pub fn is_alive(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(Peer::alive)
    }

    /// All other members clockwise from this one: in id order, and from the greatest to the least.
    pub fn clockwise(&self) -> impl Iterator<Item = &Peer> {
        let own = self.own.unwrap_or_default();
        let places = (own..self.peers.len()).chain(0..own);
        places.filter(|place| Some(*place) != self.own).map(|place| &self.peers[place])
    }

    /// Whether this member can send to a peer: the connection to it is up.
    pub fn is_within_reach(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|peer| peer.lines.is_up())
    }

    /// A member gave a sign of life. Returns whether the member was thought suspected or dead.
    pub fn hear(&mut self, id: NodeId, now: Time) -> bool {
        self.change(id, |peer| {
            let returned = !peer.alive();
            (peer.heard, peer.status, peer.proved) = (Some(now), Liveness::Alive, false);
            returned
        })
    }

    /// A peer says which leader it follows, or that it leads. Returns when it last did so before. Other messages do not
    /// count: one may have been on its way for long, with such a statement behind it.
    pub fn declares(&mut self, id: NodeId, now: Time) -> Option<Time> {
        self.change(id, |peer| peer.declared.replace(now))
    }

    /// A member is suspected, or dead by first-hand proof. Returns whether it was thought alive until now.
    pub fn lose(&mut self, id: NodeId, status: Liveness) -> bool {
        self.change(id, |peer| {
            let lost = peer.alive();
            if peer.status != Liveness::Dead {
                peer.status = status;
            }
            peer.proved |= status == Liveness::Dead;
            lost
        })
    }

    /// Takes a report of the leader of this epoch. Returns whether the member was thought alive until now and is not
    /// any more. The report revives no peer that this member has lost and cannot send to: the link between the two is
    /// dead, and no answer would come. The same holds for a peer that was not heard yet, if it did not come after an
    /// earlier report either. (D5)
    pub fn hearsay(&mut self, epoch: Epoch, report: &MemberReport) -> bool {
        self.change(report.id, |peer| {
            let older = report.incarnation < peer.process.incarnation;
            let same = report.incarnation == peer.process.incarnation;
            if older || (same && peer.proved) {
                return false;
            }
            peer.proved = false;
            let lost = peer.alive() && report.status != Liveness::Alive;
            let did_not_come = !peer.alive() && peer.process.vouched == report.incarnation;
            let cut_off = (did_not_come || same && peer.is_lost()) && !peer.lines.is_up();
            if !cut_off {
                let unheard = !same || peer.heard.is_none();
                let revived = report.status == Liveness::Alive && unheard;
                peer.process.vouched = if revived { report.incarnation } else { Incarnation(0) };
                peer.status = report.status;
            }
            peer.eligible = report.eligible || peer.said.called > epoch;
            peer.rank.value = report.value;
            lost
        })
    }

    /// The leader's reports that change something here. Usually there are none, and they are in the order of the list
    /// as long as both members have the same.
    pub fn news(&mut self, reports: &Arc<[MemberReport]>) -> Vec<MemberReport> {
        if Arc::ptr_eq(&self.reports, reports) {
            return Vec::new();
        }
        // The report on this member means nothing here; but the leader may have another list.
        if let Some(own) = self.own
            && let Some(report) = reports.get(own)
            && report.id == self.reports[own].id
        {
            self.tell(own, *report);
        }
        if self.reports == *reports {
            self.reports = reports.clone();
            return Vec::new();
        }
        let mut known = self.reports.iter();
        let differs = |report: &&MemberReport| known.next() != Some(*report);
        let is_news = |report: &&MemberReport| {
            self.get(report.id).is_some_and(|peer| {
                let same = report.incarnation == peer.process.incarnation;
                !same || (!peer.proved && peer.report() != **report)
            })
        };
        reports.iter().filter(differs).filter(is_news).copied().collect()
    }

    /// Counts for how long each member is eligible, from one heartbeat round to the next.
    pub fn observe_eligibility(&mut self, after: Duration, now: Time) {
        for peer in &mut self.peers {
            let eligible = peer.alive() && peer.eligible;
            peer.streak.observe(eligible, peer.process.incarnation, after, now);
        }
    }

    /// This member's reports on all members, with this one on itself.
    pub fn reports(&mut self, own: MemberReport) -> Arc<[MemberReport]> {
        if let Some(place) = self.own {
            self.tell(place, own);
        }
        self.reports.clone()
    }

    /// Those of the `watched` members that have been silent for `limit`, counted from when each is watched at the
    /// earliest; and when to look again.
    pub fn silent(
        &self,
        watched: BTreeMap<NodeId, Time>,
        limit: Duration,
        now: Time,
    ) -> SoughtPeers {
        let mut silent = Vec::new();
        let mut again = None;
        for (id, since) in watched {
            let Some(peer) = self.get(id).filter(|peer| peer.alive()) else { continue };
            let due = peer.heard.map_or(since, |heard| heard.max(since)) + peer.silence(limit);
            if due <= now {
                silent.push(id);
            } else {
                again = Some(again.map_or(due, |earliest: Time| earliest.min(due)));
            }
        }
        (silent, again)
    }
}

#[cfg(test)]
mod tests;
