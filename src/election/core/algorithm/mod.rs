//! The election algorithms, behind one trait: they nominate this member, and the rest of the core decides
//! whether and for how long it leads.

mod bully;
pub(super) mod election;
mod halting;
mod ring;

use serde::{Deserialize, Serialize};

use super::settings::AlgorithmKind;
use bully::Bully;
use election::ElectionAlgorithm;
use halting::Halting;
use ring::Ring;

/// The algorithm that the cluster agreed on, with its state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Algorithm {
    Bully(Bully),
    Halting(Box<Halting>),
    Ring(Box<Ring>),
}

impl Algorithm {
    pub fn new(kind: AlgorithmKind) -> Algorithm {
        match kind {
            AlgorithmKind::Bully => Algorithm::Bully(Bully::default()),
            AlgorithmKind::Halting => Algorithm::Halting(Box::default()),
            AlgorithmKind::Ring => Algorithm::Ring(Box::default()),
        }
    }

    pub fn get(&self) -> &dyn ElectionAlgorithm {
        match self {
            Algorithm::Bully(bully) => bully,
            Algorithm::Halting(halting) => &**halting,
            Algorithm::Ring(ring) => &**ring,
        }
    }

    pub fn get_mut(&mut self) -> &mut dyn ElectionAlgorithm {
        match self {
            Algorithm::Bully(bully) => bully,
            Algorithm::Halting(halting) => &mut **halting,
            Algorithm::Ring(ring) => &mut **ring,
        }
    }
}
