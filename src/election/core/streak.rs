//! For how long a member has been eligible without a break. A member that preempts only after a while waits for this,
//! longer the more often it flapped.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::types::{Incarnation, Time};

/// The wait doubles with every early break, up to this many times.
const MOST_DOUBLINGS: u32 = 5;

/// How long a member has been eligible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Streak {
    /// Since when it has been alive and eligible, in this incarnation.
    since: Option<(Time, Incarnation)>,
    /// How many breaks came before it had been eligible for the wait that was due.
    breaks: u32,
}

impl Streak {
    /// The longest wait, as a multiple of the first.
    pub const LONGEST: u32 = 1 << MOST_DOUBLINGS;

    /// Records whether a member is eligible now.
    pub fn observe(&mut self, eligible: bool, run: Incarnation, after: Duration, now: Time) {
        if let Some((since, known)) = self.since {
            if eligible && known == run {
                return;
            }
            let early = now < since + self.wait(after);
            self.breaks = if early { (self.breaks + 1).min(MOST_DOUBLINGS) } else { 0 };
        }
        self.since = eligible.then_some((now, run));
    }

    /// When it will have been eligible for long enough; none while it is ineligible.
    pub fn due(&self, after: Duration) -> Option<Time> {
        self.since.map(|(since, _)| since + self.wait(after))
    }

    /// The earliest time at which it can have been eligible for long enough.
    pub fn earliest(&self, after: Duration, now: Time) -> Time {
        self.due(after).unwrap_or_else(|| now + self.wait(after))
    }

    fn wait(&self, after: Duration) -> Duration {
        after.saturating_mul(1 << self.breaks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_nanos(100);

    #[test]
    fn whoever_comes_and_goes_waits_longer_and_longer() {
        let mut streak = Streak::default();
        assert_eq!(streak.due(AFTER), None);
        streak.observe(true, Incarnation(1), AFTER, Time(1000));
        streak.observe(true, Incarnation(1), AFTER, Time(1050));
        assert_eq!(streak.due(AFTER), Some(Time(1100)), "no break");

        streak.observe(false, Incarnation(1), AFTER, Time(1060));
        assert_eq!(streak.due(AFTER), None);
        assert_eq!(
            streak.earliest(AFTER, Time(1065)),
            Time(1265),
            "it begins anew, and takes twice the wait"
        );
        streak.observe(true, Incarnation(1), AFTER, Time(1070));
        assert_eq!(streak.earliest(AFTER, Time(1100)), Time(1270));
        assert_eq!(streak.due(AFTER), Some(Time(1270)), "twice the wait");
        streak.observe(true, Incarnation(2), AFTER, Time(1100));
        assert_eq!(streak.due(AFTER), Some(Time(1500)), "a restart is a break");

        streak.observe(false, Incarnation(2), AFTER, Time(1600));
        streak.observe(true, Incarnation(2), AFTER, Time(1700));
        assert_eq!(streak.due(AFTER), Some(Time(1800)), "it had been eligible for long enough");
    }
}
