//! Who leads, for every algorithm: judging what others say of the leader, taking over from a
//! lower one, and handing over.

use super::Output;
use super::context::Context;
use super::durable::Then;
use super::message::{Done, Message, Refusal, View};
use super::phase::{Phase, Reason};
use super::planted::Fault;
use super::settings::Preempt;
use super::state::Held;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{Epoch, NodeId, Rank};

impl Context<'_> {
    /// Waits for an epoch to be durable and, with a majority, for the voters, before going on.
    pub fn hold(&mut self, held: Held, reason: Reason) {
        match held {
            Held::Follow(_) => self.become_waiting(self.now, reason),
            _ if self.state.phase == Phase::Electing => {}
            Held::Call(_) | Held::Win(_) => self.become_electing(reason),
        }
        self.state.timers.cancel(Timer::Answer);
        self.state.timers.cancel(Timer::Coordinator);
        self.state.held = Some(held); // its record was ordered when the round was noted
        if let Held::Call(round) | Held::Win(round) = held {
            if !self.state.records.cover(round) {
                self.arm(Timer::Coordinator, self.state.settings.timing.t2());
            }
            self.ask_next_question(round);
        }
    }
}

impl Turn<'_> {
    /// No outcome of an election came in time. Who still waits for its own disk is in the way: it
    /// stands no more until that has written, and another wins.
    pub fn nobody_came(&mut self) {
        self.cx.suspect_unreachable();
        match self.cx.state.held {
            Some(Held::Call(round) | Held::Win(round)) if !self.cx.state.records.cover(round) => {
                self.cx.state.disk_lags = true;
                self.cx.become_waiting(self.cx.now, Reason::DiskLags);
            }
            _ if self.cx.state.looks_around(self.cx.now) => self.call(Reason::NoCoordinator),
            _ if self.cx.state.denied.is_some() => self.await_voters(),
            _ => self.algorithm.get().expire(&mut self.cx, Timer::Coordinator),
        }
    }

    /// A leader announces itself: COORDINATOR or heartbeat. Answers an older one with what is
    /// known. Tells whether the sender is now this member's leader.
    pub fn announced(&mut self, from: NodeId, epoch: Epoch, rank: Rank) -> bool {
        let rank = Rank { id: from, ..rank };
        let view = View { epoch, leader: Some(rank) };
        let known = self.cx.state.view;
        self.cx.state.detector.change(from, |peer| peer.stands = true); // who leads, does
        self.meet_leader(from, view);
        self.cx.note_round(epoch);
        if self.cx.state.phase == Phase::Stopping {
            return false;
        }
        if self.cx.state.is_of_another(from, epoch) {
            self.cx.send_view(from);
            return false;
        }
        if view < known && !Fault::OlderCoordinator.is_planted() {
            self.cx.send_view(from);
            self.meet_at_same_epoch(from, epoch);
            return false;
        }
        if let Some(Held::Follow(later)) = self.cx.state.held
            && view < later
        {
            return false; // a later one is followed as soon as that is durable
        }
        if self.cx.state.takeover == Some(view) {
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
    /// an earlier life.
    pub fn told(&mut self, from: NodeId, view: View) {
        let state = &self.cx.state;
        let news = view > state.view && !(state.leads() && state.needs_majority());
        match view.leader {
            Some(leader) if leader.id == from || news => {
                self.meet_leader(leader.id, view);
            }
            _ => _ = self.declares(from),
        }
        self.cx.note_round(view.epoch);
        let state = &self.cx.state;
        if view.leader.is_none() && state.follows(from) && view.epoch >= state.view.epoch {
            self.call(Reason::LeaderGaveUp(from)); // what it says is no sign of a leader
            return;
        }
        if view < state.view || state.phase == Phase::Stopping {
            return;
        }
        match view.leader {
            Some(leader) if leader.id == from => self.accept(view, leader),
            // As long as its lease runs, no later leader was elected: a third member is mistaken, or lies.
            _ if state.leads() && state.needs_majority() => self.outgrow(view.epoch),
            Some(leader) if leader.id != state.id() && view > state.view => {
                self.outdated(view, leader.id);
            }
            _ if state.phase == Phase::Leading && view.epoch > state.view.epoch => {
                self.call(Reason::Overruled(from)); // its leader is gone, its epoch is not
            }
            _ => {}
        }
    }

    /// Takes a view that is not older than the own one, of a leader that is alive. A voter that granted
    /// a later epoch may have forgotten that it named its leader, but not that.
    pub fn accept(&mut self, view: View, leader: Rank) {
        let state = &self.cx.state;
        if state.voter.is_beyond(view.epoch) || state.is_of_another(leader.id, view.epoch) {
            return;
        }
        // Who still looks for the others could not lead at once: there would be no leader meanwhile.
        let may_take_over = state.preempts_at_once() && !state.looks_around(self.cx.now);
        let takes_over = leader < state.rank() && state.stands() && may_take_over;
        let known = state.leader() == Some(leader) && state.view == view;
        if state.held == Some(Held::Follow(view)) {
            return; // it is followed as soon as that is durable
        }
        if !takes_over && !known {
            if self.algorithm.get().may_follow(&mut self.cx, view, leader.id) {
                self.follow(view, leader.id);
            }
        } else if takes_over && state.takeover != Some(view) {
            if Fault::NoRelease.is_planted() {
                self.cx.state.view = view;
                return self.call(Reason::TakingOver(leader.id));
            }
            self.cx.become_taking_over(view, leader.id, Reason::TakingOver(leader.id));
        }
    }

    /// "If P receives a Coordinator message, it treats the sender as the coordinator."
    fn follow(&mut self, view: View, leader: NodeId) {
        if self.cx.state.records.cover(view.epoch) {
            self.cx.give_up(None);
            self.cx.become_following(view, leader);
        } else if self.cx.state.held != Some(Held::Follow(view)) {
            self.cx.give_up(None);
            self.cx.hold(Held::Follow(view), Reason::Storing(leader));
        }
    }

    /// A greater epoch exists: whoever led or was followed is outdated. Its leader will tell so
    /// itself.
    fn outdated(&mut self, view: View, leader: NodeId) {
        self.cx.give_up(None);
        // Whoever was to be followed once its epoch is durable is outdated as well.
        let follows = matches!(self.cx.state.held, Some(Held::Follow(_)));
        let settled = follows || self.cx.state.leader().is_some();
        let leads = self.cx.state.leads();
        self.cx.state.view = view;
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
        let leads = state.phase == Phase::Leading && state.view.epoch == epoch;
        if leads && !state.needs_majority() {
            self.algorithm.get().start(&mut self.cx, Reason::SameEpoch(other));
        }
    }

    /// All records up to this number are durable: what waited for that goes on.
    pub fn persisted(&mut self, number: u64) {
        self.cx.state.disk_lags = false;
        for then in self.cx.state.records.written(number) {
            let (own, state) = (self.cx.state.id(), &mut *self.cx.state);
            match then {
                Then::Reserve(_) | Then::Vote => {} // the queue itself knows
                Then::Promise(longest) => state.voter.stored_promise(longest),
                Then::List => _ = state.roster.stored.insert(own),
                Then::Tell(to, message) => self.tell_durable(to, message),
                Then::Answer(id) => {
                    self.cx.out.push(Output::Answer { id, result: Ok(Done::TaskTaken) });
                }
            }
        }
        match self.cx.state.held {
            None => {}
            Some(Held::Call(_) | Held::Win(_)) => self.resume(),
            Some(Held::Follow(view)) => {
                self.cx.state.held = None;
                let alive = view.leader.filter(|leader| self.cx.state.detector.is_alive(leader.id));
                match alive {
                    Some(leader) => self.follow(view, leader.id),
                    None => self.call(Reason::AnswererLost),
                }
            }
        }
    }

    /// An election that was held up goes on, if its epoch is durable and enough voters agree.
    pub fn resume(&mut self) {
        if let Some(held @ (Held::Call(round) | Held::Win(round))) = self.cx.state.held
            && self.cx.may_stand_for(round)
        {
            self.cx.state.held = None;
            self.algorithm.get().resume(&mut self.cx, held);
        }
    }

    /// A higher member asks this one to hand over.
    pub fn preempted(&mut self, from: NodeId, epoch: Epoch, rank: Rank, votes: &[NodeId]) {
        let rank = Rank { id: from, ..rank };
        self.cx.state.detector.change(from, |peer| {
            peer.stands = true; // who asks, stands
            peer.rank = rank;
        });
        let state = &self.cx.state;
        // Who waits for the outcome of a change hears it first; the other asks again.
        let changes = state.roster.wanted.is_some();
        let higher = state.is_above(rank, true)
            && !changes
            && self.stood_for_long_enough(from)
            && self.may_succeed(from)
            && self.is_majority(votes);
        let leads = state.phase == Phase::Leading;
        let present = leads && state.view.epoch == epoch;
        if present && higher && !votes.is_empty() && Fault::LeadsAfterRelease.is_planted() {
            let (others, stands) = (self.cx.all_others(), self.cx.state.stands());
            self.cx.send_all(others, Message::Release { epoch, successor: Some(from), stands });
        } else if present && higher {
            self.release(Some(from), Reason::Preempted(from));
        } else if leads || state.view.epoch > epoch {
            self.cx.send_view(from);
        } else if self.is_about_to_lead(epoch) {
            // Some have its task already; it is not released before it is led in.
        } else if !self.repeat_release(from) {
            // An earlier life of this member led, and never will again.
            self.cx.note_round(epoch);
            let stands = self.cx.state.stands();
            self.cx.send(from, Message::Release { epoch, successor: None, stands });
        }
    }

    /// Whether this member has halted others in this round, and hands out its task.
    fn is_about_to_lead(&self, epoch: Epoch) -> bool {
        let accepted = self.algorithm.accepted(self.cx.state);
        let own = self.cx.state.id();
        accepted.is_some_and(|v| v.epoch == epoch && v.leader.is_some_and(|l| l.id == own))
    }

    /// Whether a member could be told that it may lead, and did not fail to of late.
    fn may_succeed(&self, id: NodeId) -> bool {
        let unreachable = self.cx.state.detector.get(id).is_some_and(|peer| peer.unreachable);
        !unreachable && !self.cx.was_let_down_by(id)
    }

    /// Whether a member may take over by now, where that is only after a while.
    fn stood_for_long_enough(&self, id: NodeId) -> bool {
        let Preempt::After(after) = self.cx.state.settings.preempt else { return true };
        let peer = self.cx.state.detector.get(id);
        let due = peer.and_then(|peer| peer.standing.due(after));
        due.is_some_and(|due| due <= self.cx.now)
    }

    /// Tells a member that the epoch known was given up by this one, if it was.
    pub fn repeat_release(&mut self, to: NodeId) -> bool {
        let Some((epoch, successor)) = self.cx.state.gave_up() else { return false };
        let stands = self.cx.state.stands();
        self.cx.send(to, Message::Release { epoch, successor, stands });
        true
    }

    /// Stops leading, says so to all, and awaits the successor.
    pub fn release(&mut self, successor: Option<NodeId>, reason: Reason) {
        let (epoch, own) = (self.cx.state.view.epoch, self.cx.state.id());
        self.cx.give_up(successor);
        self.cx.state.voter.release(own, epoch);
        match successor {
            Some(next) if !matches!(reason, Reason::Stopped | Reason::Removed) => {
                self.algorithm.get().await_leader(&mut self.cx, next, reason);
            }
            _ => self.cx.become_stopping(reason), // nobody is preempted or resigns for nobody
        }
        self.cx.say_released(epoch, successor);
    }

    /// A leader says that it no longer leads.
    pub fn released(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        successor: Option<NodeId>,
        stands: bool,
    ) {
        self.cx.state.detector.change(from, |peer| peer.stands = stands);
        self.cx.stand_if_alone(); // it may be the last that could lead
        self.cx.state.voter.release(from, epoch);
        self.cx.state.freed = Some((from, epoch));
        self.cx.state.inherits = Some(epoch).filter(|_| successor == Some(self.cx.state.id()));
        if let Some(Held::Follow(view)) = self.cx.state.held
            && view.epoch == epoch
        {
            self.cx.state.view = view; // too late to follow it
        }
        let state = &self.cx.state;
        if epoch != state.view.epoch || !(state.is_bound_to(from) || state.follows(from)) {
            return;
        }
        let reason = Reason::LeaderReleased(from);
        self.cx.state.takeover = None;
        self.cx.state.heeds_leader = false;
        self.cx.state.timers.cancel(Timer::Silence);
        match successor {
            // This member need not have met it: the leader knows it.
            Some(next) if next != self.cx.state.id() => {
                self.algorithm.get().await_leader(&mut self.cx, next, reason);
            }
            _ => self.call(reason),
        }
    }

    /// An operator asks the leader to hand over, to the member named if any.
    pub fn resign(&mut self, to: Option<NodeId>) -> Result<Done, Refusal> {
        let state = &mut self.cx.state;
        if state.phase != Phase::Leading {
            return Err(Refusal::NotLeader);
        }
        let best = state.best_other().ok_or(Refusal::NoSuccessor)?;
        let successor = to.unwrap_or(best);
        if !state.detector.standing().any(|peer| peer.rank.id == successor) {
            return Err(Refusal::CannotLead(successor));
        }
        if successor != best {
            return Err(Refusal::Outranked { to: successor, by: best });
        }
        let epoch = state.view.epoch;
        state.resigned = true;
        self.release(Some(successor), Reason::Resigned);
        Ok(Done::Resigned { epoch, successor: Some(successor) })
    }

    /// The process is about to end: hands over if it leads.
    pub fn stop(&mut self) -> Done {
        match self.cx.state.phase {
            Phase::Leading => self.release(self.cx.state.best_other(), Reason::Stopped),
            Phase::Stopping => {}
            _ => self.cx.become_stopping(Reason::Stopped),
        }
        Done::Stopped
    }
}
