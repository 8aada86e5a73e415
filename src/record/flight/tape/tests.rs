//! What is written down of turns, and what a replay makes of it.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::core::OperatorCommand;
use crate::core::death::{DeathCertificate, Secret};
use crate::core::membership::{ListVersion, MOST_MEMBERS, Member, MemberList};
use crate::core::restart::restart;
use crate::core::settings::{AlgorithmKind, Settings, Timing};
use crate::core::types::{CommandId, Incarnation, NodeId, Role, Task};
use crate::flight::document::FORMAT;
use crate::flight::replay::{Difference, Replayed, Unfinished, replay};

fn id(number: usize) -> NodeId {
    NodeId(Uuid::from_u128(number as u128))
}

/// A member of a cluster of so many, with names and hosts of these lengths.
fn core(members: usize, name: usize, host: usize) -> Core {
    let member = |number| Member {
        id: id(number),
        name: format!("{number:n>name$}"),
        address: format!("{number:h>host$}:65535"),
        admin: Some(format!("{number:h>host$}:65534")),
        role: Role::Member,
    };
    let list = MemberList::new(ListVersion::default(), (1..=members).map(member).collect());
    let ms = Duration::from_millis;
    let timing = Timing { heartbeat: ms(10), failure: ms(50), message: ms(5), lease: ms(50) };
    let algorithm = AlgorithmKind::Halting;
    let settings = Settings { algorithm, ..Settings::new("db", id(1), Arc::new(list), timing) };
    let restored = restart(None, &settings, None).unwrap();
    Core::new(Time(0), settings, restored, 7)
}

/// A member with its tape.
struct Recorded {
    core: Core,
    tape: Tape,
    taped: Taped,
    now: Time,
}

impl Recorded {
    fn new(core: Core) -> Recorded {
        let taped = Taped::default();
        Recorded { tape: Tape::new(&core, Time(0), &taped), core, taped, now: Time(0) }
    }

    fn turn(&mut self, input: Input) {
        self.now = self.now + Duration::from_millis(1);
        let mut out = Vec::new();
        self.tape.begin(self.now, &input, &self.taped);
        self.core.handle(self.now, input, &mut out);
        self.tape.end(&out);
        self.tape.pass_on(&self.core, self.now, &self.taped);
    }

    /// A refusal with so many letters, which the core repeats: a turn of twice as many bytes.
    fn dialed(&mut self, length: usize) {
        let key = "k".repeat(length);
        let reason = crate::core::message::Rejection::Disagreement {
            key,
            ours: String::new(),
            theirs: String::new(),
        };
        self.turn(Input::Rejected { peer: id(2), reason });
    }
}

#[test]
fn the_oldest_segments_make_room_and_the_rest_follow_on_each_other() {
    let mut member = Recorded::new(core(3, 4, 4));
    let mut memory = Vec::new();
    for _ in 0..2000 {
        member.dialed(1000);
        let kept = member.taped.0.lock();
        assert!(kept.over.len() < SEGMENTS && kept.present.capacity() <= SEGMENT);
        memory.push(kept.present.as_ptr());
    }
    memory.sort_unstable();
    memory.dedup();
    assert_eq!(memory.len(), SEGMENTS, "the memory is used again");
    let segments = member.taped.segments();
    let full = 320 * 1024;
    for segment in &segments[..SEGMENTS - 1] {
        assert!((full..full + 4000).contains(&segment.len()), "{}", segment.len());
    }
    let replayed = replay(&segments).unwrap();
    assert_eq!((replayed.segments, replayed.gaps, replayed.unfinished.is_none()), (5, 0, true));
    assert!(replayed.is_same() && (600..900).contains(&replayed.turns), "{replayed:?}");
    assert_eq!(replayed.to_ns, 2_000_000_000, "the last turn");
    assert_eq!(replayed.from_ns, (2000 - replayed.turns) * 1_000_000, "the state after a turn");
}

#[test]
fn a_reader_delays_nobody_and_misses_nothing() {
    let mut member = Recorded::new(core(3, 4, 4));
    let taped = std::mem::take(&mut member.taped);
    let reader = taped.0.lock();
    let taped = {
        let turn = |member: &mut Recorded| {
            member.tape.begin(Time(1), &Input::Tick, &taped);
            let mut out = Vec::new();
            member.core.handle(Time(1), Input::Tick, &mut out);
            member.tape.end(&out);
            member.tape.pass_on(&member.core, Time(1), &taped);
        };
        (0..10).for_each(|_| turn(&mut member)); // none of them waits
        drop(reader);
        turn(&mut member);
        taped
    };
    let replayed = replay(&taped.segments()).unwrap();
    let (turns, segments, from_ns, to_ns) = (11, 1, 0, 1);
    assert_eq!(replayed, Replayed { turns, segments, from_ns, to_ns, ..Replayed::default() });
}

