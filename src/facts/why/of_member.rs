//! Why one member leads or does not: the first reason that holds, from what keeps it from any election down to its rank.

use electd_election::core::Phase;

use super::super::asked::{Silence, answers};
use super::super::hint::Hint;
use super::super::led;
use super::super::problem::{ProblemKind, Subject};
use super::super::refused::{MutualRefusal, RefusalCause};
use super::super::status::{MemberStatus, Problem, Status};
use super::super::unable;
use super::nobody;
use super::view::{WhyAnswer, WhyCause, WhyView};

/// Why this member leads or does not.
pub fn why(name: &str, view: &WhyView) -> WhyAnswer {
    let own = view.status(name);
    let found = leading(name, own, view)
        .or_else(|| other_node(name, view))
        .or_else(|| own.and_then(|own| of_itself(name, own, view)))
        .or_else(|| rejected(name, own, view))
        .or_else(|| unheard(name, own, view))
        .or_else(|| own.and_then(|own| without_leader(own, view)))
        .or_else(|| seen(name, view))
        .or_else(|| compared(name, own, view));
    found.unwrap_or_else(|| {
        WhyAnswer::new(WhyCause::NoLeader, "no node that answers knows more of it")
    })
}

fn leading(name: &str, own: Option<&Status>, view: &WhyView) -> Option<WhyAnswer> {
    match view.leader.filter(|leader| leader.name == name) {
        None => {
            let own = own.filter(|own| own.leads())?;
            let other = view.leader.map_or("another", |leader| &leader.name);
            let reason = format!(
                "in epoch {} beside {other}, of a greater epoch, as the two do not hear each other",
                own.epoch
            );
            let prevented = "\"quorum\": \"majority\" in the file prevents this";
            Some(WhyAnswer::new(WhyCause::LeadsToo, reason).remedy(prevented))
        }
        Some(leader) => {
            let since = led::since(|| answers(&view.asked), view.now_ms);
            let since = since.map_or_else(String::new, |since| format!(", {since}"));
            let begin = format!("in epoch {}{since}", leader.epoch);
            let chosen = view.best.and_then(|best| best.switchover.as_deref()) == Some(name);
            let higher = higher(name, view);
            let why = match higher.as_slice() {
                _ if chosen => {
                    let reason = format!("{begin}. An operator chose it, whatever its rank");
                    return Some(
                        WhyAnswer::new(WhyCause::Leads, reason)
                            .remedy(ends(Hint::SwitchoverClear, view)),
                    );
                }
                [] => "Of the members that may lead, none ranks higher".to_owned(),
                higher => format!("{} would rank higher", higher.join(", ")),
            };
            Some(match restless(view) {
                None => WhyAnswer::new(WhyCause::Leads, format!("{begin}. {why}")),
                Some(found) => {
                    WhyAnswer::new(WhyCause::Leads, format!("{begin}. {why}. But {found}"))
                        .remedy(ProblemKind::LeaderChanges.remedy(Subject::default(), view.flags()))
                }
            })
        }
    }
}

/// That the leader changes again and again, if a node says so.
fn restless<'v>(view: &'v WhyView) -> Option<&'v str> {
    let mut problems = view.judgement.problems.iter();
    problems.find(|it| it.is(ProblemKind::LeaderChanges)).map(|found| found.text.as_str())
}

/// That this command ends what keeps it from leading.
fn ends(hint: Hint, view: &WhyView) -> String {
    format!("{} ends that", hint.by(view.flags()))
}

/// The members that rank above this one and may lead, as far as the best view knows.
fn higher<'a>(name: &str, view: &WhyView<'a>) -> Vec<&'a str> {
    let Some((best, own)) = view.best.zip(view.member(name)) else { return Vec::new() };
    let may_lead = |member: &&MemberStatus| {
        // A member that cannot write its state is not the one that takes over.
        member.may_lead() && !view.status(&member.name).is_some_and(Status::is_silenced)
    };
    let above = best.members.iter().filter(may_lead).filter(|member| ranks_above(member, own));
    above.map(|member| member.name.as_str()).collect()
}

/// Another node, or none that belongs here, answers at its address.
fn other_node(name: &str, view: &WhyView) -> Option<WhyAnswer> {
    let Err(Silence::Other(sentence)) = view.answer(name)? else { return None };
    let why = WhyAnswer::new(WhyCause::OtherNode, sentence.clone());
    Some(why.remedy("give both hosts the same file, or correct the `admin` addresses in it"))
}

