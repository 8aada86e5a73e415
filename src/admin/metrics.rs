//! `GET /metrics`: a node in figures, in Prometheus' text format, or as OpenMetrics for a client that asks for that. Made
//! for each request, from the published status, the counters and what the kernel knows of this process.

use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use electd_facts::locks::LocksView;
use jiff::Timestamp;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use crate::core::protocol::VERSION;
use crate::node::handle::Handle;
use crate::node::problems::ProblemKind;
use crate::node::status::Status;
use crate::node::tally::Tally;

use super::process;
use super::request::Request;
use super::response::Response;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

/// The answer with all metrics of a node. Each has the labels `cluster` and `node`, which keep two clusters apart that one
/// Prometheus scrapes.
pub fn answer<H: Handle>(handle: &H, request: &Request) -> Response {
    let (status, tally) = (handle.status(), handle.tally());
    let labels = [("cluster", status.cluster.clone()), ("node", status.node.name.clone())];
    let labels = labels.map(|(name, value)| (name.into(), value.into()));
    let mut registry = Registry::with_labels(labels.into_iter());
    state(&mut registry, &status);
    members(&mut registry, &status);
    messages(&mut registry, &status);
    locks(&mut registry, &handle.locks());
    counted(&mut registry, &tally);
    process::figures(&mut registry, status.uptime_ms);
    let mut page = String::new();
    match text::encode(&mut page, &registry) {
        Ok(()) if request.accepts("application/openmetrics-text") => {
            Response::of(OPEN_METRICS, page.into_bytes())
        }
        Ok(()) => Response::of(PLAIN, plain(&page).into_bytes()),
        Err(error) => Response::error(500, format!("the metrics cannot be written: {error}")),
    }
}

/// OpenMetrics in the older format, version 0.0.4: a counter is described under the name of its samples, and there is no
/// last line. We use no other kind of metric that differs between the two.
fn plain(page: &str) -> String {
    let is_counter = |name: &str| page.contains(&format!("# TYPE {name} counter\n"));
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["#", "EOF"] => String::new(),
        ["#", what, name, ..] if is_counter(name) => {
            let rest = &line[format!("# {what} {name}").len()..];
            format!("# {what} {name}_total{rest}\n")
        }
        _ => format!("{line}\n"),
    };
    page.lines().map(line).collect()
}

/// The state of the node.
fn state(registry: &mut Registry, status: &Status) {
    let leads = status.leads();
    let has_leader = status.leader.is_some() && !status.stalled;
    let mut gauge = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstGauge::new(value));
    };
    gauge("electd_is_leader", "Whether this node leads", leads.into());
    gauge("electd_has_leader", "Whether this node knows a leader", has_leader.into());
    let paused = u64::from(status.pause.is_some());
    gauge("electd_paused", "Whether the cluster is paused, as far as this node knows", paused);
    gauge("electd_epoch", "The epoch that this node knows", status.epoch);
    let help = "How many more members may fail before nobody can lead";
    gauge("electd_failures_tolerated", help, status.failures_tolerated);
    let (help, most) =
        ("How many it would be if all members were well", status.failures_tolerated_at_most);
    gauge("electd_failures_tolerated_at_most", help, most);
    if let Some(left) = status.lease_remaining_ms {
        let help = "For how long this leader may lead without another word from a majority";
        let left = ConstGauge::new(left as f64 / 1000.0);
        registry.register("electd_lease_remaining_seconds", help, left);
    }
    if let Some(health) = &status.health {
        let healthy = ConstGauge::new(u64::from(health.healthy));
        registry.register("electd_healthy", "Whether the health check passes", healthy);
    }
    if let Some(end) =
        status.certificate_ends.as_ref().and_then(|end| end.parse::<Timestamp>().ok())
    {
        let end = ConstGauge::new(end.as_second());
        let help = "When the certificate of this node ends, in seconds since 1970";
        registry.register("electd_certificate_expiry_timestamp_seconds", help, end);
    }
    let problems = Family::<Labels, Gauge>::default();
    for kind in ProblemKind::ALL {
        let count = status.problems.iter().filter(|problem| problem.kind == kind.name()).count();
        let labels = vec![("kind", kind.name().to_owned())];
        problems.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    registry.register("electd_problems", "What is wrong now, by its kind", problems);
    let master = Family::<Labels, Gauge>::default();
    master.get_or_create(&vec![("name", status.cluster.clone())]).set(leads.into());
    let help = "Whether this node leads, under the name that Kubernetes uses";
    registry.register("leader_election_master_status", help, master);
    let build = Family::<Labels, Gauge>::default();
    build.get_or_create(&vec![("version", VERSION.to_owned())]).set(1);
    registry.register("electd_build_info", "The version of electd", build);
}

