//! One round: a cluster starts, suffers, is healed and agrees, some times over; then it stops, and all of it is judged.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use electd::node::status::Status;
use rustix::process::Signal;

use crate::cluster::{Broken, Cluster};
use crate::events::{Counts, now};
use crate::faults::strike;
use crate::host::Host;
use crate::http;
use crate::judge::judge;
use crate::network::inside;
use crate::plan::Plan;
use crate::report::failure_report;

/// What a busy machine may add to a printed bound: the back-off of a dial and of an election that was lost are in it.
const SLACK: Duration = Duration::from_secs(20);

/// How long the last processes may take to be gone after the end of their node.
const GONE: Duration = Duration::from_secs(5);

pub enum Outcome {
    Passed,
    /// What was broken, with the events around it.
    Failed(String),
    Interrupted,
}

pub fn run(plan: &Plan, counts: &mut Counts, stop: &AtomicBool) -> Outcome {
    let mut cluster = Cluster::new(plan).unwrap_or_else(|error| panic!("no cluster: {error}"));
    let mut ended = play(&mut cluster, counts, stop);
    if stop.load(Ordering::SeqCst) {
        return Outcome::Interrupted;
    }
    if ended.is_ok() {
        ended = end(&mut cluster, counts);
    }
    cluster.broken.extend(ended.err().map(Broken::now));
    let broken = judge(&mut cluster, counts);
    if broken.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed(failure_report(&cluster, &broken))
    }
}

/// Faults and heals, until something is broken.
fn play(cluster: &mut Cluster<'_>, counts: &mut Counts, stop: &AtomicBool) -> Result<(), String> {
    settle(cluster, counts, stop)?;
    for _ in 0..cluster.plan.phases {
        let end = Instant::now() + cluster.time(8000, 15_999);
        // In a storm one fault meets what another one left; in the calm a job runs when it comes.
        let (shortest, longest) = [(20, 1000), (300, 4000)][cluster.pick(2)];
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        cluster.events.add(format!("faults begin; the machine's load is {}", load.trim()));
        let mut next = Instant::now();
        while Instant::now() < end && !stop.load(Ordering::SeqCst) {
            if next <= Instant::now() {
                strike(cluster, counts);
                next = Instant::now() + cluster.time(shortest, longest);
            }
            cluster.turn(counts);
        }
        cluster.events.add("heal");
        heal(cluster);
        settle(cluster, counts, stop)?;
    }
    Ok(())
}

fn heal(cluster: &mut Cluster<'_>) {
    cluster.heal_network();
    for host in &mut cluster.hosts {
        host.thaw(true);
        host.make_writable(true);
        host.go_on(true);
        for process in host.all() {
            process.stay_down(Duration::ZERO);
        }
    }
}

/// Waits until all members agree on a leader that alone leads, and its host runs all jobs.
fn settle(cluster: &mut Cluster<'_>, counts: &mut Counts, stop: &AtomicBool) -> Result<(), String> {
    let bound = cluster.longest.failover + SLACK;
    let begin = Instant::now();
    cluster.undrained();
    let mut undrained = vec![false; cluster.hosts.len()];
    let all_are_up = |cluster: &mut Cluster<'_>| {
        for (host, undrained) in cluster.hosts.iter().zip(&mut undrained) {
            *undrained = *undrained || undrain(host);
        }
        let ready = cluster.has_answered() && undrained.iter().all(|undrained| *undrained);
        let why = || format!("nodes answer: {undrained:?}, orders: {}", cluster.has_answered());
        if ready { Ok(String::new()) } else { Err(why()) }
    };
    await_that(cluster, counts, stop, bound, all_are_up)?;
    let leader = await_that(cluster, counts, stop, bound, agreed)?;
    let took = begin.elapsed();
    cluster.events.add(format!("all follow {leader} after {took:?}"));
    counts.agreed.push(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    order_anyone(cluster, "/resume", "{}");
    order_anyone(cluster, "/switchover", "{\"clear\": true}");
    await_that(cluster, counts, stop, bound, runs_its_jobs)?;
    cluster.events.add("all jobs run");
    await_that(cluster, counts, stop, bound, |cluster| {
        cluster.names.read();
        let unheld = cluster.names.unheld();
        if unheld.is_empty() { Ok(String::new()) } else { Err(format!("nobody holds {unheld:?}")) }
    })?;
    cluster.events.add("all locks are held");
    Ok(())
}

