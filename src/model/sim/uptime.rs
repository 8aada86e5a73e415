//! For how much of the time a member leads, as all clients could read it: by the published pages, for
//! as long as a client may believe them.

use std::time::Duration;

use crate::core::types::Time;

/// Counts the time in which at least one member says that it leads.
#[derive(Debug)]
pub(super) struct Uptime {
    began: Time,
    /// Up to when the time is counted.
    counted: Time,
    led: Duration,
    /// In how much of it a second one did.
    rivalled: Duration,
    /// Until when, in true time, each member's claim to lead is believed.
    claims: Vec<Time>,
}

impl Uptime {
    /// Counts from now on. Nobody is known to lead.
    pub fn new(nodes: usize, now: Time) -> Uptime {
        Uptime {
            began: now,
            counted: now,
            led: Duration::ZERO,
            rivalled: Duration::ZERO,
            claims: vec![Time(0); nodes],
        }
    }

    /// From now on a member's claim to lead is believed until then.
    pub fn claims(&mut self, now: Time, node: usize, until: Time) {
        self.count(now);
        self.claims[node] = until;
    }

    fn count(&mut self, now: Time) {
        let (mut first, mut second) = (Time(0), Time(0));
        for until in &self.claims {
            if *until > first {
                (first, second) = (*until, first);
            } else {
                second = second.max(*until);
            }
        }
        self.led += first.min(now).since(self.counted);
        self.rivalled += second.min(now).since(self.counted);
        self.counted = now;
    }

    /// In how much of the time until now a member led, and in how much of it two or more did.
    pub fn totals(&mut self, now: Time) -> (Duration, Duration) {
        self.count(now);
        (self.led, self.rivalled)
    }

    /// The share of the time until now, in thousandths.
    pub fn share(&mut self, now: Time) -> u128 {
        self.count(now);
        let all = now.since(self.began).as_nanos().max(1);
        self.led.as_nanos() * 1000 / all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_while_anybodys_claim_is_believed() {
        let mut uptime = Uptime::new(2, Time(1000));
        uptime.claims(Time(1100), 0, Time(1500));
        uptime.claims(Time(1200), 1, Time(1300));
        assert_eq!(uptime.share(Time(1400)), 750, "from 1100 on");
        assert_eq!(uptime.share(Time(2000)), 400, "until 1500");
        uptime.claims(Time(2000), 1, Time(9000));
        uptime.claims(Time(2500), 1, Time(0));
        assert_eq!(uptime.share(Time(3000)), 450, "it gave up");
        assert_eq!(uptime.totals(Time(3000)).1, Duration::from_nanos(100), "from 1200 to 1300");
    }
}
