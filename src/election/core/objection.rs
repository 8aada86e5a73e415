//! Why a member refuses a hello, or a message that has an impossible number or that its sender is not entitled to. A
//! hello is judged as a whole, before it changes anything.
//!
//! Epochs, rounds, versions and incarnations only grow, and a member that takes one that is too great keeps it for
//! ever, restarts included. So a member refuses a hello with such a number, and says why, and closes a connection on
//! which a message has one.

use std::time::Duration;

use super::content::Claims;
use super::detector::Peer;
use super::hello::{Agreement, Hello, Rejection};
use super::membership::{ListVersion, MemberList, own};
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

/// A rejection for a number that is too great. (X2)
fn beyond(key: &str, claimed: u64, known: u64, most: u64) -> Option<Rejection> {
    let limit = known.saturating_add(most);
    let is_beyond = claimed > limit && !Fault::FarAhead.is_planted();
    is_beyond.then(|| Rejection::Beyond { key: key.to_owned(), most: limit, told: claimed })
}

fn differ(key: &str, ours: impl ToString, theirs: impl ToString) -> Rejection {
    let (ours, theirs) = (ours.to_string(), theirs.to_string());
    Rejection::Disagreement { key: key.to_owned(), ours, theirs }
}

/// Why this member must refuse a hello, if it must. Nothing changes before that is decided. (C3)
pub fn objection(state: &State, hello: &Hello) -> Option<Rejection> {
    let stranger = || {
        let unknown = state.detector.get(hello.id).is_none() && !learns_of_stranger(state, hello);
        unknown.then(|| {
            let older =
                !hello.list.supersedes(state.membership.list()) && own::is_list_committed(state);
            // Without a majority a later leader gives its own list a new version, which may name the sender again.
            let later = !state.needs_majority()
                && hello.view.epoch > state.view().epoch
                && hello.view.leader.is_some_and(|leader| leader.id != hello.id);
            let removed = older && !later && state.membership.list().removed().contains(&hello.id);
            let removed = removed || has_removed_itself(state, hello);
            let reason = if removed { Rejection::Removed } else { Rejection::UnknownId };
            reason(hello.id)
        })
    };
    disagreement(state, hello)
        .or_else(|| jump_of_hello(state, hello))
        .or_else(stranger)
        .or_else(|| lists_differ(state, hello))
}

/// Without a majority: whether a stranger is let in, and its list taken first. It may have been added while this
/// member was away, and be the only member left that can say so. This member keeps its role once it was added; but an
/// older list may be the only one that knows of its removal.
///
/// With a majority a stranger's word never counts: it could name voters that do not exist. This member learns of
/// an added member from those that it knows. (M6)
pub fn learns_of_stranger(state: &State, hello: &Hello) -> bool {
    let list = &hello.list;
    let own = |list: &MemberList| list.get(state.id()).map(|member| member.role);
    let added = state.membership.version() > ListVersion::default();
    let same = !added
        || own(state.membership.list()).is_none()
        || own(list) == own(state.membership.list());
    let overruled = state.leads() && list.version().epoch <= state.view().epoch;
    let taken =
        list.supersedes(state.membership.list()) && !overruled && state.phase() != Phase::Stopping;
    let named = own(list).is_some() && list.get(hello.id).is_some();
    let believed = !state.needs_majority() || Fault::StrangersList.is_planted();
    believed && named && same && taken
}

/// Whether the sender is a leader that has removed itself, by the very list that this member has stored: it waits
/// only for that.
fn has_removed_itself(state: &State, hello: &Hello) -> bool {
    let same = hello.list.version() == state.membership.version();
    same && hello.list.get(hello.id).is_none() && own::list_record(state).is_none()
}

