//! Situations of a cluster, each as the answers of its nodes, with the verdict: its code, its colour, its sentence.

use super::super::super::problem::ProblemKind;
use super::super::super::samples::{member, problem, status};
use super::super::super::status::{
    DrainStatus, HealthStatus, LeaderlessStatus, MemberStatus, Problem, RefusalCause,
    RejectionStatus, Status, TakeoverStatus,
};
use super::super::{Colour, Verdict};
use super::{Asked, following, judge, silent};

/// A node of a cluster with the members a, b and c that needs a majority: it hears these, and itself.
fn node(name: &str, leader: Option<(&str, u64)>, hears: &str, more: &[Problem]) -> Asked {
    let members = ["a", "b", "c"].map(|other| {
        let alive = other == name || hears.contains(other);
        let status = if alive { "alive" } else { "suspected" };
        MemberStatus { status: status.to_owned(), ..member(other) }
    });
    let alive = members.iter().filter(|member| member.is_alive()).count() as u64;
    let leads = leader.is_some_and(|(leader, _)| leader == name);
    let own = status(name, leader);
    let leaderless = leader.is_none().then(|| LeaderlessStatus {
        lasts_ms: 7_000,
        cause: "no_majority".to_owned(),
        reason: "no majority".to_owned(),
        ..LeaderlessStatus::default()
    });
    let own = Status {
        quorum: "majority".to_owned(),
        state: if leads { "leading".to_owned() } else { own.state.clone() },
        lease_remaining_ms: leads.then_some(400),
        members: members.to_vec(),
        leaderless,
        problems: more.to_vec(),
        failures_tolerated: if leader.is_some() { alive.saturating_sub(2) } else { 0 },
        failures_tolerated_at_most: 1,
        ..own
    };
    Asked { name: name.to_owned(), answer: Ok(own) }
}

fn of(asked: Asked, change: impl FnOnce(&mut Status)) -> Asked {
    let mut asked = asked;
    change(asked.answer.as_mut().unwrap());
    asked
}

fn full() -> Problem {
    problem(
        ProblemKind::Storage,
        "",
        "/d has room for 0 bytes, and the state takes up to 9: free some",
    )
}

fn down(name: &str) -> Problem {
    problem(ProblemKind::PeerDown, name, &format!("{name} is down: silent"))
}

fn cut_off(name: &str) -> Asked {
    let others = ["a", "b", "c"].into_iter().filter(|other| *other != name);
    let margin = "1 of 3 voters left, 2 are needed: nobody can lead";
    let told = [
        problem(ProblemKind::CutOff, "", "this node hears nobody"),
        problem(ProblemKind::QuorumMargin, "", margin),
    ];
    node(name, None, "", &told.into_iter().chain(others.map(down)).collect::<Vec<_>>())
}

fn none_of(asked: Asked) -> Asked {
    of(asked, |own| {
        (own.quorum, own.lease_remaining_ms) = ("none".to_owned(), None);
    })
}

/// Code, colour and sentence.
#[track_caller]
fn holds(asked: &[Asked], code: u8, colour: Colour, sentence: &str) {
    let judgement = judge(asked);
    let found = (judgement.verdict.code(), judgement.verdict.colour(), judgement.headline());
    assert_eq!(found, (code, colour, sentence.to_owned()));
}

const C: Option<(&str, u64)> = Some(("c", 7));

#[test]
fn a_healthy_cluster_is_well() {
    let all = ["a", "b", "c"].map(|name| node(name, C, "abc", &[]));
    holds(&all, 0, Colour::Good, "OK: c leads in epoch 7; 1 more failure tolerated");
}

