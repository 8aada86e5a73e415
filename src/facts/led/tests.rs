//! What several nodes tell of the same leaderships.

use super::super::entry::OwnEnd;
use super::super::samples::{entry, history, status};
use super::*;

fn spans(merged: &[Led]) -> Vec<(&str, u64, Option<u64>)> {
    merged.iter().map(|led| (led.leader.as_str(), led.since_ms, led.until_ms)).collect()
}

#[test]
fn a_leader_that_was_frozen_does_not_lead_beside_the_next() {
    let first = |until| entry("c", 1, 1000, Some(until), "start");
    let follower = history("a", vec![first(2000), entry("b", 2, 2300, None, "leader_suspected")]);
    let frozen = history("c", vec![first(2100), entry("b", 2, 9005, None, "stalled")]);
    // With a majority it has led until the follower heard it last.
    for (one_at_a_time, end) in [(true, 2000), (false, 2100)] {
        let merged = merge(&[follower.clone(), frozen.clone()], one_at_a_time);
        assert_eq!(spans(&merged), [("c", 1000, Some(end)), ("b", 2300, None)]);
    }
}

/// It did not notice until it woke, and met the next leader at once: what it saw is the least of all.
#[test]
fn a_leader_that_woke_does_not_say_until_when_it_led() {
    let first = |until| entry("c", 1, 1000, Some(until), "start");
    let next = |since, gap, cause| HistoryEntry {
        leaderless_ms: gap,
        ..entry("b", 2, since, None, cause)
    };
    let follower = history("a", vec![first(2000), next(2300, 300, "leader_suspected")]);
    for cause in ["lease_ended", "stalled", "overruled"] {
        let woken = history("c", vec![first(9000), next(9005, 5, cause)]);
        for nodes in [[follower.clone(), woken.clone()], [woken.clone(), follower.clone()]] {
            let merged = merge(&nodes, true);
            assert_eq!(spans(&merged), [("c", 1000, Some(2000)), ("b", 2300, None)], "{cause}");
            assert_eq!(merged[1].leaderless_ms, Some(300), "{cause}");
        }
        assert_eq!(merge(&[woken], true)[1].leaderless_ms, Some(5), "nobody knows better");
    }
    // Whoever gave up knows when.
    let resigned = history("c", vec![first(2290), next(2300, 10, "resigned")]);
    assert_eq!(merge(&[follower, resigned], true)[1].leaderless_ms, Some(10));
}

/// As the history tells it.
#[test]
fn a_status_knows_why_the_leader_before_gave_up_as_its_node_says_so() {
    let of = |name: &str, cause: &str| {
        let mut own = status(name, Some(("b", 2)));
        own.last_leadership = Some(entry("b", 2, 2042, None, cause));
        own
    };
    let mut restarted = of("c", "start");
    let (cause, reason) = ("job_failed".to_owned(), "its job failed".to_owned());
    let ended = Some(OwnEnd { cause, reason });
    let led = |epoch| HistoryEntry {
        ended: ended.clone(),
        ..entry("c", epoch, 1000, Some(2000), "start")
    };
    let told = |one: &Status| {
        let led = Led::known([&of("a", "leader_released"), one].into_iter(), "b", 2).unwrap();
        (led.cause, led.reason)
    };
    let handed_over = ("leader_released".to_owned(), "leader_released by 2042".to_owned());
    assert_eq!(told(&restarted), handed_over);
    restarted.given_up = GivenUp::last_of(&[led(1), entry("b", 2, 2042, None, "start")]);
    assert_eq!(told(&restarted), ("job_failed".to_owned(), "c: its job failed".to_owned()));
    restarted.given_up = GivenUp::last_of(&[led(0)]);
    assert_eq!(told(&restarted), handed_over, "that was an earlier one");
    restarted.given_up = GivenUp::last_of(&[led(1)]);
    restarted.node.name = "d".to_owned();
    assert_eq!(told(&restarted), handed_over, "that was another one");
    let json = serde_json::json!(GivenUp::last_of(&[led(7)]));
    assert_eq!(
        json,
        serde_json::json!({"epoch": 7, "cause": "job_failed", "reason": "its job failed"})
    );
    let others = ["a", "b"].map(|leader| entry(leader, 2, 2042, None, "start"));
    assert_eq!(GivenUp::last_of(&[vec![led(1)], others.to_vec()].concat()), None, "long ago");
}

