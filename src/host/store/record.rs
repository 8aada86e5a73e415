//! The durable state of a member, and its JSON form.
//!
//! The types of the file are apart from those of the core, so that neither binds the other. A
//! change of the file's meaning takes a new number in `format`.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::core::durable::{Durable, Vote, VoterRecord};
use crate::core::membership::{ListVersion, MOST_MEMBERS, MemberList};
use crate::core::restart::KeptState;
use crate::core::settings::Timing;
use crate::core::types::{Epoch, Incarnation, NodeId, Pause, Task, TaskVersion};
use crate::limits::{GREATEST, shown};

use entries::{BEHIND, DRAINS, DrainEntry, MemberEntry, PAUSES, PauseEntry, VersionEntry};

#[cfg(test)]
pub(super) use fuzz::samples;

mod entries;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;

/// The newest format of the state file that this electd reads.
///
/// Format 2 may hold a task, which format 1 does not know; format 3 how a voter voted; format 4
/// a member list that was changed, with admin addresses and those that were removed; format 5 the
/// version of a task, without which it is the least. Format 6 ends with a checksum of all that comes
/// before it, so every record is written in it at least; the older ones are still read. Format 7 is written
/// where an operator drained the member, so that no electd that knows nothing of drains lets it lead;
/// format 8 where the cluster was ever paused. A list that never changed is that of the config file, which says more.
/// In format 9 are the votes of a voter that answers before its disk: no electd that takes such a record for whole
/// may start from it. The last record of a process that stops in order is whole, in an older format.
pub const FORMAT: u64 = BEHIND;

/// The first format that ends with a checksum.
const CHECKED: u64 = 6;

/// How much is said of what is wrong, in characters: it may quote a piece of the file.
pub(super) const REASON: usize = 200;

/// The durable state of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRecord {
    /// The id of the member.
    pub id: NodeId,
    /// What the core has made durable.
    pub kept: KeptState,
}

/// Why bytes are not a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// electd did not write these bytes; the reason in words.
    Damaged(String),
    /// Their format is newer than [`FORMAT`].
    Newer(u64),
}

impl StoreRecord {
    /// The content of the state file.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        Ok(sealed(serde_json::to_vec_pretty(&StateFile::from(self))?))
    }

    /// Reads the content of a state file, and believes it only if all of it makes sense.
    pub(super) fn from_json(bytes: &[u8]) -> Result<StoreRecord, Unfit> {
        let damaged = |error: serde_json::Error| Unfit::Damaged(shown(&error.to_string(), REASON));
        if bytes.is_empty() {
            return Err(Unfit::Damaged("it is empty".to_string()));
        }
        // The format first: the rest of a newer one may look like damage.
        let AnyFormat { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        let json = match format {
            0 => return Err(Unfit::Damaged("there is no format 0".to_string())),
            1..CHECKED => Cow::Borrowed(bytes),
            CHECKED..=FORMAT => Cow::Owned(unsealed(bytes)?),
            newer => return Err(Unfit::Newer(newer)),
        };
        serde_json::from_slice::<StateFile>(&json).map_err(damaged)?.try_into()
    }
}

/// How the JSON of a record ends.
pub(super) const END: &[u8] = b"\n}";

/// Adds the checksum as the last key of a record.
pub(super) fn sealed(mut json: Vec<u8>) -> Vec<u8> {
    json.truncate(json.len() - END.len());
    let seal = seal(&json);
    json.extend(seal);
    json
}

/// The end of a state file, after these bytes: their checksum (CRC-32 in hex), and the closing. Its
/// length is always the same.
fn seal(bytes: &[u8]) -> Vec<u8> {
    format!(",\n  \"checksum\": \"{:08x}\"\n}}\n", crc32fast::hash(bytes)).into_bytes()
}

