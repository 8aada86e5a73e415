//! Runs a command while this node leads. A user of the library: it knows the node by its handle alone.
//!
//! A job is one start of the command, with a guard of its own ([`super::guard`]). The runner holds the
//! leadership for as long as anything of the job runs, so that a leadership which ends in order is released
//! after the job. It tells the guard again and again until when the leadership holds; and where the guard is
//! itself killed or frozen, it ends the job in the guard's place.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded, never};
use crossbeam::select;
use log::{error, info, warn};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process};

use super::deadlines::Deadlines;
use super::guard::{Frame, GUARD};
use super::tree;
use crate::core::types::Time;
use crate::node::handle::{Command as Order, Handle};
use crate::node::leadership::{Change, Leadership};
use crate::node::{NodeHandle, now};

/// The shortest and the longest wait before a command is started again.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The time that a job gets besides `stop_after`, before its leadership is released without it.
const GONE: Duration = Duration::from_secs(1);

/// The command to run, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<OsString>,
    /// Give up if this node has not come to lead within this time.
    pub wait: Option<Duration>,
    /// From TERM to KILL, where the leadership ends in order.
    pub stop_after: Duration,
    /// Whether a command that ended by itself is started again.
    pub restart: Restart,
    /// When a job is ended if the leadership is not renewed.
    pub deadlines: Deadlines,
    /// The file that the guard locks while anything of the job runs.
    pub lock: PathBuf,
    /// The name of the cluster.
    pub cluster: String,
    /// The name of this member.
    pub node: String,
}

/// Whether a command that ended by itself is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// It is not.
    #[default]
    Never,
    /// It is if its exit code is not 0.
    OnFailure,
    /// It always is.
    Always,
}

/// How it all ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The command ended by itself, with this exit code.
    Command(u8),
    /// This node did not come to lead in time.
    NotGained,
    /// The node is stopping.
    Stopped,
}

/// How one job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobEnd {
    /// By itself, with this exit code.
    ByItself(u8),
    /// Since the leadership ended.
    WithLeadership,
    /// Since its guard died; the job was killed.
    GuardLost,
}

/// Runs the command whenever this node leads, until the command has ended by itself and is not to be started
/// again, or `stopping` is closed and no job runs.
pub fn run(node: &NodeHandle, plan: &Plan, stopping: &Receiver<()>) -> End {
    let changes = node.leadership_changes();
    let mut give_up = plan.wait.map(|wait| Instant::now() + wait);
    let mut back_off = BACK_OFF.0;
    loop {
        if !await_leadership(node, &changes, stopping, give_up) {
            return if is_closed(stopping) { End::Stopped } else { End::NotGained };
        }
        give_up = None;
        let began = Instant::now();
        let end = match run_once(node, plan, &changes) {
            Ok(Some(end)) => end,
            Ok(None) => continue, // the leadership ended meanwhile
            Err(error) => {
                error!("the job cannot be run: {error}");
                return End::Command(70);
            }
        };
        if began.elapsed() > BACK_OFF.1 {
            back_off = BACK_OFF.0;
        }
        let again = match (end, plan.restart) {
            (JobEnd::WithLeadership, _) => continue,
            (JobEnd::GuardLost, _) => {
                hand_over(node);
                true
            }
            (JobEnd::ByItself(0), Restart::OnFailure) | (_, Restart::Never) => false,
            (_, Restart::OnFailure | Restart::Always) => true,
        };
        if let (JobEnd::ByItself(code), false) = (end, again) {
            return End::Command(code);
        }
        let wait = back_off;
        back_off = (back_off * 2).min(BACK_OFF.1);
        if stopping.recv_timeout(wait) == Err(crossbeam::channel::RecvTimeoutError::Disconnected) {
            return End::Stopped;
        }
    }
}

fn is_closed(stopping: &Receiver<()>) -> bool {
    matches!(stopping.try_recv(), Err(crossbeam::channel::TryRecvError::Disconnected))
}

/// Waits until this node leads. False if it is to stop, or does not lead in time.
fn await_leadership(
    node: &NodeHandle,
    changes: &Receiver<Change>,
    stopping: &Receiver<()>,
    give_up: Option<Instant>,
) -> bool {
    let late = give_up.map_or_else(never, crossbeam::channel::at);
    loop {
        if is_closed(stopping) {
            return false;
        }
        if node.leadership().is_some() {
            return true;
        }
        select! {
            recv(changes) -> _ => {}
            recv(stopping) -> _ => return false,
            recv(late) -> _ => return false,
        }
    }
}

/// The guard died, so something is wrong on this host: another is to lead, if one can.
fn hand_over(node: &NodeHandle) {
    warn!("the guard of the job was killed, and the job with it: this node hands over");
    if let Err(error) = node.command(Order::Resign { to: None }, Duration::from_secs(1)) {
        warn!("this node leads on: {error}");
    }
}

