//! A switchover: an operator chooses a member to lead, whatever its rank, and nobody preempts that member.
//!
//! The leader names the chosen member in its heartbeats. From then on that member reports the greatest possible rank,
//! also in its acknowledgements: by this the leader sees that it takes over, and hands over to it. The chosen member
//! wins the election by that rank, and keeps it until it stops leading. If it does not come to lead, the rank ends:
//! immediately when its leader does not name it any more, or when it follows another leader, and otherwise after a
//! while. All of this is in memory only, and an older member need not know of it.

use super::context::Context;
use super::course::Switchover;
use super::job::Ending;
use super::message::{Done, Refusal};
use super::phase::Reason;
use super::planted::Fault;
use super::settings::Preempt;
use super::state::State;
use super::turn::Turn;
use super::types::{NodeId, Rank};

/// For how many times `failure` a member that does not come to lead stays chosen: its leader may die meanwhile, and
/// an election may need two attempts.
const PATIENCE: u32 = 4;

/// Whether the value of a rank is the greatest: its member reports it because an operator chose it.
fn ranks_first(rank: Rank) -> bool {
    rank.value == i64::MAX
}

impl State {
    /// Whether this member follows a leader that knows of no switchover, and does not lead by one: its first heartbeat
    /// may not have come. The leader's version may not know the command that ends one.
    pub(super) fn follows_unchosen(&self) -> bool {
        let unchosen = |leader: Rank| !ranks_first(leader) && self.chosen().is_none();
        !self.leads() && self.leader().is_some_and(unchosen)
    }

    /// The member that an operator chose to lead, as far as this member knows: it leads, or is about to.
    pub(in crate::core) fn chosen(&self) -> Option<NodeId> {
        let next = self.course.switchover().map(|switchover| switchover.to);
        let own = self.leads() && self.eligibility.is_chosen();
        next.or_else(|| own.then_some(self.id())).or_else(|| self.course.chosen())
    }
}

impl Context<'_> {
    /// The followed leader names the member that is chosen to lead next.
    pub fn hear_choice(&mut self, chosen: Option<NodeId>) {
        self.state.course.hear_choice(chosen);
        let takes = chosen == Some(self.state.id()) && self.state.is_eligible();
        if takes {
            let until = self.now + self.state.settings.timing.failure * PATIENCE;
            self.state.eligibility.choose(until);
            self.freeze_rank();
        } else if self.state.eligibility.is_chosen() {
            self.state.eligibility.end_choice();
        }
    }
}

impl Turn<'_> {
    pub(super) fn may_switch_over(&self, to: NodeId) -> Result<(), Refusal> {
        let state = &self.cx.state;
        match state.course.switchover() {
            _ if !state.leads() => Err(Refusal::NotLeader),
            Some(under_way) => Err(Refusal::Switching(under_way.to)),
            None if to == state.id() => Ok(()),
            None if state.membership.list().get(to).is_none() => Err(Refusal::NotMember(to)),
            None if !state.could_lead(to) => Err(Refusal::CannotLead(to)),
            None => Ok(()),
        }
    }

    /// A member acknowledged a heartbeat: if it is the chosen one and ranks first, it takes over.
    pub fn hear_of_chosen(&mut self, from: NodeId, rank: Rank, eligible: bool) {
        if self.cx.state.course.switchover().is_none_or(|s| s.to != from || s.taken) {
            return;
        }
        if !eligible {
            self.drop_switchover(Refusal::CannotLead(from));
        } else if ranks_first(rank) {
            self.chosen_takes_over(from);
        }
    }

    /// The chosen member takes over: this leader hands over, once its job has ended.
    pub fn chosen_takes_over(&mut self, to: NodeId) {
        let Some(under_way) = self.cx.state.course.switchover() else { return };
        if !under_way.taken {
            let epoch = self.cx.state.view().epoch;
            let done = Done::Resigned { epoch, successor: Some(to) };
            self.cx.tell_outcome(under_way.asked, Ok(done));
        }
        self.cx.state.course.set_switchover(Some(Switchover { taken: true, ..under_way }));
        if !self.waits_for_job(Ending::SwitchedOver(to)) {
            self.hand_over_to_chosen(to);
        }
    }

    /// Hands over to the chosen member, if that may still lead.
    pub fn hand_over_to_chosen(&mut self, to: NodeId) {
        if self.cx.state.could_lead(to) {
            self.release(Some(to), Reason::SwitchedOver(to));
        } else {
            self.cx.state.course.set_switchover(None);
        }
    }

    /// At a heartbeat round, and when a job has ended: hands over to a chosen member that waits; or drops the
    /// switchover, if that member is gone or did not say in time that it takes over.
    pub fn look_after_switchover(&mut self) {
        let Some(Switchover { to, due, taken, .. }) = self.cx.state.course.switchover() else {
            return;
        };
        if taken {
            self.chosen_takes_over(to); // the job may have ended for another reason, which is void by now
        } else if !self.cx.state.could_lead(to) {
            self.drop_switchover(Refusal::CannotLead(to));
        } else if due <= self.cx.now {
            self.drop_switchover(Refusal::NotTaken(to));
        }
    }

    /// A leader whose switchover was cleared hands over to the member that would have preempted it: the others
    /// compare with the rank that it was elected with.
    pub fn hand_over_if_cleared(&mut self) {
        let state = &self.cx.state;
        let stays = state.preempt() == Preempt::Never || state.membership.wanted().is_some();
        if !state.leads() || !state.eligibility.was_cleared() || stays {
            return;
        }
        let value = state.eligibility.sample().unwrap_or(i64::MIN);
        let (own, margin) = (Rank { value, id: state.id() }, state.settings.margin);
        let steady = state.eligible().filter(|peer| !state.comes_and_goes(peer));
        let ranks = steady.map(|peer| peer.rank());
        let takes_over = |rank: &Rank| {
            margin.is_exceeded(*rank, own)
                && self.eligible_for_long_enough(rank.id)
                && self.may_succeed(rank.id)
        };
        let best = ranks.filter(takes_over).max().map(|rank| rank.id);
        if let Some(best) = best.filter(|_| !Fault::ChoiceUncleared.is_planted()) {
            self.give_way(best);
        }
    }
}
