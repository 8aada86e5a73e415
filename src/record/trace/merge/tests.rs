//! Worlds whose members recorded what they did, as well as they could.

mod shown;
mod world;

use std::collections::BTreeMap;

use super::*;
use crate::core::types::Time;
use crate::trace::event::{DrawnWhat, Unseen};
use world::{UPTIME, World, failover};

/// The election of this epoch; each event comes after its causes, and no message arrives before it was sent.
fn merged(records: &[TimedRecord], which: Which) -> Merged {
    let merged = merge(records, which).expect("somebody recorded it");
    let mut last = Time(0);
    for (at, event) in merged.events.iter().enumerate() {
        assert!(event.time >= last, "{event:?}");
        last = event.time;
        if let DrawnWhat::Sends { arrives, .. } = event.what {
            assert!(arrives > event.time, "{event:?}");
        }
        for cause in &event.causes {
            assert!(*cause < at, "{event:?}");
            if let DrawnWhat::Sends { to, arrives, lost, .. } = &merged.events[*cause].what {
                assert!(*arrives <= event.time.max(Time(merged.events[*cause].time.0 + 1)));
                assert!(!lost && *to == event.node, "{event:?}");
            }
        }
    }
    merged
}

/// How many messages of each kind.
fn counted(merged: &Merged) -> Vec<(&str, u64)> {
    let mut counts: Vec<_> =
        merged.messages.iter().map(|(kind, count)| (kind.name(), *count)).collect();
    counts.sort_unstable();
    counts
}

const FAILOVER: [(&str, u64); 3] = [("answer", 3), ("coordinator", 2), ("election", 3)];

fn unseen(merged: &Merged) -> Vec<(usize, usize, Unseen)> {
    let events = merged.events.iter().filter_map(|event| match event.what {
        DrawnWhat::Sends { to, unseen: Some(end), .. } => Some((event.node, to, end)),
        _ => None,
    });
    events.collect()
}

#[test]
fn an_election_has_all_its_messages_and_nothing_else() {
    let mut world = failover();
    world.records[0].record.members.pop(); // it was not told of d yet
    world.sees(1, 2_000_000, "refused", 3);
    for which in [Which::Last, Which::Epoch(2)] {
        let merged = merged(&world.without_d(), which);
        assert_eq!(counted(&merged), FAILOVER);
        assert_eq!((merged.epoch, merged.leaders.first().map(|it| &**it)), (Some(2), Some("c")));
        assert_eq!((merged.members, &merged.silent[..]), (3, &["d".to_owned()][..]));
        assert!(unseen(&merged).is_empty(), "{merged:#?}");
        let suffers =
            merged.events.iter().filter(|event| matches!(event.what, DrawnWhat::Suffers(_)));
        assert_eq!(suffers.map(|event| event.node).collect::<Vec<_>>(), [0], "who noticed it");
        // The death, the changes of three members, and 8 messages.
        assert_eq!(merged.events.len(), 1 + 5 + 8, "{:#?}", merged.events);
        assert_eq!(merged.began_ns, 1_000_000_000, "by the asker's clock");
    }
    assert_eq!(merge(&world.without_d(), Which::Epoch(3)), None);
}

#[test]
fn clocks_that_differ_by_seconds_are_aligned_by_the_messages() {
    let straight = merged(&failover().without_d(), Which::Last);
    for ahead in [[0, 5000, -7000, 0], [3000, 0, 0, 0], [-1, 1, 86_400, 0]] {
        let mut world = World::of(["a", "b", "c", "d"]).skewed(ahead);
        world.settle();
        world.fails_over(2, 1_000_000);
        let merged = merged(&world.without_d(), Which::Last);
        assert_eq!(counted(&merged), FAILOVER);
        for event in &merged.events {
            let DrawnWhat::Sends { arrives, .. } = event.what else { continue };
            assert!(arrives.since(event.time).as_micros() < 700, "{event:?}");
        }
        let labels = |merged: &Merged| {
            let mut all: Vec<_> =
                merged.events.iter().map(|it| it.what.label().to_owned()).collect();
            all.sort();
            all
        };
        assert_eq!(labels(&merged), labels(&straight));
    }
}

