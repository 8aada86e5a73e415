//! What those who answer let say of a cluster.

mod situations;

use serde_json::json;

use super::super::entry::HistoryEntry;
use super::super::problem::{Missed, ProblemKind};
use super::super::samples::{
    AnswerSample as Asked, entry, following, member, problem, silent, status,
};
use super::super::status::{LeaderlessStatus, MemberStatus, Problem};
use super::*;

fn judge(told: &[Asked]) -> Judgement {
    let asked: Vec<super::Asked> = told.iter().map(Asked::asked).collect();
    super::judge(&asked, &ClusterFlags::default())
}

/// What is wrong besides the headline, without what to do.
fn besides(judgement: &Judgement) -> Vec<String> {
    judgement.besides().into_iter().map(|(text, _)| text).collect()
}

#[test]
fn the_worst_decides() {
    let well = || following("a", Some(("c", 7)));
    let judged = |asked: &[Asked]| judge(asked).verdict;
    assert_eq!(judged(&[well(), well()]), Verdict::Well);
    assert_eq!(judged(&[well(), silent("b")]), Verdict::Degraded);
    assert_eq!(judged(&[following("a", None), silent("b")]), Verdict::NoLeader);
    assert_eq!(judged(&[silent("a"), silent("b")]), Verdict::Unknown);
    let mut unserved = silent("b");
    unserved.answer = Err(Silence::NotServed);
    assert_eq!(judged(&[well(), unserved]), Verdict::Well);
}

/// Whoever does what a sentence says means the same cluster.
#[test]
fn every_command_that_a_verdict_names_repeats_the_flags() {
    let mut own = status("a", Some(("c", 7)));
    own.resigned = true;
    own.problems = vec![problem(ProblemKind::ConfigDiffers, "", "the file was edited")];
    let flags = ClusterFlags::of_command(Some("f.json".as_ref()));
    let judged = super::judge(&[super::Asked { name: "a", answer: Ok(&own) }], &flags);
    let undrain = "`electd undrain --config f.json --node a`";
    let resigned = format!("resigned: a leads only if no other can; {undrain} lets it lead again");
    assert_eq!(judged.orders, [resigned]);
    let reload = "`electd reload --config f.json --node a`";
    let remedy = judged.page()["boxes"][0]["remedy"].to_string();
    assert!(remedy.contains(reload), "{remedy}");
}

/// Elections do not depend on that.
#[test]
fn clocks_that_differ_are_a_box_with_a_remedy_and_change_no_verdict() {
    let told = |name: &str, clock_ms| {
        let mut asked = following(name, Some(("c", 7)));
        let status = asked.answer.as_mut().unwrap();
        (status.clock_ms, status.asked_ms) = (Some(clock_ms), Some((1_000_000, 1_000_004)));
        asked
    };
    let judged = judge(&[told("a", 1_000_002), told("b", 1_000_003), told("c", 1_031_000)]);
    assert_eq!(judged.verdict, Verdict::Well);
    let text = "the clock of c is at least 31 s ahead of that of b";
    let found = json!({
        "nodes": [], "kind": "clocks", "text": text, "since": "", "remedy": super::super::clocks::REMEDY,
    });
    assert_eq!(judged.page()["boxes"], json!([found]));
    let line = format!("clocks differ: {text}: {}", super::super::clocks::REMEDY);
    assert_eq!(judged.json()["differences"], json!([line]));
    let agree = judge(&[told("a", 1_000_002), told("b", 1_000_003)]);
    assert_eq!(agree.page()["boxes"], json!([]));
    assert_eq!(agree.json().get("differences"), None, "nothing more to read where all is well");
}

