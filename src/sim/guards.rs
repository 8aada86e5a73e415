//! The guards of jobs act when their time has come, and the processes hear of it.

use super::agenda::JobEvent;
use super::counters::Counter;
use super::jobs::leadership;
use super::world::World;
use crate::core::Input;

impl World {
    /// Something happens to the job of this number, of this incarnation of a process.
    pub(super) fn job_moves(
        &mut self,
        (node, incarnation, number): (usize, u64, u64),
        what: JobEvent,
    ) {
        let alive = self.nodes[node].alive(incarnation).is_some();
        let now = self.nodes[node].local(self.now);
        let Some(jobs) = &mut self.jobs else { return };
        if !jobs.is_present(node, number) || !alive {
            return;
        }
        match what {
            JobEvent::Starts => {
                jobs.starts(node);
                let stops_within = jobs.stops_within();
                self.give(node, Input::JobStarted { stops_within });
                self.start_job(node, incarnation);
            }
            JobEvent::Ends => {
                let due = jobs.stop(node, now);
                self.note_job(node, incarnation, due);
            }
            JobEvent::Told => {
                jobs.forget(node);
                self.give(node, Input::JobEnded);
            }
        }
    }

    /// The process heard that it leads; it starts the job if it still does.
    fn start_job(&mut self, node: usize, incarnation: u64) {
        let now = self.nodes[node].local(self.now);
        let leads = self.nodes[node].alive(incarnation).and_then(|core| leadership(core, now));
        let Some(jobs) = &mut self.jobs else { return };
        let epoch = match jobs.start(node, leads) {
            Ok(epoch) => epoch,
            Err(due) => return self.note_job(node, incarnation, Some(due)),
        };
        let rival = jobs.rival(node, |at| self.nodes[at].local(self.now));
        self.faults.count(Counter::JobsStarted);
        self.say(node, || format!("starts its job in epoch {epoch}"));
        if let Some(rival) = rival {
            let what =
                format_args!("the jobs of node-{} and node-{} both run", node + 1, rival + 1);
            self.checker.fail(self.now, what);
        }
    }
}
