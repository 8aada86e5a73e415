//! What a job says to its guard, when it overrules that, and what the end of a guard means.

use std::ops::Deref;
use std::process::{Child, Command, Stdio};

use crossbeam::channel::{Sender, bounded};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::*;
use crate::exec::address::spec::Address;
use crate::exec::equipment::Equipment;
use crate::exec::equipment::tests::equipment;
use crate::exec::plan::tests::plan;
use crate::exec::ready::tests::{GUARD, ending};
use crate::node::leadership::{Feed, Term};
use crate::node::logged::logged;
use crate::testing::alone::alone;

mod words;

/// A node that has ended, or not.
struct Node {
    is_gone: bool,
}

impl Leader for Node {
    type Hold = ();

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        Box::new(never())
    }

    fn leadership(&self) -> Option<Leadership> {
        None
    }

    fn hold(&self, _: Duration) -> Option<()> {
        None
    }

    fn equip(&self, _: &mut Self::Hold) -> io::Result<Equipment> {
        Ok(equipment())
    }

    fn hand_over(&self) {}

    fn stand_back(&self, _: &str) {}

    fn is_gone(&self) -> bool {
        self.is_gone
    }
}

const LIVES: Node = Node { is_gone: false };
const GONE: Node = Node { is_gone: true };

/// One that is good for a thousand seconds, of which KILL comes 100 before the end; or one that has ended.
fn leadership(is_valid: bool) -> Leadership {
    let (feed, until) = (Feed::default(), now() + seconds(1000));
    feed.show(Some(Term { epoch: 1, until, renewal: Some(seconds(800)), now: now() }));
    let leadership = feed.leadership().unwrap();
    if !is_valid {
        feed.show(None);
    }
    leadership
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn ago(time: Duration) -> Time {
    Time(now().0 - u64::try_from(time.as_nanos()).unwrap())
}

/// A job whose guard is this process, and what that would hear it by.
fn job<'a>(
    node: &'a Node,
    plan: &'a Plan,
    leadership: &'a Leadership,
    guard: Pid,
) -> (Job<'a, Node>, OwnedFd) {
    let (line, far) = pair::new().unwrap();
    let alarms = Arc::new(Alarms::new(plan.deadlines).unwrap());
    leadership.tell(&alarms);
    let process = Arc::new(pidfd_open(guard, PidfdFlags::empty()).unwrap());
    let ready = Ready { guard, process, line, alarms, news: never(), cgroup: None };
    (Job::begun(node, plan, leadership, ready), far)
}

/// What the guard is told now: nothing, to answer, or to have killed all after about so many seconds.
fn told(job: &mut Job<'_, Node>, guard: &OwnedFd) -> Option<GuardOrder> {
    job.tell();
    pair::hear(guard, Some(Duration::ZERO)).ok()?.map(|(order, _)| order)
}

#[track_caller]
fn assert_kill_in(order: Option<GuardOrder>, about: u64) {
    let Some(GuardOrder::End { left: Some(left) }) = order else {
        panic!("{order:?} is no order to end in time")
    };
    let left = left.as_secs();
    assert!((about.saturating_sub(60)..=about).contains(&left), "{left} s, not {about}");
}

/// "As if electd had been killed", where the node is: TERM, and KILL after `--stop-after`; at once without a lease.
#[test]
fn a_job_is_told_to_end_with_its_leadership_its_node_or_its_electd() {
    let (valid, ended) = (leadership(true), leadership(false));
    let leased = Plan { stop_after: seconds(500), ..plan() };
    let unleased = Plan { is_leased: false, ..leased.clone() };
    let (mut goes_on, guard) = job(&LIVES, &leased, &valid, getpid());
    assert_eq!(told(&mut goes_on, &guard), None);
    for (node, plan, leadership, about) in
        [(&GONE, &leased, &valid, 500), (&GONE, &unleased, &valid, 0)]
    {
        let (mut job, guard) = job(node, plan, leadership, getpid());
        assert_kill_in(told(&mut job, &guard), about);
        assert_eq!(told(&mut job, &guard), None, "it was told");
    }
    let (mut over, of_over) = job(&LIVES, &leased, &ended, getpid());
    let by_alarm = GuardOrder::End { left: None };
    assert_eq!([(); 2].map(|()| told(&mut over, &of_over)), [Some(by_alarm), None]);
    goes_on.stop_by = Some(now() + seconds(700));
    assert_kill_in(told(&mut goes_on, &guard), 700);
    goes_on.stop_by = Some(now() + seconds(900));
    assert_eq!(told(&mut goes_on, &guard), None, "KILL comes sooner already");
    goes_on.stop_by = Some(now() + seconds(300));
    assert_kill_in(told(&mut goes_on, &guard), 300);
}

