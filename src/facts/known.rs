//! The words of a status as the types that they came from. A word of a later version is none of them.

use electd_election::core::Phase;
use electd_election::core::message::Liveness;
use electd_election::core::settings::{Preempt, Quorum};
use electd_election::core::types::Role;
use strum::VariantArray;

use super::changed::ChangeStatus;
use super::hint::ClusterFlags;
use super::majority;
use super::problem::{Missed, ProblemKind, Subject};
use super::refused::MutualRefusal;
use super::status::{LeaderStatus, MemberStatus, Problem, Status};

/// How the source of a rank begins that a node does not have.
const NO_RANK: &str = "none: ";

/// The host of an address.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// The variant of this name.
fn named<T: Copy + Into<&'static str> + VariantArray>(word: &str) -> Option<T> {
    T::VARIANTS.iter().copied().find(|known| Into::<&str>::into(*known) == word)
}

impl Status {
    /// The state of the node.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        named(&self.state)
    }

    /// Whether no member preempts a leader that lives and is eligible.
    #[must_use]
    pub fn never_preempts(&self) -> bool {
        self.preempt == Preempt::Never.to_string()
    }

    /// Why the node has no rank, if it has none.
    #[must_use]
    pub fn why_no_rank(&self) -> Option<&str> {
        self.rank_source.strip_prefix(NO_RANK)
    }

    /// The source of the rank of a node that has none, for this reason.
    #[must_use]
    pub fn no_rank(why: &str) -> String {
        format!("{NO_RANK}{why}")
    }

    /// Whether the node needs a majority to lead.
    #[must_use]
    pub fn by_majority(&self) -> bool {
        named(&self.quorum) == Some(Quorum::Majority)
    }

    /// Whether the node leads. A stalled node may have been replaced without noticing.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.phase() == Some(Phase::Leading) && !self.stalled
    }

    /// Whether the lease of a leader is over, so that another may lead.
    #[must_use]
    pub fn is_outlasted(&self) -> bool {
        self.by_majority() && self.lease_remaining_ms == Some(0)
    }

    /// The leader that the node names, unless the node is stalled.
    #[must_use]
    pub fn named_leader(&self) -> Option<&LeaderStatus> {
        self.leader.as_ref().filter(|_| !self.stalled)
    }

    /// The problem of this kind that the node reports first.
    #[must_use]
    pub fn problem(&self, kind: ProblemKind) -> Option<&Problem> {
        self.problems.iter().find(|found| found.is(kind))
    }

    /// That the node and this member refuse each other, if the node says so and why.
    #[must_use]
    pub fn refusal(&self, about: &str) -> Option<MutualRefusal> {
        let found = self.rejections.iter().find(|it| it.peer == about)?;
        let refused = if found.by_peer { &*self.node.name } else { about };
        Some(MutualRefusal { refused: self.placed(refused), ..MutualRefusal::by(found.cause?) })
    }

    /// The name of this member and its address, if the node lists it.
    #[must_use]
    pub fn placed(&self, name: &str) -> Option<(String, String)> {
        self.member(name).map(|member| (member.name.clone(), member.address.clone()))
    }

    /// What to do about this problem of the node.
    #[must_use]
    pub fn remedy(&self, problem: &Problem, flags: &ClusterFlags) -> Option<String> {
        let about = Some(&*problem.about).filter(|about| self.member(about).is_some());
        let (node, refusal) = (Some(&*self.node.name), self.refusal(&problem.about));
        let of = Subject { node, about, missed: self.missed(&problem.about), refusal };
        ProblemKind::of(&problem.kind).map(|kind| kind.remedy(of, flags))
    }

    /// How the node misses this member.
    #[must_use]
    pub fn missed(&self, name: &str) -> Missed {
        self.member(name).map(MemberStatus::missed).unwrap_or_default()
    }

    /// Whether the node hears nobody, although its network, and not the others, is probably at fault.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.problem(ProblemKind::CutOff).is_some()
    }

    /// The member of this name as the node sees it.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberStatus> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The voters of a majority: how many there are, how many are alive, and how many it takes.
    #[must_use]
    pub fn voters(&self) -> (usize, usize, usize) {
        let voters = self.members.iter().filter(|member| member.votes());
        let (all, alive) = voters
            .fold((0, 0), |(all, alive), voter| (all + 1, alive + usize::from(voter.is_alive())));
        (all, alive, majority::of(all))
    }
}

impl MemberStatus {
    /// Its part in the cluster.
    #[must_use]
    pub fn part(&self) -> Option<Role> {
        named(&self.role)
    }

