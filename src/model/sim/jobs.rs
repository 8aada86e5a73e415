//! Jobs that run only while their member leads, and the guards that end them.
//!
//! A job starts soon after its member came to lead, and the process hears of that first. The guard is
//! another process on the same host: its process has told it when the leadership ends, and the guard
//! ends the job by then, even while the process is paused. When the process dies, the guard ends the
//! job immediately, and the next process of the member does not start before. In a clean handover a job
//! takes any time to end; now and then one does not end until its guard's deadline.

use std::time::Duration;

use super::agenda::JobEvent;
use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::types::{Epoch, Time};
use crate::core::{Core, Phase};

/// The random numbers for jobs come from a sequence of their own.
const JOBS: u64 = 0x6a6f_6273;

/// The longest from the lead to the start of a job, and from the death of a process to that of its job.
const SOON: Duration = Duration::from_millis(5);

/// The jobs of a world.
#[derive(Debug)]
pub(super) struct Jobs {
    random: Random,
    of: Vec<SimulatedJob>,
    /// How long a job may take to end in a clean handover.
    stops_within: Duration,
    /// Whether no two may run at one instant: what proves a death frees votes before the guard has acted.
    exclusive: bool,
}

/// The job of one host, as its guard knows it.
#[derive(Clone, Copy, Debug, Default)]
struct SimulatedJob {
    /// Counts what was started here, so that what is meant for an earlier job does not end a later.
    number: u64,
    /// The epoch that it was started for. None until the process got any input.
    epoch: Option<Epoch>,
    /// It runs until then, by its host's clock, unless it ends before.
    until: Time,
    /// It is about to end, or to be started.
    moving: bool,
}

/// What happens next to the job of this number, and how soon.
pub(super) struct Due {
    pub after: Duration,
    pub number: u64,
    pub what: JobEvent,
}

/// A leadership: its epoch, and until when it holds by the clock of the process.
pub(super) type LeadingUntil = Option<(Epoch, Time)>;

/// The leadership of a process at this time of its clock.
pub(super) fn leadership(core: &Core, now: Time) -> LeadingUntil {
    let until = core.believable_until(now);
    (core.phase() == Phase::Leading && now < until).then_some((core.view().epoch, until))
}

impl Jobs {
    pub fn new(seed: u64, nodes: usize, exclusive: bool) -> Jobs {
        let mut random = Random::new(seed ^ JOBS);
        let stops_within = TIMING.message + random.up_to(TIMING.failure * 2);
        Jobs { random, of: vec![SimulatedJob::default(); nodes], stops_within, exclusive }
    }

    /// How long a job may take to end in a clean handover.
    pub fn stops_within(&self) -> Duration {
        self.stops_within
    }

    /// After a turn of a process: its guard learns until when the leadership holds, or that it ended.
    pub fn after_turn(&mut self, node: usize, now: Time, leads: LeadingUntil) -> Option<Due> {
        let job = &mut self.of[node];
        let what = match (job.epoch, leads) {
            _ if job.moving => return None,
            (None, Some(_)) => JobEvent::Starts,
            (Some(_), _) if job.until <= now => JobEvent::Learned, // the guard has ended it
            (Some(epoch), Some((led, until))) if epoch == led => {
                job.until = job.until.max(until);
                return None;
            }
            (Some(_), _) => JobEvent::Ends,
            (None, None) => return None,
        };
        job.moving = true;
        let number = job.number;
        let most = match what {
            JobEvent::Ends => job.until.since(now),
            _ => SOON,
        };
        Some(Due { after: self.random.up_to(most), number, what })
    }

    /// The process asks its guard to end the job for a clean handover. Some end too late: then the leadership does not
    /// wait any longer.
    pub fn end(&mut self, node: usize) -> Due {
        let after = self.random.up_to(self.stops_within * 5 / 4);
        Due { after, number: self.of[node].number, what: JobEvent::Ends }
    }

    /// Whether the job of this host still has this number.
    pub fn is_present(&self, node: usize, number: u64) -> bool {
        self.of[node].number == number
    }

    /// The process is about to hear that the job starts.
    pub fn starts(&mut self, node: usize) {
        let job = &mut self.of[node];
        *job = SimulatedJob { number: job.number + 1, moving: false, ..*job };
    }

    /// The process has heard that, and starts the job if it still leads. Tells the epoch of the job that starts.
    pub fn start(&mut self, node: usize, leads: LeadingUntil) -> Result<Epoch, Due> {
        let job = &mut self.of[node];
        let Some((epoch, until)) = leads else {
            job.moving = true;
            return Err(Due::learned(job.number));
        };
        (job.epoch, job.until) = (Some(epoch), until);
        Ok(epoch)
    }

    /// The guard ends the job, if it runs.
    pub fn stop(&mut self, node: usize, now: Time) -> Option<Due> {
        let job = &mut self.of[node];
        job.epoch?;
        job.until = job.until.min(now);
        job.moving = true;
        Some(Due::learned(job.number))
    }

    /// The process is gone: its guard ends the job. Tells when nothing of that runs any more.
    pub fn orphan(&mut self, node: usize, now: Time) -> Time {
        let soon = self.random.up_to(SOON);
        self.orphan_within(node, now, soon)
    }

    /// The same, where the guard takes this long.
    pub fn orphan_within(&mut self, node: usize, now: Time, ends: Duration) -> Time {
        let job = &mut self.of[node];
        job.until = job.until.min(now + ends);
        if job.epoch.is_some() { job.until } else { now }
    }

    /// Whether a job runs on this host.
    pub fn runs(&self, node: usize, now: Time) -> bool {
        self.of[node].epoch.is_some() && now < self.of[node].until
    }

    /// The process learns that nothing of its job runs, or starts and has waited for that.
    pub fn forget(&mut self, node: usize) {
        let number = self.of[node].number + 1;
        self.of[node] = SimulatedJob { number, ..SimulatedJob::default() };
    }

    /// Another host whose job runs, although no two may, with the time of each host by its clock.
    pub fn rival(&self, node: usize, clock: impl Fn(usize) -> Time) -> Option<usize> {
        let runs = |at: usize| self.of[at].epoch.is_some() && clock(at) < self.of[at].until;
        let others = (0..self.of.len()).filter(|at| self.exclusive && *at != node);
        others.into_iter().find(|at| runs(*at))
    }
}

impl Due {
    /// The process learns that its job has ended.
    fn learned(number: u64) -> Due {
        Due { after: Duration::ZERO, number, what: JobEvent::Learned }
    }
}