/// What keeps two members from talking, whichever they are.
pub fn disagreement(state: &State, hello: &Hello) -> Option<Rejection> {
    if let Err((ours, theirs)) = state.settings.protocols.shared(hello.protocols) {
        return Some(Rejection::Protocol { ours, theirs });
    }
    let (ours, theirs) = (Agreement::of(&state.settings), &hello.agreement);
    if ours.cluster != theirs.cluster {
        let (ours, theirs) = (ours.cluster.clone(), theirs.cluster.clone());
        return Some(Rejection::Cluster { ours, theirs });
    }
    if hello.to != state.id() {
        return Some(Rejection::WrongAddress { expected: hello.to, found: state.id() });
    }
    if hello.id == state.id() {
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
fn lists_differ(state: &State, hello: &Hello) -> Option<Rejection> {
    if !state.needs_majority() || hello.list.version() != state.membership.version() {
        return None;
    }
    let (ours, theirs) = (state.membership.list().digest(), hello.list.digest());
    let named = |digest: u64| format!("the list {digest:016x}");
    (ours != theirs).then(|| differ("members", named(ours), named(theirs)))
}

/// The greatest epoch or round that this member knows.
fn greatest_known(state: &State) -> u64 {
    state.epochs.round().max(state.view().epoch).max(state.membership.version().epoch).0
}

fn greatest_counter(state: &State) -> u64 {
    state.membership.version().counter.max(state.membership.newest().counter)
}

/// Why a number in a hello is impossible, if one is.
fn jump_of_hello(state: &State, hello: &Hello) -> Option<Rejection> {
    let Version { epoch, counter } = hello.list.version();
    let known = greatest_known(state);
    let met = state.detector.get(hello.id).map(|peer| peer.proven().0.0).unwrap_or_default();
    beyond("round", hello.round.0, known, MOST)
        .or_else(|| beyond("epoch", hello.view.epoch.max(epoch).0, known, MOST))
        .or_else(|| beyond("list version", counter, greatest_counter(state), MOST))
        .or_else(|| beyond("incarnation", hello.incarnation.0, met, MOST_STARTS))
}

/// Why this member must refuse a message, if it must.
pub fn objection_to(state: &State, from: NodeId, envelope: &Envelope) -> Option<Rejection> {
    let Claims { epoch, list, task, pause, lease } = envelope.message.claims().and(envelope.epoch);
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    beyond("epoch", epoch.0, greatest_known(state), MOST)
        .or_else(|| beyond("list version", list, greatest_counter(state), MOST))
        .or_else(|| beyond("task version", task, state.records.task().version.counter, MOST))
        .or_else(|| beyond("pause version", pause, state.membership.pause().version.counter, MOST))
        .or_else(|| beyond("lease", nanos(lease), nanos(Timing::LONGEST), 0))
        .or_else(|| wrong_role(state, from, &envelope.message))
}

/// Why a member may not send this message, if it may not: only a candidate or a leader sends it. (Q10)
fn wrong_role(state: &State, by: NodeId, message: &Message) -> Option<Rejection> {
    let is_wrong = message.is_of_candidate_or_leader() && state.never_leads(by);
    let role = state.membership.list().get(by).filter(|_| is_wrong)?.role;
    Some(differ("role", role.name(), Role::Member.name()))
}

/// With a majority: whether a member came back without its state, and so without its votes. A start that kept the
/// state counts one more than the one before. (C7)
pub fn state_lost(state: &State, hello: &Hello) -> Option<Rejection> {
    let (known, instance) = state.detector.get(hello.id)?.proven();
    let claimed = hello.incarnation;
    let again = claimed == known && instance.is_some_and(|known| known != hello.instance);
    let lost = state.needs_majority() && (claimed < known || again);
    lost.then_some(Rejection::StateLost { id: hello.id, known, told: claimed })
}

/// Whether another process with this id is connected and alive: heard within `failure`, or not suspected by the
/// leader that this member follows, which hears all while it leads. (C6)
pub fn in_use(state: &State, peer: &Peer, hello: &Hello, now: Time) -> Option<Rejection> {
    let address = peer.lines.address()?;
    let same = peer.is_process(hello.incarnation, hello.instance);
    let failure = state.settings.timing.failure;
    let leader = state.leader().filter(|leader| leader.id != hello.id);
    let vouched = leader
        .and_then(|leader| state.detector.get(leader.id)?.declared())
        .is_some_and(|declared| peer.alive() && now.since(declared) < failure);
    let heard = peer.heard_within(failure, now) || vouched;
    let displaces = !heard || Fault::SecondDisplaces.is_planted();
    (!displaces && !same).then(|| Rejection::IdInUse { id: hello.id, address: address.to_owned() })
}
