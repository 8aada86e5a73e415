//! Which problems are seen in a status, and for how long.

use super::*;
use crate::core::types::Time;
use crate::node::status::{DiskTrouble, LeaderStatus, NodeRef, RankStatus, RealtimeStatus};

/// A member of this role in this state.
fn member(name: &str, role: &str, status: &str) -> MemberStatus {
    MemberStatus {
        id: name.to_owned(),
        name: name.to_owned(),
        address: String::new(),
        admin: None,
        role: role.to_owned(),
        eligible: role == "member",
        status: status.to_owned(),
        rank: RankStatus { by: "id".to_owned(), ..RankStatus::default() },
        ..MemberStatus::default()
    }
}

/// The node a, which follows b.
fn status(quorum: &str, members: Vec<MemberStatus>) -> Status {
    let named = |name: &str| (name.to_owned(), name.to_owned());
    let ((id, name), (leader_id, leader)) = (named("a"), named("b"));
    Status {
        cluster: "test".to_owned(),
        node: NodeRef { id, name },
        state: "following".to_owned(),
        leader: Some(LeaderStatus {
            id: leader_id,
            name: leader,
            address: String::new(),
            epoch: 1,
        }),
        epoch: 1,
        quorum: quorum.to_owned(),
        algorithm: "bully".to_owned(),
        preempt: "always".to_owned(),
        rank_source: "all are equal, the id decides".to_owned(),
        members,
        incarnation: 1,
        ..Status::default()
    }
}

/// Members a, b, c and so on in these states, all of one role.
fn members(states: &[&str]) -> Vec<MemberStatus> {
    let name = |at: usize| String::from(char::from(b'a' + u8::try_from(at).unwrap()));
    states.iter().enumerate().map(|(at, state)| member(&name(at), "member", state)).collect()
}

fn settled() -> Sight {
    Sight { settled: true, ..Sight::default() }
}

/// The kinds of all problems, with their names.
fn seen(status: &Status, sight: &Sight) -> Vec<(&'static str, String)> {
    find(status, sight).into_iter().map(|found| (found.kind.name(), found.text)).collect()
}

#[test]
fn a_dead_voter_is_a_problem_and_so_is_the_margin_that_it_takes() {
    let well = status("majority", members(&["alive"; 3]));
    assert_eq!((seen(&well, &settled()), tolerated(&well)), (vec![], 1));
    let one_dead = status("majority", members(&["alive", "alive", "dead"]));
    let margin = "2 of 3 voters left, 2 are needed: no further failure is tolerated";
    let expected = [("quorum_margin", margin), ("peer_down", "c is down: process ended")];
    assert_eq!(seen(&one_dead, &settled()), expected.map(|(kind, text)| (kind, text.to_owned())));
    assert_eq!(tolerated(&one_dead), 0);
    assert_eq!(seen(&one_dead, &Sight::default()), [], "it has just started and met nobody");
    let lost = status("majority", members(&["alive", "suspected", "dead"]));
    let margin = "1 of 3 voters left, 2 are needed: nobody can lead";
    let found = [
        ("quorum_margin", margin),
        ("peer_down", "b is down: silent"),
        ("peer_down", "c is down: process ended"),
    ];
    assert_eq!(seen(&lost, &settled()), found.map(|(kind, text)| (kind, text.to_owned())));
    assert_eq!(tolerated_at_most(&lost), 1, "if all were well");
}

#[test]
fn a_margin_is_told_where_a_failure_has_used_it_up() {
    let (up, down) = ("alive", "dead");
    let is_told = |states: &[&str]| {
        let found = find(&status("majority", members(states)), &settled());
        found.iter().any(|found| found.kind == ProblemKind::QuorumMargin)
    };
    assert!(!is_told(&[up]) && !is_told(&[up, up]), "two tolerate none, and that is no news");
    assert!(is_told(&[up, down]));
    assert!(!is_told(&[up, up, up, up, down]) && is_told(&[up, up, up, down, down]));
    assert!(is_told(&[up, up, up, down]), "four need three");
    assert!(!is_told(&[up; 5]) && !is_told(&[up, up, up, up, down]));
    let without_majority = status("none", members(&[up, down, down]));
    assert!(seen(&without_majority, &settled()).iter().all(|(kind, _)| *kind == "peer_down"));
}

