//! Why nobody leads.

use electd_election::core;

use super::super::hindrance::Hindrance;
use super::super::hint::Hint;
use super::super::judge::{How, Stuck, Verdict};
use super::super::leaderless::LeaderlessStatus;
use super::super::status::Status;
use super::super::words::{and, counted};
use super::view::{WhyAnswer, WhyCause, WhyView};

/// Why nobody leads, as all nodes together tell it.
pub fn why(view: &WhyView) -> WhyAnswer {
    let judged = &view.judgement;
    if let Some(stuck) = &judged.stuck {
        let cause = match stuck.how {
            How::Voters => WhyCause::NoMajority,
            How::Informed => WhyCause::Uninformed,
            How::Candidates => WhyCause::NoCandidate,
        };
        return WhyAnswer::new(cause, stuck.reason.clone()).remedy(remedy_of(stuck));
    }
    if judged.verdict == Verdict::CutOff {
        return WhyAnswer::new(WhyCause::CutOff, judged.summary())
            .remedy(Hindrance::CutOff.remedy(&and(&judged.cut_off), view.flags()));
    }
    let reason = match judged.reasons.as_slice() {
        [] => "no node says why; an election may be under way".to_owned(),
        reasons => reasons.join("; "),
    };
    let cause = view.best.map_or(WhyCause::NoLeader, |best| of_node(best, view).cause);
    let remedy = view.best.and_then(|best| of_node(best, view).remedy);
    WhyAnswer { cause, reason, remedy }
}

/// What has to be done, or what is left where that can never be.
fn remedy_of(stuck: &Stuck) -> String {
    let lost = match stuck.how {
        How::Voters => {
            "; if that can never be, see \"When the majority is lost for good\" in docs/operations.md"
        }
        How::Informed | How::Candidates => "",
    };
    format!("{}{lost}", stuck.remedy)
}

/// That this node hears nobody, if it does not.
pub fn cut_off(own: &Status, view: &WhyView) -> Option<WhyAnswer> {
    let why = || WhyAnswer::new(WhyCause::CutOff, "it hears nobody: it is probably cut off");
    let remedy = || Hindrance::CutOff.remedy(&own.node.name, view.flags());
    own.is_cut_off().then(|| why().remedy(remedy()))
}

