//! The lines of the log, word by word: an operator searches for them, and acts on them.

use serde_json::{Value, json};

use super::*;
use crate::config::Builder;
use crate::node::logged::{fields, logged};
use crate::node::status::{LeaderlessStatus, MemberStatus};

/// The members a, b, c and so on in these states.
fn status(quorum: &str, states: &[&str]) -> Status {
    let member = |(name, status): (char, &&str)| MemberStatus {
        name: name.to_string(),
        role: "member".to_owned(),
        status: (*status).to_owned(),
        ..MemberStatus::default()
    };
    let members = ('a'..).zip(states).map(member).collect();
    Status { quorum: quorum.to_owned(), members, ..Status::default() }
}

fn found(kind: ProblemKind, about: &str, text: &str) -> PresentProblem {
    PresentProblem { kind, about: about.to_owned(), text: text.to_owned() }
}

#[test]
fn who_goes_and_comes_is_told_with_its_role_and_with_how_many_are_left() {
    let (up, down) = ("alive", "dead");
    let of_two = [found(ProblemKind::PeerDown, "b", "b is down: silent")];
    let lines = |status: &Status| {
        let problems = |began: &[PresentProblem], over: &[PresentProblem]| {
            logged(|| Alerts::default().problems(began, over, status, false)).join("; ")
        };
        [problems(&of_two, &[]), problems(&[], &of_two)]
    };
    for (quorum, states, role, left) in [
        (
            "majority",
            &[up, down, up][..],
            "voter",
            "2 of 3 voters left, no further failure tolerated",
        ),
        ("majority", &[up, down, down], "voter", "1 of 3 voters left, 2 are needed"),
        (
            "majority",
            &[up, down, up, up, up],
            "voter",
            "4 of 5 voters left, 1 more failure tolerated",
        ),
        ("majority", &[up; 5], "voter", "5 of 5 voters left, 2 more failures tolerated"),
        ("none", &[up, down, up], "member", "2 of 3 members left"),
    ] {
        let told = lines(&status(quorum, states));
        let began = format!("WARN member_down: {role} b is down: silent; {left}");
        assert_eq!(told, [began, format!("INFO member_up: {role} b is up; {left}")]);
    }
    let mut observed = status("majority", &[up, down]);
    observed.members[1].role = "observer".to_owned();
    let began = "WARN member_down: observer b is down: silent; 1 of 1 voters left, no further failure tolerated";
    assert_eq!(lines(&observed)[0], began);
    let told = |began: &[PresentProblem], over: &[PresentProblem]| {
        fields(|| Alerts::default().problems(began, over, &observed, false))
    };
    assert_eq!(told(&of_two, &[]), ["event=member_down member=b"]);
    assert_eq!(told(&[], &of_two), ["event=member_up member=b"]);
}

/// A problem that began in the status and not in the log would be found by nobody who reads that.
#[test]
fn each_problem_is_told_once_when_it_begins_and_once_when_it_is_over() {
    let status = status("majority", &["alive"; 3]);
    let mut lines = Vec::new();
    for kind in ProblemKind::ALL {
        let found = [found(*kind, "b", "why")];
        let began = logged(|| Alerts::default().problems(&found, &[], &status, true));
        let over = logged(|| Alerts::default().problems(&[], &found, &status, true));
        lines.push([began, over].concat().join(" | "));
    }
    let by_others = ["health", "job", "rejected", "quorum_margin", "config_differs"];
    for (kind, line) in ProblemKind::ALL.iter().zip(lines) {
        let name = kind.name();
        let began = format!("WARN problem: {name}: why | ");
        let over = format!("INFO problem_over: {name}: no problem any more with b");
        let expected = match name {
            "peer_down" => continue, // as above
            "health" | "quorum_margin" => String::new(),
            _ if by_others.contains(&name) => over,
            _ => began + &over,
        };
        assert_eq!(line, expected, "{name}");
    }
    let edited = found(ProblemKind::ConfigDiffers, "the file", "it was edited");
    let told = logged(|| Alerts::default().problems(&[edited], &[], &status, true));
    assert_eq!(told, ["WARN problem: config_differs: it was edited"]);
    let failed = [found(ProblemKind::Certificate, "its files", "no key")];
    let over = || Alerts::default().problems(&[], &failed, &status, true);
    let told = ["INFO problem_over: certificate: no problem any more"];
    assert_eq!(logged(over), told, "it is about no member");
    assert_eq!(fields(over), ["event=problem_over kind=certificate"]);
    let began = fields(|| Alerts::default().problems(&failed, &[], &status, true));
    assert_eq!(began, ["event=problem kind=certificate"]);
}

