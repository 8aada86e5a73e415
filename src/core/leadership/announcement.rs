//! Announcements: what others say of the leader is judged here, and a leader followed or overruled.

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::message::{Message, View};
use crate::core::note::Note;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::split::Split;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Rank, Time};

impl Context<'_> {
    /// Tells a leader that another leads in its epoch, as this member knows it or its earlier run did. If somebody lied to
    /// this member, the leader asks for a greater epoch, in which this member follows it.
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
        self.state.course.await_disk(view); // its record was ordered when the round was noted
        if !Fault::LeaderToStoreUnwatched.is_planted() {
            self.listen();
        }
    }
}

impl Turn<'_> {
    /// A leader announces itself: COORDINATOR or heartbeat. Answers an older one with what is
    /// known. Tells whether the sender is now this member's leader.
    pub fn announced(&mut self, from: NodeId, epoch: Epoch, rank: Rank) -> bool {
        let rank = Rank { id: from, ..rank };
        let view = View { epoch, leader: Some(rank) };
        self.cx.state.detector.change(from, |peer| peer.set_eligible(true)); // who leads, is
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
            return false; // the later one is followed as soon as it is durable
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

    /// The reply to something older. One without a leader, in the very epoch in which this member
    /// leads, comes from another that led in it and gave it up.
    pub fn replied(&mut self, from: NodeId, view: View) {
        if view.leader.is_none() {
            self.meet_at_same_epoch(from, view.epoch);
        }
        self.told(from, view);
        self.algorithm.get().answered(&mut self.cx, from, view);
    }

    /// A hello, or the reply to something older, tells of a leader. Only the leader itself is
    /// followed on its word: it says hello to all, and what third members know of it may be of
    /// an earlier run.
    pub fn told(&mut self, from: NodeId, view: View) {
        let state = &self.cx.state;
        if view.leader.is_some_and(|leader| state.never_leads(leader.id)) {
            return; // somebody lies
        }
        let news = state.compare(view).is_gt() && !(state.leads() && state.needs_majority());
        match view.leader {
            Some(leader) if leader.id == from || news => {
                self.meet_leader(leader.id, view);
            }
            _ => _ = self.declares(from),
        }
        self.cx.note_round(view.epoch);
        let state = &self.cx.state;
        if view.leader.is_none() && state.follows(from) && view.epoch >= state.view().epoch {
            self.call(Reason::LeaderGaveUp(from)); // what it says is no sign of a leader
            return;
        }
        let second = view.leader.is_some_and(|leader| state.is_of_another(leader.id, view.epoch));
        if second && state.leads() && state.needs_majority() {
            // Somebody lied to that member: it names another leader of this epoch, and would never follow this one.
            self.outgrow(view.epoch.next());
            return;
        }
        if state.compare(view).is_lt() || second || state.phase() == Phase::Stopping {
            return;
        }
        match view.leader {
            Some(leader) if leader.id == from => self.accept(view, leader),
            // As long as its lease runs, no later leader was elected: a third member is mistaken, or lies.
            _ if state.leads() && state.needs_majority() => self.outgrow(view.epoch),
            // The leader that this member is about to follow, or an earlier one, is no news.
            Some(_) if state.course.storing() >= Some(view) => {}
            Some(leader) if leader.id != state.id() && state.compare(view).is_gt() => {
                self.outdated(view, leader.id);
            }
            _ if state.phase() == Phase::Leading && view.epoch > state.view().epoch => {
                self.call(Reason::Overruled(from)); // its leader is gone, its epoch is not
            }
            _ => {}
        }
    }

    /// A message of the algorithm tells of a leader: its own word, or passed on by another member. As long as its lease
    /// runs, no later leader was elected.
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

    /// Takes a view that is not older than the own one, of a leader that is alive. A voter that voted
    /// in a later epoch may have forgotten that it named its leader, but not that.
    pub fn accept(&mut self, view: View, leader: Rank) {
        let state = &self.cx.state;
        if state.never_leads(leader.id) {
            return;
        }
        if state.voter.is_beyond(view.epoch) || state.is_of_another(leader.id, view.epoch) {
            return;
        }
        // A member that is still discovering the others could not lead at once: there would be no leader meanwhile.
        let at_once = state.preempts_at_once() && !state.is_discovering(self.cx.now);
        let lower = state.may_ask_for_release(leader, view.epoch);
        let higher = lower && state.exceeds_leader(leader, view.epoch);
        let takes_over = higher && at_once && self.cx.may_take_over();
        let known = state.leader() == Some(leader) && state.view() == view;
        if state.course.storing() == Some(view) {
            return; // its leader is followed as soon as it is durable
        }
        if !takes_over && !known {
            if self.algorithm.get().may_follow(&mut self.cx, view, leader.id) {
                self.follow(view, leader.id);
            }
        } else if takes_over && state.course.takeover() != Some(view) {
            if Fault::NoRelease.is_planted() {
                self.cx.state.epochs.learn(view);
                return self.call(Reason::TakingOver(leader.id));
            }
            self.cx.become_taking_over(view, leader.id, Reason::TakingOver(leader.id));
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

    /// A greater epoch exists: whoever led or was followed is outdated. Its leader will tell so
    /// itself. With a majority, a member that has no leader goes on with what it does: if that leader lives, its voters deny
    /// a candidate their votes; and if a third member lies, nobody is stopped.
    fn outdated(&mut self, view: View, leader: NodeId) {
        // Whoever was to be followed once its epoch is durable is outdated as well.
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

    /// Two leaders met in one epoch, which must not stay: the survivor runs a new round.
    fn meet_at_same_epoch(&mut self, other: NodeId, epoch: Epoch) {
        let state = &self.cx.state;
        let leads = state.phase() == Phase::Leading && state.view().epoch == epoch;
        if leads && !state.needs_majority() {
            self.algorithm.get().start(&mut self.cx, Reason::SameEpoch(other));
        }
    }

    /// A word that another member leads. If this one leads too, there are two, or were: a greater
    /// epoch began without its release; and a smaller one goes on, unless the word was under way
    /// when this one began. Nobody comes to lead beside a live leader without `failure` of silence
    /// between the two, which is 2 * `message` shorter here at most.
    ///
    /// There are two since the later of both began. That is not before this one did, and not before
    /// the other's last word as a follower; when exactly, only the other knows.
    pub fn meet_leader(&mut self, other: NodeId, view: View) {
        let last = self.declares(other);
        let state = &mut *self.cx.state;
        let now = self.cx.now;
        let silence = state.settings.timing.stall();
        let fresh =
            state.compare(view).is_gt() || last.is_none_or(|last| now.since(last) >= silence);
        if state.phase() == Phase::Leading && fresh {
            let began = state.course.since().max(last.unwrap_or_default());
            let (theirs, own) = (view.epoch, state.view().epoch);
            let lasted = now.since(began) + state.settings.timing.message;
            let split = Split { other, theirs, own, met: now, lasted };
            state.endings.met(split);
            self.cx.out.push(Output::Note(Note::Split(split)));
        }
    }

    /// Another member says whom it follows, or that it leads. Gives when it did so before. Anything else
    /// that it says may have been under way for long, with such a word behind it.
    pub fn declares(&mut self, other: NodeId) -> Option<Time> {
        let (mut last, now) = (None, self.cx.now);
        self.cx.state.detector.change(other, |peer| last = peer.declares(now));
        last
    }
}
