//! What a snapshot takes over from the core: of this member, and of one that it hears.

use std::collections::VecDeque;

use super::*;
use crate::core::detector::ConnectionId;
use crate::core::message::{Forwarded, Message};
use crate::core::restart::restart;
use crate::core::settings::{AlgorithmKind, Preempt, RankKind, Settings};
use crate::core::types::CommandId;
use crate::core::{Input, OperatorCommand, Output, Redial};
use crate::node::publish::tests::{TIMING, id, settings};
use crate::rank::Sample;

const TURN: Duration = Duration::from_millis(10);

/// Two members, node-1 and node-2, that hear each other. Time passes when they are told so.
struct Pair {
    cores: [Core; 2],
    now: Time,
    /// Whether what node-2 says of its leadership is lost.
    is_unheard: bool,
    /// The member that halted node-1 last.
    halter: Option<NodeId>,
}

impl Pair {
    fn new(algorithm: AlgorithmKind, preempt: Preempt) -> Pair {
        let now = clock::now();
        let cores = [(1, 10), (2, 20)].map(|(number, value)| {
            let shared = settings(2);
            let timing = Timing { heartbeat: TIMING.heartbeat + TURN * number, ..TIMING };
            let settings = Settings {
                algorithm,
                preempt,
                timing,
                rank: RankKind::Priority,
                value: Some(value),
                ..Settings::new("test", id(number.into()), shared.members, timing)
            };
            let settings = Settings { bootstrap: true, ..settings };
            let restored = restart(None, &settings, None).unwrap();
            Core::new(now, settings, restored, u64::from(number))
        });
        Pair { cores, now, is_unheard: false, halter: None }
    }

    /// Both have dialed each other.
    fn meet(&mut self) {
        for (from, to) in [(0, 1), (1, 0)] {
            self.take(from, Input::Dialed { peer: self.cores[to].id(), attempt: 1 });
        }
    }

    /// The pair once node-2 leads and node-1 follows it.
    fn led(preempt: Preempt) -> Pair {
        let mut pair = Pair::new(AlgorithmKind::Bully, preempt);
        pair.meet();
        pair.until(|pair| {
            let leader = |core: &Core| core.leader().map(|leader| leader.id);
            pair.cores.iter().all(|core| leader(core) == Some(id(2)))
        });
        pair
    }

    /// A member takes an input, and all that comes of it.
    fn take(&mut self, to: usize, input: Input) {
        let mut inputs = VecDeque::from([(to, input)]);
        while let Some((own, input)) = inputs.pop_front() {
            let mut out = Vec::new();
            self.cores[own].handle(self.now, input, &mut out);
            self.halter = self.snapshot(0).halter.or(self.halter);
            let (from, other) = (self.cores[own].id(), 1 - own);
            let connection = ConnectionId(own as u64 + 1);
            for output in out {
                inputs.extend(match output {
                    Output::Persist { number, .. } => Some((own, Input::Persisted { number })),
                    Output::Send { ref envelope, .. }
                        if self.is_unheard && own == 1 && is_of_leader(&envelope.message) =>
                    {
                        None
                    }
                    Output::Send { envelope, .. } => {
                        Some((other, Input::Message { connection, from, envelope }))
                    }
                    Output::Hello { hello, .. } => {
                        let address = String::new();
                        Some((other, Input::Hello { connection, address, hello }))
                    }
                    Output::Welcome { welcome, .. } => {
                        Some((other, Input::Welcomed { peer: from, welcome }))
                    }
                    Output::EndJob { .. } => Some((own, Input::JobEnded)),
                    _ => None,
                });
            }
        }
    }

    fn command(&mut self, to: usize, command: impl Into<OperatorCommand>) {
        self.take(to, Input::Command { id: CommandId(1), command: command.into() });
    }

    /// Lets time pass until it is so.
    fn until(&mut self, is_so: impl Fn(&Pair) -> bool) {
        for _ in 0..10_000 {
            if is_so(self) {
                return;
            }
            self.now = self.now + TURN;
            (0..2).for_each(|place| self.take(place, Input::Tick));
        }
        panic!("it never is: {:?}", self.cores.each_ref().map(Core::phase));
    }

    fn snapshot(&self, place: usize) -> Snapshot {
        let sample = Ok(Sample { value: 0, from: String::new() });
        Snapshot::new(&self.cores[place], &sample, self.now)
    }
}

fn is_of_leader(message: &Message) -> bool {
    matches!(message, Message::Coordinator { .. } | Message::Heartbeat(_))
}

