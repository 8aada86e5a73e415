//! The situations that a test with real nodes would have to wait for; tests/process/why.rs has the others.

use super::of_member::why;
use super::view::{Cause, View, Why};
use super::{nobody, text};
use crate::admin::client::ClientError;
use crate::cli::ask::Asked;
use crate::cli::ask::tests::{following, member, silent};
use crate::node::status::{
    DrainStatus, FailureStatus, HealthStatus, LeaderlessStatus, MemberStatus, PauseStatus, Problem,
    RankStatus, Status, TakeoverStatus,
};

/// The leader b and its follower a, whose ranks are these, as both see them.
fn pair(a: i64, b: i64, change: impl Fn(&mut Status)) -> [Asked; 2] {
    let ranked = |name: &str, value: i64| MemberStatus {
        rank: RankStatus { by: "priority".into(), value: value.into() },
        ..member(name)
    };
    ["a", "b"].map(|name| {
        let mut asked = following(name, Some(("b", 7)));
        let status = asked.answer.as_mut().unwrap();
        status.members = vec![ranked("a", a), ranked("b", b)];
        if name == "b" {
            status.state = "leading".into();
        }
        change(status);
        asked
    })
}

#[track_caller]
fn holds(asked: &[Asked], name: &str, cause: Cause, words: &[&str]) {
    let Why { cause: found, reason, remedy } = why(name, &View::of(asked));
    let all = format!("{reason} => {}", remedy.unwrap_or_default());
    assert_eq!(found, cause, "{all}");
    assert!(words.iter().all(|words| all.contains(words)), "{words:?}: {all}");
}

#[test]
fn a_rank_decides_unless_an_order_or_preempt_does() {
    let lower = pair(3, 5, |_| ());
    let words = ["b ranks higher: priority 5, against priority 3", "`electd switchover --to a`"];
    holds(&lower, "a", Cause::Rank, &words);
    holds(&lower, "b", Cause::Leads, &["in epoch 7", "none ranks higher"]);
    let paused = pair(9, 5, |status| {
        status.pause = Some(PauseStatus { since: "then".into(), until: None });
    });
    let words = ["it ranks higher than b, but the cluster is paused since then", "`electd resume`"];
    holds(&paused, "a", Cause::Paused, &words);
    holds(&paused, "b", Cause::Leads, &["a would rank higher"]);
    let never = pair(9, 5, |status| status.preempt = "never".into());
    holds(&never, "a", Cause::Preempt, &["stays while it lives", "`electd switchover --to a`"]);
    let takeover = pair(9, 5, |status| {
        let (from, at, why) = ("b".into(), Some("soon".into()), "not long enough".into());
        status.takeover = Some(TakeoverStatus { from, at, why });
    });
    holds(&takeover, "a", Cause::Takeover, &["it is to take over from b at soon: not long enough"]);
    let later = pair(9, 5, |status| {
        let (from, at, why) = ("b".into(), Some("12:00".into()), "not long enough".into());
        status.takeover = Some(TakeoverStatus { from, at, why });
        status.takeovers.insert("a".into(), "12:05".into());
    });
    holds(&later, "a", Cause::Takeover, &["it is to take over from b at 12:05: "]); // its leader decides
    holds(&pair(9, 5, |_| ()), "a", Cause::Takeover, &["but not by more than the margin"]);
    let chosen = pair(9, 5, |status| status.switchover = Some("b".into()));
    holds(&chosen, "a", Cause::Switchover, &["an operator chose b", "switchover --clear"]);
}

#[test]
fn what_keeps_a_member_from_leading_at_all_comes_first() {
    let of_a = |change: fn(&mut Status)| {
        pair(9, 5, |status| {
            if status.node.name == "a" {
                change(status)
            }
        })
    };
    let unranked = of_a(|a| a.rank_source = "none: no file".into());
    holds(&unranked, "a", Cause::NoRank, &["it has no rank: no file", "`electd check --node a`"]);
    let failed = of_a(|a| {
        let (since, until, reason) = ("then".into(), "soon".into(), "exit 1".into());
        a.failure = Some(FailureStatus { since, until, count: 1, reason });
    });
    holds(&failed, "a", Cause::Job, &["it stands back until soon", "exit 1", "undrain --node a"]);
    holds(&of_a(|a| a.resigned = true), "a", Cause::Resigned, &["undrain --node a"]);
    let beside = of_a(|a| {
        (a.state, a.epoch) = ("leading".into(), 6);
        a.leader.as_mut().unwrap().epoch = 6;
        a.leader.as_mut().unwrap().name = "a".into();
    });
    holds(&beside, "a", Cause::LeadsToo, &["in epoch 6 beside b", "mend the network"]);
    let passed = pair(9, 5, |status| status.members[0].passed_over = Some("comes and goes".into()));
    holds(&passed, "a", Cause::PassedOver, &["elections pass it over: it comes and goes"]);
    let [_, leader] = pair(9, 5, |status| status.members[0].eligible = false);
    let words = ["says that it is not eligible", "`electd status --node a` on its host"];
    holds(&[leader, silent("a")], "a", Cause::NotEligible, &words);
}

