//! Real partitions: five processes in network namespaces, on a switch whose links are cut and
//! restored. Needs root and `ip`; elsewhere every test says so and passes.

mod forgotten;
mod halfopen;
mod majority;
mod none;

use std::time::Duration;

use crate::support::{Cluster, Network};
use electd::core::settings::AlgorithmKind;

const NODES: usize = 5;

/// Long enough for a peer that is not heard to be noticed, and replaced.
const LONG: Duration = Duration::from_millis(1300);

/// Five nodes on a network, which soon notice a silent peer; none if no network can be created.
fn scene(algorithm: AlgorithmKind, quorum: &str) -> Option<Cluster> {
    Some(Cluster::on(Network::of(NODES)?, |config| {
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = quorum.into();
        crate::support::watchful(config);
    }))
}

/// For how long a flapping link is cut, carries again, is cut, and so on: about as long as it
/// takes to be missed, shorter, and far shorter.
fn flaps() -> impl Iterator<Item = Duration> {
    let times = [50, 50, 900, 300, 1200, 100, 20, 20, 1100, 100];
    times.into_iter().map(Duration::from_millis)
}
