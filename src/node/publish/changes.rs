//! The latest changes of state. The election thread notes what happened; all text is made by those who read it,
//! so that a message about the change does not wait for that.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::core::membership::MemberList;
use crate::core::settings::Settings;
use crate::core::types::NodeId;
use crate::core::{NodeStatus, Phase, Reason, Transition};
use crate::node::status::ChangeStatus;

/// How many of the latest changes of state are shown.
const KEPT: usize = 32;

/// The latest changes, oldest first. Cheap to clone, as it is for each turn of the election thread.
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<VecDeque<Arc<Noted>>>);

/// One change of state.
#[derive(Debug)]
struct Noted {
    /// Counts the changes since the start, from 1.
    number: u64,
    /// In milliseconds since the Unix epoch.
    at_ms: u64,
    change: Transition,
    /// For how long the leader before had been silent by then.
    silent: Duration,
    /// As the list was before: who was removed by this is known by name.
    members: Arc<MemberList>,
}

impl Changes {
    /// The leader that the latest change left.
    pub fn leader(&self) -> Option<NodeId> {
        self.0.back().and_then(|last| last.change.leader)
    }

    /// Adds the latest, which happened at this moment, in milliseconds since the Unix epoch; the leader before had been
    /// silent for this long.
    pub fn add(
        &mut self,
        change: Transition,
        members: Arc<MemberList>,
        at_ms: u64,
        silent: Duration,
    ) {
        let number = self.0.back().map_or(0, |last| last.number) + 1;
        let kept = Arc::make_mut(&mut self.0);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Arc::new(Noted { number, at_ms, change, silent, members }));
    }

    /// The changes in words.
    pub fn status(&self, settings: &Settings) -> Vec<ChangeStatus> {
        self.0.iter().map(|change| change.status(settings)).collect()
    }
}

impl Noted {
    fn status(&self, settings: &Settings) -> ChangeStatus {
        let Noted { number, at_ms, change, silent, members } = self;
        ChangeStatus {
            number: *number,
            at_ms: *at_ms,
            from: change.from.name().to_owned(),
            to: change.to.name().to_owned(),
            halting: halting_word(settings, change.to),
            leader: change.leader.map(|id| members.name(id)),
            epoch: change.epoch.0,
            reason: change.reason.sentence(members),
            cause: cause(&change.reason),
            hinders: change.reason.hinders(),
            silent_ms: u64::try_from(silent.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Garcia-Molina's name for a phase; none if the algorithm is not halting.
pub fn halting_word(settings: &Settings, phase: Phase) -> Option<String> {
    let halting = settings.algorithm.hands_out_tasks();
    halting.then(|| NodeStatus::from(phase).name().to_owned())
}

/// The name of a reason as one word, such as leader_dead.
fn cause(reason: &Reason) -> String {
    let name = format!("{reason:?}");
    let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(letter.to_lowercase());
    }
    word
}
