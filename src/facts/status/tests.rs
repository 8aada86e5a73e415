//! What programs may rely on: a status of an earlier version is read, and the words about a takeover.

use serde_json::json;

use super::*;

/// `electd status` asks nodes of earlier versions, which do not tell all that this one does.
#[test]
fn a_status_without_what_was_added_later_is_read() {
    let member = json!({
        "id": "1", "name": "a", "address": "h:1", "admin": null, "role": "member", "stands": true,
        "status": "alive", "rank": {"by": "id", "value": "1"},
    });
    let told = json!({
        "cluster": "c", "node": {"id": "1", "name": "a"}, "state": "leading",
        "leader": {"id": "1", "name": "a", "address": "h:1", "epoch": 4}, "epoch": 4,
        "quorum": "none", "algorithm": "bully", "preempt": "always", "rank_source": "the id",
        "halting": null, "lease_remaining_ms": null, "guarantee": "some", "worst_failover_ms": null,
        "differs_from_file": null, "members": [member], "incarnation": 2, "uptime_ms": 3, "age_ms": 5,
        "stalled": false, "messages": {}, "dropped": {}, "rejections": [], "changes": [],
    });
    let [id, name, address] = ["1", "a", "h:1"].map(str::to_owned);
    let rank = RankStatus { by: "id".to_owned(), value: json!("1") };
    let of_a = MemberStatus {
        id: id.clone(),
        name: name.clone(),
        address: address.clone(),
        role: "member".to_owned(),
        eligible: true,
        status: "alive".to_owned(),
        rank,
        ..MemberStatus::default()
    };
    let expected = Status {
        cluster: "c".to_owned(),
        node: NodeRef { id: id.clone(), name: name.clone() },
        state: "leading".to_owned(),
        leader: Some(LeaderStatus { id, name, address, epoch: 4 }),
        epoch: 4,
        quorum: "none".to_owned(),
        algorithm: "bully".to_owned(),
        preempt: "always".to_owned(),
        rank_source: "the id".to_owned(),
        guarantee: "some".to_owned(),
        members: vec![of_a],
        incarnation: 2,
        uptime_ms: 3,
        age_ms: 5,
        ..Status::default()
    };
    assert_eq!(serde_json::from_value::<Status>(told).unwrap(), expected);
    let problem = json!({"since": "then", "kind": "rank", "text": "none"});
    assert_eq!(serde_json::from_value::<Problem>(problem).unwrap().about, "");
}

/// A leader may let a member take over later than that one thinks.
#[test]
fn a_takeover_happens_at_the_later_of_the_two_moments() {
    let waits =
        "preempt after 30s: until then it has not been eligible for long enough without a break";
    let asks = "it asks for that, and the leader or the voters have not agreed yet";
    assert_eq!([true, false].map(|it| TakeoverStatus::why("after 30s", it)), [waits, asks]);
    let of = |at: Option<&str>, why: &str| {
        let at = at.map(str::to_owned);
        TakeoverStatus { from: "a".to_owned(), at, why: why.to_owned() }
    };
    let later = |at| of(at, "why").not_before("2026-11-22", "after 30s");
    assert_eq!(later(None), of(Some("2026-11-22"), waits));
    assert_eq!(later(Some("2026-11-21")), of(Some("2026-11-22"), waits));
    for same in ["2026-11-22", "2026-11-23"] {
        assert_eq!(later(Some(same)), of(Some(same), "why"));
    }
    assert_eq!(of(Some("noon"), asks).words(), format!("is to take over from a at noon: {asks}"));
    assert_eq!(of(None, asks).words(), format!("is to take over from a: {asks}"));
}
