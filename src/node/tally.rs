//! The counts for `GET /metrics` that the status does not have. The thread "watch" and the thread that
//! writes the state update them, never the election thread.

use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::history::HistoryEntry;

/// Upper ends of the buckets, in seconds: from a failover on one machine to one over a bad line.
const ELECTIONS: [f64; 14] =
    [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The counters of one node. All parts are shared by their clones.
#[derive(Debug)]
pub struct Tally {
    /// How often another leadership became known.
    pub leader_changes: Counter,
    /// The same, by why the leadership before it ended.
    pub elections: Family<Vec<(&'static str, String)>, Counter>,
    /// For how long this node knew no leader, each time that it saw the end of the leadership before.
    pub election_duration: Histogram,
    /// How often the election thread missed its turn.
    pub stalls: Counter,
    /// How often a job was ended, as no renewal of the leadership came in time.
    pub late_renewals: Counter,
    /// How many commands run while this node leads: those that hold its leadership, which the election notes.
    pub exec_running: Gauge,
    /// How runs of the hook ended, and how many events it was not run for.
    pub hooks: Family<Vec<(&'static str, String)>, Counter>,
    /// How long durable writes took.
    pub store_writes: Histogram,
    /// How often a lock changed hands, or was given back.
    pub lock_changes: Counter,
    /// For how long nobody held a lock, each time that somebody holds it again.
    pub lock_unheld: Histogram,
    leaderless: Mutex<LeaderlessTime>,
}

/// The time without a leader, in milliseconds.
#[derive(Debug, Default)]
struct LeaderlessTime {
    past: u64,
    since: Option<u64>,
}

impl Tally {
    /// Nothing has been counted but the writes so far.
    #[must_use]
    pub fn new(store_writes: Histogram) -> Tally {
        Tally {
            leader_changes: Counter::<u64, AtomicU64>::default(),
            elections: Family::default(),
            election_duration: Histogram::new(ELECTIONS),
            stalls: Counter::default(),
            late_renewals: Counter::default(),
            exec_running: Gauge::default(),
            hooks: Family::default(),
            store_writes,
            lock_changes: Counter::default(),
            lock_unheld: Histogram::new(ELECTIONS),
            leaderless: Mutex::default(),
        }
    }

    /// A leadership began.
    pub(super) fn began(&self, leadership: &HistoryEntry) {
        self.leader_changes.inc();
        self.elections.get_or_create(&vec![("reason", leadership.cause.clone())]).inc();
        if let Some(gap) = leadership.gap_ms() {
            self.election_duration.observe(millis(gap));
            self.leaderless.lock().past += gap;
        }
    }

    /// A lock changed hands, or was given back; nobody had held it for so long.
    pub(super) fn lock_changed(&self, unheld_ms: Option<u64>) {
        self.lock_changes.inc();
        unheld_ms.into_iter().for_each(|unheld| self.lock_unheld.observe(millis(unheld)));
    }

    /// Since when no leader is known, in milliseconds since the Unix epoch.
    pub(super) fn set_leaderless(&self, since: Option<u64>) {
        self.leaderless.lock().since = since;
    }

    /// For how many seconds this node has known no leader since its start, up to this moment in
    /// milliseconds since the Unix epoch.
    #[must_use]
    pub fn leaderless_seconds(&self, now_ms: u64) -> f64 {
        let leaderless = self.leaderless.lock();
        let present = leaderless.since.map_or(0, |since| now_ms.saturating_sub(since));
        millis(leaderless.past + present)
    }
}

#[allow(clippy::cast_precision_loss)] // milliseconds of a process's life fit
fn millis(time: u64) -> f64 {
    time as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leadership_is_counted_with_its_cause_and_with_the_time_without_a_leader() {
        let tally = Tally::new(Histogram::new(ELECTIONS));
        assert_eq!(tally.leaderless_seconds(9000).to_string(), "0");
        tally.set_leaderless(Some(7000));
        assert_eq!(tally.leaderless_seconds(9000).to_string(), "2");
        let began = |cause: &str, leaderless_ms| {
            tally.began(&HistoryEntry {
                cause: cause.to_owned(),
                leaderless_ms,
                ..HistoryEntry::of_a(1)
            });
            tally.set_leaderless(None);
        };
        began("start", 2500);
        began("leader_dead", 250);
        began("leader_dead", 250);
        began("announced", 0); // it missed the end: the histogram has no time for that
        assert_eq!(tally.leaderless_seconds(9000).to_string(), "3", "and it is over");
        tally.set_leaderless(Some(8500));
        assert_eq!(tally.leaderless_seconds(9000).to_string(), "3.5");
        assert_eq!(tally.leaderless_seconds(8000).to_string(), "3", "the clock was set back");
        let mut text = String::new();
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register("took", "", tally.election_duration.clone());
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines, DURATIONS);
        let by =
            |cause: &str| tally.elections.get_or_create(&vec![("reason", cause.to_owned())]).get();
        assert_eq!((tally.leader_changes.get(), by("start"), by("leader_dead")), (4, 1, 2));
    }

    /// Of 2.5 s and twice 250 ms.
    const DURATIONS: [&str; 18] = [
        "took_sum 3.0",
        "took_count 3",
        "took_bucket{le=\"0.001\"} 0",
        "took_bucket{le=\"0.002\"} 0",
        "took_bucket{le=\"0.005\"} 0",
        "took_bucket{le=\"0.01\"} 0",
        "took_bucket{le=\"0.025\"} 0",
        "took_bucket{le=\"0.05\"} 0",
        "took_bucket{le=\"0.1\"} 0",
        "took_bucket{le=\"0.25\"} 2",
        "took_bucket{le=\"0.5\"} 2",
        "took_bucket{le=\"1.0\"} 2",
        "took_bucket{le=\"2.5\"} 3",
        "took_bucket{le=\"5.0\"} 3",
        "took_bucket{le=\"10.0\"} 3",
        "took_bucket{le=\"30.0\"} 3",
        "took_bucket{le=\"+Inf\"} 3",
        "# EOF",
    ];
}
