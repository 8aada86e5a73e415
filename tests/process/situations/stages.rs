//! The situations, each made by real processes.

use std::env;
use std::fs;
use std::path::PathBuf;

use electd::core::protocol::VERSION;
use electd_facts::problem::ProblemKind;
use serde_json::Value;
use tempfile::TempDir;

use crate::jobs::failing::{RUNS, third_fails};
use crate::problems::{Disk, well, with_check, with_disk_and, with_majority};
use crate::support::clock::clock;
use crate::support::script::ELECTD;
use crate::support::{Cluster, Network, done, electd, steady};

/// A cluster in its situation.
pub struct Scene {
    pub cluster: Cluster,
    /// The node on whose host the views are taken.
    pub from: usize,
    /// The epoch of the leadership before, where there was one.
    pub former: Option<u64>,
    /// What is taken away after the nodes have ended.
    kept: Vec<Kept>,
}

#[allow(dead_code, reason = "it is there for its drop")]
enum Kept {
    Disk(Disk),
    Folder(TempDir),
}

impl Scene {
    fn of(cluster: Cluster, from: usize) -> Scene {
        Scene { cluster, from, former: None, kept: Vec::new() }
    }

    fn after(cluster: Cluster, from: usize, former: u64) -> Scene {
        let mut scene = Scene::of(cluster, from);
        scene.former = Some(former);
        scene
    }

    fn keeping(mut self, kept: Kept) -> Scene {
        self.kept.push(kept);
        self
    }

    /// A file by which a command asks each node over HTTP, also the one on its own host: here all share a `data_dir`, whose
    /// control sockets reach further than a network that is cut.
    pub fn file(&self) -> PathBuf {
        let mut config = self.cluster.config().clone();
        config["data_dir"] = "elsewhere".into();
        let file = self.cluster.file().with_file_name("views.json");
        fs::write(&file, config.to_string()).unwrap();
        file
    }

    /// A line of the table: `<2>` is the epoch that node-2 knows now, `<former>` that of the leadership before.
    pub fn filled(&self, line: &str) -> Result<String, String> {
        let mut filled = line.to_owned();
        for number in 1..=self.cluster.nodes().len() {
            let key = format!("<{number}>");
            if filled.contains(&key) {
                filled = filled.replace(&key, &self.cluster.status(number)?.epoch.to_string());
            }
        }
        let former = self.former.map_or_else(String::new, |epoch| epoch.to_string());
        Ok(filled.replace("<former>", &former))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let has_disk = self.kept.iter().any(|kept| matches!(kept, Kept::Disk(_)));
        if has_disk {
            self.cluster.nodes().iter().for_each(|node| node.kill_9()); // before their disk is gone
            self.kept.clear();
        }
    }
}

/// A majority of members that are seldom missed.
fn majority(config: &mut Value) {
    steady(config);
    config["quorum"] = "majority".into();
}

pub fn healthy() -> Option<Scene> {
    Some(Scene::of(well(steady), 1))
}

/// Of three, the first alone has been started so far.
pub fn first_start() -> Option<Scene> {
    let cluster = Cluster::prepare(3, with_majority);
    cluster.node(1).start();
    Some(Scene::of(cluster, 1))
}

pub fn leader_killed() -> Option<Scene> {
    let cluster = well(steady);
    let former = cluster.agree_on(3);
    cluster.node(3).kill_9();
    cluster.agree_on(2);
    Some(Scene::after(cluster, 1, former))
}

pub fn no_majority() -> Option<Scene> {
    let cluster = well(steady);
    let former = cluster.agree_on(3);
    [2, 3].iter().for_each(|number| cluster.node(*number).kill_9());
    Some(Scene::after(cluster, 1, former))
}

/// Three hosts on one network, which carries HTTP, too.
fn on_hosts() -> Option<Cluster> {
    let network = Network::of(3)?;
    let cluster = Cluster::prepare_at(&network.places_on_cables(), network, majority);
    Some(started(cluster))
}

/// Three hosts whose HTTP has a network of its own, which is not cut.
fn served_beside(quorum: &str) -> Option<Cluster> {
    let network = Network::of(3)?;
    network.widen();
    let change = |config: &mut Value| {
        steady(config);
        config["quorum"] = quorum.into();
    };
    Some(started(Cluster::prepare_at(&network.places_beside(), network, change)))
}

fn started(cluster: Cluster) -> Cluster {
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(3);
    cluster
}