/// The other members.
fn members(registry: &mut Registry, status: &Status) {
    let up = Family::<Labels, Gauge>::default();
    for member in status.members.iter().filter(|member| member.id != status.node.id) {
        let labels = vec![("peer", member.name.clone())];
        up.get_or_create(&labels).set(member.is_alive().into());
    }
    registry.register("electd_peer_up", "Whether another member answers", up);
    let times = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for (member, ms) in status.members.iter().filter_map(|member| Some((member, member.rtt_ms?))) {
        times.get_or_create(&vec![("peer", member.name.clone())]).set(ms / 1000.0);
    }
    let help = "How long another member took to acknowledge a heartbeat of this leader lately";
    registry.register("electd_peer_rtt_seconds", help, times);
}

/// The counters of messages and of drops.
fn messages(registry: &mut Registry, status: &Status) {
    let counters = Family::<Labels, prometheus_client::metrics::counter::Counter>::default();
    for (kind, count) in &status.messages {
        for (direction, count) in [("sent", count.sent), ("received", count.received)] {
            let labels = vec![("kind", kind.clone()), ("direction", direction.to_owned())];
            counters.get_or_create(&labels).inc_by(count);
        }
    }
    registry.register("electd_messages", "Messages between members", counters);
    let dropped = Family::<Labels, prometheus_client::metrics::counter::Counter>::default();
    for (queue, count) in &status.dropped {
        dropped.get_or_create(&vec![("queue", queue.clone())]).inc_by(*count);
    }
    registry.register(
        "electd_dropped",
        "What was dropped, by the queue that was full or closed",
        dropped,
    );
    let refused = Family::<Labels, prometheus_client::metrics::counter::Counter>::default();
    for (cause, count) in &status.refused {
        refused.get_or_create(&vec![("cause", cause.clone())]).inc_by(*count);
    }
    let help = "Connections of peers that were refused before a hello, on either side, by cause";
    registry.register("electd_refused", help, refused);
}

/// The most names that have a series each: there may be thousands.
const NAMES: usize = 256;

/// How many locks there are, and who holds each, if there are not too many.
fn locks(registry: &mut Registry, locks: &LocksView) {
    let held = Family::<Labels, Gauge>::default();
    for (holder, count) in locks.held() {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        held.get_or_create(&vec![("holder", holder)]).set(count);
    }
    registry.register("electd_locks_held", "Locks by the member that holds them", held);
    let help = "Locks that are wanted and that nobody holds, as far as this node knows";
    registry.register("electd_locks_unheld", help, ConstGauge::new(locks.unheld()));
    let each = Family::<Labels, Gauge>::default();
    for lock in locks.locks.iter().filter(|_| locks.locks.len() <= NAMES) {
        let holder = lock.holder.clone().unwrap_or_default();
        let is_held = i64::from(!holder.is_empty());
        each.get_or_create(&vec![("lock", lock.name.clone()), ("holder", holder)]).set(is_held);
    }
    let help = "1 with the holder of each lock, 0 and no holder if it is wanted and nobody holds it; none above 256 locks";
    registry.register("electd_lock", help, each);
}

/// The counters since the start of the node.
fn counted(registry: &mut Registry, tally: &Tally) {
    let help = "How often another leader or epoch became known";
    registry.register("electd_leader_changes", help, tally.leader_changes.clone());
    let help = "The same, by why the leadership before ended";
    registry.register("electd_elections", help, tally.elections.clone());
    let help = "For how long this node knew no leader, each time";
    registry.register("electd_election_duration_seconds", help, tally.election_duration.clone());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let leaderless = ConstCounter::new(tally.leaderless_seconds(now));
    let help = "For how long this node has known no leader in all";
    registry.register("electd_leaderless_seconds", help, leaderless);
    let help = "How often the election thread missed its turn";
    registry.register("electd_stalls", help, tally.stalls.clone());
    let help = "How often a job was ended, as no renewal of the leadership came in time";
    registry.register("electd_late_renewals", help, tally.late_renewals.clone());
    let help = "How often a lock changed hands, or was given back";
    registry.register("electd_lock_changes", help, tally.lock_changes.clone());
    let help = "For how long nobody held a lock, each time";
    registry.register("electd_lock_unheld_seconds", help, tally.lock_unheld.clone());
    let help = "How many commands run here while this node leads";
    registry.register("electd_exec_running", help, tally.exec_running.clone());
    let help = "How runs of the hook ended, and the changes that it was not told";
    registry.register("electd_hooks", help, tally.hooks.clone());
    let help = "How long durable writes of the state took";
    registry.register("electd_store_write_seconds", help, tally.store_writes.clone());
}
