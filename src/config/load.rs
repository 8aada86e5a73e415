//! A stand-in: reads a valid file, and says little about others. The room's own reader replaces it.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::types::{Config, MemberConfig};
use crate::core::settings::{AlgorithmKind, Preempt, Quorum, Timing};
use crate::core::types::{NodeId, Role};

/// What is wrong with a file.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConfigErrors(String);

/// No member fits this process.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct NodeNameError(String);

/// Reads a configuration file.
///
/// # Errors
/// When it cannot be read.
pub fn load(path: &Path) -> Result<Config, ConfigErrors> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigErrors(format!("{}: cannot be read: {error}", path.display())))?;
    let root: Value = serde_json::from_str(&text)
        .map_err(|error| ConfigErrors(format!("{}: {error}", path.display())))?;
    let members = root["members"]
        .as_array()
        .into_iter()
        .flatten()
        .map(member)
        .collect();
    let failure = Duration::from_millis(500);
    Ok(Config {
        cluster: text_of(&root["cluster"]).unwrap_or_default(),
        quorum: Quorum::None,
        data_dir: text_of(&root["data_dir"]).unwrap_or_default().into(),
        algorithm: AlgorithmKind::Bully,
        preempt: Preempt::Always,
        timing: Timing {
            heartbeat: failure / 5,
            failure,
            message: failure / 10,
        },
        trust_refused: true,
        members,
        node: text_of(&root["node"]),
        admin_token_file: text_of(&root["admin_token_file"]).map(Into::into),
    })
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn member(value: &Value) -> MemberConfig {
    let address = text_of(&value["address"]).unwrap_or_default();
    MemberConfig {
        name: text_of(&value["name"]).unwrap_or_default(),
        id: NodeId(
            text_of(&value["id"])
                .and_then(|id| id.parse().ok())
                .unwrap_or_default(),
        ),
        listen: address.clone(),
        address,
        admin: text_of(&value["admin"]),
        role: Role::Member,
    }
}

/// The name of this process's member.
///
/// # Errors
/// When there is none.
pub fn node_name<'c>(config: &'c Config, flag: Option<&str>) -> Result<&'c str, NodeNameError> {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let name = flag.or(config.node.as_deref()).unwrap_or(&host);
    let member = config.member(name).map(|member| member.name.as_str());
    member.ok_or_else(|| {
        NodeNameError(format!(
            "no member is called {name:?}: name one with --node"
        ))
    })
}