#[test]
fn all_who_lead_are_named() {
    let two = [
        none_of(node("b", Some(("b", 2)), "a", &[])),
        none_of(node("c", Some(("c", 1)), "", &[])),
        none_of(node("a", Some(("b", 2)), "b", &[])),
    ];
    holds(
        &two,
        2,
        Colour::Bad,
        "TWO LEADERS: b in epoch 2 and c in epoch 1; mend the network between them: then one of them leads \
         alone; if two at once do harm, stop c until then",
    );
    assert_eq!(judge(&two).leader, Some(("b".to_owned(), 2)));
    let blind = [none_of(node("b", Some(("b", 2)), "a", &[])), {
        let leads = |own: &mut Status| {
            (own.state, own.leader) = ("leading".to_owned(), status("c", Some(("c", 1))).leader);
            own.epoch = 1;
        };
        none_of(of(cut_off("c"), leads))
    }];
    let words = "TWO LEADERS: b in epoch 2 and c in epoch 1; c hears nobody: c is probably cut off; mend the network between \
                 them: then one of them leads alone; if two at once do harm, stop c until then";
    holds(&blind, 2, Colour::Bad, words);
    let three = ["a", "c", "b"].map(|name| none_of(node(name, Some((name, 1)), "", &[])));
    let words = "THREE LEADERS: a in epoch 1, b in epoch 1 and c in epoch 1; mend the network between them: then one of them \
                 leads alone; if two at once do harm, stop b and c until then";
    holds(&three, 2, Colour::Bad, words);
    // The same of two in one epoch counts, whoever answers first.
    let [a, c, b] = three;
    assert_eq!(judge(&[a, b, c]).leader, Some(("c".to_owned(), 1)));
}

/// It may have handed over since; its lease is over, or it stalls.
#[test]
fn a_former_leader_is_no_second_one() {
    let now = || node("c", C, "abc", &[]);
    let former = |change: fn(&mut Status)| of(node("b", Some(("b", 6)), "abc", &[]), change);
    let words = "OK: c leads in epoch 7; 1 more failure tolerated";
    for change in [(|own| own.lease_remaining_ms = Some(0)) as fn(&mut Status), |own| {
        own.state = "following".to_owned()
    }] {
        holds(&[now(), former(change)], 0, Colour::Good, words);
    }
    let stalls = [now(), former(|own| own.stalled = true)];
    let words = "DEGRADED: c leads in epoch 7; b stalls: no further failure tolerated";
    holds(&stalls, 1, Colour::Fair, words);
    let both = [now(), former(|_| ())];
    holds(
        &both,
        2,
        Colour::Bad,
        "TWO LEADERS: c in epoch 7 and b in epoch 6; mend the network between them: then one of them leads \
         alone; if two at once do harm, stop b until then",
    );
}

#[test]
fn who_cannot_write_does_not_count() {
    let all = [node("a", C, "abc", &[full()]), node("b", C, "abc", &[]), node("c", C, "abc", &[])];
    let words = "DEGRADED: c leads in epoch 7; a cannot write its votes (/d has room for 0 bytes, and the state takes up to \
                 9): no further failure tolerated";
    holds(&all, 1, Colour::Fair, words);
    assert_eq!(judge(&all).tolerated, 0);
    let takes_over = of(node("a", C, "abc", &[full()]), |own| {
        let (from, at, why) = ("c".to_owned(), None, "it asks".to_owned());
        own.takeover = Some(TakeoverStatus { from, at, why });
    });
    assert_eq!(judge(&[takes_over, node("c", C, "abc", &[])]).orders, [""; 0]);
}

#[test]
fn when_nobody_leads_the_sentence_names_what_has_to_be_done() {
    let full = [
        node("c", None, "a", &[full(), down("b")]),
        node("a", None, "c", &[down("b")]),
        silent("b"),
    ];
    let words = "NO LEADER: nobody leads: c cannot write its votes (/d has room for 0 bytes, and the state takes up to 9) \
                 and b is down: free space on c, or mend its disk; nobody has led for 7 s";
    holds(&full, 2, Colour::Bad, words);
    let lost = [node("a", None, "", &[down("b"), down("c")]), silent("b"), silent("c")];
    let words = "NO LEADER: nobody leads: b and c are down: bring back 1 of b, c: look whether its host is up and can be \
                 reached; nobody has led for 7 s";
    holds(&lost, 2, Colour::Bad, words);
    let ended = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        let ends = |own: &mut Status| {
            let gone = own.members.iter_mut().filter(|it| names.contains(&it.name));
            gone.for_each(|it| it.status = "dead".to_owned());
        };
        judge(&[of(node("a", None, "", &[down("b"), down("c")]), ends), silent("b"), silent("c")])
    };
    for (names, words) in [
        (&["b", "c"][..], "b and c are down: start 1 of b, c"),
        (&["c"], "c and b are down: start c"),
    ] {
        let words = format!("NO LEADER: nobody leads: {words}; nobody has led for 7 s");
        assert_eq!(ended(names).headline(), words, "what is known comes first");
    }
    let apart = problem(
        ProblemKind::Rejected,
        "c",
        "c came back as its start number 1: its state was lost",
    );
    let refused = [node("a", None, "", &[down("b"), apart]), silent("b"), silent("c")];
    let words = "NO LEADER: nobody leads: c is refused and b is down: do what the problem `rejected` of c says; nobody has \
                 led for 7 s";
    holds(&refused, 2, Colour::Bad, words);
}

