//! The phase of a member, and the state that belongs to a phase and ends with it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agreed::Agreed;
use super::back_off::BackOff;
use super::leadership::lease::Lease;
use super::membership::known::CommandAsker;
use super::message::View;
use super::phase::Phase;
use super::types::{NodeId, Time};

/// A phase with its own state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum PhaseState {
    #[default]
    Starting,
    Electing,
    /// Awaits this, or the outcome of an election.
    Waiting(Option<Awaited>),
    Halted,
    Reorganizing,
    Following {
        /// The member that the followed leader names as chosen.
        chosen: Option<NodeId>,
        /// When that leader's last heartbeat came; none before the first.
        heartbeat: Option<Time>,
        /// Whether that leader says that nothing is about to end its leadership.
        leads_on: bool,
    },
    Leading {
        /// When the last heartbeat round was sent, or this member began to lead.
        beaten: Time,
        /// Until when it leads, with a majority.
        lease: Option<Lease>,
        switchover: Option<PendingSwitchover>,
        agreed: Agreed,
    },
    Stopping,
}

/// What a member in [`Phase::Waiting`] awaits instead of the outcome of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Awaited {
    /// The release of this leader, which was asked to hand over.
    Release(View),
    /// That the epoch of this leader becomes durable: then the member follows the leader.
    Disk(View),
}

/// What a leader remembers until the chosen member takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct PendingSwitchover {
    pub to: NodeId,
    /// The member that passed the order on, and the number of the order there.
    pub asked: CommandAsker,
    /// Until when the chosen member has to say that it takes over.
    pub due: Time,
    /// Whether it said so and the asker has its answer: only the job of this leader still has to end.
    pub taken: bool,
}

impl PhaseState {
    /// A member that begins to follow a leader.
    pub fn following() -> PhaseState {
        PhaseState::Following { chosen: None, heartbeat: None, leads_on: false }
    }

    /// A member that begins to lead, with this switchover in progress.
    pub fn leading(now: Time, switchover: Option<PendingSwitchover>) -> PhaseState {
        PhaseState::Leading { beaten: now, lease: None, switchover, agreed: Agreed::default() }
    }

    pub fn phase(&self) -> Phase {
        match self {
            PhaseState::Starting => Phase::Starting,
            PhaseState::Electing => Phase::Electing,
            PhaseState::Waiting(_) => Phase::Waiting,
            PhaseState::Halted => Phase::Halted,
            PhaseState::Reorganizing => Phase::Reorganizing,
            PhaseState::Following { .. } => Phase::Following,
            PhaseState::Leading { .. } => Phase::Leading,
            PhaseState::Stopping => Phase::Stopping,
        }
    }
}

/// The phase of a member, when it began, and the peers that the member watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Course {
    stage: PhaseState,
    since: Time,
    /// When it last stopped leading or following a leader; none while it does either.
    leaderless: Option<Time>,
    /// When discovery ends, unless all members are connected before.
    discovery_ends: Time,
    /// How often it missed its turn.
    stalls: BackOff,
    /// A peer that it watches like a leader, and since when: the halter, or the neighbour in the ring.
    watched: Option<(NodeId, Time)>,
    /// Whether the last leader has to send heartbeats without being asked: this member follows it, or did until this
    /// election.
    expects_heartbeat: bool,
    /// The number of the last heartbeat round of this incarnation.
    round: u64,
    /// When the timings of this member changed last: it judged earlier silence by the older ones.
    retimed: Time,
}

impl Course {
    /// A member that starts now, and discovers the others until this end.
    pub fn new(now: Time, discovery_ends: Time) -> Course {
        Course { since: now, leaderless: Some(now), discovery_ends, ..Course::default() }
    }

    pub fn phase(&self) -> Phase {
        self.stage.phase()
    }

    pub fn retimed(&self) -> Time {
        self.retimed
    }

    /// Other timings are in force from now on.
    pub fn retime(&mut self, now: Time) {
        self.retimed = now;
    }

    pub fn since(&self) -> Time {
        self.since
    }

    /// Whether this member expects the heartbeats of the last leader in the next phase too. It may have asked that
    /// leader, whose silence ends the wait.
    pub fn goes_on_expecting(&self, to: Phase) -> bool {
        self.expects_heartbeat && self.phase() == Phase::Following && to.elects()
    }

