//! From the death of the leader's electd to the command on the next host, beside the failover itself.
//!
//! Three real `electd run -- CMD` on loopback, default timings; the leader's electd is killed (`kill -9`)
//! `JOB_FAILOVERS=30` times for each quorum, and started again each time. The next leader says in its log that it
//! leads; its command says so as its first act. Both lines are stamped when this process reads them, and so is the end of
//! the dead node's output, which its command and its guard hold: nothing of them is left then.

#[path = "../tests/process/support/network.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod network;
#[allow(dead_code)] // it uses a part
#[path = "failover/process.rs"]
mod process;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, unbounded};
use rustix::process::Signal;
use serde_json::json;

const NODES: usize = 3;

/// Far longer than any failover takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// After this time a node that came back is connected with all others.
const SETTLING: Duration = Duration::from_secs(1);

/// A command says this first, from a file. Then it waits to be ended.
const BEGUN: &str = "begun";
const COMMAND: [&str; 4] = ["tail", "-n", "+1", "-f"];

/// We add this at the end of a node's output.
const GONE: &str = "gone";

/// The output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Leads,
    Follows,
    Begun,
    /// Neither electd nor its guard nor its command has its standard output any more.
    Gone,
}

/// By which node, in which life of its process, and when.
struct Line {
    node: usize,
    life: u32,
    said: Said,
    at: Instant,
}

/// The times of one failover.
struct Took {
    failover: Duration,
    job: Duration,
    /// Until nothing of the dead node's command is left.
    gone: Duration,
}

struct Bench<'a> {
    folder: &'a Path,
    nodes: BTreeMap<usize, (u32, Child)>,
    lives: u32,
    sender: Sender<Line>,
    lines: Receiver<Line>,
}

impl Bench<'_> {
    fn start(&mut self, node: usize) {
        self.lives += 1;
        let electd = env::var_os("JOB_ELECTD").unwrap_or(env!("CARGO_BIN_EXE_electd").into());
        let mut child = process::command("guarded")
            .arg("") // on loopback
            .arg(electd)
            .args(["run", "--node", &format!("node-{node}"), "--config"])
            .arg(self.folder.join("cluster.json"))
            .arg("--")
            .args(COMMAND)
            .arg(self.folder.join(BEGUN))
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a node starts");
        let life = self.lives;
        let hand_on = |sender: Sender<Line>| {
            move |at: Instant, line: &str| {
                if let Some(said) = said(line) {
                    let _ = sender.send(Line { node, life, said, at }); // the bench may be over
                }
            }
        };
        let stdout = child.stdout.take().expect("it is piped").chain(GONE.as_bytes());
        process::watch(stdout, hand_on(self.sender.clone()));
        let stderr = child.stderr.take().expect("it is piped");
        process::watch(stderr, hand_on(self.sender.clone()));
        self.nodes.insert(node, (life, child));
    }

    /// When a node said this, in its present life: one of these.
    fn await_word(&self, said: Said, of: impl Fn(usize) -> bool) -> (usize, Instant) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let line = self.lines.recv_deadline(deadline).expect("the nodes go on");
            let present = self.nodes.get(&line.node).is_some_and(|(life, _)| *life == line.life);
            if present && line.said == said && of(line.node) {
                return (line.node, line.at);
            }
        }
    }

    /// Kills the electd of this node, and waits until another one leads, its command has begun and that of this node
    /// is gone, in whatever order.
    fn fail_over(&mut self, leader: usize) -> (usize, Took) {
        let (dead, mut child) = self.nodes.remove(&leader).expect("it runs");
        let begin = Instant::now();
        process::signal(&child, Signal::KILL);
        let (mut led, mut begun, mut gone) = (None, None, None);
        let (next, took) = loop {
            let line = self.lines.recv_deadline(begin + TIMEOUT).expect("the nodes go on");
            match line.said {
                Said::Gone if line.life == dead => gone = Some(line.at),
                Said::Leads if line.life != dead => led = Some((line.node, line.at)),
                Said::Begun if line.life != dead => begun = Some(line.at),
                _ => {}
            }
            if let (Some((next, led)), Some(begun), Some(gone)) = (led, begun, gone) {
                let [failover, job, gone] = [led, begun, gone].map(|at| at - begin);
                break (next, Took { failover, job, gone });
            }
        };
        child.wait().expect("a child can be waited for");
        self.start(leader);
        self.await_word(Said::Follows, |node| node == leader);
        thread::sleep(SETTLING);
        (next, took)
    }
}

