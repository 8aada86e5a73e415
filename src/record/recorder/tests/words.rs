//! What a reader sees of an event, and what no reader may see.

use super::*;

#[test]
fn a_record_begins_with_the_start() {
    let mut recording = Recording::new();
    recording.turn(&Input::Tick, &[]);
    let (since, entries) = recording.recorded.entries(&members());
    let (what, label) = ("started".to_owned(), "starts".to_owned());
    assert_eq!((since, entries), (0, vec![Entry { n: 1, what, label, ..Entry::default() }]));
    let later = Recorded::new(Time(7));
    assert_eq!(later.entries(&members()), (7, vec![]));
}

/// What an event holds beside itself counts: otherwise a few long ones would take much more than they may.
#[test]
fn an_event_takes_as_many_bytes_as_it_holds() {
    let change = |reason| {
        let (from, to, epoch) = (Phase::Electing, Phase::Waiting, Epoch(1));
        RecordedWhat::Became(Transition { from, to, leader: None, epoch, reason })
    };
    let voters = vec![id(1), id(2), id(3)];
    for (what, causes, more) in [
        (RecordedWhat::Started, &[][..], 0),
        (RecordedWhat::Started, &[1, 2], 16),
        (RecordedWhat::Asked { words: "seven b".to_owned() }, &[], 7),
        (change(Reason::LeaseEnded), &[1], 8),
        (change(Reason::Uninformed(voters.clone())), &[], 48),
        (change(Reason::VotersUninformed(voters)), &[], 48),
    ] {
        let (number, time, is_quiet) = (1, Time(0), false);
        let event = RecordedEvent { number, time, what, causes: causes.into(), is_quiet };
        assert_eq!(event.bytes(), size_of::<RecordedEvent>() + more, "{event:?}");
    }
}

/// A reader finds a message of one side again among those of the other.
#[test]
fn a_message_and_a_change_are_told_whole() {
    let mut recording = Recording::new();
    recording.turn(&got(2, election(3)), &[]);
    recording.turn(&got(2, election(4)), &[sends(&[3], answer(4))]);
    let reason = Reason::Announced(id(3));
    let (from, to, leader) = (Phase::Electing, Phase::Following, Some(id(3)));
    let change = Transition { from, to, leader, epoch: Epoch(5), reason };
    recording.turn(&Input::Tick, &[Output::Changed(change)]);
    let entries = recording.entries().split_off(1);
    let text = |text: &str| text.to_owned();
    let shared = Entry { at_ns: 2 * SECOND, ..Entry::default() };
    let got = Entry {
        n: 3,
        what: text("got"),
        label: text("ELECTION 4"),
        peer: Some(text("b")),
        kind: Some(text("election").into()),
        number: Some(4),
        place: Some(1),
        incarnation: Some(7),
        ..shared.clone()
    };
    let sent = Entry {
        n: 4,
        what: text("sent"),
        causes: vec![3],
        label: text("ANSWER 4"),
        peer: Some(text("c")),
        kind: Some(text("answer").into()),
        number: Some(4),
        place: Some(0),
        ..shared
    };
    let became = Entry {
        n: 5,
        at_ns: 3 * SECOND,
        what: text("became"),
        label: entries[2].label.clone(),
        number: Some(5),
        phase: Some(text("following")),
        leader: Some(text("c")),
        reason: Some(text("c leads")),
        ..Entry::default()
    };
    assert_eq!(entries, [got, sent, became]);
    assert_eq!(entries[2].label, "follows c");
}

#[test]
fn what_a_message_carries_is_not_recorded() {
    let secret = "s3cret";
    let task = Task { version: TaskVersion::default(), content: secret.as_bytes().into() };
    let mut recording = Recording::new();
    let ready = Message::Ready { number: 1, round: Epoch(1), task: task.clone() };
    recording.turn(&got(2, ready), &[sends(&[2], Message::Task(task.clone()))]);
    let command = crate::core::OperatorCommand::HandOut { task };
    recording.turn(&Input::Command { id: crate::core::CommandId(1), command }, &[]);
    let entries = recording.entries();
    let labels: Vec<_> = entries.iter().map(|entry| entry.label.as_str()).collect();
    assert_eq!(labels, ["READY 1", "TASK", "is given a task of 6 bytes"]);
    assert_eq!(entries[2].what, "asked");
    let debug = format!("{:?}", recording.recorded);
    assert!(!debug.contains(secret) && !debug.contains("115, 51"), "{debug}");
}

