//! Distinguishes a dead candidate from a live one behind a dead link.
//!
//! A member that suspects a candidate stops its ballot and begins another run. If the candidate puts itself into that
//! run as well, it lives, and others hear it: the run may elect it. Without this rule no run would ever end, as this
//! member would stop the ballot each time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::view::is_gone;
use crate::core::context::Context;
use crate::core::message::{Candidate, Run};
use crate::core::types::{Epoch, Incarnation, NodeId, Time};

/// What this member knew of a candidate when it stopped a run that was to elect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Doubt {
    incarnation: Incarnation,
    /// When it was heard last.
    heard: Option<Time>,
    /// The epoch of the run that this member began instead.
    instead: Epoch,
}

/// The doubts of this member, at most one about each member of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Doubts(BTreeMap<NodeId, Doubt>);

fn heard(cx: &Context, candidate: Candidate) -> Option<Time> {
    cx.state.detector.get(candidate.rank.id).and_then(|peer| peer.heard())
}

impl Doubts {
    /// Whether a run cannot elect this candidate any more, as far as this member knows.
    pub fn is_lost(&self, cx: &Context, candidate: Candidate, run: Run) -> bool {
        is_gone(cx, candidate) && !self.has_come_again(cx, candidate, run)
    }

    /// Whether a candidate put itself into a run that began after this member doubted that it lives. A sign of life
    /// from the candidate ends the doubt, and this member judges it anew. An earlier process of the candidate cannot
    /// take part in so late a run: if its incarnation is below the one that this member knows, its disk went back.
    fn has_come_again(&self, cx: &Context, candidate: Candidate, run: Run) -> bool {
        let peer = cx.state.detector.get(candidate.rank.id);
        let known = peer.is_some_and(|peer| peer.incarnation() >= candidate.incarnation);
        let younger = |doubt: &Doubt| {
            doubt.incarnation == candidate.incarnation
                && doubt.heard == heard(cx, candidate)
                && doubt.instead <= run.epoch
        };
        known && self.0.get(&candidate.rank.id).is_some_and(younger)
    }

    /// This member has stopped a run that was to elect this candidate.
    pub fn add(&mut self, cx: &Context, candidate: Candidate, run: Run) {
        let Candidate { rank, incarnation, .. } = candidate;
        let instead = cx.state.epochs.round().max(run.epoch.next());
        self.0.retain(|id, _| cx.state.membership.list().get(*id).is_some());
        if cx.state.membership.list().get(rank.id).is_some() {
            self.0.insert(rank.id, Doubt { incarnation, heard: heard(cx, candidate), instead });
        }
    }
}
