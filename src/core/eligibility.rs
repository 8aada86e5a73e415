//! Whether this member itself wants to lead, and with which rank.

use std::time::Duration;

use super::standing::Standing;
use super::types::{Drain, Incarnation, Time};

/// What makes this member eligible as far as it depends on itself alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Eligibility {
    /// An operator made this member stand back.
    resigned: bool,
    /// An operator keeps it from leading.
    drain: Option<Drain>,
    /// Its health check fails, or has not passed yet.
    unhealthy: bool,
    /// Drained or unhealthy, frozen for the election that is under way.
    unfit: bool,
    /// The own attribute, frozen for the election that is under way.
    value: Option<i64>,
    /// Its latest sample.
    sample: Option<i64>,
    /// For how long this member has been eligible without a break.
    standing: Standing,
    /// It has not been eligible all the time since it led last, or was started.
    was_ineligible: bool,
}

impl Eligibility {
    /// A member with this attribute, if it has one yet.
    pub fn new(value: Option<i64>, healthy: bool, drain: Option<Drain>) -> Eligibility {
        let unhealthy = !healthy;
        let unfit = unhealthy || drain.is_some();
        let own = Eligibility { value, sample: value, ..Eligibility::default() };
        Eligibility { drain, unhealthy, unfit, ..own }
    }

    /// Whether neither an operator, nor a check, nor a missing attribute keeps it back.
    pub fn is_willing(&self) -> bool {
        !self.resigned && !self.unfit && self.value.is_some()
    }

    /// An operator keeps it from leading, or does not any more. It counts when [`Eligibility::freeze`] says so.
    pub fn set_drain(&mut self, drain: Option<Drain>) {
        self.drain = drain;
    }

    pub fn drain(&self) -> Option<&Drain> {
        self.drain.as_ref()
    }

    /// Its health check passes or fails, which counts when [`Eligibility::freeze`] says so.
    pub fn checked(&mut self, healthy: bool) {
        self.unhealthy = !healthy;
    }

    pub fn is_healthy(&self) -> bool {
        !self.unhealthy
    }

    /// Whether it is to stand back as soon as no election is under way.
    pub fn is_unfit(&self) -> bool {
        self.unhealthy || self.drain.is_some()
    }

    pub fn has_resigned(&self) -> bool {
        self.resigned
    }

    /// An operator has it hand over: it is not eligible until it is needed.
    pub fn resign(&mut self) {
        self.resigned = true;
    }

    /// Nobody else is left to lead.
    pub fn is_needed(&mut self) {
        self.resigned = false;
    }

    /// The value of its rank.
    pub fn value(&self) -> Option<i64> {
        self.value
    }

    /// Its attribute was sampled anew, which counts when [`Eligibility::freeze`] says so.
    pub fn sampled(&mut self, value: Option<i64>) {
        self.sample = value;
    }

    /// Takes the latest sample as the rank, and whether it is fit.
    pub fn freeze(&mut self) {
        self.value = self.sample;
        self.unfit = self.is_unfit();
    }

    /// Notes whether it is eligible, from one heartbeat round to the next.
    pub fn observe(&mut self, eligible: bool, of: Incarnation, after: Duration, now: Time) {
        self.standing.observe(eligible, of, after, now);
    }

    /// When it will have been eligible for long enough; none while it is not.
    pub fn due(&self, after: Duration) -> Option<Time> {
        self.standing.due(after)
    }

    /// At the end of a turn: notes whether it is eligible.
    pub fn note(&mut self, eligible: bool) {
        self.was_ineligible |= !eligible;
    }

    /// It leads, and all who follow it know that it is eligible.
    pub fn leads(&mut self) {
        self.was_ineligible = false;
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
        own.freeze();
        assert!(own.is_willing());
        own.resign();
        assert!(!own.is_willing() && own.has_resigned());
        own.is_needed();
        assert!(own.is_willing());
    }

    #[test]
    fn who_is_drained_or_unhealthy_is_not_willing_from_the_end_of_an_election_on() {
        let mut own = Eligibility::new(Some(1), false, None);
        assert!(!own.is_willing(), "its check has not passed yet");
        own.checked(true);
        own.freeze();
        assert!(own.is_willing());
        own.set_drain(Some(Drain::default()));
        assert!(own.is_willing() && own.is_unfit());
        own.freeze();
        assert!(!own.is_willing());
        assert!(!Eligibility::new(Some(1), true, Some(Drain::default())).is_willing());
    }

    #[test]
    fn others_may_doubt_it_until_it_leads() {
        let mut own = Eligibility::new(Some(1), true, None);
        own.note(true);
        assert!(!own.was_ineligible());
        own.note(false);
        own.note(true);
        assert!(own.was_ineligible());
        own.leads();
        assert!(!own.was_ineligible());
    }
}
