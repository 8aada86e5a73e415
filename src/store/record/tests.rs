//! What is written is read back, and what is not a record is told from one.

use super::*;

/// The id of member `n` in these tests.
pub fn id(n: u128) -> NodeId {
    NodeId(Uuid::from_u128(n))
}

/// Member 1 of three, in this epoch.
pub fn record(epoch: u64) -> Record {
    let member = |n: u128, role| Member {
        id: id(n),
        name: format!("node-{n}"),
        address: format!("127.0.0.1:710{n}"),
        admin: None,
        role,
    };
    let version = ListVersion { epoch: Epoch(4), counter: 2 };
    let members =
        vec![member(1, Role::Member), member(2, Role::Witness), member(3, Role::Observer)];
    Record {
        id: id(1),
        incarnation: Incarnation(3),
        epoch: Epoch(epoch),
        reserved: Epoch(epoch + 100),
        leader: Some(id(2)),
        vote: None,
        members: MemberList::new(version, members),
        task: Task::default(),
    }
}

/// Member 1 as a voter.
fn voter() -> Record {
    let granted = Some(Grant { epoch: Epoch(6), nominee: id(3) });
    let promised = Duration::from_millis(400);
    Record { vote: Some(Vote { granted, promised, informed: true }), ..record(7) }
}

fn json(record: &Record) -> String {
    String::from_utf8(record.to_json().unwrap()).unwrap()
}

#[test]
fn what_is_written_is_read_back() {
    let leaderless = Record { leader: None, ..record(0) };
    let last = Record { epoch: Epoch(u64::MAX), reserved: Epoch(u64::MAX), ..record(0) };
    let busy = Record { task: Task::new(*b"any \xff\0 bytes"), ..record(0) };
    let emptied = Record { task: taken(b""), ..record(0) };
    for record in [record(7), leaderless, last, busy, emptied, voter()] {
        assert_eq!(Record::from_json(json(&record).as_bytes()), Ok(record));
    }
}

#[test]
fn the_format_is_a_promise() {
    let one = r#"{
        "format": 1,
        "id": "00000000-0000-0000-0000-000000000001",
        "incarnation": 3, "epoch": 7, "reserved": 107,
        "leader": "00000000-0000-0000-0000-000000000002",
        "version": {"epoch": 4, "counter": 2},
        "members": [
            {"id": "00000000-0000-0000-0000-000000000001", "name": "node-1",
             "address": "127.0.0.1:7101", "role": "member"},
            {"id": "00000000-0000-0000-0000-000000000002", "name": "node-2",
             "address": "127.0.0.1:7102", "role": "witness"},
            {"id": "00000000-0000-0000-0000-000000000003", "name": "node-3",
             "address": "127.0.0.1:7103", "role": "observer"}
        ]
    }"#;
    assert_eq!(Record::from_json(one.as_bytes()), Ok(record(7)));
}

#[test]
fn a_task_takes_format_2_and_nothing_else_does() {
    assert!(json(&record(7)).contains("\"format\": 1,"));
    let good = json(&Record { task: Task::new(*b"work"), ..record(7) });
    assert!(good.contains("\"format\": 2,") && good.contains("\"task\": \"d29yaw==\""), "{good}");
    let older = good.replace("\"format\": 2", "\"format\": 1");
    assert_damaged(older.as_bytes(), "is not known in format 1");
    assert_damaged(good.replace("d29yaw==", "d29yaw").as_bytes(), "is not base64");
    let long = STANDARD.encode(vec![0; Task::LONGEST + 1]);
    assert_damaged(good.replace("d29yaw==", &long).as_bytes(), "the most is 65536");
    let none = json(&record(7)).replace("\"format\": 1", "\"format\": 2");
    assert_eq!(Record::from_json(none.as_bytes()), Ok(record(7)));
}

/// A task that a coordinator took.
fn taken(content: &[u8]) -> Task {
    Task { version: TaskVersion { epoch: Epoch(6), counter: 2 }, content: content.into() }
}