/// It alone knows why, and may have ended before it met the next leader.
#[test]
fn a_leader_that_gave_up_tells_why_although_it_missed_the_next_one() {
    let first = || entry("c", 1, 1000, Some(2000), "start");
    let (cause, reason) = ("job_failed".to_owned(), "its job failed".to_owned());
    let own = HistoryEntry { ended: Some(OwnEnd { cause, reason }), ..first() };
    let follower = history("a", vec![first(), entry("b", 2, 2042, None, "leader_released")]);
    let restarted = history("c", vec![own, entry("b", 2, 9000, None, "start")]);
    let told = |histories: &[History]| {
        let merged = merge(histories, true);
        (merged[1].cause.clone(), merged[1].reason.clone(), merged[1].leaderless_ms)
    };
    let failed = ("job_failed".to_owned(), "c: its job failed".to_owned(), Some(42));
    assert_eq!(told(&[follower.clone(), restarted]), failed);
    assert_eq!(told(&[follower]).0, "leader_released");
}

#[test]
fn two_leaders_at_once_are_shown_where_they_can_be() {
    let first = |until| entry("c", 1, 1000, until, "start");
    let side = history("a", vec![first(Some(2000)), entry("b", 2, 2300, None, "leader_suspected")]);
    let healed = history("c", vec![first(Some(9000)), entry("b", 2, 9005, None, "overruled")]);
    let merged = merge(&[side.clone(), healed.clone()], false);
    assert_eq!(spans(&merged)[0], ("c", 1000, Some(9000)));
    let merged = merge(&[side.clone(), healed], true);
    assert_eq!(spans(&merged)[0], ("c", 1000, Some(2000)));
    let parted = history("c", vec![first(None)]);
    let lasting = |one_at_a_time| {
        let merged = merge(&[side.clone(), parted.clone()], one_at_a_time);
        merged.iter().map(|led| led.lasts).collect::<Vec<_>>()
    };
    assert_eq!((lasting(false), lasting(true)), (vec![true, true], vec![false, true]));
}

#[test]
fn the_node_that_tells_most_is_believed() {
    let led =
        |cause: &str| HistoryEntry { reason: cause.to_owned(), ..entry("b", 2, 2042, None, cause) };
    let cause = |nodes: [(&str, &str); 3]| {
        let nodes = nodes.map(|(node, cause)| history(node, vec![led(cause)]));
        merge(&nodes, true)[0].reason.clone()
    };
    let nodes = [("a", "leader_suspected"), ("b", "joined"), ("c", "start")];
    assert_eq!(cause(nodes), "leader_suspected");
    let nodes = [("a", "leader_released"), ("b", "leader_released"), ("c", "drained")];
    assert_eq!(cause(nodes), "c: drained", "it speaks of itself");
    let nodes = [("a", "leader_suspected"), ("b", "leader_dead"), ("c", "start")];
    assert_eq!(cause(nodes), "leader_dead", "the new leader knows best");
}

/// The clock of b is 85 s ahead.
#[test]
fn begin_and_end_of_a_leadership_come_from_the_clock_of_one_node() {
    let led = |by: u64| {
        let first = HistoryEntry {
            before: Some("a".to_owned()),
            ..entry("c", 1, by + 1000, Some(by + 9000), "start")
        };
        let next = HistoryEntry {
            leaderless_ms: 5 + by / 1000,
            ..entry("b", 2, by + 9100, None, "leader_dead")
        };
        vec![first, next]
    };
    let (a, b) = (history("a", led(0)), history("b", led(85_000)));
    for nodes in [[a.clone(), b.clone()], [b.clone(), a.clone()]] {
        let merged = merge(&nodes, true);
        assert_eq!(spans(&merged), [("c", 1000, Some(9000)), ("b", 94_100, None)]);
        assert_eq!(merged[1].leaderless_ms, Some(5));
    }
    assert_eq!(spans(&merge(&[b], true))[0], ("c", 86_000, Some(94_000)));
    // With a majority the epochs say what came first, whatever the clocks show.
    let late = history("d", vec![entry("d", 3, 50, None, "leader_dead")]);
    let order: Vec<u64> = merge(&[a, late], true).iter().map(|led| led.epoch).collect();
    assert_eq!(order, [1, 2, 3]);
}

