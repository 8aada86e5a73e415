//! What is wrong, each cause once: who tells it, what to do, and what of it stands in one line.

use std::fmt;

use super::super::asked::{Asked, Silence, answers};
use super::super::hindrance::Hindrance;
use super::super::hint::ClusterFlags;
use super::super::problem::{Missed, ProblemKind, Subject};
use super::super::refused::{MutualRefusal, RefusalCause};
use super::super::status::{Problem, Status};
use super::super::words::some_of;
use super::{How, Verdict};

/// Something that is wrong, once for all nodes that tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterTrouble {
    /// The names of the nodes that tell it; none if the command itself found it.
    pub nodes: Vec<String>,
    /// As in the problems of a node; of a node that does not answer there is none.
    pub kind: String,
    /// The member that it is about, if it is about another than those that tell it.
    pub about: String,
    /// What is wrong, in words.
    pub text: String,
    /// Since when, as the first that tells it says.
    pub since: String,
    /// How that member is missed.
    pub missed: Missed,
    /// That member and the node refuse each other.
    pub refusal: Option<MutualRefusal>,
}

impl fmt::Display for ClusterTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClusterTrouble { nodes, kind, text, .. } = self;
        match nodes.as_slice() {
            [] => f.write_str(text),
            nodes => write!(f, "{}: {kind}: {text}", some_of(nodes)),
        }
    }
}

impl ClusterTrouble {
    /// Whether it is of this kind.
    #[must_use]
    pub fn is(&self, kind: ProblemKind) -> bool {
        self.kind == kind.name()
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self, flags: &ClusterFlags) -> Option<String> {
        let node = if let [one] = self.nodes.as_slice() { Some(one.as_str()) } else { None };
        let about = Some(&*self.about).filter(|about| !about.is_empty());
        let (missed, refusal) = (self.missed.clone(), self.refusal.clone());
        let of = Subject { node, about, missed, refusal };
        ProblemKind::of(&self.kind).map(|kind| kind.remedy(of, flags))
    }
}

/// All that is wrong.
pub(super) fn of(asked: &[Asked]) -> Vec<ClusterTrouble> {
    silent(asked).chain(reported(asked)).collect()
}

/// The nodes that do not answer, or another one in their place.
fn silent(asked: &[Asked]) -> impl Iterator<Item = ClusterTrouble> {
    let trouble = |about: String, text| ClusterTrouble {
        nodes: vec![],
        kind: String::new(),
        about,
        text,
        since: String::new(),
        missed: Missed::default(),
        refusal: None,
    };
    asked.iter().filter_map(move |asked| match asked.answer.as_ref().err()? {
        Silence::NotServed => None,
        Silence::Other(sentence) => Some(trouble(String::new(), sentence.clone())),
        Silence::None(error) => {
            let name = asked.name;
            Some(trouble(name.to_owned(), format!("{name} does not answer: {error}")))
        }
    })
}

