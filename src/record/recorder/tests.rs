//! What the recorder keeps, and what it forgets.

mod words;

use uuid::Uuid;

use super::*;
use crate::core::death::{DeathCertificate, Secret};
use crate::core::detector::ConnectionId;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::message::{Agreement, Ballot, Candidate, Envelope, Hello, Message, Run, View};
use crate::core::protocol::Protocols;
use crate::core::restart::restart;
use crate::core::settings::{AlgorithmKind, PowerOn, Quorum, Settings, Timing};
use crate::core::types::{Epoch, Incarnation, Rank, Role, Task, TaskVersion};
use crate::core::{Reason, Redial, Transition};
use crate::trace::record::Entry;

const SECOND: u64 = 1_000_000_000;

fn id(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(number))
}

fn members() -> Arc<MemberList> {
    let member = |(number, name): (u128, &str)| Member {
        id: id(number),
        name: name.to_owned(),
        address: String::new(),
        admin: None,
        role: Role::Member,
    };
    let members = [(1, "a"), (2, "b"), (3, "c")].map(member).to_vec();
    Arc::new(MemberList::new(ListVersion::default(), members))
}

/// A member that has no leader yet.
fn core() -> Core {
    let [heartbeat, message] = [100, 50].map(std::time::Duration::from_millis);
    let [failure, lease] = [1000, 900].map(std::time::Duration::from_millis);
    let timing = Timing { heartbeat, failure, message, lease };
    let settings = Settings { value: Some(0), ..Settings::new("t", id(1), members(), timing) };
    let settings = Settings { power_on: PowerOn::Elect, ..settings };
    let restored = restart(None, &settings, None).unwrap();
    Core::new(Time(0), settings, restored, 0)
}

/// A recorder with what it has recorded.
struct Recording {
    core: Core,
    phase: Phase,
    waits: [Option<Time>; 2],
    recorder: Recorder,
    recorded: Recorded,
    now: Time,
}

impl Recording {
    fn new() -> Recording {
        let core = core();
        let recorder = Recorder::new(&core, Time(0));
        let (phase, waits, recorded) = (core.phase(), [None, None], Recorded::new(Time(0)));
        Recording { core, phase, waits, recorder, recorded, now: Time(0) }
    }

    /// A turn, a second after the one before.
    fn turn(&mut self, input: &Input, out: &[Output]) {
        self.now = Time(self.now.0 + SECOND);
        self.recorder.begin(self.now, input, &self.core);
        self.recorder.end(self.now, out, self.phase, self.waits);
        self.recorder.pass_on(&self.recorded);
    }

    /// The entries, without the start.
    fn entries(&self) -> Vec<Entry> {
        self.recorded.entries(&members()).1.split_off(1)
    }
}

fn envelope(message: Message) -> Envelope {
    Envelope { epoch: Epoch(1), incarnation: Incarnation(7), message }
}

fn got(from: u128, message: Message) -> Input {
    let connection = ConnectionId(4);
    Input::Message { connection, from: id(from), envelope: envelope(message) }
}

fn sends(to: &[u128], message: Message) -> Output {
    Output::Send { to: to.iter().map(|to| id(*to)).collect(), envelope: envelope(message) }
}

fn hello() -> Hello {
    let agreement = Agreement {
        cluster: "t".to_owned(),
        algorithm: AlgorithmKind::Bully,
        quorum: Quorum::None,
        preempt: String::new(),
        rank: String::new(),
    };
    Hello {
        protocols: Protocols::OURS,
        version: None,
        id: id(2),
        to: id(1),
        incarnation: Incarnation(1),
        instance: 1,
        agreement: Arc::new(agreement),
        death: None,
        timing: [1; 4],
        rank: Rank::default(),
        eligible: true,
        view: View::default(),
        round: Epoch(0),
        list: members(),
        departures: Vec::new(),
    }
}

fn election(round: u64) -> Message {
    Message::Election { round: Epoch(round), rank: Rank::default(), eligible: true }
}

fn answer(round: u64) -> Message {
    Message::Answer { round: Epoch(round) }
}

fn probe() -> Message {
    Message::Probe { number: 1 }
}