#[test]
fn five_voters_tolerate_two_failures_and_none_of_an_observer_counts() {
    let mut five = members(&["alive"; 5]);
    assert_eq!(tolerated(&status("majority", five.clone())), 2);
    five.push(member("o", "observer", "dead"));
    let status = status("majority", five);
    assert_eq!(tolerated(&status), 2);
    assert_eq!(seen(&status, &settled()).len(), 1, "it is down all the same");
}

#[test]
fn a_witness_votes_and_cannot_be_the_one_that_is_left() {
    let mut three = members(&["alive", "alive"]);
    three.push(member("w", "witness", "alive"));
    assert_eq!(tolerated(&status("majority", three.clone())), 1);
    assert_eq!(tolerated_at_most(&status("majority", three.clone())), 1);
    let ill = |change: fn(&mut MemberStatus)| {
        let mut three = three.clone();
        change(&mut three[1]);
        tolerated(&status("majority", three))
    };
    assert_eq!(ill(|other| other.status = "dead".to_owned()), 0);
    assert_eq!(ill(|other| other.eligible = false), 0);
    assert_eq!(ill(|other| other.passed_over = Some("comes and goes".to_owned())), 0);
    assert_eq!(tolerated(&status("none", members(&["alive"; 3]))), 2, "one survivor is enough");
}

#[test]
fn without_a_leader_no_failure_is_tolerated() {
    let mut status = status("none", members(&["alive"; 3]));
    status.leader = None;
    assert_eq!(tolerated(&status), 0);
}