#[test]
fn a_first_start_waits_for_the_others() {
    let waits = of(node("a", None, "", &[down("b"), down("c")]), |own| {
        own.leaderless.as_mut().unwrap().cause = "uninformed".to_owned();
    });
    let words = "NO LEADER: nobody leads: a waits for b and c and b and c are down: start b; nobody has led for 7 s";
    let judgement = judge(&[waits, silent("b"), silent("c")]);
    assert_ne!(judgement.headline(), words, "once");
    let words =
        "NO LEADER: nobody leads: a waits for b and c: start b and c; nobody has led for 7 s";
    assert_eq!(judgement.headline(), words);
    let boxes: Vec<String> = judgement.boxes().iter().map(ToString::to_string).collect();
    assert_eq!(boxes, ["a: peer_down: a waits for b and c"]);
    assert_eq!(judgement.page()["boxes"][0]["remedy"], "start b and c");
    assert_eq!(judgement.besides(), [], "the headline says it");
}

#[test]
fn an_election_ends_by_itself() {
    let words = "NO LEADER: no leader is known: a, b: no majority; nobody has led for 7 s";
    let all = [node("a", None, "b", &[]), node("b", None, "a", &[]), silent("c")];
    holds(&all, 2, Colour::Bad, words);
}

#[test]
fn where_no_member_may_lead_each_says_why() {
    let drain = |own: &mut Status| {
        let (since, reason) = ("then".to_owned(), String::new());
        own.drain = Some(DrainStatus { since, until: None, reason });
    };
    let ill = |own: &mut Status| own.health = Some(HealthStatus::default());
    let told = |own: &mut Status| {
        own.resigned = true;
        own.leaderless.as_mut().unwrap().cause = "may_not_lead".to_owned();
    };
    let all = [
        of(node("a", None, "abc", &[]), drain),
        of(node("b", None, "abc", &[]), ill),
        of(node("c", None, "abc", &[]), told),
    ];
    let words = "NO LEADER: nobody leads: no member may lead: a is drained, b is unhealthy and c resigned: `electd undrain \
                 --node a` lets a lead again; nobody has led for 7 s";
    holds(&all, 2, Colour::Bad, words);
}

#[test]
fn who_hears_nobody_says_so_first_and_denies_no_leader() {
    let alone = [cut_off("b"), silent("a"), silent("c")];
    let words = "CUT OFF: b hears nobody: b is probably cut off (mend its network); the others may have a leader; b knows no leader since 7 s";
    holds(&alone, 2, Colour::Bad, words);
    assert_eq!(judge(&[cut_off("b")]).verdict, Verdict::CutOff);
    // It cannot ask the others either.
    let kinds: Vec<String> = judge(&alone).boxes().into_iter().map(|it| it.kind).collect();
    assert_eq!((kinds, judge(&alone).besides()), (vec!["cut_off".to_owned()], vec![]));
    let leads = none_of(of(cut_off("b"), |own| {
        own.state = "leading".to_owned();
        own.leader = status("b", Some(("b", 3))).leader;
    }));
    let words = "DEGRADED: b hears nobody: b is probably cut off (mend its network); the others may have a leader; b leads in epoch 3; no \
                 further failure tolerated";
    holds(&[leads, silent("a"), silent("c")], 1, Colour::Fair, words);
}

/// Seen from both sides: one cause, one line.
#[test]
fn the_others_and_who_is_cut_off_are_one_cluster() {
    let others = ["a", "c"].map(|name| node(name, C, "ac", &[down("b")]));
    let [a, c] = others;
    let all = [a, cut_off("b"), c];
    let words = "DEGRADED: b hears nobody: b is probably cut off (mend its network); c leads in epoch 7; no further failure tolerated";
    holds(&all, 1, Colour::Fair, words);
    let judgement = judge(&all);
    assert_eq!(judgement.problems.len(), 1, "{:?}", judgement.problems);
    assert_eq!(judgement.besides(), []);
    let remedy = judgement.boxes()[0].remedy(&super::ClusterFlags::default());
    assert_eq!(remedy.as_deref(), Some("mend the network of b"));
}

