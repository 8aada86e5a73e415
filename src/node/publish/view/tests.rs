//! What readers see of a snapshot: the whole of it, and what is not believed any more.

use std::sync::Arc;

use super::*;
use crate::core::membership::ListVersion;
use crate::core::settings::{AlgorithmKind, Preempt};
use crate::core::types::{Drain, Epoch, Incarnation, Task};
use crate::core::{Reason, message};
use crate::net::Who;
use crate::net::rejections::RefusedBy;
use crate::node::history::HistoryEntry;
use crate::node::leaderless::Leaderless;
use crate::node::leadership::Change;
use crate::node::publish::snapshot::KnownMember;
use crate::node::publish::tests::{change, follow, id, lose_leader, published, resign};
use crate::node::status::{HealthStatus, Problem, RefusalCause};

const HOUR: Duration = Duration::from_secs(3600);

/// Members of all roles, each field of which differs from the others.
fn members() -> MemberList {
    let roles = [Role::Member, Role::Witness, Role::Observer, Role::Member];
    let member = |(number, role): (u128, Role)| Member {
        id: id(number),
        name: format!("node-{number}"),
        address: format!("h{number}:7100"),
        admin: (number == 2).then(|| "h2:7101".to_owned()),
        role,
    };
    MemberList::new(ListVersion::default(), (1..).zip(roles).map(member).collect())
}

/// A follower of which all is known that a node can know.
fn known() -> Published {
    let mut published = published();
    follow(&published);
    let settings = &mut published.settings;
    (settings.algorithm, settings.rank) = (AlgorithmKind::Halting, RankKind::Priority);
    settings.preempt = Preempt::After(Duration::from_secs(30));
    settings.trust_refused = false;
    published.incarnation = Incarnation(3);
    let split = Split {
        other: id(3),
        theirs: Epoch(5),
        own: Epoch(6),
        met: Time(clock::now().0 - 7_000_000_000),
        lasted: Duration::from_millis(1500),
    };
    let own = KnownMember { value: Some(10), ..other(1) };
    let (passed_over, version) = (Some("comes and goes"), Some("9.9".into()));
    let eligible = false;
    let two = KnownMember { value: Some(20), passed_over, version, eligible, ..other(2) };
    published.carry_on(|snapshot| {
        snapshot.list = members().into();
        snapshot.members = vec![own, two];
        snapshot.timing.failure = HOUR;
        (snapshot.lease, snapshot.halter) = (Some(clock::now() + HOUR), Some(id(2)));
        snapshot.task = Task::new(*b"task");
        snapshot.split = Some(split);
        let until = Some(2000);
        snapshot.pause = Pause { paused: true, since: 1000, until, ..Pause::default() };
        snapshot.drain =
            Some(Drain { since: 3000, until: Some(4000), reason: "new disk".to_owned() });
        snapshot.switchover = Some(id(1));
        snapshot.takeover = Some((id(2), Some(5000)));
        snapshot.takeovers = vec![(id(3), 6000)];
        let (list, who) = (snapshot.list.clone(), Who::Member(id(2)));
        snapshot.rejections.record(
            clock::now(),
            &list,
            (who, RefusedBy::Node),
            (RefusalCause::Disagreement, "other timings"),
        );
    });
    published
}

fn other(number: u128) -> KnownMember {
    let (id, eligible, status) = (id(number), true, Liveness::Alive);
    KnownMember {
        id,
        eligible,
        status,
        passed_over: None,
        value: None,
        timing: None,
        version: None,
    }
}

/// Programs read each of these names and values.
#[test]
fn the_status_has_each_fact_in_its_place() {
    let published = known();
    let text = |text: &str| text.to_owned();
    let health = HealthStatus {
        healthy: true,
        since: text("then"),
        output: text("fine"),
        failure: Some(text("code 1")),
    };
    let problem = Problem {
        since: text("since"),
        kind: text("rank"),
        about: text("it"),
        text: text("no file"),
    };
    published.show(|watched| {
        watched.health = Some(health);
        watched.problems = vec![problem];
        watched.history = Arc::new(vec![HistoryEntry::of_a(1), HistoryEntry::of_a(2)]);
        let (cause, reason) = (text("isolated"), text("it hears nobody"));
        watched.leaderless = Some(Leaderless { since_ms: 1000, cause, reason });
    });
    published.failures.add("code 3");
    let mut status = published.status();
    let lease = status.lease_remaining_ms.replace(1).unwrap();
    assert!((3_500_000..=3_600_000).contains(&lease), "{lease}");
    let partition = status.partition.as_mut().unwrap();
    assert!((7000..100_000).contains(&partition.healed_ms_ago), "{partition:?}");
    partition.healed_ms_ago = 7000;
    assert!(status.uptime_ms < 100_000 && status.age_ms < 100_000);
    (status.uptime_ms, status.age_ms) = (2, 3);
    assert!(status.clock_ms.replace(4).is_some_and(|clock| clock <= clock::wall_clock_ms()));
    assert_eq!(std::mem::take(&mut status.version), VERSION);
    let failure = status.failure.as_mut().unwrap();
    let known = published.failures.present().unwrap();
    let moments = [known.since_ms, known.until_ms].map(clock::moment);
    assert_eq!([&failure.since, &failure.until], [&moments[0], &moments[1]]);
    (failure.since, failure.until) = (text("failed"), text("until"));
    let kinds: Vec<_> = message::Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(status.messages.len(), kinds.len());
    status.messages.retain(|kind, _| kind == kinds[0]);
    insta::assert_snapshot!("status", serde_json::to_string_pretty(&status).unwrap());
}

