//! What the program did to a cluster and saw of it, with the time of the clock that the jobs read too, and how often.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_BOOTTIME: all namespaces share it.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let nanos = time.tv_sec * 1_000_000_000 + time.tv_nsec;
    u64::try_from(nanos).expect("it counts from the boot on")
}

pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("it is no age")
}

/// The events of one round.
#[derive(Default)]
pub struct Events {
    lines: Vec<(u64, String)>,
}

impl Events {
    pub fn add(&mut self, what: impl Into<String>) {
        self.lines.push((now(), what.into()));
    }

    /// The last events before a moment, and those right after it.
    pub fn around(&self, at: u64) -> String {
        let before = self.lines.iter().take_while(|(time, _)| *time <= at).count();
        let soon = |(time, _): &&(u64, String)| *time < at.saturating_add(1_000_000_000);
        let after = self.lines[before..].iter().take_while(soon);
        let near = self.lines[before.saturating_sub(20)..before].iter().chain(after.take(5));
        near.map(|line| shown(line, at)).collect()
    }

    /// All of them, for the folder of a failed round.
    pub fn all(&self) -> String {
        let begin = self.lines.first().map_or(0, |(time, _)| *time);
        self.lines.iter().map(|line| shown(line, begin)).collect()
    }
}

fn shown((time, what): &(u64, String), zero: u64) -> String {
    let apart = Duration::from_nanos(time.abs_diff(zero)).as_secs_f64();
    let sign = if *time < zero { '-' } else { '+' };
    format!("  {sign}{apart:.3} s ({time})  {what}\n")
}

/// The sums over all rounds. Everything but the faults is for information.
#[derive(Default)]
pub struct Counts {
    pub faults: BTreeMap<&'static str, u32>,
    /// How processes ended, by what they were.
    pub ends: BTreeMap<String, u32>,
    pub leaderships: usize,
    pub jobs: usize,
    /// Lines that the resource refused, as a later epoch had written.
    pub refused: usize,
    /// Lines that were cut off, as their writer was killed.
    pub torn: usize,
    /// Overlaps that docs/exec.md excepts: of a host that was frozen as a whole, and while the machine stood still.
    pub excepted: BTreeMap<&'static str, u32>,
    /// From a heal until all members agreed, and how long no job ran, in milliseconds.
    pub agreed: Vec<u64>,
    pub idle: Vec<u64>,
    /// How often a lock came to a holder, and for how long nobody held it before.
    pub takings: usize,
    pub unheld: Vec<u64>,
}

impl fmt::Display for Counts {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u32 = self.faults.values().sum();
        writeln!(to, "{faults} faults: {}", list(&self.faults))?;
        writeln!(to, "ends of processes: {}", list(&self.ends))?;
        writeln!(to, "{} leaderships, {} jobs started", self.leaderships, self.jobs)?;
        let excepted = list(&self.excepted);
        let (refused, torn) = (self.refused, self.torn);
        writeln!(
            to,
            "{refused} late writes refused, {torn} cut off; excepted overlaps: {excepted}"
        )?;
        writeln!(to, "agreed after a heal: {}", spread(&self.agreed))?;
        writeln!(to, "without a job: {}", spread(&self.idle))?;
        let takings = self.takings;
        write!(to, "{takings} takings of locks; a lock without a holder: {}", spread(&self.unheld))
    }
}

fn list(counts: &BTreeMap<impl fmt::Display, u32>) -> String {
    let each = counts.iter().map(|(name, count)| format!("{name} {count}"));
    each.reduce(|all, one| all + ", " + &one).unwrap_or_else(|| "none".to_owned())
}

/// The middle one and the longest of these times.
fn spread(times: &[u64]) -> String {
    let mut times = times.to_vec();
    times.sort_unstable();
    match times.last() {
        Some(longest) => {
            let sum: u64 = times.iter().sum();
            format!(
                "{} times, median {} ms, longest {longest} ms, {sum} ms in all",
                times.len(),
                times[times.len() / 2]
            )
        }
        None => "never".to_owned(),
    }
}
