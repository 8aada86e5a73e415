//! Which election is asked for, of what the nodes recorded, and what it was.

use std::collections::BTreeMap;

use crate::trace::event::DrawnEvent;
use crate::trace::record::{MessageKind, Record};

/// The record of a node, and how its clock compares with the one of the asker.
#[derive(Clone, Debug)]
pub struct TimedRecord {
    /// Its record.
    pub record: Record,
    /// By how many nanoseconds the clock of the record has to be advanced to show the asker's time, as the asker
    /// estimates.
    pub ahead_ns: i128,
}

/// Which election is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last that ended; while no node whose record is there has a leader, what they do since.
    Last,
    /// The one that this epoch came of.
    Epoch(u64),
    /// All that was recorded, in which there may be several, or none.
    All,
}

/// An election, as all records together show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The names of all members, in the order of their ids.
    pub names: Vec<String>,
    /// The members of which there is no record.
    pub silent: Vec<String>,
    /// The election algorithm.
    pub algorithm: String,
    /// The epoch of the election; none if it has not ended.
    pub epoch: Option<u64>,
    /// The leaders in it, as far as any member recorded: with the quorum `none` there may be several.
    pub leaders: Vec<String>,
    /// How many members took part, as far as anybody told.
    pub members: usize,
    /// When it began, in nanoseconds by the asker's clock.
    pub began_ns: i128,
    /// The events in order, from its begin on.
    pub events: Vec<DrawnEvent>,
    /// How many messages of each kind the members sent. A COORDINATOR counts if it was taken,
    /// or may have been.
    pub messages: BTreeMap<MessageKind, u64>,
    /// How many earlier events are left out, since there are too many.
    pub left_out: usize,
}
