//! What a simulated process does to itself and its disk until its death, and what others see of it.

use crate::trace::reason;
use std::time::Duration;

use super::agenda::SimulatedEvent;
use super::coroners::ProcessEnd;
use super::counters::Counter;
use super::jobs::{Due, leadership};
use super::named;
use super::network;
use super::node::{Death, Node};
use super::setup::Delays;
use super::uptime::Uptime;
use super::world::World;
use crate::core::durable::Durable;
use crate::core::{Core, Phase, Reason, Transition};
use crate::trace::DrawnWhat;

/// How late a process may be woken.
const LATE: Duration = Duration::from_millis(1);

impl World {
    /// Ends a process immediately.
    pub fn die(&mut self, node: usize, death: Death) {
        if self.nodes[node].core.take().is_none() {
            return;
        }
        self.nodes[node].host = death == Death::Killed;
        self.nodes[node].fuse = None;
        self.nodes[node].pause = None;
        named::died(self, node);
        let undone = self.nodes[node].disk.crash(&mut self.random);
        self.faults.add(Counter::Unwritten, undone);
        self.compare_disk(node);
        let end = self.end_of_all(node, death);
        self.checker.died(node, matches!(end, ProcessEnd::Clean(_)));
        self.count_uptime(node);
        self.draw(node, |_| Some(DrawnWhat::Dies));
        self.say(node, || match death {
            Death::Killed => "dies".to_owned(),
            Death::Vanished => "vanishes with its host".to_owned(),
        });
        network::cut_off(self, node, death);
    }

    /// What becomes of the job of a process that died, and of its coroner.
    fn end_of_all(&mut self, node: usize, death: Death) -> ProcessEnd {
        let now = self.nodes[node].local(self.now);
        let has_job = self.jobs.as_ref().is_some_and(|jobs| jobs.runs(node, now));
        let coroners = self.coroners.as_mut();
        let end = coroners.map_or(ProcessEnd::Uncertified, |coroners| match death {
            Death::Killed => coroners.draw_end(node, has_job),
            Death::Vanished => coroners.vanish(node),
        });
        let job_ends = self.jobs.as_mut().map_or(now, |jobs| match end {
            ProcessEnd::Clean(ends) => jobs.orphan_within(node, now, ends),
            ProcessEnd::Unclean => now,
            ProcessEnd::Uncertified => jobs.orphan(node, now),
        });
        let job_ends = self.nodes[node].clock.truly(job_ends);
        if matches!(end, ProcessEnd::Clean(_)) {
            named::guard_ends(self, node, job_ends);
        }
        if let Some(coroners) = &mut self.coroners {
            let certified = coroners.certify(node, end, (self.now, job_ends));
            self.faults.add(Counter::Certified, u64::from(certified));
            self.faults.add(Counter::Unclean, u64::from(end == ProcessEnd::Unclean));
        }
        end
    }

    /// Ends a process that was removed from its cluster, as its last turn is over.
    pub(super) fn leave(&mut self, node: usize) {
        if std::mem::take(&mut self.nodes[node].leaves) {
            self.faults.count(Counter::Ended);
            self.die(node, Death::Killed);
        }
    }

    /// Uses up one output of a process that is about to die. Tells whether it is dead.
    pub(super) fn burnt(&mut self, node: usize) -> bool {
        if let Some((left, death)) = self.nodes[node].fuse {
            if left == 0 {
                self.die(node, death);
            } else {
                self.nodes[node].fuse = Some((left - 1, death));
            }
        }
        self.nodes[node].core.is_none()
    }

    pub(super) fn persist(&mut self, node: usize, number: u64, record: Durable) {
        self.draw_record(node, number);
        if self.nodes[node].disk.write(number, record) {
            self.write(node);
        }
    }

    pub(super) fn write(&mut self, node: usize) {
        let drive = self.nodes[node].drive;
        let done = drive.write(self.now, self.setup.disk, &mut self.random);
        let Some((at, failures)) = done else { return };
        self.faults.add(Counter::Unwritable, failures);
        self.faults.add(Counter::SlowWrites, u64::from(drive.speed.is_some()));
        let incarnation = self.nodes[node].incarnation;
        self.schedule(at, SimulatedEvent::Written { node, incarnation });
    }