/// The problems that nodes tell, with their names: what one sees, another may not. That a node is cut off is one cause:
/// that it misses the others, and they miss it, follows from that. So it is with one that stalls, and with one whom the
/// leader refuses, or does not list as a member.
fn reported(asked: &[Asked]) -> Vec<ClusterTrouble> {
    let is_cut_off =
        |name: &str| answers(asked).any(|one| one.node.name == name && one.is_cut_off());
    let is_stalled = |name: &str| answers(asked).any(|one| one.node.name == name && one.stalled);
    let leader = answers(asked).find(|one| one.leads());
    let is_refused = |name: &str| {
        let refuses = |it: &Problem| it.is(ProblemKind::Rejected) && it.about == name;
        leader.is_some_and(|leader| leader.node.name != name && leader.problems.iter().any(refuses))
    };
    let is_stranger = |status: &Status| {
        leader.is_some_and(|leader| {
            !leader.members.is_empty() && leader.member(&status.node.name).is_none()
        }) && status.problem(ProblemKind::Rejected).is_some()
    };
    let is_apart = |status: &Status| {
        status.is_cut_off() || is_refused(&status.node.name) || is_stranger(status)
    };
    let follows = |status: &Status, kind: Option<ProblemKind>, about: &str| match kind {
        Some(ProblemKind::PeerDown) => {
            is_apart(status) || is_cut_off(about) || is_refused(about) || is_stalled(about)
        }
        Some(ProblemKind::QuorumMargin) => is_apart(status),
        Some(ProblemKind::Rejected) => is_refused(&status.node.name) || is_stranger(status),
        _ => false,
    };
    let mut reported: Vec<ClusterTrouble> = Vec::new();
    for status in answers(asked) {
        reported.extend(Some(status).filter(|one| is_stranger(one)).map(no_member));
        for found in &status.problems {
            if follows(status, ProblemKind::of(&found.kind), &found.about) {
                continue;
            }
            // How often the leader changed is one cause, though each node counts since its own start.
            let is_one = found.is(ProblemKind::LeaderChanges);
            let same = |known: &&mut ClusterTrouble| {
                known.kind == found.kind && (is_one || known.text == found.text)
            };
            match reported.iter_mut().find(same) {
                Some(known) => add_once(&mut known.nodes, &status.node.name),
                None => reported.push(ClusterTrouble {
                    nodes: vec![status.node.name.clone()],
                    kind: found.kind.clone(),
                    about: found.about.clone(),
                    text: found.text.clone(),
                    since: found.since.clone(),
                    missed: status.missed(&found.about),
                    refusal: status.refusal(&found.about),
                }),
            }
        }
    }
    reported
}

/// That the leader does not list this node, which the members refuse for that.
fn no_member(status: &Status) -> ClusterTrouble {
    let name = &status.node.name;
    let cause = status.rejections.iter().find_map(|it| it.cause);
    let cause = cause.unwrap_or(RefusalCause::UnknownId);
    ClusterTrouble {
        nodes: vec![name.clone()],
        kind: ProblemKind::Rejected.name().to_owned(),
        about: String::new(),
        text: format!("{name} is no member: the cluster does not list it, and refuses it"),
        since: status.problem(ProblemKind::Rejected).map(|it| it.since.clone()).unwrap_or_default(),
        missed: Missed::default(),
        refusal: Some(MutualRefusal { cause, refused: status.placed(name) }),
    }
}

/// What to do about a node that does not answer, and of which no other says that it is down.
const NO_ANSWER: &str = "look whether it runs, and whether its `admin` address can be reached";

/// That these nodes do not answer, if there are any.
fn no_answer(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some(format!("{one} does not answer")),
        several => Some(format!("{} do not answer", some_of(several))),
    }
}

