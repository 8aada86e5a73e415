//! The search: breadth first, so that the first trace that breaks a rule is a shortest one.
//!
//! Own code, not a model checker crate. stateright 0.31 (of July 2025) was looked at: its search
//! with several threads is not breadth first, so that a bound on the depth leaves out states within
//! it; it keeps a path of its own with every open state; it knows no processes, whose turns can be
//! taken once and looked up; and it brings in 47 crates, a web server among them. For a core
//! that is deterministic and can be hashed, the lines below are enough.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use super::book::fingerprint;

/// A world, every state of which can be visited.
pub trait Searched: Clone + Hash {
    /// What all its states share.
    type Shared;
    type Step: Copy;

    /// All that may be tried next.
    fn steps(&self, shared: &Self::Shared) -> Vec<Self::Step>;

    /// The world after a step; none if the step cannot be taken. Fails with the rule that it breaks.
    fn after(&self, shared: &mut Self::Shared, step: Self::Step) -> Result<Option<Self>, String>;

    /// The name of this kind of step.
    fn kind(&self, shared: &Self::Shared, step: Self::Step) -> &'static str;

    /// The step in words, for a trace.
    fn sentence(&self, shared: &Self::Shared, step: Self::Step) -> String;
}

/// The statistics of a search.
pub struct Report {
    pub states: usize,
    pub steps: u64,
    pub depth: usize,
    /// Whether no state within the limits was left out.
    pub complete: bool,
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

/// Visits every state reachable from this one, or about as many as this: the last depth begun is finished.
pub fn search<W: Searched>(shared: &mut W::Shared, start: &W, most: usize) -> Report {
    let begin = Instant::now();
    let mut report = Report {
        states: 1,
        steps: 0,
        depth: 0,
        complete: false,
        kinds: BTreeMap::new(),
        breach: None,
        took: Duration::ZERO,
    };
    let mut seen: Seen = HashMap::from([(fingerprint(start), (0, 0))]);
    let mut open = vec![start.clone()];
    while seen.len() < most && report.breach.is_none() {
        if open.is_empty() {
            report.complete = true;
            break;
        }
        report.depth += 1;
        open = next_depth(shared, open, &mut seen, &mut report, start);
    }
    report.states = seen.len();
    report.took = begin.elapsed();
    report
}

/// All states that are one step further and were not met before.
fn next_depth<W: Searched>(
    shared: &mut W::Shared,
    open: Vec<W>,
    seen: &mut Seen,
    report: &mut Report,
    start: &W,
) -> Vec<W> {
    let mut next = Vec::new();
    for world in open {
        let from = fingerprint(&world);
        for (at, step) in world.steps(shared).into_iter().enumerate() {
            let after = match world.after(shared, step) {
                Ok(Some(after)) => after,
                Ok(None) => continue,
                Err(rule) => {
                    let mut trace = trace(shared, start, seen, from);
                    trace.push(world.sentence(shared, step));
                    report.breach = Some(Breach { rule, trace });
                    return next;
                }
            };
            *report.kinds.entry(world.kind(shared, step)).or_default() += 1;
            report.steps += 1;
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
fn trace<W: Searched>(shared: &mut W::Shared, start: &W, seen: &Seen, mut to: u64) -> Vec<String> {
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
        let step = world.steps(shared)[at];
        trace.push(world.sentence(shared, step));
        let after = world.after(shared, step);
        world = after.expect("nothing was broken").expect("it was taken before");
    }
    trace
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.complete { "all within the limits" } else { "bounded" };
        let (states, steps, depth) = (self.states, self.steps, self.depth);
        let took = self.took.as_secs_f64();
        writeln!(f, "  {states} states, {steps} steps, depth {depth}, {whole}, {took:.1} s")?;
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