#[test]
fn a_guard_with_addresses_is_asked_again_once_it_has_answered() {
    let leadership = leadership(true);
    let plan = Plan { addresses: vec!["10.0.0.9/24%eth0".parse().unwrap()], ..plan() };
    let (mut job, guard) = job(&LIVES, &plan, &leadership, getpid());
    assert_eq!(job.pause(), Some(seconds(1)));
    job.ordered = Some(ago(seconds(50)));
    assert_eq!(job.pause(), Some(Duration::from_millis(1)), "whichever comes first");
    job.ordered = None;
    assert_eq!(told(&mut job, &guard), Some(GuardOrder::Answer));
    assert_eq!(told(&mut job, &guard), None, "it has yet to answer");
    assert!(!job.looks_frozen());
    pair::say(&guard, &GuardWord::Lives, &[]).unwrap();
    assert!(!job.looks_frozen());
    assert_eq!(told(&mut job, &guard), Some(GuardOrder::Answer));
    assert!(!job.looks_frozen(), "it has yet to answer");
    job.asked = Some(ago(seconds(3)));
    assert!(job.looks_frozen(), "the kernel removes its addresses");
    pair::say(&guard, &GuardWord::Lives, &[]).unwrap();
    assert!(!job.looks_frozen(), "it was busy");
}

/// A process that does nothing until its stdin ends.
fn idle() -> Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

