//! The pause of a whole cluster: while it lasts, nobody preempts a live leader, and no leader hands over because of
//! its health. A dead leader is replaced, and orders such as `resign` and `drain` work.
//!
//! The leader stores a pause, or its end, under a greater version, and sends it with every heartbeat; a member takes
//! and stores the greatest version that it hears of. If a member knows a greater version than its leader, it sends
//! that with its acknowledgements. So the pause outlives its leader as long as one member that follows the next
//! leader knows of it. A leader refuses to hand over to a member that does not know of the pause yet.

use super::api::Output;
use super::context::Context;
use super::durable::Then;
use super::message::{Done, Forwarded, Message, Refusal};
use super::note::Note;
use super::planted::Fault;
use super::settings::Preempt;
use super::state::State;
use super::turn::Turn;
use super::types::{CommandId, NodeId, Pause, Version};
use super::waiting::MOST_WAITING;

impl State {
    /// Whether the cluster is paused, as far as this member knows.
    pub(super) fn is_paused(&self) -> bool {
        self.membership.pause().paused && !Fault::PauseUnheeded.is_planted()
    }

    /// Whether a higher member takes over by now: not while the cluster is paused, and not if this member is chosen:
    /// the leader hands over to that by itself.
    pub(super) fn preempt(&self) -> Preempt {
        let waits = self.is_paused() || self.eligibility.is_chosen();
        if waits { Preempt::Never } else { self.settings.preempt }
    }

    /// The pause or its end, for others; none in a cluster that was never paused.
    pub(super) fn pause_to_tell(&self) -> Option<Pause> {
        Some(*self.membership.pause()).filter(|pause| *pause > Pause::default())
    }

    /// The same, if it is greater than the one that a leader sent.
    pub(super) fn pause_to_tell_back(&self, told: Option<Pause>) -> Option<Pause> {
        self.pause_to_tell().filter(|own| *own > told.unwrap_or_default())
    }
}

impl Context<'_> {
    /// Another member sends a pause or its end: takes the greatest version.
    pub fn hear_pause(&mut self, told: Option<Pause>) {
        let Some(told) = told.filter(|told| told > self.state.membership.pause()) else { return };
        self.take_pause(told);
    }

    /// This leader pauses the cluster or resumes it. Returns the record that holds that.
    fn set_pause(&mut self, paused: bool, since: u64, until: Option<u64>) -> u64 {
        let version = self.state.membership.pause().version.next(self.state.view().epoch);
        self.take_pause(Pause { version, paused, since, until })
    }

    fn take_pause(&mut self, pause: Pause) -> u64 {
        self.state.membership.take_pause(pause);
        self.out.push(Output::Note(Note::Paused(pause)));
        self.persist()
    }
}

impl Turn<'_> {
    /// An operator asks for a pause or for its end: the leader carries that out, and tells the others immediately.
    pub fn order_pause(&mut self, id: CommandId, command: Forwarded) {
        let own = self.cx.state.id();
        match self.cx.state.leader() {
            Some(leader) if leader.id != own => self.forward(id, leader.id, command),
            Some(_) => match self.carry_out_pause(&command) {
                Ok((record, done)) => self.cx.state.records.then(record, Then::Answer(id, done)),
                Err(refusal) => self.cx.out.push(Output::Answer { id, result: Err(refusal) }),
            },
            None => {
                let result = Err(Refusal::NoLeader);
                self.cx.out.push(Output::Answer { id, result });
            }
        }
    }

    /// Whether the cluster may be resumed; if only a certain pause is to end, whether this member leads and that
    /// pause is the present one.
    pub fn may_resume(&self, only: Option<Version>) -> bool {
        let state = &self.cx.state;
        only.is_none_or(|only| state.leads() && state.membership.pause().version == only)
    }

    /// Another member passes such a command on.
    pub fn pause_forwarded(&mut self, from: NodeId, number: u64, command: &Forwarded) {
        match self.carry_out_pause(command) {
            Ok((record, done)) => {
                let outcome = Message::Outcome { number, result: Ok(done) };
                self.cx.state.records.then(record, Then::Tell(from, outcome));
            }
            Err(refusal) => {
                self.cx.send(from, Message::Outcome { number, result: Err(refusal) });
            }
        }
    }

    fn carry_out_pause(&mut self, command: &Forwarded) -> Result<(u64, Done), Refusal> {
        let state = &self.cx.state;
        if !state.leads() {
            return Err(Refusal::NotLeader);
        }
        if state.records.commands() >= MOST_WAITING {
            return Err(Refusal::TooMany);
        }
        let carried_out = match *command {
            Forwarded::Pause { since, until } => {
                (self.cx.set_pause(true, since, until), Done::Paused)
            }
            _ => (self.cx.set_pause(false, 0, None), Done::Resumed),
        };
        let others = self.cx.all_others();
        self.beat_to(others);
        self.hand_over_if_unfit(); // this leader may have waited for the end of the pause
        Ok(carried_out)
    }
}
