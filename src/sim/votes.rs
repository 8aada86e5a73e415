//! What voters tell, held against what they told before: no grant is broken, forgotten or given
//! twice, and no promise ends early.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::types::{Epoch, NodeId, Time};

/// An epoch and whose it is.
pub(super) type Grant = (Epoch, NodeId);

/// What one voter told, in all its lives.
#[derive(Clone, Debug, Default)]
struct Voter {
    /// The greatest epoch that it ever granted, and to whom.
    granted: Option<Grant>,
    /// Whom it acknowledged last, and until when it is bound by that, by its own clock.
    bound: Option<(Grant, Time)>,
}

/// All voters, by their places.
#[derive(Debug)]
pub(super) struct Votes {
    voters: Vec<Voter>,
    /// Which voters granted what, besides the nominee itself.
    grants: BTreeMap<Grant, BTreeSet<usize>>,
    /// A proof of death ends a promise, too.
    proofs: bool,
}

impl Votes {
    pub fn new(nodes: usize, proofs: bool) -> Votes {
        Votes { voters: vec![Voter::default(); nodes], grants: BTreeMap::new(), proofs }
    }

    /// How many of these voters granted this, the nominee itself among them.
    pub fn count(&self, grant: Grant, votes: impl Fn(usize) -> bool) -> usize {
        let granted = self.grants.get(&grant).into_iter().flatten();
        granted.filter(|at| votes(**at)).count() + 1
    }

    /// A voter tells a nominee that it grants it an epoch: once, not what a crash would forget, and
    /// not while it is bound to another. Tells what is wrong.
    pub fn grants(
        &mut self,
        at: usize,
        grant: Grant,
        durable: Option<Grant>,
        local: Time,
    ) -> Result<(), String> {
        let (epoch, nominee) = grant;
        self.grants.entry(grant).or_default().insert(at);
        let voter = &mut self.voters[at];
        let before = voter.granted.replace(grant);
        let stands_against =
            |(known, to): Grant| known > epoch || (known == epoch && to != nominee);
        if let Some((known, _)) = before.filter(|before| stands_against(*before)) {
            return Err(format!("grants epoch {epoch} after {known}"));
        }
        if durable.is_none_or(|(known, to)| known < epoch || (known == epoch && to != nominee)) {
            return Err(format!("tells its grant of {epoch} too early"));
        }
        match voter.bound {
            Some(((bound, to), until)) if to != nominee && local < until && !self.proofs => {
                Err(format!("grants epoch {epoch} while it is bound in epoch {bound}"))
            }
            _ => Ok(()),
        }
    }

    /// A voter acknowledges the heartbeat of a leader, and is bound until then; not of one that its
    /// grant stands against.
    pub fn acknowledges(&mut self, at: usize, leader: Grant, until: Time) -> Result<(), String> {
        let voter = &mut self.voters[at];
        voter.bound = Some((leader, until));
        let later = voter.granted.filter(|(granted, _)| *granted > leader.0);
        later.map_or(Ok(()), |(granted, _)| {
            Err(format!("acknowledges epoch {} after it granted {granted}", leader.0))
        })
    }

    /// A voter leads itself. Who granted it that was not bound to an older leader any more, nor is then any
    /// majority: what it promised itself holds nothing up.
    pub fn leads(&mut self, at: usize, epoch: Epoch) {
        self.voters[at].bound.take_if(|((bound, _), _)| *bound < epoch);
    }

    /// A voter hears that a leader, or a nominee that led before, released its epoch.
    pub fn hears_release(&mut self, at: usize, (epoch, by): Grant) {
        self.voters[at].bound.take_if(|((bound, to), _)| *to == by && *bound <= epoch);
    }
}
