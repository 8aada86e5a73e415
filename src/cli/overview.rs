//! All nodes of a cluster at a glance, for `electd status`.

use std::fmt::Write;
use std::time::Duration;

use electd_facts::held;
use electd_facts::hindrance::Hindrance;
use electd_facts::hint::ClusterFlags;
use electd_facts::led;
use electd_facts::versions::version;

use crate::node::status::{self, PartitionStatus};

use super::ask::{AskedNode, answers, judged};
use super::print;
use super::transition::now;
use crate::trace::length;

/// The columns of the table, and the places of three.
pub const HEADER: [&str; 8] = ["NODE", "STATE", "LEADER", "EPOCH", "UP", "RTT", "VERSION", "NOTE"];
pub const STATE: usize = 1;
pub const VERSION: usize = 6;
pub const NOTE: usize = 7;

/// All nodes, for people: what is wrong, a row each, since when the leader leads, the orders in force, and the leaders
/// that led simultaneously.
pub fn overview(asked: &[AskedNode], verbose: bool, flags: &ClusterFlags) -> String {
    let judgement = judged(asked, flags);
    let mut text = format!("{}\n", judgement.headline());
    for (problem, remedy) in judgement.besides() {
        let _ = writeln!(text, "problem: {problem}");
        if let Some(remedy) = remedy {
            let _ = writeln!(text, "  => {remedy}");
        }
    }
    let rows = asked.iter().map(|node| row(node, asked, judgement.hindrances_of(node.name())));
    let table = print::table(&HEADER, rows);
    let _ = write!(text, "\n{table}");
    let differ = judgement.differences.iter().map(ToString::to_string);
    let last: Vec<String> = since(asked)
        .into_iter()
        .chain(locks(asked))
        .chain(differ)
        .chain(judgement.orders)
        .collect();
    if !last.is_empty() {
        let _ = writeln!(text, "\n{}", last.join("\n"));
    }
    let known = asked.iter().find_map(|asked| asked.answer.as_ref().ok()).filter(|_| verbose);
    if let Some(status) = known {
        let _ = writeln!(text, "{}: {}", status.cluster, status.guarantee);
    }
    for status in answers(asked) {
        if let Some(met) = &status.partition {
            let _ = writeln!(text, "{}: {}", status.node.name, partition(met));
        }
    }
    text
}

/// The row of this node in the table of all.
pub fn row(asked: &AskedNode, all: &[AskedNode], hindrances: &[Hindrance]) -> Vec<String> {
    let name = asked.name().to_owned();
    match &asked.answer {
        Ok(status) => vec![
            name,
            state(status),
            status.named_leader().map_or("-", |leader| &leader.name).to_owned(),
            status.epoch.to_string(),
            length(Duration::from_millis(status.uptime_ms)),
            round_trip(&status.node.id, all),
            version(status).to_owned(),
            main_fact(status, hindrances),
        ],
        Err(error) => {
            let unknown = std::iter::repeat_n("-".to_owned(), HEADER.len() - 2);
            std::iter::once(name).chain(unknown).chain([error.to_string()]).collect()
        }
    }
}

/// The most important fact of a row: a stall, else what keeps the member from voting or leading, else why it is in this
/// state, which may have been long ago. Problems stand above the table.
fn main_fact(status: &status::Status, hindrances: &[Hindrance]) -> String {
    if status.stalled {
        return "stalled: its view is old, and it vouches for no leader".to_owned();
    }
    if hindrances.is_empty() {
        return status.changes.last().map(|change| change.reason.clone()).unwrap_or_default();
    }
    let each: Vec<String> = hindrances.iter().map(|it| it.words(&status.node.name)).collect();
    each.join("; ")
}

/// The state, and its word in the halting algorithm.
pub fn state(status: &status::Status) -> String {
    match &status.halting {
        Some(halting) => format!("{}, {}", status.state, halting.status),
        None => status.state.clone(),
    }
}

/// When there were two leaders, and for how long.
pub fn partition(met: &PartitionStatus) -> String {
    let PartitionStatus { own_epoch, other, lasted_at_most_ms, healed_ms_ago } = met;
    let ago = length(Duration::from_millis(*healed_ms_ago));
    let lasted = length(Duration::from_millis(*lasted_at_most_ms));
    format!(
        "there were two leaders until {ago} ago: {} in epoch {} beside this node in epoch \
         {own_epoch}, for at most {lasted}",
        other.name, other.epoch
    )
}

