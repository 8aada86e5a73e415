//! electd beside keepalived and etcd, on hosts of their own in one run: how long until another member leads. Each is
//! watched by the lines that it logs. What is not installed is left out, and a line says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, unbounded};
use electd::core::random::Random;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::cluster;
use crate::network::{self, Network, PORT};
use crate::process;
use crate::report::{Report, Row};

const SIZE: usize = 3;

/// Far longer than any of them takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// For so long nobody begins to lead in a cluster that is at rest.
const REST: Duration = Duration::from_millis(1500);

/// A fault comes at a random moment within this time.
const MOMENT: Duration = Duration::from_millis(100);

/// What makes all processors busy.
const BUSY_LOOPS: usize = 4;

/// What is compared.
enum System {
    /// With these keys in its configuration.
    Electd(&'static str, Value),
    Keepalived,
    Etcd,
}

#[derive(Clone, Copy)]
enum Fault {
    Kill,
    Cut,
    Freeze,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill -9",
            Fault::Cut => "cut cable",
            Fault::Freeze => "SIGSTOP",
        }
    }
}

impl System {
    fn all() -> [System; 4] {
        let quick = json!({"heartbeat": "2ms", "failure": "10ms"});
        [
            System::Electd("electd", json!({})),
            System::Electd("electd 10 ms", json!({"timing": quick, "realtime": true})),
            System::Keepalived,
            System::Etcd,
        ]
    }

    fn name(&self) -> &'static str {
        match self {
            System::Electd(name, _) => name,
            System::Keepalived => "keepalived 10 ms",
            System::Etcd => "etcd 10/100 ms",
        }
    }

    /// Whether it can be started here.
    fn is_there(&self) -> bool {
        let program = match self {
            System::Electd(..) => return true,
            System::Keepalived => "keepalived",
            System::Etcd => "etcd",
        };
        let mut asked = Command::new(program);
        asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    }

    /// Writes what the nodes read.
    fn prepare(&self, folder: &Path, network: &Network) {
        match self {
            System::Electd(_, keys) => {
                let member = |(n, (address, _)): (usize, _)| {
                    let id = format!("{n:08x}-0000-4000-8000-000000000000");
                    json!({"name": format!("node-{n}"), "id": id, "address": address})
                };
                let members: Vec<Value> = (1..).zip(network.places()).map(member).collect();
                let mut config = json!({
                    "cluster": "bench", "quorum": "majority", "preempt": "never", "data_dir": "data",
                    "members": members,
                });
                for (key, value) in keys.as_object().into_iter().flatten() {
                    config[key] = value.clone();
                }
                write(&folder.join("cluster.json"), &config.to_string());
            }
            System::Keepalived => (1..=SIZE).for_each(|node| {
                let priority = 100 + node;
                let text = format!(
                    "global_defs {{ vrrp_version 3\n router_id host{node} }}\nvrrp_instance A {{ state BACKUP\n \
                     interface cable\n virtual_router_id 51\n priority {priority}\n advert_int 0.01\n nopreempt\n \
                     virtual_ipaddress {{ 10.0.0.99/24\n }} }}\n"
                );
                write(&folder.join(format!("{node}.conf")), &text);
            }),
            System::Etcd => {}
        }
    }

    /// How a node is started, in this life of its process.
    fn command(&self, (node, life): (usize, u32), folder: &Path) -> Vec<String> {
        let file = |name: String| folder.join(name).display().to_string();
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            System::Electd(..) => [
                vec![cluster::program().into_string().expect("its path is text")],
                words(&[
                    "run",
                    "--node",
                    &format!("node-{node}"),
                    "--config",
                    &file("cluster.json".to_owned()),
                ]),
            ]
            .concat(),
            System::Keepalived => words(&[
                "keepalived",
                "--dont-fork",
                "--log-console",
                "--vrrp",
                "--use-file",
                &file(format!("{node}.conf")),
                "--pid",
                &file(format!("{node}-{life}.pid")),
                "--vrrp_pid",
                &file(format!("{node}-{life}.vrrp-pid")),
            ]),
            System::Etcd => {
                let url = |node| format!("http://10.0.0.{node}:{PORT}");
                let of = |node| format!("node-{node}={}", url(node));
                let all: Vec<String> = (1..=SIZE).map(of).collect();
                let client = format!("http://127.0.0.{node}:2379");
                words(&[
                    "etcd",
                    "--name",
                    &format!("node-{node}"),
                    "--data-dir",
                    &file(format!("etcd-{node}")),
                    "--listen-peer-urls",
                    &url(node),
                    "--initial-advertise-peer-urls",
                    &url(node),
                    "--listen-client-urls",
                    &client,
                    "--advertise-client-urls",
                    &client,
                    "--initial-cluster",
                    &all.join(","),
                    "--heartbeat-interval",
                    "10",
                    "--election-timeout",
                    "100",
                    "--logger",
                    "zap",
                    "--log-outputs",
                    "stderr",
                ])
            }
        }
    }

    /// What a node says that begins to lead, and one that does not lead any more.
    fn words(&self) -> [&'static str; 2] {
        match self {
            System::Electd(..) => [" -> leading, leader ", "leading -> "],
            System::Keepalived => ["Entering MASTER STATE", "Entering BACKUP STATE"],
            System::Etcd => ["became leader at term", "became follower at term"],
        }
    }
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("the scratch folder can be written");
}