/// Looks whether the guard is to be killed; so it is only if it has been late for a while, as this process may have been
/// paused itself.
fn is_killed(change: impl Fn(&mut Job<'_, Node>)) -> bool {
    let (mut child, leadership, plan) = (idle(), leadership(true), plan());
    let (mut job, _guard) = job(&LIVES, &plan, &leadership, Pid::from_child(&child));
    change(&mut job);
    job.overrule();
    assert!(!job.overruled, "at once");
    job.late_since = job.late_since.map(|_| ago(seconds(20)));
    job.overrule();
    assert!(!job.overruled, "it has a quarter of the time after KILL");
    job.late_since = job.late_since.map(|_| ago(seconds(25)));
    let told = logged(|| (0..2).for_each(|_| job.overrule()));
    let words = "WARN : the guard of the job did not act in time: killing both";
    assert_eq!(told, vec![words; usize::from(job.overruled)]);
    let (overruled, pause) = (job.overruled, job.pause());
    drop(child.stdin.take());
    let status = child.wait().unwrap();
    assert_eq!(status.signal() == Some(Signal::KILL.as_raw()), overruled, "{status}");
    assert_eq!(pause == Some(seconds(1)), overruled);
    overruled
}

#[test]
fn a_guard_that_did_not_act_is_killed() {
    assert!(!is_killed(|_| ()));
    assert!(is_killed(|job| job.alarms.late.set(Time(0)).unwrap()));
    assert!(is_killed(|job| job.ordered = Some(ago(seconds(51)))));
    assert!(!is_killed(|job| job.ordered = Some(ago(seconds(30)))), "it may be about to");
}

#[test]
fn a_job_looks_again_when_its_guard_would_be_late() {
    let (leadership, plan) = (leadership(true), plan());
    let (mut job, _guard) = job(&LIVES, &plan, &leadership, getpid());
    assert_eq!(job.pause(), None, "an event wakes it");
    let about = |pause: Option<Duration>, time| {
        pause.is_some_and(|pause| pause <= time && pause + seconds(15) > time)
    };
    job.ordered = Some(now() + seconds(100));
    assert!(about(job.pause(), seconds(150)), "{:?}", job.pause());
    job.ordered = Some(ago(seconds(60)));
    assert_eq!(job.pause(), Some(Duration::from_millis(1)), "not without a pause");
    job.late_since = Some(now());
    assert!(about(job.pause(), seconds(25)), "{:?}", job.pause());
}

/// A renewal may come late, and the next one as well.
#[test]
fn a_guard_that_was_late_for_a_moment_is_given_the_whole_time_again() {
    let (leadership, plan) = (leadership(true), plan());
    let (mut job, _guard) = job(&LIVES, &plan, &leadership, getpid());
    job.alarms.late.set(Time(0)).unwrap();
    job.overrule();
    assert!(job.late_since.is_some());
    job.alarms.late.set(now() + seconds(1000)).unwrap();
    job.overrule();
    assert_eq!((job.late_since, job.overruled), (None, false));
}

/// What a job is, and how it ended, as the log tells it.
#[test]
fn a_job_is_told_in_words() {
    let (valid, ended) = (leadership(true), leadership(false));
    let address = "10.0.0.9/24%eth0".parse::<Address>().unwrap();
    let command = vec!["sh".into(), "-c".into()];
    let runs = Plan { command: command.clone(), ..plan() };
    let holds = Plan { addresses: vec![address.clone(), address.clone()], ..plan() };
    let both = Plan { addresses: vec![address], command, ..plan() };
    assert_eq!(runs.words(), "runs sh");
    assert_eq!(holds.words(), "holds 10.0.0.9/24%eth0, 10.0.0.9/24%eth0");
    assert_eq!(both.words(), "holds 10.0.0.9/24%eth0 and runs sh");
    let end = |plan: &Plan, leadership: &Leadership, status: i32| {
        let (mut job, _guard) = job(&LIVES, plan, leadership, getpid());
        let mut end = None;
        let told = logged(|| end = Some(job.end(ExitStatus::from_raw(status))));
        (end.unwrap(), told.join("; "))
    };
    let by_itself =
        "INFO job_ended: the job ended by itself, with code 3 (epoch 1, by itself)".to_owned();
    let with_leadership =
        "INFO job_ended: the job has ended, since the leadership does (epoch 1, by itself)"
            .to_owned();
    assert_eq!(end(&runs, &valid, 3 << 8), ((Remains::Nothing, JobEnd::ByItself(3)), by_itself));
    let ends = (Remains::Nothing, JobEnd::WithLeadership);
    assert_eq!(end(&runs, &ended, 3 << 8), (ends.clone(), with_leadership.clone()));
    assert_eq!(end(&holds, &valid, 0), (ends, with_leadership));
    let killed = Signal::KILL.as_raw();
    let guard_lost = "WARN job_ended: the job was killed, since its guard was (epoch 1, KILL)";
    assert_eq!(
        end(&runs, &valid, killed),
        ((Remains::All, JobEnd::GuardLost), guard_lost.to_owned())
    );
    let ends = |leadership: &Leadership, status: i32, overruled, stopped| {
        let (mut job, _guard) = job(&LIVES, &runs, leadership, getpid());
        (job.overruled, job.stopped) = (overruled, stopped);
        job.end(ExitStatus::from_raw(status)).1
    };
    let lost = JobEnd::WithLeadership;
    assert_eq!(ends(&valid, killed, true, false), lost, "this process killed it");
    assert_eq!(ends(&valid, 3 << 8, false, true), JobEnd::WithStop(3));
    assert_eq!(ends(&ended, 3 << 8, false, true), lost, "that came first");
}

/// It may have been killed while it waited.
#[test]
fn a_job_whose_guard_is_gone_begins_with_another() {
    let this = "exec::job::tests::a_job_whose_guard_is_gone_begins_with_another";
    if alone(this).is_some() {
        return;
    }
    let leads = crate::exec::plan::tests::leadership(seconds(1000), None);
    let node = "--exact".to_owned(); // this program, which runs the test that is a guard
    let plan = Plan { node, command: vec![GUARD.into()], cluster: ending("code 3"), ..plan() };
    for is_known in [false, true] {
        let (line, far) = pair::new().unwrap();
        let (tell, news) = bounded(1);
        let alarms = Arc::new(Alarms::new(plan.deadlines).unwrap());
        let process = Arc::new(pidfd_open(getpid(), PidfdFlags::empty()).unwrap());
        let gone = Ready { guard: getpid(), process, line, alarms, news, cgroup: None };
        assert!(gone.is_there());
        // What is known is not asked any more: it might not find that out.
        let _far = is_known.then_some(far);
        if is_known {
            tell.send(GuardNews::Ended(Ok(ExitStatus::from_raw(9)))).unwrap();
        }
        drop(tell);
        let mut job = Job::start(&LIVES, &plan, &leads, equipment(), Some(gone)).unwrap();
        let ended = job.watch(&never(), &never()).unwrap();
        assert_eq!(ended, (Remains::Nothing, JobEnd::ByItself(3)));
    }
}

/// A guard that ended with this status while the leadership was valid and nobody had told it to
/// end.
fn leading(status: i32) -> GuardEnd {
    let status = ExitStatus::from_raw(status);
    GuardEnd { status, ordered_to_end: false, overruled: false, stopped: false, has_command: true }
}

#[test]
fn a_command_that_its_guard_ended_by_the_deadline_has_not_ended_by_itself() {
    let by_deadline = BY_DEADLINE.as_raw();
    // The leadership was renewed just when TERM was due.
    assert_eq!(leading(by_deadline).verdict(), (Remains::Something, JobEnd::Late));
    let stopped = GuardEnd { stopped: true, ..leading(by_deadline) };
    assert_eq!(stopped.verdict(), (Remains::Something, JobEnd::WithStop(143)));
}

#[test]
fn the_code_of_a_command_counts_where_nobody_ended_it() {
    let code = 3;
    assert_eq!(leading(code << 8).verdict(), (Remains::Nothing, JobEnd::ByItself(3)));
    let ordered = GuardEnd { ordered_to_end: true, ..leading(code << 8) };
    assert_eq!(ordered.verdict(), (Remains::Nothing, JobEnd::WithLeadership));
    let stopped = GuardEnd { ordered_to_end: true, stopped: true, ..leading(code << 8) };
    assert_eq!(stopped.verdict(), (Remains::Nothing, JobEnd::WithStop(3)));
    let killed = Signal::KILL.as_raw();
    assert_eq!(leading(killed).verdict(), (Remains::All, JobEnd::GuardLost));
    let overruled = GuardEnd { overruled: true, ..leading(killed) };
    assert_eq!(overruled.verdict(), (Remains::All, JobEnd::WithLeadership));
    let no_address = leading(NO_ADDRESS.as_raw());
    assert_eq!(no_address.verdict(), (Remains::Something, JobEnd::NoAddress));
    let failed = leading(FAILED.as_raw());
    let cannot = (Remains::Something, JobEnd::Failed(String::new()));
    assert_eq!(failed.verdict(), cannot);
    assert_eq!(GuardEnd { stopped: true, ..failed }.verdict(), cannot);
    for failed in [failed, no_address] {
        let too_late = GuardEnd { ordered_to_end: true, ..failed };
        assert_eq!(too_late.verdict(), (Remains::Something, JobEnd::WithLeadership));
    }
    let addresses_alone = GuardEnd { has_command: false, ..leading(0) };
    assert_eq!(addresses_alone.verdict(), (Remains::Nothing, JobEnd::WithLeadership));
}

/// How a job ended whose guard ended with this status after all that `act` does: it tells changes, stops the job, and hears
/// what the guard is told. And what was logged.
fn watched(
    status: i32,
    act: impl FnOnce(&Sender<Change>, &mut Option<Sender<()>>, &mut dyn FnMut() -> GuardOrder),
) -> ((Remains, JobEnd), Vec<String>) {
    let leadership = leadership(true);
    let plan = Plan { stop_after: seconds(500), command: vec!["sh".into()], ..plan() };
    let ((tell, news), (change, changes), (stop, stopping)) =
        (bounded(0), bounded(0), bounded::<()>(0));
    let (mut job, far) = job(&LIVES, &plan, &leadership, getpid());
    job.news = news;
    let mut end = None;
    let mut lines = Vec::new();
    std::thread::scope(|scope| {
        let (tell, change) = (tell, change); // a test that fails ends the job
        let watches = scope.spawn(|| {
            let mut end = None;
            let lines = logged(|| end = Some(job.watch(&changes, &stopping).unwrap()));
            (end.unwrap(), lines)
        });
        let mut hears = || pair::hear(&far, Some(seconds(20))).unwrap().unwrap().0;
        let mut stop = Some(stop);
        act(&change, &mut stop, &mut hears);
        tell.send(GuardNews::Late).unwrap(); // that is looked into, and no end
        tell.send(GuardNews::Ended(Ok(ExitStatus::from_raw(status)))).unwrap();
        let (of, told) = watches.join().unwrap();
        (end, lines) = (Some(of), told);
    });
    (end.unwrap(), lines)
}

/// The first reason to end it counts.
#[test]
fn a_job_that_is_to_end_has_as_long_as_its_plan_says() {
    let ((left, end), lines) = watched(3 << 8, |change, stop, hears| {
        *stop = None;
        assert_kill_in(Some(hears()), 500);
        change.send(Change::Ending { within: seconds(9) }).unwrap();
    });
    assert_eq!((left, end), (Remains::Nothing, JobEnd::WithStop(3)));
    let stopped =
        "INFO job_ended: the job has ended, since electd ends, with code 3 (epoch 1, by itself)";
    assert_eq!(lines, ["INFO : the leadership is to end: the job is told to end", stopped]);
    let (ended, lines) = watched(3 << 8, |change, _, hears| {
        change.send(Change::Leading { epoch: 1 }).unwrap();
        change.send(Change::Ending { within: seconds(9) }).unwrap();
        assert_kill_in(Some(hears()), 500);
    });
    assert_eq!(ended, (Remains::Nothing, JobEnd::WithLeadership));
    let told = [
        "INFO : the leadership is to end: the job is told to end",
        "INFO job_ended: the job has ended, since the leadership does (epoch 1, by itself)",
    ];
    assert_eq!(lines, told);
}
