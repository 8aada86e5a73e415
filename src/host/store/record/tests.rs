//! What is written is read back, and what is not a record is recognized.

use super::super::file::LARGEST;
use super::samples::{id, older, record, taken, voter, with};
use super::*;
use crate::core::membership::{MOST_MEMBERS, MOST_REMOVED, Member};
use crate::core::types::{Drain, Role, Version};

mod format;

/// The content of the state file.
fn json(record: &StoreRecord) -> String {
    String::from_utf8(record.to_json().unwrap()).unwrap()
}

#[test]
fn what_is_written_is_read_back() {
    let leaderless = with(record(0), |kept| kept.leader = None);
    let last = with(record(0), |kept| {
        (kept.epoch, kept.reserved) = (Epoch(GREATEST), Epoch(GREATEST + 16));
    });
    let busy = with(record(0), |kept| kept.task = Task::new(*b"any \xff\0 bytes"));
    let emptied = with(record(0), |kept| kept.task = taken(b""));
    let left = with(record(7), |kept| kept.removed = true);
    let floored = voter().kept.durable.vote.map(|vote| VoterRecord { floor: Epoch(5), ..vote });
    let floored = with(voter(), |kept| kept.vote = floored);
    let met = with(voter(), |kept| kept.met = [(id(2), Incarnation(4))].into());
    for record in [record(7), leaderless, last, busy, emptied, voter(), left, floored, met] {
        assert_eq!(StoreRecord::from_json(json(&record).as_bytes()), Ok(record));
    }
}

#[test]
fn the_format_is_a_promise() {
    let one = r#"{
        "format": 1,
        "id": "00000000-0000-4000-8000-000000000001",
        "incarnation": 3, "epoch": 7, "reserved": 107,
        "leader": "00000000-0000-4000-8000-000000000002",
        "version": {"epoch": 4, "counter": 2},
        "members": [
            {"id": "00000000-0000-4000-8000-000000000001", "name": "node-1",
             "address": "127.0.0.1:7101", "role": "member"},
            {"id": "00000000-0000-4000-8000-000000000002", "name": "node-2",
             "address": "127.0.0.1:7102", "role": "witness"},
            {"id": "00000000-0000-4000-8000-000000000003", "name": "node-3",
             "address": "127.0.0.1:7103", "role": "observer"}
        ]
    }"#;
    assert_eq!(StoreRecord::from_json(one.as_bytes()), Ok(record(7)));
}

#[test]
fn every_record_ends_with_a_checksum() {
    let good = json(&record(7));
    assert!(good.contains("\"format\": 6,"), "{good}");
    assert!(good.ends_with("],\n  \"checksum\": \"04ae6082\"\n}\n"), "{good}");
}

#[test]
fn no_byte_of_a_record_can_change_unseen() {
    let busy = with(voter(), |kept| kept.task = taken(b"work"));
    let good = busy.to_json().unwrap();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            let read = StoreRecord::from_json(&bytes);
            assert!(read.is_err(), "bit {bit} of byte {at} was not missed");
        }
    }
    for cut in 0..good.len() {
        assert!(
            StoreRecord::from_json(&good[..cut]).is_err(),
            "the first {cut} bytes were believed"
        );
    }
}

#[test]
fn the_checksum_cannot_be_left_out() {
    let busy = with(voter(), |kept| kept.task = taken(b"work"));
    assert_damaged(older(&busy, 6).as_bytes(), "checksum");
    let claimed = json(&busy).replace("\"format\": 6", "\"format\": 5");
    assert_damaged(claimed.as_bytes(), "unknown field `checksum`");
}

#[test]
fn the_largest_state_is_read() {
    let member = |n: u128| Member {
        id: id(n),
        name: format!("{n:x>63}"),
        address: format!("{}{n:x>60}:65535", format!("{}.", "x".repeat(63)).repeat(3)),
        admin: Some(format!("{}{n:y>60}:65535", format!("{}.", "y".repeat(63)).repeat(3))),
        role: Role::Observer,
    };
    let mut members: Vec<Member> = (0..MOST_MEMBERS as u128).map(member).collect();
    members[0].role = Role::Member;
    let version = ListVersion { epoch: Epoch(GREATEST), counter: GREATEST };
    let removed = (1000..1000 + MOST_REMOVED as u128).map(id).collect();
    let most = Epoch(GREATEST);
    let mut largest = with(voter(), |kept| {
        (kept.epoch, kept.reserved) = (most, most);
        kept.members = Arc::new(MemberList::new(version, members).with_removed(removed));
        kept.task = Task { version, content: vec![0xff; Task::LONGEST].into() };
    });
    largest.kept.incarnation = Incarnation(GREATEST);
    let bytes = largest.to_json().unwrap();
    assert!(bytes.len() as u64 * 2 < LARGEST, "{} bytes", bytes.len());
    assert_eq!(StoreRecord::from_json(&bytes), Ok(largest));
}

