//! Runs a command while a node leads: this process's own, or another process's ([`super::leader`]).
//!
//! The runner holds the leadership for as long as any process of a job (`job.rs`) runs, so that a clean
//! handover releases the leadership after the job.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, TryRecvError, after, never};
use crossbeam::select;
use log::{error, warn};
use rustix::process::Pid;

use super::address::netlink::remove_left;
use super::cleanup;
use super::deadlines::Deadlines;
use super::job::{Job, JobEnd, Remains};
use super::leader::Leader;
use super::order::LastWord;
use super::plan::{ExecEnd, PeriodRuns, Plan, Restart};
use super::ready::Ready;
use super::tree;
use crate::cgroup::{Cgroup, MadeCgroup};
use crate::node::leadership::{Change, Leadership};
use crate::node::retries::{RestartBackOff, SOON};
use crate::rank::children;
use crate::trace::length;

/// Until the leadership is looked at again that could not be held, or would have ended the job at once, as it is about
/// to end.
const NOT_HELD: Duration = Duration::from_millis(20);

/// A node that has not led for this long keeps a guard ready, but not earlier, when it may be busy with
/// the election that another member won.
const CALM: Duration = Duration::from_millis(200);

/// The time that a job gets besides `stop_after`, before its leadership is released without it.
const GONE: Duration = Duration::from_secs(1);

/// Runs the command whenever the node leads, until the command has ended by itself without a restart,
/// or `stopping` is closed and no job runs.
pub fn run(node: &impl Leader, plan: &Plan, stopping: &Receiver<()>) -> ExecEnd {
    let mut ready = None;
    let end = run_until(node, plan, stopping, &mut ready);
    if let Some(ready) = ready {
        ready.dismiss();
    }
    end
}

fn run_until(
    node: &impl Leader,
    plan: &Plan,
    stopping: &Receiver<()>,
    ready: &mut Option<Ready>,
) -> ExecEnd {
    let changes = node.changes();
    let changes = &*changes;
    let mut give_up = plan.wait.map(|wait| Instant::now() + wait);
    let (mut back_off, mut has_run, mut failures) = (RestartBackOff::new(), false, 0_u32);
    let moves = plan.moves && plan.period.is_none(); // the end of a run gives the lock back
    loop {
        if let Some(end) = await_leadership(node, (plan, ready), (changes, stopping), give_up) {
            return match end {
                ExecEnd::NodeGone { .. } => ExecEnd::NodeGone { has_run },
                end => end,
            };
        }
        let began = Instant::now();
        let end = match run_once(node, (plan, ready), (changes, stopping)) {
            Ok(Some(end)) => end,
            Ok(None) => {
                // Another command may still take its time to end.
                if give_up.is_some_and(|late| late <= Instant::now()) {
                    return ExecEnd::NotGained;
                }
                // The leadership is ending: do not ask for it repeatedly meanwhile.
                let _ = stopping.recv_timeout(NOT_HELD);
                continue;
            }
            Err(error) => JobEnd::Failed(error.to_string()),
        };
        if !matches!(end, JobEnd::Failed(_)) {
            (give_up, has_run) = (None, true);
        }
        back_off.ran(began.elapsed());
        let again = match (&end, plan.restart) {
            (JobEnd::WithStop(code), _) => return ExecEnd::Stopped(Some(*code)),
            (JobEnd::WithLeadership | JobEnd::Late, _) if plan.returns => continue,
            (JobEnd::WithLeadership | JobEnd::Late, _) => return ExecEnd::Lost,
            (JobEnd::GuardLost | JobEnd::NoAddress | JobEnd::Failed(_), _) => {
                let end = hand_over(node, &end);
                if !plan.returns {
                    return end;
                }
                true
            }
            (JobEnd::ByItself(0), Restart::OnFailure) | (_, Restart::Never) => false,
            (_, Restart::OnFailure | Restart::Always) => true,
        };
        if let (Some(period), JobEnd::ByItself(code)) = (plan.period, &end) {
            node.end_run(*code);
            if again && (*code == 0 || period == PeriodRuns::Once) {
                continue; // the next period
            }
        }
        let failed = failed_soon(&end, began);
        failures = failed.map_or(0, |_| failures + 1);
        // If it is to be started again here, then once before another host is to try.
        if let Some(code) = failed.filter(|_| moves && failures > u32::from(again)) {
            node.stand_back(&format!("code {code} after {}", length(began.elapsed())));
        }
        if let (JobEnd::ByItself(code), false) = (end, again) {
            return ExecEnd::Command(code);
        }
        if stopping.recv_timeout(back_off.next()) == Err(RecvTimeoutError::Disconnected) {
            return ExecEnd::Stopped(None);
        }
    }
}