    pub(super) fn changed(&mut self, node: usize, change: &Transition) {
        self.draw(node, |narrator| {
            let reason = reason::sentence(&change.reason, narrator.members);
            Some(DrawnWhat::Becomes { phase: change.to, label: narrator.phase(change), reason })
        });
        let Some(core) = &self.nodes[node].core else { return };
        let turned = self.nodes[node].turned;
        let judged = self.questions.changed(node, turned, &change.reason, core);
        self.checker.judged(self.now, node, judged);
        self.checker.changed(self.now, node, core, change, &self.nodes);
        let judged = self.nodes[node].assured.changed(core, change);
        self.checker.judged(self.now, node, judged.map_err(str::to_owned));
        if matches!(change.reason, Reason::SwitchedOver(_)) {
            self.faults.count(Counter::SwitchedOver);
        }
        self.nodes[node].leaves |= change.reason == Reason::Removed;
    }

    /// Publishes the state of a process, before any message leaves.
    pub(super) fn publish(&mut self, node: usize) {
        self.count_uptime(node);
        if let Some(core) = &self.nodes[node].core {
            self.checker.published(self.now, node, core, &self.nodes);
        }
    }

    /// Notes until when a node's claim to lead is believed from now on, if it makes one.
    fn count_uptime(&mut self, node: usize) {
        let now = self.now;
        let Some(uptime) = &mut self.uptime else { return };
        let Node { core, clock, .. } = &self.nodes[node];
        let leads = core.as_ref().filter(|core| core.phase() == Phase::Leading);
        let until = leads.map(|core| clock.truly(core.believable_until(clock.local(now))));
        uptime.claims(now, node, until.unwrap_or_default());
    }

    /// Begins to measure for how much of the time a member leads.
    pub(super) fn begin_uptime(&mut self) {
        self.uptime = Some(Uptime::new(self.nodes.len(), self.now));
        (0..self.nodes.len()).for_each(|node| self.count_uptime(node));
    }

    /// Checks the invariants of a node that was just told something.
    pub(super) fn check(&mut self, node: usize) {
        if let Some(core) = &self.nodes[node].core {
            let Node { turned, disk, .. } = &self.nodes[node];
            let ready = disk.is_idle_and_informed();
            let judged = self.questions.look(node, *turned, core, ready);
            self.checker.judged(self.now, node, judged);
            self.checker.look(self.now, node, core, &self.nodes);
        }
        let Node { core, assured, .. } = &mut self.nodes[node];
        let judged = assured.look(core.as_ref());
        self.checker.judged(self.now, node, judged);
    }

    /// After a turn of a process its guard looks after the job.
    pub(super) fn look_after_job(&mut self, node: usize) {
        let Node { core, clock, incarnation, .. } = &self.nodes[node];
        let (now, incarnation) = (clock.local(self.now), *incarnation);
        let leads = core.as_ref().and_then(|core| leadership(core, now));
        let due = self.jobs.as_mut().and_then(|jobs| jobs.after_turn(node, now, leads));
        self.schedule_job(node, incarnation, due);
    }

    /// The process asks its guard to end the job for a clean handover.
    pub(super) fn end_job(&mut self, node: usize) {
        self.faults.count(Counter::JobsEnded);
        let due = self.jobs.as_mut().map(|jobs| jobs.end(node));
        self.schedule_job(node, self.nodes[node].incarnation, due);
    }

    /// Schedules what happens next to the job of a process, if anything does.
    pub(super) fn schedule_job(&mut self, node: usize, incarnation: u64, due: Option<Due>) {
        if let Some(Due { after, number, what }) = due {
            self.schedule(
                self.now + after,
                SimulatedEvent::Job { node, incarnation, number, what },
            );
        }
    }

    /// Has the node called at its deadline, unless it will be called by then anyway.
    pub(super) fn arm(&mut self, node: usize) {
        let due = self.nodes[node].core.as_ref().and_then(Core::deadline);
        let Some(due) = due else { return };
        let due = self.nodes[node].clock.truly(due);
        if self.nodes[node].tick.is_some_and(|tick| tick <= due + LATE) {
            return;
        }
        let late = match self.setup.delays {
            Delays::Lockstep | Delays::Short => Duration::ZERO,
            Delays::Random => self.random.up_to(LATE),
        };
        let at = due.max(self.now) + late;
        let incarnation = self.nodes[node].incarnation;
        self.nodes[node].tick = Some(at);
        self.schedule(at, SimulatedEvent::Tick { node, incarnation });
    }

    /// Something else is on a disk now.
    pub(super) fn compare_disk(&mut self, node: usize) {
        self.checker.stored(self.now, node, &self.nodes[node].disk);
    }
}
