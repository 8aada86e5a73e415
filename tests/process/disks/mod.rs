//! Disks that lose what was not synced, fail to sync, are full, are broken or hang, under the state of each node. Needs root
//! and `/dev/fuse`; elsewhere every test says so and passes.

mod faults;
mod power;

use std::fs;
use std::ops::Deref;
use std::path::PathBuf;

use electd::core::random::Random;
use lossy::Disk;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::jobs::{children, coroner_of};
use crate::support::{Cluster, Condition, Node, watchful};

/// A cluster that leads with a majority, each of whose nodes has a disk of its own.
struct Scene {
    cluster: Cluster,
    disks: Vec<Disk>,
}

impl Scene {
    /// Nodes that have not been started yet; none, with a line that says so, where this process may not mount a disk.
    fn prepare(nodes: usize, change: impl FnOnce(&mut Value)) -> Option<Scene> {
        let cluster = Cluster::prepare(nodes, |config| {
            watchful(config);
            config["quorum"] = "majority".into();
            change(config);
        });
        let mut scene = Scene { cluster, disks: Vec::new() };
        for number in 1..=nodes {
            let folder = scene.node(number).state();
            fs::create_dir_all(&folder).unwrap();
            match Disk::mount(&folder) {
                Ok(disk) => scene.disks.push(disk),
                Err(error) => {
                    println!("skipped: a disk for tests needs root and /dev/fuse: {error}");
                    return None;
                }
            }
        }
        Some(scene)
    }

    /// The same, and the nodes have been started.
    fn start(nodes: usize) -> Option<Scene> {
        let scene = Scene::prepare(nodes, |_| {})?;
        scene.nodes().iter().for_each(Node::start);
        Some(scene)
    }

    /// The disk of the node with this number.
    fn disk(&self, number: usize) -> &Disk {
        &self.disks[number - 1]
    }

    /// The power of these hosts fails at one moment: nothing that runs there does anything more, and their disks lose a part
    /// of what was not synced.
    fn cut_power(&self, numbers: &[usize], random: &mut Random) {
        let seeds: Vec<u64> = numbers.iter().map(|_| random.draw()).collect();
        self.end_hosts(numbers, |at| self.disk(numbers[at]).power_failure(seeds[at]));
    }

    /// The same, and the disk loses all of that.
    fn cut_power_and_lose(&self, number: usize) {
        self.end_hosts(&[number], |_| self.disk(number).lose_all_unsynced());
    }

    fn end_hosts(&self, numbers: &[usize], lose: impl Fn(usize)) {
        let nodes = || numbers.iter().map(|number| self.node(*number));
        // A node that goes on would start another coroner, and a coroner would certify the death of its node.
        nodes().filter(|node| node.runs()).for_each(Node::freeze);
        let running = nodes().filter(|node| node.condition() != Condition::Down);
        let nodes: Vec<Pid> = running.map(Node::pid).collect();
        // One that was started just now does not have its name yet.
        let below = |pid: &Pid| children(*pid).chain(coroner_of(*pid)).collect::<Vec<_>>();
        let all: Vec<Pid> = nodes.iter().flat_map(below).collect();
        all.into_iter().chain(nodes).for_each(kill);
        // A process that waits for its disk ends only when that answers, so its end is awaited after that.
        for (at, number) in numbers.iter().enumerate() {
            lose(at);
            if self.node(*number).condition() != Condition::Down {
                self.node(*number).reap();
            }
        }
    }

    /// What a node stored last, as processes see it.
    fn stored(&self, number: usize) -> Result<Value, String> {
        let file: PathBuf = self.state_file(number);
        let text = fs::read_to_string(&file).map_err(|error| format!("{file:?}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{file:?}: {error}"))
    }
}

impl Deref for Scene {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl Drop for Scene {
    /// The processes end, then the disks go, and then the folder that they are mounted in.
    fn drop(&mut self) {
        for disk in &self.disks {
            disk.hang(None);
        }
        for node in self.nodes() {
            node.kill_9();
            node.bury();
        }
        self.disks.clear();
    }
}

fn kill(process: Pid) {
    let _ = kill_process(process, Signal::KILL); // it may have ended by itself
}
