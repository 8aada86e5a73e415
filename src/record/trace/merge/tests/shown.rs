//! All that is shown of what members recorded.

use std::collections::BTreeMap;

use super::super::*;
use super::world::{UPTIME, World, failover};
use crate::trace::event::{DrawnEvent, DrawnWhat};
use crate::trace::record::Entry;

/// What is found, with a line for each event; times in microseconds.
fn shown(merged: &Merged) -> String {
    let Merged { names, silent, algorithm, epoch, leaders, members, began_ns, left_out, .. } =
        merged;
    let messages: BTreeMap<_, _> =
        merged.messages.iter().map(|(kind, count)| (kind.name(), count)).collect();
    let mut lines = vec![
        format!("names {names:?}, silent {silent:?}, {members} members"),
        format!("algorithm {algorithm}, epoch {epoch:?}, leaders {leaders:?}"),
        format!("began {began_ns}, left out {left_out}, messages {messages:?}"),
    ];
    for (at, event) in merged.events.iter().enumerate() {
        let us = |time: crate::core::types::Time| time.0 as f64 / 1000.0;
        let what = match &event.what {
            DrawnWhat::Sends { to, message, arrives, lost, unseen } => {
                let label = &message.label;
                format!(
                    "sends {label} to {to}, arrives {}, lost {lost}, unseen {unseen:?}",
                    us(*arrives)
                )
            }
            DrawnWhat::Waited { since, label } => {
                format!("waited for {label} since {}", us(*since))
            }
            other => format!("{other:?}"),
        };
        lines.push(format!(
            "{at}: {} at {} {what}, by {:?}",
            us(event.time),
            event.node,
            event.causes
        ));
    }
    lines.join("\n")
}

fn entry(what: &str, label: &str) -> Entry {
    Entry { what: what.to_owned(), label: label.to_owned(), ..Entry::default() }
}

#[test]
fn an_election_is_shown_whole_and_as_far_as_it_is_known() {
    let mut world = failover();
    insta::assert_snapshot!("whole", shown(&merge(&world.without_d(), Which::Last).unwrap()));
    let alone = |name: &str| {
        let records: Vec<_> =
            world.records.iter().filter(|timed| timed.record.node == name).cloned().collect();
        shown(&merge(&records, Which::Last).unwrap())
    };
    insta::assert_snapshot!("alone", ["a", "b", "c"].map(alone).join("\n\n"));
}

/// Of each kind of entry one, some of them without what it should have.
#[test]
fn each_kind_of_entry_is_shown() {
    let mut world = World::of(["a", "b", "c", "d"]);
    let (a, b, c) = (0, 1, 2);
    let started = world.add(a, 0, entry("started", "start 1"), &[]);
    world.became(a, 10, ("starting", 1), started);
    let pause = world.add(
        a,
        20,
        Entry { since_ns: Some((UPTIME + 5000) as u64), ..entry("waited", "T1") },
        &[started],
    );
    world.add(a, 30, entry("waited", "for nothing"), &[77]);
    world.add(
        a,
        40,
        Entry { phase: Some("dreaming".to_owned()), ..entry("became", "a dream") },
        &[pause, 2],
    );
    world.add(a, 50, entry("asked", "an operator asks"), &[]);
    for (at, phase) in
        ["electing", "waiting", "halted", "reorganizing", "following", "leading", "stopping"]
            .into_iter()
            .enumerate()
    {
        let mut became =
            Entry { phase: Some(phase.to_owned()), number: Some(7), ..entry("became", phase) };
        became.reason = (at > 0).then(|| "a reason".to_owned());
        became.leader = (phase == "leading").then(|| "b".to_owned());
        world.add(a, 60 + at as u64, became, &[]);
    }
    for (at, kind) in ["heartbeat", "acknowledge", "probe", "alive", "election", "coordinator"]
        .into_iter()
        .enumerate()
    {
        let message = world.send((a, b), 100 + at as u64, (kind, 7), 1);
        if at % 2 == 0 {
            world.take(&message, 200 + at as u64);
        }
    }
    // One of a member that was removed, one to it, and one of which the sender tells nothing.
    let gone = |what: &str| Entry {
        peer: Some("z".to_owned()),
        kind: Some("halt".to_owned().into()),
        ..entry(what, "HALT")
    };
    world.add(a, 300, gone("sent"), &[1]);
    world.add(a, 310, gone("got"), &[1]);
    world.add(b, 320, Entry { kind: None, peer: Some("c".to_owned()), ..entry("got", "?") }, &[]);
    world.add(b, 330, entry("sent", "to nobody"), &[]);
    world.send((c, a), 340, ("release", 7), 0);
    insta::assert_snapshot!("kinds", shown(&merge(&world.records[..3], Which::All).unwrap()));
}

/// The record of b begins in the middle, and ends less than a second after its last message.
#[test]
fn a_message_is_lost_only_where_its_receiver_has_a_record_of_that_time() {
    let mut world = World::of(["a", "b", "c", "d"]);
    for at in [99, 100, 199, 200] {
        world.send((0, 1), at, ("coordinator", at), 0);
        world.send((0, 1), at, ("halt", at), 0);
    }
    let b = &mut world.records[1].record;
    (b.since_ns, b.now_ns) = ((UPTIME + 100_000) as u64, (UPTIME + 1_000_199_000) as u64);
    insta::assert_snapshot!("covered", shown(&merge(&world.records[..2], Which::All).unwrap()));
}

/// What noticed the failure a second before the leader did, or a second after it led, is a part of the election; so it is
/// where the leader tells nothing.
#[test]
fn what_happens_within_a_second_is_one_election() {
    let of = |before: u64, after: u64| {
        let mut world = World::of(["a", "b", "c", "d"]);
        world.settle();
        let (a, b, c) = (0, 1, 2);
        let begin = 10_000_000;
        world.became(a, begin - before, ("electing", 1), 0);
        world.sees(a, begin - 1_000_000, "wonders", 3);
        world.became(c, begin, ("electing", 1), 0);
        let led = world.became(c, begin + 500, ("leading", 2), 0);
        world.became(b, begin + 900 + after, ("electing", 1), 0);
        world.sees(b, begin + 910 + after, "wonders", 3);
        let news = world.send((c, a), begin + 500, ("coordinator", 2), led);
        let heard = world.take(&news, begin + 900);
        world.became(a, begin + 900, ("following", 2), heard);
        let news = world.send((c, b), begin + 920 + after, ("coordinator", 2), led);
        let heard = world.take(&news, begin + 950 + after);
        world.became(b, begin + 950 + after, ("following", 2), heard);
        [3, 2].map(|told| {
            let merged = merge(&world.records[..told], Which::Last).unwrap();
            let line =
                |event: &DrawnEvent| format!("{} {}", merged.names[event.node], event.what.label());
            merged.events.iter().map(line).collect::<Vec<_>>().join(", ")
        })
    };
    let times =
        [(900_000, 0), (1_000_000, 999_999), (1_000_001, 1_000_000), (2_000_000, 1_000_001)];
    let told = times.map(|(before, after)| {
        let [by_all, without_leader] = of(before, after);
        format!("{before} before, {after} after\n{by_all}\n{without_leader}\n")
    });
    insta::assert_snapshot!("together", told.join("\n"));
}
