//! Why a member changed its phase, in words.

use std::time::Duration;

use super::length;
use crate::core::Reason;
use crate::core::membership::MemberList;
use crate::core::types::NodeId;

/// The reason in words.
#[must_use]
pub fn sentence(reason: &Reason, members: &MemberList) -> String {
    let name = |id: &NodeId| members.name(*id);
    let names = |ids: &[NodeId]| ids.iter().map(name).collect::<Vec<_>>().join(", ");
    match reason {
        Reason::AllConnected => "all members are connected and none leads".into(),
        Reason::NobodyLeads => "no leader showed up within the failure time".into(),
        Reason::LeaderDead(id) | Reason::LeaderCertified(id) => proof(reason, &name(id)),
        Reason::LeaderSuspected(id) => format!("leader {} is silent", name(id)),
        Reason::LeaderDisconnected(id) => format!("lost the connection to leader {}", name(id)),
        Reason::LeaderRemoved(id) => format!("leader {} was removed", name(id)),
        Reason::ListChanged => "the member list changed".into(),
        Reason::LeaderRestarted(id) => format!("leader {} restarted", name(id)),
        Reason::LeaderReleased(id) => format!("leader {} handed over", name(id)),
        Reason::Declined(id) => format!("{} was to lead next, and may not", name(id)),
        Reason::Asked => "asked for an election".into(),
        Reason::Joined(id) => format!("{} announced an election", name(id)),
        Reason::Answered(id) => format!("{} ranks higher and answered", name(id)),
        Reason::AnswererLost => "the member that answered is gone".into(),
        Reason::NoCoordinator => "nobody came to lead in time".into(),
        Reason::MayNotLead => "no eligible member is left to lead".into(),
        Reason::Eligible => "nobody could lead, and this node may by now".into(),
        Reason::Highest => "won: no eligible member ranks higher".into(),
        Reason::NoAnswer => "no higher member answered".into(),
        Reason::Appeared(id) => format!("{} ranks higher and has appeared", name(id)),
        Reason::Overtaken => "a greater epoch overtook this election".into(),
        Reason::Announced(id) => format!("{} leads", name(id)),
        Reason::Storing(id) => format!("{} leads, in an epoch to be stored", name(id)),
        Reason::TakingOver(id) => format!("asked lower leader {} to hand over", name(id)),
        Reason::DiskLags => "its own disk does not write, so it withdraws".into(),
        Reason::LaterList(id) => format!("{} has a member list of a later epoch", name(id)),
        Reason::Overruled(id) => format!("{} leads with a greater epoch", name(id)),
        Reason::SameEpoch(id) => format!("met leader {} in the same epoch", name(id)),
        Reason::Preempted(id) => format!("higher member {} takes over", name(id)),
        Reason::Resigned => "resigned".into(),
        Reason::SwitchedOver(id) => format!("an operator switched over to {}", name(id)),
        Reason::Drained => "drained by an operator".into(),
        Reason::Unhealthy => "its health check fails".into(),
        Reason::Stalled(time) => format!("stalled for {}", length(*time)),
        Reason::Outranks(id) => format!("its rank rose above leader {}'s", name(id)),
        Reason::LeaderGaveUp(id) => format!("{} does not lead any more", name(id)),
        Reason::HaltedBy(id) => format!("{} halts the lower members", name(id)),
        Reason::HalterLost(id) => format!("{}, which halted this member, is gone", name(id)),
        Reason::Organized(id) => format!("{} is elected", name(id)),
        Reason::AllHalted => "all lower members are in a known state".into(),
        Reason::NotAccepted => "a member did not accept this organizer".into(),
        Reason::AllReady => "all members have the task".into(),
        Reason::NotNormal(id) => format!("{} has to be taken in", name(id)),
        Reason::ToBeTakenIn(id) => format!("leader {} will take it in", name(id)),
        Reason::NewTask => "there is a new task".into(),
        Reason::BallotBack => "its ballot came back".into(),
        Reason::BallotLost => "the ballot was lost".into(),
        Reason::MajorityAgrees => "a majority of the voters would vote for it".into(),
        Reason::NoMajority(wait) | Reason::Refused(wait) => denied_for(reason, *wait),
        Reason::Isolated => "no majority of the voters answers".into(),
        Reason::Uninformed(unmet) => unmet_by(&names(unmet)),
        Reason::VotersUninformed(voters) => uninformed(&names(voters)),
        Reason::LeaseEnded => "no majority acknowledged it in time".into(),
        Reason::Reclaimed => "the voters know a greater epoch".into(),
        Reason::Stopped => "stopping".into(),
        Reason::JobFailed => "its job failed or could not begin".into(),
        Reason::Removed => "removed from the cluster".into(),
    }
}

/// That this member has not met these voters since its store is empty.
fn unmet_by(voters: &str) -> String {
    format!(
        "its store is empty and it has not met {voters}: a first start needs every voter to meet every other once"
    )
}

/// That these voters have not met all others since their stores are empty.
fn uninformed(voters: &str) -> String {
    format!(
        "{voters} vote for nobody, as their stores are empty and each has not met all other voters: a first start needs \
         that once"
    )
}

/// What proves the death of a leader of this name, in words.
fn proof(of: &Reason, name: &str) -> String {
    let proof = match of {
        Reason::LeaderCertified(_) => "certified by its host",
        _ => "redial refused",
    };
    format!("leader {name} is dead: {proof}")
}