/// Takes the checksum off again, if it is right. No byte of the file may differ.
pub(super) fn unsealed(bytes: &[u8]) -> Result<Vec<u8>, Unfit> {
    let start = bytes.len().saturating_sub(seal(&[]).len());
    let (json, found) = bytes.split_at(start);
    if found != seal(json) {
        let what = "its checksum does not fit its content: some byte is not what electd wrote";
        return Err(Unfit::Damaged(what.to_string()));
    }
    Ok([json, END].concat())
}

/// The one key that every format has.
#[derive(Deserialize)]
pub(super) struct AnyFormat {
    pub format: u64,
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
    /// Whether this member itself was removed; from format 6 on.
    #[serde(default, skip_serializing_if = "is_false")]
    left: bool,
    /// The peers' incarnations; from format 6 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    met: Vec<(Uuid, u64)>,
    /// From format 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vote: Option<VoteEntry>,
    /// From format 7 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drain: Option<DrainEntry>,
    /// From format 8 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause: Option<PauseEntry>,
    /// In base64; from format 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// From format 5 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_version: Option<VersionEntry>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VoteEntry {
    #[serde(rename = "granted")]
    voted: Option<(u64, Uuid)>,
    promised_ns: u64,
    informed: bool,
    /// From format 6 on.
    #[serde(default, skip_serializing_if = "is_zero")]
    floor: u64,
    /// From format 9 on.
    #[serde(default, skip_serializing_if = "is_zero")]
    forgot: u64,
    /// From format 9 on.
    #[serde(default, skip_serializing_if = "is_false")]
    behind: bool,
}

impl VoteEntry {
    /// Whether it says something that no format before 9 can say.
    fn knows_crashes(&self) -> bool {
        self.behind || self.forgot > 0
    }
}

/// Values that most members have are not written.
fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl From<&StoreRecord> for StateFile {
    fn from(record: &StoreRecord) -> StateFile {
        let KeptState { incarnation, durable } = &record.kept;
        let version = durable.members.version();
        let task = Some(&durable.task.content).filter(|task| !task.is_empty());
        let task_version =
            Some(durable.task.version).filter(|version| *version > TaskVersion::default());
        let vote = durable.vote.map(|vote| VoteEntry {
            voted: vote.voted.map(|vote| (vote.epoch.0, vote.candidate.0)),
            promised_ns: u64::try_from(vote.promised.as_nanos()).unwrap_or(u64::MAX),
            informed: vote.informed,
            floor: vote.floor.0,
            forgot: vote.forgot.0,
            behind: vote.behind,
        });
        let changed = version > ListVersion::default();
        let mut members: Vec<MemberEntry> = durable.members.iter().map(MemberEntry::from).collect();
        if !changed {
            members.iter_mut().for_each(|member| member.admin = None);
        }
        StateFile {
            format: match (durable.pause > Pause::default(), &durable.drain) {
                _ if vote.is_some_and(|vote| vote.knows_crashes()) => BEHIND,
                (true, _) => PAUSES,
                (false, Some(_)) => DRAINS,
                (false, None) => CHECKED,
            },
            id: record.id.0,
            incarnation: incarnation.0,
            epoch: durable.epoch.0,
            // Reserving more is always safe; a file that reserves less would be refused at every start.
            reserved: durable.reserved.max(durable.epoch).0,
            leader: durable.leader.map(|id| id.0),
            version: version.into(),
            members,
            removed: durable.members.removed().iter().map(|id| id.0).collect(),
            left: durable.removed,
            met: durable.met.iter().map(|(id, incarnation)| (id.0, incarnation.0)).collect(),
            vote,
            drain: durable.drain.clone().map(DrainEntry::from),
            pause: PauseEntry::of(durable.pause),
            task: task.map(|task| STANDARD.encode(task)),
            task_version: task_version.map(VersionEntry::from),
        }
    }
}

impl TryFrom<StateFile> for StoreRecord {
    type Error = Unfit;