#[test]
fn the_version_of_a_task_takes_format_5_and_nothing_else_does() {
    let record = Record { task: taken(b"work"), ..voter() };
    let good = json(&record);
    assert!(good.contains("\"format\": 5,"), "{good}");
    assert_eq!(Record::from_json(good.as_bytes()), Ok(record));
    let older = good.replace("\"format\": 5", "\"format\": 4");
    assert_damaged(older.as_bytes(), "\"task_version\" is not known in format 4");
}

#[test]
fn a_changed_list_takes_format_4_and_nothing_else_does() {
    let mut members: Vec<Member> = record(7).members.iter().cloned().collect();
    members[1].admin = Some("127.0.0.1:7202".into());
    let unchanged = MemberList::new(ListVersion::default(), members.clone());
    let unchanged = json(&Record { members: unchanged, ..record(7) });
    assert!(unchanged.contains("\"format\": 1,") && !unchanged.contains("7202"), "{unchanged}");
    let list = MemberList::new(record(7).members.version(), members).with_removed(vec![id(9)]);
    let changed = Record { members: list, ..record(7) };
    let good = json(&changed);
    assert!(good.contains("\"format\": 4,"), "{good}");
    assert_eq!(Record::from_json(good.as_bytes()), Ok(changed));
    let older = good.replace("\"format\": 4", "\"format\": 3");
    assert_damaged(older.as_bytes(), "are not known in format 3");
}

#[test]
fn a_vote_takes_format_3_and_nothing_else_does() {
    let good = json(&voter());
    assert!(good.contains("\"format\": 3,") && good.contains("400000000"), "{good}");
    for older in ["1", "2"] {
        let older = good.replace("\"format\": 3", &format!("\"format\": {older}"));
        assert_damaged(older.as_bytes(), "is not known in format");
    }
}

fn assert_damaged(bytes: &[u8], expected: &str) {
    match Record::from_json(bytes) {
        Err(Unfit::Damaged(reason)) => assert!(reason.contains(expected), "{reason}"),
        other => panic!("expected {expected}, got {other:?}"),
    }
}

#[test]
fn a_wrong_document_is_damage() {
    let good = json(&record(7));
    assert_damaged(b"", "it is empty");
    assert_damaged(&good.as_bytes()[..good.len() / 2], "EOF");
    assert_damaged(&[0; 64], "line 1 column 1");
    assert_damaged(b"leader: node-1", "expected value");
    assert_damaged(b"[1, 2]", "line 1");
    assert_damaged(b"{}", "missing field `format`");
    assert_damaged(format!("{good}}}").as_bytes(), "trailing");
}

#[test]
fn a_wrong_value_is_damage() {
    let good = json(&record(7));
    let table = [
        ("\"format\": 1", "\"format\": 0", "no format 0"),
        ("\"epoch\": 7", "\"epoch\": \"7\"", "invalid type"),
        ("\"epoch\": 7", "\"epoch\": -7", "invalid value"),
        ("\"reserved\": 107", "\"reserved\": 6", "below \"epoch\""),
        ("\"incarnation\": 3,", "", "missing field `incarnation`"),
        ("\"incarnation\"", "\"reincarnation\"", "unknown field"),
        ("-000000000002", "-00000000000x", "UUID"),
        ("-000000000003", "-000000000002", "an id twice"),
        ("\"witness\"", "\"bystander\"", "unknown variant"),
    ];
    for (from, to, expected) in table {
        assert!(good.contains(from), "{from} is not in {good}");
        assert_damaged(good.replace(from, to).as_bytes(), expected);
    }
}

#[test]
fn bytes_that_are_no_utf8_are_damage() {
    let mut bytes = record(7).to_json().unwrap();
    let at = bytes.windows(6).position(|window| window == b"node-3").unwrap();
    bytes[at] = 0xff;
    assert!(matches!(Record::from_json(&bytes), Err(Unfit::Damaged(_))));
}

#[test]
fn a_newer_format_is_not_taken_for_damage() {
    let newer = br#"{"format": 6, "id": 17, "epochs": {}}"#;
    assert_eq!(Record::from_json(newer), Err(Unfit::Newer(6)));
}

#[test]
fn a_record_that_reserves_too_little_stays_readable() {
    let record = Record { reserved: Epoch(3), ..record(7) };
    let read = Record::from_json(json(&record).as_bytes()).unwrap();
    assert_eq!(read.reserved, Epoch(7));
}
