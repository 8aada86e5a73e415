//! Jobs that start and end.

use super::agenda::{Event, JobEvent};
use super::counters::Counter;
use super::guards::Job;
use super::jobs::leads;
use super::world::World;
use crate::core::Input;

impl World {
    pub(super) fn job_moves(
        &mut self,
        (node, incarnation, number): (usize, u64, u64),
        what: JobEvent,
    ) {
        let alive = self.nodes[node].alive(incarnation).is_some();
        let now = self.nodes[node].local(self.now);
        let Some(jobs) = &mut self.jobs else { return };
        let stops_within = jobs.stops_within;
        let job = &mut jobs.of[node];
        if job.number != number || !alive {
            return;
        }
        match what {
            JobEvent::Starts => {
                *job = Job { number: number + 1, moving: false, ..*job };
                self.give(node, Input::JobStarted { stops_within });
                self.start_job(node, incarnation);
            }
            JobEvent::Ends if job.epoch.is_some() => {
                job.until = job.until.min(now);
                job.moving = true;
                self.note(self.now, Event::Job { node, incarnation, number, what: JobEvent::Told });
            }
            JobEvent::Ends => {}
            JobEvent::Told => {
                *job = Job { number: number + 1, ..Job::default() };
                self.give(node, Input::JobEnded);
            }
        }
    }

    /// The process heard that it leads; it starts the job if it still does.
    fn start_job(&mut self, node: usize, incarnation: u64) {
        let now = self.nodes[node].local(self.now);
        let leads = self.nodes[node].alive(incarnation).and_then(|core| leads(core, now));
        let Some(jobs) = &mut self.jobs else { return };
        let job = &mut jobs.of[node];
        let Some((epoch, until)) = leads else {
            let number = job.number;
            job.moving = true;
            self.note(self.now, Event::Job { node, incarnation, number, what: JobEvent::Told });
            return;
        };
        (job.epoch, job.until) = (Some(epoch), until);
        let exclusive = jobs.exclusive;
        self.faults.count(Counter::JobsStarted);
        self.say(node, || format!("starts its job in epoch {epoch}"));
        if let Some(other) = self.job_beside(node).filter(|_| exclusive) {
            let what =
                format_args!("the jobs of node-{} and node-{} both run", node + 1, other + 1);
            self.checker.fail(self.now, what);
        }
    }

    /// Another host whose job runs.
    fn job_beside(&self, node: usize) -> Option<usize> {
        let jobs = self.jobs.as_ref()?;
        let runs = |at: usize| {
            let job = &jobs.of[at];
            job.epoch.is_some() && self.nodes[at].local(self.now) < job.until
        };
        (0..jobs.of.len()).find(|at| *at != node && runs(*at))
    }
}
