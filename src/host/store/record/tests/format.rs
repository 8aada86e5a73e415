//! The state file as text, which every later electd has to read.

use super::*;

/// A record in which each value is another.
fn full() -> StoreRecord {
    let version = ListVersion { epoch: Epoch(4), counter: 2 };
    let member = |n: u128, role, admin: Option<&str>| Member {
        id: id(n),
        name: format!("node-{n}"),
        address: format!("10.0.0.{n}:7100"),
        admin: admin.map(str::to_owned),
        role,
    };
    let members = vec![
        member(1, Role::Member, Some("10.0.0.1:7200")),
        member(2, Role::Witness, None),
        member(3, Role::Observer, None),
    ];
    let durable = Durable {
        epoch: Epoch(20),
        reserved: Epoch(30),
        leader: Some(id(2)),
        members: Arc::new(MemberList::new(version, members).with_removed(vec![id(8), id(9)])),
        task: Task {
            version: TaskVersion { epoch: Epoch(6), counter: 7 },
            content: (*b"work").into(),
        },
        vote: Some(VoterRecord {
            voted: Some(Vote { epoch: Epoch(19), candidate: id(3) }),
            promised: Duration::from_millis(400),
            informed: true,
            floor: Epoch(12),
            forgot: Epoch(18),
            behind: true,
        }),
        removed: true,
        met: vec![(id(2), Incarnation(14)), (id(3), Incarnation(15))].into(),
        drain: Some(Drain { since: 50, until: Some(60), reason: "new disk".to_owned() }),
        pause: Pause {
            version: Version { epoch: Epoch(16), counter: 17 },
            paused: true,
            since: 70,
            until: Some(80),
        },
    };
    StoreRecord { id: id(1), kept: KeptState { incarnation: Incarnation(5), durable } }
}

const FULL: &str = r#"{
  "format": 9,
  "id": "00000000-0000-4000-8000-000000000001",
  "incarnation": 5,
  "epoch": 20,
  "reserved": 30,
  "leader": "00000000-0000-4000-8000-000000000002",
  "version": {
    "epoch": 4,
    "counter": 2
  },
  "members": [
    {
      "id": "00000000-0000-4000-8000-000000000001",
      "name": "node-1",
      "address": "10.0.0.1:7100",
      "admin": "10.0.0.1:7200",
      "role": "member"
    },
    {
      "id": "00000000-0000-4000-8000-000000000002",
      "name": "node-2",
      "address": "10.0.0.2:7100",
      "role": "witness"
    },
    {
      "id": "00000000-0000-4000-8000-000000000003",
      "name": "node-3",
      "address": "10.0.0.3:7100",
      "role": "observer"
    }
  ],
  "removed": [
    "00000000-0000-4000-8000-000000000008",
    "00000000-0000-4000-8000-000000000009"
  ],
  "left": true,
  "met": [
    [
      "00000000-0000-4000-8000-000000000002",
      14
    ],
    [
      "00000000-0000-4000-8000-000000000003",
      15
    ]
  ],
  "vote": {
    "granted": [
      19,
      "00000000-0000-4000-8000-000000000003"
    ],
    "promised_ns": 400000000,
    "informed": true,
    "floor": 12,
    "forgot": 18,
    "behind": true
  },
  "drain": {
    "since": 50,
    "until": 60,
    "reason": "new disk"
  },
  "pause": {
    "version": {
      "epoch": 16,
      "counter": 17
    },
    "paused": true,
    "since": 70,
    "until": 80
  },
  "task": "d29yaw==",
  "task_version": {
    "epoch": 6,
    "counter": 7
  }"#;

#[test]
fn the_text_of_a_record_is_a_promise() {
    let seal = format!(",\n  \"checksum\": \"{:08x}\"\n}}\n", crc32fast::hash(FULL.as_bytes()));
    assert_eq!(json(&full()), [FULL, &seal].concat());
    assert_eq!(StoreRecord::from_json([FULL, &seal].concat().as_bytes()), Ok(full()));
}

/// As after an orderly stop.
fn stopped(vote: VoterRecord) -> VoterRecord {
    VoterRecord { behind: false, ..vote }
}

/// As of a voter that knows nothing yet, or of the end of a pause.
#[test]
fn what_is_not_there_is_not_taken_for_what_is() {
    for change in [
        |kept: &mut Durable| kept.vote = Some(VoterRecord::default()),
        |kept: &mut Durable| kept.vote = kept.vote.map(stopped),
        |kept: &mut Durable| {
            let drain = kept.drain.take();
            kept.drain = drain.map(|drain| Drain { until: None, ..drain });
        },
        |kept: &mut Durable| kept.pause = Pause { paused: false, until: None, ..kept.pause },
        |kept: &mut Durable| kept.leader = None,
        |kept: &mut Durable| kept.removed = false,
    ] {
        let record = with(full(), change);
        assert_eq!(StoreRecord::from_json(json(&record).as_bytes()), Ok(record));
    }
}

