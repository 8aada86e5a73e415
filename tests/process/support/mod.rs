//! Clusters of real `electd` processes for tests.
//!
//! A test starts a [`Cluster`], does things to its nodes, and waits with [`eventually`] until its
//! expectation holds: outcomes, not durations, since the machine may be busy. `record.rs` checks every
//! status that is read on the way. When the cluster is dropped, its processes and files are gone; a
//! panic first shows the state of every node.
//!
//! Every cluster has a loopback address of its own. Ports that were free at its start stay so,
//! whatever other tests and programs do meanwhile.

pub mod cgroup;
pub mod claims;
pub mod clock;
mod command;
pub mod credentials;
pub mod crowd;
mod each;
pub mod enough;
mod heed;
mod held;
pub mod http;
pub mod impostor;
pub mod liar;
pub mod link;
pub mod network;
pub mod node;
mod places;
pub mod pulse;
mod record;
pub mod recorder;
pub mod script;
pub mod stray;
pub mod traced;
pub mod trouble;
pub mod undead;
pub mod unit;
mod wait;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread;

use electd::config;
use electd::core::settings::{AlgorithmKind, Timing};
use electd::node::status::Status;
use serde_json::{Value, json};
use tempfile::TempDir;

pub use command::{Finished, command, command_by, done, electd};
use credentials::{Certificates, secure};
pub(crate) use each::for_each_algorithm;
pub use each::{has_joined, the_highest_comes_back};
pub use held::Held;
pub use network::Network;
pub use node::{Condition, Node};
pub use places::own_host;
use places::{ascending_ids, own_places};
use record::Record;
pub use wait::{DEADLINE, accept, breathe, ensure, eventually, readable, within};

/// A time of silence after which even a busy machine counts as gone.
const PATIENT: &str = "5s";

/// A change of the config: members soon notice a silent peer.
pub fn watchful(config: &mut Value) {
    config["timing"]["failure"] = "1s".into();
    config["timing"]["message"] = "50ms".into();
}

/// Timings with which a member that is silent is missed, and seldom one that is busy.
pub fn steady(config: &mut Value) {
    config["timing"] = json!({"failure": "3s", "heartbeat": "100ms", "message": "250ms"});
}

/// Timings with which no busy machine costs a leader its lead.
pub fn patient(config: &mut Value) {
    config["timing"] = json!({"failure": "10s", "heartbeat": "500ms", "message": "1s"});
}

/// N members with one config, numbered from 1; a greater number ranks higher.
pub struct Cluster {
    nodes: Vec<Node>,
    folder: TempDir,
    config: Value,
    host: Ipv4Addr,
    /// Of a cluster that speaks TLS.
    certificates: Option<Certificates>,
    record: RefCell<Record>,
    /// Gone after the nodes are.
    network: Option<Network>,
}

impl Cluster {
    /// Starts `n` nodes.
    pub fn start(n: usize) -> Cluster {
        Cluster::start_with(n, |_| {})
    }

    /// Starts `n` nodes that soon notice a silent peer.
    pub fn start_watchful(n: usize) -> Cluster {
        Cluster::start_with(n, watchful)
    }

    /// Starts `n` nodes that elect by this algorithm.
    pub fn of(algorithm: AlgorithmKind, n: usize) -> Cluster {
        Cluster::of_with(algorithm, n, |_| {})
    }

    /// Starts `n` nodes that elect by this algorithm, with a changed config.
    pub fn of_with(algorithm: AlgorithmKind, n: usize, change: fn(&mut Value)) -> Cluster {
        Cluster::start_with(n, |config| {
            config["algorithm"] = algorithm.name().into();
            change(config);
        })
    }

    /// Starts `n` nodes with a changed config.
    pub fn start_with(n: usize, change: impl FnOnce(&mut Value)) -> Cluster {
        let cluster = Cluster::prepare(n, change);
        cluster.nodes.iter().for_each(Node::start);
        cluster
    }

    /// A cluster whose nodes have not been started yet.
    pub fn prepare(n: usize, change: impl FnOnce(&mut Value)) -> Cluster {
        let host = own_host();
        Cluster::at(&own_places(host, n), host, change)
    }

    /// Starts a node at the end of each cable of a network.
    pub fn on(network: Network, change: impl FnOnce(&mut Value)) -> Cluster {
        let cluster = Cluster::prepare_on(network, change);
        cluster.nodes.iter().for_each(Node::start);
        cluster
    }

    /// The same, with nodes that have not been started yet.
    pub fn prepare_on(network: Network, change: impl FnOnce(&mut Value)) -> Cluster {
        let places = network.places();
        Cluster::prepare_at(&places, network, change)
    }

