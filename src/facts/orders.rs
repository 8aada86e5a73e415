//! The orders of operators that are in force, in words: a pause, a switchover, drained members, and members that
//! resigned. For `status` and `health`, which say the same of one node and of all.

use electd_election::core::types::Role;
use jiff::Timestamp;

use super::asked::{Asked, answers as of};
use super::hint::{ClusterFlags, Hint};
use super::status::{DrainStatus, PauseStatus, Status};

/// In milliseconds.
const DAY: u64 = 24 * 3600 * 1000;

/// The orders that one node knows: a pause or a switchover of the cluster, a drain of this node. Each with its name.
#[must_use]
pub fn of_node(status: &Status, flags: &ClusterFlags) -> Vec<(&'static str, String)> {
    let drained = drain_of(status, flags).map(|words| ("drained", words));
    let takeover = takeover(status).map(|words| ("takeover", words));
    of_cluster(status, flags).chain(drained).chain(takeover).collect()
}

/// The orders that all nodes together know, a line each. They keep a cluster from what its operator may expect of it,
/// and none of them is a problem.
#[must_use]
pub fn of_all(asked: &[Asked], flags: &ClusterFlags) -> Vec<String> {
    let answers = || of(asked);
    // A follower hears of a pause from the leader, and an old one may still speak of a pause that is over.
    let latest = answers().max_by_key(|one| (one.leads(), one.leader.is_some(), one.epoch));
    let of_cluster = latest.into_iter().flat_map(|latest| of_cluster(latest, flags));
    let mut lines: Vec<String> =
        of_cluster.map(|(order, words)| format!("{order}: {words}")).collect();
    lines.extend(
        answers().filter_map(|one| {
            Some(format!("drained: {}, {}", one.node.name, drain_of(one, flags)?))
        }),
    );
    lines.extend(answers().filter_map(|one| resigned(one, flags)));
    // A member that cannot write its state takes over from nobody.
    let takeovers = answers().filter(|one| !one.is_silenced()).filter_map(|one| {
        let (name, takeover) = (&one.node.name, one.takeover.clone()?);
        let leader = answers().find(|other| other.leads() && other.node.name == takeover.from);
        let due = leader.and_then(|leader| leader.takeovers.get(name));
        let takeover = match due {
            Some(due) => takeover.not_before(due, &one.preempt),
            None => takeover,
        };
        Some(format!("takeover: {name} {}", takeover.words()))
    });
    lines.extend(takeovers);
    let unheard = latest.into_iter().flat_map(|latest| unheard(latest, asked, flags));
    lines.extend(unheard);
    lines
}

/// The orders that are for the cluster as a whole.
fn of_cluster(
    status: &Status,
    flags: &ClusterFlags,
) -> impl Iterator<Item = (&'static str, String)> {
    let paused = status.pause.as_ref().map(|PauseStatus { since, until }| {
        let resume = Hint::Resume.by(flags);
        let words =
            format!("since {since}{}: nobody preempts the leader; {resume} ends that", end(until));
        ("paused", words)
    });
    let switched = status.switchover.as_ref().map(|name| {
        let clear = Hint::SwitchoverClear.by(flags);
        ("switchover", format!("{name} leads by it, whatever its rank: {clear} ends that"))
    });
    paused.into_iter().chain(switched)
}

/// The drain of this node, with what ends it.
fn drain_of(status: &Status, flags: &ClusterFlags) -> Option<String> {
    let undrain = Hint::Undrain.at(&status.node.name, flags);
    let drained = drained(status.drain.as_ref()?, status.clock_ms);
    Some(format!("{drained}; {undrain} ends that"))
}

/// A drain, by the clock of the drained node: one that is older than a day may be forgotten, and its age is said.
fn drained(DrainStatus { since, until, reason }: &DrainStatus, clock_ms: Option<u64>) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let days = clock_ms.and_then(|clock| {
        let since = u64::try_from(since.parse::<Timestamp>().ok()?.as_millisecond()).ok()?;
        Some(clock.checked_sub(since)? / DAY).filter(|days| *days > 0)
    });
    let age = match days {
        None => String::new(),
        Some(1) => " (for a day)".to_owned(),
        Some(days) => format!(" (for {days} days)"),
    };
    format!("since {since}{age}{}{reason}", end(until))
}