#[test]
fn a_task_is_known_from_format_2_on() {
    let busy = with(record(7), |kept| kept.task = Task::new(*b"work"));
    let good = older(&busy, 2);
    assert!(good.contains("\"task\": \"d29yaw==\""), "{good}");
    assert_eq!(StoreRecord::from_json(good.as_bytes()), Ok(busy));
    let older_yet = good.replace("\"format\": 2", "\"format\": 1");
    assert_damaged(older_yet.as_bytes(), "is not known in format 1");
    assert_damaged(good.replace("d29yaw==", "d29yaw").as_bytes(), "is not base64");
    let long = STANDARD.encode(vec![0; Task::LONGEST + 1]);
    assert_damaged(good.replace("d29yaw==", &long).as_bytes(), "the most is 65536");
    assert_eq!(StoreRecord::from_json(older(&record(7), 2).as_bytes()), Ok(record(7)));
}

#[test]
fn the_version_of_a_task_is_known_from_format_5_on() {
    let record = with(voter(), |kept| kept.task = taken(b"work"));
    assert_eq!(StoreRecord::from_json(older(&record, 5).as_bytes()), Ok(record.clone()));
    let unknown = "\"task_version\" is not known in format 4";
    assert_damaged(older(&record, 4).as_bytes(), unknown);
}

#[test]
fn a_changed_list_is_known_from_format_4_on() {
    let mut members: Vec<Member> = record(7).kept.durable.members.iter().cloned().collect();
    members[1].admin = Some("127.0.0.1:7202".into());
    let unchanged = MemberList::new(ListVersion::default(), members.clone());
    let unchanged = json(&with(record(7), |kept| kept.members = unchanged.into()));
    assert!(!unchanged.contains("7202"), "the file says more: {unchanged}");
    let list = MemberList::new(record(7).kept.durable.members.version(), members)
        .with_removed(vec![id(9)]);
    let changed = with(record(7), |kept| kept.members = list.into());
    assert_eq!(StoreRecord::from_json(json(&changed).as_bytes()), Ok(changed.clone()));
    assert_eq!(StoreRecord::from_json(older(&changed, 4).as_bytes()), Ok(changed.clone()));
    assert_damaged(older(&changed, 3).as_bytes(), "are not known in format 3");
}

#[test]
fn a_vote_is_known_from_format_3_on() {
    let good = older(&voter(), 3);
    assert!(good.contains("400000000"), "{good}");
    assert_eq!(StoreRecord::from_json(good.as_bytes()), Ok(voter()));
    let bound = good.replace("400000000", &u64::MAX.to_string());
    assert_damaged(bound.as_bytes(), "is longer than any promise");
    for format in [1, 2] {
        assert_damaged(older(&voter(), format).as_bytes(), "is not known in format");
    }
}

#[test]
fn members_obey_the_bounds_of_the_configuration() {
    let good = older(&record(7), 5);
    for (from, to, expected) in [
        ("\"node-3\"", "\"node-2\"", "its name is that of another member"),
        ("\"node-3\"", "\"no\\u0000de\"", "is not a name"),
        ("\"127.0.0.1:7103\"", "\"127.0.0.1\"", "has no port"),
        ("-4000-8000-000000000003", "-1000-8000-000000000003", "is not a version 4 UUID"),
        ("\"role\": \"member\"", "\"role\": \"witness\"", "no member may lead"),
    ] {
        assert!(good.contains(from), "{from} is not in {good}");
        assert_damaged(good.replace(from, to).as_bytes(), expected);
    }
}

fn assert_damaged(bytes: &[u8], expected: &str) {
    match StoreRecord::from_json(bytes) {
        Err(Unfit::Damaged(reason)) => assert!(reason.contains(expected), "{reason}"),
        other => panic!("expected {expected}, got {other:?}"),
    }
}