#[test]
fn what_a_member_sends_was_brought_about_by_what_it_took() {
    let mut recording = Recording::new();
    recording.turn(&got(2, election(3)), &[sends(&[2], answer(3)), sends(&[3], election(3))]);
    let entries = recording.entries();
    let shown = entries.iter().map(|it| (it.what.as_str(), it.peer.as_deref(), it.label.as_str()));
    let expected = [
        ("got", Some("b"), "ELECTION 3"),
        ("sent", Some("b"), "ANSWER 3"),
        ("sent", Some("c"), "ELECTION 3"),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert_eq!((entries[0].n, entries[0].at_ns, entries[0].incarnation), (2, SECOND, Some(7)));
    assert!(entries[0].causes.is_empty());
    assert_eq!((&entries[1].causes[..], &entries[2].causes[..]), (&[2][..], &[2][..]));
    assert_eq!(entries[1].kind.as_ref().map(|kind| kind.name()), Some("answer"));
}

#[test]
fn signs_of_life_are_counted_and_told_only_where_something_came_of_them() {
    let mut recording = Recording::new();
    recording.turn(&got(2, probe()), &[sends(&[2, 3], Message::Alive { number: 1 })]);
    recording.turn(&got(2, probe()), &[sends(&[2], answer(3))]);
    let entries = recording.entries();
    let labels = entries.iter().map(|entry| (entry.label.as_str(), entry.place));
    assert_eq!(labels.collect::<Vec<_>>(), [("PROBE", Some(1)), ("ANSWER 3", Some(1))]);
    let numbers = [entries[0].n, entries[1].n];
    assert!(numbers[0] < numbers[1] && entries[1].causes == [numbers[0]], "{entries:?}");
}

#[test]
fn both_sides_count_from_the_begin_of_a_connection() {
    let mut recording = Recording::new();
    recording.turn(&Input::Tick, &[sends(&[2], election(1)), sends(&[2], election(2))]);
    recording.turn(&Input::Welcomed { peer: id(2), welcome: hello() }, &[]);
    recording.turn(&Input::Tick, &[sends(&[2], election(3))]);
    recording.turn(&got(3, election(4)), &[]);
    let (from, connection) = (id(3), ConnectionId(5));
    recording.turn(&Input::Message { connection, from, envelope: envelope(election(5)) }, &[]);
    let places: Vec<_> = recording.entries().iter().filter_map(|entry| entry.place).collect();
    assert_eq!(places, [0, 1, 0, 0, 0]);
}

#[test]
fn what_waited_for_the_disk_was_brought_about_by_what_ordered_the_record() {
    let mut recording = Recording::new();
    let settings = recording.core.settings().clone();
    let record = || restart(None, &settings, None).unwrap().record;
    let orders = [1, 2, 3].map(|number| Output::Persist { number, record: record() });
    for order in orders {
        recording.turn(&got(2, probe()), &[order]);
    }
    recording.turn(&Input::Persisted { number: 2 }, &[sends(&[2], answer(1))]);
    let entries = recording.entries();
    assert_eq!(entries.len(), 4, "a sign of life that made it write is told: {entries:?}");
    let order = |number| Output::Persist { number, record: record() };
    (4..1000).for_each(|number| recording.turn(&got(2, probe()), &[order(number)]));
    let orders = &recording.recorder.orders;
    assert_eq!((orders.len(), orders[63].0), (64, 999), "the latest");
    assert_eq!(entries[3].causes, [entries[0].n, entries[1].n]);
}

#[test]
fn a_wait_that_is_over_was_brought_about_by_what_began_it() {
    let mut recording = Recording::new();
    recording.waits = [Some(Time(2 * SECOND)), None];
    recording.turn(&got(2, election(1)), &[sends(&[3], election(1))]);
    recording.turn(&Input::Tick, &[sends(&[2], answer(1))]);
    let entries = recording.entries();
    assert_eq!((entries[2].what.as_str(), &entries[2].causes[..]), ("waited", &[entries[0].n][..]));
    assert_eq!(entries[2].label, "an answer for 1 s");
    assert_eq!((entries[2].since_ns, &entries[3].causes[..]), (Some(SECOND), &[entries[2].n][..]));
}

#[test]
fn a_peer_that_stays_down_is_told_once() {
    let mut recording = Recording::new();
    for _ in 0..100 {
        recording.turn(&Input::Refused { peer: id(3) }, &[]);
    }
    assert_eq!(recording.entries().len(), 1);
    recording.turn(&Input::Welcomed { peer: id(3), welcome: hello() }, &[]);
    recording.turn(&Input::Refused { peer: id(3) }, &[]);
    assert_eq!(recording.entries().len(), 3, "it was up, and is down again");
}

#[test]
fn quiet_times_push_no_election_out_and_memory_is_bounded() {
    let mut recording = Recording::new();
    recording.turn(&got(2, election(1)), &[]);
    recording.phase = Phase::Following;
    recording.turn(&Input::Tick, &[]);
    for _ in 0..20_000 {
        recording.turn(&got(2, answer(1)), &[]);
    }
    let kept = recording.recorded.0.lock().clone();
    assert_eq!(kept.elections.events.len(), 2, "the start and the election");
    let longest = kept.quiet.events.iter().map(RecordedEvent::bytes).max().unwrap();
    let most = 256 * 1024;
    assert!((most - longest + 1..=most).contains(&kept.quiet.bytes), "{}", kept.quiet.bytes);
    assert_eq!(kept.quiet.bytes, kept.quiet.events.iter().map(RecordedEvent::bytes).sum::<usize>());
    assert!(kept.since > Time(9), "some of that time is missing");
}

#[test]
fn the_latest_elections_are_kept() {
    let mut recording = Recording::new();
    for round in 0..20_000 {
        recording.turn(&got(2, election(round)), &[]);
    }
    let kept = recording.recorded.0.lock().clone();
    let longest = kept.elections.events.iter().map(RecordedEvent::bytes).max().unwrap();
    let most = 1280 * 1024;
    assert!((most - longest + 1..=most).contains(&kept.elections.bytes), "no more have room");
    let bytes: usize = kept.elections.events.iter().map(RecordedEvent::bytes).sum();
    assert_eq!(bytes, kept.elections.bytes);
    let entries = recording.recorded.entries(&members()).1;
    assert_eq!(entries.last().and_then(|entry| entry.number), Some(19_999));
    assert!(entries.len() > 5000, "{}", entries.len());
    assert_eq!(kept.since.0 + SECOND, entries[0].at_ns);
}

#[test]
fn a_reader_holds_nobody_up() {
    let mut recording = Recording::new();
    let reader = recording.recorded.0.lock();
    recording.recorder.begin(Time(1), &got(2, election(1)), &recording.core);
    recording.recorder.end(Time(1), &[], recording.phase, recording.waits);
    recording.recorder.pass_on(&recording.recorded); // returns
    drop(reader);
    recording.turn(&Input::Tick, &[]);
    assert_eq!(recording.entries().len(), 1);
    let reader = recording.recorded.0.lock();
    for round in 0..3 * PENDING as u64 {
        recording.recorder.begin(Time(2), &got(2, election(round)), &recording.core);
        recording.recorder.end(Time(2), &[], recording.phase, recording.waits);
        recording.recorder.pass_on(&recording.recorded);
    }
    let pending = &recording.recorder.pending;
    assert_eq!(pending.len(), 1024, "whoever reads for ever costs little");
    let last = 3 + 3 * 1024;
    let numbers = pending.iter().map(|event| event.number);
    assert!(numbers.eq(last - 1024..last), "the latest wait");
    drop(reader);
}

/// A change of state counts as a part of an election, even from one leader to the next.
#[test]
fn quiet_times_are_told_among_elections_in_the_order_of_what_happened() {
    let (mut recording, lost) = (Recording::new(), Input::Lost { peer: id(2) });
    recording.phase = Phase::Following;
    recording.turn(&lost, &[]); // its phase is new
    recording.turn(&lost, &[]);
    let (phase, reason) = (Phase::Following, Reason::Announced(id(3)));
    let change =
        Transition { from: phase, to: phase, leader: Some(id(3)), epoch: Epoch(5), reason };
    recording.turn(&Input::Tick, &[Output::Changed(change)]);
    let kept = recording.recorded.0.lock().clone();
    let numbers = |events: &Events| events.events.iter().map(|it| it.number).collect::<Vec<_>>();
    assert_eq!([numbers(&kept.elections), numbers(&kept.quiet)], [vec![1, 2, 4], vec![3]]);
    let told: Vec<_> = recording.entries().iter().map(|entry| entry.n).collect();
    assert_eq!(told, [2, 3, 4]);
}

#[test]
fn a_wait_that_began_with_a_sign_of_life_was_brought_about_by_nothing_that_is_told() {
    let mut recording = Recording::new();
    recording.waits = [Some(Time(2 * SECOND)), None];
    recording.turn(&got(2, probe()), &[]);
    recording.waits = [None, None];
    recording.turn(&Input::Tick, &[]);
    let entries = recording.entries();
    let told: Vec<_> = entries.iter().map(|it| (it.label.as_str(), &it.causes[..])).collect();
    assert_eq!(told, [("an answer for 1 s", &[][..])]);
}