/// Whoever wrote it did not know these keys, so that something else put them there.
#[test]
fn each_key_is_known_from_its_format_on() {
    let plain = with(full(), |kept| {
        let members = kept.members.iter().cloned().map(|member| Member { admin: None, ..member });
        let members = MemberList::new(kept.members.version(), members.collect());
        *kept = Durable {
            epoch: kept.epoch,
            reserved: kept.reserved,
            members: Arc::new(members),
            ..Durable::default()
        };
    });
    let list = |changed: Option<Vec<NodeId>>| {
        let members = plain.kept.durable.members.iter().cloned().map(|member| Member {
            admin: changed.is_none().then(|| format!("{}:7200", member.name)),
            ..member
        });
        let version = plain.kept.durable.members.version();
        let removed = changed.clone().unwrap_or_default();
        Arc::new(MemberList::new(version, members.collect()).with_removed(removed))
    };
    let of_full = full().kept.durable;
    let crashed = of_full.vote;
    let whole = crashed.map(|vote| VoterRecord { forgot: Epoch(0), ..stopped(vote) });
    for (first, words, record) in [
        (2, "\"task\" is", with(plain.clone(), |kept| kept.task = Task::new(*b"work"))),
        (3, "\"vote\" is", with(plain.clone(), |kept| kept.vote = whole)),
        (4, "\"admin\" and \"removed\" are", with(plain.clone(), |kept| kept.members = list(None))),
        (
            4,
            "\"admin\" and \"removed\" are",
            with(plain.clone(), |kept| kept.members = list(Some(vec![id(9)]))),
        ),
        (5, "\"task_version\" is", with(plain.clone(), |kept| kept.task = taken(b""))),
        (7, "\"drain\": it is", with(plain.clone(), |kept| kept.drain = of_full.drain)),
        (8, "\"pause\": it is", with(plain.clone(), |kept| kept.pause = of_full.pause)),
        (9, "\"behind\" and \"forgot\" are", with(plain.clone(), |kept| kept.vote = crashed)),
        (
            9,
            "\"behind\" and \"forgot\" are",
            with(plain.clone(), |kept| kept.vote = crashed.map(stopped)),
        ),
    ] {
        let of_format = |format| {
            let text = older(&record, format);
            let text = text.trim_end().as_bytes().to_vec();
            StoreRecord::from_json(&if format < CHECKED { text } else { sealed(text) })
        };
        let why = format!("{words} not known in format {}", first - 1);
        assert_eq!(of_format(first - 1), Err(Unfit::Damaged(why)));
        assert_eq!(of_format(first), Ok(record.clone()));
    }
}

#[test]
fn what_is_beyond_its_bound_is_told_with_the_bound() {
    let vote = |promised| VoterRecord { promised, ..VoterRecord::default() };
    let promised = Timing::LONGEST + Duration::from_nanos(1);
    for (record, why) in [
        (
            with(full(), |kept| kept.task.content = vec![7; 65_537].into()),
            "\"task\" has 65537 bytes; the most is 65536",
        ),
        (
            with(full(), |kept| {
                kept.drain = Some(Drain { reason: "x".repeat(201), ..Drain::default() });
            }),
            "\"drain\": its reason has 201 bytes; the most is 200",
        ),
        (
            with(full(), |kept| kept.drain = Some(Drain { since: 1 << 63, ..Drain::default() })),
            "\"drain\": 9223372036854775808 is beyond 4611686018427387904",
        ),
        (
            with(full(), |kept| kept.pause.since = 1 << 63),
            "\"pause\": 9223372036854775808 is beyond 4611686018427387904",
        ),
        (
            with(full(), |kept| kept.vote = Some(vote(promised))),
            "\"promised_ns\": 86400000000001 is longer than any promise, 86400s",
        ),
        (
            with(full(), |kept| kept.met = vec![(id(2), Incarnation(1)); 65].into()),
            "\"met\": it has 65 entries; the most is 64",
        ),
        (
            with(full(), |kept| (kept.epoch, kept.reserved) = (Epoch(1 << 63), Epoch(1 << 63))),
            "\"epoch\": 9223372036854775808 is beyond 4611686018427387904",
        ),
        (
            with(full(), |kept| kept.reserved = Epoch((1 << 63) + 1)),
            "\"reserved\": 9223372036854775809 is beyond 9223372036854775808",
        ),
    ] {
        assert_eq!(
            StoreRecord::from_json(json(&record).as_bytes()),
            Err(Unfit::Damaged(why.to_owned()))
        );
    }
    let less = older(&record(7), 5).replace("\"reserved\": 107", "\"reserved\": 6");
    let why = "\"reserved\" is 6, below \"epoch\", which is 7".to_owned();
    assert_eq!(StoreRecord::from_json(less.as_bytes()), Err(Unfit::Damaged(why)));
    let cut = json(&full()).replace("work", "").replace("d29yaw==", "d29yaw=");
    let why =
        "its checksum does not fit its content: some byte is not what electd wrote".to_owned();
    assert_eq!(StoreRecord::from_json(cut.as_bytes()), Err(Unfit::Damaged(why)));
}

#[test]
fn of_a_long_reason_200_characters_are_told() {
    let odd = older(&record(7), 5).replace("\"witness\"", &format!("\"{}\"", "w".repeat(9999)));
    let Err(Unfit::Damaged(why)) = StoreRecord::from_json(odd.as_bytes()) else { panic!("{odd}") };
    assert_eq!(why.chars().count(), 200 + "...".len(), "{why}");
}