/// What was handed out, and what halted it, is there with the halting algorithm alone.
#[test]
fn only_the_halting_algorithm_shows_its_word_and_its_task() {
    let mut published = published();
    resign(&mut published, HOUR);
    published.carry_on(|snapshot| snapshot.halter = Some(id(2)));
    assert_eq!((published.status().halting, published.task()), (None, None));
    published.settings.algorithm = AlgorithmKind::Halting;
    let (task, halting) = (Task::new(*b"task"), |status: &str, task_bytes| HaltingStatus {
        status: status.to_owned(),
        halter: Some("node-2".to_owned()),
        task_bytes,
    });
    assert_eq!(published.status().halting, Some(halting("normal", 0)));
    published.carry_on(|snapshot| snapshot.task = task.clone());
    assert_eq!(published.status().halting, Some(halting("normal", 4)));
    assert_eq!(published.task(), Some(task));
    published.carry_on(|snapshot| snapshot.timing.failure = Duration::ZERO);
    assert_eq!(published.status().halting, Some(halting("down", 4)), "it is stalled");
}

#[test]
fn what_does_not_hold_is_null() {
    let mut published = published();
    resign(&mut published, HOUR);
    let core_members = published.members();
    published.file_lists(core_members);
    let paused = |paused| Pause { paused, since: 1000, until: None, ..Pause::default() };
    published.carry_on(|snapshot| {
        snapshot.pause = paused(true);
        snapshot.takeover = Some((id(2), None));
        snapshot.drain = Some(Drain { since: 3000, until: None, reason: String::new() });
    });
    let status = published.status();
    let since = |second: u8| format!("1970-01-01T00:00:0{second}.000Z");
    assert_eq!(status.pause, Some(PauseStatus { since: since(1), until: None }));
    let reason = String::new();
    assert_eq!(status.drain, Some(DrainStatus { since: since(3), until: None, reason }));
    let why = "it asks for that, and the leader or the voters have not agreed yet".to_owned();
    let from = "node-2".to_owned();
    assert_eq!(status.takeover, Some(TakeoverStatus { from, at: None, why }));
    assert!(status.resigned && status.failure.is_none());
    assert_eq!(status.members[0].rank.value, Value::String(id(1).to_string()));
    assert_eq!(status.members[0].rank.by, "id");
    published.carry_on(|snapshot| {
        snapshot.pause = paused(false);
        (snapshot.takeover, snapshot.drain, snapshot.has_resigned) = (None, None, false);
    });
    let status = published.status();
    assert_eq!((status.pause, status.takeover, status.drain), (None, None, None));
    assert_eq!((status.partition, status.switchover, status.resigned), (None, None, false));
    assert_eq!((status.lease_remaining_ms, status.differs_from_file), (None, None));
}

/// Whoever could be elected meanwhile is not named by a node that missed its turn.
#[test]
fn a_follower_that_missed_its_turn_names_no_leader_and_says_since_when() {
    let published = published();
    follow(&published);
    published.carry_on(|snapshot| snapshot.takeover = Some((id(2), None)));
    published.carry_on(|snapshot| snapshot.lease = Some(clock::now() + HOUR));
    published.turned(Time(clock::now().0 - 10_000_000_000));
    let (before, status) = (clock::wall_clock_ms(), published.status());
    let (leader, takeover) = (status.leader, status.takeover);
    assert_eq!((status.state.as_str(), status.stalled), ("starting", true));
    assert_eq!((leader, status.lease_remaining_ms, takeover), (None, None, None));
    assert_eq!((status.epoch, status.failures_tolerated), (7, 0));
    assert!((10_000..100_000).contains(&status.age_ms), "{}", status.age_ms);
    let told = status.leaderless.unwrap();
    assert_eq!((told.cause.as_str(), told.lasts_ms), ("stalled", status.age_ms));
    assert_eq!(told.reason, "its election thread missed its turn");
    let since = [before - status.age_ms, clock::wall_clock_ms() - told.lasts_ms];
    assert!((clock::moment(since[0])..=clock::moment(since[1])).contains(&told.since));
    published.carry_on(|snapshot| snapshot.phase = Phase::Stopping);
    let status = published.status();
    assert_eq!((status.state.as_str(), status.stalled), ("stopping", false), "it is about to end");
    assert!(status.leader.is_some());
}