/// One cause, one box, told by the others: they are many, and it is one.
#[test]
fn whom_the_leader_refuses_misses_nobody() {
    let apart = |about: &str, words: &str| problem(ProblemKind::Rejected, about, words);
    let margin = problem(ProblemKind::QuorumMargin, "", "2 of 3 voters left");
    let told = [apart("a", "a is refused: its state was lost"), down("a"), margin.clone()];
    let others = ["b", "c"].map(|name| node(name, C, "bc", &told));
    let own = [apart("b", "b rejects this node"), down("b"), down("c"), margin];
    let [b, c] = others;
    let all = [node("a", C, "", &own), b, c];
    let words = "DEGRADED: c leads in epoch 7; a is refused: no further failure tolerated";
    holds(&all, 1, Colour::Fair, words);
    let boxes: Vec<String> = judge(&all).boxes().iter().map(ToString::to_string).collect();
    assert_eq!(boxes, ["b, c: rejected: a is refused: its state was lost"]);
    // Without a leader nobody knows who is the one.
    assert!(judge(&[node("a", None, "", &own), node("b", None, "", &told)]).boxes().len() > 1);
}

/// A host that was let in and never added, or that was removed: each member refuses it, which is one cause.
#[test]
fn who_is_no_member_is_told_once_with_what_to_do() {
    let apart = |about: &str| problem(ProblemKind::Rejected, about, "rejects this node");
    let unknown = |peer: &str| RejectionStatus {
        peer: peer.to_owned(),
        reason: String::new(),
        cause: Some(RefusalCause::UnknownId),
        by_peer: true,
    };
    let outside = || {
        of(node("d", None, "", &[apart("a"), apart("b"), down("a"), apart("c")]), |own| {
            own.rejections = ["a", "b", "c"].map(unknown).to_vec();
            let address = "127.0.0.1:7104".to_owned();
            own.members.push(MemberStatus { address, ..member("d") });
        })
    };
    let [a, b, c] = ["a", "b", "c"].map(|name| node(name, C, "abc", &[]));
    let judgement = judge(&[a, b, c, outside()]);
    let words = "DEGRADED: c leads in epoch 7; 1 more failure tolerated";
    assert_eq!(judgement.headline(), words);
    let what = "d: rejected: d is no member: the cluster does not list it, and refuses it";
    let add = "give both the same file, or have the cluster take it: `electd member add --name d --address";
    let remedy = format!("{add} 127.0.0.1:7104`");
    assert_eq!(judgement.besides(), [(what.to_owned(), Some(remedy.clone()))]);
    let words = format!(
        "NO LEADER: nobody leads: d and all others refuse each other: {remedy}; nobody has led for 7 s"
    );
    holds(&[outside()], 2, Colour::Bad, &words);
    // A voter without a state waits for those that refuse it: to start them would be no help.
    let waits = of(node("c", None, "", &[apart("a"), apart("b")]), |own| {
        own.rejections = ["a", "b"].map(unknown).to_vec();
        own.leaderless.as_mut().unwrap().cause = "uninformed".to_owned();
    });
    let words = words.replace("d and", "c and").replace("name d", "name c").replace("7104", "7101");
    holds(&[waits], 2, Colour::Bad, &words);
}

/// It answers, and need not be started.
#[test]
fn whom_the_others_miss_as_it_stalls_is_not_down() {
    let stalls = of(node("b", None, "abc", &[]), |own| own.stalled = true);
    let [a, c] = ["a", "c"].map(|name| node(name, C, "ac", &[down("b")]));
    assert_eq!(judge(&[a, stalls, c]).besides(), []);
}

#[test]
fn nobody_answers() {
    holds(&[silent("a"), silent("b")], 3, Colour::Bad, "UNKNOWN: no leader is known");
    let one = [following("a", None)];
    assert_eq!(judge(&one).verdict, Verdict::NoLeader);
}
