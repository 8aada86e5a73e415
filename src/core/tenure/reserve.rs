//! The durable reserve of epochs: a leader is named only in an epoch that a restart cannot forget.
//!
//! Reserving runs ahead in the background, so that neither winning nor following waits for the
//! disk.

use crate::core::planted::Fault;
use crate::core::types::Epoch;

/// How far ahead epochs are reserved, and when it is time to reserve again.
const AHEAD: u64 = 16;
const LOW: u64 = 8;

/// The durable reserve of epochs, and what waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reserve {
    /// Epochs up to this one are durable.
    durable: Epoch,
    /// The greatest reserve asked for, with the number of the record that holds it.
    asked: Epoch,
    asked_in: u64,
    /// The number of the last record handed to the store.
    written: u64,
}

impl Reserve {
    /// Starts with epochs up to `reserved` already durable.
    #[must_use]
    pub fn new(reserved: Epoch) -> Reserve {
        Reserve { durable: reserved, asked: reserved, asked_in: 0, written: 0 }
    }

    /// What a member that knows of `epoch` reserves at its start.
    #[must_use]
    pub fn first_reserve(epoch: Epoch) -> Epoch {
        Epoch(epoch.0.saturating_add(AHEAD))
    }

    /// Whether a leader of this epoch may be named.
    #[must_use]
    pub fn covers(&self, epoch: Epoch) -> bool {
        epoch <= self.durable || Fault::NotDurable.is_planted()
    }

    /// Whether the reserve above `epoch` runs low and nothing has been asked for yet.
    #[must_use]
    pub fn runs_low(&self, epoch: Epoch) -> bool {
        self.asked.0 < epoch.0.saturating_add(LOW)
    }

    /// The number and the reserve of a record to be written now, for a member that knows of
    /// `epoch`.
    pub fn record(&mut self, epoch: Epoch) -> (u64, Epoch) {
        self.written += 1;
        if self.runs_low(epoch) {
            self.asked = Reserve::first_reserve(epoch);
            self.asked_in = self.written;
        }
        (self.written, self.asked)
    }

    /// The number of the last record of this life, which gives back what was reserved above
    /// `round` and never used: nothing is claimed after it.
    pub fn last_record(&mut self, round: Epoch) -> (u64, Epoch) {
        self.written += 1;
        self.asked = round;
        self.asked_in = u64::MAX;
        (self.written, round)
    }

    /// Notes that all records up to this number are durable.
    pub fn persisted(&mut self, number: u64) {
        if number >= self.asked_in {
            self.durable = self.durable.max(self.asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_covered_only_after_its_record_is_durable() {
        let mut reserve = Reserve::new(Epoch(AHEAD));
        assert!(reserve.covers(Epoch(AHEAD)) && !reserve.covers(Epoch(AHEAD + 1)));
        assert!(!reserve.runs_low(Epoch(LOW)) && reserve.runs_low(Epoch(LOW + 1)));

        let next = Epoch(LOW + 1 + AHEAD);
        assert_eq!(reserve.record(Epoch(LOW + 1)), (1, next));
        assert!(!reserve.covers(next), "asked for is not written");
        assert_eq!(reserve.record(Epoch(LOW + 2)), (2, next));
        reserve.persisted(1);
        assert!(reserve.covers(next));
    }

    #[test]
    fn the_last_record_gives_back_what_was_not_used() {
        let mut reserve = Reserve::new(Epoch(AHEAD));
        assert_eq!(reserve.last_record(Epoch(3)), (1, Epoch(3)));
        reserve.persisted(1);
        assert!(reserve.covers(Epoch(AHEAD)), "of this life");
    }
}