    /// Changes the phase. The state that belonged to the old phase is dropped.
    pub fn enter(&mut self, to: PhaseState, now: Time) {
        let (from, phase) = (self.phase(), to.phase());
        self.expects_heartbeat = phase == Phase::Following || self.goes_on_expecting(phase);
        if from.is_halted() && phase != Phase::Reorganizing {
            self.watched = None; // the halter
        }
        self.leaderless = (!phase.has_leader()).then(|| self.leaderless.unwrap_or(now));
        (self.stage, self.since) = (to, now);
    }

    pub fn leaderless(&self) -> Option<Time> {
        self.leaderless
    }

    pub fn discovery_ends(&self) -> Time {
        self.discovery_ends
    }

    pub fn discover_until(&mut self, end: Time) {
        self.discovery_ends = end;
    }

    /// It missed its turn, and discovers the others anew: for `failure`, and for longer each time. A member that is short of
    /// the processor would otherwise keep it busy with connections and elections, and so miss its next turn too.
    pub fn stalled(&mut self, failure: Duration, now: Time) {
        self.stalls.again(failure, now);
        self.discovery_ends = self.stalls.until();
    }

    /// The leader that was asked to hand over.
    pub fn takeover(&self) -> Option<View> {
        if let PhaseState::Waiting(Some(Awaited::Release(of))) = self.stage {
            Some(of)
        } else {
            None
        }
    }

    /// The leader that this member follows as soon as its epoch is durable.
    pub fn storing(&self) -> Option<View> {
        if let PhaseState::Waiting(Some(Awaited::Disk(of))) = self.stage { Some(of) } else { None }
    }

    /// Waits until the epoch of this leader is durable.
    pub fn await_disk(&mut self, leader: View) {
        if let PhaseState::Waiting(awaited) = &mut self.stage {
            *awaited = Some(Awaited::Disk(leader));
        }
    }

    /// A record is durable. Returns the leader to follow, if the member waited for that.
    pub fn take_stored(&mut self) -> Option<View> {
        self.storing().inspect(|_| self.stage = PhaseState::Waiting(None))
    }

    /// The leader that this member asked to hand over, or follows, does not lead any more.
    pub fn leader_released(&mut self) {
        if self.takeover().is_some() {
            self.stage = PhaseState::Waiting(None);
        }
        self.expects_heartbeat = false;
    }

    pub fn expects_heartbeat(&self) -> bool {
        self.expects_heartbeat
    }

    /// The last leader sends nothing without being asked.
    pub fn expect_no_heartbeat(&mut self) {
        self.expects_heartbeat = false;
    }

    pub fn watched(&self) -> Option<(NodeId, Time)> {
        self.watched
    }

    /// Watches this peer from now on, if it did not before.
    pub fn watch(&mut self, member: Option<NodeId>, now: Time) {
        if self.watched.map(|(watched, _)| watched) != member {
            self.watched = member.map(|member| (member, now));
        }
    }

    pub fn round(&self) -> u64 {
        self.round
    }

    /// A leader sends a heartbeat round. Returns its number.
    pub fn beat(&mut self, now: Time) -> u64 {
        self.round += 1;
        if let PhaseState::Leading { beaten, .. } = &mut self.stage {
            *beaten = now;
        }
        self.round
    }

    /// When this leader sent its last heartbeat round, or began to lead.
    pub fn beaten(&self) -> Option<Time> {
        if let PhaseState::Leading { beaten, .. } = self.stage { Some(beaten) } else { None }
    }

    /// This leader has this lease from now on.
    pub fn begin_lease(&mut self, taken: Lease) {
        if let PhaseState::Leading { lease, .. } = &mut self.stage {
            *lease = Some(taken);
        }
    }

    /// The chosen member, as the followed leader says.
    pub fn chosen(&self) -> Option<NodeId> {
        if let PhaseState::Following { chosen, .. } = self.stage { chosen } else { None }
    }

    /// The followed leader names the chosen member.
    pub fn hear_choice(&mut self, said: Option<NodeId>) {
        if let PhaseState::Following { chosen, .. } = &mut self.stage {
            *chosen = said;
        }
    }

    /// A heartbeat of the followed leader came.
    pub fn hear_heartbeat(&mut self, now: Time) {
        if let PhaseState::Following { heartbeat, .. } = &mut self.stage {
            *heartbeat = Some(now);
        }
    }

    /// When the last heartbeat of the followed leader came, if one has come.
    pub fn last_heartbeat(&self) -> Option<Time> {
        if let PhaseState::Following { heartbeat, .. } = self.stage { heartbeat } else { None }
    }