/// What keeps it from leading, as it says itself.
fn of_itself(name: &str, own: &Status, view: &WhyView) -> Option<WhyAnswer> {
    let mended = |kind: ProblemKind| kind.remedy(Subject::of(name), view.flags());
    if own.stalled {
        let reason = "its election thread missed its turn, so it counts itself as failed";
        let why = WhyAnswer::new(WhyCause::Stalled, reason);
        return Some(why.remedy(mended(ProblemKind::Stalled)));
    }
    if let Some(problem) = own.problem(ProblemKind::Storage) {
        let reason = format!("it cannot keep its state: {}", problem.text);
        let why = WhyAnswer::new(WhyCause::Storage, reason);
        return Some(why.remedy(mended(ProblemKind::Storage)));
    }
    // The others hear a member that they refuse.
    if let Some(why) = rejected(name, Some(own), view).or_else(|| nobody::cut_off(own, view)) {
        return Some(why);
    }
    let reason = unable::own(own)?;
    let undrain = Hint::Undrain.at(name, view.flags());
    let (cause, remedy) = if own.member(name).is_some_and(|member| !member.could_ever_lead()) {
        return Some(WhyAnswer::new(WhyCause::Role, reason)); // as it is meant
    } else if own.drain.is_some() {
        (WhyCause::Drained, format!("{undrain} ends that"))
    } else if own.resigned {
        let reason = "it resigned, as it was ordered to, and leads only if no other can";
        let why = WhyAnswer::new(WhyCause::Resigned, reason);
        return Some(why.remedy(format!("{undrain} lets it lead again")));
    } else if own.health.as_ref().is_some_and(|health| !health.healthy) {
        (WhyCause::Unhealthy, mended(ProblemKind::Health))
    } else if own.failure.is_some() {
        (WhyCause::Job, mended(ProblemKind::Job))
    } else {
        (WhyCause::NoRank, mended(ProblemKind::Rank))
    };
    Some(WhyAnswer::new(cause, reason).remedy(remedy))
}

fn rejections(status: &Status) -> impl Iterator<Item = &Problem> {
    status.problems.iter().filter(|problem| problem.is(ProblemKind::Rejected))
}

/// That it is kept apart, as it and another member refuse each other.
fn rejected(name: &str, own: Option<&Status>, view: &WhyView) -> Option<WhyAnswer> {
    let is_apart = own.is_some_and(|own| own.leader.is_none())
        || view.member(name).is_some_and(|member| !member.is_alive());
    let by_own = own.into_iter().flat_map(rejections);
    let by_own = by_own.filter(|problem| view.names.contains(problem.about.as_str()));
    let about_it = view.best.into_iter().flat_map(rejections);
    let mut all = by_own.chain(about_it.filter(|problem| problem.about == name));
    let problem = all.next().filter(|_| is_apart)?;
    let reason = format!("it and another member refuse each other: {}", problem.text);
    let by = |status: &Status| status.refusal(&problem.about);
    let found = own.and_then(by).or_else(|| view.best.and_then(by));
    let found = found.unwrap_or(MutualRefusal::by(RefusalCause::Other));
    Some(WhyAnswer::new(WhyCause::Rejected, reason).remedy(found.remedy(view.flags())))
}

/// That others do not hear it.
fn unheard(name: &str, own: Option<&Status>, view: &WhyView) -> Option<WhyAnswer> {
    let (best, member) = view.best.zip(view.member(name))?;
    if member.is_alive() || best.node.name == name {
        return None;
    }
    let by = &best.node.name;
    if own.is_none() && best.is_cut_off() {
        return Some(WhyAnswer::new(
            WhyCause::Unknown,
            format!("{by} hears nobody, and {name} does not answer here"),
        ));
    }
    let dial = member.failed_dial.as_ref().map(|dial| format!("; the last dial: {dial}"));
    let dial = dial.unwrap_or_default();
    if own.is_some() {
        let reason = format!("it answers here, but {by} does not hear it{dial}");
        let remedy = format!("look at the network between {name} and {by}, at {}", member.address);
        return Some(WhyAnswer::new(WhyCause::Unheard, reason).remedy(remedy));
    }
    let here = match view.answer(name).and_then(|answer| answer.as_ref().err()) {
        None | Some(Silence::NotServed) => String::new(),
        Some(Silence::Other(why) | Silence::None(why)) => {
            format!("; it does not answer here: {why}")
        }
    };
    let reason = format!("{by} does not hear it{dial}{here}");
    let of = Subject { about: Some(name), missed: member.missed(), ..Subject::default() };
    let remedy = ProblemKind::PeerDown.remedy(of, view.flags());
    Some(WhyAnswer::new(WhyCause::Down, reason).remedy(remedy))
}

