//! What people and programs read of an election.

use super::*;
use crate::core::Phase;
use crate::trace::{Caption, Unseen};

/// A member of this place leads from this time on.
fn leads(node: usize, ms: u64) -> DrawnEvent {
    let (label, reason) = ("leads".to_owned(), "won".to_owned());
    let what = DrawnWhat::Becomes { phase: Phase::Leading, label, reason };
    DrawnEvent { time: Time(ms * 1_000_000), node, what, causes: Vec::new() }
}

fn event(ms: u64, what: DrawnWhat) -> DrawnEvent {
    DrawnEvent { time: Time(ms * 1_000_000), node: 0, what, causes: Vec::new() }
}

#[test]
fn an_election_of_too_many_members_is_not_drawn_and_told_where_to_look() {
    let of = |members: usize| {
        let names = (0..members).map(|number| number.to_string()).collect();
        Election::new(Merged { names, ..full() }, "test", String::new()).unfit()
    };
    assert_eq!(of(40), None);
    let words = "41 members do not fit a drawing; at most 40 do: see `electd trace --output text`";
    assert_eq!(of(41).as_deref(), Some(words));
}

/// A message to b that takes so long.
fn sends(ms: u64, micros: u64, lost: bool, unseen: Option<Unseen>) -> DrawnEvent {
    let arrives = Time(ms * 1_000_000 + micros * 1000);
    let (kind, label) = (Some(Kind::Election), "ELECTION 4".to_owned());
    let message = Caption { kind, number: Some(4), label };
    event(ms, DrawnWhat::Sends { to: 1, message, arrives, lost, unseen })
}

/// One with all that there may be to tell.
fn full() -> Merged {
    let waited = DrawnWhat::Waited { since: Time(3_000_000), label: "T1 6 ms".to_owned() };
    use Kind::{Answer, Coordinator, Release};
    let counts = [(Kind::Election, 2), (Answer, 1), (Coordinator, 1), (Release, 3)];
    Merged {
        names: ["a", "b", "c"].map(str::to_owned).to_vec(),
        silent: vec!["c".to_owned()],
        algorithm: "bully".to_owned(),
        epoch: Some(4),
        leaders: vec!["b".to_owned()],
        members: 3,
        events: vec![
            sends(0, 30, false, None),
            sends(0, 2000, false, None),
            sends(1, 1000, true, None),
            sends(2, 1000, false, Some(Unseen::Arrival)),
            sends(3, 1000, false, Some(Unseen::Departure)),
            event(9, waited),
            leads(1, 12),
        ],
        messages: counts.map(|(kind, count)| (kind.into(), count)).into(),
        left_out: 7,
        ..Merged::default()
    }
}

#[test]
fn people_read_each_event_and_what_is_not_known() {
    let expected = "\
Election of epoch 4 in demo, algorithm bully, then

7 earlier events are left out
    0.000 ms  a        sends ELECTION 4 to b, taken after less than 0.1 ms
    0.000 ms  a        sends ELECTION 4 to b, taken after 2 ms
    1.000 ms  a        sends ELECTION 4 to b, which does not take it
    2.000 ms  a        sends ELECTION 4 to b, which did not record whether it arrived
    3.000 ms  a        sends ELECTION 4 to b, which alone recorded it
    9.000 ms  a        has waited for T1 6 ms
   12.000 ms  b        leads: won

b leads in epoch 4, 12 ms after the election began
2 ELECTION + 1 ANSWER + 1 COORDINATOR = 4 messages, of 2 to 8 that 3 members may need; besides, 3 RELEASE
nothing is told by c: only what the others saw of it is shown
";
    assert_eq!(Election::new(full(), "demo", "then".to_owned()).text(), expected);
    let merged = Merged { epoch: None, leaders: Vec::new(), ..full() };
    let text = Election::new(merged, "demo", "then".to_owned()).text();
    assert!(text.starts_with("Election under way in demo, algorithm bully, then\n"), "{text}");
    assert!(text.contains("\nnobody leads yet, as far as any node recorded\n"), "{text}");
    assert!(text.contains(" = 4 messages; besides, "), "nobody knows how many it takes: {text}");
    let lower = [(Kind::Lower.into(), 1)].into();
    let merged = Merged { messages: lower, members: 1, ..full() };
    let counts = Election::new(merged, "demo", "then".to_owned()).counts();
    assert!(
        counts.contains(" + 1 LOWER + ") && counts.contains("as many as 1 members need (more: ")
    );
}

