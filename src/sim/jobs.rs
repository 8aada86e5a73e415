//! Jobs that run only while their member leads, and the guard that ends them.
//!
//! A job starts soon after its member came to lead, and the process hears of that first. The guard is
//! another process on the same host: its process has told it when the leadership ends, and the guard
//! ends the job by then, even while the process is paused. When the process dies, the guard ends the
//! job immediately, and the next process of the member does not start before. In a clean handover a job
//! takes any time to end; now and then one does not end until its guard's deadline.

use std::time::Duration;

use super::agenda::Event;
use super::agenda::JobEvent;
use super::counters::Counter;
use super::guards::Job;
use super::node::Node;
use super::world::World;
use crate::core::types::{Epoch, Time};
use crate::core::{Core, Phase};

/// The longest from the lead to the start of a job, and from the death of a process to that of its job.
const SOON: Duration = Duration::from_millis(5);

/// The epoch in which a process leads, and until when by its clock.
pub(super) fn leads(core: &Core, now: Time) -> Option<(Epoch, Time)> {
    let until = core.believable_until(now);
    (core.phase() == Phase::Leading && now < until).then_some((core.view().epoch, until))
}

impl World {
    /// After a turn of a process: its guard learns until when the leadership holds, or that it ended.
    pub(super) fn look_after_job(&mut self, node: usize) {
        let Node { core, clock, incarnation, .. } = &self.nodes[node];
        let (now, incarnation) = (clock.local(self.now), *incarnation);
        let leads = core.as_ref().and_then(|core| leads(core, now));
        let Some(jobs) = &mut self.jobs else { return };
        let job = &mut jobs.of[node];
        let what = match (job.epoch, leads) {
            _ if job.moving => return,
            (None, Some(_)) => JobEvent::Starts,
            (Some(_), _) if job.until <= now => JobEvent::Told, // the guard has ended it
            (Some(epoch), Some((led, until))) if epoch == led => {
                job.until = job.until.max(until);
                return;
            }
            (Some(_), _) => JobEvent::Ends,
            (None, None) => return,
        };
        job.moving = true;
        let number = job.number;
        let most = match what {
            JobEvent::Ends => job.until.since(now),
            _ => SOON,
        };
        let at = self.now + jobs.random.up_to(most);
        self.note(at, Event::Job { node, incarnation, number, what });
    }

    /// The process asks its guard to end the job for a clean handover.
    pub(super) fn end_job(&mut self, node: usize) {
        self.faults.count(Counter::JobsEnded);
        let incarnation = self.nodes[node].incarnation;
        let Some(jobs) = &mut self.jobs else { return };
        let number = jobs.of[node].number;
        // Some end too late: then the leadership does not wait any longer.
        let at = self.now + jobs.random.up_to(jobs.stops_within * 5 / 4);
        self.note(at, Event::Job { node, incarnation, number, what: JobEvent::Ends });
    }

    /// How long a leader that was asked to stop may wait for its job, with the slowest clock.
    pub(super) fn ending(&self) -> Duration {
        self.jobs.as_ref().map_or(Duration::ZERO, |jobs| jobs.stops_within * 10 / 9)
    }

    /// The process of this host is gone: its guard ends the job.
    pub(super) fn orphan_job(&mut self, node: usize) {
        let now = self.nodes[node].local(self.now);
        let Some(jobs) = &mut self.jobs else { return };
        let soon = now + jobs.random.up_to(SOON);
        let job = &mut jobs.of[node];
        job.until = job.until.min(soon);
    }

    /// A process starts here: it waited until nothing of the last job runs.
    pub(super) fn forget_job(&mut self, node: usize) {
        if let Some(jobs) = &mut self.jobs {
            let number = jobs.of[node].number + 1;
            jobs.of[node] = Job { number, ..Job::default() };
        }
    }
}