/// How long nobody led before each leadership, and why.
fn gaps(merged: &[Led]) -> Vec<(Option<u64>, &str)> {
    merged.iter().map(|led| (led.leaderless_ms, led.cause.as_str())).collect()
}

/// Member b was cut off while c led on, and then won; a knew c to the end.
#[test]
fn nobody_led_for_the_shortest_time_that_a_node_saw() {
    let led = |since, gap, cause| HistoryEntry {
        leaderless_ms: gap,
        ..entry("b", 2, since, None, cause)
    };
    let of = |until, next| vec![entry("c", 1, 1000, Some(until), "start"), next];
    let a = history("a", of(8000, led(8020, 20, "leader_dead")));
    let b = history("b", of(2000, led(8147, 6147, "leader_suspected")));
    let gaps = |nodes: &[History]| merge(nodes, true)[1].leaderless_ms;
    assert_eq!(gaps(&[a.clone(), b.clone()]), Some(20));
    assert_eq!(gaps(&[b]), Some(6147), "nobody knows better");
    assert_eq!(gaps(&[a]), Some(20));
}

/// Member a received the announcement of b before it noticed that the process of c was gone.
#[test]
fn a_node_that_did_not_see_the_end_does_not_say_that_nobody_led_for_0_ms() {
    let led = |gap, cause| HistoryEntry { leaderless_ms: gap, ..entry("b", 2, 2000, None, cause) };
    let of = |next| vec![entry("c", 1, 1000, Some(2000), "start"), next];
    let a = history("a", of(led(0, "announced")));
    let b = history("b", of(led(5, "leader_certified")));
    for nodes in [[a.clone(), b.clone()], [b, a]] {
        let merged = merge(&nodes, true);
        assert_eq!(gaps(&merged)[1], (Some(5), "leader_certified"));
    }
}

#[test]
fn a_node_that_missed_a_leadership_says_nothing_of_its_end() {
    let third = |cause: &str, (before, epoch): (&str, u64), gap| HistoryEntry {
        before: Some(before.to_owned()),
        before_epoch: Some(epoch),
        leaderless_ms: gap,
        ..entry("c", 3, 8100, None, cause)
    };
    let first = entry("c", 1, 1000, Some(2000), "start");
    let second = entry("b", 2, 2500, Some(8090), "leader_suspected");
    let a = vec![first.clone(), second, third("leader_dead", ("b", 2), 10)];
    let c = vec![first, third("stalled", ("c", 1), 6100)];
    let nodes = [history("a", a), history("c", c)];
    let merged = merge(&nodes, true);
    assert_eq!(gaps(&merged)[2], (Some(10), "leader_dead"));
    assert_eq!(merged[2].before.as_deref(), Some("b"));
    let last =
        nodes.iter().map(|one| SeenLeadership::by(&one.node, one.leaderships.last().unwrap()));
    let led = Led::of(&last.collect::<Vec<_>>(), None);
    assert_eq!(led, merged[2], "`status` says the same");
}

#[test]
fn a_time_of_which_nobody_saw_the_begin_is_unknown() {
    let killed = HistoryEntry { lasts: false, ..entry("c", 1, 1000, None, "start") };
    let again = entry("c", 2, 9000, None, "start");
    let nodes = ["a", "c"].map(|node| history(node, vec![killed.clone(), again.clone()]));
    let merged = merge(&nodes, true);
    assert_eq!(gaps(&merged), [(None, "start"), (None, "unknown")]);
    assert_eq!(merged[1].reason, "no node that answers saw how c ceased to lead");
    let stopped = entry("c", 1, 1000, Some(3000), "start");
    let both = [history("a", vec![stopped]), history("b", vec![again])];
    assert_eq!(gaps(&merge(&both, true))[1].0, Some(6000), "one saw the end, one the begin");
}

/// An earlier version does not tell the epoch before.
#[test]
fn entries_of_an_earlier_version_follow_the_one_that_precedes_them() {
    let mut next = entry("b", 2, 2042, None, "leader_dead");
    next.before_epoch = None;
    let first = entry("c", 1, 1000, Some(2000), "start");
    let merged = merge(&[history("a", vec![first, next.clone()])], true);
    assert_eq!(gaps(&merged)[1], (Some(42), "leader_dead"));
    assert_eq!(Led::of(&[SeenLeadership::by("a", &next)], None).leaderless_ms, Some(42));
}