/// The host of the leader is gone at once, and nobody is left there to say so.
pub fn host_lost() -> Option<Scene> {
    let cluster = on_hosts()?;
    let former = cluster.agree_on(3);
    cluster.network().plug(3, false);
    cluster.node(3).kill_9();
    cluster.agree_on(2);
    Some(Scene::after(cluster, 1, former))
}

fn leader_cut_off(from: usize, cluster: Cluster) -> Option<Scene> {
    let former = cluster.agree_on(3);
    cluster.network().plug(3, false);
    cluster.agree_among(&[1, 2], 2);
    Some(Scene::after(cluster, from, former))
}

pub fn cut_off_seen_by_itself() -> Option<Scene> {
    leader_cut_off(3, on_hosts()?)
}

pub fn cut_off_seen_by_the_others() -> Option<Scene> {
    leader_cut_off(1, on_hosts()?)
}

pub fn cut_off_seen_by_all() -> Option<Scene> {
    leader_cut_off(1, served_beside("majority")?)
}

pub fn two_leaders() -> Option<Scene> {
    leader_cut_off(1, served_beside("none")?)
}

pub fn disk_full() -> Option<Scene> {
    let (cluster, disk) = with_disk_and(1, majority)?;
    disk.fill();
    Some(Scene::of(cluster, 2).keeping(Kept::Disk(disk)))
}

pub fn state_lost() -> Option<Scene> {
    let cluster = well(steady);
    cluster.lose_state_of_first();
    Some(Scene::of(cluster, 2))
}

fn ordered(order: &[&str]) -> Option<Scene> {
    let cluster = well(steady);
    let former = cluster.agree_on(3);
    done(&electd(&cluster, order));
    cluster.agree_on(2);
    Some(Scene::after(cluster, 1, former))
}

pub fn drained() -> Option<Scene> {
    ordered(&["drain", "--node", "node-3", "--reason", "new fan"])
}

pub fn resigned() -> Option<Scene> {
    ordered(&["resign"])
}

pub fn unhealthy() -> Option<Scene> {
    let folder = tempfile::tempdir().unwrap();
    let cluster = with_check(folder.path());
    let former = cluster.agree_on(3);
    fs::write(folder.path().join("ill-node-3"), "").unwrap();
    cluster.agree_on(2);
    Some(Scene::after(cluster, 1, former).keeping(Kept::Folder(folder)))
}

/// The job ends with code 3 on the host of node-3, which starts anew, as its unit has it.
pub fn job_failing() -> Option<Scene> {
    let cluster = third_fails(&[]);
    assert_eq!(cluster.node(3).exit_code(), 3);
    cluster.agree_on(2);
    cluster.node(3).start_as(&RUNS, &[]);
    cluster.agree_on(2);
    Some(Scene::of(cluster, 1))
}

/// Whoever leads is killed and started again, until the nodes call that a problem.
pub fn flapping() -> Option<Scene> {
    let cluster = well(|_| {});
    let is_told =
        || cluster.status(1).is_ok_and(|own| own.problem(ProblemKind::LeaderChanges).is_some());
    while !is_told() {
        let (leader, _) = cluster.agree();
        cluster.node(leader).restart();
        cluster.agree();
    }
    Some(Scene::of(cluster, 1))
}

pub fn clocks_apart() -> Option<Scene> {
    let folder = tempfile::tempdir().unwrap();
    let library = clock(folder.path(), "-= 90")?;
    let cluster = Cluster::prepare(3, majority);
    [1, 3].iter().for_each(|number| cluster.node(*number).start());
    cluster.node(2).start_in(&[("LD_PRELOAD", library.to_str().unwrap())]);
    cluster.agree_on(3);
    Some(Scene::of(cluster, 1).keeping(Kept::Folder(folder)))
}

/// The program of an earlier version: `ELECTD_OLD`, or else this build with another number.
fn another_version(folder: &TempDir) -> PathBuf {
    if let Some(old) = env::var_os("ELECTD_OLD") {
        return old.into();
    }
    let mut program = fs::read(ELECTD).unwrap();
    let version = VERSION.as_bytes();
    for at in 0..program.len() - version.len() {
        if program[at..].starts_with(version) {
            program[at] = b'9';
        }
    }
    let path = folder.path().join("electd");
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::metadata(ELECTD).unwrap().permissions()).unwrap();
    path
}

pub fn two_versions() -> Option<Scene> {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::prepare(3, majority);
    cluster.node(1).build.replace(Some(another_version(&folder)));
    Some(Scene::of(started(cluster), 1).keeping(Kept::Folder(folder)))
}
