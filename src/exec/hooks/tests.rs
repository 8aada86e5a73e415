//! Which events a hook is told, in what order, and what is counted.

use prometheus_client::metrics::histogram::Histogram;

use electd_facts::hold::{HoldEnd, HolderBefore, LockEvent};

use super::*;
use crate::node::events::tests::event;
use crate::node::events::{Event, EventKind, KEPT};
use crate::node::logged::logged;
use crate::testing::within::within;

fn ids(mut waiting: WaitingNews) -> Vec<String> {
    let told = std::iter::from_fn(|| waiting.next());
    told.map(|news| match news {
        HookNews::OfNode(event) => event.reason.clone(),
        HookNews::OfLock(change) => change.words(),
    })
    .collect()
}

#[test]
fn the_newest_of_each_kind_waits_in_order() {
    let log = EventLog::new(1);
    let kinds = [
        (EventKind::NoLeader, None),
        (EventKind::MemberDown, Some("a")),
        (EventKind::MemberDown, Some("b")),
        (EventKind::Problem, None),
        (EventKind::NoLeader, None),
        (EventKind::MemberDown, Some("a")),
        (EventKind::ProblemOver, None),
        (EventKind::Takeover, None),
    ];
    log.push(kinds.iter().enumerate().map(|(at, (kind, member))| Event {
        event: *kind,
        member: member.map(str::to_owned),
        ..event(&at.to_string())
    }));
    let (mut waiting, mut seen) = (WaitingNews::default(), EventId { start: 1, number: 0 });
    let new = log.after(seen, KEPT);
    assert_eq!(waiting.take(&mut seen, new), 2);
    assert_eq!(seen, log.last());
    let new = log.after(seen, KEPT);
    assert_eq!(waiting.take(&mut seen, new), 0);
    assert_eq!(ids(waiting), ["2", "4", "5"]);
}

#[test]
fn a_program_is_a_file_that_this_user_may_run_by_its_path_or_one_of_path() {
    for program in ["sh", "/bin/sh"] {
        assert!(can_run(Path::new(program)), "{program}");
    }
    for no_program in ["no-such-program", "/no/such/program", "/etc/passwd", "/etc"] {
        assert!(!can_run(Path::new(no_program)), "{no_program}");
    }
}

#[test]
fn what_was_forgotten_before_it_was_seen_is_counted() {
    let log = EventLog::new(1);
    log.push((0..KEPT + 5).map(|at| event(&at.to_string())));
    let (mut waiting, mut seen) = (WaitingNews::default(), EventId { start: 1, number: 0 });
    let new = log.after(seen, KEPT);
    let left_out = waiting.take(&mut seen, new);
    assert_eq!((left_out, waiting.count()), ((KEPT + 5 - 1) as u64, 1));
}

/// The hooks of a node with this log.
fn hooks(log: &Arc<EventLog>) -> Arc<HooksState> {
    let (ring, rings) = bounded(1);
    let bell = ring.clone();
    log.on_news(move || _ = bell.try_send(()));
    Arc::new(HooksState {
        config: Mutex::default(),
        end: Mutex::default(),
        ring,
        rings,
        log: log.clone(),
        locks: Arc::new(EventLog::of_locks(1)),
        tally: Arc::new(Tally::new(Histogram::new([]))),
        cluster: "hc".to_owned(),
        thread: Mutex::default(),
    })
}

fn hook(script: &str) -> Option<HooksConfig> {
    Some(HooksConfig { timeout: Duration::from_secs(20), ..hook::tests::hook(script) })
}

/// How often something became of an event.
fn count(shared: &HooksState, result: &str) -> u64 {
    shared.tally.hooks.get_or_create(&vec![("result", result.to_owned())]).get()
}

/// A worker that has seen nothing yet.
fn worker(shared: &Arc<HooksState>) -> Worker {
    Worker::new(shared, true)
}

fn news(event: Event) -> HookNews {
    HookNews::OfNode(event.into())
}

fn of_kind(kind: EventKind) -> Event {
    Event { event: kind, ..event("") }
}

#[test]
fn each_run_is_counted_and_told_if_it_went_badly() {
    let name = "the hook sh for no_leader";
    for (script, result, told) in [
        ("true", "ok", vec![]),
        ("exit 3", "failed", vec![format!("WARN hook: {name} exited with code 3")]),
    ] {
        let shared = hooks(&Arc::new(EventLog::new(1)));
        let lines = logged(|| worker(&shared).tell(&hook(script).unwrap(), &news(event(""))));
        assert_eq!((count(&shared, result), lines), (1, told));
    }
    let shared = hooks(&Arc::new(EventLog::new(1)));
    let missing = HooksConfig { program: "/there/is/none".into(), ..hook("").unwrap() };
    let limit = Duration::from_millis(50);
    let late = HooksConfig { timeout: limit, ..hook("sleep 1000").unwrap() };
    let lines =
        logged(|| [missing, late].iter().for_each(|it| worker(&shared).tell(it, &news(event("")))));
    let why = "cannot be run: No such file or directory (os error 2)";
    let missing = format!("WARN hook: the hook /there/is/none for no_leader {why}");
    assert_eq!(lines, [missing, format!("WARN hook: {name} took longer than 50ms and was killed")]);
    assert_eq!(["not_run", "timeout", "ok"].map(|result| count(&shared, result)), [1, 1, 0]);
}

