//! A member's knowledge, whatever the algorithm.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds;
use super::course::Course;
use super::departures::Departures;
use super::detector::{Detector, Peer};
use super::durable::{Durable, Records, Vote, VoterRecord};
use super::eligibility::Eligibility;
use super::epochs::Epochs;
use super::leadership::candidacy::Candidacy;
use super::leadership::endings::LeadershipEndings;
use super::leadership::voter::Voter;
use super::membership::known::Membership;
use super::message::View;
use super::outbox::Outbox;
use super::phase::Phase;
use super::planted::Fault;
use super::restart::Restored;
use super::settings::{PowerOn, Preempt, Quorum, Settings};
use super::timer::TimerTable;
use super::types::{Epoch, NodeId, Rank, Role, Time};

/// All that a member knows, but for the state of its election algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    pub(super) settings: Arc<Settings>,
    /// The member list, who has stored it, and whether the cluster is paused.
    pub(super) membership: Membership,
    /// The phase, and the state that belongs to it.
    pub(super) course: Course,
    /// The epochs and rounds that it knows.
    pub(super) epochs: Epochs,
    pub(super) detector: Detector,
    pub(super) departures: Departures,
    pub(super) timers: TimerTable,
    pub(super) records: Records,
    pub(super) outbox: Outbox,
    /// The votes and promises of this member.
    pub(super) voter: Voter,
    /// The state of the candidacy of this member.
    pub(super) candidacy: Candidacy,
    /// How leaderships ended, and the job that ends before this member's leadership does.
    pub(super) endings: LeadershipEndings,
    /// Whether it wants to lead, and its rank.
    pub(super) eligibility: Eligibility,
}

impl State {
    /// A member that starts now. The contents of its last record go to the machines that own them.
    pub(super) fn new(now: Time, settings: Settings, restored: Restored, seed: u64) -> State {
        let started = restored.started(now);
        let Restored { incarnation, record, floor, vote } = restored;
        let Durable { epoch, reserved, leader, members, task, met, drain, pause, .. } = record;
        let led = leader.map(|candidate| Vote { epoch, candidate });
        let mut detector = Detector::new(&members, settings.id);
        detector.remember(&met);
        let floor = floor.max(epoch);
        let round = if Fault::NoReserve.is_planted() { epoch } else { floor };
        let discovers = settings.power_on == PowerOn::Elect && !Fault::NoPowerOn.is_planted();
        let mut state = State {
            course: Course::new(now, if discovers { now + settings.timing.failure } else { now }),
            epochs: Epochs::new(epoch, round, floor),
            membership: Membership::new(settings.id, members, pause),
            detector,
            departures: Departures::default(),
            timers: TimerTable::new(seed),
            records: Records::new(incarnation, reserved, task).after(started),
            outbox: Outbox::new(incarnation),
            voter: Voter::new(now, vote, led, settings.timing.lease),
            candidacy: Candidacy::default(),
            endings: LeadershipEndings::default(),
            eligibility: Eligibility::new(settings.value, settings.health.is_none(), drain),
            settings: Arc::new(settings),
        };
        if state.settings.bootstrap || state.voters() == 1 {
            state.voter.inform(round); // or no other member could inform it
        } else if vote.is_none() {
            // An empty store may be a lost one, and with it a promise was lost.
            state.voter.mute(now + state.settings.timing.lease);
        }
        state
    }

