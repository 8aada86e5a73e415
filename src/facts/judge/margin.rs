//! How many more failures a cluster tolerates, and what keeps it from electing a leader. A voter that cannot vote does not
//! count.

use super::super::asked::{Asked, answers, best};
use super::super::hindrance::{self, Hindrance};
use super::super::hint::ClusterFlags;
use super::super::leaderless::LeaderlessStatus;
use super::super::majority;
use super::super::problem::Missed;
use super::super::refused::{MutualRefusal, RefusalCause};
use super::super::status::{MemberStatus, Status};
use super::super::words::{and, and_some, some_of};

/// How many more failures are tolerated.
pub(super) struct Spare {
    pub tolerated: u64,
    /// How many it would be if all members were well.
    pub at_most: u64,
    /// What keeps voters from voting, in words, but for those that hear nobody; or else, if the margin is gone, what keeps
    /// members from leading. Empty if nothing does.
    pub unable: String,
}

/// Why nobody leads, where that does not end by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// What keeps the members from it.
    pub how: How,
    /// The same in words, such as "b and c are down".
    pub reason: String,
    /// What has to be done.
    pub remedy: String,
}

/// What a cluster lacks for a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Too few voters can vote.
    Voters,
    /// No voter knows enough of the others, as at a first start.
    Informed,
    /// No member may lead.
    Candidates,
}

/// A member, with what hinders it.
type Hindered<'a> = (&'a MemberStatus, Vec<Hindrance>);

/// The members, as the leader or a node that follows it sees them; without one, as the node does that hears most.
pub(super) struct SeenMembers<'a> {
    seen_by: &'a Status,
    all: Vec<Hindered<'a>>,
}

impl<'a> SeenMembers<'a> {
    /// None if no node answers.
    pub fn of(asked: &[Asked<'a>]) -> Option<SeenMembers<'a>> {
        let led = best(answers(asked)).filter(|best| best.named_leader().is_some());
        let most = || {
            answers(asked).max_by_key(|one| {
                let alive = one.members.iter().filter(|member| member.is_alive()).count();
                (!one.stalled && !one.is_cut_off(), alive)
            })
        };
        let seen_by = led.or_else(most)?;
        let hindered = |member| (member, hindrance::of(member, seen_by, asked));
        Some(SeenMembers { seen_by, all: seen_by.members.iter().map(hindered).collect() })
    }

    /// What hinders each member that something hinders.
    pub fn hindrances(&self) -> Vec<(String, Vec<Hindrance>)> {
        let hindered = self.all.iter().filter(|(_, found)| !found.is_empty());
        hindered.map(|(member, found)| (member.name.clone(), found.clone())).collect()
    }
}

/// The first thing that keeps the member from voting.
fn silenced<'a>((_, hindrances): &'a Hindered) -> Option<&'a Hindrance> {
    hindrances.iter().find(|it| it.silences())
}

pub(super) fn of(asked: &[Asked], members: Option<&SeenMembers>) -> Spare {
    let known = answers(asked).filter(|one| one.leader.is_some() && !one.is_cut_off());
    let told = known
        .map(|one| (!one.leads(), one.failures_tolerated, one.failures_tolerated_at_most))
        .min();
    let (_, told, at_most) = told.unwrap_or_default();
    let led = members.filter(|members| members.seen_by.named_leader().is_some());
    let Some(SeenMembers { seen_by, all: members }) = led else {
        return Spare { tolerated: told, at_most, unable: String::new() };
    };
    let silent: Vec<(&MemberStatus, &Hindrance)> = members
        .iter()
        .filter(|it| it.0.votes())
        .filter_map(|it| Some((it.0, silenced(it)?)))
        .collect();
    let unable = silent.iter().filter(|(member, _)| member.is_alive()).count();
    let candidates = members.iter().filter(|it| it.0.may_lead() && it.1.is_empty()).count();
    let (_, alive, needed) = seen_by.voters();
    let voters = alive.saturating_sub(unable);
    let spare = if seen_by.by_majority() { voters.saturating_sub(needed) } else { usize::MAX };
    let seen = spare.min(candidates.saturating_sub(1)) as u64;
    // That one hears nobody is said first, and who hears nobody knows nothing of the others.
    let is_unsaid = |why: &Hindrance| *why != Hindrance::CutOff && !seen_by.is_cut_off();
    let unsaid = silent.iter().filter(|(_, why)| is_unsaid(why));
    let mut unsaid: Vec<(&str, &Hindrance)> =
        unsaid.map(|(member, why)| (member.name.as_str(), *why)).collect();
    let tolerated = if unable == 0 { told } else { told.min(seen) };
    if silent.is_empty() && tolerated == 0 && at_most > 0 {
        let candidates = members.iter().filter(|it| it.0.could_ever_lead());
        unsaid = candidates.filter_map(|it| Some((it.0.name.as_str(), it.1.first()?))).collect();
    }
    Spare { tolerated, at_most, unable: reason(&unsaid) }
}

