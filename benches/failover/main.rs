//! How long a cluster is without a leader: real `electd` processes, each in a network namespace of its own, from just
//! before the fault until the last survivor knows the next leader, beside the floor of the same run. Where no namespace can
//! be made, which needs root and `ip`, all of them run on loopback, and the report says so.
//!
//! electd stands beside keepalived and etcd where these are installed (`apt-get install keepalived etcd-server`).
//!
//! `FAILOVER_PEERS=only` measures nothing but these three, and `FAILOVER_PEERS=no` leaves them out.
//! `FAILOVER_BUSY=600` counts their false changes while busy loops run for as many seconds.
//! `FAILOVER_RUNS=30` is the number of faults of each kind, `FAILOVER_LARGE=25` adds a cluster of
//! that many processes with a calm minute, `FAILOVER_QUORUM=majority` leaves out the clusters without
//! one, `FAILOVER_TLS=only` measures TLS beside plain connections and, if asked for, the large cluster over TLS, and nothing
//! else, `FAILOVER_TLS=no` leaves TLS out, and `FAILOVER_ELECTD=PATH` measures another build.
//! `FAILOVER_BESIDE=PATH` measures nothing but this build beside others (their paths, with colons
//! between), whose leaders are struck by turns, `FAILOVER_ONLY="SIGTERM bully majority"` only by such faults.
//! `FAILOVER_SYNC=50` has each sync take as many milliseconds, on a disk for tests. Linux only: it reads /proc.

mod calm;
mod cluster;
mod disk;
mod faults;
mod floor;
mod memory;
#[path = "../../tests/process/support/network.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod network;
mod peers;
mod process;
mod report;
mod scratch;

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use cluster::Cluster;
use disk::Disk;
use electd::core::random::Random;
use electd::core::settings::{AlgorithmKind, Quorum};
use faults::{Fault, Run};
use process::Role;
use report::Report;
use scratch::Scratch;

/// The default timing of electd, which the clusters run at.
const HEARTBEAT: Duration = Duration::from_millis(100);
const FAILURE: Duration = Duration::from_millis(500);

/// How long the use of an idle cluster is measured.
const CALM: Duration = Duration::from_secs(5);

/// How long a large cluster must keep its leader.
const CALM_LARGE: Duration = Duration::from_secs(60);

/// The algorithm of the clusters that are not there to compare algorithms.
const BULLY: AlgorithmKind = AlgorithmKind::Bully;

/// The mode of those that are not there to measure a majority.
const NONE: Quorum = Quorum::None;

fn main() {
    if let Some(role) = Role::of_this_process() {
        return role.play(floor::echo, floor::survive, floor::wait_for_death);
    }
    let runs = setting("FAILOVER_RUNS", 30);
    let large = setting("FAILOVER_LARGE", 0);
    let sync = Duration::from_millis(setting("FAILOVER_SYNC", 0) as u64);
    let scratch = Scratch::new(sync);
    let mut report = Report::default();
    let mut random = Random::new(u64::from(std::process::id()));
    if let Some(others) = env::var_os("FAILOVER_BESIDE") {
        let programs: Vec<_> =
            env::split_paths(&others).chain([cluster::program().into()]).collect();
        measure_builds(&programs, &scratch, runs, &mut random, &mut report);
        return report.print();
    }
    let peers = env::var("FAILOVER_PEERS").unwrap_or_default();
    if peers != "no" {
        let busy = Duration::from_secs(setting("FAILOVER_BUSY", 0) as u64);
        peers::measure(|name| scratch.folder(name), (runs, busy), &mut random, &mut report);
    }
    if peers == "only" {
        return report.print();
    }
    let tls = env::var("FAILOVER_TLS").unwrap_or_default();
    if tls != "no" {
        measure_tls(&scratch, runs, &mut random, &mut report);
    }
    if tls == "only" {
        if large > 0 {
            let cluster = Cluster::start_over_tls(scratch.folder("large"), large, BULLY, NONE);
            measure_large(cluster, &mut random, &mut report);
        }
        return report.print();
    }
    if env::var("FAILOVER_QUORUM").as_deref() != Ok(Quorum::Majority.name()) {
        measure_none(&scratch, runs, &mut random, &mut report);
    }
    measure_majority(&scratch, runs, &mut random, &mut report);
    let mut disk = Disk::new(&scratch.folder("disk"));
    let writes: Vec<_> = (0..runs).map(|_| disk.measure()).collect();
    report.durable_write(&writes);
    if large > 0 {
        let cluster = Cluster::start(scratch.folder("large"), large, BULLY, NONE);
        measure_large(cluster, &mut random, &mut report);
    }
    report.print();
}

