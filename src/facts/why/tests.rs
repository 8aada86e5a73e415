//! The situations that a test with real nodes would have to wait for; tests/process/why.rs has the others.

mod shown;

use super::super::asked::Silence;
use super::super::hint::ClusterFlags;
use super::super::samples::{AnswerSample, following, member, silent};
use super::super::status::{
    DrainStatus, FailureStatus, HealthStatus, MemberStatus, PauseStatus, Problem, RankStatus,
    Status, TakeoverStatus,
};
use super::nobody;
use super::of_member::why;
use super::view::{WhyAnswer, WhyCause, WhyView};

/// What is known by these answers, for a reader who names no file.
pub fn seen_in(asked: &[AnswerSample]) -> WhyView<'_> {
    WhyView::of(asked.iter().map(AnswerSample::asked).collect(), &ClusterFlags::default(), 0)
}

/// The leader b and its follower a, whose ranks are these, as both see them.
pub fn pair(a: i64, b: i64, change: impl Fn(&mut Status)) -> [AnswerSample; 2] {
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
fn holds(asked: &[AnswerSample], name: &str, cause: WhyCause, words: &str) {
    let WhyAnswer { cause: found, reason, remedy } = why(name, &seen_in(asked));
    let remedy = remedy.map_or_else(String::new, |remedy| format!(" => {remedy}"));
    assert_eq!((found, format!("{reason}{remedy}")), (cause, words.to_owned()));
}

#[test]
fn a_rank_decides_unless_an_order_or_preempt_does() {
    let lower = pair(3, 5, |_| ());
    let words = "b ranks higher: priority 5, against priority 3 => `electd switchover --to a` has it lead all the \
                 same";
    holds(&lower, "a", WhyCause::Rank, words);
    holds(
        &lower,
        "b",
        WhyCause::Leads,
        "in epoch 7. Of the members that may lead, none ranks higher",
    );
    let paused = pair(9, 5, |status| {
        status.pause = Some(PauseStatus { since: "then".into(), until: None });
    });
    let words =
        "it ranks higher than b, but the cluster is paused since then => `electd resume` ends that";
    holds(&paused, "a", WhyCause::Paused, words);
    holds(&paused, "b", WhyCause::Leads, "in epoch 7. a would rank higher");
    let never = pair(9, 5, |status| status.preempt = "never".into());
    let words = "it ranks higher than b, which stays while it lives and is eligible (preempt never) => `electd \
                 switchover --to a` has it lead all the same";
    holds(&never, "a", WhyCause::Preempt, words);
    let takeover = pair(9, 5, |status| {
        let (from, at, why) = ("b".into(), Some("soon".into()), "not long enough".into());
        status.takeover = Some(TakeoverStatus { from, at, why });
    });
    let words = "it is to take over from b at soon: not long enough => `electd switchover --to a` has it lead all \
                 the same";
    holds(&takeover, "a", WhyCause::Takeover, words);
    let later = pair(9, 5, |status| {
        let (from, at, why) = ("b".into(), Some("12:00".into()), "not long enough".into());
        status.takeover = Some(TakeoverStatus { from, at, why });
        status.takeovers.insert("a".into(), "12:05".into());
    });
    let words = "it is to take over from b at 12:05: preempt always: until then it has not been eligible for long \
                 enough without a break => `electd switchover --to a` has it lead all the same";
    holds(&later, "a", WhyCause::Takeover, words); // its leader decides
    let words = "it ranks higher than b, but not by more than the margin, or has only just come => `electd \
                 switchover --to a` has it lead all the same";
    holds(&pair(9, 5, |_| ()), "a", WhyCause::Takeover, words);
    let chosen = pair(9, 5, |status| status.switchover = Some("b".into()));
    let words = "an operator chose b, whatever its rank => `electd switchover --clear` ends that";
    holds(&chosen, "a", WhyCause::Switchover, words);
}

#[test]
fn a_leader_is_told_with_since_when_it_leads_and_who_chose_it() {
    let chosen = pair(9, 5, |status| status.switchover = Some("b".into()));
    let words = "in epoch 7. An operator chose it, whatever its rank => `electd switchover --clear` ends that";
    holds(&chosen, "b", WhyCause::Leads, words);
    let since = pair(3, 5, |status| {
        let led = serde_json::json!({
            "leader": "b", "epoch": 7, "since_ms": 32_503_680_000_123_u64, "until_ms": null, "lasts": true, "before": "c",
            "before_epoch": 6, "cause": "leader_dead", "reason": "leader c is dead", "leaderless_ms": 12,
        });
        status.last_leadership = Some(serde_json::from_value(led).unwrap());
    });
    let words = "in epoch 7, since 3000-01-01T00:00:00.123Z (0 ms); before it c led: leader c is dead; nobody led for 12 \
                 ms. Of the members that may lead, none ranks higher";
    holds(&since, "b", WhyCause::Leads, words);
}

/// A pause tells more than that no member preempts, and what its operator did more than its health.
#[test]
fn of_two_reasons_the_one_that_is_above_the_other_is_told() {
    let both = pair(9, 5, |status| {
        status.pause = Some(PauseStatus { since: "then".into(), until: None });
        status.preempt = "never".into();
    });
    let words =
        "it ranks higher than b, but the cluster is paused since then => `electd resume` ends that";
    holds(&both, "a", WhyCause::Paused, words);
    let of_a = |resigned: bool| {
        pair(9, 5, move |status| {
            if status.node.name == "a" {
                let (since, failure) = ("then".into(), Some("no".into()));
                status.resigned = resigned;
                status.health =
                    Some(HealthStatus { healthy: false, since, output: String::new(), failure });
                let (since, until, reason) = ("then".into(), "soon".into(), "exit 1".into());
                status.failure = Some(FailureStatus { since, until, count: 1, reason });
            }
        })
    };
    for (resigned, cause) in [(true, WhyCause::Resigned), (false, WhyCause::Unhealthy)] {
        assert_eq!(why("a", &seen_in(&of_a(resigned))).cause, cause);
    }
    let [_, mut leader] = pair(9, 5, |status| status.members[0].status = "dead".into());
    leader.answer.as_mut().unwrap().members[0].eligible = false;
    let unasked = AnswerSample { answer: Err(Silence::NotServed), ..silent("a") };
    let words = "b does not hear it => start a on its host (`systemctl start electd@a`, or `electd run --node a`)";
    holds(&[leader, unasked], "a", WhyCause::Down, words);
    let [follower, _] = pair(3, 5, |status| status.members[0].status = "dead".into());
    let words = "b ranks higher: priority 5, against priority 3 => `electd switchover --to a` has it lead all the same";
    holds(&[follower], "a", WhyCause::Rank, words); // it cannot miss itself
    let other = pair(3, 5, |status| status.switchover = Some("a".into()));
    holds(&other, "a", WhyCause::Rank, words);
    let itself = pair(9, 5, |status| status.members[1].status = "dead".into());
    holds(&itself, "b", WhyCause::Leads, "in epoch 7. a would rank higher");
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
    let words = "it has no rank: no file => mend what `rank` of a reads: `electd check --node a` on its host takes \
                 a sample";
    holds(&unranked, "a", WhyCause::NoRank, words);
    let failed = of_a(|a| {
        let (since, until, reason) = ("then".into(), "soon".into(), "exit 1".into());
        a.failure = Some(FailureStatus { since, until, count: 1, reason });
    });
    let words = "it stands back until soon, as its job failed: exit 1 => mend what a runs (its output is in the log), or \
                 its host where the message says so; at the time in the message it may lead again by itself";
    holds(&failed, "a", WhyCause::Job, words);
    let words = "it resigned, as it was ordered to, and leads only if no other can => `electd undrain --node a` lets it lead \
                 again";
    holds(&of_a(|a| a.resigned = true), "a", WhyCause::Resigned, words);
    let beside = of_a(|a| {
        (a.state, a.epoch) = ("leading".into(), 6);
        a.leader.as_mut().unwrap().epoch = 6;
        a.leader.as_mut().unwrap().name = "a".into();
    });
    let words = "in epoch 6 beside b, of a greater epoch, as the two do not hear each other => \"quorum\": \"majority\" in the \
                 file prevents this";
    holds(&beside, "a", WhyCause::LeadsToo, words);
    let passed = pair(9, 5, |status| status.members[0].passed_over = Some("comes and goes".into()));
    let words = "elections pass it over: it comes and goes => look at the log of a and at its link to the others \
                 at 127.0.0.1:7101; it counts again when it has been steady";
    holds(&passed, "a", WhyCause::PassedOver, words);
    let [_, leader] = pair(9, 5, |status| status.members[0].eligible = false);
    let words = "it says that it is not eligible, and does not answer here => `electd status --node a` on its host \
                 says why";
    holds(&[leader, silent("a")], "a", WhyCause::NotEligible, words);
}

#[test]
fn ids_decide_where_ranks_are_equal_and_another_node_is_none_of_the_cluster() {
    let by_id = pair(0, 0, |status| {
        status.members.iter_mut().for_each(|member| member.rank.value = serde_json::Value::Null);
    });
    let words = "b ranks higher, by id => `electd switchover --to a` has it lead all the same";
    holds(&by_id, "a", WhyCause::Rank, words);
    let equal = pair(5, 5, |_| ());
    let words = "b ranks higher by its id, as both have priority 5 => `electd switchover --to a` has it lead all the \
                 same";
    holds(&equal, "a", WhyCause::Rank, words);
    holds(
        &equal,
        "b",
        WhyCause::Leads,
        "in epoch 7. Of the members that may lead, none ranks higher",
    );
    let greater_id = pair(5, 5, |status| status.members[0].id = "id of c".into());
    holds(&greater_id, "b", WhyCause::Leads, "in epoch 7. a would rank higher");
    let [_, leader] = pair(3, 5, |_| ());
    let other = Err(Silence::Other("node at a is x of cluster hc".to_owned()));
    let asked = [leader, AnswerSample { answer: other, ..silent("a") }];
    let words = "node at a is x of cluster hc => give both hosts the same file, or correct the `admin` addresses \
                 in it";
    holds(&asked, "a", WhyCause::OtherNode, words);
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
        let words = "in epoch 7. Of the members that may lead, none ranks higher";
        holds(&both, "b", WhyCause::Leads, words);
    }
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
    let words = "it is unhealthy: exited with code 1 => mend what the health check of a looks at: `electd check --node a` \
                 on its host runs it once";
    holds(&ill, "a", WhyCause::Unhealthy, words);
    let failed = of_a(|a| {
        let (since, output) = ("then".into(), String::new());
        a.health = Some(HealthStatus { healthy: true, since, output, failure: None });
        let (since, until, reason) = ("then".into(), "soon".into(), "exit 1".into());
        a.failure = Some(FailureStatus { since, until, count: 1, reason });
    });
    let words = "it stands back until soon, as its job failed: exit 1 => mend what a runs (its output is in the log), or \
                 its host where the message says so; at the time in the message it may lead again by itself";
    holds(&failed, "a", WhyCause::Job, words);
    let drained = of_a(|a| {
        let (since, until, reason) = ("then".into(), None, "new disk".into());
        a.drain = Some(DrainStatus { since, until, reason });
        a.resigned = true;
        a.members[1].role = "witness".into();
    });
    let words = "it is drained since then: new disk => `electd undrain --node a` ends that";
    holds(&drained, "a", WhyCause::Drained, words);
    let witness = of_a(|a| a.members[0].role = "witness".into());
    holds(&witness, "a", WhyCause::Role, "it is a witness, which only votes");
    let stalled = of_a(|a| a.stalled = true);
    let words = "its election thread missed its turn, so it counts itself as failed => look at the host of a: it \
                 was frozen, or has too little processor time";
    holds(&stalled, "a", WhyCause::Stalled, words);
    let full =
        of_a(|a| a.problems = vec![problem("rank", "", "none"), problem("storage", "", "full")]);
    let words = "it cannot keep its state: full => free space on a, or mend its disk: it then writes again by \
                 itself";
    holds(&full, "a", WhyCause::Storage, words);
    let other = of_a(|a| a.problems = vec![problem("rank", "", "none")]);
    let words = "it ranks higher than b, but not by more than the margin, or has only just come => `electd \
                 switchover --to a` has it lead all the same";
    holds(&other, "a", WhyCause::Takeover, words);
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
    let words = "it answers here, but b does not hear it; the last dial: refused => look at the network between a \
                 and b, at 127.0.0.1:7101";
    holds(&cut, "a", WhyCause::Unheard, words);
    let [_, leader] = both("dead", true, none);
    let words = "b does not hear it; the last dial: refused; it does not answer here: no answer from 127.0.0.1:1: \
                 connection refused, so nobody answers HTTP there => start a on its host (`systemctl start electd@a`, or \
                 `electd run --node a`)";
    holds(&[leader, silent("a")], "a", WhyCause::Down, words);
    let [_, leader] = both("suspected", true, none);
    let words = "b does not hear it; the last dial: refused; it does not answer here: no answer from 127.0.0.1:1: \
                 connection refused, so nobody answers HTTP there => look whether the host of a (127.0.0.1) is up and can be \
                 reached; then whether a runs there (`systemctl start electd@a`, or `electd run --node a`), or is frozen";
    holds(&[leader, silent("a")], "a", WhyCause::Down, words);

    let by_leader = |name: &str| {
        let about = if name == "b" { "a" } else { "x" };
        vec![problem("peer_down", about, "no"), problem("rejected", about, "files differ")]
    };
    let refused = "it and another member refuse each other: files differ => give both the same file; the message says \
                 what differs";
    holds(&both("dead", true, by_leader), "a", WhyCause::Rejected, refused);
    holds(&both("alive", false, by_leader), "a", WhyCause::Rejected, refused);
    let words = "it ranks higher than b, but not by more than the margin, or has only just come => `electd \
                 switchover --to a` has it lead all the same";
    holds(&both("alive", true, by_leader), "a", WhyCause::Takeover, words);
    let by_itself = |name: &str| match name {
        "a" => {
            vec![problem("rejected", "x", "of another"), problem("rejected", "b", "files differ")]
        }
        _ => Vec::new(),
    };
    holds(&both("dead", true, by_itself), "a", WhyCause::Rejected, refused);
    let of_another = |_: &str| vec![problem("rejected", "x", "of another")];
    let words = "it answers here, but b does not hear it; the last dial: refused => look at the network between a \
                 and b, at 127.0.0.1:7101";
    holds(&both("dead", true, of_another), "a", WhyCause::Unheard, words);
}

