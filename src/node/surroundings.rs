//! The environment variables that tell the programs of `rank` and `health` about the node that runs
//! them.

use std::sync::{Arc, OnceLock};

use super::publish::Published;
use crate::config::Config;
use crate::rank::Variables;

/// Tells a program which member runs it, and where that one stands. Cheap to clone.
#[derive(Clone)]
pub(super) struct Surroundings {
    cluster: Arc<str>,
    node: Arc<str>,
    /// There from the first sample of the rank on.
    published: Arc<OnceLock<Arc<Published>>>,
}

impl Surroundings {
    /// Of the node of this name.
    pub fn new(config: &Config, name: &str) -> Surroundings {
        let (cluster, node) = (config.cluster.as_str().into(), name.into());
        Surroundings { cluster, node, published: Arc::default() }
    }

    /// Sets the node's present state.
    pub fn set_published(&self, published: Arc<Published>) {
        let _ = self.published.set(published); // a node has one
    }

    /// The environment for a program, computed for each run.
    pub fn variables(&self) -> Variables {
        let own = self.clone();
        Arc::new(move || own.now())
    }

    fn now(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("ELECTD_CLUSTER", self.cluster.to_string()),
            ("ELECTD_NODE", self.node.to_string()),
        ];
        if let Some(published) = self.published.get() {
            let status = published.status();
            let leader = status.leader.map(|leader| leader.name).unwrap_or_default();
            all.push(("ELECTD_STATE", status.state));
            all.push(("ELECTD_LEADER", leader));
            all.push(("ELECTD_EPOCH", status.epoch.to_string()));
        } else {
            let before =
                [("ELECTD_STATE", "starting"), ("ELECTD_LEADER", ""), ("ELECTD_EPOCH", "0")];
            all.extend(before.map(|(name, value)| (name, value.to_owned())));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::node::example;
    use crate::node::publish::tests::{published, resign};

    #[test]
    fn a_program_hears_where_its_node_stands_from_the_first_run_on() {
        let (config, _folder) = example::cluster().unwrap();
        let surroundings = Surroundings::new(&config, "a");
        let variables = surroundings.variables();
        let told = || -> Vec<String> {
            variables().into_iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let always = ["ELECTD_CLUSTER=example", "ELECTD_NODE=a"];
        let before = ["ELECTD_STATE=starting", "ELECTD_LEADER=", "ELECTD_EPOCH=0"];
        assert_eq!(told(), [always.as_slice(), &before].concat());
        let mut published = published();
        resign(&mut published, Duration::from_secs(3600));
        surroundings.set_published(Arc::new(published));
        let follows = ["ELECTD_STATE=following", "ELECTD_LEADER=node-2", "ELECTD_EPOCH=7"];
        assert_eq!(told(), [always.as_slice(), &follows].concat());
    }
}
