//! Each situation that a cluster may be in, made by real processes, and what each of eight views says of it: the sentence,
//! the exit code, the colour.
//!
//! `table/` has a row for each situation and a column for each view; `stages.rs` makes the situations, `seen.rs` looks.
//! No view may contradict another, whatever the situation (`agree.rs`). `cargo test --test process situations:: --
//! --nocapture` prints what the views show.

mod agree;
mod alerts;
mod seen;
mod stages;
mod table;

use std::time::Duration;

use story::story;

use crate::support::{done, electd, ensure, within};
use seen::{Seen, matches};
use stages::Scene;
use table::Row;

/// Far longer than the views take to show a situation: `failure`, and a look each second.
const SOON: Duration = Duration::from_secs(60);

/// Waits until all views show the situation as the row says, and none contradicts another.
#[track_caller]
fn holds(row: &Row, stage: impl FnOnce() -> Option<Scene>) {
    let Some(scene) = stage() else { return };
    let seen = within(SOON, row.situation, || {
        let seen = Seen::of(&scene)?;
        agree::none_contradicts(&seen).map_err(|why| format!("{why}\n{seen}"))?;
        compare(row, &scene, &seen).map_err(|why| format!("{why}\n{seen}"))?;
        Ok(seen)
    });
    println!("=== {}\n{seen}", row.situation);
}

fn compare(row: &Row, scene: &Scene, seen: &Seen) -> Result<(), String> {
    for (view, told, (code, lines)) in [
        ("status", &seen.status, row.status),
        ("health", &seen.health, row.health),
        ("leader", &seen.leader, row.leader),
        ("why", &seen.why, row.why),
        ("history", &seen.history, row.history),
    ] {
        ensure(told.code == code, || format!("{view} ends with {}, not {code}", told.code))?;
        let all = lines.iter().map(|line| scene.filled(line)).collect::<Result<Vec<_>, _>>()?;
        has_each(view, &told.lines, &all)?;
    }
    let (colour, banner, boxes) = row.page;
    let page = &seen.page;
    ensure(page.colour == colour, || format!("the page is {}, not {colour}", page.colour))?;
    has_each("the page", std::slice::from_ref(&page.banner), &[scene.filled(banner)?])?;
    has_each("a box of the page", &[&*page.boxes, &page.notes].concat(), boxes)?;
    has_each("a badge of the page", &page.badges, row.badges)?;
    let unmended = page.remedies.iter().position(String::is_empty);
    ensure(unmended.is_none(), || format!("the page has a box without a remedy: {unmended:?}"))?;
    for (what, found, meant) in [("box", &page.boxes, boxes), ("badge", &page.badges, row.badges)] {
        let is_meant = |found: &&String| meant.iter().any(|pattern| matches(found, pattern));
        let other = found.iter().find(|found| !is_meant(found));
        let more = other.or_else(|| found.get(meant.len()));
        ensure(more.is_none(), || format!("the page has one more {what}: {more:?}"))?;
    }
    for (node, line) in row.log {
        let log: Vec<String> = seen::lines(&scene.cluster.node(*node).log());
        has_each(&format!("the log of node-{node}"), &log, &[scene.filled(line)?])?;
    }
    let (figures, alerts) = row.metrics;
    for (node, line) in figures {
        let page = seen.metrics(*node).ok_or_else(|| format!("node-{node} gives no metrics"))?;
        has_each(&format!("the metrics of node-{node}"), &seen::lines(page), &[*line])?;
    }
    ensure(seen.alerts == alerts, || format!("alerts {:?}, not {alerts:?}", seen.alerts))
}

/// Each of these patterns fits one of the lines.
fn has_each(view: &str, lines: &[String], patterns: &[impl AsRef<str>]) -> Result<(), String> {
    patterns.iter().map(AsRef::as_ref).try_for_each(|pattern| {
        let found = lines.iter().any(|line| matches(line, pattern));
        ensure(found, || format!("{view} does not say {pattern:?}"))
    })
}

/// Before a node is started, too.
#[story]
fn check_names_the_nodes_whose_clocks_differ() {
    let Some(scene) = stages::clocks_apart() else { return };
    let told = done(&electd(&scene.cluster, &["check", "--node", "node-1"]));
    let warning = "WARNING: the clock of node-2 is at least ";
    assert!(told.contains(warning) && told.contains(": set them by NTP or PTP"), "{told}");
}

/// A test for each row.
macro_rules! situations {
    ($($(#[$attribute:meta])* $name:ident: $row:ident),+ $(,)?) => {$(
        #[story]
        $(#[$attribute])*
        fn $name() {
            holds(&table::$row, stages::$name);
        }
    )+};
}

situations! {
    healthy: HEALTHY,
    first_start: FIRST_START,
    leader_killed: LEADER_KILLED,
    #[ignore = "long"]
    host_lost: HOST_LOST,
    #[ignore = "long"]
    cut_off_seen_by_itself: CUT_OFF_SEEN_BY_ITSELF,
    #[ignore = "long"]
    cut_off_seen_by_the_others: CUT_OFF_SEEN_BY_THE_OTHERS,
    #[ignore = "long"]
    cut_off_seen_by_all: CUT_OFF_SEEN_BY_ALL,
    no_majority: NO_MAJORITY,
    #[ignore = "long"]
    two_leaders: TWO_LEADERS,
    disk_full: DISK_FULL,
    #[ignore = "long"]
    state_lost: STATE_LOST,
    drained: DRAINED,
    resigned: RESIGNED,
    unhealthy: UNHEALTHY,
    job_failing: JOB_FAILING,
    flapping: FLAPPING,
    clocks_apart: CLOCKS_APART,
    two_versions: TWO_VERSIONS,
}
