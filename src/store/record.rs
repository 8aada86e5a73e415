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
use crate::core::types::{Epoch, Incarnation, NodeId, Role, Task, TaskVersion, Version};

/// The newest format of the state file that this electd reads.
///
/// Format 2 may hold a task, which format 1 does not know; format 3 what a voter granted; format 4
/// a member list that was changed, with admin addresses and those that were removed; format 5 the
/// version of a task, without which it is the least. Each record is
/// written in the least format that can hold it, so that an older electd still reads a state
/// without a task, and calls one with a task newer rather than damaged. A list that never changed
/// is that of the config file, which says more.
pub const FORMAT: u64 = 5;

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
    /// From format 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_version: Option<VersionEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionEntry {
    epoch: u64,
    counter: u64,
}

impl From<Version> for VersionEntry {
    fn from(version: Version) -> VersionEntry {
        VersionEntry { epoch: version.epoch.0, counter: version.counter }
    }
}

impl From<VersionEntry> for Version {
    fn from(entry: VersionEntry) -> Version {
        Version { epoch: Epoch(entry.epoch), counter: entry.counter }
    }
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
        let task = Some(&record.task.content).filter(|task| !task.is_empty());
        let task_version =
            Some(record.task.version).filter(|version| *version > TaskVersion::default());
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
                _ if task_version.is_some() => 5,
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
            version: version.into(),
            members,
            removed,
            vote,
            task: task.map(|task| STANDARD.encode(task)),
            task_version: task_version.map(VersionEntry::from),
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
        let task = task(file.format, file.task, file.task_version)?;
        let vote = vote(file.format, file.vote)?;
        let count = file.members.len();
        let version = ListVersion::from(file.version);
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

fn task(
    format: u64,
    encoded: Option<String>,
    version: Option<VersionEntry>,
) -> Result<Task, Unfit> {
    if version.is_some() && format < 5 {
        return Err(Unfit::Damaged(format!("\"task_version\" is not known in format {format}")));
    }
    let version = version.map(TaskVersion::from).unwrap_or_default();
    let Some(encoded) = encoded else { return Ok(Task { version, ..Task::default() }) };
    let damaged = |what: String| Unfit::Damaged(format!("\"task\" {what}"));
    if format < 2 {
        return Err(damaged(format!("is not known in format {format}")));
    }
    let bytes =
        STANDARD.decode(encoded).map_err(|error| damaged(format!("is not base64: {error}")))?;
    if bytes.len() > Task::LONGEST {
        return Err(damaged(format!("has {} bytes; the most is {}", bytes.len(), Task::LONGEST)));
    }
    Ok(Task { version, content: bytes.into() })
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
pub(super) mod tests;
