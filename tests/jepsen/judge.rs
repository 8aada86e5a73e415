//! What must hold after a round: never two jobs, never two leaders, one leader of each epoch, nothing odd in the logs.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::{Broken, Cluster};
use crate::config::Bounds;
use crate::events::{Counts, nanos};
use crate::ledger::Finding;

/// After a frozen host goes on, its jobs run until one of electd and the guard acts.
const MOMENT: u64 = 1_000_000_000;

/// What a log has only if there is a defect.
const DEFECTS: &[&str] = &["panicked at", "please report this", "RUST_BACKTRACE"];

pub fn judge(cluster: &mut Cluster<'_>, counts: &mut Counts) -> Vec<Broken> {
    let mut broken: Vec<Broken> = cluster.broken.drain(..).collect();
    cluster.ledger.read();
    counts.jobs += cluster.ledger.begun;
    counts.torn += cluster.ledger.torn;
    let leaders = leaders(cluster);
    counts.leaderships += leaders.len();
    broken.extend(defects(cluster).into_iter().map(Broken::now));
    if !cluster.plan.majority {
        return broken; // docs/guarantees.md promises none of the following
    }
    counts.refused += cluster.ledger.refused;
    counts.idle.extend(cluster.ledger.gaps());
    let mut findings = cluster.ledger.findings.clone();
    findings.extend(cluster.ledger.overlaps());
    cluster.names.read();
    counts.takings += cluster.names.takings();
    counts.unheld.extend(cluster.names.gaps());
    let of_names = cluster.names.findings();
    broken.extend(of_names.into_iter().map(|(at, what)| Broken { at, what }));
    for ledger in &cluster.names.ledgers {
        counts.takings += ledger.begun;
        let all = ledger.findings.iter().cloned().chain(ledger.overlaps());
        let name = ledger.name();
        findings.extend(all.map(|it| Finding { what: format!("{name}: {}", it.what), ..it }));
    }
    for finding in findings {
        let still = pause(cluster, &finding);
        let what = format!("{} (the machine stood still for {still:?} at most)", finding.what);
        if let Some(exception) = exception(cluster, &finding, still) {
            *counts.excepted.entry(exception).or_default() += 1;
        } else {
            broken.push(Broken { at: finding.from, what });
        }
    }
    for (epoch, nodes) in leaders {
        if nodes.len() > 1 {
            broken.push(Broken::now(format!("epoch {epoch} had the leaders {nodes:?}")));
        }
    }
    let pairs = cluster.leaders.claims().pairs();
    broken.extend(pairs.iter().map(|pair| Broken::now(format!("two leaders: {pair}"))));
    broken
}

/// The exception of docs/exec.md that this is, if it is one.
fn exception(cluster: &Cluster<'_>, finding: &Finding, still: Duration) -> Option<&'static str> {
    let hosts = cluster.hosts.iter().filter(|host| finding.nodes.contains(&host.name));
    let mut frozen = hosts.flat_map(|host| &host.excepted);
    let was_frozen = frozen
        .any(|(from, until)| finding.from + MOMENT / 20 > *from && finding.until < until + MOMENT);
    // The votes outlive the lease by 2/11 of it, as clocks may differ; here they do not.
    let Bounds { job_kill, lease, .. } = cluster.shortest;
    if finding.always {
        None
    } else if was_frozen {
        Some("of a host that was frozen")
    } else {
        (still >= job_kill + lease * 2 / 11).then_some("while the machine stood still")
    }
}

/// For how long the machine did not run this program while the older job should have ended.
fn pause(cluster: &Cluster<'_>, finding: &Finding) -> Duration {
    let before = nanos(cluster.longest.lease);
    cluster.pulse.longest(finding.from.saturating_sub(before), finding.until)
}

/// The nodes that led in each epoch: as they said when asked, and in their logs.
fn leaders(cluster: &Cluster<'_>) -> BTreeMap<u64, Vec<String>> {
    let mut leaders: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut add = |epoch: u64, node: &str| {
        let nodes = leaders.entry(epoch).or_default();
        if !nodes.iter().any(|known| known == node) {
            nodes.push(node.to_owned());
        }
    };
    for leadership in cluster.leaders.claims().leaderships() {
        add(leadership.epoch, &leadership.node);
    }
    for host in &cluster.hosts {
        let log = fs::read_to_string(host.log()).unwrap_or_default();
        for line in log.lines().filter(|line| line.contains("\"event\":\"leading\"")) {
            let line: Value = serde_json::from_str(line).unwrap_or_default(); // its end may be missing
            if let Some(epoch) = line["epoch"].as_u64() {
                add(epoch, &host.name);
            }
        }
    }
    leaders
}

fn defects(cluster: &Cluster<'_>) -> Vec<String> {
    let of = |host: &crate::host::Host| {
        let log = fs::read_to_string(host.log()).unwrap_or_default();
        let has = |line: &&str| DEFECTS.iter().any(|words| line.contains(words));
        let line = log.lines().find(has).map(str::to_owned);
        line.map(|line| format!("the log of {} says: {line}", host.name))
    };
    cluster.hosts.iter().filter_map(of).collect()
}
