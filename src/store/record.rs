//! The durable state of a member, and its JSON form.
//!
//! The types of the file are apart from those of the core, so that neither binds the other. A
//! change of the file's meaning takes a new number in `format`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::tenure::{Grant, Vote};
use crate::core::types::{Epoch, Incarnation, NodeId, Role, Task};

/// The newest format of the state file that this electd reads.
///
/// Format 2 may hold a task, which format 1 does not know; format 3 what a voter granted; format 4
/// a member list that was changed, with admin addresses and those that were removed. Each record is
/// written in the least format that can hold it, so that an older electd still reads a state
/// without a task, and calls one with a task newer rather than damaged. A list that never changed
/// is that of the config file, which says more.
pub const FORMAT: u64 = 4;

/// What a member must not forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose state this is.
    pub id: NodeId,
    /// The number of its latest start.
    pub incarnation: Incarnation,
    /// The greatest epoch that it knew.
    pub epoch: Epoch,
    /// It may have used any round up to this one without writing it down; never below `epoch`.
    pub reserved: Epoch,
    /// The last leader that it named.
    pub leader: Option<NodeId>,
    /// With a majority: what it must not forget as a voter.
    pub vote: Option<Vote>,
    /// The member list.
    pub members: MemberList,
    /// The task that a coordinator handed out last; empty where none did.
    pub task: Task,
}

/// Why bytes are not a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// They are not what electd wrote; the reason in words.
    Damaged(String),
    /// Their format is newer than [`FORMAT`].
    Newer(u64),
}

impl Record {
    /// The content of the state file.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut json = serde_json::to_vec_pretty(&StateFile::from(self))?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the content of a state file, and believes it only if all of it makes sense.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Record, Unfit> {
        let damaged = |error: serde_json::Error| Unfit::Damaged(error.to_string());
        if bytes.is_empty() {
            return Err(Unfit::Damaged("it is empty".to_string()));
        }
        // The format first: the rest of a newer one may look like damage.
        let AnyFormat { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        match format {
            1..=FORMAT => serde_json::from_slice::<StateFile>(bytes).map_err(damaged)?.try_into(),
            newer if newer > FORMAT => Err(Unfit::Newer(newer)),
            unknown => Err(Unfit::Damaged(format!("there is no format {unknown}"))),
        }
    }
}

