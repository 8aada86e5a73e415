//! A leadership that is not renewed, and the job of it.

use story::story;

use super::lines::Lines;
use super::with_majority;
use super::worker::{FILE, MANNER, POLITE, command};
use crate::support::{Cluster, ensure, eventually};

#[story]
fn no_job_begins_when_it_would_be_ended_at_once() {
    let cluster = Cluster::prepare(3, |config| {
        with_majority(config);
        config["preempt"] = "always".into();
        config["timing"]["failure"] = "8s".into(); // long enough for many guards in its last quarter
    });
    let lines = Lines::beside(&cluster);
    let (command, file) = (command(), lines.file());
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let log = ("RUST_LOG", "debug"); // all lines, however often they are repeated
    cluster.node(3).start_as(&more, &[(FILE, &file), (MANNER, POLITE), log]);
    (1..=2).for_each(|number| cluster.node(number).start());
    cluster.agree_on(3);
    let run = lines.runs_next(None);
    let node = cluster.node(3);
    (1..=2).for_each(|number| cluster.node(number).freeze());
    eventually("its leadership has ended", || {
        let status = node.status()?;
        ensure(status.state != "leading", || status.state)
    });
    let log = node.log();
    let begun = log.matches(&format!(" in epoch {}, guard ", run.epoch)).count();
    // One more if the leadership was renewed late, on a machine that is busy.
    assert!((1..=3).contains(&begun), "{begun} guards in epoch {}", run.epoch);
}
