//! The election thread on the thread of a test: which inputs its core gets from what it hears, and what it tells of them.

use crossbeam::channel::bounded;
use serde_json::json;

use super::stage::{LIMIT, stage, turns, two_members};
use super::*;
use crate::config::Config;
use crate::core::OperatorCommand;
use crate::core::membership::Member;
use crate::core::message::{Hello, Rejection};
use crate::core::restart::restart;
use crate::core::settings::{RankKind, Settings, Timing};
use crate::core::types::{Drain, Incarnation, Role};
use crate::node::handle::{self, Handle};
use crate::node::leadership::Change;
use crate::node::running::NodeHandle;
use crate::node::{example, prepare};
use crate::rank::Sample;
use crate::store::{Store, StoreError};
use crate::testing::within::within;
use crate::tls::{TlsCause, TlsFault};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// What the core takes in the test below, which begins with a rejection and sets these timings.
fn taken(rejected: Input, timing: Timing) -> [Input; 15] {
    let job = |most| Input::JobStarted { stops_within: seconds(most) };
    let command = |number, command| Input::Command { id: CommandId(number), command };
    [
        rejected,
        Input::Persisted { number: 0 },
        Input::Sampled { value: Some(5) },
        Input::Checked { healthy: false },
        Input::Checked { healthy: true },
        Input::StandBack,
        job(5),
        job(5), // of several holds the longest counts
        job(3),
        Input::JobEnded,
        job(1),
        Input::Timed { timing },
        command(1, OperatorCommand::Undrain),
        command(
            2,
            OperatorCommand::Drain(Drain { since: 1, until: None, reason: "new disk".to_owned() }),
        ),
        Input::Sampled { value: None },
    ]
}

#[test]
fn the_core_takes_each_event_once_and_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path(), "30s");
    let stage = stage(&config, Duration::ZERO, |settings| settings.rank = RankKind::Priority);
    let (timing, b) = (config.timing, config.members[1].id);
    let rejected = || Input::Rejected { peer: b, reason: Rejection::Removed(b) };
    let twice = Timing { failure: timing.failure * 2, ..timing };
    let sample = |value| Ok(Sample { value, from: "there".to_owned() });
    let ((held, is_held), (done, is_done)) = (bounded(9), bounded(1));
    let hold = |number, most| InboxEvent::Held { number, most: seconds(most), held: held.clone() };
    let order = |command| {
        let (answer, answered) = bounded(1);
        (InboxEvent::Order(CommandOrder { command, answer }), answered)
    };
    let (undrain, undrained) = order(OperatorCommand::Undrain);
    let drain = Drain { since: 1, until: None, reason: "new disk".to_owned() };
    let (drain, drained) = order(OperatorCommand::Drain(drain));
    let lost = StoreError::Folder { dir: "/nowhere".into(), source: std::io::Error::other("x") };
    for event in [
        InboxEvent::Net(NetEvent::Input(rejected())),
        InboxEvent::Stored(Ok(0)),
        InboxEvent::Stored(Err(lost)),
        InboxEvent::Sampled(sample(5)),
        InboxEvent::Checked { healthy: false },
        InboxEvent::Checked { healthy: true },
        InboxEvent::StandBack,
        hold(1, 5),
        hold(2, 3),
        InboxEvent::Unheld { number: 9 },
        InboxEvent::Unheld { number: 1 },
        hold(3, 2),
        InboxEvent::Unheld { number: 2 },
        InboxEvent::Unheld { number: 3 },
        InboxEvent::Unheld { number: 3 },
        hold(4, 1),
        InboxEvent::Timed { timing: twice, done },
        undrain,
        drain,
        InboxEvent::Sampled(Err("no disk".to_owned())),
    ] {
        stage.send(event);
    }
    let published = stage.handle.published.clone();
    let news = published.news();
    let told = stage.run(|_| {
        assert_eq!(undrained.recv_timeout(LIMIT), Ok(Ok(Done::Undrained)));
        assert_eq!(drained.recv_timeout(LIMIT), Ok(Ok(Done::Drained { successor: None })));
    });

    let expected = taken(rejected(), twice);
    let inputs: Vec<_> = told.turns.iter().map(|(input, _)| input.clone()).collect();
    assert_eq!(inputs[..expected.len()], expected);
    assert_eq!((is_held.len(), is_done.len()), (4, 1), "each caller is told");
    assert_eq!(published.measures.tally.exec_running.get(), 1, "the last one holds still");
    assert!(news.try_recv().is_ok(), "the thread \"watch\" is woken");
    let status = published.status();
    let own = status.members.iter().find(|member| member.name == "a").unwrap();
    assert_eq!((&own.rank.value, own.eligible), (&json!(null), false));
    assert_eq!(published.timing(), twice);

    // What was put out last to be stored is stored, under this start of this member.
    let mut outputs = told.turns.into_iter().flat_map(|(_, outputs)| outputs).rev();
    let last = outputs.find_map(|output| match output {
        Output::Persist { record, .. } => Some(record),
        _ => None,
    });
    let kept = KeptState { incarnation: Incarnation(1), durable: last.unwrap() };
    let stored = Store::peek(&config.state_dir("a"), config.members[0].id);
    assert_eq!(stored, Some(StoreRecord { id: config.members[0].id, kept }));
}