/// The members that a snapshot knows, in words.
fn told(snapshot: &Snapshot) -> Vec<String> {
    let words = |known: &KnownMember| {
        let KnownMember { id, eligible, status, passed_over, value, timing, version } = known;
        let name = snapshot.list.name(*id);
        let heartbeat = timing.map(|timing| timing[0] / 1_000_000);
        format!("{name} {eligible} {status:?} {passed_over:?} {value:?} {heartbeat:?} {version:?}")
    };
    snapshot.members.iter().map(words).collect()
}

#[test]
fn a_member_is_known_as_it_tells_and_one_that_was_not_met_as_nothing() {
    let mut pair = Pair::led(Preempt::Always);
    let version = format!("Some({VERSION:?})");
    let own = format!("node-1 true Alive None Some(10) None {version}");
    let other = format!("node-2 true Alive None Some(20) Some(60) {version}");
    assert_eq!(told(&pair.snapshot(0)), [other, own]);
    let own = format!("node-2 true Alive None Some(20) None {version}");
    let other = format!("node-1 true Alive None Some(10) Some(50) {version}");
    let mut snapshots = [0, 1].map(|place| pair.snapshot(place));
    assert_eq!(told(&snapshots[1]), [other, own]);

    pair.take(0, Input::Sampled { value: None });
    pair.until(|pair| !pair.cores[1].detector().iter().all(|peer| peer.is_eligible()));
    for (place, at, expected) in [
        (0, 1, "node-1 false Alive None None None "),
        (1, 0, "node-1 false Alive None None Some(50) "),
    ] {
        let (snapshot, core) = (&mut snapshots[place], &pair.cores[place]);
        assert!(!snapshot.update(core, pair.now), "nobody began or ceased to answer");
        assert_eq!(told(snapshot)[at], [expected, &version].concat());
    }
    let (connection, peer, redial) = (ConnectionId(2), id(2), Redial::Refused);
    pair.take(0, Input::Ended { connection, peer, redial });
    assert!(snapshots[0].update(&pair.cores[0], pair.now), "it answers no more");
    let status = pair.cores[0].detector().get(id(2)).unwrap().status();
    assert_eq!(snapshots[0].members[0].status, status);
    assert_ne!(status, Liveness::Alive);

    let shared = settings(2);
    let restored = restart(None, &shared, None).unwrap();
    let core = Core::new(clock::now(), shared, restored, 0);
    let sample = Err("no file".to_owned());
    let new = Snapshot::new(&core, &sample, clock::now());
    let never = "node-2 true Suspected None None None None";
    assert_eq!(
        told(&new),
        [never, &format!("node-1 true Alive None Some(0) None Some({VERSION:?})")]
    );
    assert_eq!(&*new.rank_source, "none: no file");
}

#[test]
fn who_cannot_be_dialed_or_does_not_lead_is_passed_over_for_that() {
    let mut pair = Pair::new(AlgorithmKind::Bully, Preempt::Always);
    pair.take(1, Input::Dialed { peer: id(1), attempt: 1 });
    let why = |pair: &Pair| pair.snapshot(0).members[0].passed_over;
    pair.until(|pair| why(pair).is_some());
    assert_eq!(why(&pair), Some("heard, but cannot be dialed"));

    let mut pair = Pair::new(AlgorithmKind::Bully, Preempt::Always);
    pair.is_unheard = true;
    pair.meet();
    pair.until(|pair| why(pair).is_some());
    assert_eq!(why(&pair), Some("was to lead and did not"));
    assert_eq!(why(&Pair::led(Preempt::Always)), None);
}

#[test]
fn what_the_core_knows_of_the_leadership_is_shown_after_each_turn() {
    let mut pair = Pair::new(AlgorithmKind::Bully, Preempt::Always);
    let mut snapshots = [0, 1].map(|place| pair.snapshot(place));
    assert_ne!(snapshots[1].phase, Phase::Leading);
    let facts = |it: &Snapshot| (it.phase, it.leader, it.epoch, it.lease.is_some());
    pair.meet();
    pair.until(|pair| pair.cores[0].leader().is_some());
    for (place, snapshot) in snapshots.iter_mut().enumerate() {
        snapshot.update(&pair.cores[place], pair.now);
        let phase = [Phase::Following, Phase::Leading][place];
        let epoch = pair.cores[1].view().epoch;
        assert_eq!(facts(snapshot), (phase, Some(id(2)), epoch, place == 1));
        assert!(epoch.0 > 0);
        assert_eq!(snapshot.lease, pair.cores[place].lease_until());
        assert_eq!(snapshot.until, pair.cores[place].believable_until(pair.now));
    }
    let timing = Timing { failure: TIMING.failure * 3600, ..TIMING };
    pair.take(1, Input::Timed { timing });
    snapshots[1].update(&pair.cores[1], pair.now);
    assert_eq!(snapshots[1].timing, timing);
}