    /// The network that the nodes are on, of those that are [`Cluster::on`] one.
    pub fn network(&self) -> &Network {
        self.network.as_ref().expect("it is on a network")
    }

    fn at(
        places: &[(SocketAddr, SocketAddr)],
        host: Ipv4Addr,
        change: impl FnOnce(&mut Value),
    ) -> Cluster {
        let members: Vec<Value> = (1..)
            .zip(ascending_ids(places.len()))
            .zip(places)
            .map(|((number, id), (address, admin))| {
                json!({"name": format!("node-{number}"), "id": id, "address": address, "admin": admin})
            })
            .collect();
        let mut config = json!({
            "cluster": "test", "quorum": "none", "data_dir": "data", "members": members,
            // A busy machine is not taken for a silent one.
            "timing": {"failure": PATIENT, "heartbeat": "100ms", "message": "1s"},
        });
        if credentials::wanted() {
            secure(&mut config);
        }
        change(&mut config);
        let folder = folder();
        let secured = config["members"][0].get("tls").is_some();
        let certificates = secured.then(|| Certificates::of(folder.path(), &config, places.len()));
        let file = folder.path().join("cluster.json");
        fs::write(&file, config.to_string()).unwrap();
        let node = |(number, place): (usize, &(SocketAddr, SocketAddr))| {
            let name = format!("node-{number}");
            let log = folder.path().join(format!("{name}.log"));
            Node::new(&name, *place, &file, &log)
        };
        let mut nodes: Vec<Node> = (1..).zip(places).map(node).collect();
        nodes.iter_mut().for_each(|node| node.serves_https = config["admin_tls"] == true);
        // To members that soon notice a silent peer, a busy machine is a partition.
        let may_split = config["quorum"] == "none" && config["timing"]["failure"] != PATIENT;
        let record = RefCell::new(Record::of(may_split));
        Cluster { nodes, folder, config, host, certificates, record, network: None }
    }

    /// The node with this number.
    pub fn node(&self, number: usize) -> &Node {
        &self.nodes[number - 1]
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes that are neither down nor frozen.
    pub fn running(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.runs())
    }

    /// The file with this node's durable state.
    pub fn state_file(&self, number: usize) -> PathBuf {
        self.folder.path().join("data").join(&self.node(number).name).join("state.json")
    }

    /// Node-1 comes back without its state, in a cluster of three that has met its second life.
    #[track_caller]
    pub fn lose_state_of_first(&self) {
        self.node(1).restart();
        self.agree_on(3);
        self.until_seen(2, 1, "alive");
        self.node(1).kill_9();
        fs::remove_file(self.state_file(1)).unwrap();
        self.node(1).start();
    }

    /// The authority of this cluster, if it speaks TLS.
    pub fn certificates(&self) -> &Certificates {
        self.certificates.as_ref().expect("it speaks TLS")
    }

    /// The id of a member.
    pub fn id(&self, number: usize) -> String {
        self.config["members"][number - 1]["id"].as_str().unwrap().to_owned()
    }

    /// One more process, not started, that runs as this member with a changed config. It has
    /// addresses and a data directory of its own; the others' config does not know them.
    pub fn stranger(&self, number: usize, change: impl FnOnce(&mut Value)) -> Node {
        let place = own_places(self.host, 1)[0];
        let mut config = self.config.clone();
        config["data_dir"] = "strange".into();
        config["members"][number - 1]["address"] = place.0.to_string().into();
        config["members"][number - 1]["admin"] = place.1.to_string().into();
        change(&mut config);
        self.process(number, place, "strange", &config)
    }

    /// One more process, not started, that runs as this member with this config.
    pub fn process(
        &self,
        number: usize,
        place: (SocketAddr, SocketAddr),
        title: &str,
        config: &Value,
    ) -> Node {
        let file = self.folder.path().join(format!("{title}.json"));
        fs::write(&file, config.to_string()).unwrap();
        let log = self.folder.path().join(format!("{title}.log"));
        let name = config["members"][number - 1]["name"].as_str().unwrap();
        Node::new(name, place, &file, &log)
    }

    /// The timings, as electd reads them.
    pub fn timing(&self) -> Timing {
        config::parse(&self.config.to_string(), self.folder.path()).expect("it is valid").timing
    }

    pub fn config(&self) -> &Value {
        &self.config
    }

    /// The status of a node, which the record has from then on.
    pub fn status(&self, number: usize) -> Result<Status, String> {
        self.recorded(self.node(number))
    }

    fn recorded(&self, node: &Node) -> Result<Status, String> {
        let status = node.status()?;
        if let Err(broken) = self.record.borrow_mut().take(&status) {
            panic!("{broken}");
        }
        Ok(status)
    }