/// It shows a sign of life three times in each `failure`, whatever it waits for.
#[test]
fn the_thread_waits_for_its_next_timer_but_no_longer_than_a_third_of_the_failure_time() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path(), "3000s");
    for (ago, least, most) in [(0, 1000, 1000), (2500, 1, 500), (4000, 0, 0)] {
        let stage = stage(&config, seconds(ago), |_| ());
        let waits = stage.election.timeout();
        assert!(waits >= seconds(least) && waits <= seconds(most), "{ago}: {waits:?}");
        stage.run(|_| ());
    }
}

/// A heartbeat in the queue is no silence; and a flood of messages does not stop the timers.
#[test]
fn queued_events_count_before_overdue_timers_but_no_more_than_256_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path(), "30s");
    let stage = stage(&config, seconds(1000), |_| ());
    for _ in 0..600 {
        stage.send(InboxEvent::Checked { healthy: true });
    }
    let handle = stage.handle.clone();
    stage.run(|_| ());
    let inputs: Vec<_> = turns(&handle).into_iter().map(|(input, _)| input).collect();
    assert_eq!(inputs.iter().position(|input| *input == Input::Tick), Some(257));
}

#[test]
fn a_thread_that_stood_still_fails_before_it_hears_what_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path(), "3000s");
    let stall = config.timing.stall();
    for (still, fails) in [(stall - seconds(100), false), (stall + seconds(1), true)] {
        let stage = stage(&config, Duration::ZERO, |_| ());
        let turned = Time(clock::now().0 - u64::try_from(still.as_nanos()).unwrap());
        stage.handle.published.turned(turned);
        stage.send(InboxEvent::Checked { healthy: true });
        stage.send(InboxEvent::StandBack);
        let told = stage.run(|_| ());
        let mut inputs = told.turns.into_iter().map(|(input, _)| input).peekable();
        let first = inputs.next_if(|input| matches!(input, Input::Stalled { .. }));
        let is_so = |time: Duration| time >= still && time < still + seconds(500);
        assert_eq!(first.is_some(), fails, "{first:?}");
        assert!(first.is_none_or(|it| matches!(it, Input::Stalled { time } if is_so(time))));
        let then = [inputs.next(), inputs.next()];
        assert_eq!(then, [Some(Input::Checked { healthy: true }), Some(Input::StandBack)]);
    }
}

