//! Announcements: this member judges what others say of the leader, and follows or overrules it.

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::message::{Message, View};
use crate::core::note::{Note, Split};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Rank};

impl Context<'_> {
    /// Tells a leader that another member leads in its epoch, as this incarnation or an earlier one knows. If this
    /// member was lied to, the leader asks for a greater epoch, in which this member follows it.
    fn tell_other_leader(&mut self, to: NodeId) {
        let View { epoch, leader } = self.state.view();
        match self.state.voter.led_in(epoch).filter(|_| leader.is_none()) {
            Some(id) => {
                let leader = Some(Rank { value: 0, id });
                self.send(to, Message::View(View { epoch, leader }));
            }
            None => self.send_view(to),
        }
    }

    /// Waits to follow a leader until its epoch is durable here.
    fn follow_once_durable(&mut self, view: View, leader: NodeId) {
        self.become_waiting(self.now, Reason::Storing(leader));
        self.state.timers.cancel(Timer::Coordinator);
        self.state.course.await_disk(view); // the record was ordered when the round was noted
        if !Fault::LeaderToStoreUnwatched.is_planted() {
            self.listen();
        }
    }
}

impl Turn<'_> {
    /// A leader announces itself with COORDINATOR or a heartbeat. Answers an outdated leader with the view known.
    /// Returns whether this member follows the sender afterwards.
    pub fn announced(&mut self, from: NodeId, epoch: Epoch, rank: Rank) -> bool {
        let rank = Rank { id: from, ..rank };
        let view = View { epoch, leader: Some(rank) };
        self.cx.state.detector.change(from, |peer| peer.set_eligible(true)); // a leader is eligible
        self.meet_leader(from, view);
        self.cx.note_round(epoch);
        if self.cx.state.phase() == Phase::Stopping {
            return false;
        }
        if self.cx.state.is_of_another(from, epoch) {
            self.cx.tell_other_leader(from);
            return false;
        }
        if self.cx.state.compare(view).is_lt() && !Fault::OlderCoordinator.is_planted() {
            self.cx.send_view(from);
            self.meet_at_same_epoch(from, epoch);
            return false;
        }
        if self.cx.state.course.storing().is_some_and(|later| view < later) {
            return false; // this member follows the later leader as soon as that epoch is durable
        }
        let state = &self.cx.state;
        let asks = state.course.takeover() == Some(view) && !state.is_paused();
        if asks && state.may_ask_for_release(rank, epoch) {
            self.cx.ask_for_release(epoch, from);
        } else {
            self.accept(view, rank);
        }
        self.cx.state.follows(from)
    }

    /// A peer replies to an older message. If the peer names no leader in the epoch in which this member leads, the
    /// peer led in that epoch too and gave it up.
    pub fn replied(&mut self, from: NodeId, view: View) {
        if view.leader.is_none() {
            self.meet_at_same_epoch(from, view.epoch);
        }
        self.told(from, view);
        self.algorithm.get().answered(&mut self.cx, from, view);
    }

    /// The followed leader is alive and does not speak as a leader: it stood still for too long, or started anew.
    pub fn leader_gave_up(&mut self, leader: NodeId) {
        self.cx.note_departure(leader);
        self.call(Reason::LeaderGaveUp(leader));
    }

    /// A hello, or the reply to an older message, names a leader. This member follows a leader only on that leader's
    /// own word: a leader says hello to all, and what third members know of it may be of an earlier incarnation.
    pub fn told(&mut self, from: NodeId, view: View) {
        let state = &self.cx.state;
        if view.leader.is_some_and(|leader| state.never_leads(leader.id)) {
            return; // the sender lies
        }
        let (own, known, order) = (state.id(), state.view().epoch, state.compare(view));
        let (leads, storing) = (state.leads(), state.course.storing());
        let leased = leads && state.needs_majority();
        let gave_up = state.follows(from) && view.epoch >= known;
        let second = view.leader.is_some_and(|leader| state.is_of_another(leader.id, view.epoch));
        let void = second || order.is_lt() || state.phase() == Phase::Stopping;
        match view.leader {
            Some(leader) if leader.id == from || order.is_gt() && !leased => {
                self.meet_leader(leader.id, view);
            }
            _ => _ = self.cx.state.detector.declares(from, self.cx.now),
        }
        self.cx.note_round(view.epoch);
        match view.leader {
            None if gave_up => self.leader_gave_up(from),
            // That member was lied to: it names another leader of this epoch, and would never follow this one.
            Some(_) if second && leased => self.outgrow(view.epoch.next()),
            _ if void => {}
            Some(leader) if leader.id == from => self.accept(view, leader),
            // While its lease runs, no later leader was elected: a third member is mistaken, or lies.
            _ if leased => self.outgrow(view.epoch),
            // The leader that this member is about to follow, or an earlier one, is no news.
            Some(_) if storing >= Some(view) => {}
            Some(leader) if leader.id != own && order.is_gt() => self.outdated(view, leader.id),
            // The leader of that epoch is gone, but the epoch remains.
            _ if leads && view.epoch > known => self.call(Reason::Overruled(from)),
            _ => {}
        }
    }

    /// A message of the algorithm names a leader: its sender, or another that the sender passed on. While this
    /// leader's lease runs, no later leader was elected.
    pub fn passed_on(&mut self, from: NodeId, view: View) {
        let state = &self.cx.state;
        match view.leader {
            Some(leader) if leader.id != from && state.leads() && state.needs_majority() => {
                self.outgrow(view.epoch);
            }
            Some(leader) => self.accept(view, leader),
            None => {}
        }
    }

    /// Takes a view of a live leader that is not older than the one known. A voter that voted in a later epoch may
    /// have forgotten the leader of that epoch, but not its vote.
    pub fn accept(&mut self, view: View, leader: Rank) {
        let state = &self.cx.state;
        let outdated =
            state.voter.is_beyond(view.epoch) || state.is_of_another(leader.id, view.epoch);
        // A leader that this member is storing it follows as soon as the epoch is durable.
        if state.never_leads(leader.id) || outdated || state.course.storing() == Some(view) {
            return;
        }
        // A member that is still discovering the others could not lead immediately: the cluster would have no leader
        // meanwhile.
        let at_once = state.preempts_at_once() && !state.is_discovering(self.cx.now);
        let higher = state.may_ask_for_release(leader, view.epoch)
            && state.exceeds_leader(leader, view.epoch);
        let asked = state.course.takeover() == Some(view);
        let known = state.leader() == Some(leader) && state.view() == view;
        match higher && at_once && self.cx.may_take_over() {
            true if asked => {}
            true if Fault::NoRelease.is_planted() => {
                self.cx.state.epochs.learn(view);
                self.call(Reason::TakingOver(leader.id));
            }
            true => self.cx.become_taking_over(view, leader.id, Reason::TakingOver(leader.id)),
            false if known => {}
            false => {
                if self.algorithm.get().may_follow(&mut self.cx, view, leader.id) {
                    self.follow(view, leader.id);
                }
            }
        }
    }

    /// "If P receives a Coordinator message, it treats the sender as the coordinator."
    fn follow(&mut self, view: View, leader: NodeId) {
        self.cx.note_who_leads_instead(leader);
        if self.cx.state.records.cover(view.epoch) {
            self.cx.give_up(None);
            self.cx.become_following(view, leader);
        } else if self.cx.state.course.storing() != Some(view) {
            self.cx.give_up(None);
            self.cx.follow_once_durable(view, leader);
        }
    }

    /// A record is durable, and with it perhaps the epoch of a leader that this member waits to follow.
    pub fn follow_stored(&mut self, view: View) {
        let alive = view.leader.filter(|leader| self.cx.state.detector.is_alive(leader.id));
        match alive {
            Some(leader) => self.follow(view, leader.id),
            None => self.call(Reason::AnswererLost),
        }
    }

    /// A greater epoch exists: the leader that this member was, or followed, is outdated. The new leader will
    /// announce itself. With a majority, a member without a leader continues what it does: if the new leader lives,
    /// its voters deny a candidate their votes; and if a third member lies, the lie stops nobody.
    fn outdated(&mut self, view: View, leader: NodeId) {
        // A leader whose epoch this member was storing is outdated as well.
        let settled = self.cx.state.course.storing().is_some() || self.cx.state.leader().is_some();
        if !settled && self.cx.state.needs_majority() {
            return;
        }
        self.cx.give_up(None);
        let leads = self.cx.state.leads();
        self.cx.state.epochs.learn(view);
        if settled {
            let reason = Reason::Overruled(leader);
            self.algorithm.get().await_leader(&mut self.cx, leader, reason);
        }
        if leads {
            self.cx.rest();
        }
    }

    /// Two leaders met in one epoch: the one that remains runs a new round.
    fn meet_at_same_epoch(&mut self, other: NodeId, epoch: Epoch) {
        if self.cx.state.leads_in(epoch) && !self.cx.state.needs_majority() {
            self.algorithm.get().start(&mut self.cx, Reason::SameEpoch(other));
        }
    }

    /// A peer says that it or another member leads. If this member leads too, there are two leaders, or were: the
    /// greater epoch began without a release; a smaller epoch continues, unless the message was sent before this
    /// leadership began. A member comes to lead beside a live leader only after `failure` of silence between the two,
    /// which is at most 2 * `message` shorter here.
    ///
    /// There are two since the later of both began: not before this leadership, and not before the last time when the
    /// other said that it follows. Only the other knows when exactly.
    pub fn meet_leader(&mut self, other: NodeId, view: View) {
        let (state, now) = (&mut *self.cx.state, self.cx.now);
        let last = state.detector.declares(other, now);
        let silence = state.settings.timing.stall();
        let fresh =
            state.compare(view).is_gt() || last.is_none_or(|last| now.since(last) >= silence);
        if state.leads() && fresh {
            let began = state.course.since().max(last.unwrap_or_default());
            let (theirs, own) = (view.epoch, state.view().epoch);
            let lasted = now.since(began) + state.settings.timing.message;
            let split = Split { other, theirs, own, met: now, lasted };
            state.endings.met(split);
            self.cx.out.push(Output::Note(Note::Split(split)));
        }
    }
}
