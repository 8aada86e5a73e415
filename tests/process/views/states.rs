//! The states: what brings each about, what every view shows of it, and that all is well afterwards.

use std::fs;

use serde_json::{Value, json};
use story::story;

use super::{
    All, FOLLOWS, NOBODY, One, SOON, WELL, all_is_well, all_show, at_home, figure, follows, leads,
    seen, shows, three, with_majority,
};
use crate::support::traced::Traced;
use crate::support::{Cluster, Held, Network, electd, ensure, eventually, within};

/// One or more nodes are down or silent.
#[story]
fn states_of_nodes_that_are_gone() {
    let cluster = three();
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "the start");
    let only_followed = &cluster.status(1).unwrap().messages;
    assert_eq!((only_followed["heartbeat"].sent, only_followed["acknowledge"].received), (0, 0));

    cluster.node(1).kill_9();
    let margin: &[&str] = &[
        "electd_problems{kind=\"quorum_margin\"} 1",
        "electd_problems{kind=\"peer_down\"} 1",
        "electd_failures_tolerated 0",
        "electd_peer_up{peer=\"node-1\"} 0",
    ];
    let dead = All {
        codes: [1, 1, 0],
        health: &[
            "ELECTD DEGRADED: node-3 leads in epoch",
            "node-1 is down: no further failure tolerated; 2 of 3 nodes answer",
            " => start node-1 on its host (",
            "failures_tolerated=0 answering=2;;;0;3",
        ],
        status: &["node-1 - ", "connection refused", "node-1 is down: "],
        leader: "node-3 ",
    };
    seen(&cluster, "a dead voter", &[leads(3, margin), follows(2, margin)], &dead);
    without_a_majority(&cluster);
    without_any_node(&cluster);
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "all were gone");
}

fn without_a_majority(cluster: &Cluster) {
    cluster.node(2).kill_9();
    let none = One {
        node: 3,
        codes: NOBODY,
        figures: &[
            "electd_problems{kind=\"quorum_margin\"} 1",
            "electd_problems{kind=\"peer_down\"} 2",
        ],
        state: "electing",
    };
    let outage = All {
        codes: [2, 1, 1],
        health: &[
            "ELECTD NO LEADER: nobody leads: node-1 and node-2 are down: start 1 of node-1, node-2; ",
            "1 of 3 nodes answer",
            "failures_tolerated=0 answering=1;;;0;3",
        ],
        status: &["NO LEADER: nobody leads: node-1 and node-2 are down: "],
        leader: "",
    };
    let states = ["electing", "waiting", "starting"]; // it tries again and again
    within(SOON, "in the state \"no majority\", all views show it", || {
        let tried = states.map(|state| shows(cluster, &One { state, ..none }));
        ensure(tried.iter().any(Result::is_ok), || format!("{tried:?}"))?;
        all_show(cluster, &outage)
    });
    let leaderless =
        || figure(&cluster.node(3).metrics().unwrap(), "electd_leaderless_seconds_total");
    let before = leaderless();
    within(SOON, "the time without a leader grows", || {
        ensure(leaderless() > before, || format!("{before:?}"))
    });
}

fn without_any_node(cluster: &Cluster) {
    cluster.node(3).kill_9();
    let silent = All {
        codes: [3, 69, 69],
        health: &[
            "ELECTD UNKNOWN: no leader is known; 0 of 3 nodes answer",
            "failures_tolerated=0 answering=0;;;0;3",
        ],
        status: &["connection refused"],
        leader: "",
    };
    seen(cluster, "nobody answers", &[], &silent);
}

