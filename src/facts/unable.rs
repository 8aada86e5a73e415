//! Why a member cannot lead, in words, as far as a node knows it.

use electd_election::core::types::Role;

use super::status::{MemberStatus, Status};

/// Why the member of this name cannot lead instead of the leader.
#[must_use]
pub fn words(name: &str, status: &Status) -> String {
    let member = status.member(name);
    let why = if status.node.name == name {
        own(status)
    } else {
        member.and_then(|member| of_other(member, status))
    };
    // The leader judges, and this node may know more or less than the leader.
    let why =
        why.unwrap_or_else(|| "the leader does not hear it, or not that it is eligible".to_owned());
    format!("{name} cannot lead: {why}")
}

/// Why this node itself is not eligible, if it is not: what no other node knows.
#[must_use]
pub fn own(status: &Status) -> Option<String> {
    let reason = |reason: &str| match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    let rank = status.why_no_rank();
    let unhealthy = status.health.as_ref().filter(|health| !health.healthy);
    if let Some(never) = status.member(&status.node.name).and_then(never) {
        Some(never)
    } else if let Some(drain) = &status.drain {
        Some(format!("it is drained since {}{}", drain.since, reason(&drain.reason)))
    } else if status.resigned {
        Some("it resigned: it leads only if no other can".to_owned())
    } else if let Some(health) = unhealthy {
        Some(format!("it is unhealthy{}", reason(health.failure.as_deref().unwrap_or_default())))
    } else if let Some(failure) = &status.failure {
        Some(format!(
            "it stands back until {}, as its job failed{}",
            failure.until,
            reason(&failure.reason)
        ))
    } else {
        rank.map(|why| format!("it has no rank: {why}"))
    }
}

/// Why another member cannot lead, as this node sees it.
fn of_other(member: &MemberStatus, status: &Status) -> Option<String> {
    let refused = status.rejections.iter().find(|rejection| rejection.peer == member.name);
    if let Some(never) = never(member) {
        Some(never)
    } else if let Some(refused) = refused {
        Some(format!("it and {} refuse each other: {}", status.node.name, refused.reason))
    } else if !member.is_alive() {
        let dial = member.failed_dial.as_ref().map(|dial| format!("; the last dial: {dial}"));
        Some(format!("{} does not hear it{}", status.node.name, dial.unwrap_or_default()))
    } else if let Some(why) = &member.passed_over {
        Some(format!("it {why}").replacen("it heard, but", "it is heard, but", 1))
    } else if !member.eligible {
        Some("it says that it is not eligible, and its own status says why".to_owned())
    } else {
        None
    }
}

