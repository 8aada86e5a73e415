//! What those who answer let say of a cluster.

use super::*;
use crate::cli::ask::tests::{following, silent};
use crate::node::status::{LeaderlessStatus, Problem};

#[test]
fn the_worst_decides() {
    let well = || following("a", Some(("c", 7)));
    let judged = |asked: &[Asked]| judge(asked).verdict;
    assert_eq!(judged(&[well(), well()]), Verdict::Well);
    assert_eq!(judged(&[well(), silent("b")]), Verdict::Degraded);
    assert_eq!(judged(&[following("a", None), silent("b")]), Verdict::NoLeader);
    assert_eq!(judged(&[silent("a"), silent("b")]), Verdict::Unknown);
    let mut unserved = silent("b");
    unserved.answer = Err(ClientError::NotServed);
    assert_eq!(judged(&[well(), unserved]), Verdict::Well);
}

#[test]
fn no_further_failure_tolerated_is_a_degradation_unless_the_cluster_never_tolerates_one() {
    let of = |tolerated, at_most| {
        let mut asked = following("a", Some(("c", 7)));
        let status = asked.answer.as_mut().unwrap();
        (status.failures_tolerated, status.failures_tolerated_at_most) = (tolerated, at_most);
        judge(&[asked])
    };
    assert_eq!(of(0, 1).verdict, Verdict::Degraded);
    assert_eq!(of(0, 1).headline(), "DEGRADED: c leads in epoch 7; no further failure tolerated");
    assert_eq!((of(0, 0).verdict, of(1, 2).verdict), (Verdict::Well, Verdict::Well));
}

#[test]
fn why_nobody_leads_is_said_once_by_all_who_say_it() {
    let mut asked = ["a", "b", "d"].map(|name| following(name, None));
    let mut say = |at: usize, reason: &str, lasts_ms| {
        let (since, cause, reason) = (String::new(), String::new(), reason.to_owned());
        let leaderless = Some(LeaderlessStatus { since, lasts_ms, cause, reason });
        asked[at].answer.as_mut().unwrap().leaderless = leaderless;
        judge(&asked).summary()
    };
    say(0, "its store is empty and it has not met c", 12_000);
    let words = "no leader is known: a, b: its store is empty and it has not met c; nobody has led for 11 s";
    assert_eq!(say(1, "its store is empty and it has not met c", 11_000), words);
    let words = "no leader is known: a: its store is empty and it has not met c; b: no majority \
                     of the voters answers; nobody has led for 11 s";
    assert_eq!(say(1, "no majority of the voters answers", 11_000), words);
    assert_eq!(judge(&[following("d", None)]).summary(), "no leader is known");
}

fn problem(kind: ProblemKind, about: &str, text: &str) -> Problem {
    let (since, kind) = (String::new(), kind.name().to_owned());
    Problem { since, kind, about: about.to_owned(), text: text.to_owned() }
}

#[test]
fn what_several_nodes_say_is_said_once() {
    let mut asked = [following("a", Some(("c", 7))), following("b", Some(("c", 7)))];
    for asked in &mut asked {
        let status = asked.answer.as_mut().unwrap();
        status.problems.push(problem(ProblemKind::PeerDown, "d", "d is down"));
    }
    let lines =
        |asked: &[Asked]| judge(asked).problems.iter().map(Trouble::to_string).collect::<Vec<_>>();
    let judgement = judge(&asked);
    assert_eq!(judgement.verdict, Verdict::Degraded);
    assert_eq!(lines(&asked), ["a, b: peer_down: d is down"]);
    assert_eq!(judgement.summary(), "c leads in epoch 7; 1 more failure tolerated");
    asked[0].answer.as_mut().unwrap().problems[0].text.push_str(": redial refused");
    let expected = ["a: peer_down: d is down: redial refused", "b: peer_down: d is down"];
    assert_eq!(lines(&asked), expected);
}

#[test]
fn a_status_says_once_that_a_member_is_down_and_how_many_are_left() {
    let margin = "2 of 3 voters left, 2 are needed: no further failure is tolerated";
    let mut asked = [following("a", Some(("c", 7))), following("c", Some(("c", 7))), silent("b")];
    for (at, text) in [(0, "b is down: silent"), (1, "b is down: redial refused")] {
        asked[at].answer.as_mut().unwrap().problems = vec![
            problem(ProblemKind::QuorumMargin, "", margin),
            problem(ProblemKind::PeerDown, "b", text),
        ];
    }
    let judgement = judge(&asked);
    assert_eq!(judgement.headline(), format!("DEGRADED: c leads in epoch 7; {margin}"));
    assert_eq!(judgement.besides(), ["a, c: peer_down: b is down: silent"]);
    let judgement = judge(&[following("a", Some(("c", 7))), silent("b"), silent("d")]);
    assert_eq!(judgement.besides(), ["b, d do not answer"]);
}

#[test]
fn a_long_list_of_names_is_cut() {
    let names = |count| (1..=count).map(|at| format!("n{at}")).collect::<Vec<_>>();
    assert_eq!(some_of(&names(3)), "n1, n2, n3");
    assert_eq!(some_of(&names(7)), "n1, n2 and 5 others");
}

#[test]
fn each_verdict_has_a_word_for_people_and_one_for_programs() {
    let words = [Verdict::Well, Verdict::Degraded, Verdict::NoLeader, Verdict::Unknown]
        .map(|it| (it.word(), serde_json::json!(it)));
    let expected = [
        ("OK", "ok".into()),
        ("DEGRADED", "degraded".into()),
        ("NO LEADER", "no_leader".into()),
        ("UNKNOWN", "unknown".into()),
    ];
    assert_eq!(words, expected);
    let counts = [0, 1, 2].map(failures);
    assert_eq!(counts, ["no further failure", "1 more failure", "2 more failures"]);
}

/// Another node in its place says so in a whole sentence, and is no member that does not answer.
#[test]
fn who_answers_in_anothers_place_is_told_in_its_own_words() {
    let mut other = silent("b");
    let sentence = "127.0.0.1:1 is of cluster hc, not demo";
    other.answer = Err(ClientError::Other(sentence.to_owned()));
    let judgement = judge(&[following("a", Some(("c", 7))), other, silent("d")]);
    let told: Vec<_> =
        judgement.problems.iter().map(|it| (it.about.as_str(), it.to_string())).collect();
    let silence =
        "d does not answer: no answer from 127.0.0.1:1: connection refused, so no node runs there";
    assert_eq!(told, [("", sentence.to_owned()), ("d", silence.to_owned())]);
    assert_eq!(judgement.besides(), ["d does not answer", sentence]);
    assert_eq!(judgement.brief(), [sentence, silence]);
    assert_eq!((judgement.verdict, judgement.answering), (Verdict::Degraded, (1, 3)));
}

#[test]
fn a_node_of_an_earlier_version_tells_its_last_change() {
    let reason = |version: &str| {
        let mut asked = following("a", None);
        let status = asked.answer.as_mut().unwrap();
        status.version = version.to_owned();
        let change = serde_json::json!({
            "number": 1, "at_ms": 1, "from": "following", "to": "electing", "halting": null, "leader": null,
            "epoch": 7, "reason": "c is silent"
        });
        status.changes = serde_json::from_value(serde_json::json!([change])).unwrap();
        judge(&[asked]).reasons
    };
    assert_eq!(reason(""), ["a: c is silent"]);
    assert_eq!(reason("0.2.0"), [""; 0]);
}
