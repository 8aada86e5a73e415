//! The measurements as one table, with a legend.

use std::fs;
use std::thread;
use std::time::Duration;

use comfy_table::{Table, presets};

use crate::calm::Usage;

const LEGEND: &str = "\
Time from just before the signal to the leader until the last survivor has logged who leads next
(all agree), and until the successor has logged that it leads (one leads); stamped when the line
arrives here through a pipe. Each fault comes at a random moment between two heartbeats, at default
timing, each node in a network namespace of its own, unless a line above says that all are on
loopback; then the leader is restarted and takes over again.

The floor (its median is shown) is measured after each fault: from just before kill -9 of a process
until another, which held a connection to it, has seen the end of the stream, was refused when it
dialed again, made one round trip with a third, and said so through a pipe. Processes of one thread;
and, with threads, a victim that has as many as a node, which all end before the kernel closes its
connections, and a survivor that hands on from a reading to a deciding to a writing thread. A frozen
leader sends no end of stream: beside it stands `failure`, the silence that makes a suspect.

With a majority a vote waits for no disk; beside it stands also the floor with threads and one durable
write after it, on the same disk, which is what a vote cost that waits.

By algorithm: three clusters of 5 side by side, whose leaders are killed by turns.

No disk: the data folders of all nodes are out of reach, so that every write fails until after the
failover. It takes as long as any other, as it waits for no write.";

/// One thing that was measured many times, and what it is compared with.
pub struct Row {
    pub what: String,
    pub times: Vec<Duration>,
    /// One or two things.
    pub beside: Vec<Vec<Duration>>,
}

#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    lines: Vec<String>,
    unsteady: usize,
}

impl Report {
    pub fn row(&mut self, row: Row) {
        eprintln!("{}", row.cells().join("  "));
        self.rows.push(row);
    }

    /// Changes of state at times when there should be none.
    pub fn unsteady(&mut self, changes: usize) {
        self.unsteady += changes;
    }

    pub fn usage(&mut self, cluster: &str, nodes: &[Usage]) {
        let Some((leader, others)) = nodes.split_last() else { return };
        let most = |of: fn(&Usage) -> f64| others.iter().map(of).fold(0.0, f64::max);
        self.lines.push(format!(
            "idle node of {cluster}: {:.2} % of a core (leader {:.2} %), {:.1} MB resident \
             (leader {:.1}), {:.1} MB of it its own (leader {:.1}), {} threads; the most of \
             any follower",
            most(|node| node.cpu) * 100.0,
            leader.cpu * 100.0,
            most(Usage::resident),
            leader.resident(),
            most(Usage::anonymous),
            leader.anonymous(),
            leader.threads,
        ));
    }

    /// The median of one thing as a multiple of another's.
    pub fn comparison(&mut self, what: &str, times: &[Duration], others: &[Duration]) {
        let [[median, ..], [other, ..]] = [times, others].map(quantiles);
        let ratio = median.as_secs_f64() / other.as_secs_f64();
        let (median, other) = (millis(median), millis(other));
        self.lines.push(format!("{what}: {median} ms, {ratio:.2} times {other} ms"));
    }

    pub fn durable_write(&mut self, times: &[Duration]) {
        let [median, p95, most] = quantiles(times).map(millis);
        self.lines.push(format!(
            "one durable write on this disk: median {median} ms, p95 {p95}, max {most}"
        ));
    }

    pub fn first_election(&mut self, size: usize, time: Duration) {
        self.lines.push(format!(
            "{size} processes: {} ms from before the first start until all agreed",
            millis(time)
        ));
    }

    pub fn calm(&mut self, size: usize, time: Duration, changes: usize) {
        let seconds = time.as_secs();
        self.lines.push(format!("{size} processes: {changes} changes in {seconds} calm seconds"));
    }

    /// New leaders though none had failed.
    pub fn false_changes(&mut self, who: &str, loops: usize, time: Duration, changes: usize) {
        let seconds = time.as_secs();
        self.lines
            .push(format!("{who}: {changes} new leaders in {seconds} s under {loops} busy loops"));
    }

    pub fn print(&self) {
        let mut table = Table::new();
        let header =
            ["ms", "runs", "median", "p95", "max", "floor", "ratio", "with threads", "ratio"];
        table.load_style(presets::NOTHING).set_header(header);
        table.add_rows(self.rows.iter().map(Row::cells));
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        println!("\n{}\n", machine());
        table.lines().for_each(|line| println!("{}", line.trim_end()));
        println!();
        self.lines.iter().for_each(|line| println!("{line}"));
        println!("changes of state while nothing should change: {}", self.unsteady);
        println!("\n{LEGEND}");
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let [median, p95, most] = quantiles(&self.times);
        let mut cells = vec![self.what.clone(), self.times.len().to_string()];
        cells.extend([median, p95, most].map(millis));
        for beside in &self.beside {
            let [beside, ..] = quantiles(beside);
            let ratio = median.as_secs_f64() / beside.as_secs_f64();
            cells.extend([millis(beside), format!("{ratio:.2}")]);
        }
        cells
    }
}

impl Usage {
    fn resident(&self) -> f64 {
        self.resident_kb as f64 / 1024.0
    }

    fn anonymous(&self) -> f64 {
        self.anonymous_kb as f64 / 1024.0
    }
}

/// The median, the 95th percentile and the greatest.
fn quantiles(times: &[Duration]) -> [Duration; 3] {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at = |percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    };
    [at(50), at(95), at(100)]
}

fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let read = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let (kernel, load) = (read("/proc/sys/kernel/osrelease"), read("/proc/loadavg"));
    format!("{cores} cores, Linux {kernel}, load {load}")
}