/// The reason in words when too few voters agree for this time.
fn denied_for(of: &Reason, wait: Duration) -> String {
    let wait = length(wait);
    match of {
        Reason::Refused(Duration::ZERO) => "too few of the voters would vote for it".into(),
        Reason::Refused(_) => {
            format!("too few of the voters would vote for it; it asks again in {wait}")
        }
        Reason::NoMajority(Duration::ZERO) => "no majority of the voters agrees yet".into(),
        _ => format!("too many of the voters are bound to a leader for {wait} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{ListVersion, Member};
    use crate::core::types::Role;

    fn sentences(c: NodeId) -> Vec<(Reason, &'static str)> {
        vec![
            (Reason::LeaderDead(c), "leader c is dead: redial refused"),
            (Reason::LeaderCertified(c), "leader c is dead: certified by its host"),
            (Reason::LeaderSuspected(c), "leader c is silent"),
            (Reason::LeaderDisconnected(c), "lost the connection to leader c"),
            (Reason::LeaderRemoved(c), "leader c was removed"),
            (Reason::LeaderRestarted(c), "leader c restarted"),
            (Reason::LeaderReleased(c), "leader c handed over"),
            (Reason::Declined(c), "c was to lead next, and may not"),
            (Reason::Joined(c), "c announced an election"),
            (Reason::Answered(c), "c ranks higher and answered"),
            (Reason::Appeared(c), "c ranks higher and has appeared"),
            (Reason::Announced(c), "c leads"),
            (Reason::Storing(c), "c leads, in an epoch to be stored"),
            (Reason::TakingOver(c), "asked lower leader c to hand over"),
            (Reason::LaterList(c), "c has a member list of a later epoch"),
            (Reason::Overruled(c), "c leads with a greater epoch"),
            (Reason::SameEpoch(c), "met leader c in the same epoch"),
            (Reason::Preempted(c), "higher member c takes over"),
            (Reason::SwitchedOver(c), "an operator switched over to c"),
            (Reason::Outranks(c), "its rank rose above leader c's"),
            (Reason::LeaderGaveUp(c), "c does not lead any more"),
            (Reason::HaltedBy(c), "c halts the lower members"),
            (Reason::HalterLost(c), "c, which halted this member, is gone"),
            (Reason::AllConnected, "all members are connected and none leads"),
            (Reason::NobodyLeads, "no leader showed up within the failure time"),
            (Reason::ListChanged, "the member list changed"),
            (Reason::Asked, "asked for an election"),
            (Reason::AnswererLost, "the member that answered is gone"),
            (Reason::NoCoordinator, "nobody came to lead in time"),
            (Reason::MayNotLead, "no eligible member is left to lead"),
            (Reason::Eligible, "nobody could lead, and this node may by now"),
            (Reason::Highest, "won: no eligible member ranks higher"),
            (Reason::NoAnswer, "no higher member answered"),
            (Reason::Overtaken, "a greater epoch overtook this election"),
            (Reason::DiskLags, "its own disk does not write, so it withdraws"),
            (Reason::Resigned, "resigned"),
            (Reason::JobFailed, "its job failed or could not begin"),
            (Reason::Drained, "drained by an operator"),
            (Reason::Unhealthy, "its health check fails"),
            (Reason::MajorityAgrees, "a majority of the voters would vote for it"),
            (Reason::Isolated, "no majority of the voters answers"),
            (Reason::LeaseEnded, "no majority acknowledged it in time"),
            (Reason::Reclaimed, "the voters know a greater epoch"),
            (Reason::Stopped, "stopping"),
            (Reason::Removed, "removed from the cluster"),
            (Reason::Stalled(Duration::from_secs(1)), "stalled for 1 s"),
            (Reason::Organized(c), "c is elected"),
            (Reason::AllHalted, "all lower members are in a known state"),
            (Reason::NotAccepted, "a member did not accept this organizer"),
            (Reason::AllReady, "all members have the task"),
            (Reason::NotNormal(c), "c has to be taken in"),
            (Reason::ToBeTakenIn(c), "leader c will take it in"),
            (Reason::NewTask, "there is a new task"),
            (Reason::BallotBack, "its ballot came back"),
            (Reason::BallotLost, "the ballot was lost"),
            (
                Reason::Uninformed(vec![c, c]),
                "its store is empty and it has not met c, c: a first start needs every voter to meet every other \
                 once",
            ),
            (
                Reason::VotersUninformed(vec![c, c]),
                "c, c vote for nobody, as their stores are empty and each has not met all other voters: a first start \
                 needs that once",
            ),
        ]
    }

    /// An operator looks for that member next.
    #[test]
    fn each_reason_names_the_member_that_it_is_about() {
        let c = NodeId::default();
        let c_is = Member {
            id: c,
            name: "c".to_owned(),
            address: String::new(),
            admin: None,
            role: Role::Member,
        };
        let members = MemberList::new(ListVersion::default(), vec![c_is]);
        for (reason, words) in sentences(c) {
            assert_eq!(sentence(&reason, &members), words);
        }
    }

    #[test]
    fn long_times_are_told_in_seconds() {
        let members = MemberList::new(ListVersion::default(), Vec::new());
        let (long, short) = (Duration::from_micros(6_459_321), Duration::from_millis(332));
        for (reason, words) in [
            (Reason::Stalled(long), "stalled for 6.5 s"),
            (
                Reason::NoMajority(short),
                "too many of the voters are bound to a leader for 332 ms more",
            ),
            (
                Reason::Refused(long),
                "too few of the voters would vote for it; it asks again in 6.5 s",
            ),
            (Reason::NoMajority(Duration::ZERO), "no majority of the voters agrees yet"),
            (Reason::Refused(Duration::ZERO), "too few of the voters would vote for it"),
        ] {
            assert_eq!(sentence(&reason, &members), words);
        }
    }
}