/// What keeps the members from electing a leader, if something has to be done about it.
pub(super) fn stuck(asked: &[Asked], members: &SeenMembers, flags: &ClusterFlags) -> Option<Stuck> {
    let SeenMembers { seen_by, all: members } = members;
    let voters: Vec<&Hindered> = members.iter().filter(|it| it.0.votes()).collect();
    let mut silent: Vec<(&str, &Hindrance)> =
        voters.iter().filter_map(|it| Some((it.0.name.as_str(), silenced(it)?))).collect();
    let missing = majority::of(voters.len()).saturating_sub(voters.len() - silent.len());
    if seen_by.by_majority() && missing > 0 {
        if let Some(stuck) = refused_by_all(seen_by, &silent, flags) {
            return Some(stuck);
        }
        silent.sort_by_key(|(_, why)| effort(why));
        let waits = |it: &&(&str, &Hindrance)| matches!(it.1, Hindrance::Waits(_));
        let waiting: Vec<(&str, &Hindrance)> = silent.iter().filter(waits).copied().collect();
        // A voter that waits names those that are missing.
        return Some(if waiting.is_empty() {
            let remedy = remedies_of(&silent, missing, flags);
            Stuck { how: How::Voters, reason: reason(&silent), remedy }
        } else {
            let remedy = remedies(waiting.iter(), flags);
            Stuck { how: How::Informed, reason: reason(&waiting), remedy }
        });
    }
    let candidates: Vec<&Hindered> = members.iter().filter(|it| it.0.could_ever_lead()).collect();
    if candidates.is_empty() || candidates.iter().any(|it| it.1.is_empty()) {
        return None;
    }
    // Some of these lead if no other can: the nodes know.
    let is_told =
        |one: &Status| one.leaderless.as_ref().is_some_and(LeaderlessStatus::has_no_candidate);
    if !answers(asked).any(is_told) {
        return None;
    }
    let each: Vec<(&str, &Hindrance)> =
        candidates.iter().map(|it| (it.0.name.as_str(), &it.1[0])).collect();
    let ends: Vec<_> = each.iter().filter(|(_, why)| !why.silences()).take(1).collect();
    Some(Stuck {
        how: How::Candidates,
        reason: format!("no member may lead: {}", reason(&each)),
        remedy: remedies(ends.into_iter(), flags),
    })
}

/// That this node and all other voters refuse each other: it is the odd one, whomever it waits for.
fn refused_by_all(
    seen_by: &Status,
    silent: &[(&str, &Hindrance)],
    flags: &ClusterFlags,
) -> Option<Stuck> {
    let others = silent.iter().filter(|(name, _)| *name != seen_by.node.name);
    let causes = others.map(|(_, why)| match why {
        Hindrance::Refused(refusal) => Some(refusal.as_ref()),
        _ => None,
    });
    let causes = causes.collect::<Option<Vec<_>>>()?;
    let others = seen_by.members.iter().filter(|it| it.votes() && it.id != seen_by.node.id);
    let is_alone = causes.len() > 1 && causes.len() == others.count();
    let cause =
        causes.into_iter().flatten().next().map_or(RefusalCause::Other, |found| found.cause);
    let refused = seen_by.placed(&seen_by.node.name);
    is_alone.then(|| Stuck {
        how: How::Voters,
        reason: format!("{} and all others refuse each other", seen_by.node.name),
        remedy: MutualRefusal { cause, refused }.remedy(flags),
    })
}

/// What is mended first: a process that runs and lacks something, before one that has to be started.
fn effort(why: &Hindrance) -> u8 {
    match why {
        Hindrance::Disk(_) => 0,
        Hindrance::Stalled | Hindrance::CutOff | Hindrance::Unheard(_) | Hindrance::NotKnown(_) => {
            1
        }
        Hindrance::Refused(_) => 2,
        Hindrance::Down(Missed::Silent(_)) => 4,
        Hindrance::Waits(_) => 5,
        _ => 3,
    }
}

/// What is wrong with each, those that are down in one sentence.
fn reason(all: &[(&str, &Hindrance)]) -> String {
    let named =
        |down: bool| all.iter().filter(move |(_, why)| matches!(why, Hindrance::Down(_)) == down);
    let mut parts: Vec<String> = named(false).map(|(name, why)| why.words(name)).collect();
    let down: Vec<String> = named(true).map(|(name, _)| (*name).to_owned()).collect();
    parts.extend(match down.as_slice() {
        [] => None,
        [one] => Some(format!("{one} is down")),
        several => Some(format!("{} are down", and_some(several))),
    });
    and(&parts)
}

/// What brings back so many of these: those that run and lack something, then any of those whose process ended, and then
/// of those that are silent.
fn remedies_of(silent: &[(&str, &Hindrance)], missing: usize, flags: &ClusterFlags) -> String {
    let is_down = |it: &&(&str, &Hindrance)| matches!(it.1, Hindrance::Down(_));
    let (down, others): (Vec<_>, Vec<_>) = silent.iter().partition(is_down);
    let mended = remedies(others.iter().take(missing).copied(), flags);
    let has_ended = |it: &&(&str, &Hindrance)| *it.1 == Hindrance::Down(Missed::Ended);
    let (ended, unknown): (Vec<_>, Vec<_>) = down.into_iter().partition(has_ended);
    let left = missing.saturating_sub(others.len());
    let started = brought_back(&ended, left.min(ended.len()));
    let found = brought_back(&unknown, left.saturating_sub(ended.len()));
    and(&[mended, started, found].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>())
}

/// What brings back so many of these, which are all missed alike.
fn brought_back(down: &[&(&str, &Hindrance)], count: usize) -> String {
    let names: Vec<String> = down.iter().map(|(name, _)| (*name).to_owned()).collect();
    match down.first() {
        Some((_, Hindrance::Down(missed))) if count == names.len() => missed.first_step(&names),
        Some((_, Hindrance::Down(Missed::Silent(_)))) if count > 0 => {
            let whose = if count == 1 { "its host is" } else { "their hosts are" };
            format!(
                "bring back {count} of {}: look whether {whose} up and can be reached",
                some_of(&names)
            )
        }
        Some(_) if count > 0 => format!("start {count} of {}", some_of(&names)),
        _ => String::new(),
    }
}

fn remedies<'a>(
    of: impl Iterator<Item = &'a (&'a str, &'a Hindrance)>,
    flags: &ClusterFlags,
) -> String {
    let mut all: Vec<String> = Vec::new();
    for (name, why) in of {
        let remedy = why.remedy(name, flags);
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    and(&all)
}
