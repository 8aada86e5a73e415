//! The latest changes of state. The election thread notes what happened; all text is made by those who read it,
//! so that a message about the change does not wait for that.

use crate::trace::reason;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::core::membership::MemberList;
use crate::core::settings::Settings;
use crate::core::types::NodeId;
use crate::core::{Cause, NodeStatus, Phase, Transition};
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
            reason: reason::sentence(&change.reason, members),
            cause: Cause::from(&change.reason).name().to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Reason;
    use crate::core::types::Epoch;
    use crate::node::history::Tells;
    use crate::node::words::tests::{id, members};

    /// Programs read these words, and the history judges by them whose report of an end it believes.
    #[test]
    fn each_reason_is_one_word_and_the_history_knows_those_that_end_a_leadership() {
        let (member, time) = (id(2), Duration::from_secs(1));
        for (reason, word, tells) in [
            (Reason::Resigned, "resigned", Tells::Order),
            (Reason::Drained, "drained", Tells::Order),
            (Reason::SwitchedOver(member), "switched_over", Tells::Order),
            (Reason::Unhealthy, "unhealthy", Tells::Order),
            (Reason::Removed, "removed", Tells::Order),
            (Reason::JobFailed, "job_failed", Tells::Order),
            (Reason::Stopped, "stopped", Tells::Order),
            (Reason::LeaderDead(member), "leader_dead", Tells::Fate),
            (Reason::LeaderCertified(member), "leader_certified", Tells::Fate),
            (Reason::LeaderSuspected(member), "leader_suspected", Tells::Fate),
            (Reason::LeaderDisconnected(member), "leader_disconnected", Tells::Fate),
            (Reason::LeaderRemoved(member), "leader_removed", Tells::Fate),
            (Reason::LeaderRestarted(member), "leader_restarted", Tells::Fate),
            (Reason::LeaseEnded, "lease_ended", Tells::Fate),
            (Reason::Stalled(time), "stalled", Tells::Fate),
            (Reason::Preempted(member), "preempted", Tells::Fate),
            (Reason::TakingOver(member), "taking_over", Tells::Fate),
            (Reason::Outranks(member), "outranks", Tells::Fate),
            (Reason::LeaderReleased(member), "leader_released", Tells::Little),
            (Reason::Joined(member), "joined", Tells::Little),
            (Reason::Uninformed(vec![member]), "uninformed", Tells::Little),
        ] {
            assert_eq!((Cause::from(&reason).name(), Tells::by(word)), (word, tells));
        }
        assert_eq!(Tells::by("start"), Tells::Nothing);
    }

    #[test]
    fn the_latest_changes_are_shown_and_all_are_counted() {
        let (mut changes, members) = (Changes::default(), Arc::new(members()));
        let mut settings = Settings::new(
            "c",
            id(1),
            members.clone(),
            crate::core::settings::Timing {
                heartbeat: Duration::from_secs(1),
                failure: Duration::from_secs(5),
                message: Duration::from_secs(1),
                lease: Duration::from_secs(5),
            },
        );
        for epoch in 1..=40 {
            let (from, to, leader) = (Phase::Electing, Phase::Following, Some(id(2)));
            let reason = Reason::Announced(id(2));
            let change = Transition { from, to, leader, epoch: Epoch(epoch), reason };
            changes.add(change, members.clone(), 1000 + epoch, Duration::from_millis(epoch));
        }
        let shown = changes.status(&settings);
        assert_eq!((shown.len(), shown[0].number, shown[KEPT - 1].number), (32, 9, 40));
        let last = &shown[KEPT - 1];
        assert_eq!((last.from.as_str(), last.to.as_str()), ("electing", "following"));
        assert_eq!((last.at_ms, last.silent_ms, last.epoch), (1040, 40, 40));
        assert_eq!((last.leader.as_deref(), last.reason.as_str()), (Some("b"), "b leads"));
        assert_eq!((last.cause.as_str(), last.hinders, &last.halting), ("announced", false, &None));
        settings.algorithm = crate::core::settings::AlgorithmKind::Halting;
        assert_eq!(changes.status(&settings)[0].halting.as_deref(), Some("normal"));
        let mut add = |to, leader, reason| {
            let from = Phase::Starting;
            let change = Transition { from, to, leader, epoch: Epoch(1), reason };
            changes.add(change, members.clone(), 1, Duration::MAX);
            (changes.leader(), changes.status(&settings).pop().unwrap())
        };
        let (leader, alone) = add(Phase::Waiting, None, Reason::Uninformed(vec![id(2)]));
        let told = (alone.hinders, alone.halting.as_deref(), alone.silent_ms, alone.number);
        assert_eq!((leader, told), (None, (true, Some("election"), u64::MAX, 41)));
        let (leader, down) = add(Phase::Stopping, Some(id(3)), Reason::Stopped);
        assert_eq!((leader, down.halting.as_deref()), (Some(id(3)), Some("down")));
        assert_eq!((down.leader.as_deref(), down.hinders), (Some("c"), false));
    }
}