/// Clusters of 5 that differ only by the program that they run; the first program is what the others are
/// held to.
fn measure_builds(
    programs: &[PathBuf],
    scratch: &Scratch,
    runs: usize,
    random: &mut Random,
    report: &mut Report,
) {
    let both = [NONE, Quorum::Majority];
    let kills = both.map(|quorum| AlgorithmKind::ALL.map(|it| (it, quorum, Fault::Kill)));
    let handovers = both.map(|quorum| (BULLY, quorum, Fault::Terminate));
    let only = only();
    for (algorithm, quorum, fault) in kills.into_iter().flatten().chain(handovers) {
        if !format!("{} {} {}", fault.name(), algorithm.name(), quorum.name()).contains(&only) {
            continue;
        }
        let name_of = |at: usize, program: &PathBuf| {
            let file = program.file_name().unwrap_or_default().display();
            format!("{} {}, {}: {file}", algorithm.name(), quorum.name(), at + 1)
        };
        let names: Vec<_> = programs.iter().enumerate().map(|(at, it)| name_of(at, it)).collect();
        let mut builds: Vec<_> = programs
            .iter()
            .zip(&names)
            .map(|(program, name)| {
                let folder = scratch.folder(&format!("{} {name}", fault.name()));
                let cluster = Cluster::start_of(program.into(), folder, 5, algorithm, quorum);
                (name.as_str(), Run::new(cluster, random.draw()))
            })
            .collect();
        for (name, run) in &builds {
            report.usage(&format!("5, {name}"), &calm::usage(&run.cluster, CALM));
        }
        faults::compare(&mut builds, fault, runs, report);
    }
}

/// Failovers of clusters whose leader needs no votes.
fn measure_none(scratch: &Scratch, runs: usize, random: &mut Random, report: &mut Report) {
    for size in [3, 5, 9] {
        let folder = scratch.folder(&format!("{size}"));
        let mut run = Run::new(Cluster::start(folder, size, BULLY, NONE), random.draw());
        if size == 5 {
            report.usage(&size.to_string(), &calm::usage(&run.cluster, CALM));
        }
        run.measure(Fault::Kill, runs, report);
        if size == 5 {
            run.measure(Fault::Terminate, runs, report);
            run.measure(Fault::KillWithoutDisk, runs, report);
            run.measure(Fault::Freeze, runs.div_ceil(3), report);
        }
    }
    let mut by_algorithm = AlgorithmKind::ALL.map(|algorithm| {
        let cluster = Cluster::start(scratch.folder(algorithm.name()), 5, algorithm, NONE);
        (algorithm.name(), Run::new(cluster, random.draw()))
    });
    faults::compare(&mut by_algorithm, Fault::Kill, runs, report);
}

/// The cost of TLS: two clusters that differ in nothing else, whose leaders are killed in turn.
fn measure_tls(scratch: &Scratch, runs: usize, random: &mut Random, report: &mut Report) {
    for quorum in [NONE, Quorum::Majority] {
        let folder = |name: &str| scratch.folder(&format!("{name}-{}", quorum.name()));
        let plain = Cluster::start(folder("plain"), 5, BULLY, quorum);
        let secured = Cluster::start_over_tls(folder("tls"), 5, BULLY, quorum);
        let names = ["plain", "tls"].map(|name| format!("{name}, {}", quorum.name()));
        let both = names.each_ref().map(String::as_str).into_iter().zip([plain, secured]);
        let mut both: Vec<_> =
            both.map(|(name, cluster)| (name, Run::new(cluster, random.draw()))).collect();
        for (name, run) in &both {
            report.usage(&format!("5, {name}"), &calm::usage(&run.cluster, CALM));
        }
        faults::compare(&mut both, Fault::Kill, runs, report);
    }
}

/// Failovers of clusters whose voters are bound to their leader.
fn measure_majority(scratch: &Scratch, runs: usize, random: &mut Random, report: &mut Report) {
    let only = only();
    for size in [3, 5, 9] {
        let folder = scratch.folder(&format!("majority-{size}"));
        let cluster = Cluster::start(folder, size, BULLY, Quorum::Majority);
        let mut run = Run::new(cluster, random.draw());
        run.disk = Some(Disk::new(&scratch.folder(&format!("disk-{size}"))));
        for fault in
            [Fault::Kill, Fault::KillWithoutDisk, Fault::Segfault, Fault::Abort, Fault::OutOfMemory]
        {
            if fault.name().contains(&only) {
                run.measure(fault, runs, report);
            }
        }
        if size < 9 && only.is_empty() {
            run.measure(Fault::Terminate, runs, report);
            run.measure(Fault::Freeze, runs.div_ceil(3), report);
        }
    }
}

/// Whether many processes on one machine elect, stay calm and fail over.
fn measure_large(cluster: Cluster, random: &mut Random, report: &mut Report) {
    let size = cluster.size();
    report.first_election(size, cluster.first_election());
    let mut run = Run::new(cluster, random.draw());
    report.usage(&size.to_string(), &calm::usage(&run.cluster, CALM));
    report.calm(size, CALM_LARGE, run.cluster.count_changes(CALM_LARGE));
    run.measure(Fault::Kill, 10, report);
}

/// Words in the names of the faults that are measured.
fn only() -> String {
    env::var("FAILOVER_ONLY").unwrap_or_default()
}

/// A number from the environment.
fn setting(name: &str, default: usize) -> usize {
    let Ok(value) = env::var(name) else { return default };
    value.parse().unwrap_or_else(|_| panic!("{name} is \"{value}\": give it a number"))
}
