//! One start of the command, with a guard of its own ([`super::guard`]): each renewal of the leadership
//! postpones the guard's alarms, this process tells it when the leadership is about to end, and acts in
//! its place if the guard is killed or frozen.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, after, never};
use crossbeam::select;
use log::{Level, info, log, warn};
use rustix::process::{Signal, pidfd_send_signal};

use super::address::netlink::LIFETIME;
use super::alarms::Alarms;
use super::equipment::Equipment;
use super::guard::{BY_DEADLINE, FAILED, NO_ADDRESS};
use super::leader::Leader;
use super::order::{GuardOrder, GuardWord, LastWord, Means};
use super::plan::Plan;
use super::ready::{GuardNews, Ready};
use crate::cgroup::MadeCgroup;
use crate::core::types::Time;
use crate::local::pair;
use crate::node::leadership::{Change, Leadership};
use crate::node::now;

/// Between two looks at a guard that was killed.
const PAUSE: Duration = Duration::from_secs(1);

/// A guard that does not answer for this long is frozen. That matters if it holds addresses: the kernel
/// removes them after their lifetime, while the leadership goes on.
const UNANSWERED: Duration = LIFETIME;

/// How often a guard with addresses is to answer.
const QUESTION: Duration = Duration::from_secs(1);

/// How one job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// By itself, with this exit code.
    ByItself(u8),
    /// Since the leadership ended.
    WithLeadership,
    /// Since no renewal of the leadership came in time: its guard ended it, and nobody had told that to.
    Late,
    /// Since it was to stop, with this exit code.
    WithStop(u8),
    /// Since its guard died; the job was killed.
    GuardLost,
    /// Since its guard could not hold an address.
    NoAddress,
    /// Since this host cannot run it now, for this reason: it did not begin, or its guard failed.
    Failed(String),
}

/// What a guard left to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Nothing: it has ended.
    Nothing,
    /// It ended itself by a signal, as it could not do all.
    Something,
    /// All, as it was killed: what it started, its addresses and the cleanup.
    All,
}

/// One start of the command.
pub struct Job<'a, L> {
    node: &'a L,
    plan: &'a Plan,
    leadership: &'a Leadership,
    guard: Arc<OwnedFd>,
    line: OwnedFd,
    alarms: Arc<Alarms>,
    news: Receiver<GuardNews>,
    /// The latest time of KILL, as the guard was told.
    ordered: Option<Time>,
    /// The latest time of KILL in a clean handover.
    stop_by: Option<Time>,
    /// The guard has not answered since then.
    asked: Option<Time>,
    /// The guard should have acted, as was found then.
    late_since: Option<Time>,
    /// The guard was killed by this process.
    overruled: bool,
    /// The command is to end since this process is.
    stopped: bool,
    /// Why the guard failed, as it said.
    reason: String,
    /// The last word of the guard, once it has said that.
    last_word: Option<LastWord>,
    /// How the guard ended the command, if it has said that.
    means: Option<Means>,
    /// The cgroup of the command, which the guard has removed unless it was killed.
    pub cgroup: Option<MadeCgroup>,
}