#[test]
fn whoever_acts_on_a_leadership_hears_of_its_begin_and_its_end_in_order() {
    let (config, _folder) = example::cluster().unwrap();
    let [heartbeat, failure, message, lease] = [40, 200, 20, 160].map(seconds);
    let config = Config { timing: Timing { heartbeat, failure, message, lease }, ..config };
    let stage = stage(&config, failure * 2, |_| ());
    let changes = stage.handle.leadership_changes();
    let told = stage.run(|handle| {
        within(LIMIT, "a leads", || handle.leadership().is_some());
        assert!(handle.published.news().recv_timeout(LIMIT).is_ok(), "the watch is woken");
        let leadership = handle.leadership().unwrap();
        let remains = leadership.remaining();
        assert!(leadership.epoch() == 1 && remains <= lease && remains > lease / 2, "{remains:?}");
        #[cfg(feature = "cli")]
        assert_eq!(leadership.renewal(), Some(lease * 9 / 11));
        let holds = [handle.hold_for(seconds(1)).unwrap(), handle.hold_for(seconds(3000)).unwrap()];
        let running = &handle.published.measures.tally.exec_running;
        assert_eq!(running.get(), 2);
        std::thread::scope(|scope| {
            scope.spawn(|| handle.order(OperatorCommand::Stop, LIMIT));
            within(LIMIT, "it wants to end", || handle.hold().is_err());
            let [first, last] = holds;
            drop(first);
            within(LIMIT, "the first ends", || running.get() == 1);
            assert!(handle.leadership().is_some(), "the other one holds it");
            drop(last);
        });
    });
    let all: Vec<_> = changes.try_iter().collect();
    let [.., Change::Leading { epoch: 1 }, Change::Ending { within }, Change::NotLeading] =
        &all[..]
    else {
        panic!("{all:?}")
    };
    assert!(*within > seconds(2000) && *within <= seconds(3000), "the longest hold: {within:?}");
    assert!(all[..all.len() - 3].iter().all(|change| *change == Change::NotLeading), "{all:?}");
    let lines: Vec<_> = told.log.iter().map(|[line, _]| line.as_str()).collect();
    let expected = [
        "INFO no_leader: starting -> electing, leader none, epoch 0: no leader showed up within the failure time",
        "INFO leading: electing -> leading, leader a, epoch 1: won: no eligible member ranks higher",
        "INFO stopping: leading -> stopping, leader none, epoch 1: stopping",
    ];
    assert_eq!(lines, expected);
}

/// The hello of the second member.
fn hello(config: &Config, change: impl FnOnce(&mut Settings)) -> Hello {
    let [a, b] = [&config.members[0], &config.members[1]];
    let mut settings = prepare::settings(config, b);
    change(&mut settings);
    let restored = restart(None, &settings, None).unwrap();
    let mut out = Vec::new();
    let mut core = Core::new(Time(1), settings, restored, 1);
    core.handle(Time(2), Input::Dialed { peer: a.id, attempt: 1 }, &mut out);
    let hello = out.into_iter().find_map(|output| match output {
        Output::Hello { hello, .. } => Some(hello),
        _ => None,
    });
    hello.expect("it dials the first one")
}

#[test]
fn a_refusal_is_told_once_and_so_is_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path(), "30s");
    let stage = stage(&config, Duration::ZERO, |_| ());
    let b = config.members[1].id;
    let rejected = || {
        let (ours, theirs) = ("one".to_owned(), "other".to_owned());
        Input::Rejected { peer: b, reason: Rejection::Cluster { ours, theirs } }
    };
    let welcomed = |cluster: &str| {
        let welcome = hello(&config, |settings| settings.cluster = cluster.to_owned());
        Input::Welcomed { peer: b, welcome }
    };
    let fault = TlsFault { cause: TlsCause::Plain, by_peer: false, why: "no TLS".to_owned() };
    for input in [
        rejected(),
        rejected(),
        welcomed("other"),
        welcomed("other"),
        welcomed("two"),
        welcomed("two"),
    ] {
        stage.send(InboxEvent::Net(NetEvent::Input(input)));
    }
    let published = stage.handle.published.clone();
    let told = stage.run(|handle| {
        handle.retime(config.timing).unwrap(); // it has taken all that came before
        published.measures.handshakes.record(clock::now(), Who::Member(b), &fault);
        assert_eq!(published.status().rejections.len(), 1);
        let again = InboxEvent::Net(NetEvent::Input(welcomed("two")));
        assert!(handle.events.try_send(again));
    });
    assert_eq!(published.status().rejections.len(), 0);
    let accepted = || ["INFO accepted: b accepts this node now", "event=accepted peer=b"];
    let clusters = "clusters differ: the side that refuses belongs to";
    let rest = "give both the same file, or other addresses";
    let of_b = told.log.into_iter().filter(|[_, fields]| fields.contains("peer="));
    let expected = [
        [
            &format!(
                "WARN rejected: b rejects this node: {clusters} \"one\", the other to \"other\": {rest}"
            ),
            "event=rejected peer=b",
        ],
        [
            &format!(
                "WARN rejected: b is refused: {clusters} \"two\", the other to \"other\": {rest}"
            ),
            "event=rejected peer=b",
        ],
        accepted(),
        accepted(),
    ];
    assert_eq!(of_b.collect::<Vec<_>>(), expected);
}

