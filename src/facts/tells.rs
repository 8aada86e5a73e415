//! How well a node knows why a leadership ended.

use electd_election::core::Cause;

/// The cause of the first leadership since the start of a node, which did not see how the one before ended.
pub const START: &str = "start";

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
mod tests {
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
}
