//! One leadership, or the time without one, as it is shown and stored.

use serde::{Deserialize, Serialize};

use crate::core::Cause;

/// A leadership, as one node saw it. Field names and meanings are part of electd's interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the leader.
    pub leader: String,
    /// Its epoch.
    pub epoch: u64,
    /// When it became known, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// When this node heard it last; null while it knows it, and if this node did not see the end.
    pub until_ms: Option<u64>,
    /// Whether this node knows it still.
    pub lasts: bool,
    /// The previous leader; null if this is the first leader since the node's start.
    pub before: Option<String>,
    /// The epoch of the previous leader, with the same exception.
    #[serde(default)]
    pub before_epoch: Option<u64>,
    /// Why the previous leadership ended, as one word; "start" for the first leadership since the
    /// node's start.
    pub cause: String,
    /// The same in words.
    pub reason: String,
    /// For how long this node had heard no leader before, in milliseconds; for the first leadership since the node's
    /// start, since that.
    pub leaderless_ms: u64,
    /// When the job of this leadership was ended, as no renewal came in time, in milliseconds since the Unix epoch; left
    /// out where that did not happen, and on nodes that did not run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_late_ms: Option<u64>,
}

/// How well a change of this cause tells why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tells {
    /// The node that tells it did not see the end.
    Nothing,
    /// What this node did then: another caused it, and may know why.
    Little,
    /// What befell the leader.
    Fate,
    /// Why the leader itself gave up, such as the order of an operator.
    Order,
}

/// The cause of the first leadership since the start of a node, which did not see how the one before ended.
pub const START: &str = "start";

impl Tells {
    /// Of a cause, as one word. A later version may have words that this one does not know.
    pub fn by(cause: &str) -> Tells {
        match cause.parse() {
            Ok(cause) => Tells::of(cause),
            Err(_) if cause == START => Tells::Nothing,
            Err(_) => Tells::Little,
        }
    }

    fn of(cause: Cause) -> Tells {
        match cause {
            Cause::Resigned
            | Cause::Drained
            | Cause::SwitchedOver
            | Cause::Unhealthy
            | Cause::Removed
            | Cause::JobFailed
            | Cause::Stopped => Tells::Order,
            Cause::LeaderDead
            | Cause::LeaderCertified
            | Cause::LeaderSuspected
            | Cause::LeaderDisconnected
            | Cause::LeaderRemoved
            | Cause::LeaderRestarted
            | Cause::LeaseEnded
            | Cause::Stalled
            | Cause::Preempted
            | Cause::TakingOver
            | Cause::Outranks => Tells::Fate,
            Cause::AllConnected
            | Cause::NobodyLeads
            | Cause::ListChanged
            | Cause::LeaderReleased
            | Cause::Declined
            | Cause::Asked
            | Cause::Joined
            | Cause::Answered
            | Cause::AnswererLost
            | Cause::NoCoordinator
            | Cause::MayNotLead
            | Cause::Eligible
            | Cause::Highest
            | Cause::NoAnswer
            | Cause::Appeared
            | Cause::Overtaken
            | Cause::Announced
            | Cause::Storing
            | Cause::Overruled
            | Cause::DiskLags
            | Cause::LaterList
            | Cause::SameEpoch
            | Cause::HaltedBy
            | Cause::LeaderGaveUp
            | Cause::HalterLost
            | Cause::Organized
            | Cause::AllHalted
            | Cause::NotAccepted
            | Cause::AllReady
            | Cause::NotNormal
            | Cause::ToBeTakenIn
            | Cause::NewTask
            | Cause::BallotBack
            | Cause::BallotLost
            | Cause::MajorityAgrees
            | Cause::NoMajority
            | Cause::Refused
            | Cause::Isolated
            | Cause::Uninformed
            | Cause::VotersUninformed
            | Cause::Reclaimed => Tells::Little,
        }
    }
}

#[cfg(test)]
impl Entry {
    /// That a leads in this epoch from now on.
    pub(crate) fn of_a(epoch: u64) -> Entry {
        Entry {
            leader: "a".to_owned(),
            epoch,
            since_ms: 1,
            until_ms: None,
            lasts: true,
            before: None,
            before_epoch: None,
            cause: "start".to_owned(),
            reason: "this node started".to_owned(),
            leaderless_ms: 0,
            job_late_ms: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn what_befell_a_leader_tells_more_than_what_another_member_did_then() {
        for (tells, causes) in [
            (Tells::Nothing, &["start"][..]),
            (Tells::Little, &["announced", "joined", "leader_released", "highest", ""]),
            (
                Tells::Fate,
                &[
                    "leader_dead",
                    "leader_certified",
                    "leader_suspected",
                    "leader_disconnected",
                    "leader_removed",
                    "leader_restarted",
                    "lease_ended",
                    "stalled",
                    "preempted",
                    "taking_over",
                    "outranks",
                ],
            ),
            (
                Tells::Order,
                &["resigned", "drained", "switched_over", "unhealthy", "removed", "stopped"],
            ),
        ] {
            for cause in causes {
                assert_eq!(Tells::by(cause), tells, "{cause}");
            }
        }
        assert!(Tells::Nothing < Tells::Little && Tells::Little < Tells::Fate);
        assert!(Tells::Fate < Tells::Order);
    }

    #[test]
    fn an_entry_is_told_whole_and_read_without_what_came_later() {
        let entry = Entry {
            leader: "b".to_owned(),
            epoch: 2,
            since_ms: 3,
            until_ms: Some(4),
            lasts: true,
            before: Some("c".to_owned()),
            before_epoch: Some(5),
            cause: "leader_dead".to_owned(),
            reason: "c is dead".to_owned(),
            leaderless_ms: 6,
            job_late_ms: None,
        };
        let mut told = json!({
            "leader": "b", "epoch": 2, "since_ms": 3, "until_ms": 4, "lasts": true, "before": "c", "before_epoch": 5,
            "cause": "leader_dead", "reason": "c is dead", "leaderless_ms": 6
        });
        assert_eq!(json!(entry), told);
        assert_eq!(from_value::<Entry>(told.clone()).unwrap(), entry);
        told.as_object_mut().unwrap().remove("before_epoch");
        let early = Entry { before_epoch: None, ..entry };
        assert_eq!(from_value::<Entry>(told).unwrap(), early);
    }
}
