//! What the disk of a voter has, and what a start after a crash would so count on.

use std::time::Duration;

use super::life::LifeStart;
use super::{Breach, SpecAction};
use crate::core::durable::{Durable, Vote, VoterRecord};
use crate::core::membership::ListVersion;
use crate::core::types::{Epoch, Time};

/// A record, as far as votes and promises need it.
#[derive(Clone, Copy, Debug)]
struct Written {
    number: u64,
    vote: VoterRecord,
    reserved: Epoch,
    list: ListVersion,
}

/// The records of one life.
#[derive(Debug)]
pub struct VoterDisk {
    /// The record that is durable, as far as is known.
    durable: Option<Written>,
    /// Those after it, which may be durable as well.
    under_way: Vec<Written>,
    /// The last vote that was written.
    voted: Option<Vote>,
    /// What the start found, and until when it may not be forgotten.
    found: VoterRecord,
    waits_until: Time,
}

impl VoterDisk {
    pub fn new(start: &LifeStart, forgot: Epoch, waits_until: Time) -> VoterDisk {
        let started = start.started;
        let vote = started.wrote.unwrap_or_default();
        let list = start.list.version();
        let written = Written { number: 0, vote, reserved: started.reserved, list };
        let found = VoterRecord { forgot, ..started.found.unwrap_or_default() };
        VoterDisk {
            durable: Some(written).filter(|_| start.is_whole),
            under_way: Vec::new(),
            voted: found.voted,
            found,
            waits_until,
        }
    }

    /// All records up to this number are durable.
    pub fn wrote_up_to(&mut self, number: u64) {
        let written = self.under_way.iter().rev().find(|written| written.number <= number);
        self.durable = written.copied().or(self.durable);
        self.under_way.retain(|written| written.number > number);
    }

    /// A record is handed to the disk. It keeps what the life before left, and the longest promise that was made since.
    /// `Write` writes all that the voter knows; and only `Stop` leaves a record that counts as whole.
    pub fn takes(
        &mut self,
        (number, record): (u64, &Durable),
        (now, stops): (Time, bool),
        made: Duration,
    ) -> Result<Option<Vote>, Breach> {
        let Some(vote) = record.vote else { return Ok(None) };
        let (reserved, list) = (record.reserved, record.members.version());
        self.under_way.push(Written { number, vote, reserved, list });
        let waits = now < self.waits_until;
        if made > vote.promised {
            return Breach::of(
                SpecAction::Write,
                format!("no record has a promise of {made:?} (Q4)"),
            );
        }
        if waits && vote.promised < self.found.promised {
            return Breach::of(SpecAction::Write, "a promise of the life before is forgotten (Q4)");
        }
        if !vote.behind && (!stops || waits && self.found.behind) {
            return Breach::of(SpecAction::Write, "the record counts as whole, and is not (Q13)");
        }
        if vote.forgot < self.found.forgot && record.epoch <= self.found.forgot {
            return Breach::of(SpecAction::Write, "it is forgotten what was forgotten (Q13)");
        }
        let against = |before: &Vote| match vote.voted {
            None => true,
            Some(vote) => {
                vote.epoch < before.epoch || vote.epoch == before.epoch && vote != *before
            }
        };
        if let Some(before) = self.voted.filter(against) {
            let epoch = before.epoch;
            return Breach::of(
                SpecAction::Write,
                format!("the vote of epoch {epoch} is replaced (Q1)"),
            );
        }
        self.voted = vote.voted;
        Ok(vote.voted)
    }

    /// Whether a crash leaves this vote, or counts on it. (Q2)
    pub fn covers(&self, vote: Vote, length: Duration) -> bool {
        let Some(durable) = &self.durable else { return true };
        let reserve = self.all().map(|written| written.reserved).min();
        let at_once = reserve >= Some(vote.epoch) && durable.vote.informed;
        (durable.vote.voted == Some(vote) || at_once) && self.remembers(length)
    }

    /// Whether a start after a crash waits for a promise of this length. (Q4)
    pub fn remembers(&self, length: Duration) -> bool {
        self.durable.is_none() || self.all().all(|written| length <= written.vote.promised)
    }

    /// Whether it has a list of this version, or a later one.
    pub fn has_list(&self, version: ListVersion) -> bool {
        self.durable.is_none_or(|durable| durable.list >= version)
    }

    /// What a crash may find.
    fn all(&self) -> impl Iterator<Item = &Written> {
        self.durable.iter().chain(&self.under_way)
    }
}
