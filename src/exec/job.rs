//! One start of the command, with a guard of its own ([`super::guard`]): told again and again until when the
//! leadership holds, and ended in the guard's place where the guard is itself killed or frozen.

use std::io::{self, PipeWriter, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, bounded, never};
use crossbeam::select;
use log::{info, warn};
use rustix::io::{ioctl_fionbio, ioctl_fionread};
use rustix::process::{Pid, Signal, kill_process};

use super::address::netlink::LIFETIME;
use super::deadlines::Deadlines;
use super::guard::{BY_DEADLINE, Frame, GUARD, NO_ADDRESS, SEPARATOR};
use super::leader::Leader;
use super::plan::Plan;
use crate::core::types::Time;
use crate::node::leadership::{Change, Leadership};
use crate::node::now;

/// Between two looks at a guard that was killed.
const PAUSE: Duration = Duration::from_secs(1);

/// A guard that reads nothing for so long is frozen. That matters where it holds addresses: the kernel removes them after
/// their lifetime, while the leadership goes on.
const UNREAD: Duration = LIFETIME;

/// How one job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// By itself, with this exit code.
    ByItself(u8),
    /// Since the leadership ended.
    WithLeadership,
    /// Since it was to stop, with this exit code.
    WithStop(u8),
    /// Since its guard died; the job was killed.
    GuardLost,
    /// Since its guard could not hold an address.
    NoAddress,
}

/// One start of the command.
pub struct Job<'a, L> {
    node: &'a L,
    plan: &'a Plan,
    leadership: &'a Leadership,
    guard: Pid,
    pipe: PipeWriter,
    /// How the guard ended.
    ended: Receiver<io::Result<ExitStatus>>,
    /// The last frame that the guard was told.
    told: Frame,
    /// KILL comes then at the latest, once the leadership is to end in order.
    stop_by: Option<Time>,
    /// The guard has not read since then.
    unread: Option<Time>,
    /// The guard should have acted.
    was_late: bool,
    /// The guard was killed by this process.
    overruled: bool,
    /// The command is to end since this process is.
    stopped: bool,
    /// The node has ended.
    orphaned: bool,
}

