//! The search: breadth first, so that the first trace that breaks a rule is a shortest one.
//!
//! Own code, not a model checker crate. stateright 0.31 (of July 2025) was looked at: its search
//! with several threads is not breadth first, so that a bound on the depth leaves out states within
//! it; it keeps a path of its own with every open state; it knows no processes, whose turns can be
//! taken once and looked up; and it brings in 47 crates, a web server among them. For a core
//! that is deterministic and can be hashed, the lines below are enough.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use super::book::{Book, fingerprint};
use super::step::Step;
use super::world::World;

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most steps from the start.
    pub depth: usize,
    /// About the most states: the last depth begun is finished.
    pub states: usize,
}

/// The statistics of a search.
pub struct Report {
    pub states: usize,
    pub steps: u64,
    pub depth: usize,
    /// Whether no state within the limits was left out.
    pub complete: bool,
    /// How many states of single processes there were.
    pub processes: usize,
    pub kinds: BTreeMap<&'static str, u64>,
    pub breach: Option<Breach>,
    pub took: Duration,
}

/// A rule that was broken, and how it came to that.
#[derive(Debug)]
pub struct Breach {
    pub rule: String,
    pub trace: Vec<String>,
}

/// For each state: the one that it was first reached from, and by which of its steps.
type Seen = HashMap<u64, (u64, u16)>;

/// Visits every state reachable from this one.
pub fn search(book: &mut Book, start: &World, bounds: Bounds) -> Report {
    let begin = Instant::now();
    let mut report = Report {
        states: 1,
        steps: 0,
        depth: 0,
        complete: false,
        processes: 0,
        kinds: BTreeMap::new(),
        breach: None,
        took: Duration::ZERO,
    };
    let mut seen: Seen = HashMap::from([(fingerprint(start), (0, 0))]);
    let mut open = vec![start.clone()];
    while report.depth < bounds.depth && seen.len() < bounds.states && report.breach.is_none() {
        if open.is_empty() {
            report.complete = true;
            break;
        }
        report.depth += 1;
        open = next_depth(book, open, &mut seen, &mut report, start);
    }
    report.states = seen.len();
    report.processes = book.len();
    report.took = begin.elapsed();
    report
}

/// All states that are one step further and were not met before.
fn next_depth(
    book: &mut Book,
    open: Vec<World>,
    seen: &mut Seen,
    report: &mut Report,
    start: &World,
) -> Vec<World> {
    let mut next = Vec::new();
    for world in open {
        let from = fingerprint(&world);
        for (at, step) in Step::all(&world, book).into_iter().enumerate() {
            *report.kinds.entry(step.kind(&world, book)).or_default() += 1;
            report.steps += 1;
            let mut after = world.clone();
            if let Err(rule) = after.step(book, step) {
                let mut trace = trace(book, start, seen, from);
                trace.push(step.sentence(&world, book));
                report.breach = Some(Breach { rule, trace });
                return next;
            }
            let at = u16::try_from(at).unwrap_or(u16::MAX);
            seen.entry(fingerprint(&after)).or_insert_with(|| {
                next.push(after);
                (from, at)
            });
        }
    }
    next
}

/// The steps from the start to a state.
fn trace(book: &mut Book, start: &World, seen: &Seen, mut to: u64) -> Vec<String> {
    let first = fingerprint(start);
    let mut path = Vec::new();
    while to != first {
        let (from, at) = seen[&to];
        path.push(usize::from(at));
        to = from;
    }
    let mut world = start.clone();
    let mut trace = Vec::new();
    for at in path.into_iter().rev() {
        let step = Step::all(&world, book)[at];
        trace.push(step.sentence(&world, book));
        world.step(book, step).expect("it was taken before");
    }
    trace
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.complete { "all within the limits" } else { "bounded" };
        writeln!(
            f,
            "  {} states ({} of single processes), {} steps, depth {}, {whole}, {:.1} s",
            self.states,
            self.processes,
            self.steps,
            self.depth,
            self.took.as_secs_f64()
        )?;
        for (kind, count) in &self.kinds {
            writeln!(f, "    {kind:<36}{count:>12}")?;
        }
        if let Some(breach) = &self.breach {
            writeln!(f, "  BROKEN: {}", breach.rule)?;
            for (at, step) in breach.trace.iter().enumerate() {
                writeln!(f, "    {:>3} {step}", at + 1)?;
            }
        }
        Ok(())
    }
}