/// A node does not run, although its process is there.
#[story]
fn states_of_a_leader_that_is_frozen() {
    let cluster = three();
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "the start");

    cluster.node(3).freeze();
    let down: &[&str] = &["electd_peer_up{peer=\"node-3\"} 0", "electd_failures_tolerated 0"];
    let frozen = All {
        codes: [1, 1, 0],
        health: &[
            "ELECTD DEGRADED: node-2 leads in epoch",
            "2 of 3 nodes answer",
            "node-3 is down: silent",
        ],
        status: &["node-3 - ", "silent for too long"],
        leader: "node-2 ",
    };
    cluster.agree_on(2);
    seen(&cluster, "a frozen leader", &[leads(2, down), follows(1, down)], &frozen);
    let check = electd(&cluster, &["leader", "--check", "--node", "node-3", "--timeout", "100ms"]);
    assert_eq!(check.status.code(), Some(69), "{check:?}");
    cluster.node(3).thaw();
    all_is_well(&cluster, "a frozen leader");
}

/// The other threads of the process run. A cluster of its own: a node that went away twice in a short time would not lead
/// for long.
#[story]
fn states_of_a_leader_that_stalls() {
    let cluster = three();
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "the start");
    let down: &[&str] = &["electd_peer_up{peer=\"node-3\"} 0", "electd_failures_tolerated 0"];

    let held = Held::hold(cluster.node(3), "election");
    let stalled = One {
        node: 3,
        codes: [503; 4],
        figures: &[
            "electd_problems{kind=\"stalled\"} 1",
            "electd_is_leader 0",
            "electd_has_leader 0",
        ],
        state: "starting",
    };
    cluster.agree_among(&[1, 2], 2);
    let all = All {
        codes: [1, 1, 0],
        health: &[
            "ELECTD DEGRADED: node-2 leads in epoch",
            "3 of 3 nodes answer",
            "stalled: the election thread missed its turn",
        ],
        status: &["the election thread missed its turn"],
        leader: "node-2 ",
    };
    seen(&cluster, "a stalled leader", &[stalled, leads(2, down), follows(1, down)], &all);
    drop(held);
    all_is_well(&cluster, "a stalled leader");
    let page = cluster.node(3).metrics().unwrap();
    assert!(figure(&page, "electd_stalls_total") >= Some(1.0), "{page}");
    let page = cluster.node(2).metrics().unwrap();
    assert_eq!(figure(&page, "electd_stalls_total"), Some(0.0), "{page}");
}

/// An operator said so: nothing is wrong, and every view says why node-3 does not lead, or stays.
#[story]
fn states_that_an_operator_wants() {
    // No node fails here, and a busy machine is not to be taken for one that does.
    let cluster = Cluster::prepare(3, |config| config["quorum"] = "majority".into());
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "the start");
    let none: &[&str] = &["electd_problems{kind=\"health\"} 0", "electd_failures_tolerated 1"];
    let order = |order: &[&str]| {
        let output = electd(&cluster, order);
        assert_eq!(output.status.code(), Some(0), "{order:?}: {output:?}");
    };

    order(&["drain", "--node", "node-3", "--reason", "new disk"]);
    let drained = All {
        health: &[
            "ELECTD OK: node-2 leads",
            "drained: node-3, since ",
            ": new disk",
            "failures_tolerated=1 ",
        ],
        status: &["node-3 following node-2", "drained: node-3, since "],
        leader: "node-2 ",
        ..WELL
    };
    seen(&cluster, "drained", &[follows(3, none), leads(2, none), follows(1, none)], &drained);
    order(&["undrain", "--node", "node-3"]);
    all_is_well(&cluster, "a drain");

    order(&["pause"]);
    let paused = All {
        health: &["ELECTD OK: node-3 leads", "paused: since ", "nobody preempts the leader"],
        status: &["paused: since "],
        ..WELL
    };
    let figures: &[&str] = &["electd_paused 1"];
    seen(&cluster, "paused", &[leads(3, figures), follows(1, figures)], &paused);
    order(&["resume"]);
    all_is_well(&cluster, "a pause");

    order(&["switchover", "--to", "node-1"]);
    let switched = All {
        health: &["ELECTD OK: node-1 leads", "switchover: node-1 leads by it"],
        status: &["node-3 following node-1", "switchover: node-1 leads by it"],
        leader: "node-1 ",
        ..WELL
    };
    seen(&cluster, "switched over", &[leads(1, &[]), follows(3, &[])], &switched);
    order(&["switchover", "--clear"]);
    all_is_well(&cluster, "a switchover");

    order(&["resign"]);
    let resigned = All {
        health: &[
            "ELECTD OK: node-2 leads",
            "resigned: node-3 leads only if no other can; `electd undrain --config ",
            " --node node-3` lets it lead again",
        ],
        status: &["resigned: node-3 leads only if no other can"],
        leader: "node-2 ",
        ..WELL
    };
    seen(&cluster, "resigned", &[leads(2, &[]), follows(3, &[])], &resigned);
    order(&["undrain", "--node", "node-3"]);
    all_is_well(&cluster, "a resignation");
    history_has_all(&cluster);
}

