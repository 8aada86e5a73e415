//! What keeps a member from voting or from leading, as the answers of all nodes show it together.

use strum::IntoStaticStr;

use super::asked::Asked;
use super::hint::{ClusterFlags, Hint};
use super::problem::{Missed, ProblemKind, Subject};
use super::refused::MutualRefusal;
use super::status::{DiskTrouble, MemberStatus, Problem, Status};
use super::words::and_some;
use electd_election::core::Phase;
use electd_election::core::types::Role;

/// What keeps a member from voting or from leading. The names are part of electd's interface: the page shows them as
/// badges.
#[derive(Clone, Debug, Eq, IntoStaticStr, PartialEq)]
#[strum(serialize_all = "snake_case")]
pub enum Hindrance {
    /// It cannot write its state, and so neither votes nor leads.
    Disk(DiskTrouble),
    /// The same of a node of an earlier version, which says what is wrong in words alone.
    #[strum(serialize = "disk")]
    DiskInWords(String),
    /// It hears nobody.
    CutOff,
    /// It and another member refuse each other, for this reason, as far as that is known.
    Refused(Option<MutualRefusal>),
    /// Its election thread missed its turn.
    Stalled,
    /// Its store is empty, and it votes for nobody until it has met these, or until a leader leads.
    Waits(Vec<String>),
    /// It answers here, and this node, which speaks for the others, does not hear it.
    Unheard(String),
    /// It does not answer, and this node, which speaks for all, hears nobody.
    NotKnown(String),
    /// Nobody hears it, and it does not answer: it is missed like this.
    Down(Missed),
    /// An operator drained it.
    Drained,
    /// An operator had it hand over.
    Resigned,
    /// Its health check fails.
    Unhealthy,
    /// What it ran while it led failed.
    JobFailed,
    /// It has no rank.
    NoRank,
    /// Elections pass it over, for this reason.
    PassedOver(String),
    /// It says that it is not eligible, and does not answer here to say why.
    NotEligible,
}

impl Hindrance {
    /// Its name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// Its name on a badge.
    #[must_use]
    pub fn badge(&self) -> String {
        match self {
            Hindrance::PassedOver(why) => why.clone(),
            other => other.name().replace('_', " "),
        }
    }

    /// Whether the member cannot vote for it, and so cannot lead either.
    #[must_use]
    pub fn silences(&self) -> bool {
        use Hindrance::{
            CutOff, Disk, DiskInWords, Down, NotKnown, Refused, Stalled, Unheard, Waits,
        };
        matches!(
            self,
            Disk(_)
                | DiskInWords(_)
                | CutOff
                | Refused(_)
                | Stalled
                | Waits(_)
                | Unheard(_)
                | NotKnown(_)
                | Down(_)
        )
    }

    /// The sentence about the member of this name.
    #[must_use]
    pub fn words(&self, name: &str) -> String {
        match self {
            Hindrance::Disk(trouble) => {
                format!("{name} cannot write its votes ({})", trouble.words())
            }
            Hindrance::DiskInWords(why) => {
                let why = why.split(": ").next().unwrap_or_default();
                format!("{name} cannot write its votes ({why})")
            }
            Hindrance::CutOff => format!("{name} hears nobody"),
            Hindrance::Refused(_) => format!("{name} is refused"),
            Hindrance::Stalled => format!("{name} stalls"),
            Hindrance::Waits(others) if others.is_empty() => {
                format!("{name} waits until it has met all voters")
            }
            Hindrance::Waits(others) => format!("{name} waits for {}", and_some(others)),
            Hindrance::Unheard(_) => format!("{name} answers here, and the others do not hear it"),
            Hindrance::NotKnown(by) => {
                format!("whether {name} runs is not known, as {by} hears nobody")
            }
            Hindrance::Down(_) => format!("{name} is down"),
            Hindrance::Drained => format!("{name} is drained"),
            Hindrance::Resigned => format!("{name} resigned"),
            Hindrance::Unhealthy => format!("{name} is unhealthy"),
            Hindrance::JobFailed => format!("the job of {name} failed"),
            Hindrance::NoRank => format!("{name} has no rank"),
            Hindrance::PassedOver(why) => format!("{name} {why}"),
            Hindrance::NotEligible => format!("{name} is not eligible"),
        }
    }