impl<'a, L: Leader> Job<'a, L> {
    /// Starts the guard, and by it the command.
    pub fn start(
        node: &'a L,
        plan: &'a Plan,
        leadership: &'a Leadership,
    ) -> io::Result<Job<'a, L>> {
        let (reader, mut pipe) = io::pipe()?;
        let told = frame(plan, leadership, None).unwrap_or(Frame { term: 0, kill: 0 });
        pipe.write_all(&told.bytes())?;
        ioctl_fionbio(&pipe, true)?; // a guard that is frozen holds up nobody
        let epoch = leadership.epoch();
        let child = Command::new("/proc/self/exe")
            .arg(GUARD)
            .arg(&plan.lock)
            .args(plan.addresses.iter().map(ToString::to_string))
            .arg(SEPARATOR)
            .args(&plan.command)
            .env("ELECTD_CLUSTER", &plan.cluster)
            .env("ELECTD_NODE", &plan.node)
            .env("ELECTD_LEADER", &plan.node)
            .env("ELECTD_EPOCH", epoch.to_string())
            .process_group(0)
            .stdin(Stdio::from(reader))
            .spawn()?;
        let guard = Pid::from_child(&child);
        let number = guard.as_raw_nonzero();
        info!("{} in epoch {epoch}, guard {number}", words(plan));
        let ended = await_end(child)?;
        Ok(Job {
            node,
            plan,
            leadership,
            guard,
            pipe,
            ended,
            told,
            stop_by: None,
            unread: None,
            was_late: false,
            overruled: false,
            stopped: false,
            orphaned: false,
        })
    }

    /// Until the guard has ended. Tells whether the guard died, and left what it started to this process; and
    /// how the job ended.
    pub fn watch(
        mut self,
        changes: &Receiver<Change>,
        stopping: &Receiver<()>,
    ) -> io::Result<(bool, JobEnd)> {
        loop {
            self.tell();
            let stop = if self.stopped { never() } else { stopping.clone() };
            select! {
                recv(stop) -> _ => {
                    self.stopped = true;
                    self.stop_by.get_or_insert(now() + self.plan.stop_after);
                }
                recv(self.ended) -> ended => {
                    let ended = ended.map_err(io::Error::other)??;
                    return Ok(self.end(ended));
                }
                recv(changes) -> change => {
                    if let Ok(Change::Ending { .. }) = change {
                        info!("the leadership is to end: the job is told to end");
                        self.stop_by.get_or_insert(now() + self.plan.stop_after);
                    }
                }
                default(self.pause()) => {}
            }
        }
    }

    /// Tells the guard until when the leadership holds, if that changed. Kills a guard that did not act.
    fn tell(&mut self) {
        let is_frozen = self.is_frozen(); // before it is told more
        if self.node.is_gone() && !self.orphaned {
            self.orphaned = true; // as if the node were the guard's parent and had died
            self.told = Frame { term: 0, kill: now().0 };
            let _ = self.pipe.write_all(&self.told.bytes());
        }
        match frame(self.plan, self.leadership, self.stop_by) {
            Some(frame) if frame != self.told => {
                self.told = frame;
                let _ = self.pipe.write_all(&frame.bytes()); // full only where the guard is frozen
            }
            None if self.told.term != 0 => {
                self.told.term = 0; // the leadership is lost: to be ended now, killed when told before
                let _ = self.pipe.write_all(&self.told.bytes());
            }
            _ => {}
        }
        if (self.late() > now() && !is_frozen) || self.overruled {
            return;
        }
        // This process may itself have stood still, and not have seen yet that the guard did act.
        if std::mem::replace(&mut self.was_late, true) {
            warn!("the guard of the job did not act in time: killing both");
            let _ = kill_process(self.guard, Signal::KILL); // the kernel kills the command with it
            self.overruled = true;
        }
    }

    /// Whether a guard with addresses has read nothing of what it was told for long.
    fn is_frozen(&mut self) -> bool {
        if self.plan.addresses.is_empty() || !ioctl_fionread(&self.pipe).is_ok_and(|left| left > 0)
        {
            self.unread = None;
            return false;
        }
        *self.unread.get_or_insert(now()) + UNREAD <= now()
    }

    fn deadlines(&self) -> Deadlines {
        deadlines(self.plan, self.leadership)
    }

    /// A guard that has not acted by then is not waited for.
    fn late(&self) -> Time {
        Time(self.told.kill) + self.deadlines().kill / 2
    }

    /// Until the guard is to be told again: halfway to the moment when it would act.
    fn pause(&self) -> Duration {
        if self.overruled {
            return PAUSE;
        }
        if self.was_late {
            return self.deadlines().kill / 4;
        }
        let until_term = Time(self.told.term).since(now()) / 2;
        let until_late = self.late().since(now());
        let pause = if until_term.is_zero() { until_late / 2 } else { until_term.min(until_late) };
        pause.max(Duration::from_millis(1))
    }

    fn end(&self, status: ExitStatus) -> (bool, JobEnd) {
        let is_valid = self.leadership.is_valid();
        let ended = Ended {
            status,
            told_to_end: self.told.term == 0 || !is_valid,
            overruled: self.overruled,
            stopped: self.stopped && is_valid,
            has_command: !self.plan.command.is_empty(),
        };
        let (guard_died, end) = ended.verdict();
        match end {
            JobEnd::WithLeadership => info!("the job has ended, since the leadership does"),
            JobEnd::ByItself(code) => info!("the job ended by itself, with code {code}"),
            _ => {}
        }
        (guard_died, end)
    }
}

/// All that counts when a guard has ended.
#[derive(Clone, Copy)]
struct Ended {
    status: ExitStatus,
    /// The leadership ends, or the node does.
    told_to_end: bool,
    /// The guard was killed by this process.
    overruled: bool,
    /// Only since this process is to stop.
    stopped: bool,
    has_command: bool,
}

