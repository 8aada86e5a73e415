//! The common parts of the members of these worlds.

use std::sync::Arc;

use electd_election::core::membership::MemberList;
use electd_election::core::settings::{Settings, Timing};
use electd_election::core::types::NodeId;

/// A voter of a cluster that runs the bully with a majority, and preempts. It is not the first start of the cluster.
pub fn voter(id: NodeId, instance: u64, members: Arc<MemberList>, timing: Timing) -> Settings {
    Settings { instance, value: Some(0), ..Settings::new("model", id, members, timing) }
}