/// A node began to lead, or ended.
struct Word {
    node: usize,
    /// Of its process.
    life: u32,
    at: Instant,
    leads: bool,
}

struct Node {
    life: u32,
    process: Child,
    leads: bool,
}

/// Three nodes of one system on hosts of their own.
struct Hosts {
    system: System,
    folder: PathBuf,
    network: Network,
    nodes: Vec<Node>,
    sender: Sender<Word>,
    words: Receiver<Word>,
    random: Random,
}

impl Hosts {
    fn start(system: System, folder: PathBuf, seed: u64) -> Result<Hosts, String> {
        let network = Network::make(SIZE)?;
        system.prepare(&folder, &network);
        let ((sender, words), random) = (unbounded(), Random::new(seed));
        let mut hosts = Hosts { system, folder, network, nodes: Vec::new(), sender, words, random };
        for node in 1..=SIZE {
            let process = hosts.start_node(node, 0);
            hosts.nodes.push(Node { life: 0, process, leads: false });
        }
        Ok(hosts)
    }

    fn start_node(&self, node: usize, life: u32) -> Child {
        let mut child = process::command("guarded")
            .arg(self.network.home(node))
            .args(self.system.command((node, life), &self.folder))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a node starts");
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let tell = || {
            let (sender, [begins, ends]) = (self.sender.clone(), self.system.words());
            move |at: Instant, line: &str| {
                let leads = line.contains(begins);
                if leads || line.contains(ends) {
                    let _ = sender.send(Word { node, life, at, leads }); // the bench may be over
                }
            }
        };
        process::watch(output.expect("it is piped"), tell());
        process::watch(errors.expect("it is piped"), tell());
        child
    }

    /// Takes note of what a node said. Tells whether it began to lead.
    fn note(&mut self, word: &Word) -> bool {
        let node = &mut self.nodes[word.node - 1];
        if node.life == word.life {
            node.leads = word.leads;
        }
        node.life == word.life && word.leads
    }

