//! A cluster of real processes, watched by the lines that they log: one for each change of state. The
//! benchmark asks the nodes nothing, so watching costs them no more than their log does.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, unbounded};
use electd::core::settings::{AlgorithmKind, Quorum};
use electd::tls::make::Authority;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::network::Network;
use crate::process;

/// Far longer than any election takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many lines of the nodes' logs are kept.
const LATEST: usize = 40;

/// Below the ports that systems give to outgoing connections, which could take a dead node's.
const PORTS: std::ops::Range<u16> = 18_000..32_000;

/// The node's last report of itself.
#[derive(Clone, Debug, PartialEq)]
struct State {
    phase: String,
    leader: String,
    epoch: String,
    at: Instant,
}

/// One member and the process that runs it, if any.
struct Node {
    name: String,
    listens: SocketAddr,
    process: Option<Child>,
    /// Tells the lines of this process from those of earlier ones.
    life: u32,
    /// Whether it takes part: it runs, is not frozen and was not told to end.
    counts: bool,
    state: Option<State>,
}

/// That all live nodes name one leader, and that one leads.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// The position of the leader.
    pub leader: usize,
    /// When the leader said so.
    pub led_at: Instant,
    /// When the last of them said so.
    pub complete_at: Instant,
}

struct Event {
    node: usize,
    life: u32,
    line: String,
    /// The node's state by this line, if it has any.
    state: Option<State>,
}

pub struct Cluster {
    /// What the nodes run.
    program: OsString,
    folder: PathBuf,
    /// Where each node has a host of its own; none on loopback.
    network: Option<Network>,
    quorum: Quorum,
    nodes: Vec<Node>,
    sender: Sender<Event>,
    events: Receiver<Event>,
    /// The last log lines of the nodes, to be shown after a failure.
    latest: VecDeque<String>,
    first_election: Duration,
}

/// The lines of level info, and each time: a node counts what repeats only where nothing is at level debug.
const ALL_OF_INFO: &str = "info,nothing=debug";

impl Cluster {
    /// Starts this many nodes in an empty folder and waits until they agree.
    pub fn start(
        folder: PathBuf,
        size: usize,
        algorithm: AlgorithmKind,
        quorum: Quorum,
    ) -> Cluster {
        Cluster::start_of(program(), folder, size, algorithm, quorum)
    }

    /// The same with nodes of this program.
    pub fn start_of(
        program: OsString,
        folder: PathBuf,
        size: usize,
        algorithm: AlgorithmKind,
        quorum: Quorum,
    ) -> Cluster {
        let network = network(size);
        let config = config(network.as_ref(), size, algorithm, quorum);
        Cluster::start_with(program, folder, network, quorum, config)
    }

    /// The same with TLS between the members.
    pub fn start_over_tls(
        folder: PathBuf,
        size: usize,
        algorithm: AlgorithmKind,
        quorum: Quorum,
    ) -> Cluster {
        let network = network(size);
        let mut config = config(network.as_ref(), size, algorithm, quorum);
        let authority = Authority::new("bench").expect("certificates can be made");
        for n in 1..=size {
            let name = format!("node-{n}");
            let pair = authority.sign(&name).expect("certificates can be made");
            let file = |what: &str, text: &str| {
                let file = folder.join(format!("{name}-{what}.pem"));
                fs::write(&file, text).expect("the files can be written");
                file
            };
            config["members"][n - 1]["tls"] = json!({
                "ca": file("ca", authority.certificate()),
                "cert": file("cert", &pair.cert),
                "key": file("key", &pair.key),
            });
        }
        Cluster::start_with(program(), folder, network, quorum, config)
    }

