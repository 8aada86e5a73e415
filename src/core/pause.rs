//! The pause of a whole cluster: while it lasts, nobody preempts a live leader, and no leader hands over because of
//! its health. A dead leader is replaced, and orders such as `resign` and `drain` work.
//!
//! The leader stores a pause, or its end, under a greater version, and sends it with every heartbeat; a member takes
//! and stores the greatest version that it hears of. If a member knows a greater version than its leader, it sends
//! that with its acknowledgements. So the pause outlives its leader as long as one member that follows the next
//! leader knows of it. A leader refuses to hand over to a member that does not know of the pause yet.

use super::api::Output;
use super::context::Context;
use super::forwarding::Carried;
use super::message::{Done, Forwarded, Refusal};
use super::note::Note;
use super::planted::Fault;
use super::settings::Preempt;
use super::state::State;
use super::turn::Turn;
use super::types::{Pause, Version};

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

    /// Takes a pause or its end, and has it stored. Returns the record that holds it.
    fn take_pause(&mut self, pause: Pause) -> u64 {
        self.state.membership.take_pause(pause);
        self.out.push(Output::Note(Note::Paused(pause)));
        self.persist()
    }
}

impl Turn<'_> {
    /// Whether this member leads, and this pause is the present one: then it may end.
    pub fn may_resume(&self, pause: Version) -> bool {
        let state = &self.cx.state;
        state.leads() && state.membership.pause().version == pause
    }

    /// The leader pauses the cluster or resumes it, and tells the others immediately.
    pub fn carry_out_pause(&mut self, command: &Forwarded) -> Carried {
        let state = &self.cx.state;
        if !state.leads() {
            return Err(Refusal::NotLeader);
        }
        if !state.records.have_room() {
            return Err(Refusal::TooMany);
        }
        let (paused, since, until, done) = match *command {
            Forwarded::Pause { since, until } => (true, since, until, Done::Paused),
            _ => (false, 0, None, Done::Resumed),
        };
        let version = state.membership.pause().version.next(state.view().epoch);
        let record = self.cx.take_pause(Pause { version, paused, since, until });
        self.beat_to(self.cx.all_others());
        self.hand_over_if_unfit(); // this leader may have waited for the end of the pause
        Ok((record, done))
    }
}