/// The one key that every format has.
#[derive(Deserialize)]
struct AnyFormat {
    format: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateFile {
    format: u64,
    id: Uuid,
    incarnation: u64,
    epoch: u64,
    reserved: u64,
    leader: Option<Uuid>,
    version: VersionEntry,
    members: Vec<MemberEntry>,
    /// From format 4 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<Uuid>,
    /// From format 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vote: Option<VoteEntry>,
    /// In base64; from format 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionEntry {
    epoch: u64,
    counter: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VoteEntry {
    granted: Option<(u64, Uuid)>,
    promised_ns: u64,
    informed: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberEntry {
    id: Uuid,
    name: String,
    address: String,
    /// From format 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admin: Option<String>,
    #[serde(with = "RoleWord")]
    role: Role,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Role", rename_all = "lowercase")]
enum RoleWord {
    Member,
    Witness,
    Observer,
}

impl From<&Record> for StateFile {
    fn from(record: &Record) -> StateFile {
        let version = record.members.version();
        let task = Some(&record.task.0).filter(|task| !task.is_empty());
        let vote = record.vote.map(|vote| VoteEntry {
            granted: vote.granted.map(|grant| (grant.epoch.0, grant.nominee.0)),
            promised_ns: u64::try_from(vote.promised.as_nanos()).unwrap_or(u64::MAX),
            informed: vote.informed,
        });
        let changed = version > ListVersion::default();
        let mut members: Vec<MemberEntry> = record.members.iter().map(MemberEntry::from).collect();
        if !changed {
            members.iter_mut().for_each(|member| member.admin = None);
        }
        let removed: Vec<Uuid> = record.members.removed().iter().map(|id| id.0).collect();
        let addresses = members.iter().any(|member| member.admin.is_some());
        StateFile {
            format: match (vote.is_some(), task.is_some()) {
                _ if addresses || !removed.is_empty() => 4,
                (true, _) => 3,
                (false, true) => 2,
                (false, false) => 1,
            },
            id: record.id.0,
            incarnation: record.incarnation.0,
            epoch: record.epoch.0,
            // Reserving more is always safe; a file that reserves less would be refused for ever.
            reserved: record.reserved.max(record.epoch).0,
            leader: record.leader.map(|id| id.0),
            version: VersionEntry { epoch: version.epoch.0, counter: version.counter },
            members,
            removed,
            vote,
            task: task.map(|task| STANDARD.encode(task)),
        }
    }
}

impl TryFrom<StateFile> for Record {
    type Error = Unfit;

    fn try_from(file: StateFile) -> Result<Record, Unfit> {
        if file.reserved < file.epoch {
            return Err(Unfit::Damaged(format!(
                "\"reserved\" is {}, below \"epoch\", which is {}",
                file.reserved, file.epoch
            )));
        }
        let task = task(file.format, file.task)?;
        let vote = vote(file.format, file.vote)?;
        let count = file.members.len();
        let version =
            ListVersion { epoch: Epoch(file.version.epoch), counter: file.version.counter };
        if file.format < 4
            && (!file.removed.is_empty()
                || file.members.iter().any(|member| member.admin.is_some()))
        {
            let reason =
                format!("\"admin\" and \"removed\" are not known in format {}", file.format);
            return Err(Unfit::Damaged(reason));
        }
        let members = MemberList::new(version, file.members.into_iter().map(Into::into).collect())
            .with_removed(file.removed.into_iter().map(NodeId).collect());
        let mut ids: Vec<NodeId> = members.iter().map(|member| member.id).collect();
        ids.dedup();
        if ids.len() < count {
            return Err(Unfit::Damaged("\"members\" holds an id twice".to_string()));
        }
        Ok(Record {
            id: NodeId(file.id),
            incarnation: Incarnation(file.incarnation),
            epoch: Epoch(file.epoch),
            reserved: Epoch(file.reserved),
            leader: file.leader.map(NodeId),
            members,
            task,
            vote,
        })
    }
}

fn vote(format: u64, entry: Option<VoteEntry>) -> Result<Option<Vote>, Unfit> {
    if entry.is_some() && format < 3 {
        return Err(Unfit::Damaged(format!("\"vote\" is not known in format {format}")));
    }
    let grant = |(epoch, nominee)| Grant { epoch: Epoch(epoch), nominee: NodeId(nominee) };
    Ok(entry.map(|entry| Vote {
        granted: entry.granted.map(grant),
        promised: Duration::from_nanos(entry.promised_ns),
        informed: entry.informed,
    }))
}

fn task(format: u64, encoded: Option<String>) -> Result<Task, Unfit> {
    let Some(encoded) = encoded else { return Ok(Task::default()) };
    let damaged = |what: String| Unfit::Damaged(format!("\"task\" {what}"));
    if format < 2 {
        return Err(damaged(format!("is not known in format {format}")));
    }
    let bytes =
        STANDARD.decode(encoded).map_err(|error| damaged(format!("is not base64: {error}")))?;
    if bytes.len() > Task::LONGEST {
        return Err(damaged(format!("has {} bytes; the most is {}", bytes.len(), Task::LONGEST)));
    }
    Ok(Task(bytes.into()))
}

impl From<&Member> for MemberEntry {
    fn from(member: &Member) -> MemberEntry {
        MemberEntry {
            id: member.id.0,
            name: member.name.clone(),
            address: member.address.clone(),
            admin: member.admin.clone(),
            role: member.role,
        }
    }
}

impl From<MemberEntry> for Member {
    fn from(entry: MemberEntry) -> Member {
        let MemberEntry { id, name, address, admin, role } = entry;
        Member { id: NodeId(id), name, address, admin, role }
    }
}

#[cfg(test)]
pub(super) mod tests {
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
        let busy = Record { task: Task((*b"any \xff\0 bytes").into()), ..record(0) };
        for record in [record(7), leaderless, last, busy, voter()] {
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
        let good = json(&Record { task: Task((*b"work").into()), ..record(7) });
        assert!(
            good.contains("\"format\": 2,") && good.contains("\"task\": \"d29yaw==\""),
            "{good}"
        );
        let older = good.replace("\"format\": 2", "\"format\": 1");
        assert_damaged(older.as_bytes(), "is not known in format 1");
        assert_damaged(good.replace("d29yaw==", "d29yaw").as_bytes(), "is not base64");
        let long = STANDARD.encode(vec![0; Task::LONGEST + 1]);
        assert_damaged(good.replace("d29yaw==", &long).as_bytes(), "the most is 65536");
        let none = json(&record(7)).replace("\"format\": 1", "\"format\": 2");
        assert_eq!(Record::from_json(none.as_bytes()), Ok(record(7)));
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
        let newer = br#"{"format": 5, "id": 17, "epochs": {}}"#;
        assert_eq!(Record::from_json(newer), Err(Unfit::Newer(5)));
    }

    #[test]
    fn a_record_that_reserves_too_little_stays_readable() {
        let record = Record { reserved: Epoch(3), ..record(7) };
        let read = Record::from_json(json(&record).as_bytes()).unwrap();
        assert_eq!(read.reserved, Epoch(7));
    }
}
