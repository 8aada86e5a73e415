//! Liars: who takes the place of a dead member, at its own address, and lies for as long as a test lasts. No
//! word of it ends a process, keeps the others from a leader, makes a second one, or fills the log.

use std::sync::Arc;

use crate::support::liar::Liar;
use crate::support::{Cluster, ensure, eventually, for_each_algorithm, watchful};
use electd::core::settings::AlgorithmKind;
use electd::node::status::Status;
use parking_lot::Mutex;
use serde_json::{Value, json};

for_each_algorithm! {
    whoever_answers_for_a_dead_member_and_does_no_more_keeps_no_majority_from_electing,
}

/// Five members that miss whoever is silent soon. The two best are dead.
fn three_of_five(algorithm: AlgorithmKind, quorum: &'static str) -> Cluster {
    let cluster = Cluster::start_with(5, |config| {
        watchful(config);
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = quorum.into();
    });
    cluster.agree_on(5);
    cluster.node(5).kill_9();
    cluster.agree_on(4);
    cluster
}

/// Says yes to all that asks whether it is there, no to all that ask for its vote, and nothing else.
fn there_and_no_more(_from: usize, epoch: u64, message: &Value) -> Vec<(u64, Value)> {
    let number = |key: &str| message[key]["number"].clone();
    let says = |word: Value| vec![(epoch, word)];
    let kind = message.as_object().and_then(|kinds| kinds.keys().next()).map(String::as_str);
    let opinion = json!({"no": {"wait_ns": 3_600_000_000_000_u64}});
    match kind {
        Some("election") => says(json!({"answer": {"round": message["election"]["round"]}})),
        Some(key @ ("are_you_there" | "are_you_normal" | "halt" | "elected" | "ready")) => {
            says(json!({"reply": {"number": number(key), "accepted": true}}))
        }
        Some("probe") => says(json!({"alive": {"number": number("probe")}})),
        Some("trial") => says(
            json!({"opinion": {"number": number("trial"), "opinion": opinion, "epoch": epoch}}),
        ),
        Some("claim") => {
            says(json!({"refuse": {"number": number("claim"), "opinion": opinion, "epoch": epoch}}))
        }
        _ => Vec::new(),
    }
}

/// Who leads these: one of them, in one epoch that all of them name.
fn leader_of(cluster: &Cluster, members: &[usize]) -> Result<(usize, u64), String> {
    let statuses = members.iter().map(|number| cluster.node(*number).status());
    let statuses = statuses.collect::<Result<Vec<Status>, String>>()?;
    let named = |status: &Status| {
        Some((status.leader.as_ref().map(|leader| leader.name.clone())?, status.epoch))
    };
    let views: Vec<_> = statuses.iter().map(named).collect();
    let agree = views.iter().all(|view| *view == views[0]);
    let leader = views[0].as_ref().filter(|_| agree).and_then(|(name, epoch)| {
        let number = members.iter().find(|number| cluster.node(**number).name == *name)?;
        Some((*number, *epoch))
    });
    leader.ok_or_else(|| format!("{views:?}"))
}

/// One of three leads on in one epoch, for as long as a liar lasts.
fn elects_beside_a_liar(algorithm: AlgorithmKind, quorum: &'static str) {
    let cluster = three_of_five(algorithm, quorum);
    let _liar = Liar::of(&cluster, 5, &[1, 2, 3, 4], there_and_no_more);
    cluster.node(4).kill_9();
    let (mut begun, mut last) = (0, None);
    eventually("one of them leads on", || {
        let leader = leader_of(&cluster, &[1, 2, 3])?;
        let sent = cluster.node(leader.0).status()?.messages["heartbeat"].sent;
        if last != Some(leader) {
            (begun, last) = (sent, Some(leader));
        }
        ensure(sent >= begun + 20, || format!("{leader:?} since {begun} of {sent}"))
    });
}

fn whoever_answers_for_a_dead_member_and_does_no_more_keeps_no_majority_from_electing(
    algorithm: AlgorithmKind,
) {
    elects_beside_a_liar(algorithm, "majority");
}

/// The messages that a liar was told.
type Told = Arc<Mutex<Vec<Value>>>;

/// A liar in the place of this member, that speaks to node-1 and notes what that says to it.
fn listener(cluster: &Cluster, number: usize) -> (Liar, Told) {
    let told = Told::default();
    let notes = Arc::clone(&told);
    let liar = Liar::of(cluster, number, &[1], move |_, _, message| {
        notes.lock().push(message.clone());
        Vec::new()
    });
    (liar, told)
}

/// Says a message to node-1 over and over until that has answered it with one of this key. Gives the answer.
fn answer(liar: &Liar, told: &Told, epoch: u64, message: &Value, key: &str) -> Value {
    told.lock().clear();
    let question = message.as_object().and_then(|kinds| kinds.values().next()).unwrap();
    // An answer to an earlier question may come late.
    let fits = |said: &&Value| said.get("number") == question.get("number");
    eventually(&format!("node-1 answers with {key}"), || {
        liar.say(1, epoch, message).map_err(|error| error.to_string())?;
        let found = told.lock().iter().filter_map(|said| said.get(key)).find(fits).cloned();
        found.ok_or_else(|| format!("{:?}", told.lock()))
    })
}

/// Node-3 led in an epoch for which node-1 never voted, and changed the members in it; the voters of that
/// epoch are members no more, so node-1 and node-2 are a majority now. Then node-1 starts anew, and node-2
/// asks it for its vote in the very same epoch.
#[test]
fn a_restarted_voter_votes_in_no_epoch_in_which_its_list_was_stamped() {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    let epoch = cluster.agree_on(3) + 3;
    [2, 3].iter().for_each(|number| cluster.node(*number).kill_9());
    let (leader, told) = listener(&cluster, 3);
    let rank = json!({"value": 0, "id": cluster.id(3)});
    let heartbeat = json!({"heartbeat": {"epoch": epoch, "number": 1, "rank": rank,
        "lease_ns": 1_000_000, "settled": [0, 0], "members": []}});
    answer(&leader, &told, epoch, &heartbeat, "acknowledge");
    let members = cluster.config()["members"].as_array().unwrap().clone();
    let list = json!({"list": cluster.list_of(epoch, 2, &members)});
    let stored = answer(&leader, &told, epoch, &list, "listed");
    assert_eq!(stored["version"], json!([epoch, 2]));
    drop(leader);

    cluster.node(1).restart();
    let (candidate, told) = listener(&cluster, 2);
    let stamped = [epoch, 2];
    let trial = |of: u64| json!({"trial": {"number": of, "epoch": of, "list": stamped}});
    eventually("it would vote in the next epoch", || {
        let said = answer(&candidate, &told, epoch, &trial(epoch + 1), "opinion");
        ensure(said["opinion"] == "yes", || said.to_string())
    });
    let said = answer(&candidate, &told, epoch, &trial(epoch), "opinion");
    assert!(said["opinion"].get("no").is_some(), "{said}");
    let claim = json!({"claim": {"number": 2, "epoch": epoch, "lease_ns": 1_000_000,
        "list": stamped}});
    answer(&candidate, &told, epoch, &claim, "refuse");
    let granted = told.lock().iter().any(|said| said.get("grant").is_some());
    assert!(!granted, "{:?}", told.lock());
}