/// A clock that runs fast for an hour between two elections contradicts itself: no advance is right for both.
#[test]
fn the_order_is_one_of_causes_where_no_clock_is_right() {
    let mut straight = failover();
    straight.fails_over(3, 5_000_000);
    let mut world = failover();
    world.ahead[1] = 40_000_000; // 40 ms: far more than any message takes
    world.ahead[2] = -30_000_000;
    world.fails_over(3, 5_000_000);
    let of = |world: &mut World| merged(&world.without_d(), Which::Last);
    let (straight, merged) = (of(&mut straight), of(&mut world));
    assert_eq!(counted(&merged), FAILOVER);
    let caused = |merged: &Merged| {
        let causes = merged.events.iter().map(|event| {
            let label = |at: &usize| merged.events[*at].what.label().to_owned();
            let causes: Vec<_> = event.causes.iter().map(label).collect();
            (event.node, event.what.label().to_owned(), causes)
        });
        let mut causes: Vec<_> = causes.collect();
        causes.sort();
        causes
    };
    assert_eq!(caused(&merged), caused(&straight));
}

#[test]
fn what_a_member_did_not_tell_is_said_and_not_guessed() {
    let mut world = failover();
    let all = world.without_d();
    let others: Vec<TimedRecord> =
        all.iter().filter(|timed| timed.record.node != "c").cloned().collect();
    let merged = merged(&others, Which::Last);
    assert_eq!((merged.epoch, merged.leaders.first().map(|it| &**it)), (Some(2), Some("c")));
    assert_eq!(merged.silent, ["c", "d"]);
    assert_eq!(counted(&merged), FAILOVER, "those that the others sent to it and took from it");
    let (a, b, c) = (0, 1, 2);
    let mut found = unseen(&merged);
    found.sort_by_key(|(from, to, _)| (*from, *to));
    let departures =
        [(c, a), (c, a), (c, b), (c, b)].map(|(from, to)| (from, to, Unseen::Departure));
    let arrivals = [(a, c, Unseen::Arrival), (b, c, Unseen::Arrival)];
    assert_eq!(found, [&arrivals[..], &departures].concat());
    let of_c = merged.events.iter().filter(|event| event.node == c);
    assert!(
        of_c.clone().all(|event| matches!(event.what, DrawnWhat::Sends { .. })),
        "no phases of it"
    );
}

/// Whatever begins the record of the only member that tells something.
#[test]
fn each_member_alone_shows_messages_that_take_some_time() {
    for name in ["a", "b", "c"] {
        let mut world = failover();
        world.records.retain(|timed| timed.record.node == name);
        let merged = merged(&world.records, Which::Last);
        assert!(!unseen(&merged).is_empty() && merged.silent.len() == 3, "{merged:#?}");
    }
}

