//! What a guard is told, what it wakes for, and when it ends the command. No process of a job is there.

use std::ffi::OsString;
use std::io::Write;
use std::sync::mpsc::channel;

use rustix::process::getpid;

use super::*;
use crate::exec::mark::Mark;
use crate::testing::alone::alone;
use crate::testing::within::within;

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

/// A guard whose alarms are far away, and the other ends of its connections.
struct Scene {
    guard: Guard<'static>,
    electd: OwnedFd,
    child: UnixStream,
}

/// Once electd has ended, its command has 500 s to stop. TERM comes in 900 s and KILL in 1000.
fn scene(kind: &str) -> Scene {
    let ((near, electd), (children, child)) = (pair::new().unwrap(), UnixStream::pair().unwrap());
    children.set_nonblocking(true).unwrap();
    let alarm = |seconds| {
        let alarm = Alarm::new().unwrap();
        alarm.set(now() + SECONDS(seconds)).unwrap();
        alarm
    };
    let task = ["node-1", kind, "500000", "", "wanted", "", "--"].map(OsString::from);
    let guard = Guard {
        task: GuardTask::read(task.to_vec()).unwrap(),
        epoch: 7,
        electd: Some(near),
        _lock: ManuallyDrop::new(File::open("/dev/null").unwrap()),
        term: alarm(900),
        kill: alarm(1000),
        own: Alarm::new().unwrap(),
        children,
        ordered: None,
        addresses: None,
        leaves_address: false,
        grace: SECONDS(100),
        command: None,
        ended: None,
        termed: None,
        cleanup: None,
        cleaned: None,
    };
    Scene { guard, electd, child }
}

#[test]
fn a_guard_knows_how_its_command_ended() {
    let mut guard = scene("leased").guard;
    assert_eq!(guard.means(), None, "without a command nothing is ended");
    let process = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    guard.command =
        Some(RunningJob { pid: getpid(), process, mark: Mark::of_nobody(), cgroup: None });
    assert_eq!(guard.means(), Some(Means::Kill), "it is killed now");
    guard.termed = Some(now());
    assert_eq!(guard.means(), Some(Means::Kill), "TERM was not enough");
    guard.ended = Some(0);
    assert_eq!(guard.means(), Some(Means::Term));
    guard.termed = None;
    assert_eq!(guard.means(), None, "it ended by itself");
}

/// As electd does by its end. A program that another test starts now has a copy of the line until its exec.
fn close(electd: &OwnedFd) {
    rustix::net::shutdown(electd, rustix::net::Shutdown::Both).unwrap();
}

fn say(electd: &OwnedFd, order: GuardOrder) {
    pair::say(electd, &order, &[]).unwrap();
}

fn end_in(seconds: u64) -> GuardOrder {
    GuardOrder::End { left: Some(SECONDS(seconds)) }
}

/// This process in the place of a command: nothing here signals it.
fn command() -> Option<RunningJob<'static>> {
    let (pid, process) = (getpid(), pidfd_open(getpid(), PidfdFlags::empty()).unwrap());
    Some(RunningJob { pid, process, mark: Mark::of_nobody(), cgroup: None })
}

/// This moment is so many seconds away, but for those that the test itself took.
#[track_caller]
fn is_in(seconds: u64, moment: Time) {
    let left = moment.since(now());
    assert!((SECONDS(seconds.saturating_sub(30))..=SECONDS(seconds)).contains(&left), "{left:?}");
}

/// So that the cleanup has as long as the command had.
#[test]
fn a_command_is_killed_in_time_and_leaves_the_cleanup_half_of_what_was_ordered() {
    for (cleanup, termed, ordered, expected) in [
        ("", None, None, (1000, 1000)),
        ("", None, Some(600), (600, 600)),
        ("", None, Some(2000), (1000, 1000)),
        ("", Some(0), None, (1000, 1000)),
        ("", Some(0), Some(600), (600, 600)),
        ("clean", None, None, (1000, 1000)),
        ("clean", None, Some(600), (600, 600)),
        ("clean", Some(0), None, (1000, 900)),
        ("clean", Some(0), Some(600), (600, 300)),
        ("clean", Some(200), Some(600), (600, 400)),
        ("clean", Some(0), Some(3000), (1000, 900)),
    ] {
        let mut guard = scene("leased").guard;
        guard.task.cleanup = cleanup.into();
        let after = |seconds: Option<u64>| seconds.map(|seconds| now() + SECONDS(seconds));
        (guard.termed, guard.ordered) = (after(termed), after(ordered));
        is_in(expected.0, guard.limit().unwrap());
        is_in(expected.1, guard.limit_of_command().unwrap());
    }
}

#[test]
fn the_earliest_end_that_was_ordered_holds_and_each_order_is_answered() {
    let Scene { mut guard, electd, .. } = scene("leased");
    guard.take_orders();
    assert_eq!(guard.ordered, None, "nothing was said");
    say(&electd, GuardOrder::Answer);
    guard.take_orders();
    assert_eq!(guard.ordered, None);
    for (kill, expected) in [(700, 700), (800, 700), (600, 600)] {
        say(&electd, end_in(kill));
        guard.take_orders();
        is_in(expected, guard.ordered.unwrap());
    }
    let answer = || Some(pair::hear(&electd, Some(Duration::ZERO)).ok()??.0);
    let answers: Vec<GuardWord> = std::iter::from_fn(answer).collect();
    assert_eq!(answers, [const { GuardWord::Lives }; 4]);
    close(&electd);
    guard.take_orders();
    is_in(500, guard.ordered.unwrap());
}