#[test]
fn an_event_that_a_newer_one_of_its_kind_replaces_is_counted_and_told_if_there_is_a_hook() {
    let sentence =
        "INFO hook: the hook is not told 1 changes: newer ones of their kind came meanwhile";
    for (config, left_out, told) in
        [(None, 0, vec![]), (hook("true"), 1, vec![sentence.to_owned()])]
    {
        let log = Arc::new(EventLog::new(1));
        let shared = hooks(&log);
        *shared.config.lock() = config;
        log.push([event("1"), event("2")]);
        let mut worker = worker(&shared);
        assert_eq!(logged(|| worker.look()), told);
        assert_eq!(count(&shared, "left_out"), left_out);
        assert_eq!(logged(|| worker.look()), [""; 0], "there is nothing new");
        assert_eq!(ids(worker.waiting), ["2"]);
    }
}

/// As much as its time allows; what is left is counted.
#[test]
fn a_node_that_stops_tells_its_hook_what_waits() {
    let log = Arc::new(EventLog::new(1));
    log.push([EventKind::NoLeader, EventKind::Leading, EventKind::Stopping].map(of_kind));
    let shared = hooks(&log);
    let ends = |config: Option<HooksConfig>, left: Duration| {
        *shared.config.lock() = config;
        *shared.end.lock() = Some(Instant::now() + left);
        worker(&shared).run();
        ["ok", "left_out"].map(|result| count(&shared, result))
    };
    assert_eq!(ends(None, Duration::ZERO), [0, 0], "nobody is to be told");
    assert_eq!(ends(hook("true"), Duration::from_secs(100)), [3, 0]);
    assert_eq!(ends(hook("true"), Duration::ZERO), [3, 3]);
}

/// An event is lost for good if its hook does not run.
#[test]
fn a_hook_for_which_there_is_no_descriptor_is_run_as_soon_as_there_is_one() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let this = "exec::hooks::tests::a_hook_for_which_there_is_no_descriptor_is_run_as_soon_as_there_is_one";
    if crate::testing::alone::alone(this).is_some() {
        return;
    }
    let shared = hooks(&Arc::new(EventLog::new(1)));
    let usual = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..usual }).unwrap();
    let (mut worker, shared_too) = (worker(&shared), shared.clone());
    let tells = thread::spawn(move || worker.tell(&hook("true").unwrap(), &news(event(""))));
    thread::sleep(LOOK * 3); // it has tried by then, or tries later: the outcome is the same
    assert_eq!(count(&shared_too, "not_run"), 0);
    setrlimit(Resource::Nofile, usual).unwrap();
    tells.join().unwrap();
    assert_eq!(["ok", "not_run"].map(|result| count(&shared, result)), [1, 0]);
}

/// A folder, and a hook that notes there what it is told.
fn notes() -> (tempfile::TempDir, Option<HooksConfig>) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("echo $ELECTD_EVENT >>{}/told", folder.path().display());
    (folder, hook(&script))
}

fn told(folder: &tempfile::TempDir) -> String {
    std::fs::read_to_string(folder.path().join("told")).unwrap_or_default()
}

#[test]
fn a_first_hook_is_told_what_comes_and_a_later_one_takes_its_place() {
    let log = Arc::new(EventLog::new(1));
    let (shared, (first, one), (later, other)) = (hooks(&log), notes(), notes());
    let handle = Hooks(shared.clone()).handle();
    log.push([of_kind(EventKind::NoLeader)]);
    handle.replace(None).unwrap();
    assert!(shared.thread.lock().is_none(), "a node without a hook has no thread for it");
    handle.replace(one).unwrap();
    let until = |folder: &tempfile::TempDir, words: &str| {
        within(Duration::from_secs(20), words, || told(folder) == words);
    };
    log.push([of_kind(EventKind::Leading)]);
    until(&first, "leading\n");
    handle.replace(other).unwrap();
    log.push([of_kind(EventKind::Following)]);
    until(&later, "following\n");
    log.push([of_kind(EventKind::Stopping)]);
    Hooks(shared.clone()).stop();
    assert_eq!((told(&first), told(&later)), ("leading\n".into(), "following\nstopping\n".into()));
    assert!(shared.thread.lock().is_none(), "its thread has ended");
    handle.replace(hook("true")).unwrap();
    assert!(shared.thread.lock().is_none(), "the node has stopped");
}