impl<'a, L: Leader> Job<'a, L> {
    /// Has a guard begin that waits for that, or a new one, and by it the command. From then on the guard alone has this
    /// equipment.
    pub fn start(
        node: &'a L,
        plan: &'a Plan,
        leadership: &'a Leadership,
        equipment: Equipment,
        ready: Option<Ready>,
    ) -> io::Result<Job<'a, L>> {
        let ready = ready.filter(Ready::is_there);
        let begun = ready.and_then(|ready| ready.begin(leadership, &equipment).ok());
        let begun = begun.map_or_else(|| Ready::start(plan)?.begin(leadership, &equipment), Ok)?;
        drop(equipment);
        let (epoch, number) = (leadership.epoch(), begun.guard.as_raw_nonzero());
        info!(
            event = "job_started", epoch = epoch, guard = number.get(), every = true;
            "{} {} {}, guard {number}",
            plan.words(),
            if plan.lock.is_some() { "by" } else { "in" },
            plan.term(epoch)
        );
        Ok(Job::begun(node, plan, leadership, begun))
    }

    /// One whose guard has begun.
    fn begun(node: &'a L, plan: &'a Plan, leadership: &'a Leadership, ready: Ready) -> Job<'a, L> {
        let Ready { process, line, alarms, news, cgroup, .. } = ready;
        Job {
            node,
            plan,
            leadership,
            guard: process,
            line,
            alarms,
            news,
            ordered: None,
            stop_by: None,
            asked: None,
            late_since: None,
            overruled: false,
            stopped: false,
            reason: String::new(),
            last_word: None,
            means: None,
            cgroup,
        }
    }

    /// What the guard said as it ended; none of a guard that was killed.
    pub fn last_word(&mut self) -> Option<LastWord> {
        self.hear();
        self.last_word
    }

    /// Until the guard has ended. Tells what the guard left to this process, and how the job ended.
    pub fn watch(
        &mut self,
        changes: &Receiver<Change>,
        stopping: &Receiver<()>,
    ) -> io::Result<(Remains, JobEnd)> {
        loop {
            self.tell();
            self.overrule();
            let stop = if self.stopped { never() } else { stopping.clone() };
            let pause = self.pause().map_or_else(never, after);
            select! {
                recv(stop) -> _ => {
                    self.stopped = true;
                    self.stop_by.get_or_insert(now() + self.plan.stop_after);
                }
                recv(self.news) -> news => match news.map_err(io::Error::other)? {
                    GuardNews::Late => {}
                    GuardNews::Ended(ended) => return Ok(self.end(ended?)),
                },
                recv(changes) -> change => {
                    if let Ok(Change::Ending { .. }) = change {
                        let what = match &self.plan.lock {
                            Some(lock) => format!("the lock {lock} is to be given back"),
                            None => "the leadership is to end".to_owned(),
                        };
                        info!("{what}: the job is told to end");
                        self.stop_by.get_or_insert(now() + self.plan.stop_after);
                    }
                }
                recv(pause) -> _ => {}
            }
        }
    }

    /// Tells the guard to end the job if the leadership is about to end, or sooner than the guard was
    /// told; asks a guard with addresses whether it is alive.
    fn tell(&mut self) {
        let by = if self.node.is_gone() {
            // As if the node were the guard's parent and had died.
            let limit = if self.plan.is_leased { self.plan.stop_after } else { Duration::ZERO };
            Some(now() + limit)
        } else if !self.leadership.is_valid() {
            Some(Time(u64::MAX)) // to be ended now, and killed when its alarm says so
        } else {
            self.stop_by
        };
        if let Some(kill) = by.filter(|by| self.ordered.is_none_or(|ordered| *by < ordered)) {
            self.ordered = Some(kill);
            self.say(GuardOrder::end_by(kill));
        } else if !self.plan.addresses.is_empty() && self.asked.is_none() {
            self.asked = Some(now());
            self.say(GuardOrder::Answer);
        }
    }

    fn say(&self, order: GuardOrder) {
        let _ = pair::say(&self.line, &order, &[]); // full only where the guard is frozen
    }

    /// Kills a guard that did not act.
    fn overrule(&mut self) {
        if self.overruled {
            return;
        }
        if !self.is_late() && !self.looks_frozen() {
            self.late_since = None;
            return;
        }
        // This process may itself have been paused, and not have seen yet that the guard acted.
        if now() >= *self.late_since.get_or_insert(now()) + self.kill_time() / 4 {
            let _ = pidfd_send_signal(&self.guard, Signal::KILL); // the kernel kills the command with it
            warn!("the guard of the job did not act in time: killing both");
            self.overruled = true;
        }
    }

    /// Whether the guard should have ended the job by now.
    fn is_late(&self) -> bool {
        let as_ordered = self.ordered.is_some_and(|kill| self.late(kill) <= now());
        as_ordered || self.alarms.late.check_due().unwrap_or(false)
    }

    /// Until when we wait for a guard that was told to kill the job.
    fn late(&self, kill: Time) -> Time {
        kill + self.kill_time() / 2
    }

    /// Between KILL and the end of the leadership.
    fn kill_time(&self) -> Duration {
        self.alarms.deadlines(self.leadership.renewal()).kill
    }

    /// Whether a guard with addresses has not answered for long.
    fn looks_frozen(&mut self) -> bool {
        self.hear();
        self.asked.is_some_and(|asked| asked + UNANSWERED <= now())
    }

    /// Takes what the guard has said.
    fn hear(&mut self) {
        while let Ok(Some((word, _))) = pair::hear(&self.line, Some(Duration::ZERO)) {
            self.asked = None;
            match word {
                GuardWord::Lives => {}
                GuardWord::Ended(means) => self.means = Some(means),
                GuardWord::Last(word) => self.last_word = Some(word),
                GuardWord::Failed(reason) => self.reason = reason,
            }
        }
    }

    /// How long to wait until an action is due that no event triggers.
    fn pause(&self) -> Option<Duration> {
        if self.overruled {
            return Some(PAUSE);
        }
        if let Some(since) = self.late_since {
            return Some((since + self.kill_time() / 4).since(now()));
        }
        let late = self.ordered.map(|kill| self.late(kill).since(now()));
        let late = late.map(|late| late.max(Duration::from_millis(1)));
        let question = (!self.plan.addresses.is_empty()).then_some(QUESTION);
        late.into_iter().chain(question).min()
    }

    fn end(&mut self, status: ExitStatus) -> (Remains, JobEnd) {
        self.hear();
        let is_valid = self.leadership.is_valid();
        let ended = GuardEnd {
            status,
            ordered_to_end: self.ordered.is_some() || !is_valid,
            overruled: self.overruled,
            stopped: self.stopped && is_valid,
            has_command: !self.plan.command.is_empty(),
        };
        let (left, mut end) = ended.verdict();
        if let JobEnd::Failed(why) = &mut end {
            why.clone_from(&self.reason);
        }
        self.log(&end, left);
        (left, end)
    }

    /// Each end has a line: which epoch it was, how the command ended, and why.
    fn log(&self, end: &JobEnd, left: Remains) {
        let epoch = self.leadership.epoch();
        // The kernel kills the command with its guard.
        let means = if left == Remains::All { Some(Means::Kill) } else { self.means };
        let how = means.map_or("by itself", Means::name);
        let (why, words) = end.words(self.plan.lock.is_some());
        let level =
            if matches!(end, JobEnd::WithLeadership | JobEnd::ByItself(_) | JobEnd::WithStop(_)) {
                Level::Info
            } else {
                Level::Warn
            };
        log!(
            level, event = "job_ended", epoch = epoch, how = how, why = why, every = true;
            "{words} ({}, {how})", self.plan.term(epoch)
        );
    }
}