/// How long this node takes to acknowledge a heartbeat, as the leader measured it.
fn round_trip(id: &str, all: &[AskedNode]) -> String {
    let leader = answers(all).find(|one| one.leads());
    let member = leader.and_then(|leader| leader.members.iter().find(|member| member.id == id));
    let time = member.and_then(|member| member.rtt_ms);
    fraction(time).unwrap_or_else(|| "-".to_owned())
}

/// A length of time in milliseconds.
pub fn fraction(ms: Option<f64>) -> Option<String> {
    Duration::try_from_secs_f64(ms? / 1000.0).ok().map(length)
}

/// Since when the leader leads and why its predecessor stopped, as `electd history` says it.
fn since(asked: &[AskedNode]) -> Option<String> {
    led::since(|| answers(asked), now())
}

/// How many locks are held, and by whom, as the leader knows it, or else another.
fn locks(asked: &[AskedNode]) -> Option<String> {
    let latest = answers(asked).max_by_key(|one| (one.leads(), one.leader.is_some(), one.epoch))?;
    held::summary(&latest.locks_held, latest.locks_unheld)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, member, silent, status};
    use crate::node::history::HistoryEntry;
    use crate::node::moment;
    use crate::node::status::{MemberStatus, OtherLeader, PartitionStatus, Problem};

    fn overview(asked: &[AskedNode], verbose: bool) -> String {
        super::overview(asked, verbose, &ClusterFlags::default())
    }

    #[test]
    fn it_begins_with_what_is_wrong_and_says_that_once() {
        let mut asked = following("a", Some(("b", 7)));
        let (since, about) = (String::new(), String::new());
        let (kind, text) = ("rank".to_owned(), "no rank".to_owned());
        asked.answer.as_mut().unwrap().problems = vec![Problem { since, kind, about, text }];
        let text = overview(&[asked, silent("c")], false);
        let begin = "DEGRADED: b leads in epoch 7; 1 more failure tolerated\nproblem: c does not answer\n  => look \
                     whether it runs, and whether its `admin` address can be reached\nproblem: a: rank: no rank\n  => mend \
                     what `rank` of a reads: `electd check --node a` on its host takes a sample\n\nNODE ";
        assert!(text.starts_with(begin), "{text}");
        for words in ["no rank", "connection refused", "c does not answer"] {
            assert_eq!(text.matches(words).count(), 1, "{words}\n{text}");
        }
    }

    #[test]
    fn a_row_says_why_its_node_is_in_this_state_and_first_that_it_stalls() {
        let mut asked = following("a", Some(("b", 7)));
        let status = asked.answer.as_mut().unwrap();
        let change = r#"{"number": 1, "at_ms": 1, "from": "electing", "to": "following", "epoch": 7, "reason": "b leads"}"#;
        let earlier = change.replace("b leads", "c leads");
        status.changes =
            [&earlier, change].map(|change| serde_json::from_str(change).unwrap()).to_vec();
        let row = |asked: &AskedNode| row(asked, &[], &[])[NOTE].clone();
        assert_eq!(row(&asked), "b leads");
        let hinders = [Hindrance::Drained, Hindrance::CutOff];
        let hindered = super::row(&asked, &[], &hinders)[NOTE].clone();
        assert_eq!(hindered, "a is drained; a hears nobody", "more than why it is in this state");
        asked.answer.as_mut().unwrap().stalled = true;
        assert_eq!(row(&asked), "stalled: its view is old, and it vouches for no leader");
    }

    #[test]
    fn versions_that_differ_are_named() {
        let nodes = ["a", "b", "c"].map(|name| following(name, Some(("b", 7))));
        assert!(!overview(&nodes, false).contains("versions:"));
        let mut mixed = nodes;
        mixed[1].answer.as_mut().unwrap().version = "0.3.0".to_owned();
        mixed[2].answer.as_mut().unwrap().version.clear();
        let text = overview(&mixed, false);
        assert!(
            text.contains("\nversions differ: 0.2.0 (a), 0.3.0 (b), older (c): no harm "),
            "{text}"
        );
        let row = text.lines().find(|line| line.starts_with("b ")).unwrap();
        assert!(row.contains(" 0.3.0"), "{row}");
    }

    #[test]
    fn the_leader_tells_round_trips_and_when_and_why_it_began_to_lead() {
        let mut leader = status("b", Some(("b", 7)));
        leader.state = "leading".to_owned();
        leader.last_leadership = Some(HistoryEntry {
            leader: "b".to_owned(),
            epoch: 7,
            since_ms: 32_503_680_000_123, // it is still to come, so its age is zero
            until_ms: None,
            lasts: true,
            before: Some("c".to_owned()),
            before_epoch: Some(6),
            cause: "leader_dead".to_owned(),
            reason: "leader c is dead: redial refused".to_owned(),
            leaderless_ms: 12,
            job_late_ms: None,
            ended: None,
        });
        let follower = following("a", Some(("b", 7)));
        leader.members = vec![MemberStatus { rtt_ms: Some(0.42), ..member("a") }];
        leader.switchover = Some("b".to_owned());
        let mut follower = follower;
        let own = follower.answer.as_mut().unwrap();
        own.version = "0.3.0".to_owned();
        own.last_leadership =
            Some(HistoryEntry { epoch: 6, ..leader.last_leadership.clone().unwrap() });
        own.partition = Some(PartitionStatus {
            own_epoch: 6,
            other: OtherLeader { name: "c".to_owned(), epoch: 5 },
            lasted_at_most_ms: 2100,
            healed_ms_ago: 65_999,
        });
        // Not the leader's, so not how long it takes.
        own.members = vec![MemberStatus { rtt_ms: Some(7.0), ..member("a") }];
        let asked = [follower, AskedNode { answer: Ok(leader), ..silent("b") }, silent("c")];
        let text = "\
DEGRADED: b leads in epoch 7; 1 more failure tolerated
problem: c does not answer
  => look whether it runs, and whether its `admin` address can be reached

NODE  STATE      LEADER  EPOCH  UP     RTT     VERSION  NOTE
a     following  b       7      1m 1s  0.4 ms  0.3.0
b     leading    b       7      1m 1s  -       0.2.0
c     -          -       -      -      -       -        no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there

since 3000-01-01T00:00:00.123Z (0 ms); before it c led: leader c is dead: redial refused; nobody led for 12 ms
versions differ: 0.2.0 (b), 0.3.0 (a): no harm while an upgrade is under way: finish it on every node
switchover: b leads by it, whatever its rank: `electd switchover --clear` ends that
demo: one leader while all reach each other
a: there were two leaders until 1m 5s ago: c in epoch 5 beside this node in epoch 6, for at most 2.1 s
";
        assert_eq!(overview(&asked, true), text);
    }

    #[test]
    fn a_leadership_whose_begin_no_node_saw_is_told_without_the_one_before() {
        let mut asked = following("a", Some(("b", 7)));
        assert_eq!(since(&[asked]), None);
        asked = following("a", Some(("b", 7)));
        let led = serde_json::json!({
            "leader": "b", "epoch": 7, "since_ms": 32_503_680_000_123_u64, "until_ms": null, "lasts": true, "before": null,
            "before_epoch": null, "cause": "start", "reason": "so", "leaderless_ms": 5,
        });
        let status = asked.answer.as_mut().unwrap();
        status.last_leadership = Some(serde_json::from_value(led.clone()).unwrap());
        let begin = moment(led["since_ms"].as_u64().unwrap());
        let words = "; who led before is not known";
        assert_eq!(
            since(&[asked]),
            Some(format!("since {begin} (0 ms), as a alone saw it{words}"))
        );
        let mut missed = following("a", Some(("b", 7)));
        let told = HistoryEntry {
            before: Some("c".to_owned()),
            cause: "announced".to_owned(),
            leaderless_ms: 0,
            ..serde_json::from_value(led.clone()).unwrap()
        };
        missed.answer.as_mut().unwrap().last_leadership = Some(told);
        let words = "; before it c led: so; for how long nobody led is not known";
        assert_eq!(
            since(&[missed]),
            Some(format!("since {begin} (0 ms), as a alone saw it{words}"))
        );
        let mut other = following("a", Some(("c", 7)));
        other.answer.as_mut().unwrap().last_leadership = Some(serde_json::from_value(led).unwrap());
        assert_eq!(since(&[other]), None, "of another leader in that epoch");
    }

    #[test]
    fn a_row_has_a_dash_for_what_is_not_known() {
        let electing = row(&following("a", None), &[], &[]);
        assert_eq!(electing, ["a", "electing", "-", "0", "1m 1s", "-", "0.2.0", ""]);
        let asked = silent("c");
        let error = asked.answer.as_ref().unwrap_err().to_string();
        assert_eq!(row(&asked, &[], &[]), ["c", "-", "-", "-", "-", "-", "-", &error]);
    }
}
