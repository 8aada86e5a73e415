//! Health checks that pass and fail by chance: the leadership moves as rarely as they allow, and always
//! by a clean handover.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use electd::node::history::History;
use serde_json::json;
use story::story;

use crate::support::{Cluster, Node, breathe, ensure, eventually, patient};

const NODES: usize = 5;

/// This many failures in a row make a member unhealthy, and this many passes make it healthy again.
const FALL: usize = 3;
const RISE: usize = 2;

/// Half of the checks fail, and each notes how it ends.
fn check(notes: &Path) -> String {
    let note = notes.join("$ELECTD_NODE");
    format!(
        "code=$(($(od -An -N1 -tu1 /dev/urandom) % 2)); echo $code >> {}; exit $code",
        note.display()
    )
}

/// Each leadership that a node knows: its epoch, why the previous one ended, and for how long nobody
/// led.
fn leaderships(cluster: &Cluster) -> BTreeSet<(u64, String, u64)> {
    let mut all = BTreeSet::new();
    for node in cluster.nodes() {
        let answer = node.get("/history").unwrap();
        let history: History = serde_json::from_str(&answer.body).unwrap();
        let known = history.leaderships.into_iter();
        all.extend(known.map(|entry| (entry.epoch, entry.cause, entry.leaderless_ms)));
    }
    all
}

/// How often so many checks of a healthy member failed in a row that it became unhealthy.
fn falls(cluster: &Cluster, notes: &Path) -> usize {
    let of = |node: &Node| {
        let notes = fs::read_to_string(notes.join(&node.name)).unwrap();
        let codes: String = notes.lines().collect();
        codes.split('0').filter(|failed| failed.len() >= FALL).count()
    };
    cluster.nodes().iter().map(of).sum()
}

/// `HEALTH_SECONDS=300 cargo test --test process unsteady:: -- --ignored --nocapture`
#[story]
#[ignore = "long"]
fn checks_that_fail_at_random_move_leadership_in_order_and_only_as_often_as_members_fall() {
    let seconds = env::var("HEALTH_SECONDS").map_or(60, |text| text.parse().unwrap());
    let notes = tempfile::tempdir().unwrap();
    let cluster = Cluster::start_with(NODES, |config| {
        config["quorum"] = "majority".into();
        config["preempt"] = "never".into();
        patient(config);
        config["health"] = json!({
            "command": ["sh", "-c", check(notes.path())],
            "every": "1s", "timeout": "900ms", "fall": FALL, "rise": RISE
        });
    });
    cluster.agree();
    let begin = Instant::now();
    for number in (1..=NODES).cycle() {
        if begin.elapsed() > Duration::from_secs(seconds) {
            break;
        }
        eventually("the node knows a leader", || {
            let status = cluster.status(number)?;
            ensure(status.leader.is_some(), || format!("{status:?}"))
        });
        breathe();
    }
    let (mut all, falls) = (leaderships(&cluster), falls(&cluster, notes.path()));
    // Where two members became candidates at once, the one that won may have to take a greater epoch, in which it leads on.
    let goes_on = |(_, cause, _): &&(u64, String, u64)| cause == "reclaimed";
    let same: BTreeSet<u64> = all.iter().filter(goes_on).map(|(epoch, ..)| *epoch).collect();
    all.retain(|(epoch, ..)| !same.contains(epoch));
    let epochs: BTreeSet<u64> = all.iter().map(|(epoch, ..)| *epoch).collect();
    let later = all.iter().filter(|(_, cause, _)| cause != "start");
    let longest = later.map(|(_, _, leaderless)| leaderless).max();
    println!(
        "{} leaderships in {seconds} s, members fell {falls} times, longest without a leader {longest:?} ms",
        epochs.len()
    );
    // If no member was healthy, the first healthy one calls the election.
    let orderly = ["start", "unhealthy", "leader_released", "declined", "may_not_lead", "eligible"];
    let others: Vec<_> = all.iter().filter(|one| !orderly.contains(&one.1.as_str())).collect();
    assert!(others.is_empty(), "these did not end in order: {others:?}");
    assert!(epochs.len() <= 1 + falls, "{} leaderships, {falls} falls", epochs.len());
}
