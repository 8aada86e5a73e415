//! Why a member refuses a hello, or a message that has an impossible number or that its sender is not entitled to. A
//! hello is judged as a whole, before it changes anything.
//!
//! Epochs, rounds, versions and incarnations only grow, and a member that takes one that is too great keeps it for
//! ever, restarts included. So a member refuses a hello with such a number, and says why, and closes a connection on
//! which a message has one.

use std::time::Duration;

use super::content::Told;
use super::detector::Peer;
use super::hello::{Agreement, Hello, Rejection};
use super::membership::{ListVersion, MemberList};
use super::message::{Envelope, Message};
use super::phase::Phase;
use super::planted::Fault;
use super::settings::Timing;
use super::state::State;
use super::types::{NodeId, Role, Time, Version};

/// The most by which an epoch, a round or a counter may be ahead. A cluster takes 13 years to get there, with ten
/// elections a second, and a member that was away for so long is added anew.
const MOST: u64 = 1 << 32;

/// The most starts between two meetings with a member: half a year of a start every second. A member that says more
/// may as well be a liar that wants to keep the true one out.
const MOST_STARTS: u64 = 1 << 24;

/// A rejection for a number that is too great, in the form of a setting that differs, which an older electd knows as
/// well.
fn beyond(key: &str, told: u64, known: u64, most: u64) -> Option<Rejection> {
    let limit = known.saturating_add(most);
    let is_beyond = told > limit && !Fault::FarAhead.is_planted();
    is_beyond.then(|| differ(key, format!("at most {limit}"), told))
}

fn differ(key: &str, ours: impl ToString, theirs: impl ToString) -> Rejection {
    let (ours, theirs) = (ours.to_string(), theirs.to_string());
    Rejection::Disagreement { key: key.to_owned(), ours, theirs }
}

impl State {
    /// Why this member must refuse a hello, if it must. Nothing changes before that is decided.
    pub(super) fn objection(&self, hello: &Hello) -> Option<Rejection> {
        let stranger = || {
            let unknown = self.detector.get(hello.id).is_none() && !self.learns_of_stranger(hello);
            unknown.then(|| {
                let older =
                    !hello.list.supersedes(self.membership.list()) && self.is_list_committed();
                // Without a majority a later leader gives its own list a new version, which may name the sender again.
                let later = !self.needs_majority()
                    && hello.view.epoch > self.view().epoch
                    && hello.view.leader.is_some_and(|leader| leader.id != hello.id);
                let removed =
                    older && !later && self.membership.list().removed().contains(&hello.id);
                let removed = removed || self.has_removed_itself(hello);
                let reason = if removed { Rejection::Removed } else { Rejection::UnknownId };
                reason(hello.id)
            })
        };
        self.disagreement(hello)
            .or_else(|| self.jump_of_hello(hello))
            .or_else(stranger)
            .or_else(|| self.lists_differ(hello))
    }

    /// Without a majority: whether a stranger is let in, and its list taken first. It may have been added while this
    /// member was away, and be the only member left that can say so. A list's entry of this member never changes once
    /// it was added; but an older list may be the only one that knows of its removal.
    ///
    /// With a majority a stranger's word never counts: it could name voters that do not exist. This member learns of
    /// an added member from those that it knows.
    pub(super) fn learns_of_stranger(&self, hello: &Hello) -> bool {
        let list = &hello.list;
        let own = |list: &MemberList| list.get(self.id()).cloned();
        let added = self.membership.version() > ListVersion::default();
        let same = !added
            || own(self.membership.list()).is_none()
            || own(list) == own(self.membership.list());
        let overruled = self.leads() && list.version().epoch <= self.view().epoch;
        let taken = list.supersedes(self.membership.list())
            && !overruled
            && self.phase() != Phase::Stopping;
        let named = own(list).is_some() && list.get(hello.id).is_some();
        let believed = !self.needs_majority() || Fault::StrangersList.is_planted();
        believed && named && same && taken
    }

    /// Whether the sender is a leader that has removed itself, by the very list that this member has stored: it waits
    /// only for that.
    fn has_removed_itself(&self, hello: &Hello) -> bool {
        let same = hello.list.version() == self.membership.version();
        same && hello.list.get(hello.id).is_none() && self.list_record().is_none()
    }