/// Takes turns until this holds. A bound counts while the machine runs us: members that it does not run are silent.
fn await_that(
    cluster: &mut Cluster<'_>,
    counts: &mut Counts,
    stop: &AtomicBool,
    bound: Duration,
    mut look: impl FnMut(&mut Cluster<'_>) -> Result<String, String>,
) -> Result<String, String> {
    let begin = Instant::now();
    loop {
        cluster.turn(counts);
        match look(cluster) {
            Ok(found) => return Ok(found),
            Err(why) if is_late(cluster, begin.elapsed(), bound) => {
                return Err(format!("not within {bound:?} after a heal: {why}"));
            }
            Err(_) if stop.load(Ordering::SeqCst) => return Err("interrupted".to_owned()),
            Err(_) => {}
        }
    }
}

fn is_late(cluster: &Cluster<'_>, elapsed: Duration, bound: Duration) -> bool {
    let message = cluster.plan.failure / 10;
    elapsed > bound && (cluster.pulse.was_steady(bound, message) || elapsed > bound * 10)
}

fn undrain(host: &Host) -> bool {
    let answer = http::tell(&host.state(), "POST", "/undrain", "{}");
    answer.is_ok_and(|answer| answer.code == 200)
}

fn order_anyone(cluster: &mut Cluster<'_>, path: &str, body: &str) {
    let answer = http::tell(&cluster.hosts[0].state(), "POST", path, body);
    let code = answer.map_or_else(|error| error.to_string(), |answer| answer.code.to_string());
    cluster.events.add(format!("{path}: {code}"));
}

fn status(host: &Host) -> Result<Status, String> {
    let answer = http::tell(&host.state(), "GET", "/status", "");
    let answer = answer.map_err(|error| format!("{}: {error}", host.name))?;
    serde_json::from_str(&answer.body).map_err(|error| format!("{}: {error}", host.name))
}

/// The leader that all members name, in one epoch, and that alone leads.
fn agreed(cluster: &mut Cluster<'_>) -> Result<String, String> {
    let statuses = cluster.hosts.iter().map(status).collect::<Result<Vec<Status>, String>>()?;
    let named = |status: &Status| status.leader.as_ref().map(|leader| leader.name.clone());
    let row = |status: &Status| {
        let named = named(status).unwrap_or_default();
        format!("{} {} {named} {}", status.node.name, status.state, status.epoch)
    };
    let table = || statuses.iter().map(row).collect::<Vec<_>>().join("; ");
    let leader = named(&statuses[0]).ok_or_else(table)?;
    let agrees = statuses.iter().all(|status| {
        let leads = status.node.name == leader;
        named(status).as_ref() == Some(&leader)
            && status.epoch == statuses[0].epoch
            && status.state == if leads { "leading" } else { "following" }
    });
    if agrees { Ok(leader) } else { Err(table()) }
}

/// All jobs wrote just now, on the host of the leader.
fn runs_its_jobs(cluster: &mut Cluster<'_>) -> Result<String, String> {
    cluster.ledger.read();
    let leader = agreed(cluster)?;
    let fresh = now().saturating_sub(300_000_000);
    for slot in cluster.plan.slots() {
        let latest = cluster.ledger.latest(slot);
        if !latest.is_some_and(|(node, _, time)| *node == leader && *time > fresh) {
            return Err(format!("job {slot} does not run at {leader}: {latest:?}"));
        }
    }
    Ok(leader)
}

/// Ends all nodes, cleanly or not. Nothing of them is left then.
fn end(cluster: &mut Cluster<'_>, counts: &mut Counts) -> Result<(), String> {
    let cleanly = cluster.pick(3) > 0;
    cluster.events.add(if cleanly { "the end by TERM" } else { "the end by KILL" });
    let timeout = cluster.plan.stop_within();
    let for_good = timeout * 10;
    for host in &mut cluster.hosts {
        let all: Vec<_> = host.all().collect();
        for (at, process) in all.into_iter().enumerate() {
            if cleanly {
                let ends: &[i32] = if at == 0 { &[0] } else { &[0, 143, 137, 75] };
                ends.iter().for_each(|end| process.expect(*end));
                process.stop(Signal::TERM, timeout);
            } else {
                process.kill(for_good);
            }
            process.stay_down(for_good);
        }
    }
    let stopped = |cluster: &mut Cluster<'_>| {
        let runs = |host: &mut Host| host.all().any(|process| process.pid().is_some());
        if cluster.hosts.iter_mut().any(runs) { Err(String::new()) } else { Ok(String::new()) }
    };
    let never = AtomicBool::new(false);
    await_that(cluster, counts, &never, timeout + GONE, stopped)
        .map_err(|_| "not all processes have ended".to_owned())?;
    // After a crash a coroner answers for 16 leases, and none is longer than `failure`.
    let answered = if cleanly { Duration::ZERO } else { cluster.plan.failure * 16 };
    await_that(cluster, counts, &never, answered + GONE, is_gone).map(drop)
}

/// Whether no process, no listener and no address is left of the cluster.
fn is_gone(cluster: &mut Cluster<'_>) -> Result<String, String> {
    for host in &cluster.hosts {
        let left = host.processes();
        if let Some(pid) = left.first() {
            let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
            let line = String::from_utf8_lossy(&line.unwrap_or_default()).replace('\0', " ");
            return Err(format!("{} processes are left on {}: {line}", left.len(), host.name));
        }
        let listening = |line: &&str| line.split_whitespace().nth(3) == Some("0A");
        let sockets = inside(&host.home, || fs::read_to_string("/proc/thread-self/net/tcp"));
        let sockets = sockets.unwrap_or_default();
        if let Some(line) = sockets.lines().find(listening) {
            return Err(format!("a listener is left on {}: {line}", host.name));
        }
        if host.has_address() {
            return Err(format!("the address is left on {}", host.name));
        }
    }
    Ok(String::new())
}
