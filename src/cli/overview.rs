//! All nodes of a cluster at a glance, for `electd status`.

use std::fmt::Write;
use std::time::Duration;

use crate::node::moment;
use crate::node::status::{self, PartitionStatus};

use super::ask::{Asked, leader_of, leads, newest_leader};
use super::judge::judge;
use super::merged::{Led, Seen};
use super::print;
use super::transition::now;
use crate::trace::length;

/// The columns of the table, and the places of two.
pub const HEADER: [&str; 7] = ["NODE", "STATE", "LEADER", "EPOCH", "UP", "RTT", "NOTE"];
pub const STATE: usize = 1;
pub const NOTE: usize = 6;

/// All nodes, for people: a row each, the problems, and the leaders that led simultaneously.
pub fn overview(asked: &[Asked], verbose: bool) -> String {
    let mut text = print::table(&HEADER, asked.iter().map(|node| row(node, asked)));
    let judgement = judge(asked);
    let _ = writeln!(text, "\n{}", judgement.summary());
    if let Some(since) = since(asked) {
        let _ = writeln!(text, "{since}");
    }
    for order in &judgement.orders {
        let _ = writeln!(text, "{order}");
    }
    for problem in &judgement.problems {
        let _ = writeln!(text, "problem: {problem}");
    }
    let known = asked.iter().find_map(|asked| asked.answer.as_ref().ok()).filter(|_| verbose);
    if let Some(status) = known {
        let _ = writeln!(text, "{}: {}", status.cluster, status.guarantee);
    }
    for status in asked.iter().filter_map(|asked| asked.answer.as_ref().ok()) {
        if let Some(met) = &status.partition {
            let _ = writeln!(text, "{}: {}", status.node.name, partition(met));
        }
    }
    text
}

/// The row of this node in the table of all.
pub fn row(asked: &Asked, all: &[Asked]) -> Vec<String> {
    let name = asked.name().to_owned();
    match &asked.answer {
        Ok(status) => vec![
            name,
            state(status),
            leader_of(status).map_or("-", |leader| &leader.name).to_owned(),
            status.epoch.to_string(),
            length(Duration::from_millis(status.uptime_ms)),
            round_trip(&status.node.id, all),
            note(status),
        ],
        Err(error) => {
            let unknown = || "-".to_owned();
            vec![name, unknown(), unknown(), unknown(), unknown(), unknown(), error.to_string()]
        }
    }
}

/// The most important fact of a row: a stall, a problem, else why it is in this state. A refusal that lasts is a
/// problem; the list of refusals also has those that are long over.
fn note(status: &status::Status) -> String {
    if status.stalled {
        return "stalled: its view is old, and it vouches for no leader".to_owned();
    }
    if let Some(problem) = status.problems.first() {
        return format!("{}: {}", problem.kind, problem.text);
    }
    status.changes.last().map(|change| change.reason.clone()).unwrap_or_default()
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
fn round_trip(id: &str, all: &[Asked]) -> String {
    let leader = all.iter().filter_map(|asked| asked.answer.as_ref().ok()).find(|one| leads(one));
    let member = leader.and_then(|leader| leader.members.iter().find(|member| member.id == id));
    let time = member.and_then(|member| member.rtt_ms);
    fraction(time).unwrap_or_else(|| "-".to_owned())
}

/// A length of time in milliseconds.
pub fn fraction(ms: Option<f64>) -> Option<String> {
    Duration::try_from_secs_f64(ms? / 1000.0).ok().map(length)
}

/// Since when the leader leads and why its predecessor stopped, as `electd history` says it.
fn since(asked: &[Asked]) -> Option<String> {
    let newest = newest_leader(asked)?;
    let answers = asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    let told = answers.filter_map(|status| Some((status, status.last_leadership.as_ref()?)));
    let of_it = told.filter(|(_, led)| (led.epoch, &led.leader) == (newest.epoch, &newest.name));
    let seen: Vec<Seen<'_>> = of_it.map(|(status, led)| Seen::by(&status.node.name, led)).collect();
    if seen.is_empty() {
        return None;
    }
    let led = Led::of(&seen, None);
    let lasts = length(Duration::from_millis(now().saturating_sub(led.since_ms)));
    let begin = format!("since {} ({lasts})", moment(led.since_ms));
    Some(match (&led.before, led.leaderless_ms) {
        (Some(before), Some(gap)) => format!(
            "{begin}; before it {before} led: {}; nobody led for {}",
            led.reason,
            length(Duration::from_millis(gap))
        ),
        _ => format!("{begin}; no node that answers saw the one before"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, member, silent, status};
    use crate::node::history::Entry;
    use crate::node::status::{MemberStatus, Problem, RejectionStatus};

    #[test]
    fn a_refusal_that_is_over_is_no_note() {
        let mut status = status("a", Some(("b", 7)));
        let (peer, reason) = ("c".to_owned(), "is refused: its state was lost".to_owned());
        status.rejections = vec![RejectionStatus { peer, reason }];
        let (kind, text) = ("rejected".to_owned(), "c is refused: its state was lost".to_owned());
        assert_eq!(note(&status), "");
        status.problems = vec![Problem { since: String::new(), kind, text }];
        assert_eq!(note(&status), "rejected: c is refused: its state was lost");
    }

    #[test]
    fn the_leader_tells_round_trips_and_when_and_why_it_began_to_lead() {
        let mut leader = status("b", Some(("b", 7)));
        leader.state = "leading".to_owned();
        leader.last_leadership = Some(Entry {
            leader: "b".to_owned(),
            epoch: 7,
            since_ms: 1_700_000_000_123,
            until_ms: None,
            lasts: true,
            before: Some("c".to_owned()),
            before_epoch: Some(6),
            cause: "leader_dead".to_owned(),
            reason: "leader c is dead: redial refused".to_owned(),
            leaderless_ms: 12,
        });
        let follower = following("a", Some(("b", 7)));
        leader.members = vec![MemberStatus { rtt_ms: Some(0.42), ..member("a") }];
        leader.switchover = Some("b".to_owned());
        let asked = [Asked { answer: Ok(leader), ..silent("b") }, follower, silent("c")];
        let text = overview(&asked, false);
        assert!(text.contains("since 2023-11-14T22:13:20.123Z ("), "{text}");
        assert!(
            text.contains(
                "; before it c led: leader c is dead: redial refused; nobody led for 12 ms\n"
            ),
            "{text}"
        );
        let lines: Vec<&str> = text.lines().collect();
        let since = lines.iter().position(|line| line.starts_with("since ")).unwrap();
        assert!(lines[since + 1].starts_with("switchover: b leads by it"), "{text}");
        let row = text.lines().find(|line| line.starts_with("a ")).unwrap();
        assert!(row.contains("0.4 ms") && row.contains("1m 1s"), "{row}");
    }
}