/// The meaning of a line, if it matters here.
fn said(line: &str) -> Option<Said> {
    match line {
        BEGUN => Some(Said::Begun),
        GONE => Some(Said::Gone),
        line if line.contains(" -> leading, ") => Some(Said::Leads),
        line if line.contains(" -> following, ") => Some(Said::Follows),
        _ => None,
    }
}

fn config(quorum: &str) -> String {
    // All are bound at the same time, so that no port is given twice.
    let free: Vec<TcpListener> =
        (0..NODES).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port is free")).collect();
    let members = free.iter().zip(1..).map(|(listener, n)| {
        json!({
            "name": format!("node-{n}"),
            "id": format!("{n:08x}-0000-4000-8000-000000000000"),
            "address": listener.local_addr().expect("it is bound").to_string(),
        })
    });
    let members: Vec<_> = members.collect();
    json!({
        "cluster": "bench", "quorum": quorum, "preempt": "never", "data_dir": "data", "members": members,
    })
    .to_string()
}

fn measure(quorum: &str, failovers: usize) -> Vec<Took> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("cluster.json"), config(quorum)).expect("it can be written");
    fs::write(folder.path().join(BEGUN), format!("{BEGUN}\n")).expect("it can be written");
    let (sender, lines) = unbounded();
    let nodes = BTreeMap::new();
    let mut bench = Bench { folder: folder.path(), nodes, lives: 0, sender, lines };
    (1..=NODES).for_each(|node| bench.start(node));
    let (mut leader, _) = bench.await_word(Said::Begun, |_| true);
    let took = (0..failovers).map(|_| {
        let (next, took) = bench.fail_over(leader);
        leader = next;
        took
    });
    let took = took.collect();
    for (_, child) in bench.nodes.values_mut() {
        process::signal(child, Signal::TERM); // the guards end what they run
        let _ = child.wait();
    }
    took
}

/// The middle, the 95th percentile and the greatest of these, in milliseconds.
fn figures(times: impl Iterator<Item = Duration>) -> String {
    let mut times: Vec<f64> = times.map(|time| time.as_secs_f64() * 1000.0).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("{:>9.2}{:>9.2}{:>9.2}", at(50), at(95), at(100))
}

fn main() {
    if let Some(role) = process::Role::of_this_process() {
        return role.play(|| (), || (), || ());
    }
    let failovers =
        env::var("JOB_FAILOVERS").ok().and_then(|count| count.parse().ok()).unwrap_or(30);
    println!(
        "kill -9 of the leader's electd, {failovers} times; in ms         median      p95      max"
    );
    for quorum in ["none", "majority"] {
        let took = measure(quorum, failovers);
        println!(
            "quorum {quorum:<9} until the next one leads        {}",
            figures(took.iter().map(|t| t.failover))
        );
        println!(
            "                 until its command runs         {}",
            figures(took.iter().map(|t| t.job))
        );
        let beyond = took.iter().map(|took| took.job.saturating_sub(took.failover));
        println!("                 the second beyond the first    {}", figures(beyond));
        let gone = took.iter().map(|took| took.gone);
        println!("                 until the dead node's is gone  {}", figures(gone));
        let both = took.iter().map(|took| took.gone.saturating_sub(took.job));
        println!("                 both run, at most              {}", figures(both));
    }
}
