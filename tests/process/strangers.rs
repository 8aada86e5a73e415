//! Stray connections that know what `GET /status` shows to all: whatever they say, no member leads or
//! leaves because of it, and none keeps it.

use std::fs;
use std::net::TcpListener;
use std::thread;

use crate::support::liar::Liar;
use crate::support::link::Guise;
use crate::support::stray::Stray;
use crate::support::{self, Cluster, Node, accept, ensure, eventually};
use serde_json::{Value, json};
use story::story;

const FAR: u64 = (1 << 62) - 1;

/// Three voters, of which node-3 leads; this many of them run.
fn voters(n: usize) -> Cluster {
    let cluster = Cluster::prepare(3, |config| {
        config["quorum"] = "majority".into();
        support::watchful(config);
    });
    cluster.nodes().iter().for_each(Node::start);
    cluster.agree_on(3);
    for gone in (n + 1..=3).rev() {
        cluster.node(gone).kill_9();
        cluster.node(gone).bury(); // others will listen at its address
    }
    cluster.agree_on(n);
    cluster
}

/// A member that no other knows.
fn ghost() -> Value {
    let id = uuid::Uuid::new_v4().to_string();
    json!({"id": id, "name": "ghost", "address": "127.0.0.1:1", "admin": null})
}

/// Node-1 gets a list of itself and a ghost, from the ghost and in the name of node-3, which is down.
/// Then both running nodes restart. (M6)
#[story]
fn a_list_of_a_stray_connection_makes_nobody_lead_nor_leave() {
    let cluster = voters(2);
    let (ghost, epoch) = (ghost(), cluster.status(1).unwrap().epoch);
    let own = cluster.config()["members"][0].clone();
    for number in [3, 2, 3] {
        let mut hello = cluster.hello_as(number, 1);
        let teller =
            if number == 2 { ghost.clone() } else { cluster.config()["members"][2].clone() };
        hello["id"] = teller["id"].clone();
        hello["list"] = cluster.list_of(epoch, 1, &[own.clone(), teller.clone()]);
        let (mut stray, answer) = Stray::greet(&cluster, number, 1, &hello).unwrap();
        if answer.get("welcome").is_some() {
            let list = json!({"list": cluster.list_of(epoch, 2, &[own.clone(), teller])});
            stray.say(epoch, 2, &list).unwrap();
            // The node takes the next message after that.
            stray.say(epoch, 2, &json!({"listed": {"version": [0, 0]}})).unwrap();
        }
    }
    let unmoved = || {
        cluster.agree_on(2);
        for node in [1, 2] {
            let members = cluster.status(node).unwrap().members;
            assert_eq!(members.len(), 3, "{members:?}");
        }
    };
    for _ in 0..100 {
        unmoved();
    }
    [1, 2].iter().for_each(|number| cluster.node(*number).restart());
    unmoved();
}

/// One connection for each number that only grows. (X2)
#[story]
fn a_hello_from_far_ahead_is_refused_and_nothing_of_it_is_kept() {
    let cluster = voters(2);
    let epoch = cluster.status(2).unwrap().epoch;
    let far = |key: &str| {
        let mut hello = cluster.hello_as(3, 1);
        match key {
            "round" | "incarnation" => hello[key] = FAR.into(),
            "epoch" => hello["view"]["epoch"] = FAR.into(),
            _ => hello["list"]["version"][1] = FAR.into(),
        }
        hello
    };
    for key in ["round", "incarnation", "epoch", "list version"] {
        let (_, answer) = Stray::greet(&cluster, 3, 1, &far(key)).unwrap();
        let words = answer["reject"]["disagreement"].clone();
        assert_eq!(words["key"], key, "{answer}");
        let limit = words["ours"].as_str().unwrap();
        assert!(limit.starts_with("at most "), "{answer}");
    }
    let hello = cluster.hello_as(3, 1);
    let (mut stray, answer) = Stray::greet(&cluster, 3, 1, &hello).unwrap();
    assert!(answer.get("welcome").is_some(), "{answer}");
    stray.say(FAR, 2, &json!({"alive": {"number": 0}})).unwrap();
    assert!(stray.is_ended());
    assert_eq!(cluster.agree_on(2), epoch);
    let state = fs::read_to_string(cluster.state_file(1)).unwrap();
    assert!(!state.contains(&FAR.to_string()), "{state}");
    [1, 2].iter().for_each(|number| cluster.node(*number).restart());
    cluster.agree_on(2);
    cluster.node(3).start();
    assert!(cluster.agree_on(3) < epoch + 1000);
}