#[test]
fn a_message_that_a_member_did_not_take_is_lost_and_a_like_one_is_not_taken_for_it() {
    let mut world = failover();
    let (a, c) = (0, 2);
    let begin = 3_000_000;
    let death = world.sees(a, begin, "ended", 2);
    world.became(a, begin, ("electing", 2), death);
    let _lost = world.send((a, c), begin, ("election", 3), death);
    world.reconnects(a, c);
    let back = world.sees(a, begin + 900, "connected", 2);
    let again = world.send((a, c), begin + 900, ("election", 3), back);
    let asked = world.take(&again, begin + 1000);
    world.became(c, begin + 1000, ("leading", 3), asked);
    let merged = merged(&world.without_d(), Which::Last);
    let sent = merged.events.iter().filter_map(|event| match event.what {
        DrawnWhat::Sends { lost, .. } => Some((event.time, lost)),
        _ => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [(Time(0), true), (Time(900_000), false)]);
}

#[test]
fn the_order_tells_what_the_places_do_not() {
    let mut world = failover();
    for timed in &mut world.records {
        let got = timed.record.entries.iter_mut().filter(|entry| entry.what == "got");
        got.for_each(|entry| entry.place = entry.place.map(|place| place + 1)); // as if one was not counted
    }
    let merged = merged(&world.without_d(), Which::Last);
    assert!(unseen(&merged).is_empty());
    assert_eq!(counted(&merged), FAILOVER);
}

#[test]
fn a_member_that_was_restarted_since_may_have_taken_what_it_does_not_tell() {
    let mut world = failover();
    let b = &mut world.records[1].record;
    (b.incarnation, b.since_ns) = (2, UPTIME as u64 + 5_000_000_000);
    b.entries.clear();
    let merged = merged(&world.without_d(), Which::Last);
    assert!(merged.silent.contains(&"d".to_owned()) && merged.silent.len() == 1);
    let of_b = unseen(&merged);
    assert!(of_b.contains(&(0, 1, Unseen::Arrival)), "{of_b:?}");
    assert!(of_b.contains(&(1, 0, Unseen::Departure)), "{of_b:?}");
    assert!(!merged.events.iter().any(|it| matches!(it.what, DrawnWhat::Sends { lost: true, .. })));
}

#[test]
fn what_an_earlier_process_sent_is_not_taken_for_a_later_ones() {
    let mut world = failover();
    let began = world.records[0].record.clone();
    let fresh = Record { incarnation: 2, ..began };
    world.records[0].record = fresh; // the same words, of another process
    let merged = merged(&world.without_d(), Which::Last);
    let ends = unseen(&merged);
    assert!(ends.contains(&(0, 1, Unseen::Departure)), "{ends:?}");
}

/// c leads in epoch 2, and a, which ranks above it by now, takes over at once.
#[test]
fn elections_that_overlap_are_told_apart() {
    let mut world = failover();
    let (a, b, c) = (0, 1, 2);
    let at = 1_000_610; // before b has taken the last ANSWER of the election before
    let heard = world.records[a].record.entries.iter().rfind(|it| it.what == "got").unwrap().n;
    let asks = world.send((a, c), at, ("preempt", 2), heard);
    let asked = world.take(&asks, at + 100);
    world.became(c, at + 100, ("waiting", 2), asked);
    let free = world.send((c, a), at + 100, ("release", 2), asked);
    let freed = world.take(&free, at + 200);
    world.became(a, at + 200, ("leading", 3), freed);
    for to in [b, c] {
        let news = world.send((a, to), at + 200, ("coordinator", 3), freed);
        let heard = world.take(&news, at + 300);
        world.became(to, at + 300, ("following", 3), heard);
    }
    let first = merged(&world.without_d(), Which::Epoch(2));
    let elects = |merged: &Merged, kind: &str| {
        merged.messages.get(&kind.to_owned().into()).copied().unwrap_or(0)
    };
    assert_eq!(FAILOVER.map(|(kind, _)| elects(&first, kind)), FAILOVER.map(|(_, count)| count));
    let second = merged(&world.without_d(), Which::Last);
    assert_eq!(second.epoch, Some(3));
    assert_eq!(counted(&second), [("coordinator", 2), ("preempt", 1), ("release", 1)]);
    let labels: Vec<_> = second.events.iter().map(|event| event.what.label()).collect();
    for label in ["PREEMPT 2", "RELEASE 2", "COORDINATOR 3"] {
        assert!(labels.contains(&label), "{labels:?}");
    }
    assert!(!labels.contains(&"ELECTION 2"), "{labels:?}");
}

/// Of a member that tries in vain for half a minute, an election shows the last second.
#[test]
fn what_a_member_tried_long_before_is_no_part_of_the_election_that_it_joins() {
    let mut world = World::of(["a", "b", "c", "d"]);
    world.settle();
    for second in 1..30 {
        let gone = world.sees(0, second * 1_000_000, "lost", 3);
        world.became(0, second * 1_000_000, ("electing", 1), gone);
    }
    world.fails_over(2, 31_500_000);
    let merged = merged(&world.without_d(), Which::Last);
    assert_eq!(counted(&merged), FAILOVER);
    assert_eq!(merged.events.len(), 1 + 5 + 8, "{:#?}", merged.events);
}

/// They are told of the leader in its epoch, too, whenever they come.
#[test]
fn who_comes_later_or_comes_back_is_no_part_of_the_election() {
    let mut world = failover();
    let (a, c, d) = (0, 2, 3);
    let lost = world.sees(a, 8_000_000, "lost", c);
    world.became(a, 8_000_000, ("electing", 2), lost);
    for to in [d, a] {
        let news = world.send((c, to), 9_000_000, ("coordinator", 2), 0);
        let heard = world.take(&news, 9_000_100);
        world.became(to, 9_000_100, ("following", 2), heard);
    }
    let merged = merged(&world.without_d(), Which::Last);
    assert_eq!(counted(&merged), FAILOVER);
    assert_eq!(merged.events.len(), 1 + 5 + 8, "{:#?}", merged.events);
}

/// All that a member took and did in one turn has one time.
#[test]
fn a_turn_is_shown_whole_whichever_of_its_entries_belongs_to_the_election() {
    let mut world = failover();
    let (b, c) = (1, 2);
    world.sees(b, 1_000_900, "the turn before", c);
    world.sees(b, 1_000_901, "first", c);
    world.sees(b, 1_000_901, "second", c);
    world.send((b, c), 1_000_901, ("answer", 2), 0);
    world.sees(b, 1_000_901, "last", c);
    world.sees(b, 1_000_902, "the turn after", c);
    let merged = merged(&world.without_d(), Which::Last);
    let late = merged.events.iter().filter(|event| event.time > Time(800_000));
    let labels: Vec<_> = late.map(|event| event.what.label()).collect();
    assert_eq!(labels, ["first", "second", "ANSWER 2", "last"]);
}

#[test]
fn while_nobody_leads_it_is_told_what_they_do() {
    let mut world = failover();
    for node in 0..3 {
        let begin = 5_000_000 + node as u64; // the first notices it before the others
        let death = world.sees(node, begin, "ended", 2);
        world.became(node, begin, ("electing", 2), death);
        if node < 2 {
            assert_eq!(merged(&world.without_d(), Which::Last).epoch, Some(2), "one has a leader");
        }
        // It tries again.
        world.became(node, 6_000_000, ("electing", 2), 0);
    }
    let merged = merged(&world.without_d(), Which::Last);
    assert_eq!((merged.epoch, merged.leaders.len(), merged.events.len()), (None, 0, 9));
}

#[test]
fn of_too_many_events_the_latest_are_kept_and_the_others_counted() {
    let mut world = failover();
    for node in 0..3 {
        world.became(node, 5_000_000, ("electing", 2), 0);
    }
    let more = 5000;
    (0..more).for_each(|n| _ = world.sees(0, 5_000_001 + n, &format!("event {n}"), 2));
    let merged = merged(&world.without_d(), Which::Last);
    assert_eq!((merged.events.len(), merged.left_out), (5000, 3));
    let [first, last] = [0, 4999].map(|at| merged.events[at].what.label());
    assert_eq!((first, last), ("event 0", &*format!("event {}", more - 1)));
}

#[test]
fn records_that_contradict_each_other_have_an_order_all_the_same() {
    let mut world = failover();
    let (a, b) = (0, 1);
    // Each takes what the other sends later.
    let sent = |from: usize, to: usize, world: &World| {
        let mut world =
            World { records: world.records.clone(), ahead: vec![0; 4], places: BTreeMap::new() };
        world.places.insert((from, to), 77);
        world.send((from, to), 2_000_000, ("election", 3), 0)
    };
    let (to_b, to_a) = (sent(a, b, &world), sent(b, a, &world));
    world.places.extend([((a, b), 77), ((b, a), 77)]);
    let heard = [world.take(&to_b, 1_900_000), world.take(&to_a, 1_900_000)];
    world.send((a, b), 2_000_000, ("election", 3), heard[1]);
    world.send((b, a), 2_000_000, ("election", 3), heard[0]);
    world.became(a, 2_000_000, ("leading", 3), heard[1]);
    merged(&world.without_d(), Which::Last);
}

#[test]
fn lies_about_numbers_and_times_harm_nobody() {
    let mut world = failover();
    for (at, entry) in world.records[1].record.entries.iter_mut().enumerate() {
        entry.at_ns = if at % 2 == 0 { u64::MAX } else { 0 };
        (entry.n, entry.number) = (7, Some(u64::MAX));
        entry.causes = vec![0, 7, u64::MAX];
        entry.peer = Some("<script>".to_owned());
        entry.since_ns = Some(u64::MAX);
        entry.what = ["waited", "sent", "got", "became", "?"][at % 5].to_owned();
        entry.phase = Some("leading".to_owned());
    }
    for which in [Which::Last, Which::Epoch(2), Which::Epoch(u64::MAX), Which::Epoch(0)] {
        let _ = merge(&world.records, which); // returns
    }
}