#[test]
fn why_no_leader_is_known_is_told_where_none_is() {
    let published = known();
    let (cause, reason) = ("isolated".to_owned(), "it hears nobody".to_owned());
    published.show(|watched| {
        watched.leaderless = Some(Leaderless { since_ms: 1000, cause, reason });
    });
    assert_eq!(published.status().leaderless, None, "it names one");
    lose_leader(&published);
    let (before, status) = (clock::wall_clock_ms(), published.status());
    let told = status.leaderless.unwrap();
    assert!((before - 1000..=clock::wall_clock_ms() - 1000).contains(&told.lasts_ms));
    assert_eq!(told.since, "1970-01-01T00:00:01.000Z");
    assert_eq!((told.cause.as_str(), told.reason.as_str()), ("isolated", "it hears nobody"));
    assert_eq!((published.leader(), published.led_epoch()), (None, None));
}

#[test]
fn the_failovers_take_longer_where_a_member_comes_and_goes() {
    let mut published = known();
    published.settings.algorithm = AlgorithmKind::Bully;
    let bounds = |unsteady: bool| {
        let why = if unsteady { "comes and goes" } else { "was to lead and did not" };
        published.carry_on(|snapshot| snapshot.members[1].passed_over = Some(why));
        published.status().worst_failover_ms.unwrap()
    };
    assert!(bounds(false) < bounds(true));
}

#[test]
fn who_was_removed_keeps_its_name() {
    let published = published();
    follow(&published);
    let rest = members().iter().skip(1).cloned().collect();
    published.carry_on(|snapshot| {
        snapshot.list = MemberList::new(ListVersion::default(), rest).into();
    });
    assert_eq!(published.status().node.name, "node-1");
    assert_eq!(published.record().node, "node-1");
}

#[test]
fn a_record_says_whose_it_is() {
    let published = known();
    change(&published, Phase::Electing, None, Reason::LeaseEnded);
    let (before, wall) = (clock::now(), clock::wall_clock_ms());
    let mut record = published.record();
    assert!((before.0..=clock::now().0).contains(&record.now_ns));
    assert!((wall..=clock::wall_clock_ms()).contains(&record.wall_ms));
    assert!(record.since_ns <= before.0 && record.since_ns > 0);
    (record.now_ns, record.wall_ms, record.since_ns) = (0, 0, 0);
    let expected = Record {
        cluster: "test".to_owned(),
        node: "node-1".to_owned(),
        incarnation: 3,
        algorithm: "halting".to_owned(),
        quorum: "majority".to_owned(),
        members: ["node-1", "node-2", "node-3", "node-4"].map(str::to_owned).to_vec(),
        ..Record::default()
    };
    assert_eq!(record, expected);
    let recording = Recording::read(published.recording().as_bytes()).unwrap();
    assert_eq!(recording.record.node, "node-1");
}

/// How long a member takes to acknowledge a heartbeat is told of that member.
#[test]
fn a_measured_round_trip_is_shown_in_milliseconds() {
    use crate::core::detector::ConnectionId;
    use crate::core::message::{Envelope, Heartbeat, Message};
    use crate::core::types::Rank;
    use crate::core::{Input, Output};

    let published = known();
    let (epoch, incarnation, rank) = (Epoch(7), Incarnation(1), Rank::default());
    let envelope = |message| Envelope { epoch, incarnation, message };
    let heartbeat = Heartbeat {
        epoch,
        number: 4,
        rank,
        lease: Duration::ZERO,
        settled: ListVersion::default(),
        members: Arc::new([]),
        pause: None,
        chosen: None,
        ending: false,
    };
    let envelope_out = envelope(Message::Heartbeat(heartbeat));
    let trips = &published.measures.round_trips;
    trips.sending(&[Output::Send { to: vec![id(2)], envelope: envelope_out }], Time(1_000_000));
    let message =
        Message::Acknowledge { incarnation, epoch, number: 4, rank, eligible: true, pause: None };
    let (connection, from) = (ConnectionId(1), id(2));
    let answer = Input::Message { connection, from, envelope: envelope(message) };
    trips.received(&answer, Time(3_500_000));
    let shown: Vec<_> = published.status().members.iter().map(|member| member.rtt_ms).collect();
    assert_eq!(shown, [None, Some(2.5), None, None]);
}

#[test]
fn what_readers_in_this_process_missed_is_counted_by_what_it_was() {
    let published = known();
    let changes = published.feed.subscribe();
    let change = Change::Ending { within: HOUR };
    (0..1025).for_each(|_| published.feed.tell(&change));
    (0..2).for_each(|_| published.measures.events.count_cut());
    let dropped = published.status().dropped;
    assert_eq!((dropped["leadership"], dropped["events"], dropped["junk"]), (1, 2, 0));
    assert_eq!(changes.len(), 1024);
}