#[test]
fn a_ballot_names_its_candidate() {
    let rank = Rank { value: 0, id: id(3) };
    let candidate = Candidate { eligible: true, rank, incarnation: Incarnation(1) };
    let run = Run { epoch: Epoch(2), initiator: id(1) };
    let mut recording = Recording::new();
    recording.turn(&got(2, Message::Ballot(Ballot { run, candidate, hops: 1 })), &[]);
    assert_eq!(recording.entries()[0].label, "ELECTION 2, c");
}

#[test]
fn a_certificate_is_told_without_its_secret() {
    let mut recording = Recording::new();
    let (incarnation, secret) = (Incarnation(2), Secret([0x5c; 32]));
    let certificate = DeathCertificate { member: id(3), incarnation, secret };
    let passed_on = Message::Dead(certificate);
    recording.turn(&Input::Dead(certificate), &[sends(&[2], passed_on)]);
    let entries = recording.entries();
    let (what, label) = (entries[0].what.as_str(), entries[0].label.as_str());
    assert_eq!((what, label), ("certified", "c is certified dead"));
    assert_eq!(entries[0].peer.as_deref(), Some("c"));
    assert_eq!((entries[1].what.as_str(), &entries[1].causes[..]), ("sent", &[entries[0].n][..]));
    let text = serde_json::to_string(&entries).unwrap();
    assert!(!text.contains("5c5c") && !text.contains("92,92"), "{text}");
}

#[test]
fn what_befalls_a_member_is_told_in_words() {
    let (mut recording, peer, connection) = (Recording::new(), id(2), ConnectionId(4));
    let ended = |redial| Input::Ended { connection, peer, redial };
    let inputs = [
        Input::Hello { connection, address: String::new(), hello: hello() },
        Input::Welcomed { peer, welcome: hello() },
        Input::Refused { peer },
        Input::Lost { peer },
        ended(Redial::Accepted),
        ended(Redial::Refused),
        ended(Redial::Failed),
        Input::Stalled { time: std::time::Duration::from_millis(1500) },
    ];
    inputs.iter().for_each(|input| recording.turn(input, &[]));
    let reason = Reason::LeaderDead(id(3));
    let (from, to, leader) = (Phase::Following, Phase::Electing, Some(id(3)));
    let change = Transition { from, to, leader, epoch: Epoch(5), reason };
    recording.turn(&Input::Tick, &[Output::Changed(change)]);
    recording.waits = [None, Some(Time(11 * SECOND))];
    recording.turn(&Input::Tick, &[]);
    recording.turn(&Input::Tick, &[]);
    let entries = recording.entries();
    let words = |entry: &Entry| {
        format!("{}|{}|{}", entry.what, entry.peer.as_deref().unwrap_or("-"), entry.label)
    };
    let told: Vec<_> = entries.iter().map(words).collect();
    let expected = [
        "met|b|b connects",
        "connected|b|connected to b",
        "refused|b|dial to b refused",
        "lost|b|connection to b ended",
        "ended|b|connection from b ended, redial accepted",
        "ended|b|connection from b ended, redial refused",
        "ended|b|connection from b ended, redial failed",
        "stalled|-|did not run for 1.5 s",
    ];
    assert_eq!(told[..8], expected);
    assert_eq!((entries[0].incarnation, told[9].as_str()), (Some(1), "waited|-|a leader for 1 s"));
    let became = &entries[8];
    assert_eq!((became.what.as_str(), became.phase.as_deref()), ("became", Some("electing")));
    assert_eq!((became.number, became.leader.as_deref()), (Some(5), Some("c")));
    assert_eq!(became.reason.as_deref(), Some("leader c is dead: redial refused"));
    assert_eq!(entries[9].since_ns, Some(10 * SECOND), "when it began to wait");
}