    /// The switchover in progress, of a leader.
    pub fn switchover(&self) -> Option<PendingSwitchover> {
        if let PhaseState::Leading { switchover, .. } = self.stage { switchover } else { None }
    }

    /// Sets the switchover in progress, or none. Returns the one before.
    pub fn set_switchover(&mut self, next: Option<PendingSwitchover>) -> Option<PendingSwitchover> {
        match &mut self.stage {
            PhaseState::Leading { switchover, .. } => std::mem::replace(switchover, next),
            _ => None,
        }
    }

    /// Whether the followed leader said last that nothing is about to end its leadership.
    pub fn leads_on(&self) -> bool {
        matches!(self.stage, PhaseState::Following { leads_on: true, .. })
    }

    /// The followed leader says whether nothing is about to end its leadership.
    pub fn set_leads_on(&mut self, said: bool) {
        if let PhaseState::Following { leads_on, .. } = &mut self.stage {
            *leads_on = said;
        }
    }

    /// What this member agreed to as the leader; none if it does not lead.
    pub fn agreed(&self) -> Option<&Agreed> {
        if let PhaseState::Leading { agreed, .. } = &self.stage { Some(agreed) } else { None }
    }

    pub fn agreed_mut(&mut self) -> Option<&mut Agreed> {
        if let PhaseState::Leading { agreed, .. } = &mut self.stage { Some(agreed) } else { None }
    }

    /// Whether this leader agreed that a member is drained, and that member has not said anything since.
    pub fn is_drained(&self, member: NodeId) -> bool {
        self.agreed().is_some_and(|agreed| agreed.is_drained(member))
    }

    pub fn lease(&self) -> Option<&Lease> {
        if let PhaseState::Leading { lease, .. } = &self.stage { lease.as_ref() } else { None }
    }

    pub fn lease_mut(&mut self) -> Option<&mut Lease> {
        if let PhaseState::Leading { lease, .. } = &mut self.stage { lease.as_mut() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_phase_ends_with_it() {
        let view = View::default();
        let mut course = Course::new(Time(0), Time(9));
        course.enter(PhaseState::Waiting(Some(Awaited::Release(view))), Time(1));
        assert_eq!((course.takeover(), course.storing()), (Some(view), None));
        course.enter(PhaseState::leading(Time(2), None), Time(2));
        course.begin_lease(Lease::default());
        assert_eq!((course.takeover(), course.beaten()), (None, Some(Time(2))));
        assert_eq!((course.beat(Time(3)), course.beaten()), (1, Some(Time(3))));
        course.enter(PhaseState::Waiting(Some(Awaited::Disk(view))), Time(4));
        assert!(course.lease().is_none() && course.beaten().is_none());
        assert_eq!((course.take_stored(), course.take_stored()), (Some(view), None));
    }

    #[test]
    fn the_leader_that_was_followed_has_to_speak_up_until_the_next_election() {
        let mut course = Course::new(Time(0), Time(0));
        course.enter(PhaseState::following(), Time(1));
        course.enter(PhaseState::Electing, Time(2));
        assert!(course.expects_heartbeat());
        course.enter(PhaseState::Electing, Time(3));
        assert!(!course.expects_heartbeat());
    }

    #[test]
    fn a_member_without_a_leader_knows_since_when() {
        let mut course = Course::new(Time(1), Time(0));
        course.enter(PhaseState::Electing, Time(2));
        assert_eq!(course.leaderless(), Some(Time(1)));
        course.enter(PhaseState::following(), Time(3));
        assert_eq!(course.leaderless(), None);
        course.enter(PhaseState::Electing, Time(4));
        course.enter(PhaseState::Waiting(None), Time(5));
        assert_eq!(course.leaderless(), Some(Time(4)));
    }

    #[test]
    fn who_is_halted_watches_its_halter_until_the_outcome() {
        let halter = NodeId::default();
        let mut course = Course::new(Time(0), Time(0));
        course.enter(PhaseState::Halted, Time(1));
        course.watch(Some(halter), Time(1));
        course.watch(Some(halter), Time(2));
        course.enter(PhaseState::Reorganizing, Time(3));
        assert_eq!(course.watched(), Some((halter, Time(1))));
        course.enter(PhaseState::Waiting(None), Time(4));
        assert_eq!(course.watched(), None);
    }
}
