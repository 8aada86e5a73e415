//! The leader's heartbeats, their acknowledgements, and the silence that makes suspects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::message::{Liveness, MemberReport, Message};
use super::phase::{Phase, Reason};
use super::timer::Timer;
use super::turn::Turn;
use super::types::{Epoch, Incarnation, NodeId, Pause, Rank, Time};

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
        let others = self.cx.all_others();
        self.beat_to(others);
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
            settled: state.committed_list(),
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
        self.cx.hear_present_rank(from, epoch, members);
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
            self.declares(from);
            let told = Rank { id: from, ..rank };
            self.cx.state.detector.change(from, |peer| peer.says_rank(told, eligible));
            self.prolong(from, number);
            self.hear_of_chosen(from, rank, eligible);
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
        watched.extend(state.course.watched());
        watched.extend(state.leader_to_store().map(|leader| (leader, state.course.since())));
        watched.values_mut().for_each(|since| *since = (*since).max(state.course.retimed()));
        let (silent, again) = state.detector.silent(watched, failure, self.cx.now);
        if let Some(due) = again.or(leads.then_some(self.cx.now + failure)) {
            self.cx.state.timers.arm(Timer::Silence, due);
        }
        for id in silent {
            self.lose(id, Liveness::Suspected, Reason::LeaderSuspected(id));
        }
        self.look_for_leader_that_gave_up();
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
            self.cx.note_departure(leader);
            self.call(Reason::LeaderGaveUp(leader));
        } else {
            self.cx.listen_until(due);
        }
    }
}