#[test]
fn a_turn_for_which_there_is_no_room_leaves_a_gap() {
    let mut member = Recorded::new(core(3, 4, 4));
    member.dialed(10);
    member.dialed(SEGMENT);
    member.dialed(10);
    let replayed = replay(&member.taped.segments()).unwrap();
    let (turns, segments, gaps, to_ns) = (2, 2, 1, 3_000_000);
    assert_eq!(replayed, Replayed { turns, segments, gaps, to_ns, ..Replayed::default() });
}

#[test]
fn a_reader_that_stays_for_longer_than_a_segment_leaves_a_gap() {
    let mut member = Recorded::new(core(3, 4, 4));
    member.dialed(10);
    let taped = std::mem::take(&mut member.taped);
    let reader = taped.0.lock();
    let turn = |member: &mut Recorded, key: &str| {
        let [key, ours, theirs] = [key, "", ""].map(str::to_owned);
        let reason = crate::core::message::Rejection::Disagreement { key, ours, theirs };
        let input = Input::Rejected { peer: id(2), reason };
        member.now = member.now + Duration::from_millis(1);
        let mut out = Vec::new();
        member.tape.begin(member.now, &input, &taped);
        member.core.handle(member.now, input, &mut out);
        member.tape.end(&out);
        member.tape.pass_on(&member.core, member.now, &taped);
    };
    let key = "k".repeat(1000);
    (0..300).for_each(|_| turn(&mut member, &key));
    drop(reader);
    (0..2).for_each(|_| turn(&mut member, &key));
    let replayed = replay(&taped.segments()).unwrap();
    assert_eq!((replayed.segments, replayed.gaps), (2, 1));
    assert!(replayed.is_same() && (160..200).contains(&replayed.turns), "{replayed:?}");
    assert_eq!(replayed.to_ns, 303_000_000, "the last");
}

#[test]
fn an_input_can_be_read_before_the_core_has_handled_it() {
    let mut member = Recorded::new(core(3, 4, 4));
    member.turn(Input::Tick);
    member.tape.begin(Time(1), &Input::StandBack, &member.taped);
    let replayed = replay(&member.taped.segments()).unwrap();
    let unfinished = Some(Unfinished { input: "StandBack".to_owned(), panic: None });
    let (turns, segments, to_ns) = (1, 1, 1);
    let expected = Replayed { turns, segments, to_ns, unfinished, ..Replayed::default() };
    assert_eq!(replayed, expected);
}

#[test]
fn the_first_output_that_differs_is_named() {
    let mut member = Recorded::new(core(3, 4, 4));
    member.turn(Input::Tick);
    for _ in 0..2 {
        member.tape.begin(Time(5_000_000), &Input::Tick, &member.taped);
        member.tape.end(&[Output::Dial { peer: id(2) }]); // so another core would do
    }
    member.tape.pass_on(&member.core, Time(5_000_000), &member.taped);
    let replayed = replay(&member.taped.segments()).unwrap();
    let mut core = self::core(3, 4, 4);
    core.handle(Time(1_000_000), Input::Tick, &mut Vec::new());
    let mut out = Vec::new();
    core.handle(Time(5_000_000), Input::Tick, &mut out);
    let difference = Difference {
        turn: 2,
        at_ns: 5_000_000,
        input: "Tick".to_owned(),
        is_of_state: false,
        recorded: vec![format!("{:?}", Output::Dial { peer: id(2) })],
        replayed: out.iter().map(|out| format!("{out:?}")).collect(),
    };
    let (turns, segments, to_ns, difference) = (2, 1, 5_000_000, Some(difference));
    let expected = Replayed { turns, segments, to_ns, difference, ..Replayed::default() };
    assert_eq!(replayed, expected);
}

#[test]
fn a_state_that_differs_is_named() {
    let mut member = Recorded::new(core(3, 4, 4));
    member.turn(Input::Tick);
    let mut segments: Vec<_> =
        member.taped.segments().into_iter().map(Arc::unwrap_or_clone).collect();
    segments.push(postcard::to_stdvec(&(true, Time(9), core(4, 4, 4))).unwrap());
    let replayed = replay(&segments).unwrap();
    let difference = replayed.difference.clone().unwrap();
    let [recorded, other] =
        [&difference.recorded, &difference.replayed].map(|lines| lines.join("|"));
    assert!(recorded != other && !recorded.is_empty() && !recorded.starts_with(' '), "{recorded}");
    let place = |core: &Core, line: &str| format!("{core:#?}").lines().any(|it| it.trim() == line);
    let (ours, theirs) = (core(4, 4, 4), &member.core);
    assert!(place(&ours, &recorded) && place(theirs, &other), "{difference:?}");
    let (turn, at_ns, input) = (1, 1_000_000, "Tick".to_owned());
    assert_eq!(
        difference,
        Difference { turn, at_ns, input, is_of_state: true, ..difference.clone() }
    );
    let (turns, segments_, to_ns) = (1, 2, 1_000_000);
    let difference = Some(difference);
    let expected =
        Replayed { turns, segments: segments_, to_ns, difference, ..Replayed::default() };
    assert_eq!(replayed, expected);
    // After a gap nobody knows what came between.
    segments[1] = postcard::to_stdvec(&(false, Time(9), core(4, 4, 4))).unwrap();
    let replayed = replay(&segments).unwrap();
    assert_eq!((replayed.gaps, replayed.difference), (1, None));
    // A segment that is no segment is told by its number.
    let length = segments[1].len() - 1;
    segments[1].truncate(length);
    let unreadable = replay(&segments).unwrap_err();
    assert_eq!(
        (unreadable.segment, unreadable.why),
        (2, postcard::Error::DeserializeUnexpectedEnd)
    );
}