fn end(until: &Option<String>) -> String {
    until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default()
}

/// The takeover that this node waits for: from whom, when, and why not yet.
#[must_use]
pub fn takeover(status: &Status) -> Option<String> {
    Some(format!("{} {}", status.node.name, status.takeover.as_ref()?.words()))
}

/// That this node resigned. If it is drained as well, that is said, and outlasts it.
fn resigned(status: &Status, flags: &ClusterFlags) -> Option<String> {
    let name = &status.node.name;
    let by_order = status.resigned && status.drain.is_none();
    by_order.then(|| {
        let undrain = Hint::Undrain.at(name, flags);
        format!("resigned: {name} leads only if no other can; {undrain} lets it lead again")
    })
}

/// The live members that do not say themselves why they are not eligible, as another node sees them.
fn unheard(latest: &Status, asked: &[Asked], flags: &ClusterFlags) -> impl Iterator<Item = String> {
    // A node of an earlier version does not say that it resigned.
    let says = |one: &Status| !one.version.is_empty() || one.drain.is_some();
    let answers = move |id: &str| {
        let is_it = |one: &Status| one.node.id == id && says(one);
        of(asked).any(is_it)
    };
    let members =
        latest.members.iter().filter(|it| it.part() == Some(Role::Member) && !it.eligible);
    let silent = members.filter(move |member| member.is_alive() && !answers(&member.id));
    silent.map(|member| {
        let (name, says) = (&member.name, Hint::Status.by(flags));
        format!(
            "not eligible: {name} (drained, resigned, unhealthy, without a rank, or its job failed: {says} on its host \
             says which)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::asked::Silence;
    use super::super::samples::{member, status};
    use super::super::status::{MemberStatus, TakeoverStatus};
    use super::*;

    struct Told {
        name: String,
        answer: Result<Status, Silence>,
    }

    fn following(name: &str, leader: Option<(&str, u64)>) -> Told {
        answered(status(name, leader))
    }

    fn silent(name: &str) -> Told {
        Told { name: name.to_owned(), answer: Err(Silence::NotServed) }
    }

    fn of_all(told: &[Told]) -> Vec<String> {
        let asked: Vec<Asked> = told
            .iter()
            .map(|told| Asked {
                name: &told.name,
                answer: told.answer.as_ref().map_err(Clone::clone),
            })
            .collect();
        super::of_all(&asked, &ClusterFlags::default())
    }

    fn of_node(status: &Status) -> Vec<(&'static str, String)> {
        super::of_node(status, &ClusterFlags::default())
    }

    fn since() -> String {
        "2026-11-22T10:58:33.123Z".to_owned()
    }

    /// The answer of the leader, node b.
    fn leading() -> Status {
        let Ok(mut leader) = following("b", Some(("b", 7))).answer else { panic!("it answers") };
        leader.state = "leading".to_owned();
        leader
    }

    fn answered(status: Status) -> Told {
        Told { name: status.node.name.clone(), answer: Ok(status) }
    }

    #[test]
    fn a_pause_and_a_switchover_are_told_as_the_leader_knows_them() {
        let pause = Some(PauseStatus { since: since(), until: None });
        let leader = Status { switchover: Some("b".into()), ..leading() };
        let Ok(mut old) = following("a", Some(("c", 6))).answer else { panic!("it answers") };
        old.pause.clone_from(&pause);
        let switched =
            "switchover: b leads by it, whatever its rank: `electd switchover --clear` ends that";
        assert_eq!(of_all(&[answered(old), answered(leader)]), [switched], "the pause is over");
        let until = Some("2026-11-22T11:58:33.123Z".to_owned());
        let leader = Status { pause: Some(PauseStatus { since: since(), until }), ..leading() };
        let paused = "paused: since 2026-11-22T10:58:33.123Z until 2026-11-22T11:58:33.123Z: \
                      nobody preempts the leader; `electd resume` ends that";
        assert_eq!(of_all(&[answered(leader)]), [paused]);
        assert!(of_all(&[silent("a"), following("c", None)]).is_empty());
    }

    #[test]
    fn a_takeover_comes_when_its_leader_lets_it() {
        let [early, late] =
            ["2026-11-22T10:58:33.123Z", "2026-11-22T11:58:33.123Z"].map(str::to_owned);
        let Ok(mut next) = following("c", Some(("b", 7))).answer else { panic!("it answers") };
        next.preempt = "after 30s".to_owned();
        let mut leader = leading();
        leader.takeovers.insert("c".to_owned(), late.clone());
        for at in [Some(early), None] {
            next.takeover = Some(TakeoverStatus { from: "b".into(), at, why: "it asks".into() });
            let lines = of_all(&[answered(next.clone()), answered(leader.clone())]);
            let due = format!("takeover: c is to take over from b at {late}: preempt after 30s: ");
            assert!(lines.len() == 1 && lines[0].starts_with(&due), "{lines:?}");
            let follows = Status { state: "following".to_owned(), ..leader.clone() };
            let former = of_all(&[answered(next.clone()), answered(follows)]);
            assert!(former[0].ends_with(": it asks"), "it leads no more: {former:?}");
            let alone = of_all(&[answered(next.clone())]);
            assert!(alone[0].ends_with(": it asks"), "{alone:?}");
        }
    }

    #[test]
    fn who_does_not_lead_by_order_is_named_with_what_ends_that() {
        let ineligible = |name| MemberStatus { eligible: false, ..member(name) };
        let Ok(mut one) = following("a", Some(("b", 7))).answer else { panic!("it answers") };
        one.resigned = true;
        let resigned =
            "resigned: a leads only if no other can; `electd undrain --node a` lets it lead again";
        assert_eq!(of_all(&[answered(one.clone())]), [resigned]);

        let (until, reason) = (None, "new disk".to_owned());
        one.drain = Some(DrainStatus { since: since(), until, reason });
        let drained = "drained: a, since 2026-11-22T10:58:33.123Z: new disk; `electd undrain --node a` ends that";
        assert_eq!(of_all(&[answered(one.clone())]), [drained], "once");
        one.drain.iter_mut().for_each(|drain| drain.reason.clear());
        let words = "since 2026-11-22T10:58:33.123Z; `electd undrain --node a` ends that";
        assert_eq!(of_node(&one), [("drained", words.to_owned())]);

        let witness = MemberStatus { role: "witness".to_owned(), ..ineligible("w") };
        let dead = MemberStatus { status: "dead".to_owned(), ..ineligible("d") };
        let leader = Status { members: vec![ineligible("c"), witness, dead], ..leading() };
        let lines = of_all(&[answered(leader), silent("c")]);
        assert!(
            lines.len() == 1 && lines[0].starts_with("not eligible: c (drained, "),
            "{lines:?}"
        );
    }

    /// A node of an earlier version does not say that it resigned, so another speaks for it.
    #[test]
    fn a_member_that_says_itself_why_it_does_not_lead_is_not_named_twice() {
        let Ok(mut one) = following("c", Some(("b", 7))).answer else { panic!("it answers") };
        let members = vec![MemberStatus { eligible: false, ..member("c") }, member("d")];
        let leader = Status { members, ..leading() };
        let lines = |one: &Status| of_all(&[answered(leader.clone()), answered(one.clone())]);
        assert!(lines(&one).is_empty(), "it says so as a problem");
        one.version.clear();
        let why = "drained, resigned, unhealthy, without a rank, or its job failed: `electd status` on its host says \
                   which";
        assert_eq!(lines(&one), [format!("not eligible: c ({why})")]);
        one.drain = Some(DrainStatus { since: since(), until: None, reason: String::new() });
        let drained =
            "drained: c, since 2026-11-22T10:58:33.123Z; `electd undrain --node c` ends that";
        assert_eq!(lines(&one), [drained]);
    }

    #[test]
    fn a_drain_that_is_older_than_a_day_is_told_with_its_age() {
        let drain = DrainStatus { since: since(), until: None, reason: "new disk".to_owned() };
        let begin =
            u64::try_from(drain.since.parse::<Timestamp>().unwrap().as_millisecond()).unwrap();
        let at = |ms: u64| drained(&drain, Some(begin + ms));
        let since = "since 2026-11-22T10:58:33.123Z";
        assert_eq!(at(DAY - 1), format!("{since}: new disk"));
        assert_eq!(at(DAY), format!("{since} (for a day): new disk"));
        assert_eq!(at(23 * DAY + 5), format!("{since} (for 23 days): new disk"));
        assert_eq!(
            drained(&drain, Some(0)),
            format!("{since}: new disk"),
            "the clock was set back"
        );
    }

    #[test]
    fn a_node_names_each_order_that_it_knows() {
        let Ok(mut one) = following("c", Some(("b", 7))).answer else { panic!("it answers") };
        assert!(of_node(&one).is_empty() && takeover(&one).is_none());
        one.pause = Some(PauseStatus { since: since(), until: None });
        one.switchover = Some("b".to_owned());
        one.drain = Some(DrainStatus { since: since(), until: None, reason: String::new() });
        one.takeover = Some(TakeoverStatus { from: "b".into(), at: None, why: "it asks".into() });
        let expected = [
            (
                "paused",
                "since 2026-11-22T10:58:33.123Z: nobody preempts the leader; `electd resume` ends that",
            ),
            (
                "switchover",
                "b leads by it, whatever its rank: `electd switchover --clear` ends that",
            ),
            ("drained", "since 2026-11-22T10:58:33.123Z; `electd undrain --node c` ends that"),
            ("takeover", "c is to take over from b: it asks"),
        ];
        assert_eq!(of_node(&one), expected.map(|(name, words)| (name, words.to_owned())));
        assert_eq!(takeover(&one).as_deref(), Some(expected[3].1));
    }

    /// Those of the cluster first, then those of each node, then what another node says of who does not say it himself.
    #[test]
    fn all_orders_stand_in_one_order() {
        let pause = Some(PauseStatus { since: since(), until: None });
        let switchover = Some("b".to_owned());
        let members = vec![MemberStatus { eligible: false, ..member("z") }];
        let leader = Status { pause, switchover, members, ..leading() };
        let of = |name: &str| match following(name, Some(("b", 7))).answer {
            Ok(status) => status,
            Err(error) => panic!("{error:?}"),
        };
        let drain =
            |until| Some(DrainStatus { since: since(), until, reason: "new disk".to_owned() });
        let drained = Status { drain: drain(Some("then".to_owned())), resigned: true, ..of("d") };
        let resigned = Status { resigned: true, ..of("r") };
        let takeover = Some(TakeoverStatus { from: "b".into(), at: None, why: "it asks".into() });
        let next = Status { takeover, ..of("t") };
        let lines = of_all(&[next, resigned, drained, leader].map(answered));
        let expected = [
            "paused: since 2026-11-22T10:58:33.123Z: nobody preempts the leader; `electd resume` ends that",
            "switchover: b leads by it, whatever its rank: `electd switchover --clear` ends that",
            "drained: d, since 2026-11-22T10:58:33.123Z until then: new disk; `electd undrain --node d` ends that",
            "resigned: r leads only if no other can; `electd undrain --node r` lets it lead again",
            "takeover: t is to take over from b: it asks",
            "not eligible: z (drained, resigned, unhealthy, without a rank, or its job failed: `electd status` on its host \
             says which)",
        ];
        assert_eq!(lines, expected);
    }

    /// Without the answer of the leader, a node that knows one is believed before others, and the newest before older ones.
    #[test]
    fn an_order_is_told_as_the_latest_view_has_it() {
        let node = |leader: Option<(&str, u64)>, epoch: u64, by: &str| {
            let Ok(status) = following("a", leader).answer else { panic!("it answers") };
            answered(Status { epoch, switchover: Some(by.to_owned()), ..status })
        };
        let told = |asked: &[Told]| {
            let lines = of_all(asked);
            lines
                .into_iter()
                .map(|line| line.split(' ').nth(1).unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let (none, old, new) = (
            || node(None, 9, "n"),
            || node(Some(("b", 6)), 6, "o"),
            || node(Some(("b", 7)), 7, "p"),
        );
        assert_eq!(told(&[none(), old(), new(), none()]), ["p"]);
        assert_eq!(told(&[new(), old(), none()]), ["p"]);
        let leader = answered(Status { epoch: 5, switchover: Some("l".to_owned()), ..leading() });
        assert_eq!(told(&[new(), leader, none()]), ["l"], "it leads");
    }
}