/// A hello that is refused for what it is, and says a round and a list that may have come about. The
/// stranger that no list of node-1 names says one that names the stranger and not node-1. (C3)
#[story]
fn a_refused_hello_changes_nothing_however_plausible_it_is() {
    let cluster = voters(3);
    let (ghost, epoch) = (ghost(), cluster.status(3).unwrap().epoch);
    let [own, other] = [0, 1].map(|at| cluster.config()["members"][at].clone());
    let refused = [
        ("cluster", json!("another"), &own),
        ("id", ghost["id"].clone(), &other),
        ("id", own["id"].clone(), &own),
    ];
    for (key, value, named) in refused {
        let mut hello = cluster.hello_as(2, 1);
        hello["round"] = (epoch + 1000).into();
        hello["list"] = cluster.list_of(epoch + 1000, 1, &[named.clone(), ghost.clone()]);
        hello[key] = value;
        let (_, answer) = Stray::greet(&cluster, 2, 1, &hello).unwrap();
        assert!(answer.get("reject").is_some(), "{key}: {answer}");
    }
    // Node-1 alone remembers what it heard, and the next epoch is above every round that it heard of.
    [2, 3].iter().for_each(|number| cluster.node(*number).kill_9());
    [2, 3].iter().for_each(|number| cluster.node(*number).start());
    let next = cluster.agree_on(3);
    assert!(next < epoch + 1000, "a refused hello counted: epoch {next} after {epoch}");
    assert_eq!(cluster.status(1).unwrap().members.len(), 3);
}

/// The true node-3 comes back after a stranger said that it was node-3 in a later incarnation.
#[story]
fn who_says_that_it_is_a_dead_member_at_a_later_start_does_not_keep_that_out() {
    let cluster = voters(2);
    let mut hello = cluster.hello_as(3, 1);
    hello["incarnation"] = 1000.into();
    for number in [1, 2] {
        hello["to"] = cluster.id(number).into();
        drop(Stray::greet(&cluster, 3, number, &hello).unwrap());
    }
    cluster.node(3).start();
    cluster.agree_on(3);
}

/// At the address of node-3, which is down, a stranger says to each dialer that it was removed. (M7)
#[story]
fn one_reject_makes_no_member_leave() {
    let cluster = voters(2);
    let listener = TcpListener::bind(cluster.node(3).address).unwrap();
    let ids = [cluster.id(1), cluster.id(2)];
    let (guise, mut told) = (Guise::of(&cluster, 3), [false; 2]);
    while told != [true; 2] {
        let stream = accept(&listener);
        // A dial may be given up amid its handshake.
        let Ok(stream) = guise.take(stream) else { continue };
        let mut stray = Stray::take(stream);
        let Ok(hello) = stray.read() else { continue };
        let Some(at) = ids.iter().position(|id| hello["id"] == **id) else { continue };
        let _ = stray.write(&json!({"reject": {"removed": {"id": &ids[at]}}}));
        told[at] = true;
    }
    for number in [1, 2] {
        eventually("it says that it was refused", || {
            let rejections = cluster.status(number)?.rejections;
            let refused = rejections.iter().any(|refusal| refusal.reason.contains("was removed"));
            ensure(refused, || format!("{rejections:?}"))
        });
    }
    cluster.agree_on(2);
}