    fn start_with(
        program: OsString,
        folder: PathBuf,
        network: Option<Network>,
        quorum: Quorum,
        config: Value,
    ) -> Cluster {
        let size = config["members"].as_array().map_or(0, Vec::len);
        fs::write(folder.join("cluster.json"), config.to_string())
            .expect("the config can be written");
        let (sender, events) = unbounded();
        let members = config["members"].as_array().into_iter().flatten();
        let listens =
            members.map(|member| member["address"].as_str().and_then(|at| at.parse().ok()));
        let nodes = (1..).zip(listens).map(|(n, listens)| Node {
            name: format!("node-{n}"),
            listens: listens.expect("each member has an address"),
            process: None,
            life: 0,
            counts: false,
            state: None,
        });
        let nodes = nodes.collect();
        let (latest, first_election) = (VecDeque::new(), Duration::ZERO);
        let mut cluster = Cluster {
            program,
            folder,
            network,
            quorum,
            nodes,
            sender,
            events,
            latest,
            first_election,
        };
        let start = Instant::now();
        (0..size).for_each(|node| cluster.start_node(node));
        cluster.first_election = cluster.await_agreement().complete_at - start;
        cluster
    }

    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    pub fn quorum(&self) -> Quorum {
        self.quorum
    }

    /// From before the first process was started until all agreed.
    pub fn first_election(&self) -> Duration {
        self.first_election
    }

    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().filter_map(|node| node.process.as_ref()).map(Child::id)
    }

    pub fn start_node(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let home = self.network.as_ref().map(|network| network.home(at + 1));
        let mut child = process::command("guarded")
            .arg(home.unwrap_or_default())
            .arg(&self.program)
            .args(["run", "--node", &node.name, "--config"])
            .arg(self.folder.join("cluster.json"))
            .env("RUST_LOG", ALL_OF_INFO)
            .stderr(Stdio::piped())
            .spawn()
            .expect("a node starts");
        node.life += 1;
        node.state = None;
        node.counts = true;
        let (sender, life) = (self.sender.clone(), node.life);
        let stderr = child.stderr.take().expect("it is piped");
        node.process = Some(child);
        process::watch(stderr, move |arrival, line| {
            let event =
                Event { node: at, life, line: line.to_owned(), state: transition(line, arrival) };
            let _ = sender.send(event); // the bench may be over
        });
    }

    /// Takes a node out by this, which gets its process, where that listens and the namespace of its host. `ends` tells
    /// whether the process ends.
    pub fn strike<T>(
        &mut self,
        at: usize,
        ends: bool,
        by: impl FnOnce(&Child, SocketAddr, Option<&str>) -> T,
    ) -> T {
        let home = self.network.as_ref().map(|network| network.home(at + 1));
        let node = &mut self.nodes[at];
        node.life += u32::from(ends); // what it still says does not count
        node.counts = false;
        by(node.process.as_ref().expect("it runs"), node.listens, home.as_deref())
    }

    /// Waits for the end of a node that was told to end.
    pub fn reap(&mut self, at: usize) {
        if let Some(mut process) = self.nodes[at].process.take() {
            process.wait().expect("a child can be waited for");
        }
    }

    /// SIGCONT. The node counts again from its next line on.
    pub fn thaw(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.counts = true;
        node.state = None;
        process::signal(node.process.as_ref().expect("it runs"), Signal::CONT);
    }

    /// Moves the data folders of all nodes out of reach, or back: while they are away every write
    /// fails.
    pub fn take_disk_away(&self, away: bool) {
        let (data, hidden) = (self.folder.join("data"), self.folder.join("hidden"));
        let (from, to) = if away { (data, hidden) } else { (hidden, data) };
        fs::rename(from, to).expect("the data folder can be moved");
    }

    /// Waits until all nodes that run name one leader.
    pub fn await_agreement(&mut self) -> Agreement {
        self.await_agreement_on(0)
    }

    /// Waits until the highest has taken over again, which with a majority may be long after it
    /// was repaired, and gives its position.
    pub fn await_takeover(&mut self) -> usize {
        self.await_agreement_on(self.size() - 1).leader
    }

    /// Waits until all nodes that run name one leader, of this position or a higher one.
    fn await_agreement_on(&mut self, least: usize) -> Agreement {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let agreement = self.agreement().filter(|agreement| agreement.leader >= least);
            if let Some(agreement) = agreement {
                return agreement;
            }
            match self.events.recv_deadline(deadline) {
                Ok(event) => _ = self.note(event),
                Err(_) => panic!("no agreement; the latest of the logs:\n{}", self.latest_lines()),
            }
        }
    }

    /// How many changes of state the participating nodes log during this time.
    pub fn count_changes(&mut self, time: Duration) -> usize {
        let deadline = Instant::now() + time;
        let mut changes = 0;
        while let Ok(event) = self.events.recv_deadline(deadline) {
            changes += usize::from(self.note(event));
        }
        changes
    }

    /// Whether a node changed its state. The last lines of a node that was asked to end, which may come
    /// after the others agreed, say nothing about the live nodes.
    fn note(&mut self, event: Event) -> bool {
        if self.latest.len() == LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(event.line);
        let node = &mut self.nodes[event.node];
        let changed = node.life == event.life && event.state.is_some();
        if changed {
            node.state = event.state;
        }
        changed
    }

    fn agreement(&self) -> Option<Agreement> {
        let states = self.nodes.iter().filter(|node| node.counts).map(|node| node.state.as_ref());
        let states = states.collect::<Option<Vec<&State>>>()?;
        let led = *states.iter().find(|state| state.phase == "leading")?;
        let agrees = |state: &&State| {
            let settled = *state == led || state.phase == "following";
            settled && (&state.leader, &state.epoch) == (&led.leader, &led.epoch)
        };
        Some(Agreement {
            leader: self.nodes.iter().position(|node| node.name == led.leader)?,
            led_at: led.at,
            complete_at: states.iter().map(|state| state.at).max()?,
        })
        .filter(|_| states.iter().all(agrees))
    }

    /// The end of what the nodes logged.
    pub fn latest_lines(&self) -> String {
        self.latest.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in self.nodes.iter_mut().filter_map(|node| node.process.as_mut()) {
            process::end(process);
        }
    }
}

