//! Three nodes that are killed, frozen and cut off, one after the other, for those who judge what they record meanwhile.

use electd::core::settings::AlgorithmKind;
use serde_json::Value;

use super::{Cluster, Condition, Network, ensure, eventually, watchful};

pub struct Trouble {
    pub cluster: Cluster,
    /// Whether they have a network that can be cut.
    cuts: bool,
}

impl Trouble {
    /// Nodes that lead with a majority, on a network of their own where one can be had. They agree.
    pub fn of(algorithm: AlgorithmKind) -> Trouble {
        let change = |config: &mut Value| {
            config["algorithm"] = algorithm.name().into();
            config["quorum"] = "majority".into();
            watchful(config);
        };
        let network = Network::of(3);
        let cuts = network.is_some();
        let cluster = match network {
            Some(network) => Cluster::on(network, change),
            None => Cluster::start_with(3, change),
        };
        cluster.agree();
        Trouble { cluster, cuts }
    }

    /// Kills this node, freezes it and cuts it off. There is a leader after each.
    pub fn befalls(&self, number: usize) {
        let cluster = &self.cluster;
        let node = cluster.node(number);
        node.kill_9();
        cluster.agree();
        node.start();
        cluster.agree();
        node.freeze();
        cluster.agree();
        assert_eq!(node.condition(), Condition::Frozen);
        node.thaw();
        cluster.agree();
        if self.cuts {
            self.cut_off(number);
        }
    }

    /// The two others agree on one of them while this one is cut off.
    fn cut_off(&self, number: usize) {
        let cluster = &self.cluster;
        cluster.network().plug(number, false);
        let others: Vec<usize> = (1..=3).filter(|other| *other != number).collect();
        eventually("the others agree", || {
            let leader = |number: &usize| cluster.status(*number).map(|shown| shown.leader);
            let leaders = others.iter().map(leader).collect::<Result<Vec<_>, _>>()?;
            let cut = &cluster.node(number).name;
            let led = leaders[0].as_ref().is_some_and(|leader| leader.name != *cut);
            ensure(led && leaders[0] == leaders[1], || format!("{leaders:?}"))
        });
        cluster.network().plug(number, true);
        cluster.agree();
    }
}