/// Without a majority two may lead in one epoch: neither of them precedes or ends the other.
#[test]
fn leaders_of_one_epoch_neither_precede_nor_end_each_other() {
    let of = |node: &str, since| history(node, vec![entry(node, 2, since, None, "start")]);
    let merged = merge(&[of("a", 2000), of("d", 3000)], true);
    assert_eq!(spans(&merged), [("a", 2000, None), ("d", 3000, None)]);
    assert_eq!(gaps(&merged), [(None, "start"), (None, "start")]);
    assert!(merged.iter().all(|led| led.lasts && led.before.is_none()), "{merged:?}");
}

/// A member that is cut off may count its epochs further than those that go on.
#[test]
fn leaderships_stand_in_the_order_of_time_and_not_of_epochs() {
    let of = |node: &str, epoch, since| {
        history(node, vec![entry(node, epoch, since, Some(since + 500), "start")])
    };
    let merged = merge(&[of("a", 9, 2000), of("b", 4, 3000), of("d", 5, 1000)], false);
    let order: Vec<u64> = merged.iter().map(|led| led.epoch).collect();
    assert_eq!(order, [5, 9, 4]);
    let merged = merge(&[of("b", 4, 2000), of("a", 9, 2000)], false);
    assert_eq!(merged.iter().map(|led| led.epoch).collect::<Vec<_>>(), [4, 9], "at one instant");
}

#[test]
fn what_several_nodes_saw_of_a_leadership_is_one_of_all() {
    let entry = |since_ms, until_ms, reason: &str| HistoryEntry {
        reason: reason.to_owned(),
        leaderless_ms: since_ms,
        ..entry("b", 2, since_ms, until_ms, "leader_dead")
    };
    let (a, b) = (entry(2042, Some(3000), "a saw it"), entry(2040, Some(3500), "b saw it"));
    let (by_a, by_b) = (SeenLeadership::by("a", &a), SeenLeadership::by("b", &b));
    let led = Led {
        leader: "b".to_owned(),
        epoch: 2,
        since_ms: 2040,
        until_ms: Some(3500),
        lasts: false,
        before: Some("c".to_owned()),
        cause: "leader_dead".to_owned(),
        reason: "b saw it".to_owned(),
        leaderless_ms: Some(2040),
        job_late_ms: None,
    };
    assert_eq!(Led::of(&[by_a, by_b], None), led);
    assert_eq!(
        Led::of(&[by_b, by_a], Some((1, "a"))),
        led,
        "the nodes know a greater one of that epoch"
    );
    let lasting = entry(2041, None, "it lasts");
    let both = Led::of(&[by_a, SeenLeadership::by("c", &lasting)], None);
    assert_eq!((both.until_ms, both.lasts), (None, true));
}

/// With a majority it ends with the begin of the next at the latest, and never before its own.
#[test]
fn the_next_leadership_ends_the_one_before() {
    let of = |since, until, next| {
        let nodes = [
            history("c", vec![entry("c", 1, since, until, "start")]),
            history("b", vec![entry("b", 2, next, None, "start")]),
        ];
        let first = merge(&nodes, true).into_iter().find(|led| led.epoch == 1).unwrap();
        (first.until_ms, first.lasts)
    };
    assert_eq!(of(1000, None, 2300), (Some(2300), false));
    assert_eq!(of(1000, Some(2000), 2300), (Some(2000), false));
    assert_eq!(of(1000, Some(2400), 2300), (Some(2300), false));
    assert_eq!(of(3000, None, 2300), (Some(3000), false), "the clocks differ");
}

/// Without a majority the one before may have led until then, whatever a node saw of it.
#[test]
fn leaderships_that_overlap_have_no_time_without_a_leader_between_them() {
    let gap = |until, one_at_a_time| {
        let first = entry("c", 1, 1000, until, "start");
        let nodes = [
            history("a", vec![first.clone(), entry("b", 2, 2042, None, "leader_dead")]),
            history("c", vec![first]),
        ];
        merge(&nodes, one_at_a_time)[1].leaderless_ms
    };
    assert_eq!(
        [2041, 2042, 2043].map(|until| gap(Some(until), false)),
        [Some(42), Some(0), Some(0)]
    );
    assert_eq!((gap(None, false), gap(None, true)), (Some(0), Some(42)));
}
