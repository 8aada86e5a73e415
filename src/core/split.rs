//! Two leaders at once: what a leader notes when it meets another, as after a partition in mode
//! none.
//!
//! Only leaders can tell: the one that steps down, as it hears of the other; and the one that stays,
//! if it heard the other before that stepped down. A follower that hears of a second leader cannot
//! know whether the first still leads: its RELEASE may be under way on another connection.

use std::time::Duration;

use super::message::View;
use super::turn::Turn;
use super::types::{Epoch, NodeId, Time};
use super::{Note, Output, Phase};

/// Another leader that a leader met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The other leader.
    pub other: NodeId,
    /// The epoch that it led in.
    pub theirs: Epoch,
    /// The epoch that this member led in.
    pub own: Epoch,
    /// When they met.
    pub met: Time,
    /// How long both led in these epochs, at most: one of them steps down within a `message`'s time
    /// from then.
    pub lasted: Duration,
}

impl Turn<'_> {
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
        let fresh = view > state.view || last.is_none_or(|last| now.since(last) >= silence);
        if state.phase == Phase::Leading && fresh {
            let began = state.since.max(last.unwrap_or_default());
            let (theirs, own) = (view.epoch, state.view.epoch);
            let lasted = now.since(began) + state.settings.timing.message;
            let split = Split { other, theirs, own, met: now, lasted };
            state.split = Some(split);
            self.cx.out.push(Output::Note(Note::Split(split)));
        }
    }

    /// Another member says whom it follows, or that it leads. Gives when it did so before. What it
    /// says otherwise may have been under way for long, with such a word behind it.
    pub fn declares(&mut self, other: NodeId) -> Option<Time> {
        let (mut last, now) = (None, self.cx.now);
        self.cx.state.detector.change(other, |peer| last = peer.declared.replace(now));
        last
    }
}
