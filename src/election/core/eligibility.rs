//! Whether this member itself wants to lead, and its rank.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::planted::Fault;
use super::streak::Streak;
use super::types::{Drain, Incarnation, Rank, Time};

/// What makes this member eligible, as far as that depends on itself alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Eligibility {
    /// Whether an operator had this member hand over.
    resigned: bool,
    /// The operator's order that it not lead.
    drain: Option<Drain>,
    /// Whether an operator undrained it, and the disk has not stored that yet: a restart would find it drained.
    undrains: bool,
    /// Whether its health check fails, or has not passed yet.
    unhealthy: bool,
    /// Whether it is drained or unhealthy, frozen during an election.
    unfit: bool,
    /// Its attribute, frozen during an election.
    value: Option<i64>,
    sample: Option<i64>,
    /// For how long this member has been eligible without a break.
    streak: Streak,
    /// Whether it was ineligible at any time since it last led, or started.
    was_ineligible: bool,
    /// Whether an operator chose it to lead, whatever its rank.
    choice: Choice,
    /// Whether it therefore ranks first, frozen during an election.
    first: bool,
}

/// Whether this member is chosen, and whether it leads because of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Choice {
    /// Nobody chose this member.
    #[default]
    None,
    /// The leader says that this member is chosen, which is in force until then.
    Until(Time),
    /// It leads, or calls an election as the last leader.
    Leads,
}

impl Eligibility {
    /// A member with this attribute, if it has one yet.
    pub fn new(value: Option<i64>, healthy: bool, drain: Option<Drain>) -> Eligibility {
        let unhealthy = !healthy;
        let unfit = unhealthy || drain.is_some();
        let own = Eligibility { value, sample: value, ..Eligibility::default() };
        Eligibility { drain, unhealthy, unfit, ..own }
    }

    /// Whether no operator, no check and no missing attribute keeps it from leading.
    pub fn is_willing(&self) -> bool {
        !self.resigned && !self.unfit && self.value.is_some()
    }

    /// An operator drains it. [`Eligibility::freeze`] puts that into effect.
    pub fn set_drain(&mut self, drain: Drain) {
        (self.drain, self.undrains) = (Some(drain), false);
    }

    /// An operator undrains it, which counts once [`Eligibility::undrained`] says that it is stored.
    pub fn undrain(&mut self) {
        self.undrains |= self.drain.take().is_some();
    }

    /// The last order to undrain it is stored. [`Eligibility::freeze`] puts that into effect.
    pub fn undrained(&mut self) {
        self.undrains = false;
    }

    /// The drain that the next record holds.
    pub fn drain(&self) -> Option<&Drain> {
        self.drain.as_ref()
    }

    /// Whether a drain counts: it was ordered, or the order to end it is not stored yet.
    pub fn is_drained(&self) -> bool {
        self.drain.is_some() || self.undrains
    }

    /// Its health check passes or fails. [`Eligibility::freeze`] puts that into effect.
    pub fn checked(&mut self, healthy: bool) {
        self.unhealthy = !healthy;
    }

    /// Whether it becomes ineligible as soon as no election is in progress.
    pub fn is_unfit(&self) -> bool {
        self.unhealthy || self.is_drained()
    }

    pub fn has_resigned(&self) -> bool {
        self.resigned
    }

    /// An operator has it hand over: it is ineligible until it is needed.
    pub fn resign(&mut self) {
        self.resigned = true;
    }

    /// No other member is left to lead.
    pub fn forget_resignation(&mut self) {
        self.resigned = false;
    }

    /// The value of its rank: the greatest possible while an operator's choice is in force.
    pub fn value(&self) -> Option<i64> {
        if self.first { Some(Rank::CHOSEN) } else { self.value }
    }

    /// The value of its own rank, without a choice.
    pub fn own_value(&self) -> Option<i64> {
        self.value
    }

    /// The present value of a leader's rank: its latest sample, unless an operator chose it or it has none.
    pub fn present(&self) -> Option<i64> {
        if self.first { Some(Rank::CHOSEN) } else { self.sample.or(self.value) }
    }

    pub fn sample(&self) -> Option<i64> {
        self.sample
    }

    /// The leader says that an operator chose this member, which is in force until this time. [`Eligibility::freeze`]
    /// makes it rank first.
    pub fn choose(&mut self, until: Time) {
        self.choice = Choice::Until(until);
    }

    /// Whether an operator chose this member, which leads because of that or is about to.
    pub fn is_chosen(&self) -> bool {
        self.choice != Choice::None
    }

    /// Whether this member leads, and ranks first by a choice that an operator has cleared.
    pub fn was_cleared(&self) -> bool {
        self.first && !self.is_chosen()
    }

    /// An operator clears the choice. A leader keeps the rank that it was elected with.
    pub fn clear(&mut self) {
        self.choice = Choice::None;
    }