impl Ended {
    /// Whether the guard may have left something, and how the job ended.
    fn verdict(self) -> (bool, JobEnd) {
        let signal = self.status.signal();
        match self.status.code().and_then(|code| u8::try_from(code).ok()) {
            _ if signal == Some(NO_ADDRESS.as_raw()) => (true, JobEnd::NoAddress),
            _ if signal == Some(BY_DEADLINE.as_raw()) && self.stopped => {
                (true, JobEnd::WithStop(128 + 15))
            }
            _ if signal == Some(BY_DEADLINE.as_raw()) => (true, JobEnd::WithLeadership),
            _ if signal.is_some() && !self.told_to_end && !self.overruled => {
                (true, JobEnd::GuardLost)
            }
            _ if signal.is_some() => (true, JobEnd::WithLeadership),
            code if self.stopped => (false, JobEnd::WithStop(code.unwrap_or(u8::MAX))),
            // Without a command, a guard ends for nothing else.
            _ if self.told_to_end || !self.has_command => (false, JobEnd::WithLeadership),
            code => (false, JobEnd::ByItself(code.unwrap_or(u8::MAX))),
        }
    }
}

/// What the guard does.
fn words(plan: &Plan) -> String {
    let addresses: Vec<String> = plan.addresses.iter().map(ToString::to_string).collect();
    let holds = (!addresses.is_empty()).then(|| format!("holds {}", addresses.join(", ")));
    let runs = plan.command.first().map(|program| format!("runs {}", program.display()));
    holds.into_iter().chain(runs).collect::<Vec<_>>().join(" and ")
}

/// When the job is ended before the end of the leadership, by the timings that count now.
fn deadlines(plan: &Plan, leadership: &Leadership) -> Deadlines {
    leadership.renewal().map_or(plan.deadlines, Deadlines::of_renewal)
}

/// When TERM and KILL are due, as the leadership stands now; none if it has ended.
fn frame(plan: &Plan, leadership: &Leadership, stop_by: Option<Time>) -> Option<Frame> {
    let left = leadership.remaining();
    let until = now() + left;
    let before =
        |part: Duration| until.0.saturating_sub(u64::try_from(part.as_nanos()).unwrap_or(0));
    let deadlines = deadlines(plan, leadership);
    let kill = before(deadlines.kill);
    (!left.is_zero()).then(|| match stop_by {
        Some(by) => Frame { term: 0, kill: kill.min(by.0) },
        None => Frame { term: before(deadlines.term), kill },
    })
}

/// Waits for the guard in a thread of its own.
fn await_end(mut guard: Child) -> io::Result<Receiver<io::Result<ExitStatus>>> {
    let (ended, end) = bounded(1);
    let builder = thread::Builder::new().name("job-guard".to_owned()).stack_size(128 * 1024);
    builder.spawn(move || {
        let _ = ended.send(guard.wait()); // the runner outlives its jobs
    })?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While the leadership is valid and nobody is to stop.
    fn leading(status: i32) -> Ended {
        let status = ExitStatus::from_raw(status);
        Ended { status, told_to_end: false, overruled: false, stopped: false, has_command: true }
    }

    #[test]
    fn a_command_that_its_guard_ended_by_the_deadline_has_not_ended_by_itself() {
        let by_deadline = BY_DEADLINE.as_raw();
        // The leadership was renewed just when TERM was due.
        assert_eq!(leading(by_deadline).verdict(), (true, JobEnd::WithLeadership));
        let stopped = Ended { stopped: true, ..leading(by_deadline) };
        assert_eq!(stopped.verdict(), (true, JobEnd::WithStop(143)));
    }

    #[test]
    fn the_code_of_a_command_counts_where_nobody_ended_it() {
        let code = 3;
        assert_eq!(leading(code << 8).verdict(), (false, JobEnd::ByItself(3)));
        let told = Ended { told_to_end: true, ..leading(code << 8) };
        assert_eq!(told.verdict(), (false, JobEnd::WithLeadership));
        let stopped = Ended { told_to_end: true, stopped: true, ..leading(code << 8) };
        assert_eq!(stopped.verdict(), (false, JobEnd::WithStop(3)));
        let killed = Signal::KILL.as_raw();
        assert_eq!(leading(killed).verdict(), (true, JobEnd::GuardLost));
        let overruled = Ended { overruled: true, ..leading(killed) };
        assert_eq!(overruled.verdict(), (true, JobEnd::WithLeadership));
    }
}