/// Runs the command once, if this node still leads.
fn run_once(
    node: &NodeHandle,
    plan: &Plan,
    changes: &Receiver<Change>,
) -> io::Result<Option<JobEnd>> {
    while changes.try_recv().is_ok() {} // what came before the hold does not concern this job
    let Ok(hold) = node.hold_for(plan.stop_after + GONE) else { return Ok(None) };
    let Some(leadership) = node.leadership() else { return Ok(None) };
    tree::adopt_orphans(true)?;
    let ended = Job::start(plan, &leadership).and_then(|job| job.watch(changes));
    // Whatever went wrong: nothing of the job is left when the leadership may go.
    if ended.as_ref().is_ok_and(|(guard_died, _)| *guard_died) {
        end_orphans();
    }
    tree::adopt_orphans(false)?;
    drop(hold);
    ended.map(|(_, end)| Some(end))
}

/// Kills what a killed guard left: it became this process's.
fn end_orphans() {
    let left = tree::kill_all(GONE, |_, _| ());
    if !left.is_empty() {
        error!("KILL did not end these processes of the job yet: {left:?}");
    }
}

/// One start of the command.
struct Job<'a> {
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
    /// TERM was due before the leadership was seen to be renewed.
    was_termed: bool,
    /// The guard should have acted.
    was_late: bool,
    /// The guard was killed by this process.
    overruled: bool,
}

impl<'a> Job<'a> {
    fn start(plan: &'a Plan, leadership: &'a Leadership) -> io::Result<Job<'a>> {
        let (reader, mut pipe) = io::pipe()?;
        let told = frame(plan, leadership, None).unwrap_or(Frame { term: 0, kill: 0 });
        pipe.write_all(&told.bytes())?;
        ioctl_fionbio(&pipe, true)?; // a guard that is frozen holds up nobody
        let epoch = leadership.epoch();
        let child = Command::new("/proc/self/exe")
            .arg(GUARD)
            .arg(&plan.lock)
            .args(&plan.command)
            .env("ELECTD_CLUSTER", &plan.cluster)
            .env("ELECTD_NODE", &plan.node)
            .env("ELECTD_LEADER", &plan.node)
            .env("ELECTD_EPOCH", epoch.to_string())
            .process_group(0)
            .stdin(Stdio::from(reader))
            .spawn()?;
        let guard = Pid::from_child(&child);
        let name = plan.command.first().map(|program| program.display().to_string());
        let number = guard.as_raw_nonzero();
        info!("runs {} in epoch {epoch}, guard {number}", name.unwrap_or_default());
        let ended = await_end(child)?;
        Ok(Job {
            plan,
            leadership,
            guard,
            pipe,
            ended,
            told,
            stop_by: None,
            was_termed: false,
            was_late: false,
            overruled: false,
        })
    }

    /// Until the guard has ended. Tells whether the guard died, and left what it started to this process; and
    /// how the job ended.
    fn watch(mut self, changes: &Receiver<Change>) -> io::Result<(bool, JobEnd)> {
        loop {
            self.tell();
            select! {
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
        self.was_termed |= Time(self.told.term) <= now();
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
        if self.late() > now() || self.overruled {
            return;
        }
        // This process may itself have stood still, and not have seen yet that the guard did act.
        if std::mem::replace(&mut self.was_late, true) {
            warn!("the guard of the job did not act in time: killing both");
            let _ = kill_process(self.guard, Signal::KILL); // the kernel kills the command with it
            self.overruled = true;
        }
    }

    /// A guard that has not acted by then is not waited for.
    fn late(&self) -> Time {
        Time(self.told.kill) + self.plan.deadlines.kill / 2
    }

    /// Until the guard is to be told again: halfway to the moment when it would act.
    fn pause(&self) -> Duration {
        if self.overruled {
            return GONE;
        }
        if self.was_late {
            return self.plan.deadlines.kill / 4;
        }
        let until_term = Time(self.told.term).since(now()) / 2;
        let until_late = self.late().since(now());
        let pause = if until_term.is_zero() { until_late / 2 } else { until_term.min(until_late) };
        pause.max(Duration::from_millis(1))
    }

    fn end(&self, status: ExitStatus) -> (bool, JobEnd) {
        let lost = status.signal().is_some();
        let termed = self.was_termed || Time(self.told.term) <= now();
        let told_to_end = termed || !self.leadership.is_valid();
        match status.code().and_then(|code| u8::try_from(code).ok()) {
            _ if lost && !told_to_end && !self.overruled => (true, JobEnd::GuardLost),
            _ if lost => (true, JobEnd::WithLeadership),
            _ if told_to_end => {
                info!("the job has ended, since the leadership does");
                (false, JobEnd::WithLeadership)
            }
            code => {
                let code = code.unwrap_or(u8::MAX);
                info!("the job ended by itself, with code {code}");
                (false, JobEnd::ByItself(code))
            }
        }
    }
}

/// When TERM and KILL are due, as the leadership stands now; none if it has ended.
fn frame(plan: &Plan, leadership: &Leadership, stop_by: Option<Time>) -> Option<Frame> {
    let left = leadership.remaining();
    let until = now() + left;
    let before =
        |part: Duration| until.0.saturating_sub(u64::try_from(part.as_nanos()).unwrap_or(0));
    let kill = before(plan.deadlines.kill);
    (!left.is_zero()).then(|| match stop_by {
        Some(by) => Frame { term: 0, kill: kill.min(by.0) },
        None => Frame { term: before(plan.deadlines.term), kill },
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