/// It answers, and knows no leader.
fn without_leader(own: &Status, view: &WhyView) -> Option<WhyAnswer> {
    if own.leader.is_some() {
        return None;
    }
    Some(match own.phase() {
        Some(Phase::Starting) => WhyAnswer::new(
            WhyCause::Starting,
            "it has just started, and looks for the others before it elects, for about the failure time",
        ),
        _ => nobody::of_node(own, view),
    })
}

/// What another node sees of it.
fn seen(name: &str, view: &WhyView) -> Option<WhyAnswer> {
    let member = view.member(name)?;
    if let Some(reason) = unable::never(member) {
        return Some(WhyAnswer::new(WhyCause::Role, reason));
    }
    if let Some(why) = &member.passed_over {
        let reason = format!("elections pass it over: it {why}");
        let remedy = format!(
            "look at the log of {name} and at its link to the others at {}; it counts again when it has been steady",
            member.address
        );
        return Some(WhyAnswer::new(WhyCause::PassedOver, reason).remedy(remedy));
    }
    if !member.eligible {
        let reason = "it says that it is not eligible, and does not answer here";
        let remedy = format!("{} on its host says why", Hint::Status.at(name, view.flags()));
        return Some(WhyAnswer::new(WhyCause::NotEligible, reason).remedy(remedy));
    }
    None
}

/// Why the leader leads instead.
fn compared(name: &str, own: Option<&Status>, view: &WhyView) -> Option<WhyAnswer> {
    let (best, leader) = view.best.zip(view.leader)?;
    let (member, ahead) = view.member(name).zip(view.member(&leader.name))?;
    let (leads, switch) = (
        &leader.name,
        format!("{} has it lead all the same", Hint::SwitchoverTo.at(name, view.flags())),
    );
    if best.switchover.as_ref() == Some(leads) {
        let why = WhyAnswer::new(
            WhyCause::Switchover,
            format!("an operator chose {leads}, whatever its rank"),
        );
        return Some(why.remedy(ends(Hint::SwitchoverClear, view)));
    }
    if !ranks_above(member, ahead) {
        let [its, other] = [member, ahead].map(rank);
        let reason = match (its, other) {
            (Some(its), Some(other)) if its == other => {
                format!("{leads} ranks higher by its id, as both have {its}")
            }
            (Some(its), Some(other)) => format!("{leads} ranks higher: {other}, against {its}"),
            _ => format!("{leads} ranks higher, by id"),
        };
        return Some(WhyAnswer::new(WhyCause::Rank, reason).remedy(switch));
    }
    if let Some(pause) = &best.pause {
        let reason = format!(
            "it ranks higher than {leads}, but the cluster is paused since {}",
            pause.since
        );
        return Some(WhyAnswer::new(WhyCause::Paused, reason).remedy(ends(Hint::Resume, view)));
    }
    if best.never_preempts() {
        let reason = format!(
            "it ranks higher than {leads}, which stays while it lives and is eligible (preempt never)"
        );
        return Some(WhyAnswer::new(WhyCause::Preempt, reason).remedy(switch));
    }
    let takeover = own.and_then(|own| own.takeover.clone());
    let due = best.takeovers.get(name);
    let reason = match (takeover, due) {
        (Some(takeover), Some(due)) => takeover.not_before(due, &best.preempt).words(),
        (Some(takeover), None) => takeover.words(),
        (None, _) => format!(
            "ranks higher than {leads}, but not by more than the margin, or has only just come"
        ),
    };
    Some(WhyAnswer::new(WhyCause::Takeover, format!("it {reason}")).remedy(switch))
}

/// Whether this member ranks above the other: by its value, then by its id.
fn ranks_above(member: &MemberStatus, other: &MemberStatus) -> bool {
    let key = |member: &MemberStatus| (member.rank.value.as_i64(), member.id.clone());
    key(member) > key(other)
}

/// Its rank in words; none if the id alone ranks.
fn rank(member: &MemberStatus) -> Option<String> {
    let rank = &member.rank;
    let value = rank.value.as_i64()?;
    Some(format!("{} {value}", rank.by))
}
