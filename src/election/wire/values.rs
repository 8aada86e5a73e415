//! The JSON of the values in messages.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::bounds::{Number, at_most, bounded, bounded_if_any, hex, nanos};
use super::mirror::mirrors;
use crate::core::death;
use crate::core::membership::MOST_MEMBERS;
use crate::core::message as core;
use crate::core::types::{self, Epoch, Incarnation, NodeId};

mirrors! {
    NodeIdJson => types::NodeId,
    EpochJson => types::Epoch,
    IncarnationJson => types::Incarnation,
    Version => types::Version,
    Rank => types::Rank,
    Task => types::Task,
    Pause => types::Pause,
    Opinion => core::Opinion,
    Run => core::Run,
    Candidate => core::Candidate,
    Ballot => core::Ballot,
    Lap => core::Lap,
    View => core::View,
    MemberReport => core::MemberReport,
    Heartbeat => core::Heartbeat,
    Liveness => core::Liveness,
    Certificate => death::DeathCertificate,
    Hash => death::DeathHash,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "types::NodeId")]
struct NodeIdJson(Uuid);

#[derive(Serialize, Deserialize)]
#[serde(remote = "types::Epoch")]
struct EpochJson(#[serde(deserialize_with = "bounded")] u64);

#[derive(Serialize, Deserialize)]
#[serde(remote = "types::Incarnation")]
struct IncarnationJson(#[serde(deserialize_with = "bounded")] u64);

#[derive(Serialize, Deserialize)]
#[serde(remote = "death::DeathHash")]
struct Hash(#[serde(with = "hex")] [u8; 32]);

#[derive(Serialize, Deserialize)]
#[serde(remote = "death::Secret")]
struct Secret(#[serde(with = "hex")] [u8; 32]);

#[derive(Serialize, Deserialize)]
#[serde(remote = "death::DeathCertificate")]
struct Certificate {
    member: NodeId,
    incarnation: Incarnation,
    #[serde(with = "Secret")]
    secret: death::Secret,
}

/// The version of a member list or of a task: an epoch and a counter, without names.
struct Version;

impl Version {
    fn serialize<S: Serializer>(version: &types::Version, to: S) -> Result<S::Ok, S::Error> {
        [version.epoch.0, version.counter].serialize(to)
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<types::Version, D::Error> {
        let [epoch, counter] = <[Number; 2]>::deserialize(from)?;
        Ok(types::Version { epoch: Epoch(epoch.get()), counter: counter.get() })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "types::Rank")]
struct Rank {
    value: i64,
    id: NodeId,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "types::Task")]
struct Task {
    version: types::Version,
    #[serde(with = "content")]
    content: Arc<[u8]>,
}

/// A task description: any bytes, as base64.
mod content {
    use std::sync::Arc;

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde::de::{Deserializer, Error};
    use serde::{Deserialize, Serializer};

    use crate::core::types::Task;

    pub fn serialize<S: Serializer>(content: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(content))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
        let bytes = BASE64_STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
        if bytes.len() > Task::LONGEST {
            return Err(D::Error::custom("a task that is too long"));
        }
        Ok(bytes.into())
    }
}

/// Whether the cluster is paused; the times in milliseconds since 1970.
#[derive(Serialize, Deserialize)]
#[serde(remote = "types::Pause")]
struct Pause {
    version: types::Version,
    paused: bool,
    #[serde(rename = "since_ms", deserialize_with = "bounded")]
    since: u64,
    #[serde(rename = "until_ms", default, deserialize_with = "bounded_if_any")]
    until: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Opinion {
    Yes,
    YesIf {
        released: Epoch,
        #[serde(rename = "wait_ns", with = "nanos")]
        wait: Duration,
    },
    No {
        #[serde(rename = "wait_ns", with = "nanos")]
        wait: Duration,
        /// Whether the voter does not know the state of the cluster. Earlier versions do not say so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        uninformed: bool,
    },
}

impl Opinion {
    fn serialize<S: Serializer>(opinion: &core::Opinion, to: S) -> Result<S::Ok, S::Error> {
        let opinion = match *opinion {
            core::Opinion::Yes => Opinion::Yes,
            core::Opinion::YesIf { released, wait } => Opinion::YesIf { released, wait },
            core::Opinion::No { wait } => Opinion::No { wait, uninformed: false },
            core::Opinion::Uninformed { wait } => Opinion::No { wait, uninformed: true },
        };
        Serialize::serialize(&opinion, to)
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<core::Opinion, D::Error> {
        Ok(match Deserialize::deserialize(from)? {
            Opinion::Yes => core::Opinion::Yes,
            Opinion::YesIf { released, wait } => core::Opinion::YesIf { released, wait },
            Opinion::No { wait, uninformed: false } => core::Opinion::No { wait },
            Opinion::No { wait, uninformed: true } => core::Opinion::Uninformed { wait },
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Run")]
struct Run {
    epoch: Epoch,
    initiator: NodeId,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Candidate")]
struct Candidate {
    #[serde(rename = "stands")]
    eligible: bool,
    rank: types::Rank,
    incarnation: Incarnation,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Ballot")]
struct Ballot {
    run: core::Run,
    candidate: core::Candidate,
    hops: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Lap")]
struct Lap {
    run: core::Run,
    leader: core::Candidate,
    hops: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::View")]
struct View {
    epoch: Epoch,
    leader: Option<types::Rank>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Heartbeat")]
struct Heartbeat {
    epoch: Epoch,
    #[serde(deserialize_with = "bounded")]
    number: u64,
    rank: types::Rank,
    #[serde(rename = "lease_ns", with = "nanos")]
    lease: Duration,
    settled: types::Version,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_MEMBERS>")]
    members: Arc<[core::MemberReport]>,
    /// Earlier versions do not know pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause: Option<types::Pause>,
    /// Earlier versions do not know switchovers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chosen: Option<NodeId>,
    /// Earlier versions do not say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ending: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::MemberReport")]
struct MemberReport {
    id: NodeId,
    incarnation: Incarnation,
    status: core::Liveness,
    #[serde(rename = "stands")]
    eligible: bool,
    value: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Liveness", rename_all = "snake_case")]
enum Liveness {
    Alive,
    Suspected,
    Dead,
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde_json::Value;

    use super::*;

    /// Rule X1.
    #[test]
    fn a_task_of_64_kib_is_read_and_a_longer_one_is_not() {
        let read = |length: usize| {
            let bytes = content::deserialize(Value::from(BASE64_STANDARD.encode(vec![7; length])));
            bytes.map(|bytes| bytes.len()).map_err(|error| error.to_string())
        };
        assert_eq!(read(65_536), Ok(65_536));
        assert_eq!(read(65_537), Err("a task that is too long".to_owned()));
    }
}
