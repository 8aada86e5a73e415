//! One verdict on a cluster, in its real situations, as every command and the page tell it.

use electd_facts::asked::{Asked, Silence};
use electd_facts::hint::ClusterFlags;
use electd_facts::judge::{Judgement, Verdict, judge};
use serde_json::Value;
use story::story;

use crate::problems::with_disk;
use crate::support::{Cluster, Finished, Network, command, electd, ensure, eventually, watchful};

/// The verdict by what these nodes answer at home, as on a network that their members do not share.
fn judged(cluster: &Cluster, numbers: &[usize]) -> Result<Judgement, String> {
    let statuses = numbers.iter().map(|number| cluster.status(*number));
    let statuses: Vec<_> = statuses.collect::<Result<_, _>>()?;
    let asked =
        statuses.iter().map(|one| Asked { name: &one.node.name, answer: Ok::<_, Silence>(one) });
    Ok(judge(&asked.collect::<Vec<_>>(), &ClusterFlags::default()))
}

fn three(quorum: &str) -> Option<Cluster> {
    let cluster = Cluster::on(Network::of(3)?, |config| {
        config["quorum"] = quorum.into();
        watchful(config);
    });
    cluster.agree_on(3);
    Some(cluster)
}

/// The verdict that the node gives to its page.
fn shown(cluster: &Cluster, number: usize) -> Result<Value, String> {
    let answer = cluster.node(number).get("/verdict")?;
    serde_json::from_str(&answer.body).map_err(|error| format!("{error}: {}", answer.body))
}

/// Claim: verdict.
#[story]
fn two_leaders_are_named_with_their_epochs() {
    let Some(cluster) = three("none") else { return };
    cluster.network().plug(3, false);
    let second = cluster.agree_among(&[1, 2], 2);
    eventually("both are named", || {
        let judgement = judged(&cluster, &[1, 2, 3])?;
        let epoch = cluster.status(3)?.epoch;
        let mut each = [(epoch, "node-3"), (second, "node-2")];
        each.sort_by_key(|(epoch, name)| (std::cmp::Reverse(*epoch), *name));
        let [first, last] = each.map(|(epoch, name)| format!("{name} in epoch {epoch}"));
        let words = format!("TWO LEADERS: {first} and {last}");
        let told = judgement.headline();
        ensure(told.starts_with(&words) && judgement.verdict == Verdict::TwoLeaders, || {
            told.clone()
        })
    });
}

/// Seen from its own side, and with the others: one cause, one box.
/// Claim: verdict.
#[story]
fn a_node_that_is_cut_off_says_so_first_and_is_one_problem_for_the_others() {
    let Some(cluster) = three("majority") else { return };
    cluster.network().plug(1, false);
    let first = "node-1 hears nobody: node-1 is probably cut off (mend its network)";
    eventually("it says so in every command on its host, and on its page", || {
        for (args, begin) in [
            (&["health", "--node", "node-1"][..], "ELECTD CUT OFF: "),
            (&["status", "--node", "node-1"], "verdict     CUT OFF: "),
            (&["why", "--node", "node-1"], "CUT OFF: "),
        ] {
            let mut command = command(&cluster, args);
            let output = cluster.node(1).at_home(|| command.finished());
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let begin =
                format!("{begin}{first}; the others may have a leader; node-1 knows no leader");
            ensure(text.starts_with(&begin), || format!("{output:?}"))?;
        }
        let shown = shown(&cluster, 1)?;
        ensure(shown["colour"] == "bad" && shown["verdict"] == "cut_off", || format!("{shown:#}"))
    });
    eventually("all together have one problem", || {
        let judgement = judged(&cluster, &[1, 2, 3])?;
        let told = judgement.headline();
        let epoch = cluster.status(3)?.epoch;
        let words = format!(
            "DEGRADED: {first}; node-3 leads in epoch {epoch}; no further failure tolerated"
        );
        ensure(told.starts_with(&words), || told.clone())?;
        let boxes = judgement.boxes();
        ensure(boxes.len() == 1 && boxes[0].kind == "cut_off", || format!("{boxes:?}"))
    });
}

/// Claim: verdict.
#[story]
fn a_full_disk_counts_in_the_margin_and_is_what_has_to_be_mended() {
    let Some((cluster, disk)) = with_disk(1) else { return };
    disk.fill();
    eventually("the margin does not count it", || {
        let health = electd(&cluster, &["health"]);
        let line = String::from_utf8_lossy(&health.stdout).into_owned();
        let told = line.contains(
            "node-1 cannot write its votes (its disk is full): no further failure tolerated",
        );
        ensure(health.status.code() == Some(1) && told, || line.clone())
    });
    cluster.node(3).kill_9();
    eventually("the one with the full disk votes in the epochs that it has reserved", || {
        let line = electd(&cluster, &["health"]);
        let line = String::from_utf8_lossy(&line.stdout).into_owned();
        ensure(line.starts_with("ELECTD DEGRADED: node-2 leads in epoch"), || line.clone())
    });
    eventually("it has used them up, and the sentence names what has to be done", || {
        let _ = cluster.node(2).post("/elections", "{}"); // a few epochs each
        let health = electd(&cluster, &["health"]);
        let line = String::from_utf8_lossy(&health.stdout).into_owned();
        let begin =
            "ELECTD NO LEADER: nobody leads: node-1 cannot write its votes (its disk is full)";
        let told = line.starts_with(begin) && line.contains("node-3 is down: free space on node-1");
        ensure(health.status.code() == Some(2) && told, || line.clone())
    });
    cluster.nodes().iter().for_each(|node| node.kill_9()); // before their disk is gone
}