#[test]
fn ids_decide_where_ranks_are_equal_and_another_node_is_none_of_the_cluster() {
    let by_id = pair(0, 0, |status| {
        status.members.iter_mut().for_each(|member| member.rank.value = serde_json::Value::Null);
    });
    holds(&by_id, "a", Cause::Rank, &["b ranks higher, by id"]);
    let equal = pair(5, 5, |_| ());
    holds(&equal, "a", Cause::Rank, &["b ranks higher: priority 5, against priority 5"]);
    holds(&equal, "b", Cause::Leads, &["none ranks higher"]);
    let greater_id = pair(5, 5, |status| status.members[0].id = "id of c".into());
    holds(&greater_id, "b", Cause::Leads, &["a would rank higher"]);
    let [_, leader] = pair(3, 5, |_| ());
    let other = Err(ClientError::Other("node at a is x of cluster hc".to_owned()));
    let asked = [leader, Asked { answer: other, ..silent("a") }];
    holds(&asked, "a", Cause::OtherNode, &["x of cluster hc => give both hosts the same file"]);
}

/// The order of the ranks is no reason where one of them may not lead.
#[test]
fn a_member_that_may_not_lead_is_not_said_to_rank_higher() {
    let changes: [fn(&mut MemberStatus); 4] = [
        |a| a.eligible = false,
        |a| a.status = "dead".into(),
        |a| a.role = "witness".into(),
        |a| a.role = "observer".into(),
    ];
    for change in changes {
        let both = pair(9, 5, |status| change(&mut status.members[0]));
        holds(&both, "b", Cause::Leads, &["Of the members that may lead, none ranks higher"]);
    }
}

#[test]
fn that_nobody_leads_is_told_with_what_the_nodes_miss() {
    let why = |cause: &str, quorum: &str, status: &str| {
        let mut asked = following("a", None);
        let own = asked.answer.as_mut().unwrap();
        own.quorum = quorum.into();
        let observer = MemberStatus { role: "observer".into(), ..member("o") };
        let other = MemberStatus { status: status.into(), ..member("b") };
        own.members = vec![member("a"), other, observer];
        let (since, lasts_ms, reason) = ("then".into(), 1000, "the reason".into());
        own.leaderless = Some(LeaderlessStatus { since, lasts_ms, cause: cause.into(), reason });
        let asked = [asked, silent("b")];
        let view = View::of(&asked);
        let nobody = nobody::why(&view);
        let text = text(Some(&nobody), &[("a", why("a", &view))]);
        (nobody.cause, text)
    };
    let (cause, words) = why("isolated", "majority", "dead");
    assert_eq!(cause, Cause::NoMajority);
    let begin = "nobody leads: a: the reason\n  => start or reconnect 1 of b; ";
    assert!(words.starts_with(begin), "{words}");
    assert!(words.contains("a does not lead: it hears 1 of 2 voters, and 2 are needed"), "{words}");
    assert_eq!(why("uninformed", "majority", "alive").0, Cause::Uninformed);
    assert_eq!(why("may_not_lead", "none", "alive").0, Cause::NoCandidate);
    assert_eq!(why("disk_lags", "majority", "alive").0, Cause::Storage);
    let (cause, words) = why("leader_dead", "none", "alive");
    assert_eq!(cause, Cause::Electing);
    assert!(words.contains("an election is under way, and ends by itself"), "{words}");
}

#[test]
fn the_first_reason_that_a_node_gives_itself_is_told() {
    let of_a = |change: fn(&mut Status)| {
        pair(9, 5, |status| {
            if status.node.name == "a" {
                change(status)
            }
        })
    };
    let ill = of_a(|a| {
        let (since, failure) = ("then".into(), Some("exited with code 1".into()));
        a.health = Some(HealthStatus { healthy: false, since, output: String::new(), failure });
    });
    let words = ["it is unhealthy: exited with code 1", "`electd check --node a` on its host runs"];
    holds(&ill, "a", Cause::Unhealthy, &words);
    let failed = of_a(|a| {
        let (since, output) = ("then".into(), String::new());
        a.health = Some(HealthStatus { healthy: true, since, output, failure: None });
        let (since, until, reason) = ("then".into(), "soon".into(), "exit 1".into());
        a.failure = Some(FailureStatus { since, until, count: 1, reason });
    });
    holds(&failed, "a", Cause::Job, &["mend what it runs", "undrain --node a"]);
    let drained = of_a(|a| {
        let (since, until, reason) = ("then".into(), None, "new disk".into());
        a.drain = Some(DrainStatus { since, until, reason });
        a.resigned = true;
        a.members[1].role = "witness".into();
    });
    let words = ["it is drained since then: new disk", "`electd undrain --node a` ends that"];
    holds(&drained, "a", Cause::Drained, &words);
    let witness = of_a(|a| a.members[0].role = "witness".into());
    holds(&witness, "a", Cause::Role, &["witness"]);
    let stalled = of_a(|a| a.stalled = true);
    let words = ["its election thread missed its turn", "look at the host of a"];
    holds(&stalled, "a", Cause::Stalled, &words);
    let full =
        of_a(|a| a.problems = vec![problem("rank", "", "none"), problem("storage", "", "full")]);
    let words = ["it cannot keep its state: full", "make room on the disk of a"];
    holds(&full, "a", Cause::Storage, &words);
    let other = of_a(|a| a.problems = vec![problem("rank", "", "none")]);
    holds(&other, "a", Cause::Takeover, &["ranks higher than b"]);
}