    /// Waits until this observer shows a member as alive, suspected or dead.
    #[track_caller]
    pub fn until_seen(&self, observer: usize, member: usize, as_what: &str) {
        eventually(&format!("node-{observer} sees node-{member} {as_what}"), || {
            let shown = self.status(observer)?.members[member - 1].status.clone();
            ensure(shown == as_what, || shown)
        });
    }

    /// The file that the nodes are started with, as it was written last.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("cluster.json")
    }

    /// Writes these members into the cluster's file.
    pub fn list(&self, members: &[Value]) {
        let mut config = self.config.clone();
        config["members"] = members.into();
        fs::write(self.file(), config.to_string()).unwrap();
    }

    /// Starts a node with a file that lists these members, and waits until it has read it.
    pub fn start_listing(&self, number: usize, members: &[Value]) {
        self.list(members);
        self.node(number).start();
        eventually(&format!("node-{number} answers"), || self.node(number).status());
    }

    /// The greatest epoch that any node has told so far.
    pub fn greatest_epoch(&self) -> u64 {
        self.record.borrow().greatest_epoch()
    }

    /// Waits until all running nodes name this node as their leader in one epoch, which it alone
    /// claims. Returns the epoch.
    #[track_caller]
    pub fn agree_on(&self, number: usize) -> u64 {
        let leader = &self.node(number).name;
        let look = || self.agreed_on(leader, self.running());
        eventually(&format!("all running nodes follow {leader}"), look)
    }

    /// Waits until all running nodes name any one of them as their leader, in one epoch, which that
    /// node alone claims. Returns its number and the epoch.
    #[track_caller]
    pub fn agree(&self) -> (usize, u64) {
        eventually("all running nodes follow one leader", || {
            let asked = self.running().next().ok_or("no node runs")?;
            let leader =
                self.recorded(asked)?.leader.ok_or_else(|| format!("{} has none", asked.name))?;
            let epoch = self.agreed_on(&leader.name, self.running())?;
            let leads = |node: &Node| node.name == leader.name && node.runs();
            let number = self.nodes.iter().position(leads);
            Ok((number.ok_or_else(|| format!("{} does not run", leader.name))? + 1, epoch))
        })
    }

    /// Waits until these nodes follow this node, as with [`Cluster::agree_on`].
    #[track_caller]
    pub fn agree_among(&self, numbers: &[usize], leader: usize) -> u64 {
        let leader = &self.node(leader).name;
        let look = || self.agreed_on(leader, numbers.iter().map(|number| self.node(*number)));
        eventually(&format!("{numbers:?} follow {leader}"), look)
    }

    fn agreed_on<'a>(
        &self,
        leader: &str,
        nodes: impl Iterator<Item = &'a Node>,
    ) -> Result<u64, String> {
        let mut epochs = BTreeSet::new();
        // Asks all of them first: the answers count even if one node disagrees.
        let statuses: Vec<_> = nodes.map(|node| (node, self.recorded(node))).collect();
        for (node, status) in statuses {
            let status = status?;
            let named = status.leader.as_ref().map(|leader| leader.name.as_str());
            let expected = if node.name == leader { "leading" } else { "following" };
            ensure(named == Some(leader) && status.state == expected, || {
                format!("{} is {} and names {named:?}", node.name, status.state)
            })?;
            epochs.insert(status.epoch);
        }
        ensure(epochs.len() == 1, || format!("the epochs are {epochs:?}"))?;
        epochs.pop_first().ok_or_else(|| "no node runs".to_owned())
    }

    /// Where every node stands, and the end of its log.
    fn picture(&self) -> String {
        let node = |node: &Node| {
            let stand = match node.condition() {
                Condition::Runs => node.status().map_or_else(|error| error, |s| in_short(&s)),
                condition => format!("{condition:?}"),
            };
            format!("--- {}: {stand}\n{}\n", node.name, node.log_tail(25))
        };
        self.nodes.iter().map(node).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.picture());
        }
    }
}

fn in_short(status: &Status) -> String {
    let leader = status.leader.as_ref().map_or("none", |leader| &leader.name);
    let Status { state, epoch, rejections, messages, dropped, .. } = status;
    let members = status.members.iter().map(|m| (&m.name, &m.status, m.eligible));
    format!(
        "{state}, leader {leader}, epoch {epoch}\n  members {:?}\n  rejections {rejections:?}\n  \
         messages {messages:?}\n  dropped {dropped:?}",
        members.collect::<Vec<_>>()
    )
}

/// A folder for files that no test waits for, where there is one in memory: others may keep the disk busy.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
