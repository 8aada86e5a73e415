//! The pause of a whole cluster: while it lasts, nobody preempts a live leader, and no leader hands over because of
//! its health. A dead leader is replaced, and orders such as `resign` and `drain` work.
//!
//! The leader stores a pause, or its end, under a greater version, and sends it with every heartbeat; a member takes
//! and stores the greatest version that it hears of. If a member knows a greater version than its leader, it sends
//! that with its acknowledgements. So the pause outlives its leader as long as one member that follows the next
//! leader knows of it. A leader refuses to hand over to a member that does not know of the pause yet.

use super::api::Output;
use super::context::Context;
use super::note::Note;
use super::state::State;
use super::types::Pause;

/// Another member sends a pause or its end: adopts it if its version is greater. (H4)
pub fn hear_pause(cx: &mut Context<'_>, sent: Option<Pause>) {
    let Some(sent) = sent.filter(|sent| sent > cx.state.membership.pause()) else { return };
    adopt_pause(cx, sent);
}

/// Adopts a pause or its end, and has it stored. Returns the record that holds it.
pub fn adopt_pause(cx: &mut Context<'_>, pause: Pause) -> u64 {
    cx.state.membership.adopt_pause(pause);
    cx.out.push(Output::Note(Note::Paused(pause)));
    cx.persist()
}

/// The pause or its end, for others; none in a cluster that was never paused.
pub fn pause_to_tell(state: &State) -> Option<Pause> {
    Some(*state.membership.pause()).filter(|pause| *pause > Pause::default())
}

/// The same, if it is greater than the one that a leader sent. (H4)
pub fn pause_to_tell_back(state: &State, sent: Option<Pause>) -> Option<Pause> {
    pause_to_tell(state).filter(|own| *own > sent.unwrap_or_default())
}
