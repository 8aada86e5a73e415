//! A validated configuration.

use std::path::PathBuf;

use crate::core::settings::{AlgorithmKind, Preempt, Quorum, Timing};
use crate::core::types::{NodeId, Role};

/// The configuration of a cluster, validated as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The cluster's name.
    pub cluster: String,
    /// The guarantee.
    pub quorum: Quorum,
    /// The folder of all state; a node's own is the folder of its name in it. Paths relative to
    /// the file have been resolved.
    pub data_dir: PathBuf,
    /// The election algorithm.
    pub algorithm: AlgorithmKind,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// The timings, defaults filled in.
    pub timing: Timing,
    /// Whether a refused redial proves a death.
    pub trust_refused: bool,
    /// All members, in the order of the file.
    pub members: Vec<MemberConfig>,
    /// This process's member, where the file names it.
    pub node: Option<String>,
    /// The file with the bearer token for POST from other hosts.
    pub admin_token_file: Option<PathBuf>,
}

/// One member of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberConfig {
    /// The name for people, for the data folder and for `--node`.
    pub name: String,
    /// UUID version 4.
    pub id: NodeId,
    /// host:port that the others dial.
    pub address: String,
    /// host:port that this one binds; the address unless given.
    pub listen: String,
    /// host:port of HTTP; none is served without it.
    pub admin: Option<String>,
    /// What the member is for.
    pub role: Role,
}

impl Config {
    /// The member with this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberConfig> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The folder of a node's state.
    #[must_use]
    pub fn state_dir(&self, name: &str) -> PathBuf {
        self.data_dir.join(name)
    }
}