/// The whole of it, and only what lasted into the time that was asked for.
fn history_has_all(cluster: &Cluster) {
    let history = |since: &[&str]| {
        let output = electd(cluster, &[&["history", "--output", "json"], since].concat());
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        told["leaderships"].as_array().unwrap().clone()
    };
    let leaders = |history: &[Value]| -> Vec<String> {
        history.iter().map(|led| led["leader"].as_str().unwrap().to_owned()).collect()
    };
    let all = eventually("the history has all", || {
        let all = history(&[]);
        let names = ["node-3", "node-2", "node-3", "node-1", "node-3", "node-2", "node-3"];
        ensure(leaders(&all) == names, || format!("{all:?}")).map(|()| all)
    });
    let causes: Vec<&str> = all.iter().map(|led| led["cause"].as_str().unwrap()).collect();
    assert_eq!(causes[0], "start", "{causes:?}");
    assert_eq!(
        (causes[1], causes[3], causes[5]),
        ("drained", "switched_over", "resigned"),
        "{causes:?}"
    );
    for pair in all.windows(2) {
        assert!(pair[0]["epoch"].as_u64() < pair[1]["epoch"].as_u64(), "{pair:?}");
        assert_eq!(pair[0]["lasts"], false, "{pair:?}");
        assert!(pair[0]["until_ms"].as_u64() <= pair[1]["since_ms"].as_u64(), "{pair:?}");
    }
    assert_eq!(all[6]["lasts"], true, "{all:?}");
    assert_eq!(leaders(&history(&["--since", "1ms"])), ["node-3"], "the last one alone lasts");
    assert_eq!(history(&["--since", "24h"]).len(), 7);
}

/// The check of a node says that it is ill; then that of another, too.
#[story]
fn states_of_nodes_that_are_ill() {
    let cluster = three();
    let ill = cluster.file().with_file_name("is-ill");
    let mut config = cluster.config().clone();
    let script = format!("test ! -e {}-$ELECTD_NODE || {{ echo ill; exit 1; }}", ill.display());
    config["health"] =
        json!({"command": ["sh", "-c", script], "every": "300ms", "timeout": "290ms"});
    fs::write(cluster.file(), config.to_string()).unwrap();
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "the start");

    let of_two = ill.with_file_name("is-ill-node-2");
    fs::write(&of_two, "").unwrap();
    let unhealthy = One {
        node: 2,
        codes: FOLLOWS,
        figures: &[
            "electd_healthy 0",
            "electd_problems{kind=\"health\"} 1",
            "electd_failures_tolerated 1",
        ],
        state: "following",
    };
    let all = All {
        codes: [1, 1, 0],
        health: &[
            "ELECTD DEGRADED: node-3 leads",
            "node-2: health: unhealthy",
            "exited with code 1: ill",
            "failures_tolerated=1 answering=3;;;0;3 problems=1 ",
        ],
        status: &["unhealthy, so this node is not eligible"],
        leader: "node-3 ",
    };
    seen(&cluster, "unhealthy", &[unhealthy, leads(3, &["electd_healthy 1"])], &all);
    let of_one = ill.with_file_name("is-ill-node-1");
    fs::write(&of_one, "").unwrap();
    let alone: &[&str] =
        &["electd_failures_tolerated 0", "electd_problems{kind=\"quorum_margin\"} 0"];
    let all = All {
        health: &["no further failure tolerated", "node-1, node-2: health: unhealthy"],
        ..all
    };
    seen(&cluster, "nobody else may lead", &[leads(3, alone), follows(1, alone)], &all);
    [of_one, of_two].iter().for_each(|file| fs::remove_file(file).unwrap());
    all_is_well(&cluster, "an illness");
}