    /// The choice is over, and this member has its own rank again.
    pub fn end_choice(&mut self) {
        if !Fault::ChoiceKept.is_planted() {
            (self.choice, self.first) = (Choice::None, false);
        }
    }

    /// The same, if this member has led because of it.
    pub fn end_choice_if_led(&mut self) {
        if !matches!(self.choice, Choice::Until(_)) {
            self.end_choice();
        }
    }

    /// Whether it reports the greatest rank, so that others may not know its own.
    pub fn ranks_first(&self) -> bool {
        self.first
    }

    /// Its attribute was sampled anew. [`Eligibility::freeze`] puts that into effect.
    pub fn sampled(&mut self, value: Option<i64>) {
        self.sample = value;
    }

    /// Takes the latest sample as the rank, and the present fitness.
    pub fn freeze(&mut self, now: Time) {
        self.value = self.sample;
        self.unfit = self.is_unfit();
        if matches!(self.choice, Choice::Until(until) if until <= now) {
            self.choice = Choice::None;
        }
        self.first = self.is_chosen() && !Fault::ChoiceUnheeded.is_planted();
    }

    /// It leads no more: if it was to hand over, as it is drained or unhealthy, it does not come back.
    pub fn loses_leadership(&mut self) {
        self.unfit |= self.is_unfit();
    }

    /// Counts for how long it is eligible, from one heartbeat round to the next.
    pub fn observe(&mut self, eligible: bool, of: Incarnation, after: Duration, now: Time) {
        self.streak.observe(eligible, of, after, now);
    }

    /// When it will have been eligible for long enough; none while it is ineligible.
    pub fn due(&self, after: Duration) -> Option<Time> {
        self.streak.due(after)
    }

    /// The earliest time at which it can have been eligible for long enough.
    pub fn earliest(&self, after: Duration, now: Time) -> Time {
        self.streak.earliest(after, now)
    }

    /// At the end of a turn: records whether it is eligible.
    pub fn record_eligible(&mut self, eligible: bool) {
        self.was_ineligible |= !eligible;
    }

    /// It leads, and all that follow it know that it is eligible.
    pub fn leads(&mut self) {
        self.was_ineligible = false;
        if self.is_chosen() {
            self.choice = Choice::Leads;
        }
    }

    pub fn was_ineligible(&self) -> bool {
        self.was_ineligible
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_frozen_until_the_next_election_and_who_has_none_or_resigned_is_not_willing() {
        let mut own = Eligibility::new(None, true, None);
        assert!(!own.is_willing());
        own.sampled(Some(7));
        assert_eq!(own.value(), None);
        own.freeze(Time(0));
        assert!(own.is_willing());
        own.resign();
        assert!(!own.is_willing() && own.has_resigned());
        own.forget_resignation();
        assert!(own.is_willing());
    }

    #[test]
    fn who_is_drained_or_unhealthy_is_not_willing_from_the_end_of_an_election_on() {
        let mut own = Eligibility::new(Some(1), false, None);
        assert!(!own.is_willing(), "its check has not passed yet");
        own.checked(true);
        own.freeze(Time(0));
        assert!(own.is_willing());
        own.set_drain(Drain::default());
        assert!(own.is_willing() && own.is_unfit());
        own.freeze(Time(0));
        assert!(!own.is_willing());
        own.undrain();
        own.freeze(Time(0));
        assert!(!own.is_willing() && own.drain().is_none(), "it is not stored yet");
        own.undrained();
        own.freeze(Time(0));
        assert!(own.is_willing());
        assert!(!Eligibility::new(Some(1), true, Some(Drain::default())).is_willing());
    }

    #[test]
    fn a_chosen_member_ranks_first_for_a_while_and_then_for_as_long_as_it_leads() {
        let mut own = Eligibility::new(Some(1), true, None);
        own.choose(Time(5));
        assert_eq!(own.value(), Some(1), "not in the election that is under way");
        own.freeze(Time(4));
        assert_eq!(own.value(), Some(Rank::CHOSEN));
        own.end_choice_if_led();
        own.freeze(Time(5));
        assert_eq!((own.value(), own.is_chosen()), (Some(1), false), "its time is over");

        own.choose(Time(9));
        own.freeze(Time(6));
        own.leads();
        own.freeze(Time(99));
        assert!(own.ranks_first() && own.is_chosen());
        own.clear();
        assert!(own.was_cleared() && own.value() == Some(Rank::CHOSEN), "a leader keeps its rank");
        own.end_choice_if_led();
        assert_eq!((own.value(), own.was_cleared()), (Some(1), false));
    }

    #[test]
    fn others_may_doubt_it_until_it_leads() {
        let mut own = Eligibility::new(Some(1), true, None);
        own.record_eligible(true);
        assert!(!own.was_ineligible());
        own.record_eligible(false);
        own.record_eligible(true);
        assert!(own.was_ineligible());
        own.leads();
        assert!(!own.was_ineligible());
    }
}