/// An upgrade is no fault, and one that was left half done is to be seen.
#[test]
fn versions_that_differ_are_a_box_with_a_remedy_and_change_no_verdict() {
    let of = |name: &str, version: &str| {
        let mut asked = following(name, Some(("c", 7)));
        asked.answer.as_mut().unwrap().version = version.to_owned();
        asked
    };
    let judged = judge(&[of("a", "0.2.0"), of("b", "0.3.0"), of("c", "0.3.0"), of("d", "")]);
    assert_eq!(judged.verdict, Verdict::Well);
    let (text, remedy) = ("0.2.0 (a), 0.3.0 (b, c), older (d)", super::super::versions::REMEDY);
    let found = json!({
        "nodes": [], "kind": "versions", "text": text, "since": "", "remedy": remedy,
    });
    assert_eq!(judged.page()["boxes"], json!([found]));
    let line = format!("versions differ: {text}: {remedy}");
    assert_eq!(judged.differences.iter().map(ToString::to_string).collect::<Vec<_>>(), [line]);
    assert_eq!(judge(&[of("a", "0.3.0"), of("b", "0.3.0")]).differences, []);
}

/// As `electd status` shows it: not as the node that serves the page saw it alone.
#[test]
fn a_page_gets_the_present_leadership_as_all_who_saw_it_know_it() {
    let told = |name: &str, cause: &str, leaderless_ms| {
        let mut asked = following(name, Some(("b", 2)));
        let led = HistoryEntry { leaderless_ms, ..entry("b", 2, 2300, None, cause) };
        asked.answer.as_mut().unwrap().last_leadership = Some(led);
        asked
    };
    let asked = [told("a", "announced", 0), told("d", "leader_dead", 10), told("e", "start", 9)];
    let page = judge(&asked).page();
    let shown = &page["leadership"];
    assert_eq!((&shown["leaderless_ms"], &shown["before"]), (&json!(10), &json!("c")));
    assert_eq!(judge(&asked[..1]).page()["leadership"]["leaderless_ms"], json!(null));
    assert_eq!(judge(&[silent("a")]).page()["leadership"], json!(null));
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

#[test]
fn what_several_nodes_say_is_said_once() {
    let mut asked = [following("a", Some(("c", 7))), following("b", Some(("c", 7)))];
    for asked in &mut asked {
        let status = asked.answer.as_mut().unwrap();
        status.problems.push(problem(ProblemKind::PeerDown, "d", "d is down"));
    }
    let lines = |asked: &[Asked]| {
        judge(asked).problems.iter().map(ClusterTrouble::to_string).collect::<Vec<_>>()
    };
    let judgement = judge(&asked);
    assert_eq!(judgement.verdict, Verdict::Degraded);
    assert_eq!(lines(&asked), ["a, b: peer_down: d is down"]);
    assert_eq!(judgement.summary(), "c leads in epoch 7; 1 more failure tolerated");
    asked[0].answer.as_mut().unwrap().problems[0].text.push_str(": redial refused");
    let expected = ["a: peer_down: d is down: redial refused", "b: peer_down: d is down"];
    assert_eq!(lines(&asked), expected);
    for (asked, times) in asked.iter_mut().zip([6, 7]) {
        let text = format!("the leader changed {times} times");
        asked.answer.as_mut().unwrap().problems =
            vec![problem(ProblemKind::LeaderChanges, "", &text)];
    }
    assert_eq!(lines(&asked), ["a, b: leader_changes: the leader changed 6 times"]);
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
    assert_eq!(judgement.headline(), "DEGRADED: c leads in epoch 7; 1 more failure tolerated");
    let start = "(`systemctl start electd@b`, or `electd run --node b`)";
    let look = format!(
        "look whether the host of b is up and can be reached; then whether b runs there {start}, or is frozen"
    );
    let down = ("a, c: peer_down: b is down: silent".to_owned(), Some(look));
    assert_eq!(judgement.besides(), [down]);
    // One of them knows more than that it hears nothing.
    let ended = MemberStatus { status: "dead".to_owned(), ..member("b") };
    asked[1].answer.as_mut().unwrap().members = vec![ended];
    let remedy = format!("start b on its host {start}");
    let down = ("a, c: peer_down: b is down: redial refused".to_owned(), Some(remedy));
    assert_eq!(judge(&asked).besides()[..], [down]);
    let judgement = judge(&[following("a", Some(("c", 7))), silent("b"), silent("d")]);
    assert_eq!(besides(&judgement), ["b, d do not answer"]);
}

#[test]
fn each_verdict_has_a_word_for_people_and_one_for_programs() {
    let all = [
        Verdict::Well,
        Verdict::Degraded,
        Verdict::NoLeader,
        Verdict::TwoLeaders,
        Verdict::CutOff,
        Verdict::Unknown,
    ];
    assert_eq!(all.map(Verdict::code), [0, 1, 2, 2, 2, 3]);
    let words = all.map(|it| (it.word(), serde_json::json!(it)));
    let expected = [
        ("OK", "ok".into()),
        ("DEGRADED", "degraded".into()),
        ("NO LEADER", "no_leader".into()),
        ("TWO LEADERS", "two_leaders".into()),
        ("CUT OFF", "cut_off".into()),
        ("UNKNOWN", "unknown".into()),
    ];
    assert_eq!(words, expected);
}

/// Another node in its place says so in a whole sentence, and is no member that does not answer.
#[test]
fn who_answers_in_anothers_place_is_told_in_its_own_words() {
    let mut other = silent("b");
    let sentence = "127.0.0.1:1 is of cluster hc, not demo";
    other.answer = Err(Silence::Other(sentence.to_owned()));
    let judgement = judge(&[following("a", Some(("c", 7))), other, silent("d")]);
    let told: Vec<_> =
        judgement.problems.iter().map(|it| (it.about.as_str(), it.to_string())).collect();
    let silence = "d does not answer: no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there";
    assert_eq!(told, [("", sentence.to_owned()), ("d", silence.to_owned())]);
    assert_eq!(besides(&judgement), ["d does not answer", sentence]);
    assert_eq!((judgement.verdict, judgement.answering), (Verdict::Degraded, (1, 3)));
}

#[test]
fn a_node_of_an_earlier_version_tells_its_last_change() {
    let reason = |version: &str, told: bool| {
        let mut asked = following("a", None);
        let status = asked.answer.as_mut().unwrap();
        status.version = version.to_owned();
        let change = |reason: &str| {
            serde_json::json!({
                "number": 1, "at_ms": 1, "from": "following", "to": "electing", "halting": null, "leader": null,
                "epoch": 7, "reason": reason
            })
        };
        let changes = serde_json::json!([change("it started"), change("c is silent")]);
        status.changes = serde_json::from_value(changes).unwrap();
        if told {
            let reason = "no majority".to_owned();
            status.leaderless = Some(LeaderlessStatus { reason, ..LeaderlessStatus::default() });
        }
        judge(&[asked]).reasons
    };
    assert_eq!(reason("", false), ["a: c is silent"]);
    assert_eq!(reason("", true), ["a: no majority"]);
    assert_eq!(reason("0.2.0", false), [""; 0]);
}

/// What a node that has not heard of the leader says of the time before is old.
#[test]
fn where_somebody_leads_nobody_is_said_to_lead_nowhere() {
    let mut asked = [following("a", None), following("b", None), following("d", Some(("c", 7)))];
    for (asked, lasts_ms) in asked.iter_mut().zip([9_000, 7_000]) {
        let reason = "c is silent".to_owned();
        let leaderless = LeaderlessStatus { lasts_ms, reason, ..LeaderlessStatus::default() };
        asked.answer.as_mut().unwrap().leaderless = Some(leaderless);
    }
    let judgement = judge(&asked);
    assert_eq!((judgement.reasons.as_slice(), judgement.leaderless_ms), ([].as_slice(), None));
    assert_eq!(judgement.leader, Some(("c".to_owned(), 7)));
    let judgement = judge(&asked[..2]);
    assert_eq!(judgement.reasons, ["a, b: c is silent"]);
    assert_eq!((judgement.leaderless_ms, judgement.leader), (Some(7_000), None));
    let words = "NO LEADER: no leader is known: a, b: c is silent; nobody has led for 7 s";
    assert_eq!(judge(&asked[..2]).headline(), words);
    let mut asked = following("a", None);
    asked.answer.as_mut().unwrap().leaderless =
        Some(LeaderlessStatus { lasts_ms: 2_000, ..LeaderlessStatus::default() });
    let words = "no leader is known: a: ; nobody has led for 2 s";
    assert_eq!(judge(&[asked]).summary(), words);
}

#[test]
fn each_problem_is_told_whole_with_the_nodes_that_tell_it() {
    let told = |name: &str, problems: &[Problem]| {
        let mut asked = following(name, Some(("c", 7)));
        asked.answer.as_mut().unwrap().problems = problems.to_vec();
        asked
    };
    let of = |kind, about: &str, text: &str| problem(kind, about, text);
    let (down, slow) = (ProblemKind::PeerDown, ProblemKind::Health);
    let asked = [
        told("a", &[of(down, "d", "gone"), of(slow, "", "gone"), of(slow, "x", "it is ill")]),
        told("b", &[of(slow, "y", "it is ill"), of(slow, "y", "it is ill"), of(down, "e", "gone")]),
        silent("d"),
        told("e", &[of(down, "d", "it is silent")]),
    ];
    let judgement = judge(&asked);
    let silence = "d does not answer: no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there";
    let trouble = |nodes: &[&str], kind: &str, about: &str, text: &str| ClusterTrouble {
        nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        kind: kind.to_owned(),
        about: about.to_owned(),
        text: text.to_owned(),
        since: String::new(),
        missed: Missed::default(),
        refusal: None,
    };
    let expected = [
        trouble(&[], "", "d", silence),
        trouble(&["a", "b"], "peer_down", "d", "gone"),
        trouble(&["a"], "health", "", "gone"),
        trouble(&["a", "b"], "health", "x", "it is ill"),
        trouble(&["e"], "peer_down", "d", "it is silent"),
    ];
    assert_eq!(judgement.problems, expected);
    assert_eq!(judgement.answering, (3, 4));
    let each = ["a, b, e: peer_down: gone", "a: health: gone", "a, b: health: it is ill"];
    assert_eq!(besides(&judgement), each);
    let both = judge(&[told("a", &[of(slow, "x", "it is ill")]), silent("d"), silent("f")]);
    assert_eq!(besides(&both), ["d, f do not answer", "a: health: it is ill"]);
    assert_eq!(besides(&judge(&[told("a", &[])])), [""; 0]);
    // That a member is down has one reason; all else may be wrong in several ways at once.
    let several = [of(slow, "x", "it is ill"), of(slow, "x", "it is slow"), of(slow, "", "no")];
    let own = of(slow, "", "gone");
    let judgement = judge(&[told("a", &several), told("b", &[several[1].clone(), own])]);
    let each =
        ["a: health: it is ill", "a, b: health: it is slow", "a: health: no", "b: health: gone"];
    assert_eq!(besides(&judgement), each);
}

/// Those who follow may not have heard yet; and a leader that hangs may have been replaced.
#[test]
fn the_tolerated_failures_are_those_of_who_knows_best() {
    let of = |name: &str, state: &str, tolerated, at_most| {
        let mut asked = following(name, Some(("c", 7)));
        let status = asked.answer.as_mut().unwrap();
        status.state = state.to_owned();
        (status.failures_tolerated, status.failures_tolerated_at_most) = (tolerated, at_most);
        asked
    };
    let judged = |asked: &[Asked]| (judge(asked).tolerated, judge(asked).verdict);
    let leads = || of("c", "leading", 2, 3);
    assert_eq!(judged(&[of("a", "following", 0, 0), leads()]), (2, Verdict::Well));
    let mut hangs = leads();
    hangs.answer.as_mut().unwrap().stalled = true;
    assert_eq!(judged(&[of("a", "following", 0, 1), hangs]), (0, Verdict::Degraded));
    let mut knows_none = of("b", "electing", 0, 3);
    knows_none.answer.as_mut().unwrap().leader = None;
    assert_eq!(judged(&[of("a", "following", 1, 1), knows_none]), (1, Verdict::Well));
    assert_eq!(judged(&[]), (0, Verdict::Unknown));
}