    /// What to do about it at the member of this name.
    #[must_use]
    pub fn remedy(&self, name: &str, flags: &ClusterFlags) -> String {
        let of = |kind: ProblemKind| kind.remedy(Subject::of(name), flags);
        match self {
            Hindrance::Disk(DiskTrouble::Full) => format!("free space on {name}"),
            Hindrance::Disk(_) => format!("mend the disk of {name}"),
            Hindrance::DiskInWords(_) => format!("free space on {name}, or mend its disk"),
            Hindrance::CutOff => of(ProblemKind::CutOff),
            Hindrance::Unheard(by) => format!("look at the network between {name} and {by}"),
            Hindrance::NotKnown(by) => format!("mend the network of {by}"),
            Hindrance::Refused(None) => format!("do what the problem `rejected` of {name} says"),
            Hindrance::Refused(Some(refusal)) => refusal.remedy(flags),
            Hindrance::Stalled => of(ProblemKind::Stalled),
            Hindrance::Waits(others) if others.is_empty() => {
                "start all voters, and mend the links between them".to_owned()
            }
            Hindrance::Waits(others) => format!("start {}", and_some(others)),
            Hindrance::Down(missed) => missed.first_step(&[name.to_owned()]),
            Hindrance::Drained | Hindrance::Resigned => {
                format!("{} lets {name} lead again", Hint::Undrain.at(name, flags))
            }
            Hindrance::Unhealthy => of(ProblemKind::Health),
            Hindrance::JobFailed => of(ProblemKind::Job),
            Hindrance::NoRank => of(ProblemKind::Rank),
            Hindrance::PassedOver(_) => format!("find out why {name} is cut off or restarts"),
            Hindrance::NotEligible => format!("{} on its host", Hint::Status.at(name, flags)),
        }
    }
}

/// What hinders a member, the worst first: what it says itself, and what `best`, the view of the others, knows of it.
#[must_use]
pub fn of(member: &MemberStatus, best: &Status, asked: &[Asked]) -> Vec<Hindrance> {
    let own = asked.iter().find_map(|asked| {
        asked.answer.as_ref().ok().copied().filter(|own| own.node.name == member.name)
    });
    let mut found: Vec<Hindrance> = own.into_iter().flat_map(silencing).collect();
    let is_best = own.is_some_and(|own| std::ptr::eq(own, best));
    if !is_best && !member.is_alive() {
        let refuses = |it: &Problem| it.is(ProblemKind::Rejected) && it.about == member.name;
        let is_apart =
            |own: &Status| own.leader.is_none() && own.problem(ProblemKind::Rejected).is_some();
        let refused = |by: &Status, about: &str| Hindrance::Refused(by.refusal(about));
        match own {
            _ if best.problems.iter().any(refuses) => found.push(refused(best, &member.name)),
            Some(own) if is_apart(own) => found.push(refused(own, &best.node.name)),
            _ if !found.is_empty() => {}
            Some(_) => found.push(Hindrance::Unheard(best.node.name.clone())),
            None if best.is_cut_off() => {
                found.push(Hindrance::NotKnown(best.node.name.clone()));
            }
            None => found.push(Hindrance::Down(member.missed())),
        }
    }
    found.extend(own.and_then(ineligible));
    if !is_best && member.is_alive() {
        found.extend(member.passed_over.clone().map(Hindrance::PassedOver));
        let is_known = found.iter().any(|it| !matches!(it, Hindrance::PassedOver(_)));
        if member.part() == Some(Role::Member) && !member.eligible && !is_known && own.is_none() {
            found.push(Hindrance::NotEligible);
        }
    }
    found
}

/// What keeps a node from voting, as it says itself.
fn silencing(own: &Status) -> Vec<Hindrance> {
    let told = own.problem(ProblemKind::Storage);
    let disk = told.map(|it| match own.disk {
        Some(trouble) => Hindrance::Disk(trouble),
        None => Hindrance::DiskInWords(it.text.clone()),
    });
    let cut_off = own.is_cut_off().then_some(Hindrance::CutOff);
    let stalled = own.stalled.then_some(Hindrance::Stalled);
    let waits = own.leaderless.as_ref().filter(|it| it.is_uninformed()).map(|_| {
        let others = own.members.iter().filter(|it| it.votes() && !it.is_alive());
        Hindrance::Waits(others.map(|it| it.name.clone()).collect())
    });
    [disk, cut_off, stalled, waits].into_iter().flatten().collect()
}

/// What keeps a node from leading although it votes, as it says itself.
fn ineligible(own: &Status) -> Option<Hindrance> {
    if own.drain.is_some() {
        Some(Hindrance::Drained)
    } else if own.resigned {
        Some(Hindrance::Resigned)
    } else if own.health.as_ref().is_some_and(|health| !health.healthy) {
        Some(Hindrance::Unhealthy)
    } else if own.failure.is_some() {
        Some(Hindrance::JobFailed)
    } else {
        own.problem(ProblemKind::Rank).map(|_| Hindrance::NoRank)
    }
}

impl Status {
    /// Whether this node neither votes nor leads, as it says itself.
    #[must_use]
    pub fn is_silenced(&self) -> bool {
        !silencing(self).is_empty()
    }

    /// Whether the node takes part in an election now.
    #[must_use]
    pub fn elects(&self) -> bool {
        self.phase().is_some_and(Phase::elects)
    }
}

#[cfg(test)]
mod tests {
    use super::super::refused::RefusalCause;
    use super::super::status::DrainStatus;
    use super::*;

    #[track_caller]
    fn each_is(all: &[(Hindrance, &str, &str, &str)]) {
        for (found, name, words, remedy) in all {
            assert_eq!((found.name(), &*found.words("c")), (*name, *words));
            assert_eq!(found.remedy("c", &ClusterFlags::default()), *remedy);
        }
    }