    /// Until another node than this one begins to lead.
    fn next_leader(&mut self, but: usize) -> Instant {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let Ok(word) = self.words.recv_deadline(deadline) else {
                panic!("no other node of {} began to lead", self.system.name());
            };
            if self.note(&word) && word.node != but {
                return word.at;
            }
        }
    }

    /// The one node that leads, once nothing has changed for a while.
    fn leader_at_rest(&mut self) -> usize {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            while let Ok(word) = self.words.recv_timeout(REST) {
                self.note(&word);
            }
            let leads = (1..).zip(&self.nodes).filter(|(_, node)| node.leads);
            if let [leader] = leads.map(|(number, _)| number).collect::<Vec<_>>()[..] {
                return leader;
            }
            assert!(Instant::now() < deadline, "not one of {} leads", self.system.name());
        }
    }

    /// Strikes the leader, and has a new process take its place. Tells how long it took until another led.
    fn strike(&mut self, fault: Fault) -> Duration {
        let struck = self.leader_at_rest();
        thread::sleep(self.random.up_to(MOMENT));
        let begin = Instant::now();
        match fault {
            Fault::Kill => self.kill(struck),
            Fault::Freeze => self.signal_all(struck, Signal::STOP),
            Fault::Cut => self.network.plug(struck, false),
        }
        let at = self.next_leader(struck);
        // A node that was cut off may still lead, in its own eyes, and would disturb the next one.
        self.signal_all(struck, Signal::KILL);
        self.network.plug(struck, true);
        process::end(&mut self.nodes[struck - 1].process);
        let life = self.nodes[struck - 1].life + 1;
        let process = self.start_node(struck, life);
        self.nodes[struck - 1] = Node { life, process, leads: false };
        at - begin
    }

    /// Kills the main process of electd, which others survive, and all of another: its main process may only watch.
    fn kill(&self, node: usize) {
        match self.system {
            System::Electd(..) => process::signal(&self.nodes[node - 1].process, Signal::KILL),
            System::Keepalived | System::Etcd => self.signal_all(node, Signal::KILL),
        }
    }

    fn signal_all(&self, node: usize, signal: Signal) {
        for pid in network::processes(&self.network.home(node)) {
            let _ = kill_process(pid, signal); // it may have ended
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(|node| process::end(&mut node.process));
    }
}

/// All that are installed, struck by turns, so that whatever else the machine does disturbs all of them alike.
pub fn measure(
    folder: impl Fn(&str) -> PathBuf,
    (runs, busy): (usize, Duration),
    random: &mut Random,
    report: &mut Report,
) {
    let (there, missing): (Vec<_>, Vec<_>) =
        System::all().into_iter().partition(|system| system.is_there());
    for system in missing {
        eprintln!("{} is not measured: it is not installed", system.name());
    }
    let hosts = there.into_iter().map(|system| {
        let folder = folder(&system.name().replace(['/', ' '], "-"));
        Hosts::start(system, folder, random.draw())
    });
    let mut hosts = match hosts.collect::<Result<Vec<_>, _>>() {
        Ok(hosts) => hosts,
        Err(why) => return eprintln!("nothing is compared with others: {why}"),
    };
    if busy > Duration::ZERO {
        measure_busy(&mut hosts, busy, report);
    }
    for fault in [Fault::Kill, Fault::Cut, Fault::Freeze] {
        let mut times = vec![Vec::new(); hosts.len()];
        for _ in 0..runs {
            for (hosts, times) in hosts.iter_mut().zip(&mut times) {
                times.push(hosts.strike(fault));
            }
        }
        for (hosts, times) in hosts.iter().zip(times) {
            let what = format!("{} of 3, {}: one leads", fault.name(), hosts.system.name());
            report.row(Row { what, times, beside: Vec::new() });
        }
    }
}

/// How often another node begins to lead while busy loops want all processors, and no node fails.
fn measure_busy(hosts: &mut [Hosts], time: Duration, report: &mut Report) {
    hosts.iter_mut().for_each(|hosts| _ = hosts.leader_at_rest());
    let end = Instant::now() + time;
    thread::scope(|scope| {
        for _ in 0..BUSY_LOOPS {
            scope.spawn(|| while Instant::now() < end {});
        }
    });
    for hosts in hosts {
        let words: Vec<Word> = hosts.words.try_iter().collect();
        let changes = words.iter().filter(|word| hosts.note(word)).count();
        report.false_changes(hosts.system.name(), BUSY_LOOPS, time, changes);
    }
}