impl JobEnd {
    /// Why it ended, as one word and as a sentence: of a job that runs by a lock, or by the leadership.
    fn words(&self, by_lock: bool) -> (&'static str, String) {
        let (term, ends) = if by_lock {
            ("lock", "the lock is given back or lost")
        } else {
            ("leadership", "the leadership does")
        };
        match self {
            JobEnd::ByItself(code) => {
                ("ended", format!("the job ended by itself, with code {code}"))
            }
            JobEnd::WithLeadership => {
                ("leadership_ended", format!("the job has ended, since {ends}"))
            }
            JobEnd::Late => (
                "renewal_late",
                format!("the job was ended, since no renewal of the {term} came in time"),
            ),
            JobEnd::WithStop(code) => {
                ("stopped", format!("the job has ended, since electd ends, with code {code}"))
            }
            JobEnd::GuardLost => {
                ("guard_killed", "the job was killed, since its guard was".to_owned())
            }
            JobEnd::NoAddress => (
                "no_address",
                "the job has ended, since its guard could not hold an address".to_owned(),
            ),
            JobEnd::Failed(why) => ("failed", format!("this host cannot run the job: {why}")),
        }
    }
}

/// All that counts when a guard has ended.
#[derive(Clone, Copy)]
struct GuardEnd {
    status: ExitStatus,
    /// The leadership ends, or the node does.
    ordered_to_end: bool,
    /// The guard was killed by this process.
    overruled: bool,
    /// Only since this process is to stop.
    stopped: bool,
    has_command: bool,
}

impl GuardEnd {
    /// What the guard left, and how the job ended.
    fn verdict(self) -> (Remains, JobEnd) {
        let signal = self.status.signal();
        let by = |own: Signal| signal == Some(own.as_raw());
        let is_late = self.ordered_to_end && (by(FAILED) || by(NO_ADDRESS) && !self.stopped);
        match self.status.code().and_then(|code| u8::try_from(code).ok()) {
            // What failed on the way out kept nothing from beginning, and there is no leadership to hand over.
            _ if is_late => (Remains::Something, JobEnd::WithLeadership),
            _ if by(NO_ADDRESS) => (Remains::Something, JobEnd::NoAddress),
            _ if by(FAILED) => (Remains::Something, JobEnd::Failed(String::new())),
            _ if by(BY_DEADLINE) && self.stopped => {
                (Remains::Something, JobEnd::WithStop(128 + 15))
            }
            _ if by(BY_DEADLINE) => (Remains::Something, JobEnd::Late),
            _ if signal.is_some() && !self.ordered_to_end && !self.overruled => {
                (Remains::All, JobEnd::GuardLost)
            }
            _ if signal.is_some() => (Remains::All, JobEnd::WithLeadership),
            code if self.stopped => (Remains::Nothing, JobEnd::WithStop(code.unwrap_or(u8::MAX))),
            // Without a command, a guard ends for nothing else.
            _ if self.ordered_to_end || !self.has_command => {
                (Remains::Nothing, JobEnd::WithLeadership)
            }
            code => (Remains::Nothing, JobEnd::ByItself(code.unwrap_or(u8::MAX))),
        }
    }
}

#[cfg(test)]
mod tests;
