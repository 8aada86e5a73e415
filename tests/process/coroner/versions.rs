//! A cluster of mixed versions: members up to protocol 6 know no certificates.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use story::story;

use super::{kill_both, slow, until_replaced};
use crate::support::impostor::Impostor;
use crate::support::liar::Liar;
use crate::support::{Cluster, ensure, eventually};

/// What a member that speaks versions up to this one is told when the leader dies: the kinds of the messages, up to the
/// question for its vote. The test plays it, and it votes.
fn messages_to(highest: Option<u32>) -> Vec<String> {
    let cluster = Cluster::start_with(3, slow);
    let (leader, _) = cluster.agree();
    let (played, other) = (leader % 3 + 1, (leader + 1) % 3 + 1);
    kill_both(cluster.node(played));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let votes = move |from: usize, epoch: u64, message: &Value| {
        let kinds = message.as_object().unwrap().keys();
        if from != leader {
            hears.lock().extend(kinds.cloned());
        }
        let yes = |key: &str| {
            let (number, epoch) = (&message[key]["number"], &message[key]["epoch"]);
            json!({"number": number, "opinion": "yes", "epoch": epoch, "incarnation": 1})
        };
        match () {
            () if message.get("trial").is_some() => vec![(epoch, json!({"opinion": yes("trial")}))],
            () if message.get("claim").is_some() => vec![(epoch, json!({"grant": yes("claim")}))],
            () => Vec::new(),
        }
    };
    let impostor = Impostor { highest, ..Impostor::of(&cluster, played) };
    let _voter = Liar::playing(&impostor, &[leader, other], votes);
    cluster.until_seen(other, played, "alive");
    heard.lock().clear();
    cluster.node(leader).kill_9();
    eventually("its vote is asked for", || {
        let heard = heard.lock().clone();
        ensure(heard.iter().any(|kind| kind == "trial"), || format!("{heard:?}"))
    });
    until_replaced(&cluster, leader);
    let mut heard = heard.lock().clone();
    heard.truncate(heard.iter().position(|kind| kind == "trial").unwrap());
    heard
}

/// Rules C4 and Z4.
#[story]
fn a_member_of_an_earlier_version_is_told_no_certificate_and_may_still_vote() {
    for highest in [None, Some(6)] {
        assert!(!messages_to(highest).contains(&"dead".to_owned()));
    }
    assert!(messages_to(Some(7)).contains(&"dead".to_owned()));
}