#[test]
fn a_hook_is_told_each_kind_of_change_but_not_what_only_an_operator_needs() {
    let told = [
        (EventKind::Leading, true),
        (EventKind::Following, true),
        (EventKind::NoLeader, true),
        (EventKind::MemberUp, true),
        (EventKind::MemberDown, true),
        (EventKind::Problem, false),
        (EventKind::ProblemOver, false),
        (EventKind::Takeover, false),
        (EventKind::Removed, true),
        (EventKind::Stopping, true),
    ];
    for (kind, is_told) in told {
        assert_eq!(news(of_kind(kind)).is_told(), is_told, "{kind:?}");
    }
}

#[test]
fn a_node_that_starts_with_a_hook_tells_it_what_has_happened_and_waits_for_it_when_it_stops() {
    let node = crate::node::example::leader().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $ELECTD_CLUSTER $ELECTD_EVENT >>";
    let config = hook(&format!("{script}{}/told", folder.path().display()));
    let hooks = Hooks::start(&node.handle(), "hc", config).unwrap();
    let until = |words: &str| {
        within(Duration::from_secs(20), words, || told(&folder).contains(words));
    };
    until("hc leading\n");
    node.handle().events().push([of_kind(EventKind::MemberUp)]);
    until("hc member_up\n");
    assert!(count(&hooks.0, "ok") > 0);
    let counted = node.handle().tally();
    assert!(Arc::ptr_eq(&hooks.0.tally, &counted), "in the metrics of its node");
    let shared = hooks.0.clone();
    let stops = thread::spawn(move || hooks.stop());
    within(Duration::from_secs(20), "it has stopped", || stops.is_finished());
    assert!(shared.thread.lock().is_none());
    let left = shared.end.lock().unwrap().saturating_duration_since(Instant::now());
    assert!(left <= Duration::from_secs(20) && !left.is_zero(), "the time of one run: {left:?}");
}

/// A change of the lock "x", as node a tells it.
fn change(holder: Option<&str>, before: Option<&str>) -> LockChange {
    LockChange {
        id: String::new(),
        at_ms: 0,
        event: if holder.is_some() { LockEvent::LockHeld } else { LockEvent::LockFree },
        node: "a".to_owned(),
        lock: "x".to_owned(),
        holder: holder.map(str::to_owned),
        token: holder.map(|_| 9),
        before: before.map(|it| HolderBefore::new(it.to_owned(), 7, 0, HoldEnd::GaveBack)),
        unheld_ms: None,
    }
}

/// That another host holds a lock is told there: else one change would run the hook of each host.
#[test]
fn a_hook_is_told_of_the_locks_that_its_node_holds_or_held_and_of_each_lock_the_newest() {
    let taken = |changes: &[LockChange]| {
        let (log, mut waiting) = (EventLog::of_locks(1), WaitingNews::default());
        log.push(changes.iter().cloned());
        let mut seen = EventId { start: 1, number: 0 };
        let new = log.after(seen, MOST);
        let left_out = waiting.take(&mut seen, new);
        (ids(waiting), left_out)
    };
    let (held, others) = (change(Some("a"), None), change(Some("b"), Some("c")));
    let (gone, free) = (change(Some("b"), Some("a")), change(None, Some("a")));
    let holds = "a holds x, under token 9".to_owned();
    assert_eq!(taken(&[held.clone(), others]), (vec![holds.clone()], 0));
    assert_eq!(taken(&[gone]).0, ["b holds x, under token 9; a gave it back"]);
    assert_eq!(
        taken(&[held.clone(), free.clone()]),
        (vec!["nobody holds x; a gave it back".to_owned()], 1)
    );
    let of_y = LockChange { lock: "y".to_owned(), ..held.clone() };
    assert_eq!(taken(&[held, of_y]).0, [holds, "a holds y, under token 9".to_owned()]);
    assert_eq!(taken(&[change(None, None)]).0, [""; 0]);
}

#[test]
fn a_hook_finds_the_lock_its_holder_and_the_token_in_its_environment() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "echo $ELECTD_EVENT $ELECTD_NODE $ELECTD_LOCK \"<$ELECTD_HOLDER><$ELECTD_TOKEN><$ELECTD_LEADER>\" >>{}/told",
        folder.path().display()
    );
    let shared = hooks(&Arc::new(EventLog::new(1)));
    shared.locks.push([change(Some("a"), None)]);
    *shared.config.lock() = hook(&script);
    *shared.end.lock() = Some(Instant::now() + Duration::from_secs(100));
    worker(&shared).run();
    shared.locks.push([change(None, Some("a"))]);
    worker(&shared).run();
    assert_eq!(told(&folder), "lock_held a x <a><9><>\nlock_free a x <><><>\n");
}