#[test]
fn a_wrong_document_is_damage() {
    let good = older(&record(7), 5);
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
    let good = older(&record(7), 5);
    let table = [
        ("\"format\": 5", "\"format\": 0", "no format 0"),
        ("\"epoch\": 7", "\"epoch\": \"7\"", "invalid type"),
        ("\"epoch\": 7", "\"epoch\": -7", "invalid value"),
        (
            "\"epoch\": 7,\n  \"reserved\": 107",
            "\"epoch\": 9223372036854775807, \"reserved\": 9223372036854775807",
            "is beyond",
        ),
        ("\"incarnation\": 3", "\"incarnation\": 9223372036854775807", "is beyond"),
        ("\"reserved\": 107", "\"reserved\": 6", "below \"epoch\""),
        ("\"incarnation\": 3,", "", "missing field `incarnation`"),
        ("\"incarnation\"", "\"reincarnation\"", "unknown field"),
        ("-000000000002", "-00000000000x", "UUID"),
        ("-000000000003", "-000000000002", "its id is that of another member"),
        ("\"witness\"", "\"bystander\"", "unknown variant"),
    ];
    for (from, to, expected) in table {
        assert!(good.contains(from), "{from} is not in {good}");
        assert_damaged(good.replace(from, to).as_bytes(), expected);
    }
}

/// The last of each that is taken; what is beyond it is below.
#[test]
fn each_number_may_be_the_greatest() {
    let epoch = Epoch(GREATEST);
    let voted = Some(Vote { epoch, candidate: id(3) });
    let (promised, forgot) = (Timing::LONGEST, Epoch(2 * GREATEST));
    let (informed, behind, floor) = (true, true, epoch);
    let vote = VoterRecord { voted, promised, informed, floor, forgot, behind };
    let version = TaskVersion { epoch, counter: GREATEST };
    let pause = Pause {
        version: Version { epoch, counter: GREATEST },
        since: GREATEST,
        until: Some(GREATEST),
        paused: true,
    };
    let reason = "x".repeat(Drain::LONGEST);
    let mut greatest = with(record(GREATEST), |kept| {
        kept.reserved = Epoch(2 * GREATEST);
        kept.vote = Some(vote);
        kept.task = Task { version, content: vec![7; Task::LONGEST].into() };
        kept.drain = Some(Drain { since: GREATEST, until: Some(GREATEST), reason });
        kept.pause = pause;
        kept.met = vec![(id(2), Incarnation(GREATEST)); MOST_MEMBERS].into();
    });
    greatest.kept.incarnation = Incarnation(GREATEST);
    assert_eq!(StoreRecord::from_json(json(&greatest).as_bytes()), Ok(greatest));
}

#[test]
fn no_number_leaves_none_above_it() {
    let (floor, forgot) = (Epoch(GREATEST + 1), Epoch(2 * GREATEST + 1));
    let vote = |vote: VoterRecord| with(record(7), |kept| kept.vote = Some(vote));
    let voted = Some(Vote { epoch: floor, candidate: id(3) });
    let version = TaskVersion { epoch: Epoch(1), counter: GREATEST + 1 };
    let drain = |since, until| Some(Drain { since, until, ..Drain::default() });
    let paused = |epoch, counter, since, until| {
        let version = Version { epoch: Epoch(epoch), counter };
        with(record(7), |kept| kept.pause = Pause { version, paused: true, since, until })
    };
    let long = Timing::LONGEST + Duration::from_nanos(1);
    let mut restarted = record(7);
    restarted.kept.incarnation = Incarnation(GREATEST + 1);
    for (key, record) in [
        ("epoch", record(GREATEST + 1)),
        ("incarnation", restarted),
        ("promised_ns", vote(VoterRecord { promised: long, ..VoterRecord::default() })),
        ("met", with(record(7), |kept| kept.met = [(id(2), Incarnation(GREATEST + 1))].into())),
        ("pause", paused(GREATEST + 1, 1, 5, None)),
        ("pause", paused(7, GREATEST + 1, 5, None)),
        ("pause", paused(7, 1, GREATEST + 1, None)),
        ("pause", paused(7, 1, 5, Some(GREATEST + 1))),
        ("drain", with(record(7), |kept| kept.drain = drain(5, Some(GREATEST + 1)))),
        ("floor", vote(VoterRecord { floor, ..VoterRecord::default() })),
        ("forgot", vote(VoterRecord { forgot, ..VoterRecord::default() })),
        ("granted", vote(VoterRecord { voted, ..VoterRecord::default() })),
        ("task_version", with(record(7), |kept| kept.task = Task { version, ..Task::default() })),
        ("reserved", with(record(7), |kept| kept.reserved = Epoch(2 * GREATEST + 1))),
        ("drain", with(record(7), |kept| kept.drain = drain(GREATEST + 1, None))),
    ] {
        assert_damaged(json(&record).as_bytes(), &format!("\"{key}\": "));
    }
    let met = vec![(id(2), Incarnation(1)); MOST_MEMBERS + 1].into();
    assert_damaged(
        json(&with(record(7), |kept| kept.met = met)).as_bytes(),
        "\"met\": it has 65 entries",
    );
}

