//! How far numbers from outside may be ahead of those that this member knows.
//!
//! Epochs, rounds, versions and incarnations only grow, and a member that takes one that is too great keeps it for
//! ever, restarts included. So a member takes no impossible number: it refuses a hello with one, and says why, and
//! closes a connection on which a message has one.

use std::time::Duration;

use super::hello::{Hello, Rejection};
use super::message::Envelope;
use super::planted::Fault;
use super::settings::Timing;
use super::state::State;
use super::told::Told;
use super::types::Version;

/// The most by which an epoch, a round or a counter may be ahead. A cluster takes 13 years to get there, with ten
/// elections a second, and a member that was away for so long is added anew.
const MOST: u64 = 1 << 32;

/// The most starts between two meetings with a member: half a year of a start every second. A member that says more
/// may as well be a liar that wants to keep the true one out.
const MOST_STARTS: u64 = 1 << 24;

/// A rejection for a number that is too great, in the form of a setting that differs, which an older electd knows as
/// well.
fn beyond(key: &str, told: u64, known: u64, most: u64) -> Option<Rejection> {
    let limit = known.saturating_add(most);
    (told > limit && !Fault::FarAhead.is_planted()).then(|| Rejection::Disagreement {
        key: key.to_owned(),
        ours: format!("at most {limit}"),
        theirs: told.to_string(),
    })
}

impl State {
    /// The greatest epoch or round that this member knows.
    fn greatest_known(&self) -> u64 {
        self.epochs.round().max(self.view().epoch).max(self.membership.version().epoch).0
    }

    fn greatest_counter(&self) -> u64 {
        self.membership.version().counter.max(self.membership.newest().counter)
    }

    /// Why a number in a hello is impossible, if one is.
    pub(super) fn jump_of_hello(&self, hello: &Hello) -> Option<Rejection> {
        let Version { epoch, counter } = hello.list.version();
        let known = self.greatest_known();
        let met = self.detector.get(hello.id).map(|peer| peer.proven().0.0).unwrap_or_default();
        beyond("round", hello.round.0, known, MOST)
            .or_else(|| beyond("epoch", hello.view.epoch.max(epoch).0, known, MOST))
            .or_else(|| beyond("list version", counter, self.greatest_counter(), MOST))
            .or_else(|| beyond("incarnation", hello.incarnation.0, met, MOST_STARTS))
    }

    /// Why a number in a message is impossible, if one is.
    pub(super) fn jump_of_message(&self, envelope: &Envelope) -> Option<Rejection> {
        let Told { epoch, list, task, pause, lease } = envelope.message.told().and(envelope.epoch);
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        beyond("epoch", epoch.0, self.greatest_known(), MOST)
            .or_else(|| beyond("list version", list, self.greatest_counter(), MOST))
            .or_else(|| beyond("task version", task, self.records.task().version.counter, MOST))
            .or_else(|| {
                beyond("pause version", pause, self.membership.pause().version.counter, MOST)
            })
            .or_else(|| beyond("lease", nanos(lease), nanos(Timing::LONGEST), 0))
    }
}