/// Nobody postpones its alarm from then on.
#[test]
fn an_order_without_a_time_is_one_to_end_by_the_alarm() {
    let Scene { mut guard, electd, .. } = scene("leased");
    say(&electd, GuardOrder::End { left: None });
    guard.take_orders();
    is_in(1000, guard.ordered.unwrap());
}

#[test]
fn once_electd_has_ended_the_command_has_the_time_to_stop_if_there_is_a_lease_for_as_long() {
    for (kind, kill, expected) in
        [("leased", 1000, 500), ("leased", 400, 400), ("unleased", 1000, 0)]
    {
        let Scene { mut guard, electd, .. } = scene(kind);
        guard.kill.set(now() + SECONDS(kill)).unwrap();
        close(&electd);
        guard.take_orders();
        is_in(expected, guard.ordered.unwrap());
        assert!(guard.electd.is_none(), "{kind}");
        guard.take_orders();
    }
    let Scene { mut guard, electd, .. } = scene("leased");
    pair::say(&electd, &3, &[]).unwrap();
    guard.take_orders();
    is_in(500, guard.ordered.expect("no electd says what is no order"));
}

/// Waits as the guard does, also for the alarm of KILL or not, and fails if nothing ends that.
#[track_caller]
fn woken(scene: Scene, due: Option<Time>, awaits_kill: bool) -> Scene {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        scene.guard.wait(due, awaits_kill).unwrap();
        let _ = sender.send(scene);
    });
    receiver.recv_timeout(SECONDS(20)).expect("the guard wakes")
}

#[test]
fn a_guard_wakes_when_there_is_something_to_do() {
    woken(scene("leased"), Some(Time(1)), false);
    for change in [
        (|scene| say(&scene.electd, GuardOrder::Answer)) as fn(&mut Scene),
        |scene| close(&scene.electd),
        |scene| scene.child.write_all(&[0]).unwrap(),
        |scene| scene.guard.kill.set(now() + Duration::from_millis(5)).unwrap(),
        |scene| scene.guard.kill.set(Time(1)).unwrap(), // just now
        |scene| {
            scene.guard.command = command();
            scene.guard.term.set(Time(1)).unwrap();
        },
    ] {
        let mut scene = scene("leased");
        change(&mut scene);
        woken(scene, None, true);
    }
}

/// It would else take all the time of a processor, from the cleanup that it waits for.
#[test]
fn a_guard_does_not_wake_for_what_has_been_done() {
    let past = Time(1);
    for change in [
        (|_| ()) as fn(&mut Guard),
        |guard| (guard.command, guard.termed) = (command(), Some(now())),
        |guard| (guard.command, guard.ended) = (command(), Some(0)),
    ] {
        let mut scene = scene("leased");
        change(&mut scene.guard);
        scene.guard.term.set(past).unwrap();
        scene.guard.own.set(past).unwrap();
        scene.guard.kill.set(now() + Duration::from_millis(5)).unwrap();
        let scene = woken(scene, None, true);
        assert!(scene.guard.kill.check_due().unwrap());
        let due = now() + Duration::from_millis(5);
        woken(scene, Some(due), false);
        assert!(due <= now());
    }
}

/// Without electd too, which asks it for a sign of life from time to time.
#[test]
fn a_guard_wakes_in_time_to_tend_its_addresses() {
    for due in [None, Some(now() + SECONDS(300))] {
        let mut scene = scene("leased");
        scene.child.write_all(&[0]).unwrap(); // it need not wait here
        scene.guard.addresses = Some(Held::begin(&[]).unwrap().unwrap());
        let scene = woken(scene, due, false);
        assert!(scene.guard.own.left().unwrap() <= Duration::from_millis(200));
        scene.guard.wait(Some(Time(1)), false).unwrap();
        assert!(scene.guard.own.check_due().unwrap(), "whichever comes first");
        assert!(scene.guard.addresses.is_some_and(Held::end));
    }
}

/// The kernel would else remove them. A guard that serves reaps whatever its process started.
#[test]
fn a_guard_tends_its_addresses_while_its_node_leads() {
    let this = "exec::guard::work::tests::a_guard_tends_its_addresses_while_its_node_leads";
    if alone(this).is_some() {
        return;
    }
    let Scene { mut guard, electd, child: _child } = scene("leased");
    let own = Alarm::of(guard.own.as_fd().try_clone_to_owned().unwrap());
    guard.addresses = Some(Held::overdue());
    let serves = thread::spawn(move || (guard.serve().unwrap(), guard));
    within(SECONDS(60), "they are due later", || !own.check_due().unwrap());
    say(&electd, GuardOrder::End { left: None });
    let (forced, mut guard) = serves.join().unwrap();
    assert!(!forced && guard.addresses.take().is_some_and(Held::end));
}