/// Somebody says that it is node-3, which is down, and answers commands of which it was not asked. (X3)
#[story]
fn a_forged_outcome_answers_nothing() {
    let cluster = voters(2);
    let hello = cluster.hello_as(3, 1);
    let (mut stray, answer) = Stray::greet(&cluster, 3, 1, &hello).unwrap();
    assert!(answer.get("welcome").is_some(), "{answer}");
    let first = cluster.status(1).unwrap().incarnation << 20;
    cluster.node(2).freeze(); // so that the true outcome takes its time
    let state = cluster.node(1).state();
    let answer = thread::scope(|scope| {
        let asked =
            scope.spawn(move || support::http::tell(&state, "DELETE", "/members/node-3", ""));
        while !asked.is_finished() {
            for number in (1..8).chain(first + 1..first + 8) {
                let gone =
                    json!({"removed": {"id": hello["id"], "stored": true, "handed_over": false}});
                let outcome = json!({"outcome": {"number": number, "result": {"Ok": gone}}});
                if stray.say(0, 2, &outcome).is_err() {
                    break;
                }
            }
            thread::yield_now();
        }
        asked.join().unwrap().unwrap()
    });
    assert_ne!(answer.code, 200, "{answer:?}");
}

/// Somebody at the address of node-3, which is down, is met as a later start of it. The true node-3 is refused
/// from then on, says why and what to do, and that helps.
#[story]
fn a_member_in_whose_name_another_was_met_is_told_the_remedy() {
    let cluster = voters(2);
    let liar = Liar::of(&cluster, 3, &[1, 2], |_, _, _| Vec::new());
    drop(liar);
    cluster.node(3).start();
    let told = |log: String| log.contains("its state was lost") && log.contains("member remove");
    for number in [1, 2, 3] {
        eventually("it says what happened and what to do", || {
            ensure(told(cluster.node(number).log()), || cluster.node(number).log_tail(5))
        });
    }
    cluster.node(3).kill_9();
    cluster.node(3).bury(); // the fresh one has another folder
    eventually("it is removed", || {
        let answer = cluster.node(2).delete("/members/node-3")?;
        ensure(answer.code == 200 || answer.body.contains("no member"), || format!("{answer:?}"))
    });
    let mut config = cluster.config().clone();
    config["data_dir"] = "fresh".into();
    config["members"][2]["id"] = uuid::Uuid::new_v4().to_string().into();
    let entry = config["members"][2].to_string();
    let place = (cluster.node(3).address, cluster.node(3).admin);
    let fresh = cluster.process(3, place, "fresh", &config);
    fresh.start();
    eventually("it is added", || {
        let answer = cluster.node(2).post("/members", &entry)?;
        ensure(answer.code == 200 || answer.body.contains("has this"), || format!("{answer:?}"))
    });
    eventually("it belongs to the cluster", || {
        let status = fresh.status()?;
        let settled = ["following", "leading"].contains(&status.state.as_str());
        ensure(settled && status.leader.is_some(), || format!("{status:?}"))
    });
}

/// Node-1 and node-2 each get a list without the other, from a stranger, in its hello and afterwards,
/// and in the name of node-3, which is down. If one took the list, it would tell the other that it was
/// removed.
#[story]
fn a_list_without_a_member_does_not_make_it_leave() {
    let cluster = voters(2);
    let (ghost, epoch) = (ghost(), cluster.status(1).unwrap().epoch);
    let members = cluster.config()["members"].as_array().unwrap();
    for (to, other) in [(1, 2), (2, 1)] {
        let named = [members[to - 1].clone(), members[2].clone(), ghost.clone()];
        let list = |counter| {
            let mut list = cluster.list_of(epoch, counter, &named);
            list["removed"] = json!([cluster.id(other)]);
            list
        };
        for teller in [&members[2]["id"], &ghost["id"], &members[2]["id"]] {
            let mut hello = cluster.hello_as(3, to);
            hello["id"] = teller.clone();
            hello["list"] = list(1);
            let (mut stray, answer) = Stray::greet(&cluster, 3, to, &hello).unwrap();
            if answer.get("welcome").is_some() {
                stray.say(epoch, 2, &json!({"list": list(2)})).unwrap();
                stray.say(epoch, 2, &json!({"probe": {"number": 1}})).unwrap();
            }
        }
    }
    for _ in ["before a restart", "after it"] {
        // Both reconnect, so they would send a list that they had taken.
        [1, 2].iter().for_each(|number| cluster.node(*number).restart());
        cluster.agree_on(2);
        for number in [1, 2] {
            assert_eq!(cluster.status(number).unwrap().members.len(), 3);
            let log = cluster.node(number).log();
            assert!(!log.contains("was removed"), "{}", cluster.node(number).log_tail(5));
        }
    }
}