/// Adds a name, once.
pub(super) fn add_once(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

impl super::Judgement {
    /// What hinders the member of this name from voting or leading, the worst first.
    #[must_use]
    pub fn hindrances_of(&self, name: &str) -> &[Hindrance] {
        let found = self.hindrances.iter().find(|(member, _)| member == name);
        found.map_or(&[], |(_, found)| found)
    }

    /// The problems that this command found itself, and those that nodes told.
    fn by_source(&self) -> (Vec<&ClusterTrouble>, Vec<&ClusterTrouble>) {
        self.problems.iter().partition(|it| it.nodes.is_empty())
    }

    /// What is wrong besides what the headline says, a line each, with what to do. Whom to start, a headline that says so has
    /// said.
    #[must_use]
    pub fn besides(&self) -> Vec<(String, Option<String>)> {
        let boxes = self.boxes();
        let (silent, told): (Vec<&ClusterTrouble>, Vec<&ClusterTrouble>) =
            boxes.iter().partition(|it| it.nodes.is_empty());
        let unheard = silent.iter().map(|it| it.about.clone()).filter(|it| !it.is_empty());
        let unheard = no_answer(&unheard.collect::<Vec<_>>());
        let mut lines: Vec<(String, Option<String>)> =
            unheard.map(|words| (words, Some(NO_ANSWER.to_owned()))).into_iter().collect();
        let others = silent.iter().filter(|it| it.about.is_empty());
        lines.extend(others.map(|it| (it.text.clone(), None)));
        // That a node is cut off, and whom a first start waits for, the headline says first.
        let is_said = |it: &ClusterTrouble| {
            it.is(ProblemKind::CutOff) || it.is(ProblemKind::PeerDown) && it.about.is_empty()
        };
        let remedy = |it: &ClusterTrouble| {
            let starts = self.stuck.is_some() && it.is(ProblemKind::PeerDown);
            self.remedy_of(it).filter(|_| !starts)
        };
        lines.extend(told.iter().filter(|it| !is_said(it)).map(|it| (it.to_string(), remedy(it))));
        lines
    }

    /// What to do about this: whom a first start waits for is to be started.
    pub(super) fn remedy_of(&self, trouble: &ClusterTrouble) -> Option<String> {
        let awaited = trouble.is(ProblemKind::PeerDown) && trouble.about.is_empty();
        let stuck = self.stuck.as_ref().filter(|_| awaited);
        stuck.map(|stuck| stuck.remedy.clone()).or_else(|| trouble.remedy(&self.flags))
    }

    /// What is wrong besides the number of voters, each cause once: that a member is down, whoever tells it, and not
    /// again that it does not answer; and at a first start once whom it waits for.
    #[must_use]
    pub fn boxes(&self) -> Vec<ClusterTrouble> {
        let (silent, reported) = self.by_source();
        let mut once: Vec<ClusterTrouble> = Vec::new();
        for trouble in reported.into_iter().filter(|it| !it.is(ProblemKind::QuorumMargin)) {
            let same = |known: &&mut ClusterTrouble| {
                trouble.is(ProblemKind::PeerDown)
                    && (&known.kind, &known.about) == (&trouble.kind, &trouble.about)
            };
            match once.iter_mut().find(same) {
                Some(known) => {
                    trouble.nodes.iter().for_each(|name| add_once(&mut known.nodes, name));
                    if trouble.missed == Missed::Ended && known.missed != Missed::Ended {
                        // A node that knows that the process ended knows more than one that hears nothing.
                        (known.text, known.missed) = (trouble.text.clone(), Missed::Ended);
                    }
                }
                None => once.push(trouble.clone()),
            }
        }
        let is_down =
            |about: &str| once.iter().any(|it| it.is(ProblemKind::PeerDown) && it.about == about);
        // A node that hears nobody cannot ask the others either.
        let is_blind = self.verdict == Verdict::CutOff;
        let is_said = |about: &str| is_blind || is_down(about);
        let unsaid = silent.into_iter().filter(|it| it.about.is_empty() || !is_said(&it.about));
        let unsaid: Vec<ClusterTrouble> = unsaid.cloned().collect();
        let (awaited, others): (Vec<ClusterTrouble>, Vec<ClusterTrouble>) =
            once.into_iter().partition(|it| self.is_awaited(it));
        let waits = awaited.into_iter().next().zip(self.stuck.as_ref()).map(|(first, stuck)| {
            ClusterTrouble { about: String::new(), text: stuck.reason.clone(), ..first }
        });
        unsaid.into_iter().chain(waits).chain(others).collect()
    }

    /// Whether this is that a member is down which a first start waits for, as the summary says.
    fn is_awaited(&self, trouble: &ClusterTrouble) -> bool {
        let waits = |found: &Hindrance| match found {
            Hindrance::Waits(others) => others.contains(&trouble.about),
            _ => false,
        };
        let is_first = self.stuck.as_ref().is_some_and(|stuck| stuck.how == How::Informed);
        let each = || self.hindrances.iter().flat_map(|(_, found)| found);
        is_first && trouble.is(ProblemKind::PeerDown) && each().any(waits)
    }
}