    /// What keeps two members from talking, whichever they are.
    pub(super) fn disagreement(&self, hello: &Hello) -> Option<Rejection> {
        if let Err((ours, theirs)) = self.settings.protocols.shared(hello.protocols) {
            return Some(Rejection::Protocol { ours, theirs });
        }
        let (ours, theirs) = (Agreement::of(&self.settings), &hello.agreement);
        if ours.cluster != theirs.cluster {
            let (ours, theirs) = (ours.cluster.clone(), theirs.cluster.clone());
            return Some(Rejection::Cluster { ours, theirs });
        }
        if hello.to != self.id() {
            return Some(Rejection::WrongAddress { expected: hello.to, found: self.id() });
        }
        if hello.id == self.id() {
            return Some(Rejection::OwnId(hello.id));
        }
        let settings = [
            ("algorithm", ours.algorithm.name(), theirs.algorithm.name()),
            ("quorum", ours.quorum.name(), theirs.quorum.name()),
            ("preempt", &ours.preempt, &theirs.preempt),
            ("rank", &ours.rank, &theirs.rank),
        ];
        let other = settings.into_iter().find(|(_, ours, theirs)| ours != theirs);
        other.map(|(key, ours, theirs)| differ(key, ours, theirs))
    }

    /// With a majority: two files that never changed, and do not name the same voters.
    fn lists_differ(&self, hello: &Hello) -> Option<Rejection> {
        if !self.needs_majority() || hello.list.version() != self.membership.version() {
            return None;
        }
        let (ours, theirs) = (self.membership.list().digest(), hello.list.digest());
        let named = |digest: u64| format!("the list {digest:016x}");
        (ours != theirs).then(|| differ("members", named(ours), named(theirs)))
    }

    /// The greatest epoch or round that this member knows.
    fn greatest_known(&self) -> u64 {
        self.epochs.round().max(self.view().epoch).max(self.membership.version().epoch).0
    }

    fn greatest_counter(&self) -> u64 {
        self.membership.version().counter.max(self.membership.newest().counter)
    }

    /// Why a number in a hello is impossible, if one is.
    fn jump_of_hello(&self, hello: &Hello) -> Option<Rejection> {
        let Version { epoch, counter } = hello.list.version();
        let known = self.greatest_known();
        let met = self.detector.get(hello.id).map(|peer| peer.proven().0.0).unwrap_or_default();
        beyond("round", hello.round.0, known, MOST)
            .or_else(|| beyond("epoch", hello.view.epoch.max(epoch).0, known, MOST))
            .or_else(|| beyond("list version", counter, self.greatest_counter(), MOST))
            .or_else(|| beyond("incarnation", hello.incarnation.0, met, MOST_STARTS))
    }

    /// Why this member must refuse a message, if it must.
    pub(super) fn objection_to(&self, from: NodeId, envelope: &Envelope) -> Option<Rejection> {
        let Told { epoch, list, task, pause, lease } = envelope.message.told().and(envelope.epoch);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        beyond("epoch", epoch.0, self.greatest_known(), MOST)
            .or_else(|| beyond("list version", list, self.greatest_counter(), MOST))
            .or_else(|| beyond("task version", task, self.records.task().version.counter, MOST))
            .or_else(|| {
                beyond("pause version", pause, self.membership.pause().version.counter, MOST)
            })
            .or_else(|| beyond("lease", nanos(lease), nanos(Timing::LONGEST), 0))
            .or_else(|| self.presumption(from, &envelope.message))
    }

    /// Why a member may not send this message, if it may not: only a candidate or a leader sends it.
    fn presumption(&self, by: NodeId, message: &Message) -> Option<Rejection> {
        let presumes = message.is_of_candidate_or_leader() && self.never_leads(by);
        let role = self.membership.list().get(by).filter(|_| presumes)?.role;
        Some(differ("role", role.name(), Role::Member.name()))
    }

    /// With a majority: whether a member came back without its state, and so without its votes. A start that kept the
    /// state counts one more than the one before.
    pub(super) fn state_lost(&self, hello: &Hello) -> Option<Rejection> {
        let (known, instance) = self.detector.get(hello.id)?.proven();
        let told = hello.incarnation;
        let again = told == known && instance.is_some_and(|known| known != hello.instance);
        let lost = self.needs_majority() && (told < known || again);
        lost.then_some(Rejection::StateLost { id: hello.id, known, told })
    }

    /// Whether another process with this id is connected and alive: heard within `failure`, or not suspected by the
    /// leader that this member follows, which hears all while it leads.
    pub(super) fn in_use(&self, peer: &Peer, hello: &Hello, now: Time) -> Option<Rejection> {
        let address = peer.lines.address()?;
        let same = peer.is_process(hello.incarnation, hello.instance);
        let failure = self.settings.timing.failure;
        let leader = self.leader().filter(|leader| leader.id != hello.id);
        let vouched = leader
            .and_then(|leader| self.detector.get(leader.id)?.declared())
            .is_some_and(|declared| peer.alive() && now.since(declared) < failure);
        let heard = peer.heard_within(failure, now) || vouched;
        let displaces = !heard || Fault::SecondDisplaces.is_planted();
        (!displaces && !same)
            .then(|| Rejection::IdInUse { id: hello.id, address: address.to_owned() })
    }
}