/// The state in a line such as
/// `TIME INFO  node-1: electing -> following, leader node-4, epoch 2: node-4 leads`.
fn transition(line: &str, at: Instant) -> Option<State> {
    let (_, rest) = line.split_once(" -> ").filter(|(head, _)| !head.contains('"'))?; // no quotation
    let (phase, rest) = rest.split_once(", leader ")?;
    let (leader, rest) = rest.split_once(", epoch ")?;
    let (epoch, _) = rest.split_once(':')?;
    Some(State { phase: phase.into(), leader: leader.into(), epoch: epoch.into(), at })
}

/// The program that is measured.
pub fn program() -> OsString {
    env::var_os("FAILOVER_ELECTD").unwrap_or(env!("CARGO_BIN_EXE_electd").into())
}

/// A host of its own for each node. None, with a line that says so, where this process may not make one.
fn network(size: usize) -> Option<Network> {
    let told = |error| eprintln!("all nodes run on loopback, as there are no namespaces: {error}");
    Network::make(size).map_err(told).ok()
}

/// A config at default timing; the last node ranks highest.
fn config(
    network: Option<&Network>,
    size: usize,
    algorithm: AlgorithmKind,
    quorum: Quorum,
) -> Value {
    let places: Vec<SocketAddr> = match network {
        Some(network) => network.places().into_iter().map(|(member, _)| member).collect(),
        None => {
            let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            free_ports(size).into_iter().map(local).collect()
        }
    };
    let members = (1..).zip(places).map(|(n, place)| {
        json!({
            "name": format!("node-{n}"),
            "id": format!("{n:08x}-0000-4000-8000-000000000000"),
            "address": place,
        })
    });
    json!({
        "cluster": "bench",
        "quorum": quorum.name(),
        "algorithm": algorithm.name(),
        "data_dir": "data",
        "members": members.collect::<Vec<_>>(),
    })
}

fn free_ports(count: usize) -> Vec<u16> {
    let offset = u16::try_from(std::process::id() % 10_000).expect("it is small");
    let ports = PORTS.start + offset..PORTS.end;
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports = ports.filter(free).take(count).collect::<Vec<_>>();
    assert_eq!(ports.len(), count, "ports are free");
    ports
}
