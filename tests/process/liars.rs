//! Liars: a process takes the place of a dead member, at its own address, and lies for as long as a
//! test lasts. Nothing that it says ends a process, keeps the others from having a leader, makes a
//! second leader, or fills the log.

use std::sync::Arc;
use std::thread;

use crate::support::liar::Liar;
use crate::support::{Cluster, breathe, ensure, eventually, for_each_algorithm, http, watchful};
use electd::core::settings::AlgorithmKind;
use electd::node::status::Status;
use parking_lot::Mutex;
use serde_json::{Value, json};
use story::story;

for_each_algorithm! {
    whoever_ranks_higher_and_never_leads_keeps_no_majority_from_electing,
    whoever_answers_for_a_dead_member_and_does_no_more_keeps_no_majority_from_electing,
}

/// A liar's answer to a message: by its own id, the member that sent it, its epoch and the message.
type Lies = fn(&str, usize, u64, &Value) -> Vec<(u64, Value)>;

/// Says yes to all that asks whether it is there, no to all that ask for its vote, and nothing else.
fn there_and_no_more(_: &str, _from: usize, epoch: u64, message: &Value) -> Vec<(u64, Value)> {
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

/// Five members that soon notice a silent peer, and a liar in the place of this one of them.
fn five_with_a_liar(algorithm: AlgorithmKind, number: usize, lies: Lies) -> (Cluster, Liar) {
    let cluster = Cluster::start_with(5, |config| {
        watchful(config);
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(5);
    cluster.node(number).kill_9();
    let others: Vec<usize> = (1..=5).filter(|other| *other != number).collect();
    cluster.agree_on(others[3]);
    let own = cluster.id(number);
    let lies = move |from: usize, epoch: u64, message: &Value| lies(&own, from, epoch, message);
    let liar = Liar::of(&cluster, number, &others, lies);
    (cluster, liar)
}

/// The leader of these: one of them, in one epoch that all of them name.
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

/// Says that it ranks above all and is to lead, and never does. Otherwise as above.
fn never_leads(own: &str, from: usize, epoch: u64, message: &Value) -> Vec<(u64, Value)> {
    let mut says = there_and_no_more(own, from, epoch, message);
    if let Some(round) = message["election"]["round"].as_u64() {
        says.push((epoch, json!({"lower": {"round": round}})));
    }
    if let Some(number) = message["are_you_there"]["number"].as_u64() {
        says.insert(0, (epoch, json!({"reply": {"number": number, "accepted": false}})));
    }
    if let Some(number) = message["halt"]["number"].as_u64() {
        says = vec![(epoch, json!({"reply": {"number": number, "accepted": false}}))];
    }
    if let Some(ballot) = message.get("ballot") {
        says.push((epoch, json!({"view": {"epoch": 0, "leader": null}})));
        says.push((epoch, json!({"ballot": elects(own, ballot)})));
    }
    says
}

/// This ballot, with a liar as its candidate.
fn elects(own: &str, ballot: &Value) -> Value {
    let (mut ballot, rank) = (ballot.clone(), json!({"value": 0, "id": own}));
    ballot["candidate"] = json!({"stands": true, "rank": rank, "incarnation": 1000});
    ballot
}

/// Its vote is worth a wait until the end of time. Otherwise as the first.
fn says_no_for_all_time(own: &str, from: usize, epoch: u64, message: &Value) -> Vec<(u64, Value)> {
    let mut says = there_and_no_more(own, from, epoch, message);
    for key in ["opinion", "refuse"] {
        for said in says.iter_mut().filter_map(|(_, word)| word.get_mut(key)) {
            said["opinion"]["no"]["wait_ns"] = u64::MAX.into();
        }
    }
    says
}

/// Sends each ballot back to the member that it comes from, with itself as the candidate and from further on.
fn sends_ballots_back(own: &str, _from: usize, epoch: u64, message: &Value) -> Vec<(u64, Value)> {
    let Some(hops) = message["ballot"]["hops"].as_u64() else { return Vec::new() };
    let mut ballot = elects(own, &message["ballot"]);
    ballot["hops"] = (hops + 1).into();
    vec![(epoch, json!({"ballot": ballot}))]
}

/// One of three keeps leading in one epoch, for as long as a liar lasts that ranks above them.
fn elects_beside_a_liar(algorithm: AlgorithmKind, lies: Lies) {
    let (cluster, _liar) = five_with_a_liar(algorithm, 5, lies);
    cluster.node(4).kill_9();
    one_leads_on(&cluster, &[1, 2, 3]);
}

#[track_caller]
fn one_leads_on(cluster: &Cluster, members: &[usize]) {
    let (mut begun, mut last) = (0, None);
    eventually("one of them leads on", || {
        let leader = leader_of(cluster, members)?;
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
    elects_beside_a_liar(algorithm, there_and_no_more);
}

/// Rule S1.
fn whoever_ranks_higher_and_never_leads_keeps_no_majority_from_electing(algorithm: AlgorithmKind) {
    elects_beside_a_liar(algorithm, never_leads);
}

/// Rule R4.
#[story]
fn whoever_sends_ballots_back_keeps_no_majority_from_electing() {
    elects_beside_a_liar(AlgorithmKind::Ring, sends_ballots_back);
}

/// Node-4 asks for votes while node-2 and node-3, which heard the dead leader later, are still bound. Their votes are
/// enough once they are free, and the liar's is not needed.
/// Claim: liar.
#[story]
fn a_voter_that_says_no_for_all_time_keeps_no_majority_from_electing() {
    elect_beside_one_that_says_no(1);
}

/// The member that leads again comes and goes by then.
#[story]
#[ignore = "long"]
fn a_voter_that_says_no_for_all_time_keeps_no_majority_from_electing_again_and_again() {
    elect_beside_one_that_says_no(3);
}

fn elect_beside_one_that_says_no(times: usize) {
    let (cluster, _liar) = five_with_a_liar(AlgorithmKind::Bully, 1, says_no_for_all_time);
    let late = [2, 3].map(|number| cluster.node(number));
    let sent = || Ok::<_, String>(cluster.node(5).status()?.messages["heartbeat"].sent);
    for _ in 0..times {
        // On a host that is short of the processor, the leader may lose them before it has sent so many.
        let is_under_way = || {
            cluster.agree_on(5);
            late.iter().for_each(|node| node.freeze());
            let before = sent().unwrap();
            let leads = || Ok::<_, String>(cluster.node(5).status()?.state == "leading");
            eventually("a heartbeat to each of them is under way", || {
                ensure(sent()? >= before + 8 || !leads()?, || format!("{before}"))
            });
            leads().unwrap()
        };
        while !is_under_way() {
            late.iter().for_each(|node| node.thaw());
        }
        cluster.node(5).kill_9();
        eventually("node-4 misses the leader", || {
            let state = cluster.status(4)?.state;
            ensure(state != "following", || state)
        });
        late.iter().for_each(|node| node.thaw());
        one_leads_on(&cluster, &[2, 3, 4]);
        cluster.node(5).start();
    }
}

/// The messages that a liar got.
type Messages = Arc<Mutex<Vec<Value>>>;

/// A liar in the place of this member, that speaks to node-1 and keeps what that says to it.
fn listener(cluster: &Cluster, number: usize) -> (Liar, Messages) {
    let got = Messages::default();
    let notes = Arc::clone(&got);
    let liar = Liar::of(cluster, number, &[1], move |_, _, message| {
        notes.lock().push(message.clone());
        Vec::new()
    });
    (liar, got)
}

/// Says a message to node-1 over and over until that has answered it with one of this key. Gives the answer.
fn answer(liar: &Liar, got: &Messages, epoch: u64, message: &Value, key: &str) -> Value {
    got.lock().clear();
    let question = message.as_object().and_then(|kinds| kinds.values().next()).unwrap();
    // An answer to an earlier question may come late.
    let fits = |said: &&Value| said.get("number") == question.get("number");
    eventually(&format!("node-1 answers with {key}"), || {
        liar.say(1, epoch, message).map_err(|error| error.to_string())?;
        let found = got.lock().iter().filter_map(|said| said.get(key)).find(fits).cloned();
        found.ok_or_else(|| format!("{:?}", got.lock()))
    })
}

/// The reply of node-1 to a candidate that would lead in this epoch, by a list of this version.
fn opinion_on(candidate: &Liar, got: &Messages, epoch: u64, list: [u64; 2]) -> Value {
    let trial = json!({"trial": {"number": epoch, "epoch": epoch, "list": list}});
    answer(candidate, got, 0, &trial, "opinion")["opinion"].clone()
}

/// Node-1 (Z) follows node-5 (Y), which leads in an epoch for which node-1 never voted. Node-5 removes
/// node-2 and node-3 (A and B), who elected it; node-1 stores both changes, one after the other, and
/// restarts in order. Then node-4 (C), which called an election in that epoch before, was paused, and has
/// node-5's list by now, asks for a vote in the very same epoch. Its own vote and that of node-1 would
/// be a majority of the three that are left. (Q6)
/// Claim: epoch.
#[story]
fn a_restarted_voter_votes_in_no_epoch_in_which_its_list_was_stamped() {
    let cluster = Cluster::start_with(5, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    let epoch = cluster.agree_on(5) + 3;
    (2..=5).for_each(|number| cluster.node(number).kill_9());
    let (leader, got) = listener(&cluster, 5);
    let rank = json!({"value": 0, "id": cluster.id(5)});
    let heartbeat = json!({"heartbeat": {"epoch": epoch, "number": 1, "rank": rank,
        "lease_ns": 1_000_000, "settled": [0, 0], "members": []}});
    answer(&leader, &got, epoch, &heartbeat, "acknowledge");
    let mut members = cluster.config()["members"].as_array().unwrap().clone();
    for counter in [1, 2, 3] {
        let list = json!({"list": cluster.list_of(epoch, counter, &members)});
        eventually("it has stored the list", || {
            let stored = answer(&leader, &got, epoch, &list, "listed");
            ensure(stored["version"] == json!([epoch, counter]), || stored.to_string())
        });
        members.remove(1);
    }
    drop(leader);

    // A crash would make it count its whole reserve as voted in.
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    cluster.node(1).start();
    let (candidate, got) = listener(&cluster, 4);
    let stamped = [epoch, 3];
    eventually("it would vote in the next epoch", || {
        let opinion = opinion_on(&candidate, &got, epoch + 1, stamped);
        ensure(opinion == "yes", || opinion.to_string())
    });
    let opinion = opinion_on(&candidate, &got, epoch, stamped);
    assert!(opinion.get("no").is_some(), "{opinion}");
    let claim = json!({"claim": {"number": 2, "epoch": epoch, "lease_ns": 1_000_000,
        "list": stamped}});
    answer(&candidate, &got, epoch, &claim, "refuse");
    let voted = got.lock().iter().any(|said| said.get("grant").is_some());
    assert!(!voted, "{:?}", got.lock());
}

/// Node-1 starts for the first time, or with a disk that was lost. The others tell it that the cluster
/// has reached an epoch in which it may have voted. Node-1 remembers that after a restart.
/// Claim: lost-voter.
#[story]
fn what_an_empty_voter_was_told_is_known_after_a_restart() {
    const REACHED: u64 = 50;
    // Above all that node-1 tried or reserved meanwhile: a voter that is informed anew votes in none of those epochs.
    const LATER: u64 = 9_000;
    let cluster = Cluster::prepare(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    cluster.node(1).start();
    eventually("node-1 answers", || cluster.node(1).status());
    let (other, heard) = listener(&cluster, 3);
    answer(&other, &heard, REACHED, &json!({"probe": {"number": 1}}), "alive");
    let (candidate, got) = listener(&cluster, 2);
    for _ in ["as it was told", "after a restart"] {
        eventually("it would vote in a later epoch", || {
            let opinion = opinion_on(&candidate, &got, LATER, [0, 0]);
            ensure(opinion == "yes", || opinion.to_string())
        });
        for epoch in [REACHED - 9, REACHED] {
            let opinion = opinion_on(&candidate, &got, epoch, [0, 0]);
            assert!(opinion.get("no").is_some(), "{opinion} in {epoch}");
        }
        cluster.node(1).restart();
    }
}

/// A voter that is bound for long stays bound for as long, even if it restarts meanwhile.
#[story]
fn a_voter_that_is_bound_is_so_after_a_restart() {
    const LONG: u64 = 9_000_000_000;
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    let epoch = cluster.agree_on(3) + 3;
    [2, 3].iter().for_each(|number| cluster.node(*number).kill_9());
    let (candidate, got) = listener(&cluster, 3);
    eventually("it votes for node-3", || {
        let claim = json!({"claim": {"number": epoch, "epoch": epoch, "lease_ns": LONG,
            "list": [0, 0]}});
        got.lock().clear();
        candidate.say(1, epoch, &claim).map_err(|error| error.to_string())?;
        answer(&candidate, &got, epoch, &json!({"probe": {"number": 1}}), "alive");
        let voted = got.lock().iter().any(|said| said.get("grant").is_some());
        ensure(voted, || format!("{:?}", got.lock()))
    });
    drop(candidate);
    cluster.node(1).restart();
    let (other, got) = listener(&cluster, 2);
    let unreserved = epoch + 1000;
    let opinion = opinion_on(&other, &got, unreserved, [0, 0]);
    let wait = opinion["no"]["wait_ns"].as_u64();
    assert!(wait.is_some_and(|wait| wait > 0), "{opinion}");
}

/// The leader that node-1 asked to remove node-2 tells it the true outcomes of other commands first: of a resignation,
/// of an addition, and of the removal of another member.
#[story]
fn the_outcome_of_one_command_answers_no_other() {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    let epoch = cluster.agree_on(3) + 3;
    [2, 3].iter().for_each(|number| cluster.node(*number).kill_9());
    let [removed, leads] = [2, 3].map(|number| cluster.id(number));
    let gone = |id: &str| json!({"removed": {"id": id, "stored": true, "handed_over": false}});
    let outcomes = [
        json!({"resigned": {"epoch": epoch, "successor": null}}),
        json!({"added": {"id": removed}}),
        gone(&leads),
        gone(&removed),
    ];
    let leader = Liar::of(&cluster, 3, &[1], move |_, epoch, message| {
        let number = &message["forward"]["number"];
        let say = |done: &Value| json!({"outcome": {"number": number, "result": {"Ok": done}}});
        let asked = number.is_u64();
        outcomes.iter().filter(|_| asked).map(|done| (epoch, say(done))).collect()
    });
    let rank = json!({"value": 0, "id": leads});
    let mut number = 0;
    let mut beat = || {
        number += 1;
        let heartbeat = json!({"heartbeat": {"epoch": epoch, "number": number, "rank": rank,
            "lease_ns": 1_000_000, "settled": [0, 0], "members": []}});
        let _ = leader.say(1, epoch, &heartbeat);
        breathe();
    };
    let state = cluster.node(1).state();
    let answer = thread::scope(|scope| {
        let asked = scope.spawn(move || {
            eventually("the liar leads", || {
                let answer = http::tell(&state, "DELETE", "/members/node-2", "").unwrap();
                ensure(!answer.body.contains("no leader"), || format!("{answer:?}"))?;
                Ok(answer)
            })
        });
        while !asked.is_finished() {
            beat();
        }
        asked.join().unwrap()
    });
    assert_eq!(answer.code, 200, "{answer:?}");
    assert!(answer.body.contains("removed"), "{answer:?}");
}