/// As the first of three hosts starts, and the others minutes later, or never.
#[test]
fn before_a_cluster_has_begun_a_member_that_is_not_there_yet_is_no_news() {
    let mut alerts = Alerts::default();
    let down = |name: &str| found(ProblemKind::PeerDown, name, &format!("{name} is down: silent"));
    let mut first = status("majority", &["alive", "suspected", "suspected"]);
    first.members[1].failed_dial = Some("no route".to_owned());
    let cause =
        |cause: &str| Some(LeaderlessStatus { cause: cause.to_owned(), ..Default::default() });
    for (at, word) in ["start", "uninformed", "voters_uninformed"].into_iter().enumerate() {
        first.leaderless = cause(word);
        let began = if at == 0 { vec![down("b"), down("c")] } else { Vec::new() };
        let told = logged(|| alerts.problems(&began, &[], &first, true));
        assert_eq!(told, [""; 0], "{word}");
    }
    // b is there, and the two elect a leader without c.
    let mut begun = status("majority", &["alive", "alive", "suspected"]);
    let over = logged(|| alerts.problems(&[], &[down("b")], &first, true));
    assert!(over.iter().all(|line| line.starts_with("INFO")), "{over:?}");
    begun.leaderless = None;
    let told = logged(|| alerts.problems(&[], &[], &begun, true));
    let left = "WARN member_down: voter c is down: silent; 2 of 3 voters left, no further failure tolerated";
    assert_eq!(told, [left]);
    // A node that knew a leader misses its members.
    let mut again = status("majority", &["alive", "suspected", "suspected"]);
    (again.leaderless, again.last_leadership) = (cause("start"), Some(HistoryEntry::of_a(1)));
    let told = logged(|| Alerts::default().problems(&[down("b")], &[], &again, true));
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn why_a_silent_member_cannot_be_dialed_is_told_once_until_it_changes() {
    let mut status = status("none", &["alive", "suspected", "alive"]);
    status.members[2].failed_dial = Some("of an earlier time".to_owned());
    let mut alerts = Alerts::default();
    let mut told = |state: &str, why: &str, began: &[PresentProblem], is_settled| {
        status.members[1].status = state.to_owned();
        status.members[1].failed_dial = Some(why.to_owned());
        logged(|| alerts.problems(began, &[], &status, is_settled))
    };
    let line = |why| [format!("WARN dial_failed: the dial to b fails: {why}")];
    assert_eq!(told("suspected", "no route", &[], false), [""; 0], "it has just started");
    assert_eq!(told("suspected", "no route", &[], true), line("no route"));
    assert_eq!(told("suspected", "no route", &[], true), [""; 0]);
    assert_eq!(told("suspected", "refused", &[], true), line("refused"));
    assert_eq!(told("alive", "refused", &[], true), [""; 0]);
    assert_eq!(told("suspected", "refused", &[], true), line("refused"), "it is silent again");
    let down = [found(ProblemKind::PeerDown, "b", "b is down: silent; the last dial: timed out")];
    let one =
        "WARN member_down: member b is down: silent; the last dial: timed out; 2 of 3 members left";
    assert_eq!(told("suspected", "timed out", &down, true), [one], "one line is enough");
    assert_eq!(told("suspected", "timed out", &[], true), [""; 0]);
    let told = fields(|| Alerts::default().problems(&[], &[], &status, true));
    assert_eq!(told, ["event=dial_failed member=b"]);
}

#[test]
fn a_majority_that_is_lost_is_told_once_and_not_where_nobody_needs_one() {
    let mut alerts = Alerts::default();
    let mut told = |quorum: &str, states: &[&str], is_settled| {
        logged(|| alerts.problems(&[], &[], &status(quorum, states), is_settled))
    };
    let (well, ill) = (["alive"; 3], ["alive", "dead", "dead"]);
    let enough = ["alive", "alive", "dead"];
    let lost = "WARN majority_lost: the majority is lost: 1 of 3 voters left, 2 are needed, so nobody can lead";
    let back = "INFO majority_back: the majority is back: 2 of 3 voters left, no further failure tolerated";
    assert_eq!(told("none", &ill, true), [""; 0]);
    assert_eq!(told("majority", &enough, true), [""; 0]);
    assert_eq!(told("majority", &ill, false), [""; 0], "it has just started");
    assert_eq!(told("majority", &ill, true), [lost]);
    assert_eq!(told("majority", &ill, true), [""; 0]);
    assert_eq!(told("majority", &enough, true), [back]);
    assert_eq!(told("majority", &well, true), [""; 0]);
    let mut alerts = Alerts::default();
    let told = [&ill[..], &well].map(|states| {
        fields(|| alerts.problems(&[], &[], &status("majority", states), true)).join("; ")
    });
    assert_eq!(told, ["event=majority_lost", "event=majority_back"]);
}

#[test]
fn a_leadership_of_this_node_is_told_with_the_one_before_and_how_that_ended() {
    let lines = |before: Option<&str>, cause: &str, leaderless_ms| {
        let entry = HistoryEntry {
            leader: "a".to_owned(),
            epoch: 7,
            since_ms: 5000,
            until_ms: None,
            lasts: true,
            before: before.map(str::to_owned),
            before_epoch: Some(6),
            cause: cause.to_owned(),
            reason: "why".to_owned(),
            leaderless_ms,
            job_late_ms: None,
            ended: None,
        };
        let tell = || leads(&entry, "a");
        [logged(tell).join("; "), fields(tell).join("; ")]
    };
    for (before, cause, how) in [
        (None, "start", "no leader was known since its start"),
        (Some("b"), "leader_dead", "took over from b (why)"),
        (Some("b"), "leader_released", "took over from b (why)"),
        (Some("b"), "resigned", "took over from b (why)"),
        (Some("b"), "joined", "took over from b"),
        (Some("b"), "start", "took over from b"),
        (Some("a"), "lease_ended", "it had led before (why)"),
        (Some("a"), "joined", "it had led before"),
    ] {
        let told = format!("INFO leads: leads in epoch 7: {how} after 1.5 s without a leader");
        let name = before.unwrap_or("none");
        let fields = format!("event=leads epoch=7 before={name} cause={cause} leaderless_ms=1500");
        assert_eq!(lines(before, cause, 1500), [told, fields]);
    }
    let missed = "INFO leads: leads in epoch 7: took over from b; this node missed the end of the leadership before";
    let fields = "event=leads epoch=7 before=b cause=announced";
    assert_eq!(lines(Some("b"), "announced", 0), [missed, fields], "not after 0 ms");
}

#[test]
fn the_first_line_tells_where_http_is_served_and_then_come_the_warnings_of_the_file() {
    let member = |name: &str, id: &str, more: Value| {
        let mut member = json!({"name": name, "id": id, "address": "10.0.0.1:1"});
        member.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        member
    };
    let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
    let lines = |more: Value| {
        let config = Builder::new("c", "majority", "/nowhere").set("trust_refused", false);
        let config = config.member_with(member("a", ids[0], more));
        let config = config.member("b", ids[1], "10.0.0.2:1").build().unwrap();
        let config = Config { file: "/etc/c.json".into(), ..config };
        let tell = || introduce(&config, &config.members[0], Incarnation(4));
        (logged(tell), fields(tell), config.warnings.clone())
    };
    let process = std::process::id();
    let first = |admin: &str, listen: &str| {
        format!(
            "INFO start: electd {VERSION} starts a of cluster \"c\", quorum majority, members a b; file /etc/c.json, \
             address 10.0.0.1:1, listens on {listen}, admin {admin}, data_dir /nowhere, start 4, process {process}"
        )
    };
    let more = json!({"listen": "0.0.0.0:4", "admin": "10.0.0.1:2", "admin_listen": "0.0.0.0:3"});
    let (told, fields, warnings) = lines(more);
    assert!(warnings[0].starts_with("trust_refused has no effect"), "{warnings:?}");
    let warned = warnings.iter().map(|warning| format!("WARN config: {warning}"));
    let by_way = first("10.0.0.1:2 by way of 0.0.0.0:3", "0.0.0.0:4");
    assert_eq!(told, [by_way].into_iter().chain(warned).collect::<Vec<_>>());
    let of_start = format!(
        "event=start version={VERSION} file=/etc/c.json cluster=c quorum=majority members=a b address=10.0.0.1:1 \
         listen=0.0.0.0:4 admin=10.0.0.1:2 data_dir=/nowhere start=4 pid={process}"
    );
    assert_eq!(fields[..2], [of_start, "event=config".to_owned()]);
    let (same, none) = (json!({"admin": "10.0.0.1:2"}), json!({}));
    assert_eq!(lines(same).0[0], first("10.0.0.1:2", "10.0.0.1:1"));
    assert_eq!(lines(none).0[0], first("none", "10.0.0.1:1"));
}