/// Why this node, which answers, knows no leader.
pub fn of_node(own: &Status, view: &WhyView) -> WhyAnswer {
    let known = own.leaderless.as_ref();
    let reason = known.map_or("it knows no leader yet", |known| known.reason.as_str());
    let ended = known.and_then(LeaderlessStatus::known_cause);
    if let Some(why) = cut_off(own, view) {
        return why;
    }
    let missing: Vec<&str> = (own.members.iter())
        .filter(|member| member.votes() && !member.is_alive())
        .map(|member| member.name.as_str())
        .collect();
    if known.is_some_and(LeaderlessStatus::is_uninformed) && !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(|name| (*name).to_owned()).collect();
        return WhyAnswer::new(WhyCause::Uninformed, reason)
            .remedy(format!("start {}", and(&missing)));
    }
    let (all, alive, needed) = own.voters();
    if own.by_majority() && alive < needed {
        let (all, are) = (counted(all, "voter"), if needed == 1 { "is" } else { "are" });
        let reason = format!("it hears {alive} of {all}, and {needed} {are} needed: {reason}");
        let remedy = match &view.judgement.stuck {
            Some(stuck) => remedy_of(stuck),
            None => {
                format!("look at the network between {} and {}", own.node.name, missing.join(", "))
            }
        };
        return WhyAnswer::new(WhyCause::NoMajority, reason).remedy(remedy);
    }
    if matches!(ended, Some(core::Cause::Uninformed | core::Cause::VotersUninformed)) {
        return WhyAnswer::new(WhyCause::Uninformed, reason).remedy(
            "start all voters, and mend the links between them; if this is the cluster's first start, restart more \
             than half of the voters with --bootstrap",
        );
    }
    if known.is_some_and(LeaderlessStatus::has_no_candidate) {
        return WhyAnswer::new(WhyCause::NoCandidate, reason);
    }
    if ended == Some(core::Cause::DiskLags) {
        let name = &own.node.name;
        let remedy = format!(
            "{} on its host measures the disk; give it a faster one",
            Hint::Check.at(name, view.flags())
        );
        return WhyAnswer::new(WhyCause::Storage, reason).remedy(remedy);
    }
    let cause = match (own.elects(), view.leader) {
        (true, None) => WhyCause::Electing,
        _ => WhyCause::NoLeader,
    };
    if view.judgement.stuck.is_some() {
        return WhyAnswer::new(cause, reason); // what has to be done is said of the cluster
    }
    WhyAnswer::new(cause, format!("{reason}; an election is under way, and ends by itself"))
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::{following, member, silent};
    use super::super::super::status::MemberStatus;
    use super::super::tests::{pair, seen_in};
    use super::super::{of_member, text_of};
    use super::*;

    /// Why nobody leads, by the answer of a alone, which has b in this status.
    fn told(cause: &str, quorum: &str, status: &str) -> (WhyCause, String) {
        let mut asked = following("a", None);
        let own = asked.answer.as_mut().unwrap();
        own.quorum = quorum.into();
        let observer = MemberStatus { role: "observer".into(), ..member("o") };
        let other = MemberStatus { status: status.into(), ..member("b") };
        own.members = vec![member("a"), other, observer];
        let (since, lasts_ms, reason) = ("then".into(), 1000, "the reason".into());
        own.leaderless = Some(LeaderlessStatus { since, lasts_ms, cause: cause.into(), reason });
        let asked = [asked, silent("b")];
        let view = seen_in(&asked);
        let nobody = super::why(&view);
        let text = text_of(&view, Some(&nobody), &[("a", of_member::why("a", &view))], true);
        (nobody.cause, text)
    }

    #[test]
    fn that_nobody_leads_is_told_with_what_the_nodes_miss() {
        let why = told;
        let electing = "the reason; an election is under way, and ends by itself";
        let told = "a: the reason";
        let lost = "; if that can never be, see \"When the majority is lost for good\" in docs/operations.md";
        let met = "start all voters, and mend the links between them";
        let bootstrap = format!(
            "{met}; if this is the cluster's first start, restart more than half of the voters with --bootstrap"
        );
        let measured =
            "`electd check --node a` on its host measures the disk; give it a faster one";
        let start = format!("start b{lost}");
        let heard = "it hears 1 of 2 voters, and 2 are needed: the reason";
        let waits = "a waits until it has met all voters";
        for (found, cause, nobody, do_this, words, remedy) in [
            (
                why("isolated", "majority", "dead"),
                WhyCause::NoMajority,
                "b is down",
                &*start,
                heard,
                &*start,
            ),
            (
                why("uninformed", "majority", "alive"),
                WhyCause::Uninformed,
                waits,
                met,
                "the reason",
                &*bootstrap,
            ),
            (
                why("voters_uninformed", "none", "dead"),
                WhyCause::Uninformed,
                told,
                &*bootstrap,
                "the reason",
                &*bootstrap,
            ),
            (
                why("may_not_lead", "none", "alive"),
                WhyCause::NoCandidate,
                told,
                "",
                "the reason",
                "",
            ),
            (
                why("disk_lags", "majority", "alive"),
                WhyCause::Storage,
                told,
                measured,
                "the reason",
                measured,
            ),
            (why("leader_dead", "none", "dead"), WhyCause::Electing, told, "", electing, ""),
            (why("leader_dead", "majority", "alive"), WhyCause::Electing, told, "", electing, ""),
        ] {
            let line = |remedy: &str| match remedy {
                "" => String::new(),
                remedy => format!("  => {remedy}\n"),
            };
            let (do_this, remedy) = (line(do_this), line(remedy));
            let text =
                format!("nobody leads: {nobody}\n{do_this}a does not lead: {words}\n{remedy}");
            assert_eq!(found, (cause, text));
        }
    }

    /// Whether it elects, or has yet to hear of the leader that others know.
    #[test]
    fn a_node_that_knows_no_leader_is_told_with_what_it_does() {
        let in_state = |state: &'static str, alone: bool| {
            let [mut a, b] = pair(9, 5, |_| ());
            let own = a.answer.as_mut().unwrap();
            (own.state, own.leader) = (state.into(), None);
            let asked = if alone { vec![a] } else { vec![a, b] };
            let WhyAnswer { cause, reason, remedy } = of_member::why("a", &seen_in(&asked));
            assert_eq!(remedy, None);
            (cause, reason)
        };
        let electing =
            "it knows no leader yet; an election is under way, and ends by itself".to_owned();
        for state in ["electing", "waiting", "halted", "reorganizing"] {
            assert_eq!(in_state(state, true), (WhyCause::Electing, electing.clone()), "{state}");
        }
        assert_eq!(in_state("following", true), (WhyCause::NoLeader, electing.clone()));
        assert_eq!(in_state("electing", false), (WhyCause::NoLeader, electing));
        let starting = "it has just started, and looks for the others before it elects, for about the failure time".to_owned();
        assert_eq!(in_state("starting", false), (WhyCause::Starting, starting));
    }

    /// An observer may be the only one that answers.
    #[test]
    fn the_voters_that_are_missed_are_counted_and_named() {
        let with = |voters: &[(&str, &str)]| {
            let mut asked = following("o", None);
            let own = asked.answer.as_mut().unwrap();
            own.quorum = "majority".into();
            let observer = MemberStatus { role: "observer".into(), ..member("o") };
            let voter = |(name, status): &(&str, &str)| MemberStatus {
                status: (*status).into(),
                ..member(name)
            };
            own.members = voters.iter().map(voter).chain([observer]).collect();
            let asked = [asked];
            let WhyAnswer { cause, reason, remedy } =
                of_node(asked[0].answer.as_ref().unwrap(), &seen_in(&asked));
            (
                cause,
                reason,
                remedy
                    .map(|remedy| remedy.split("; if that").next().unwrap_or_default().to_owned()),
            )
        };
        let missed = |reason: &str, remedy: &str| {
            (
                WhyCause::NoMajority,
                format!("{reason}: it knows no leader yet"),
                Some(remedy.to_owned()),
            )
        };
        let two = missed("it hears 1 of 4 voters, and 3 are needed", "start b and d");
        assert_eq!(with(&[("a", "alive"), ("b", "dead"), ("c", "suspected"), ("d", "dead")]), two);
        let one = missed("it hears 0 of 1 voter, and 1 is needed", "start a");
        assert_eq!(with(&[("a", "dead")]), one);
        assert_eq!(with(&[("a", "alive"), ("b", "alive"), ("c", "dead")]).0, WhyCause::Electing);
    }
}