#[test]
fn a_drawing_says_who_leads_and_what_is_not_known() {
    let election = Election::new(full(), "demo", "then".to_owned());
    let Diagram { title, counts, description, names, events } = election.diagram();
    assert_eq!(title, "Election of epoch 4 in demo, algorithm bully, then");
    let told = "2 ELECTION + 1 ANSWER + 1 COORDINATOR = 4 messages, of 2 to 8 that 3 members may need; besides, 3 \
                RELEASE; nothing is told by c: only what the others saw of it is shown";
    assert_eq!(counts, told);
    let told = "b leads in epoch 4, 12 ms after the election began. Arrows are messages with their round or epoch, \
                time runs downward, dots are a message of which nobody recorded one end, a cross is one that nobody \
                took, two strokes are a time in which nothing happens.";
    assert_eq!(description, told);
    assert_eq!(
        (names, events),
        (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], &full().events[..])
    );
    let merged = Merged {
        silent: vec!["c".to_owned(), "d".to_owned()],
        algorithm: "other".to_owned(),
        ..full()
    };
    let unknown = Election::new(merged, "demo", "then".to_owned()).diagram().counts;
    let told = " = 0 messages; besides, 1 ANSWER, 1 COORDINATOR, 2 ELECTION, 3 RELEASE; nothing is told by c, d: only \
                what the others saw of it is shown";
    assert_eq!(unknown, told);
    let merged =
        Merged { events: full().events[..6].to_vec(), silent: vec![], left_out: 0, ..full() };
    let text = Election::new(merged, "demo", "then".to_owned()).text();
    assert!(
        text.contains("then\n\n    0.000 ms") && text.contains("\nb leads in epoch 4\n"),
        "{text}"
    );
    assert!(text.ends_with("besides, 3 RELEASE\n"), "{text}");
}

#[test]
fn how_long_a_message_took_is_told_where_a_clock_can_tell() {
    for (micros, told) in [(49, "less than 0.1 ms"), (50, "0.1 ms")] {
        let merged = Merged { events: vec![sends(0, micros, false, None)], ..full() };
        let election = Election::new(merged, "demo", "then".to_owned());
        let line = election.line(&election.merged.events[0]);
        assert_eq!(line.what, format!("sends ELECTION 4 to b, taken after {told}"));
    }
}

#[test]
fn programs_get_the_same() {
    let object = Election::new(full(), "demo", "then".to_owned()).object();
    let expected = json!({
        "cluster": "demo", "algorithm": "bully", "epoch": 4, "leader": "b", "began": "then",
        "messages": {"election": 2, "answer": 1, "coordinator": 1, "total": 4},
        "other_messages": {"release": 3}, "formula": {"least": 2, "most": 8}, "silent": ["c"], "left_out": 7,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&object[key], value, "{key}");
    }
    let ends: Vec<_> = (2..5).map(|at| object["events"][at]["unseen"].as_str()).collect();
    assert_eq!(ends, [None, Some("arrival"), Some("departure")]);
    let waited = &object["events"][5];
    assert_eq!((&waited["at_ms"], &waited["since_ms"]), (&json!(9.0), &json!(3.0)));
}

/// One that led for a moment, and met a leader of a greater epoch.
#[test]
fn the_time_of_an_election_is_that_of_the_leader_that_remained() {
    let merged = Merged {
        names: ["a", "b"].map(str::to_owned).to_vec(),
        algorithm: "bully".to_owned(),
        epoch: Some(4),
        leaders: vec!["b".to_owned()],
        events: vec![leads(0, 2), leads(1, 9)],
        ..Merged::default()
    };
    let election = Election::new(merged, "demo", "then".to_owned());
    let expected = "b leads in epoch 4, 9 ms after the election began";
    assert!(election.text().contains(expected), "{}", election.text());
    assert!(election.diagram().description.starts_with(expected));
}
