//! The leader's heartbeats and their acknowledgements: the lease that they renew, and the silence that makes suspects.
//!
//! With a majority a leader leads for as long as enough voters are bound by what they promised. A voter promises its vote
//! when it takes a heartbeat, and the leader counts from when it sent that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::context::Context;
use super::durable::Then;
use super::message::{Liveness, MemberReport, Message, Opinion};
use super::phase::{Phase, Reason};
use super::planted::Fault;
use super::settings::Preempt;
use super::state::State;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{Epoch, Incarnation, NodeId, Pause, Rank, Time};

impl State {
    /// Until when a leader may lead, if it needs a majority.
    pub(super) fn lease_until(&self) -> Option<Time> {
        if !self.needs_majority() || !self.leads() {
            return None;
        }
        // A leader without a lease stops leading: no leader is better than a second one.
        Some(self.timers.due(Timer::Lease).unwrap_or_default())
    }
}

impl Context<'_> {
    /// Notes that the leader sent a heartbeat round, with which it renews its own promise too.
    fn hold_by_own_heartbeat(&mut self, number: u64) {
        let (own, now, epoch) = (self.state.id(), self.now, self.state.view().epoch);
        let (length, votes) = (self.state.settings.timing.lease, self.state.is_voter(own));
        let Some(lease) = self.state.course.lease_mut() else { return };
        lease.sent(number, now, length);
        // This leader may have removed itself, or may not have been a voter when it was elected and have voted for
        // another candidate since.
        if !votes || !self.state.voter.promise(now, own, epoch, length) {
            return;
        }
        if self.state.voter.remembers(length) || Fault::OwnPromiseUnstored.is_planted() {
            return self.prolong(own, number);
        }
        // A reload made the lease longer than any record says.
        let (incarnation, rank) = (self.state.records.incarnation(), self.state.rank());
        let eligible = self.state.is_eligible();
        let acknowledge =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause: None };
        self.tell_once_promise_is_durable(length, own, acknowledge);
    }

    /// A voter takes a leader's heartbeat: it promises its vote, and acknowledges as soon as a promise of that length
    /// is durable; or it denies an outdated leader its vote.
    fn promise(
        &mut self,
        leader: NodeId,
        (epoch, number): (Epoch, u64),
        lease: Duration,
        acknowledge: Message,
    ) {
        if !self.state.needs_majority() {
            return self.send(leader, acknowledge);
        }
        // A member that is no voter by its own list promises as well: that list may be an older one.
        if !self.may_promise(lease) {
            return;
        }
        self.state.voter.inform(self.state.epochs.round());
        if !self.state.voter.promise(self.now, leader, epoch, lease) {
            return self.deny_vote(leader, number, Opinion::No { wait: Duration::ZERO });
        }
        if self.state.voter.remembers(lease) || Fault::PromiseTooSoon.is_planted() {
            return self.send(leader, acknowledge);
        }
        self.tell_once_promise_is_durable(lease, leader, acknowledge);
    }

    /// Has a promise of this length written, unless a write is in progress, and sends this message afterwards. A
    /// promise longer than the record in progress says waits for the leader's next heartbeat.
    fn tell_once_promise_is_durable(&mut self, lease: Duration, to: NodeId, message: Message) {
        let promises = |then: &Then| matches!(then, Then::Promise(longest) if *longest >= lease);
        if self.state.records.awaited_by(promises).is_none() {
            self.persist();
        }
        if let Some(record) = self.state.records.awaited_by(promises) {
            self.state.records.then(record, Then::Tell(to, message));
        }
    }

    /// Notes the eligible members, from one heartbeat round to the next.
    fn observe_eligibility(&mut self) {
        let Preempt::After(after) = self.state.settings.preempt else { return };
        let (eligible, incarnation) = (self.state.is_eligible(), self.state.records.incarnation());
        self.state.eligibility.observe(eligible, incarnation, after, self.now);
        self.state.detector.observe_eligibility(after, self.now);
    }
}