/// Has the node hand over, as this host cannot run the job, and says why. If that kept the job from beginning, or its guard
/// from going on, the node leads only if no other can, for a time, and shows the reason. Tells what that means for one that
/// does not return.
fn hand_over(node: &impl Leader, lost: &JobEnd) -> ExecEnd {
    let (why, end) = match lost {
        JobEnd::Failed(why) => {
            error!("the job cannot be run: {why}: the node hands over");
            node.stand_back(&format!("it cannot be run: {why}"));
            return ExecEnd::Failed;
        }
        JobEnd::NoAddress => ("the guard of the job cannot hold its addresses", ExecEnd::NoAddress),
        _ => ("the guard of the job was killed, and the job with it", ExecEnd::Lost),
    };
    warn!("{why}: the node hands over");
    node.hand_over();
    end
}

/// The code of a command that began then and failed soon after that.
fn failed_soon(end: &JobEnd, began: Instant) -> Option<u8> {
    match end {
        JobEnd::ByItself(code @ 1..) if began.elapsed() < SOON => Some(*code),
        _ => None,
    }
}

fn is_closed(stopping: &Receiver<()>) -> bool {
    matches!(stopping.try_recv(), Err(TryRecvError::Disconnected))
}

/// Waits until the node leads for long enough to begin; or tells why not: it is to stop, the node has ended, or does not lead in time. Has a
/// guard ready meanwhile.
fn await_leadership(
    node: &impl Leader,
    (plan, ready): (&Plan, &mut Option<Ready>),
    (changes, stopping): (&Receiver<Change>, &Receiver<()>),
    give_up: Option<Instant>,
) -> Option<ExecEnd> {
    let late = give_up.map_or_else(never, crossbeam::channel::at);
    let mut calm = if ready.is_none() { after(CALM) } else { never() };
    loop {
        if is_closed(stopping) {
            return Some(ExecEnd::Stopped(None));
        }
        if node.is_gone() {
            return Some(ExecEnd::NodeGone { has_run: false });
        }
        let leadership = node.leadership();
        if leadership.as_ref().is_some_and(|leadership| has_time(plan, leadership)) {
            return None;
        }
        // Nobody tells of a renewal.
        let renewed = leadership.map_or_else(never, |_| after(NOT_HELD));
        select! {
            recv(changes) -> _ => {}
            recv(renewed) -> _ => {}
            recv(stopping) -> _ => return Some(ExecEnd::Stopped(None)),
            recv(late) -> _ => return Some(ExecEnd::NotGained),
            recv(calm) -> _ => {
                *ready = Ready::start(plan).map_err(|error| warn!("{error}: the job will begin later")).ok();
                calm = never();
            }
        }
    }
}

/// Whether a job that begins now would not be ended immediately: TERM is due only later.
fn has_time(plan: &Plan, leadership: &Leadership) -> bool {
    let deadlines = leadership.renewal().map_or(plan.deadlines, Deadlines::of_renewal);
    leadership.remaining() > deadlines.term
}