/// A member that never leads, by its role.
#[must_use]
pub fn never(member: &MemberStatus) -> Option<String> {
    match member.part() {
        Some(Role::Witness) => Some("it is a witness, which only votes".to_owned()),
        Some(Role::Observer) => Some("it is an observer, which neither votes nor leads".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::status::{
        DrainStatus, FailureStatus, HealthStatus, NodeRef, RejectionStatus,
    };
    use super::*;

    fn member(name: &str) -> MemberStatus {
        MemberStatus {
            name: name.to_owned(),
            admin: None,
            role: "member".to_owned(),
            eligible: true,
            status: "alive".to_owned(),
            ..MemberStatus::default()
        }
    }

    fn seen(change: impl FnOnce(&mut MemberStatus)) -> Status {
        let mut other = member("b");
        change(&mut other);
        let node = NodeRef { name: "a".to_owned(), ..NodeRef::default() };
        Status { node, members: vec![member("a"), other], ..Status::default() }
    }

    #[test]
    fn each_reason_that_a_node_knows_is_named() {
        let why = |status: &Status| words("b", status);
        assert_eq!(
            why(&seen(|b| b.role = "witness".into())),
            "b cannot lead: it is a witness, which only votes"
        );
        let observer = "b cannot lead: it is an observer, which neither votes nor leads";
        assert_eq!(why(&seen(|b| b.role = "observer".into())), observer);
        let dead = seen(|b| {
            b.status = "dead".into();
            b.failed_dial = Some("b:1 refuses connections".into());
        });
        let unheard = "b cannot lead: a does not hear it; the last dial: b:1 refuses connections";
        assert_eq!(why(&dead), unheard);
        let reason = "its state was lost".to_owned();
        let refused = Status {
            rejections: vec![RejectionStatus {
                peer: "b".into(),
                reason,
                cause: None,
                by_peer: false,
            }],
            ..dead
        };
        assert_eq!(why(&refused), "b cannot lead: it and a refuse each other: its state was lost");
        let deaf = seen(|b| b.passed_over = Some("heard, but cannot be dialed".into()));
        assert_eq!(why(&deaf), "b cannot lead: it is heard, but cannot be dialed");
        let silent = seen(|b| b.status = "suspected".into());
        assert_eq!(why(&silent), "b cannot lead: a does not hear it");
        let unsteady =
            seen(|b| (b.passed_over, b.eligible) = (Some("comes and goes".into()), false));
        assert_eq!(why(&unsteady), "b cannot lead: it comes and goes");
        assert_eq!(
            why(&seen(|b| b.eligible = false)),
            "b cannot lead: it says that it is not eligible, and its own status says why"
        );
        let unknown = "cannot lead: the leader does not hear it, or not that it is eligible";
        assert_eq!(why(&seen(|_| ())), format!("b {unknown}"));
        assert_eq!(words("a", &seen(|_| ())), format!("a {unknown}"));
        assert_eq!(words("c", &seen(|_| ())), format!("c {unknown}"), "it is no member here");
    }

    #[test]
    fn a_node_knows_most_of_itself() {
        let drain = DrainStatus { since: "then".into(), until: None, reason: "new disk".into() };
        let drained = Status { drain: Some(drain), resigned: true, ..seen(|_| ()) };
        assert_eq!(words("a", &drained), "a cannot lead: it is drained since then: new disk");
        let resigned = Status { drain: None, ..drained };
        assert_eq!(
            words("a", &resigned),
            "a cannot lead: it resigned: it leads only if no other can"
        );
        let unranked = Status { resigned: false, rank_source: "none: no file".into(), ..resigned };
        assert_eq!(own(&unranked).unwrap(), "it has no rank: no file");
        let failed = FailureStatus {
            since: "then".into(),
            until: "later".into(),
            count: 1,
            reason: "code 1".into(),
        };
        let failed = Status { failure: Some(failed), ..unranked };
        let words = "it stands back until later, as its job failed: code 1";
        assert_eq!(own(&failed).as_deref(), Some(words));
        let health = HealthStatus { failure: Some("code 2".into()), ..HealthStatus::default() };
        let ill = Status { health: Some(health), ..failed };
        assert_eq!(own(&ill).as_deref(), Some("it is unhealthy: code 2"));
        let well = HealthStatus { healthy: true, ..HealthStatus::default() };
        assert_eq!(own(&Status { health: Some(well), ..ill }).as_deref(), Some(words));
        assert_eq!(own(&seen(|_| ())), None);
        let votes = seen(|_| ());
        let witness = MemberStatus { role: "witness".into(), ..member("a") };
        let votes = Status { members: vec![witness], resigned: true, ..votes };
        assert_eq!(own(&votes).as_deref(), Some("it is a witness, which only votes"));
    }

    #[test]
    fn a_reason_that_nobody_gave_is_left_out() {
        let (since, until) = ("then".to_owned(), None);
        let drain = Some(DrainStatus { since, until, reason: String::new() });
        let ill = Some(HealthStatus::default());
        let failure = FailureStatus {
            since: "then".into(),
            until: "later".into(),
            count: 1,
            reason: String::new(),
        };
        let told = |status| own(&status).unwrap();
        let drained = Status { drain, ..seen(|_| ()) };
        assert_eq!(told(drained), "it is drained since then");
        assert_eq!(told(Status { health: ill, ..seen(|_| ()) }), "it is unhealthy");
        let failed = Status { failure: Some(failure), ..seen(|_| ()) };
        assert_eq!(told(failed), "it stands back until later, as its job failed");
    }
}