#[test]
fn a_member_list_that_changed_is_told_and_its_members_are_dialed() {
    let folder = tempfile::tempdir().unwrap();
    let config = two_members(folder.path(), "200s");
    let stage = stage(&config, config.timing.failure * 2, |_| ());
    let told = stage.run(|handle| {
        within(LIMIT, "a leads", || handle.leadership().is_some());
        let remove = handle::Command::Remove { name: "b".to_owned(), force: true };
        let outcome = handle.command(remove, LIMIT).unwrap();
        assert_eq!(outcome.sentence, "b is removed from the cluster");
        let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let c = Member {
            id: NodeId(uuid::Uuid::new_v4()),
            name: "c".to_owned(),
            address: place.local_addr().unwrap().to_string(),
            admin: None,
            role: Role::Member,
        };
        let outcome = handle.command(handle::Command::Add(c), LIMIT).unwrap();
        assert_eq!(outcome.sentence, "c belongs to the cluster now");
        place.set_nonblocking(true).unwrap();
        within(LIMIT, "it dials c", || place.accept().is_ok());
    });
    let of_list = told.log.into_iter().filter(|[_, fields]| fields.starts_with("event=members"));
    let line = "INFO members: the member list is now version";
    let expected = [
        [format!("{line} 1.1: without b"), "event=members version=1.1".to_owned()],
        [format!("{line} 1.2: with c"), "event=members version=1.2".to_owned()],
    ];
    assert_eq!(of_list.collect::<Vec<_>>(), expected);
}

/// A member that finds none that may lead tries again and again, and says the same each time.
#[test]
fn a_change_that_is_only_repeated_is_told_once() {
    let (config, _folder) = example::cluster().unwrap();
    let [heartbeat, failure, message, lease] = [40, 200, 20, 160].map(Duration::from_millis);
    let config = Config { timing: Timing { heartbeat, failure, message, lease }, ..config };
    let stage = stage(&config, Duration::ZERO, |settings| {
        (settings.rank, settings.value) = (RankKind::Disk, None);
    });
    let put_out = |handle: &NodeHandle| -> Vec<Transition> {
        let outputs = turns(handle).into_iter().flat_map(|(_, outputs)| outputs);
        let change =
            |output| if let Output::Changed(change) = output { Some(change) } else { None };
        outputs.filter_map(change).collect()
    };
    let published = stage.handle.published.clone();
    let told = stage.run(|handle| {
        let repeats = || put_out(handle).windows(2).any(|two| two[0] == two[1]);
        within(LIMIT, "it repeats itself", repeats);
    });
    let is_news = |two: &[String]| two[0] != two[1];
    let lines: Vec<_> = told.log.into_iter().map(|[line, _]| line).collect();
    assert!(lines.windows(2).all(is_news), "{lines:?}");
    let changes = published.status().changes.into_iter();
    let changes: Vec<_> =
        changes.map(|it| format!("{} {} {}", it.from, it.to, it.reason)).collect();
    assert!(changes.len() > 1 && changes.windows(2).all(is_news), "{changes:?}");
}
