//! A job that must not outlive this member's leadership.
//!
//! While a job runs, a leader that resigns, is preempted or stops releases its epoch after the job has ended. A
//! leadership that ends in any other way ends immediately; with a majority the member then tells nobody before the
//! job has ended, so that the votes stay bound until their lease has expired.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::types::{CommandId, NodeId};

/// The job of this member, and the ending that waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct OwnJob {
    /// The time that the job may take to end when told to. None while no job runs.
    stops_within: Option<Duration>,
    /// What ends the leadership once the job has ended.
    ending: Option<Ending>,
    /// Whether the job did not end in time, so that nothing waits for it any more.
    overdue: bool,
}

/// Why a leader hands over or stops.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Ending {
    /// An operator asked the leader to hand over, to this member if any.
    Resign(Option<NodeId>),
    /// The leader is drained or unhealthy.
    Unfit,
    /// This higher member takes over.
    Preempted(NodeId),
    /// An operator chose this member, which takes over.
    SwitchedOver(NodeId),
    /// The process is about to end; these commands asked for it.
    Stop(Vec<CommandId>),
    /// The job of the leader failed.
    JobFailed,
}

impl OwnJob {
    /// A job runs from now on; it ends within this time after it is told to.
    pub fn start(&mut self, stops_within: Duration) {
        self.stops_within = Some(stops_within);
        self.overdue = false;
    }

    pub fn runs(&self) -> bool {
        self.stops_within.is_some()
    }

    /// How long a leader that hands over or stops waits for the job; none if it does not.
    pub fn awaited(&self) -> Option<Duration> {
        self.stops_within.filter(|_| !self.overdue)
    }

    /// The leadership ends for this reason once the job has ended. Returns whether no ending waited before. The end
    /// of the process replaces any other reason; of the others the first stays.
    pub fn end_for(&mut self, ending: Ending) -> bool {
        match (&mut self.ending, ending) {
            (Some(Ending::Stop(asked)), Ending::Stop(more)) => asked.extend(more),
            (Some(before), Ending::Stop(asked)) => *before = Ending::Stop(asked),
            (Some(Ending::Stop(_) | Ending::Resign(_)), _) => {}
            (Some(before), ending @ (Ending::Resign(_) | Ending::JobFailed)) => *before = ending, // no other undoes it
            (Some(_), _) => {}
            (none, ending) => {
                *none = Some(ending);
                return true;
            }
        }
        false
    }

    /// Whether it was said that the leader resigns, once the job has ended.
    pub fn resigns(&self) -> bool {
        matches!(self.ending, Some(Ending::Resign(_) | Ending::JobFailed))
    }

    /// What ends the leadership once the job has ended, if anything does.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The job did not end in time: returns the ending that waited for it.
    pub fn overdue(&mut self) -> Option<Ending> {
        self.overdue = true;
        self.ending.take()
    }

    /// The job has ended: returns the ending that waited for it.
    pub fn end(&mut self) -> Option<Ending> {
        std::mem::take(self).ending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leadership_waits_for_its_job_and_the_end_of_the_process_for_all_who_asked() {
        let mut job = OwnJob::default();
        assert_eq!(job.awaited(), None);
        job.start(Duration::from_secs(1));
        assert!(job.end_for(Ending::Resign(None)));
        assert!(!job.end_for(Ending::Preempted(NodeId::default())));
        assert!(!job.end_for(Ending::Stop(vec![CommandId(1)])));
        assert!(!job.end_for(Ending::Stop(vec![CommandId(2)])));
        assert_eq!(job.end(), Some(Ending::Stop(vec![CommandId(1), CommandId(2)])));
        assert!(!job.runs());
    }

    #[test]
    fn a_job_that_is_overdue_runs_on_and_nothing_waits_for_it() {
        let mut job = OwnJob::default();
        job.start(Duration::from_secs(1));
        job.end_for(Ending::Resign(None));
        assert_eq!(job.overdue(), Some(Ending::Resign(None)));
        assert!(job.runs() && job.awaited().is_none());
    }
}