#[test]
fn a_role_that_never_leads_is_told_by_who_sees_it() {
    for (role, words) in [
        ("witness", "it is a witness, which only votes"),
        ("observer", "it is an observer, which neither votes nor leads"),
    ] {
        let [_, leader] = pair(9, 5, |status| status.members[0].role = role.into());
        holds(&[leader, silent("a")], "a", WhyCause::Role, words);
    }
}

#[test]
fn what_no_node_knows_is_not_guessed() {
    let ahead_unknown = pair(3, 5, |status| status.members.truncate(1));
    holds(&ahead_unknown, "a", WhyCause::NoLeader, "no node that answers knows more of it");
    let asked = [following("a", None)];
    let none = nobody::why(&seen_in(&asked));
    assert_eq!(none.reason, "no node says why; an election may be under way");
}

#[test]
fn a_program_gets_every_reason_with_its_cause_and_its_remedy() {
    let asked = pair(3, 5, |_| ());
    let view = seen_in(&asked);
    let why = why("a", &view);
    let (reason, remedy) = (why.reason.clone(), why.remedy.clone());
    let leads = WhyAnswer::new(WhyCause::Leads, "so it is");
    let told = super::object_of(&view, None, &[("a", why), ("b", leads)]);
    let expected = serde_json::json!({
        "leader": "b", "epoch": 7, "nobody_leads": null,
        "members": [
            {"name": "a", "leads": false, "cause": "rank", "reason": reason, "remedy": remedy},
            {"name": "b", "leads": true, "cause": "leads", "reason": "so it is", "remedy": null},
        ],
    });
    assert_eq!(told, expected);
    let (nobody, beside) = (
        WhyAnswer::new(WhyCause::NoCandidate, "so").remedy("do"),
        WhyAnswer::new(WhyCause::LeadsToo, "too"),
    );
    let nobody_leads = [following("a", None)];
    let told = super::object_of(&seen_in(&nobody_leads), Some(&nobody), &[("a", beside)]);
    let expected = serde_json::json!({
        "leader": null, "epoch": null,
        "nobody_leads": {"cause": "no_candidate", "reason": "so", "remedy": "do"},
        "members": [{"name": "a", "leads": true, "cause": "leads_too", "reason": "too", "remedy": null}],
    });
    assert_eq!(told, expected);
    let begin = |cause| WhyAnswer::new(cause, "").begin("a");
    assert_eq!(
        [WhyCause::Leads, WhyCause::LeadsToo, WhyCause::Rank].map(begin),
        ["a leads", "a leads", "a does not lead"]
    );
}
