//! The common parts of the members of these worlds.

use std::sync::Arc;

use electd::core::membership::MemberList;
use electd::core::protocol::Protocols;
use electd::core::settings::{
    AlgorithmKind, Margin, PowerOn, Preempt, Quorum, RankKind, Settings, Timing,
};
use electd::core::types::NodeId;

/// A voter of a cluster that runs the bully with a majority, and preempts. It is not the first start of the cluster.
pub fn voter(id: NodeId, instance: u64, members: Arc<MemberList>, timing: Timing) -> Settings {
    Settings {
        cluster: "model".into(),
        id,
        instance,
        protocols: Protocols::OURS,
        members,
        algorithm: AlgorithmKind::Bully,
        quorum: Quorum::Majority,
        preempt: Preempt::Always,
        rank: RankKind::Id,
        margin: Margin::NONE,
        value: Some(0),
        health: None,
        hierarchy: true,
        timing,
        trust_refused: false,
        bootstrap: false,
        power_on: PowerOn::Elect,
    }
}