    /// What the node that answers knows of its life.
    #[must_use]
    pub fn liveness(&self) -> Option<Liveness> {
        named(&self.status)
    }

    /// Whether the node that answers hears it.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.liveness() == Some(Liveness::Alive)
    }

    /// How the node that answers misses it.
    #[must_use]
    pub fn missed(&self) -> Missed {
        match self.liveness() {
            Some(Liveness::Alive) => Missed::Heard,
            Some(Liveness::Dead) => Missed::Ended,
            _ if self.refuses_dials => Missed::Ended,
            _ => Missed::Silent(host(&self.address).to_owned()),
        }
    }

    /// Whether it votes.
    #[must_use]
    pub fn votes(&self) -> bool {
        self.part() != Some(Role::Observer)
    }

    /// Whether its role lets it lead.
    #[must_use]
    pub fn could_ever_lead(&self) -> bool {
        self.part() == Some(Role::Member)
    }

    /// Whether it could lead now: by its role, by what it says of itself, and as it is heard.
    #[must_use]
    pub fn may_lead(&self) -> bool {
        self.could_ever_lead() && self.eligible && self.is_alive()
    }
}

impl ChangeStatus {
    /// The state before.
    #[must_use]
    pub fn phase_before(&self) -> Option<Phase> {
        named(&self.from)
    }

    /// The state after.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        named(&self.to)
    }
}

impl Problem {
    /// Whether it is of this kind.
    #[must_use]
    pub fn is(&self, kind: ProblemKind) -> bool {
        self.kind == kind.name()
    }
}

#[cfg(test)]
mod tests {
    use super::super::refused::RefusalCause;
    use super::super::samples::{member, status};
    use super::super::status::RejectionStatus;
    use super::*;

    #[test]
    fn a_word_is_the_type_that_it_came_from_or_none() {
        let mut one = status("a", Some(("a", 7)));
        assert_eq!((one.phase(), one.by_majority()), (Some(Phase::Following), false));
        one.state = "of_a_later_version".to_owned();
        assert_eq!(one.phase(), None);
        one.preempt = Preempt::Never.to_string();
        assert!(one.never_preempts() && !status("a", None).never_preempts());
        one.rank_source = Status::no_rank("no file");
        assert_eq!((&*one.rank_source, one.why_no_rank()), ("none: no file", Some("no file")));
        assert_eq!(status("a", None).why_no_rank(), None);
        let mut other = member("b");
        assert!(other.votes() && other.may_lead() && other.is_alive());
        other.role = "observer".to_owned();
        assert!(!other.votes() && !other.may_lead());
        other.status = "dead".to_owned();
        assert_eq!((other.liveness(), other.is_alive()), (Some(Liveness::Dead), false));
        assert_eq!((member("b").missed(), other.missed()), (Missed::Heard, Missed::Ended));
        other.status = "suspected".to_owned();
        assert_eq!(other.missed(), Missed::Silent("127.0.0.1".to_owned()));
        other.refuses_dials = true;
        assert_eq!(other.missed(), Missed::Ended, "its host is up, and nothing listens there");
    }

    /// A command for the wrong one of the two would remove a healthy member.
    #[test]
    fn of_two_that_refuse_each_other_the_refused_one_is_named() {
        let refused = |by_peer| {
            let address = "h:2".to_owned();
            let members = vec![member("a"), MemberStatus { address, ..member("b") }];
            let (peer, reason) = ("b".to_owned(), String::new());
            let cause = Some(RefusalCause::StateLost);
            let rejections = vec![RejectionStatus { peer, reason, cause, by_peer }];
            let own = Status { members, rejections, ..status("a", None) };
            (own.refusal("b").unwrap().refused.unwrap(), own.refusal("c"))
        };
        let of = |name: &str, address: &str| ((name.to_owned(), address.to_owned()), None);
        assert_eq!(refused(false), of("b", "h:2"));
        assert_eq!(refused(true), of("a", "127.0.0.1:7101"));
    }

    #[test]
    fn a_leader_whose_lease_is_over_or_that_stalls_may_have_been_replaced() {
        let of = |quorum: &str, lease, stalled| {
            let state = "leading".to_owned();
            let quorum = quorum.to_owned();
            let one = Status {
                state,
                quorum,
                lease_remaining_ms: lease,
                stalled,
                ..status("a", Some(("a", 7)))
            };
            one.leads() && !one.is_outlasted()
        };
        assert!(of("majority", Some(1), false) && of("none", None, false));
        assert!(!of("majority", Some(0), false) && !of("none", None, true));
    }
}