    /// The record of all that a restart must find again, with this reserve of epochs.
    pub(super) fn record(&self, reserved: Epoch, now: Time) -> Durable {
        let View { epoch, leader } = self.view();
        let before = self.voter.led_in(epoch); // an earlier incarnation knew the leader, this one has not heard of it
        let majority = self.needs_majority();
        let behind = self.phase() != Phase::Stopping || self.voter.waits_after_crash(now);
        Durable {
            epoch,
            reserved,
            leader: leader.map(|leader| leader.id).or(before),
            members: self.membership.to_store(majority).clone(),
            task: self.records.task().clone(),
            vote: majority.then(|| VoterRecord { behind, ..self.voter.vote() }.known_to(epoch)),
            removed: self.membership.has_left(),
            met: self.detector.met().filter(|_| majority).collect(),
            drain: self.eligibility.drain().cloned(),
            pause: *self.membership.pause(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.course.phase()
    }

    /// The greatest epoch known and its leader, which may be gone.
    pub(super) fn view(&self) -> View {
        self.epochs.view()
    }

    /// Compares a reported view with the one known. Only a leader knows its rank: two views of one epoch that name
    /// the same leader are equal. (Q11)
    pub(super) fn compare(&self, view: View) -> Ordering {
        let known = self.view();
        let id = |view: View| view.leader.map(|leader| leader.id);
        if (view.epoch, id(view)) == (known.epoch, id(known)) {
            Ordering::Equal
        } else {
            view.cmp(&known)
        }
    }

    pub(super) fn id(&self) -> NodeId {
        self.settings.id
    }

    pub(super) fn rank(&self) -> Rank {
        Rank { value: self.eligibility.value().unwrap_or(Rank::NO_VALUE), id: self.settings.id }
    }

    /// This member's present rank; the [`State::rank`] of a leader is the one that it was elected with. (H2)
    pub(super) fn present_rank(&self) -> Rank {
        if !self.leads() || Fault::RankKept.is_planted() {
            return self.rank();
        }
        Rank { value: self.eligibility.present().unwrap_or(Rank::NO_VALUE), ..self.rank() }
    }

    /// The present rank of the leader of this epoch, as that leader last said; otherwise the rank given.
    fn present_rank_of(&self, leader: Rank, epoch: Epoch) -> Rank {
        let said = self.detector.get(leader.id).and_then(|peer| peer.leads_with());
        match said.filter(|(of, _)| *of == epoch) {
            Some((_, value)) => Rank { value, ..leader },
            None => leader,
        }
    }

    /// Whether this member may be nominated.
    pub(super) fn is_eligible(&self) -> bool {
        self.membership.role() == Some(Role::Member)
            && self.eligibility.is_willing()
            && !self.candidacy.is_out_of_reach()
            && self.phase() != Phase::Stopping
            && !self.is_behind()
    }

    /// Whether a live member has a newer list, which this member must have before it may be nominated. A leader
    /// instead gives its own list a newer version.
    pub(super) fn is_behind(&self) -> bool {
        let version = self.membership.version();
        let reached = |peer: &Peer| peer.lines.is_up() && self.is_voter(peer.id());
        let counts = |peer: &Peer| reached(peer) || !self.needs_majority();
        let newer = |peer: &Peer| peer.alive() && peer.list() > version && counts(peer);
        self.membership.newest() > version && !self.leads() && self.detector.iter().any(newer)
    }

    /// The leader that this member names: none until an election has ended. (I3)
    pub(super) fn leader(&self) -> Option<Rank> {
        self.view().leader.filter(|_| self.phase().has_leader())
    }

    pub(super) fn leads(&self) -> bool {
        self.phase() == Phase::Leading
    }

    /// Whether this member leads in this epoch.
    pub(super) fn leads_in(&self, epoch: Epoch) -> bool {
        self.leads() && self.view().epoch == epoch
    }

    /// Whether this member names that peer as its leader.
    pub(super) fn follows(&self, id: NodeId) -> bool {
        self.phase() == Phase::Following && self.view().leader.is_some_and(|leader| leader.id == id)
    }

    /// Whether this member is about to follow, or to succeed, that leader: it waits until the leader's epoch is
    /// durable, or has asked for its release.
    pub(super) fn is_bound_to(&self, id: NodeId) -> bool {
        let asked = self.course.takeover().and_then(|view| view.leader).map(|leader| leader.id);
        asked.or(self.leader_to_store()) == Some(id)
    }

    /// The leader that this member follows as soon as its epoch is durable.
    pub(super) fn leader_to_store(&self) -> Option<NodeId> {
        self.course.storing().and_then(|view| view.leader).map(|leader| leader.id)
    }

    /// Whether this member is about to follow or to succeed any leader, or has a parked nomination.
    pub(super) fn is_bound(&self) -> bool {
        self.course.takeover().is_some()
            || self.course.storing().is_some()
            || self.candidacy.is_parked()
    }

    /// Whether a member with this rank and eligibility comes before this one in elections. (A1) Whoever comes and goes
    /// comes after whoever does not, and both judge so. (S5)
    pub(super) fn is_above(&self, rank: Rank, eligible: bool) -> bool {
        let is_steady = |id: NodeId| !self.comes_and_goes(id);
        let above = || (is_steady(rank.id), rank) > (is_steady(self.id()), self.present_rank());
        eligible && if self.is_eligible() { above() } else { is_steady(rank.id) }
    }

    /// Whether this rank is above that of this member, unless this one may not lead.
    pub(super) fn is_outranked_by(&self, rank: Rank) -> bool {
        !self.is_eligible() || rank > self.present_rank()
    }

    /// The same of a peer, as it last said.
    pub(super) fn is_peer_above(&self, peer: &Peer) -> bool {
        self.is_above(peer.rank(), peer.is_eligible())
    }

    /// Whether a peer may rank above this member. If ranks change, the last rank heard says nothing, nor does the
    /// eligibility.
    pub(super) fn may_be_above(&self, peer: &Peer) -> bool {
        self.settings.rank.changes() || self.is_peer_above(peer)
    }

    /// Whether others may not know that this member is eligible again, or how it ranks. Those that follow it know.
    pub(super) fn eligibility_unannounced(&self) -> bool {
        (self.eligibility.was_ineligible() || self.eligibility.ranks_first()) && self.is_eligible()
    }

    /// The reachable, unsuspected members that may rank above this one.
    pub(super) fn higher(&self) -> impl DoubleEndedIterator<Item = &Peer> {
        self.detector.iter().filter(|peer| peer.counts() && self.may_be_above(peer))
    }

    /// A live leader that ranks below this member: it has to hand over before this member may start an election.
    pub(super) fn lower_leader(&self) -> Option<Rank> {
        self.leader().filter(|leader| self.may_ask_for_release(*leader, self.view().epoch))
    }

    /// The same, if this member exceeds the leader's rank by more than the margin: then it preempts the leader,
    /// unless `preempt` or a pause forbids that. (H2)
    pub(super) fn leader_to_preempt(&self) -> Option<Rank> {
        self.lower_leader().filter(|leader| self.exceeds_leader(*leader, self.view().epoch))
    }

    /// Whether this member exceeds this rank by more than the margin.
    pub(super) fn exceeds(&self, rank: Rank) -> bool {
        self.settings.margin.is_exceeded(self.rank(), rank)
    }

    /// Whether this member exceeds the present rank of the leader of this epoch by more than the margin.
    pub(super) fn exceeds_leader(&self, leader: Rank, epoch: Epoch) -> bool {
        self.exceeds(self.present_rank_of(leader, epoch))
    }

    /// Whether this member ranks above that leader, and can reach it. A member follows an unreachable leader that it
    /// hears: that leader would never hand over, and would be overruled again and again. (D7)
    pub(super) fn may_ask_for_release(&self, leader: Rank, epoch: Epoch) -> bool {
        let hears = self.detector.counts(leader.id);
        self.present_rank_of(leader, epoch) < self.rank() && self.is_eligible() && hears
    }

    /// Whether this member backs off, as it was overruled more than once because of a third member's report, and has
    /// waited for the other leader for a while. A member that asks it to lead then has no leader; earlier, that member
    /// may only not have heard of the other leader yet.
    pub(super) fn has_backed_off(&self, now: Time) -> bool {
        let long = self.course.since() + self.settings.timing.failure * 4 <= now;
        self.phase() == Phase::Waiting && long && self.candidacy.backs_off(now) && !self.is_bound()
    }

    /// Whether an election is in progress, or its outcome awaited.
    pub(super) fn elects(&self) -> bool {
        self.phase().elects()
    }

    /// Whether this member is still discovering the others, or was refused its id. An election now could produce a
    /// second leader in the same round: a member that it has not met may win that round too. (C2)
    pub(super) fn is_discovering(&self, now: Time) -> bool {
        now < self.course.discovery_ends() && (!self.detector.all_connected() || self.is_behind())
    }

    /// The others that could lead instead of this member.
    pub(super) fn eligible(&self) -> impl DoubleEndedIterator<Item = &Peer> {
        let drained = |peer: &Peer| self.course.is_drained(peer.id()); // it has yet to say so
        let may_lead = move |peer: &&Peer| {
            peer.is_eligible() && !self.never_leads(peer.id()) && !drained(peer)
        };
        self.detector.iter().filter(|peer| peer.counts()).filter(may_lead)
    }

    /// Whether this other member could lead instead of this one.
    pub(super) fn could_lead(&self, id: NodeId) -> bool {
        self.eligible().any(|peer| peer.id() == id)
    }

    /// The best of the others that could lead instead of this member.
    pub(super) fn best_other(&self) -> Option<NodeId> {
        let best =
            self.eligible().max_by_key(|peer| (!self.comes_and_goes(peer.id()), peer.rank()));
        best.map(|peer| peer.id())
    }

    /// Whether a member, perhaps this one, comes and goes beside a steady majority. Where no majority is steady, most
    /// members were restarted, or this member itself is cut off or too slow to hear the others: then all count alike, as
    /// members that pass each other over would split the votes. (S5)
    pub(super) fn comes_and_goes(&self, member: NodeId) -> bool {
        self.departures.is_unsteady(member) && self.is_majority_steady()
    }

    /// Whether a majority of the voters is alive and does not come and go.
    fn is_majority_steady(&self) -> bool {
        let alive = |id: &NodeId| *id == self.id() || self.detector.counts(*id);
        let voters = self.membership.list().voters().filter(alive);
        voters.filter(|id| !self.departures.is_unsteady(*id)).count() >= self.majority()
    }

    /// Whether a leader needs a majority.
    pub(super) fn needs_majority(&self) -> bool {
        self.settings.quorum == Quorum::Majority
    }

    pub(super) fn voters(&self) -> usize {
        self.membership.list().voters().count()
    }

    pub(super) fn majority(&self) -> usize {
        self.membership.list().majority()
    }

    pub(super) fn is_voter(&self, id: NodeId) -> bool {
        self.membership.list().is_voter(id)
    }

    /// Whether another member than this one is known to lead in this epoch: with a majority no epoch has two leaders,
    /// whatever a peer says. (Q8)
    pub(super) fn is_of_another(&self, leader: NodeId, epoch: Epoch) -> bool {
        let known = self.view().leader.filter(|_| self.view().epoch == epoch);
        let known = known.map(|known| known.id).or(self.voter.led_in(epoch)); // by an earlier incarnation
        let other = known.is_some_and(|known| known != leader);
        self.needs_majority() && other && !Fault::SecondLeader.is_planted()
    }

    /// Whether a higher member takes over without following first. With a majority it follows first, and asks the
    /// voters whether they would vote for it.
    pub(super) fn preempts_at_once(&self) -> bool {
        self.preempt() == Preempt::Always && !self.needs_majority()
    }

    /// Whether a live member preempts this leader immediately. (Without a margin, a member that was never met may.)
    pub(super) fn may_be_preempted_at_once(&self) -> bool {
        let (margin, own) = (self.settings.margin, self.present_rank());
        let exceeds = |peer: &Peer| {
            peer.counts() && peer.is_eligible() && margin.is_exceeded(peer.rank(), own)
        };
        let any = || self.detector.iter().any(exceeds);
        self.preempts_at_once() && (margin.is_none() || any())
    }

    /// The time within which a vote has to be durable: then the lease that it gives is over.
    pub(super) fn longest_vote(&self) -> Duration {
        bounds::certain(self.settings.timing.lease)
    }

    /// Whether this member promised its vote to the leader that it follows.
    pub(super) fn is_promised(&self, now: Time) -> bool {
        let bound = self.voter.bound_to(now);
        self.needs_majority() && bound.is_some_and(|leader| self.follows(leader))
    }

    /// With a majority: whether a member is never a candidate or a leader, by this member's list. An id keeps its
    /// role for life.
    pub(in crate::core) fn never_leads(&self, id: NodeId) -> bool {
        let listed = || self.membership.list().get(id);
        self.needs_majority() && listed().is_some_and(|member| !member.may_lead())
    }

    /// Whether a higher member takes over by now: not while the cluster is paused, and not if this member is chosen:
    /// the leader hands over to that by itself. (H3)
    pub(in crate::core) fn preempt(&self) -> Preempt {
        let waits = self.is_paused() || self.eligibility.is_chosen();
        if waits { Preempt::Never } else { self.settings.preempt }
    }

    /// Whether the cluster is paused, as far as this member knows.
    pub(in crate::core) fn is_paused(&self) -> bool {
        self.membership.pause().paused && !Fault::PauseUnheeded.is_planted()
    }
}
