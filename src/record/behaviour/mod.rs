//! Whether recordings are behaviours of the specification: a judge of what nodes took and put out, by the actions of
//! docs/spec/Votes.tla and Promises.tla.
//!
//! It borrows nothing from the core but its words. From messages, records, starts and times it derives what each voter
//! promised, what its disk has and on which promises a leader may count, and refuses the first step whose guard in the
//! specification does not hold. A step that nobody recorded may have been, unless something recorded contradicts it: a
//! node that is killed takes its recording along, and a long recording has lost its beginning. Times are compared within
//! one life of one node alone, and a leader may rely on 9/11 of a promise, as the clocks of two hosts drift.
//!
//! | file | what it judges |
//! |---|---|
//! | `life` | nothing: the lives in a recording, turn by turn |
//! | `disk` | `Write`, and what a vote may rely on |
//! | `promises` | what a voter promised, and what ends that: `TakeRelease`, `TakeCertificate` |
//! | `voter` | `GiveVote`, `Acknowledge`, `Take` |
//! | `term` | until when a leader may lead: `Renew` |
//! | `leader` | `Become`, `Beat`, `Release`, `Done` |
//! | `alone` | one life, turn by turn |
//! | `together` | `NoEpochTwice`, `Crash`, and that what was received had been sent |

mod alone;
mod disk;
mod leader;
pub mod life;
mod promises;
mod term;
mod together;
mod voter;

use std::collections::BTreeMap;
use std::fmt;

use strum::IntoStaticStr;

use crate::core::settings::Quorum;
use crate::core::types::{Incarnation, NodeId, Time};
use life::RecordedLife;

/// An action or an invariant of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
pub enum SpecAction {
    /// A voter votes for a candidate; `Vote` in Promises.tla.
    GiveVote,
    /// A voter promises a leader what its heartbeat asks for.
    Acknowledge,
    /// A voter has stored the list of a leader.
    Take,
    /// A voter has something written.
    Write,
    /// A process ends, and another starts with what the disk has; `Stop` and `Restart` as well.
    Crash,
    /// A candidate begins to lead.
    Become,
    /// A leader says that it leads.
    Beat,
    /// The promises of a majority make a lease longer.
    Renew,
    /// A leader says that it leads no more.
    Release,
    /// A list counts as stored by a majority.
    Done,
    /// No epoch has two leaders.
    NoEpochTwice,
}

/// What is not a step of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The action whose guard does not hold.
    pub action: SpecAction,
    /// Why not.
    pub why: String,
}

impl Breach {
    fn of<T>(action: SpecAction, why: impl Into<String>) -> Result<T, Breach> {
        Err(Breach { action, why: why.into() })
    }
}

/// A recording that is no behaviour of the specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRecording {
    /// The node, and its life.
    pub node: String,
    /// How often it had been started.
    pub incarnation: Incarnation,
    /// The turn of its recording, from 1 on; 0 is the start.
    pub turn: usize,
    /// When that was, by the clock of the node.
    pub at: Time,
    /// What is wrong.
    pub breach: Breach,
}

impl fmt::Display for RefusedRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RefusedRecording { node, incarnation, turn, at, breach } = self;
        let (action, ms): (&str, _) = (breach.action.into(), at.0 / 1_000_000);
        write!(f, "{node}, life {incarnation}, turn {turn} at {ms} ms: {action}: {}", breach.why)
    }
}

/// What was judged, and found to be a behaviour of the specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgedRecordings {
    /// The lives of nodes.
    pub lives: usize,
    /// Their turns.
    pub turns: usize,
    /// How many steps of each kind they took.
    pub steps: BTreeMap<SpecAction, u64>,
}

/// Something that one life said or took, and that other recordings may contradict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ToldAnswer {
    /// Whose vote or acknowledgement it is.
    by: (NodeId, Incarnation),
    to: (NodeId, Incarnation),
    /// The epoch and the number of the request or heartbeat.
    epoch: u64,
    number: u64,
}

/// Judges these lives, of all nodes, one by one and then together. Without a majority there are neither votes nor promises.
///
/// # Errors
/// The first step that the specification does not have.
pub fn judge(lives: &[RecordedLife]) -> Result<JudgedRecordings, RefusedRecording> {
    let mut judged = JudgedRecordings::default();
    let mut accounts = Vec::new();
    for life in lives.iter().filter(|life| life.start.quorum == Quorum::Majority) {
        judged.lives += 1;
        judged.turns += life.turns.len();
        accounts.push(alone::judge(life, &mut judged.steps)?);
    }
    together::judge(&accounts)?;
    Ok(judged)
}