impl Turn<'_> {
    /// One heartbeat round: a sign of life to every member that is not proved dead.
    pub fn beat(&mut self) {
        self.hand_over_if_unfit();
        self.hand_over_if_cleared();
        self.look_after_switchover();
        if !self.cx.state.leads() {
            return;
        }
        let now = self.cx.now;
        let state = &mut self.cx.state;
        let number = state.course.beat(now);
        let interval = state.settings.timing.heartbeat;
        self.cx.arm(Timer::Heartbeat, interval);
        self.cx.observe_eligibility();
        self.cx.hold_by_own_heartbeat(number);
        self.beat_to(self.cx.all_others());
        self.cx.repeat_list();
    }

    /// Tells these members that this one leads, with its reports on all.
    pub fn beat_to(&mut self, to: Vec<NodeId>) {
        let state = &mut self.cx.state;
        let own = MemberReport {
            id: state.id(),
            incarnation: state.records.incarnation(),
            status: Liveness::Alive,
            eligible: state.is_eligible(),
            value: state.present_rank().value,
        };
        let members = state.detector.reports(own);
        let heartbeat = Message::Heartbeat {
            epoch: state.view().epoch,
            number: state.course.round(),
            rank: state.rank(),
            lease: state.settings.timing.lease,
            settled: state.membership.committed(),
            members,
            pause: state.pause_to_tell(),
            chosen: state.chosen(),
        };
        self.cx.mark_told(&to);
        self.cx.send_all(to, heartbeat);
    }

    /// A heartbeat is judged like a COORDINATOR. This member acknowledges that of its own leader, and takes its
    /// reports on the other members.
    pub fn heartbeat(
        &mut self,
        (from, incarnation): (NodeId, Incarnation),
        epoch: Epoch,
        number: u64,
        rank: Rank,
        lease: Duration,
        (members, pause, chosen): (&Arc<[MemberReport]>, Option<Pause>, Option<NodeId>),
    ) {
        self.cx.hear_pause(pause); // before this member judges whether it takes over
        if let Some(own) = members.iter().find(|report| report.id == from) {
            self.cx.state.detector.change(from, |peer| peer.says_present_rank(epoch, own.value));
        }
        let followed = self.announced(from, epoch, rank);
        if followed {
            self.cx.state.course.hear_heartbeat(self.cx.now);
            self.cx.hear_choice(chosen);
        }
        let (own, eligible) = (self.cx.state.rank(), self.cx.state.is_eligible());
        // A member that waits for its disk before it follows is alive as well, and says so.
        let state = &self.cx.state;
        let own_epoch = state.view().epoch == epoch && !state.is_of_another(from, epoch);
        let heeded = own_epoch || state.is_bound_to(from);
        // The epoch is above this member's view, but below one that it voted in: it denies that outdated leader.
        let refused = state.view().epoch < epoch && state.voter.is_beyond(epoch);
        if heeded || refused {
            let pause = self.cx.state.pause_to_tell_back(pause);
            let acknowledge =
                Message::Acknowledge { incarnation, epoch, number, rank: own, eligible, pause };
            self.cx.promise(from, (epoch, number), lease, acknowledge);
        }
        if followed {
            self.cx.tell_if_behind(from);
            let news = self.cx.state.detector.news(members);
            for mut report in news {
                if report.id == from {
                    report.status = Liveness::Alive; // it speaks, and its followers watch it themselves
                }
                self.forget_earlier_run(&report);
                if self.cx.state.detector.hearsay(epoch, &report) {
                    self.cx.note_reported_departure(report.id);
                    self.algorithm.get().lost(&mut self.cx, report.id);
                }
            }
            // With the halting algorithm a member is followed a moment before it leads.
            self.cx.state.outbox.commands.retry();
            self.cx.observe_eligibility();
            self.cx.request_handover_if_due();
        }
    }

    /// A member acknowledged a heartbeat; that it was heard is noted already.
    pub fn acknowledged(
        &mut self,
        from: NodeId,
        (incarnation, epoch, number): (Incarnation, Epoch, u64),
        rank: Rank,
        eligible: bool,
    ) {
        let own = incarnation == self.cx.state.records.incarnation();
        if own && self.cx.state.leads_in(epoch) {
            let (detector, told) = (&mut self.cx.state.detector, Rank { id: from, ..rank });
            detector.declares(from, self.cx.now);
            detector.change(from, |peer| peer.says_rank(told, eligible));
            self.cx.prolong(from, number);
            self.hear_of_chosen(from, rank, eligible);
        }
    }

    /// A leader whose lease has expired stops leading: enough voters may be free to vote for another.
    pub fn end_lease(&mut self) {
        if self.cx.state.lease_until().is_some_and(|until| until <= self.cx.now) {
            let (epoch, since) = (self.cx.state.view().epoch, self.cx.state.course.since());
            let renewed = self.cx.now.since(since) >= self.cx.state.settings.timing.lease;
            self.cx.give_up(None);
            if renewed {
                self.call(Reason::LeaseEnded);
            } else {
                self.led_in_vain();
            }
            self.cx.say_released(epoch, None);
        }
    }

    /// Suspects the watched members that have been silent for `failure`: the leader watches all, all watch the leader
    /// (in an election the last one), and the algorithm may watch another. A member that stores an epoch before it
    /// follows its leader watches that leader: its own disk may never write.
    pub fn look_for_silence(&mut self) {
        let state = &self.cx.state;
        let failure = state.settings.timing.failure;
        let leads = state.leads();
        let (heeded, last) =
            (state.course.expects_heartbeat(), state.view().leader.map(|leader| leader.id));
        // Silence counts from when this member needs to hear the peer.
        let counts_anew = leads || state.phase() == Phase::Following;
        let since = if counts_anew { state.course.since() } else { Time::default() };
        let mut watched: BTreeMap<NodeId, Time> = match leads {
            true => state.detector.iter().map(|peer| (peer.id(), since)).collect(),
            false => last.filter(|_| heeded).map(|id| (id, since)).into_iter().collect(),
        };
        if let Some((id, since)) = state.course.watched() {
            watched.entry(id).or_insert(since); // the silence of the last leader counts from before
        }
        watched.extend(state.leader_to_store().map(|leader| (leader, state.course.since())));
        watched.values_mut().for_each(|since| *since = (*since).max(state.course.retimed()));
        let (silent, again) = state.detector.silent(watched, failure, self.cx.now);
        if let Some(due) = again.or(leads.then_some(self.cx.now + failure)) {
            self.cx.state.timers.arm(Timer::Silence, due);
        }
        for id in silent {
            if !self.is_in_doubt(id) {
                self.lose(id, Liveness::Suspected, Reason::LeaderSuspected(id));
            }
        }
        self.look_for_leader_that_gave_up();
    }

    /// Whether the silence of the member that the algorithm watches proves nothing yet: it is dialed anew.
    fn is_in_doubt(&mut self, id: NodeId) -> bool {
        let watched = self.cx.state.course.watched().filter(|(watched, _)| *watched == id);
        watched.is_some_and(|(_, since)| {
            self.cx.dials_anew(Timer::Silence, &BTreeSet::from([id]), since)
        })
    }

    /// A leader that speaks and sends no heartbeat for `failure` does not lead any more, and its word about that was
    /// lost, or never sent.
    fn look_for_leader_that_gave_up(&mut self) {
        let state = &self.cx.state;
        let (Some(heartbeat), Some(leader)) =
            (state.course.last_heartbeat(), state.view().leader.map(|leader| leader.id))
        else {
            return;
        };
        let failure = state.settings.timing.failure;
        let patience = state.detector.get(leader).map_or(failure, |peer| peer.silence(failure));
        let due = heartbeat.max(state.course.retimed()) + patience;
        if due <= self.cx.now {
            self.leader_gave_up(leader);
        } else {
            self.cx.listen_until(due);
        }
    }
}