    /// Each is a sentence about its member, with what to do; and a name for programs.
    #[test]
    fn what_silences_a_member_is_a_sentence_with_a_remedy() {
        let full = "/d has room for 0 bytes, and the state takes up to 262144 bytes: free some";
        each_is(&[
            (
                Hindrance::DiskInWords(full.into()),
                "disk",
                "c cannot write its votes (/d has room for 0 bytes, and the state takes up to 262144 bytes)",
                "free space on c, or mend its disk",
            ),
            (Hindrance::CutOff, "cut_off", "c hears nobody", "mend the network of c"),
            (
                Hindrance::Refused(None),
                "refused",
                "c is refused",
                "do what the problem `rejected` of c says",
            ),
            (
                Hindrance::Refused(Some(MutualRefusal::by(RefusalCause::Disagreement))),
                "refused",
                "c is refused",
                "give both the same file",
            ),
            (
                Hindrance::Stalled,
                "stalled",
                "c stalls",
                "look at the host of c: it was frozen, or has too little processor time",
            ),
            (
                Hindrance::Waits(vec!["a".into(), "b".into()]),
                "waits",
                "c waits for a and b",
                "start a and b",
            ),
            (
                Hindrance::Waits(vec![]),
                "waits",
                "c waits until it has met all voters",
                "start all voters, and mend the links between them",
            ),
            (
                Hindrance::Unheard("a".into()),
                "unheard",
                "c answers here, and the others do not hear it",
                "look at the network between c and a",
            ),
            (
                Hindrance::NotKnown("a".into()),
                "not_known",
                "whether c runs is not known, as a hears nobody",
                "mend the network of a",
            ),
        ]);
    }

    #[test]
    fn what_keeps_a_voter_from_leading_is_a_sentence_with_a_remedy() {
        each_is(&[
            (Hindrance::Down(Missed::Ended), "down", "c is down", "start c"),
            (
                Hindrance::Down(Missed::Silent("10.0.0.3".into())),
                "down",
                "c is down",
                "look whether the host of c (10.0.0.3) is up and can be reached",
            ),
            (
                Hindrance::Drained,
                "drained",
                "c is drained",
                "`electd undrain --node c` lets c lead again",
            ),
            (
                Hindrance::Resigned,
                "resigned",
                "c resigned",
                "`electd undrain --node c` lets c lead again",
            ),
            (
                Hindrance::Unhealthy,
                "unhealthy",
                "c is unhealthy",
                "mend what the health check of c looks at: `electd check --node c` on its host runs it once",
            ),
            (
                Hindrance::JobFailed,
                "job_failed",
                "the job of c failed",
                "mend what c runs (its output is in the log), or its host where the message says so; at the time in the \
                 message it may lead again by itself",
            ),
            (
                Hindrance::NoRank,
                "no_rank",
                "c has no rank",
                "mend what `rank` of c reads: `electd check --node c` on its host takes a sample",
            ),
            (
                Hindrance::PassedOver("comes and goes".into()),
                "passed_over",
                "c comes and goes",
                "find out why c is cut off or restarts",
            ),
            (
                Hindrance::NotEligible,
                "not_eligible",
                "c is not eligible",
                "`electd status --node c` on its host",
            ),
        ]);
        assert_eq!(Hindrance::JobFailed.badge(), "job failed");
        assert_eq!(Hindrance::PassedOver("comes and goes".into()).badge(), "comes and goes");
    }

    /// A member of an earlier version has words alone, and one of a later version a word that this one does not know.
    #[test]
    fn what_is_wrong_with_a_disk_is_a_fact_of_the_status() {
        let mut own = super::super::samples::status("c", None);
        own.problems =
            vec![super::super::samples::problem(ProblemKind::Storage, "", "/d is full: free some")];
        assert_eq!(silencing(&own), [Hindrance::DiskInWords("/d is full: free some".into())]);
        for (trouble, words, remedy) in [
            (DiskTrouble::Full, "its disk is full", "free space on c"),
            (DiskTrouble::ReadOnly, "its disk is read-only", "mend the disk of c"),
            (DiskTrouble::Failing, "its disk fails", "mend the disk of c"),
        ] {
            let found = Hindrance::Disk(trouble);
            assert_eq!(found.words("c"), format!("c cannot write its votes ({words})"));
            assert_eq!(
                (found.name(), &*found.remedy("c", &ClusterFlags::default())),
                ("disk", remedy)
            );
        }
        own.disk = Some(DiskTrouble::Stuck);
        assert_eq!(silencing(&own), [Hindrance::Disk(DiskTrouble::Stuck)]);
        let mut told = serde_json::json!(own);
        assert_eq!(told["disk"], "stuck");
        told["disk"] = "a later word".into();
        let read: Status = serde_json::from_value(told).unwrap();
        assert_eq!(read.disk, Some(DiskTrouble::Failing));
    }

    #[test]
    fn a_drained_node_votes() {
        let drain = DrainStatus { since: "then".into(), until: None, reason: String::new() };
        let own = Status { drain: Some(drain), ..Status::default() };
        assert!(!own.is_silenced());
        assert_eq!(ineligible(&own), Some(Hindrance::Drained));
    }
}