#[test]
fn the_orders_of_operators_are_shown_until_they_are_over() {
    let mut pair = Pair::led(Preempt::Always);
    let mut snapshot = pair.snapshot(0);
    let facts = |it: &Snapshot| {
        let pause = it.pause.paused.then_some((it.pause.since, it.pause.until));
        (pause, it.drain.clone(), it.has_resigned, it.switchover)
    };
    assert_eq!(facts(&snapshot), (None, None, false, None));
    pair.command(0, Forwarded::Pause { since: 1000, until: Some(2000) });
    let drain = Drain { since: 3000, until: None, reason: "new disk".to_owned() };
    pair.command(0, OperatorCommand::Drain(drain.clone()));
    pair.until(|pair| pair.cores[0].pause().paused && pair.cores[0].drain().is_some());
    snapshot.update(&pair.cores[0], pair.now);
    let pause = Some((1000, Some(2000)));
    assert_eq!(facts(&snapshot), (pause, Some(drain), pair.cores[0].has_resigned(), None));
    pair.command(0, OperatorCommand::Undrain);
    pair.command(0, Forwarded::Resume);
    pair.until(|pair| !pair.cores[0].pause().paused && pair.cores[0].drain().is_none());
    snapshot.update(&pair.cores[0], pair.now);
    assert_eq!(facts(&snapshot), (None, None, false, None));

    pair.command(1, Forwarded::Switchover { to: id(1) });
    pair.until(|pair| {
        pair.cores[0].chosen() == Some(id(1)) && pair.cores[0].lease_until().is_some()
    });
    snapshot.update(&pair.cores[0], pair.now);
    assert_eq!((snapshot.switchover, snapshot.phase), (Some(id(1)), Phase::Leading));
    assert_eq!(snapshot.members[1].value, Some(10), "its own, and not that of a chosen one");
    pair.until(|pair| pair.cores[1].chosen().is_some());
    let other = pair.snapshot(1);
    assert_eq!((other.switchover, other.leader), (Some(id(1)), Some(id(1))));
    assert_eq!(other.members[0].value, None, "the value of a chosen member is not its own");
    pair.command(0, Forwarded::Resign { to: None });
    pair.until(|pair| pair.cores[0].leader().is_some_and(|leader| leader.id == id(2)));
    pair.until(|pair| pair.cores[0].chosen().is_none());
    snapshot.update(&pair.cores[0], pair.now);
    assert!(snapshot.has_resigned);
    assert_eq!(snapshot.switchover, None, "another was to lead instead");
}

#[test]
fn a_takeover_is_shown_on_both_sides_with_its_moment() {
    let wait = Duration::from_secs(60);
    let mut pair = Pair::led(Preempt::After(wait));
    pair.command(1, Forwarded::Resign { to: None });
    pair.until(|pair| pair.cores[1].leader().is_some_and(|leader| leader.id == id(1)));
    pair.command(1, OperatorCommand::Undrain);
    pair.until(|pair| pair.cores[1].takeover(pair.now).is_some_and(|(_, due)| due.is_some()));
    pair.until(|pair| pair.cores[0].takeovers().next().is_some());
    let mut snapshots = [0, 1].map(|place| pair.snapshot(place));
    let (from, due) = snapshots[1].takeover.unwrap();
    let (to, lets) = snapshots[0].takeovers[0];
    let most = clock::wall_clock_ms() + 60_000;
    assert_eq!((from, to, snapshots[0].takeover), (id(1), id(2), None));
    assert!(snapshots[1].takeovers.is_empty() && snapshots[0].takeovers.len() == 1);
    for at in [due.unwrap(), lets] {
        assert!((most - 50_000..=most).contains(&at), "{at} of {most}");
    }
    // The two clocks are never read at once, and the moment stays.
    for (place, snapshot) in snapshots.iter_mut().enumerate() {
        snapshot.update(&pair.cores[place], pair.now + TURN * 2);
    }
    assert_eq!(
        (snapshots[1].takeover, &snapshots[0].takeovers[..]),
        (Some((id(1), due)), &[(id(2), lets)][..])
    );
    pair.until(|pair| pair.cores[1].phase() == Phase::Leading);
    for (place, snapshot) in snapshots.iter_mut().enumerate() {
        snapshot.update(&pair.cores[place], pair.now);
        assert_eq!((snapshot.takeover, &snapshot.takeovers[..]), (None, &[][..]));
    }
}