/// A write of its state does not end, for as long as the disk is stuck.
#[story]
fn states_of_a_node_whose_disk_is_stuck() {
    let cluster = three();
    cluster.nodes().iter().for_each(|node| node.start());
    all_is_well(&cluster, "the start");
    let hangs = "fsync:delay_enter=600000000";
    let Some(traced) = Traced::thread(cluster.node(1), "store", hangs) else { return };
    cluster.node(2).post("/elections", "{}").unwrap(); // so that there is something to write
    cluster.node(3).restart();
    let stuck = One {
        node: 1,
        codes: [503, 503, 503, 200],
        figures: &["electd_problems{kind=\"storage\"} 1"],
        state: "waiting",
    };
    let all = All {
        codes: [1, 1, 0],
        health: &[
            "ELECTD DEGRADED: node-3 leads",
            "node-1: storage: a write of the state has been under way for",
        ],
        status: &["is the disk stuck?"],
        leader: "node-3 ",
    };
    cluster.agree_among(&[2, 3], 3);
    let follows_on = One { codes: [503, 200, 503, 200], state: "following", ..stuck };
    within(SOON, "in the state \"disk stuck\", all views show it", || {
        // Where the epoch was reserved before, it follows; otherwise it waits for the disk.
        shows(&cluster, &stuck).or_else(|_| shows(&cluster, &follows_on))?;
        all_show(&cluster, &all)
    });
    drop(traced);
    all_is_well(&cluster, "a stuck disk");
}

/// A leader that no packet reaches knows of no majority, and says so to those on its own host.
#[story]
fn states_of_a_leader_that_is_cut_off() {
    let Some(network) = Network::of(3) else { return };
    let cluster = Cluster::prepare_on(network, with_majority);
    cluster.nodes().iter().for_each(|node| node.start());
    cluster.agree_on(3);
    let at_home_of = |number: usize, command: &str| {
        let name = &cluster.node(number).name;
        at_home(&cluster, number, &[command, "--node", name])
    };
    let figures: &[&str] =
        &["electd_failures_tolerated 1", "electd_problems{kind=\"peer_down\"} 0"];
    within(SOON, "all is well", || {
        shows(&cluster, &leads(3, figures))?;
        shows(&cluster, &follows(1, figures))
    });
    cluster.network().cut_off(3);
    cluster.agree_among(&[1, 2], 2);
    let cut = |state| One {
        node: 3,
        codes: NOBODY,
        figures: &[
            "electd_problems{kind=\"peer_down\"} 2",
            "electd_problems{kind=\"quorum_margin\"} 1",
        ],
        state,
    };
    within(SOON, "in the state \"cut off\", all views show it", || {
        let tried = ["electing", "waiting", "starting"].map(|state| shows(&cluster, &cut(state)));
        ensure(tried.iter().any(Result::is_ok), || format!("{tried:?}"))?;
        let codes = ["health", "status", "leader"].map(|word| at_home_of(3, word).status.code());
        ensure(codes == [Some(2), Some(1), Some(1)], || format!("{codes:?}"))?;
        shows(
            &cluster,
            &leads(2, &["electd_failures_tolerated 0", "electd_peer_up{peer=\"node-3\"} 0"]),
        )?;
        let codes = ["health", "status", "leader"].map(|word| at_home_of(2, word).status.code());
        ensure(codes == [Some(1), Some(1), Some(0)], || format!("{codes:?}"))
    });
    cluster.network().plug(3, true);
    cluster.agree_on(3);
    within(SOON, "all is well again", || shows(&cluster, &leads(3, figures)));
}