/// Runs the command once, if the node still leads.
fn run_once<L: Leader>(
    node: &L,
    (plan, ready): (&Plan, &mut Option<Ready>),
    (changes, stopping): (&Receiver<Change>, &Receiver<()>),
) -> io::Result<Option<JobEnd>> {
    while changes.try_recv().is_ok() {} // what came before the hold does not concern this job
    let Some(mut hold) = node.hold(plan.stop_after + GONE) else { return Ok(None) };
    let Some(leadership) = node.leadership() else {
        node.release(hold, true);
        return Ok(None);
    };
    let equipped = node.equip(&mut hold).and_then(|equipment| {
        tree::adopt_orphans(true)?;
        Ok(equipment)
    });
    let equipment = match equipped {
        Ok(equipment) => equipment,
        Err(error) => {
            node.release(hold, true);
            return Err(error);
        }
    };
    let job = Job::start(node, plan, &leadership, equipment, ready.take());
    let mut cgroup = None;
    let ended = job.and_then(|mut job| {
        let ended = job.watch(changes, stopping);
        let last_word = job.last_word();
        cgroup = job.cgroup.take();
        Ok((ended?, last_word))
    });
    // Whatever went wrong: nothing of the job is left when the leadership may go.
    let left = ended.as_ref().map_or(Remains::Nothing, |((left, _), _)| *left);
    let is_cleared = clear(node, plan, &leadership, (left, cgroup));
    tree::adopt_orphans(false)?;
    if matches!(&ended, Ok(((_, JobEnd::Late), _))) {
        node.note_late_renewal(leadership.epoch());
    }
    let last_word = ended.as_ref().map_or(None, |(_, word)| *word);
    node.release(hold, last_word.map_or(is_cleared, |word| word == LastWord::Clean));
    ended.map(|((_, end), _)| match end {
        JobEnd::GuardLost if !leadership.is_valid() => Some(JobEnd::WithLeadership), // nothing is to be handed over
        end => Some(end),
    })
}

/// Ends what the guard left to this process, however long that takes. Returns whether nothing is left of a job whose guard
/// was killed.
fn clear(
    node: &impl Leader,
    plan: &Plan,
    leadership: &Leadership,
    (left, cgroup): (Remains, Option<MadeCgroup>),
) -> bool {
    if left == Remains::Nothing {
        return false;
    }
    let cgroup = cgroup.as_ref().map(|made| &made.cgroup);
    let (mut is_gone, mut is_cleared) = (end_orphans(cgroup, GONE), true);
    if let Err(error) = remove_left(&plan.addresses) {
        error!("cannot remove the addresses that the guard left: {error}; the kernel does soon");
        is_cleared = false;
    }
    if left == Remains::All && plan.cleanup.is_some() {
        is_cleared &= cleanup::run(plan, leadership);
        is_gone = end_orphans(cgroup, GONE);
    }
    if !is_gone {
        outlast(node, cgroup);
    }
    is_cleared &= cgroup.is_none_or(|cgroup| cgroup.end_now().unwrap_or(false));
    is_cleared && left == Remains::All
}

/// Waits until KILL has ended what is left, as a guard would. Meanwhile the node hands over, and as its leadership is
/// held it does so by the end of its lease.
fn outlast(node: &impl Leader, cgroup: Option<&Cgroup>) {
    node.stand_back("KILL does not end processes of the job whose guard was killed");
    while !tree::end_all(cgroup, Duration::ZERO, is_own, |_, _| ()).is_ok_and(|left| left.is_none())
    {
        thread::sleep(NOT_HELD);
    }
}

/// Kills what a killed guard left: it became this process's. Programs that this process itself runs, such as the
/// one that its rank comes from, are spared. Says what is left after this time. Returns whether nothing is.
fn end_orphans(cgroup: Option<&Cgroup>, most: Duration) -> bool {
    match tree::end_all(cgroup, most, is_own, |_, _| ()) {
        Ok(None) => return true,
        Ok(Some(left)) => error!("{}", tree::undead(&left)),
        Err(error) => error!("what the guard left may still run: {error}"),
    }
    false
}

/// Whether this process runs that program for itself. One that has ended has no environment any more, and its exit code is
/// for the thread that waits for it.
fn is_own(pid: Pid) -> bool {
    children::has_started(pid.as_raw_nonzero().get()) || tree::is_helper(pid)
}

#[cfg(test)]
mod tests;