    fn try_from(file: StateFile) -> Result<StoreRecord, Unfit> {
        if file.reserved < file.epoch {
            return Err(Unfit::Damaged(format!(
                "\"reserved\" is {}, below \"epoch\", which is {}",
                file.reserved, file.epoch
            )));
        }
        for (key, number) in file.numbers() {
            // Each start reserves some beyond what the last one did.
            let most = if matches!(key, "reserved" | "forgot") { 2 * GREATEST } else { GREATEST };
            if number > most {
                return Err(damaged(key, format!("{number} is beyond {most}")));
            }
        }
        if file.met.len() > MOST_MEMBERS {
            let what = format!("it has {} entries; the most is {MOST_MEMBERS}", file.met.len());
            return Err(damaged("met", what));
        }
        let task = task(file.format, file.task, file.task_version)?;
        let vote = vote(file.format, file.vote)?;
        let drain = file.drain.map(|entry| entry.judge(file.format)).transpose();
        let drain = drain.map_err(|what| damaged("drain", what))?;
        let pause = file.pause.map(|entry| entry.judge(file.format)).transpose();
        let pause = pause.map_err(|what| damaged("pause", what))?.unwrap_or_default();
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
        members.judge().map_err(|error| damaged("members", error))?;
        let durable = Durable {
            epoch: Epoch(file.epoch),
            reserved: Epoch(file.reserved),
            leader: file.leader.map(NodeId),
            members: Arc::new(members),
            task,
            vote,
            removed: file.left,
            met: file.met.iter().map(|(id, number)| (NodeId(*id), Incarnation(*number))).collect(),
            drain,
            pause,
        };
        let incarnation = Incarnation(file.incarnation);
        Ok(StoreRecord { id: NodeId(file.id), kept: KeptState { incarnation, durable } })
    }
}

impl StateFile {
    /// All epochs, incarnations and counters with their keys, but for those that are judged with what they belong to.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let VersionEntry { epoch, counter } = self.task_version.unwrap_or_default();
        let voted = self.vote.and_then(|vote| vote.voted).map(|(epoch, _)| epoch);
        let numbers = [
            ("incarnation", self.incarnation),
            ("epoch", self.epoch),
            ("reserved", self.reserved),
            ("granted", voted.unwrap_or_default()),
            ("floor", self.vote.map(|vote| vote.floor).unwrap_or_default()),
            ("forgot", self.vote.map(|vote| vote.forgot).unwrap_or_default()),
            ("task_version", epoch.max(counter)),
        ];
        numbers.into_iter().chain(self.met.iter().map(|(_, number)| ("met", *number)))
    }
}

/// The error in the value of a key.
fn damaged(key: &str, what: impl Display) -> Unfit {
    Unfit::Damaged(format!("\"{key}\": {what}"))
}

fn vote(format: u64, entry: Option<VoteEntry>) -> Result<Option<VoterRecord>, Unfit> {
    if entry.is_some() && format < 3 {
        return Err(Unfit::Damaged(format!("\"vote\" is not known in format {format}")));
    }
    if format < BEHIND && entry.is_some_and(|entry| entry.knows_crashes()) {
        let what = format!("\"behind\" and \"forgot\" are not known in format {format}");
        return Err(Unfit::Damaged(what));
    }
    if let Some(VoteEntry { promised_ns, .. }) = entry
        && Duration::from_nanos(promised_ns) > Timing::LONGEST
    {
        let what = format!("{promised_ns} is longer than any promise, {:?}", Timing::LONGEST);
        return Err(damaged("promised_ns", what));
    }
    let voted = |(epoch, candidate)| Vote { epoch: Epoch(epoch), candidate: NodeId(candidate) };
    Ok(entry.map(|entry| VoterRecord {
        voted: entry.voted.map(voted),
        promised: Duration::from_nanos(entry.promised_ns),
        informed: entry.informed,
        floor: Epoch(entry.floor),
        forgot: Epoch(entry.forgot),
        behind: entry.behind,
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

#[cfg(test)]
mod tests;
