//! The coroner of a node: what it certifies, and when it is silent.
//!
//! With [`slow`] timings no lease and no silence ends within a test: what another member does soon, it does by a
//! certificate.

mod attacks;
mod certified;
mod container;
mod firewall;
mod jobs;
mod killed;
mod process;
mod renewed;
mod restart;
mod silent;
mod versions;

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::jobs::attached::lives;
use crate::jobs::coroner_of;
use crate::support::{Cluster, Node, ensure, eventually, within};

/// Far less than a lease of the slow timings, and many times what a failover by a certificate takes.
const SOON: Duration = Duration::from_secs(8);

/// How long a dial of a test waits for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A majority, and timings by which nobody who is silent is missed within a test.
fn slow(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "20s", "heartbeat": "500ms", "message": "500ms"});
}

/// A majority, and a lease of some seconds.
fn quick(config: &mut Value) {
    slow(config);
    config["timing"] = json!({"failure": "3s", "heartbeat": "100ms", "message": "250ms"});
}

/// The coroner of this node, which runs.
#[track_caller]
fn coroner(node: &Node) -> Pid {
    coroner_of(node.pid()).unwrap_or_else(|| panic!("{} has no coroner", node.name))
}

/// Sends a signal that ends the process of this node, and waits for its end.
pub fn crash(node: &Node, signal: Signal) {
    let process = node.pid();
    // The first SEGV tells Rust of a fault that does not come again; and of two that wait, the kernel drops one.
    eventually("the process has crashed", || {
        kill_process(process, signal).unwrap(); // it has not been waited for, so it is there
        ensure(!lives(process), || "it runs".to_owned())
    });
    node.reap();
}

/// The end of a node and of its coroner: nobody certifies that.
#[track_caller]
fn kill_both(node: &Node) {
    let coroner = coroner(node);
    kill_process(coroner, Signal::KILL).unwrap();
    node.kill_9();
    until_gone_soon(coroner); // the port is free
}

#[track_caller]
fn until_gone(process: Pid) {
    eventually("the process has ended", || has_ended(process));
}

/// The same, much sooner than sixteen leases after the death, when a coroner ends in any case.
#[track_caller]
fn until_gone_soon(process: Pid) {
    within(SOON, "the process has ended", || has_ended(process));
}

fn has_ended(process: Pid) -> Result<(), String> {
    ensure(test_kill_process(process).is_err(), || format!("{process:?} runs"))
}

/// Waits until others lead than this node, by what they were told: much sooner than by its lease.
#[track_caller]
fn until_replaced(cluster: &Cluster, dead: usize) -> usize {
    let others = || (1..=cluster.nodes().len()).filter(move |number| *number != dead);
    within(SOON, "another node leads", || {
        let leads =
            |number: &usize| cluster.status(*number).is_ok_and(|status| status.state == "leading");
        others().find(leads).ok_or_else(|| "none does".to_owned())
    })
}

/// The two others of three.
fn others(of: usize) -> [usize; 2] {
    [of % 3 + 1, (of + 1) % 3 + 1]
}

/// None of these leads, nor has voted for another: they miss the leader, and are bound by their promises.
#[track_caller]
fn nobody_is_free(cluster: &Cluster, numbers: [usize; 2], epoch: u64) {
    for number in numbers {
        let status = cluster.status(number).unwrap();
        assert_ne!(status.state, "leading");
        assert_eq!(status.epoch, epoch, "node-{number} is {}", status.state);
    }
}

/// The lease of this leader does not end before, counted as a client has to.
#[track_caller]
fn end_of_lease(cluster: &Cluster, leader: usize) -> Instant {
    let asked = Instant::now();
    let left = cluster.status(leader).unwrap().lease_remaining_ms.unwrap();
    asked + Duration::from_millis(left)
}

/// All that whoever answers at the address of this node says, before the dialer says anything.
fn said(node: &Node) -> std::io::Result<Vec<u8>> {
    said_at(node.address)
}

fn said_at(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said)?;
    Ok(said)
}

/// Whether this is a certificate.
fn is_certificate(said: &[u8]) -> bool {
    said.get(4..).is_some_and(|json| json.starts_with(b"{\"dead\":{"))
}

/// A job that shows an overlap, and what it leaves on the way: its processes hold a lock, and it notes that it has begun.
struct Job {
    folder: PathBuf,
}

/// How a job ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// At TERM.
    Obeys,
    /// Only by KILL, and so does a process of it that is twice removed from it.
    Ignores,
}

impl Job {
    fn of(cluster: &Cluster) -> Job {
        let folder = cluster.file().parent().unwrap().to_path_buf();
        fs::write(folder.join("began"), "").unwrap();
        Job { folder }
    }

    /// The program and its arguments.
    fn command(&self, manner: Manner) -> [String; 3] {
        let trap = if manner == Manner::Ignores { "trap '' TERM; " } else { "" };
        let script = format!(
            "{trap}cd {}; exec 9>held; flock -n 9 || echo $ELECTD_NODE >>overlap; \
             (setsid sh -c 'echo $$ >child; exec sleep 1000' &) ; echo $ELECTD_NODE >>began; exec sleep 1000",
            self.folder.display()
        );
        ["sh".to_owned(), "-c".to_owned(), script]
    }

    /// Waits until it has begun so many times, and tells where it did last. It never overlaps.
    #[track_caller]
    fn until_begun(&self, times: usize, bound: Duration) -> String {
        let node = within(bound, &format!("the job has begun {times} times"), || {
            let began = fs::read_to_string(self.folder.join("began")).unwrap();
            let all: Vec<&str> = began.lines().collect();
            ensure(all.len() >= times, || began.clone())?;
            all.last().map(|last| (*last).to_owned()).ok_or_else(String::new)
        });
        let overlap = fs::read_to_string(self.folder.join("overlap")).unwrap_or_default();
        assert_eq!(overlap, "", "two jobs at one instant");
        node
    }

    /// The process that is twice removed from the command.
    #[track_caller]
    fn child(&self) -> Pid {
        eventually("the job has a child", || {
            let number = fs::read_to_string(self.folder.join("child")).unwrap_or_default();
            let number = number.trim().parse().ok().and_then(Pid::from_raw);
            number.ok_or_else(|| "not yet".to_owned())
        })
    }
}

/// The number of the node of this name.
fn number(cluster: &Cluster, name: &str) -> usize {
    cluster.nodes().iter().position(|node| node.name == name).unwrap() + 1
}