#[test]
fn a_turn_without_outputs_ends_a_segment_and_not_the_flight() {
    let mut member = Recorded::new(core(3, 4, 4));
    member.turn(Input::Tick);
    member.tape.begin(Time(2_000_000), &Input::Tick, &member.taped);
    let mut segments: Vec<_> =
        member.taped.segments().into_iter().map(Arc::unwrap_or_clone).collect();
    segments.push(postcard::to_stdvec(&(false, Time(9), core(3, 4, 4))).unwrap());
    let (now, input) = (Time(9), Input::Tick);
    let replayed = replay(&segments).unwrap();
    let unfinished = Some(Unfinished { input: "Tick".to_owned(), panic: None });
    let (turns, segments_, gaps, to_ns) = (1, 2, 1, 2_000_000);
    let expected =
        Replayed { turns, segments: segments_, gaps, to_ns, unfinished, ..Replayed::default() };
    assert_eq!(replayed, expected);
    segments[1].extend(postcard::to_stdvec(&(now, input)).unwrap());
    segments[1].push(9); // more outputs than there are
    let unreadable = replay(&segments).unwrap_err();
    assert_eq!(
        (unreadable.segment, unreadable.why),
        (2, postcard::Error::DeserializeUnexpectedEnd)
    );
    let length = segments[1].len() - 2;
    segments[1].truncate(length);
    let unreadable = replay(&segments).unwrap_err();
    assert_eq!(unreadable.segment, 2, "the input is cut short");
}

#[test]
fn the_state_of_the_largest_cluster_fits_into_half_a_segment() {
    let state = postcard::to_stdvec(&core(MOST_MEMBERS, 63, 253)).unwrap();
    assert!((SEGMENT / 8..SEGMENT / 2).contains(&state.len()), "{}", state.len());
}

#[test]
fn a_core_that_is_too_large_is_not_recorded_and_works_on() {
    let mut member = Recorded::new(core(2000, 63, 253));
    member.turn(Input::Tick);
    assert!(member.taped.segments().is_empty());
    assert_eq!(member.tape.state, TapeState::TooLarge);
    assert_eq!(format!("{:?}", member.tape), "Tape(0 bytes, TooLarge)");
}

#[test]
fn no_task_is_recorded() {
    let mut member = Recorded::new(core(1, 4, 4));
    let task = Task::new(*b"a secret of an operator");
    let command = OperatorCommand::HandOut { task };
    member.turn(Input::Command { id: CommandId(1), command });
    (0..200).for_each(|_| member.turn(Input::Tick));
    let segments = member.taped.segments();
    assert!(!segments.iter().any(|part| part.windows(8).any(|part| part == b"a secret")));
    assert!(replay(&segments).unwrap().is_same());
}

#[test]
fn the_same_task_has_the_same_stand_in() {
    let kept = |task: &Task| -> Task {
        postcard::from_bytes(&postcard::to_stdvec(task).unwrap()).unwrap()
    };
    let task = Task::new(*b"a secret task");
    assert_eq!(kept(&task), kept(&task.clone()));
    assert_eq!(kept(&task).content.len(), 13);
    assert_ne!(kept(&task), kept(&Task::new(*b"a secret tusk")));
    assert_eq!(kept(&Task::default()), Task::default());
    let endless = postcard::to_stdvec(&(0_u64, 0_u64, u64::MAX, 0_u32)).unwrap();
    assert!(postcard::from_bytes::<Task>(&endless).is_err());
}

/// A change of what the core knows, takes or puts out changes the layout of recordings: FORMAT has to grow with it, so
/// that no version takes those of another for damaged ones.
#[test]
fn the_layout_belongs_to_the_format() {
    let certificate =
        DeathCertificate { member: id(2), incarnation: Incarnation(3), secret: Secret([7; 32]) };
    let state = postcard::to_stdvec(&(core(3, 4, 4), Input::Dead(certificate))).unwrap();
    assert_eq!((FORMAT, state.len(), crc32fast::hash(&state)), (7, 1055, 508_403_430));
}