#[test]
fn each_kind_has_its_words() {
    let mut status = status("none", members(&["alive"; 2]));
    status.stalled = true;
    status.rank_source = "none: the program is missing".to_owned();
    let failure = Some("`check` exited with code 1: no disk".to_owned());
    status.health = Some(HealthStatus { failure, ..HealthStatus::default() });
    status.failure = Some(FailureStatus {
        since: String::new(),
        until: "then".to_owned(),
        count: 3,
        reason: "code 1".to_owned(),
    });
    status.members[1].passed_over = Some("heard, but cannot be dialed".to_owned());
    status.members[1].failed_dial = Some("no route".to_owned());
    status.realtime = Some(RealtimeStatus { holds: false, refused: Some("a limit".to_owned()) });
    status.differs_from_file = Some("the members changed".to_owned());
    let sight = Sight {
        locks: vec!["c".to_owned()],
        storage: Some(DiskFault { kind: DiskTrouble::Full, text: "no space".to_owned() }),
        address: Some("it means loopback".to_owned()),
        rejected: vec![RejectionStatus {
            peer: "c".into(),
            reason: "is refused: why".into(),
            cause: None,
            by_peer: false,
        }],
        timings: vec![("b".to_owned(), "failure 1s".to_owned())],
        certificate: vec![("its end", "the certificate ends".to_owned())],
        coroner: Some("it has ended".to_owned()),
        edited: Some("the file was edited".to_owned()),
        late: Some(LateRenewal { epoch: 7, at: Time(0), at_ms: 1000 }),
        changes: Some(UnplannedChanges {
            times: 5,
            why: "leader b is silent".to_owned(),
            lost: [("b", 4), ("c", 1)].map(|(name, times)| (name.to_owned(), times)).into(),
        }),
        refused: false,
        settled: true,
        file_lags: false,
    };
    let told = find(&status, &sight);
    let told: Vec<_> =
        told.iter().map(|it| format!("{}|{}|{}", it.kind.name(), it.about, it.text)).collect();
    assert_eq!(told, EACH_KIND);
    let of_file: Vec<_> = find(&status, &sight).iter().map(PresentProblem::is_of_file).collect();
    assert_eq!(of_file, (1..=17).map(|place| place == 17).collect::<Vec<_>>());
    let other = PresentProblem {
        kind: ProblemKind::Rejected,
        about: EDITED.to_owned(),
        text: String::new(),
    };
    assert!(!other.is_of_file(), "a member may have any name");
    status.members[1].id.clone_from(&status.node.id);
    let peers = find(&status, &sight).iter().filter(|it| it.kind == ProblemKind::PeerDown).count();
    assert_eq!(peers, 0, "no node tells this of itself");
    status.state = "stopping".to_owned();
    let left = find(&status, &sight);
    assert!(left.iter().all(|found| found.kind != ProblemKind::Coroner), "it was dismissed");
    let names: Vec<_> = ProblemKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn a_member_that_does_not_answer_is_told_with_what_is_known_of_the_last_dial() {
    let told = |status: &str, passed_over: Option<&str>, dial: Option<&str>| {
        let mut member = member("b", "member", status);
        member.passed_over = passed_over.map(str::to_owned);
        member.failed_dial = dial.map(str::to_owned);
        down(&member)
    };
    for (status, passed_over, dial, expected) in [
        ("alive", None, Some("no route"), None),
        ("alive", Some("why"), None, Some("b is passed over in elections: why")),
        (
            "alive",
            Some("why"),
            Some("no route"),
            Some("b is passed over in elections: why; the last dial: no route"),
        ),
        ("dead", Some("why"), Some("no route"), Some("b is down: process ended")),
        ("suspected", Some("why"), None, Some("b is down: silent")),
        ("suspected", None, Some("no route"), Some("b is down: silent; the last dial: no route")),
    ] {
        assert_eq!(told(status, passed_over, dial).as_deref(), expected);
    }
}

#[test]
fn how_often_the_job_failed_is_told_from_the_second_time_on() {
    let told = |count| {
        let (since, until, reason) = ("then".to_owned(), "noon".to_owned(), "code 1".to_owned());
        failed(&FailureStatus { since, until, count, reason })
    };
    let words = |times: &str| {
        format!(
            "the job failed here{times} (code 1): until noon this node leads only if no other can"
        )
    };
    assert_eq!([1, 2].map(told), [words(""), words(", 2 times in a row")]);
}

/// The names of all kinds, in the order of the metrics.
const NAMES: [&str; 16] = [
    "storage",
    "rank",
    "health",
    "address",
    "job",
    "renewal",
    "peer_down",
    "cut_off",
    "rejected",
    "stalled",
    "leader_changes",
    "realtime",
    "quorum_margin",
    "config_differs",
    "certificate",
    "coroner",
];

/// In the order in which they are told: kind, what it is about, and the words.
const EACH_KIND: [&str; 17] = [
    "storage||no space",
    "stalled||the election thread missed its turn, so this node counts itself as failed",
    "leader_changes||the leader changed 5 times within 10 min, and no operator ordered that (lost by b 4 times, c once); the \
     last time: leader b is silent",
    "realtime||a limit",
    "address||it means loopback",
    "peer_down|b|b is passed over in elections: heard, but cannot be dialed; the last dial: no route",
    "rejected|c|c is refused: why",
    "rank||no rank, so this node is not eligible: the program is missing",
    "health||unhealthy, so this node is not eligible: `check` exited with code 1: no disk",
    "job||the job failed here, 3 times in a row (code 1): until then this node leads only if no \
     other can",
    "renewal|epoch 7|the job of epoch 7 was ended at 1970-01-01T00:00:01.000Z, as no renewal of the leadership came in \
     time: this host, its disk or the network was slow",
    "certificate|its end|the certificate ends",
    "coroner||it has ended",
    "config_differs|c|c has other `locks` in its configuration: the leader's count",
    "config_differs|b|b has other timings: failure 1s",
    "config_differs|the members|the members changed",
    "config_differs|the file|the file was edited",
];

#[test]
fn a_node_is_unhealthy_when_its_check_failed_or_takes_long_to_end_for_the_first_time() {
    let mut status = status("none", members(&["alive"; 2]));
    let mut said = |healthy, failure: Option<&str>, sight: &Sight| {
        let failure = failure.map(str::to_owned);
        status.health = Some(HealthStatus { healthy, failure, ..HealthStatus::default() });
        seen(&status, sight)
    };
    assert_eq!(said(false, None, &Sight::default()), [], "it has just started");
    let words = "no health check has ended yet, so this node is not eligible";
    assert_eq!(said(false, None, &settled()), [("health", words.to_owned())]);
    let words = "unhealthy, so this node is not eligible: `check` exited with code 1";
    let failure = Some("`check` exited with code 1");
    assert_eq!(said(false, failure, &Sight::default()), [("health", words.to_owned())]);
    assert_eq!(said(true, failure, &settled()), [], "one failure is none");
}

#[test]
fn a_problem_begins_once_and_ends_once() {
    let mut problems = Problems::default();
    let (well, ill) = (
        status("none", members(&["alive"; 3])),
        status("none", members(&["alive", "alive", "dead"])),
    );
    assert_eq!(problems.look(&well, &settled()), (vec![], vec![]));
    let (began, over) = problems.look(&ill, &settled());
    assert_eq!((began.len(), over.len()), (1, 0));
    let text = "c is down: process ended".to_owned();
    assert_eq!(
        began,
        [PresentProblem { kind: ProblemKind::PeerDown, about: "c".to_owned(), text: text.clone() }]
    );
    let shown = problems.list().remove(0);
    let (kind, about) = ("peer_down".to_owned(), "c".to_owned());
    assert_eq!(shown, Problem { since: shown.since.clone(), kind, about, text });
    let now = Timestamp::now();
    let earlier = now - jiff::SignedDuration::from_secs(100);
    assert!((format!("{earlier:.3}")..=format!("{now:.3}")).contains(&shown.since), "{shown:?}");
    assert_eq!(shown.since.len(), "2026-11-22T10:58:33.123Z".len());
    let silent = status("none", members(&["alive", "alive", "suspected"]));
    assert_eq!(problems.look(&silent, &settled()), (vec![], vec![]), "it is the same one");
    assert_eq!(problems.list()[0].text, "c is down: silent");
    let since = problems.list()[0].since.clone();
    while format!("{:.3}", Timestamp::now()) == since {} // the next look is later
    problems.look(&silent, &settled());
    assert_eq!(problems.list()[0].since, since);
    // Another one of its kind is a problem of its own.
    let both = status("none", members(&["alive", "dead", "suspected"]));
    let (began, over) = problems.look(&both, &settled());
    assert_eq!((began.len(), &*began[0].about, over.len()), (1, "b", 0));
    assert!(problems.list().iter().any(|b| b.about == "b" && b.since > since));
    let (began, over) = problems.look(&silent, &settled());
    assert_eq!((began.len(), over.len(), &*over[0].about), (0, 1, "b"));
    let (began, over) = problems.look(&well, &settled());
    assert_eq!((began.len(), over.len(), problems.list().len()), (0, 1, 0));
}

/// A file that lags behind members that commands added or removed does no harm.
#[test]
fn a_file_that_lags_behind_a_command_is_no_problem() {
    let mut status = status("none", members(&["alive", "alive"]));
    status.differs_from_file = Some("the members changed".to_owned());
    let told =
        |sight: &Sight| seen(&status, sight).iter().any(|(kind, _)| *kind == "config_differs");
    assert!(told(&settled()) && !told(&Sight { file_lags: true, ..settled() }));
}

/// That a process ended, or that a host refuses a dial, shows that the network of this node is whole.
#[test]
fn a_node_that_hears_none_of_several_is_cut_off_unless_something_shows_that_it_is_not() {
    let told = |states: &[&str], sight: &Sight| {
        seen(&status("majority", members(states)), sight).iter().any(|(kind, _)| *kind == "cut_off")
    };
    let silent = ["alive", "suspected", "suspected"];
    assert!(told(&silent, &settled()));
    assert!(!told(&silent, &Sight::default()), "it has just started");
    assert!(!told(&silent, &Sight { refused: true, ..settled() }));
    let rejected = |peer: &str| {
        let (peer, reason) = (peer.to_owned(), "rejects this node".to_owned());
        Sight {
            rejected: vec![RejectionStatus { peer, reason, cause: None, by_peer: true }],
            ..settled()
        }
    };
    assert!(!told(&silent, &rejected("b")) && told(&silent, &rejected("10.0.0.9:1")));
    assert!(!told(&["alive", "suspected", "dead"], &settled()));
    assert!(!told(&["alive", "suspected", "alive"], &settled()));
    assert!(!told(&["alive", "suspected"], &settled()), "of two, either may be");
}

/// A node that cannot write neither votes nor takes over.
#[test]
fn a_node_without_a_disk_does_not_count_itself() {
    let mut of = status("majority", members(&["alive", "alive", "alive"]));
    assert_eq!(tolerated(&of), 1);
    let (kind, text) = (ProblemKind::Storage.name().to_owned(), "full".to_owned());
    of.problems.push(Problem { since: String::new(), kind, about: String::new(), text });
    assert_eq!(tolerated(&of), 0);
}
