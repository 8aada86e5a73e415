//! Records of several nodes as one election, ordered by causes: a pure function of what the nodes recorded.
//!
//! | file | room |
//! |---|---|
//! | `pairs` | which message that one node sent is which that another took |
//! | `clocks` | by how much each clock has to be advanced |
//! | `order` | one order of all entries |
//! | `select` | the entries of one election |
//! | `events` | these as events that can be shown |
//! | `election` | what is asked for, and what is found |
//! | `figures` | how many messages it took, and how many it takes by the formulas |

mod clocks;
mod election;
mod events;
pub mod figures;
mod order;
mod pairs;
mod select;

use super::record::Record;
use clocks::{Flight, align};
pub use election::{Merged, TimedRecord, Which};
use events::DrawnEvents;
use order::CommonOrder;
use pairs::Pairs;
use select::{KnownRecords, Selected};

/// The most events of an election: as many as a browser shows at ease.
const MOST_EVENTS: usize = super::svg::MOST_EVENTS;

/// The election as these records show it together, in an order in which no event comes before what brought it about;
/// none if none of them has it.
///
/// ```
/// use electd_record::trace::merge::{Which, merge};
///
/// assert_eq!(merge(&[], Which::Last), None, "nobody recorded anything");
/// ```
#[must_use]
pub fn merge(timed: &[TimedRecord], which: Which) -> Option<Merged> {
    let records: Vec<&Record> = timed.iter().map(|timed| &timed.record).collect();
    let mut pairs = Pairs::find(&records);
    let flights: Vec<Flight> = pairs
        .iter()
        .map(|(sent, taken)| Flight {
            from: sent.0,
            to: taken.0,
            sent: records[sent.0].entries[sent.1].at_ns.into(),
            taken: records[taken.0].entries[taken.1].at_ns.into(),
        })
        .collect();
    let estimates: Vec<i128> = timed.iter().map(|timed| timed.ahead_ns).collect();
    let ahead = align(&estimates, &flights);
    let order = CommonOrder::of(&records, &ahead, &mut pairs);
    let known = KnownRecords { records: &records, pairs: &pairs, order: &order };
    let Selected { epoch, common, mut entries } = known.select(which)?;
    let mut chosen: Vec<_> =
        order.all.iter().copied().filter(|entry| entries.contains(entry)).collect();
    let left_out = chosen.len().saturating_sub(MOST_EVENTS);
    chosen.drain(..left_out).for_each(|entry| _ = entries.remove(&entry));
    let drawn = DrawnEvents::of(&known, &ahead, (&chosen, common));
    Some(Merged { epoch, left_out, ..drawn.finish(epoch) })
}

#[cfg(test)]
mod tests;
