//! What all nodes that answer know together, and a reason with its remedy.

use std::collections::BTreeSet;

use strum::IntoStaticStr;

use super::super::asked::{self, Asked, Silence, answers, newest_leader};
use super::super::hint::ClusterFlags;
use super::super::judge::{Judgement, judge};
use super::super::status::{LeaderStatus, MemberStatus, Status};

/// Why a member leads or does not. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, PartialEq)]
#[strum(serialize_all = "snake_case")]
pub(super) enum WhyCause {
    /// It leads.
    Leads,
    /// It leads beside another leader, of a greater epoch.
    LeadsToo,
    /// Another node, or one of another cluster, answers at its address.
    OtherNode,
    /// Nobody hears it, and it does not answer.
    Down,
    /// It answers, and the leader does not hear it.
    Unheard,
    /// Only nodes answer that hear nobody, so whether it leads is not known.
    Unknown,
    /// Its election thread missed its turn.
    Stalled,
    /// It is a witness or an observer.
    Role,
    /// An operator drained it.
    Drained,
    /// An operator had it hand over.
    Resigned,
    /// Its health check fails.
    Unhealthy,
    /// What it ran while it led failed.
    Job,
    /// It has no rank.
    NoRank,
    /// Its state cannot be written.
    Storage,
    /// It and another member refuse each other.
    Rejected,
    /// It started, and looks for the others.
    Starting,
    /// It takes part in an election.
    Electing,
    /// Too few voters hear each other.
    NoMajority,
    /// Too few voters know the state of the cluster.
    Uninformed,
    /// It knows no leader, for another reason.
    NoLeader,
    /// Elections pass it over.
    PassedOver,
    /// It says that it is not eligible, and does not answer here to say why.
    NotEligible,
    /// An operator chose another.
    Switchover,
    /// An operator paused the cluster.
    Paused,
    /// It is about to take over.
    Takeover,
    /// A leader stays, whoever ranks higher.
    Preempt,
    /// The leader ranks higher.
    Rank,
    /// Nobody may lead.
    NoCandidate,
    /// Only nodes answer that hear nobody.
    CutOff,
}

impl WhyCause {
    /// Its name in JSON.
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it does not lead as the ranks and the file have it, with nothing wrong.
    pub(super) fn is_as_ranked(self) -> bool {
        matches!(self, WhyCause::Takeover | WhyCause::Preempt | WhyCause::Rank)
    }
}

/// A reason, and what to do about it.
#[derive(Clone, Debug)]
pub(super) struct WhyAnswer {
    /// The reason, for programs.
    pub(super) cause: WhyCause,
    /// In words that follow "node-1 does not lead: ".
    pub(super) reason: String,
    /// What to do; none if nothing is wrong, or if it ends by itself.
    pub(super) remedy: Option<String>,
}

impl WhyAnswer {
    pub(super) fn new(cause: WhyCause, reason: impl Into<String>) -> WhyAnswer {
        WhyAnswer { cause, reason: reason.into(), remedy: None }
    }

    pub(super) fn remedy(self, remedy: impl Into<String>) -> WhyAnswer {
        WhyAnswer { remedy: Some(remedy.into()), ..self }
    }

    /// Whether the member leads.
    pub(super) fn leads(&self) -> bool {
        matches!(self.cause, WhyCause::Leads | WhyCause::LeadsToo)
    }

    /// The begin of the sentence about this member.
    pub(super) fn begin(&self, name: &str) -> String {
        match self.cause {
            WhyCause::Unknown => format!("whether {name} leads is not known"),
            _ if self.leads() => format!("{name} leads"),
            _ => format!("{name} does not lead"),
        }
    }
}

/// What is known of a cluster.
pub struct WhyView<'a> {
    /// The members, with what they answered.
    pub(super) asked: Vec<Asked<'a>>,
    /// When they were asked, in milliseconds since the Unix epoch.
    pub(super) now_ms: u64,
    /// The verdict on it.
    pub judgement: Judgement,
    /// The names of all members.
    pub names: BTreeSet<&'a str>,
    /// The leader, of the greatest epoch that any node names.
    pub leader: Option<&'a LeaderStatus>,
    /// The status that says most of the others: that of the leader, or of a node that follows it, or of any.
    pub(super) best: Option<&'a Status>,
}

impl<'a> WhyView<'a> {
    /// What these answers say, of this moment, for a reader who reaches the cluster by these flags.
    #[must_use]
    pub fn of(asked: Vec<Asked<'a>>, flags: &ClusterFlags, now_ms: u64) -> WhyView<'a> {
        let best = asked::best(answers(&asked));
        let members = || answers(&asked).flat_map(|status| &status.members);
        let asked_names = asked.iter().map(|asked| asked.name);
        let names = members().map(|member| member.name.as_str()).chain(asked_names).collect();
        let judgement = judge(&asked, &flags.clone().knowing(members()));
        let leader = newest_leader(answers(&asked));
        WhyView { asked, now_ms, judgement, names, leader, best }
    }

    /// The flags that a command repeats which a sentence names.
    pub(super) fn flags(&self) -> &ClusterFlags {
        &self.judgement.flags
    }

    /// The answer of a member, or why there is none.
    pub(super) fn answer(&self, name: &str) -> Option<&Result<&'a Status, Silence>> {
        self.asked.iter().find(|asked| asked.name == name).map(|asked| &asked.answer)
    }

    /// The status of a member, if it answers.
    pub(super) fn status(&self, name: &str) -> Option<&'a Status> {
        self.answer(name)?.as_ref().ok().copied()
    }

    /// A member as the best view has it.
    pub(super) fn member(&self, name: &str) -> Option<&'a MemberStatus> {
        self.best?.members.iter().find(|member| member.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::{AnswerSample, following, silent};
    use super::super::tests::{pair, seen_in};

    #[test]
    fn the_view_is_that_of_the_leader_or_of_who_follows_the_newest() {
        let best = |asked: &[AnswerSample]| seen_in(asked).best.map(|best| best.node.name.clone());
        let leads = || pair(9, 5, |_| ());
        let newer = || following("c", Some(("d", 8)));
        assert_eq!(best(&leads()).as_deref(), Some("b"));
        let [follower, leader] = leads();
        assert_eq!(best(&[leader, follower]).as_deref(), Some("b"), "in any order");
        assert_eq!(
            best(&leads().into_iter().chain([newer()]).collect::<Vec<_>>()).as_deref(),
            Some("c")
        );
        let mut stalled = following("s", None);
        stalled.answer.as_mut().unwrap().stalled = true;
        assert_eq!(best(&[following("e", None), stalled]).as_deref(), Some("e"));
        assert_eq!(best(&[silent("x")]), None);
        let [_, leader] = leads();
        let asked = [silent("x"), newer(), leader];
        let view = seen_in(&asked);
        assert_eq!(view.names.iter().copied().collect::<Vec<_>>(), ["a", "b", "c", "x"]);
        assert_eq!(view.leader.map(|leader| leader.name.as_str()), Some("d"));
    }
}