#[test]
fn what_is_said_of_damage_is_one_short_line() {
    let wrong = json(&record(7)).replace("\"witness\"", &format!("\"{}\"", "\\u0000".repeat(9999)));
    let wrong = wrong.replace("\"format\": 6", "\"format\": 5");
    let Err(Unfit::Damaged(why)) = StoreRecord::from_json(wrong.as_bytes()) else {
        panic!("{wrong}")
    };
    assert!(why.len() < 1000 && !why.contains(char::is_control), "{why:?}");
}

#[test]
fn bytes_that_are_no_utf8_are_damage() {
    let mut bytes = record(7).to_json().unwrap();
    let at = bytes.windows(6).position(|window| window == b"node-3").unwrap();
    bytes[at] = 0xff;
    assert!(matches!(StoreRecord::from_json(&bytes), Err(Unfit::Damaged(_))));
}

#[test]
fn a_newer_format_is_not_taken_for_damage() {
    let newer = br#"{"format": 10, "id": 17, "epochs": {}}"#;
    assert_eq!(StoreRecord::from_json(newer), Err(Unfit::Newer(10)));
}

#[test]
fn a_drained_member_is_written_in_a_format_that_an_older_electd_refuses() {
    let drain = Drain { since: 5, until: Some(9), reason: "new disk".to_owned() };
    let drained = with(record(7), |kept| kept.drain = Some(drain));
    let text = json(&drained);
    assert!(text.contains("\"format\": 7"), "{text}");
    assert_eq!(StoreRecord::from_json(text.as_bytes()), Ok(drained.clone()));
    assert!(json(&record(7)).contains("\"format\": 6"));
    assert_damaged(older(&drained, 5).as_bytes(), "it is not known in format 5");

    let reason = "x".repeat(Drain::LONGEST + 1);
    let wordy = with(record(7), |kept| kept.drain = Some(Drain { reason, ..Drain::default() }));
    assert!(matches!(StoreRecord::from_json(json(&wordy).as_bytes()), Err(Unfit::Damaged(_))));
}

#[test]
fn a_record_that_reserves_too_little_stays_readable() {
    let record = with(record(7), |kept| kept.reserved = Epoch(3));
    let read = StoreRecord::from_json(json(&record).as_bytes()).unwrap();
    assert_eq!(read.kept.durable.reserved, Epoch(7));
}

#[test]
fn a_pause_is_written_in_a_format_that_an_older_electd_refuses_and_so_is_its_end() {
    let version = Version { epoch: Epoch(7), counter: 1 };
    let paused = Pause { version, paused: true, since: 5, until: Some(9) };
    let resumed = Pause { paused: false, since: 0, until: None, ..paused };
    for (pause, drain) in [(paused, None), (resumed, None), (paused, Some(Drain::default()))] {
        let record = with(record(7), |kept| (kept.pause, kept.drain) = (pause, drain));
        assert_damaged(older(&record, 5).as_bytes(), "is not known in format 5");
        let text = json(&record);
        assert!(text.contains("\"format\": 8"), "{text}");
        assert_eq!(StoreRecord::from_json(text.as_bytes()), Ok(record));
    }
    let beyond = with(record(7), |kept| kept.pause = Pause { since: u64::MAX, ..paused });
    assert!(matches!(StoreRecord::from_json(json(&beyond).as_bytes()), Err(Unfit::Damaged(_))));
}