#[test]
fn a_task_and_a_halter_are_shown() {
    let mut pair = Pair::new(AlgorithmKind::Halting, Preempt::Always);
    pair.meet();
    pair.until(|pair| pair.cores.iter().all(|core| core.leader().is_some()));
    let task = Task::new(*b"a task");
    let leads = usize::from(pair.cores[1].phase() == Phase::Leading);
    pair.command(leads, OperatorCommand::HandOut { task: task.clone() });
    pair.until(|pair| pair.cores.iter().all(|core| !core.task().content.is_empty()));
    let snapshot = pair.snapshot(1 - leads);
    assert_eq!((snapshot.task.content, snapshot.halter), (task.content, None));
    assert_eq!(pair.halter, Some(id(2)), "while that organized the cluster");
}

/// The history tells by it how long no leader was heard.
#[test]
fn a_change_notes_for_how_long_the_leader_before_was_silent() {
    let pair = Pair::led(Preempt::Always);
    let (core, mut snapshot) = (&pair.cores[0], pair.snapshot(0));
    let heard = core.detector().get(id(2)).unwrap().heard().unwrap();
    let heartbeat = core.settings().timing.heartbeat;
    let mut silent = |leader, reason, now| {
        let (from, to, epoch) = (Phase::Following, Phase::Electing, snapshot.epoch);
        snapshot.changed(&Transition { from, to, leader, epoch, reason }, core, now);
        snapshot.changes.status(core.settings()).last().unwrap().silent_ms
    };
    let (suspects, names) = (Reason::LeaderSuspected(id(2)), Some(id(2)));
    assert_eq!(silent(names, suspects.clone(), heard + heartbeat * 9), 0, "none was known before");
    assert_eq!(silent(names, suspects.clone(), heard + heartbeat * 2), 0, "as between heartbeats");
    let longer = heard + heartbeat * 2 + Duration::from_millis(1);
    assert_eq!(silent(None, suspects.clone(), longer), 101);
    assert_eq!(silent(names, suspects, heard + heartbeat * 9), 0, "the last change left none");
    let stalled = Reason::Stalled(Duration::from_millis(7));
    assert_eq!(silent(None, stalled, heard + heartbeat * 9), 7);
}

/// The connection of the leader ends with its process, and the next leader announces itself before that is confirmed.
#[test]
fn a_follower_that_did_not_see_how_its_leader_ended_knows_when_it_heard_that_last() {
    let mut pair = Pair::led(Preempt::Always);
    for (has_ended, expected) in [(false, 0), (true, 30)] {
        if has_ended {
            let (connection, peer, redial) = (ConnectionId(2), id(2), Redial::Refused);
            pair.take(0, Input::Ended { connection, peer, redial });
        }
        let (core, mut snapshot) = (&pair.cores[0], pair.snapshot(0));
        let heard = core.detector().get(id(2)).unwrap().heard().unwrap();
        let mut silent = |leader| {
            let (from, to, epoch) = (Phase::Following, Phase::Following, snapshot.epoch);
            let reason = Reason::Announced(leader);
            let change = Transition { from, to, leader: Some(leader), epoch, reason };
            snapshot.changed(&change, core, heard + Duration::from_millis(30));
            snapshot.changes.status(core.settings()).last().unwrap().silent_ms
        };
        assert_eq!(silent(id(2)), 0, "none was known before");
        assert_eq!(silent(id(2)), 0, "the same leads on");
        assert_eq!(silent(id(1)), expected, "{has_ended}");
    }
}

#[test]
fn who_is_removed_by_a_change_is_known_by_name_in_it() {
    let pair = Pair::led(Preempt::Always);
    let (core, mut snapshot) = (&pair.cores[0], pair.snapshot(0));
    let reason = Reason::LeaderRemoved(id(2));
    let (from, to, leader) = (Phase::Following, Phase::Electing, None);
    let change = Transition { from, to, leader, epoch: snapshot.epoch, reason };
    let before = clock::wall_clock_ms();
    snapshot.changed(&change, core, pair.now);
    let told = snapshot.changes.status(core.settings()).remove(0);
    assert!(told.reason.contains("node-2"), "{}", told.reason);
    assert!((before..=clock::wall_clock_ms()).contains(&told.at_ms));
}

#[test]
fn a_moment_to_come_stays_the_same_until_the_clock_is_set() {
    assert_eq!(
        [steady(5000, None), steady(5000, Some(4901)), steady(5000, Some(5099))],
        [5000, 4901, 5099]
    );
    assert_eq!([steady(5000, Some(4900)), steady(5000, Some(5100))], [5000; 2]);
    let now = Time(7_000_000_000);
    for past in [None, Some(now), Some(Time(0))] {
        assert_eq!(moment(past, Some(5000), now), None, "{past:?}");
    }
    let before = clock::wall_clock_ms();
    let due = moment(Some(now + Duration::from_secs(60)), None, now).unwrap();
    assert!((before + 60_000..=clock::wall_clock_ms() + 60_000).contains(&due), "{due}");
}