fn problem(kind: &str, about: &str, text: &str) -> Problem {
    let (kind, about, text) = (kind.into(), about.into(), text.into());
    Problem { since: "then".into(), kind, about, text }
}

#[test]
fn a_member_that_is_not_heard_is_told_with_who_does_not_hear_it() {
    let both = |status: &'static str, led: bool, problems: fn(&str) -> Vec<Problem>| {
        pair(9, 5, |own| {
            own.members[0].status = status.into();
            own.members[0].failed_dial = Some("refused".into());
            own.problems = problems(&own.node.name);
            if !led && own.node.name == "a" {
                own.leader = None;
            }
        })
    };
    let none = |_: &str| Vec::new();
    let cut = both("dead", true, none);
    let words =
        ["it answers here, but b does not hear it; the last dial: refused", "between a and b"];
    holds(&cut, "a", Cause::Unheard, &words);
    let [_, leader] = both("dead", true, none);
    let words = [
        "b does not hear it; the last dial: refused; it does not answer here: no answer from",
        "=> start it on its host (`systemctl start electd@a`, or `electd run --node a`)",
    ];
    holds(&[leader, silent("a")], "a", Cause::Down, &words);

    let words =
        ["it and another member refuse each other: files differ", "do what the reason says"];
    let by_leader = |name: &str| {
        let about = if name == "b" { "a" } else { "x" };
        vec![problem("peer_down", about, "no"), problem("rejected", about, "files differ")]
    };
    holds(&both("dead", true, by_leader), "a", Cause::Rejected, &words);
    holds(&both("alive", false, by_leader), "a", Cause::Rejected, &words);
    holds(&both("alive", true, by_leader), "a", Cause::Takeover, &["ranks higher than b"]);
    let by_itself = |name: &str| match name {
        "a" => {
            vec![problem("rejected", "x", "of another"), problem("rejected", "b", "files differ")]
        }
        _ => Vec::new(),
    };
    holds(&both("dead", true, by_itself), "a", Cause::Rejected, &words);
    let of_another = |_: &str| vec![problem("rejected", "x", "of another")];
    holds(&both("dead", true, of_another), "a", Cause::Unheard, &["b does not hear it"]);
}

#[test]
fn a_role_that_never_leads_is_told_by_who_sees_it() {
    for (role, words) in [
        ("witness", "it is a witness, which only votes"),
        ("observer", "it is an observer, which neither votes nor leads"),
    ] {
        let [_, leader] = pair(9, 5, |status| status.members[0].role = role.into());
        holds(&[leader, silent("a")], "a", Cause::Role, &[words]);
    }
}

#[test]
fn what_no_node_knows_is_not_guessed() {
    let ahead_unknown = pair(3, 5, |status| status.members.truncate(1));
    holds(&ahead_unknown, "a", Cause::NoLeader, &["no node that answers knows more of it"]);
    let asked = [following("a", None)];
    let none = nobody::why(&View::of(&asked));
    assert_eq!(none.reason, "no node says why; an election may be under way");
}

#[test]
fn a_program_gets_every_reason_with_its_cause_and_its_remedy() {
    let asked = pair(3, 5, |_| ());
    let view = View::of(&asked);
    let why = why("a", &view);
    let (reason, remedy) = (why.reason.clone(), why.remedy.clone());
    let leads = Why::new(Cause::Leads, "so it is");
    let told = super::object(&view, None, &[("a", why), ("b", leads)]);
    let expected = serde_json::json!({
        "leader": "b", "epoch": 7, "nobody_leads": null,
        "members": [
            {"name": "a", "leads": false, "cause": "rank", "reason": reason, "remedy": remedy},
            {"name": "b", "leads": true, "cause": "leads", "reason": "so it is", "remedy": null},
        ],
    });
    assert_eq!(told, expected);
}
