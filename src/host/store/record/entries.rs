//! The parts of a state file that represent types of the core.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::core::membership::Member;
use crate::core::types::{Drain, Epoch, NodeId, Pause, Role, Version};
use crate::limits::GREATEST;

/// The first format that knows of drains.
pub(super) const DRAINS: u64 = 7;
/// The first format that knows of pauses.
pub(super) const PAUSES: u64 = 8;
/// The first format that knows of voters that answer before their disks.
pub(super) const BEHIND: u64 = 9;

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionEntry {
    pub epoch: u64,
    pub counter: u64,
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
pub(super) struct MemberEntry {
    pub id: Uuid,
    name: String,
    address: String,
    /// From format 4 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<String>,
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

/// The pause of the cluster, or the end of one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PauseEntry {
    version: VersionEntry,
    paused: bool,
    /// In milliseconds since 1970, as is the end.
    since: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

impl PauseEntry {
    /// The entry of a cluster that was ever paused.
    pub fn of(pause: Pause) -> Option<PauseEntry> {
        let Pause { version, paused, since, until } = pause;
        let version = version.into();
        (pause > Pause::default()).then_some(PauseEntry { version, paused, since, until })
    }

    /// The pause, if a file of this format may hold it; else why not.
    pub fn judge(self, format: u64) -> Result<Pause, String> {
        let PauseEntry { version, paused, since, until } = self;
        if format < PAUSES {
            return Err(format!("it is not known in format {format}"));
        }
        let numbers = [version.epoch, version.counter, since, until.unwrap_or_default()];
        if let Some(number) = numbers.into_iter().find(|number| *number > GREATEST) {
            return Err(format!("{number} is beyond {GREATEST}"));
        }
        Ok(Pause { version: version.into(), paused, since, until })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DrainEntry {
    /// In milliseconds since 1970, as is the end.
    since: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    reason: String,
}

impl From<Drain> for DrainEntry {
    fn from(drain: Drain) -> DrainEntry {
        let Drain { since, until, reason } = drain;
        DrainEntry { since, until, reason }
    }
}

impl DrainEntry {
    /// The drain, if a file of this format may hold it; else why not.
    pub fn judge(self, format: u64) -> Result<Drain, String> {
        let DrainEntry { since, until, reason } = self;
        if format < DRAINS {
            return Err(format!("it is not known in format {format}"));
        }
        let (length, most) = (reason.len(), Drain::LONGEST);
        if length > most {
            return Err(format!("its reason has {length} bytes; the most is {most}"));
        }
        if let Some(number) = [Some(since), until].into_iter().flatten().find(|n| *n > GREATEST) {
            return Err(format!("{number} is beyond {GREATEST}"));
        }
        Ok(Drain { since, until, reason })
    }
}
