//! Why an election took more or fewer messages than the formulas say: they are for one in which nobody fails meanwhile.

use std::collections::BTreeSet;

use super::event::{DrawnEvent, DrawnWhat};
use super::merge::Merged;
use crate::core::Phase;
use crate::core::message::Kind;
use crate::core::settings::AlgorithmKind;

/// Why the number of messages is outside of these bounds, in words; none if it is within.
pub fn why(merged: &Merged, algorithm: AlgorithmKind, (least, most): (u64, u64)) -> Option<String> {
    let kinds = Kind::of(algorithm);
    let count = |kind: &Kind| merged.messages.get(&(*kind).into()).copied().unwrap_or(0);
    let total: u64 = kinds.iter().map(count).sum();
    if (least..=most).contains(&total) {
        return None;
    }
    let found = Meanwhile::of(merged, kinds);
    let silent = merged.silent.iter().filter(|name| !found.dead.contains(*name)).count();
    let reasons = [
        (silent, "one member has no record of it", "members have no record of it"),
        (merged.left_out, "an earlier event is left out", "earlier events are left out"),
        (found.started, "a member was started meanwhile", "starts of members came meanwhile"),
        (found.died, "a member died meanwhile", "members died meanwhile"),
        (found.lost, "a message was lost", "messages were lost"),
        (found.again, "it was called again", "times it was called again"),
        (found.to_the_dead, "a message went to a dead member", "messages went to dead members"),
        (
            found.otherwise,
            "a member got the leader by another message",
            "members got the leader by other messages",
        ),
    ];
    let side = if total < least { "fewer" } else { "more" };
    let some = reasons.into_iter().filter(|(count, ..)| *count > 0);
    let some = some.map(|(count, one, several)| match count {
        1 => one.to_owned(),
        count => format!("{count} {several}"),
    });
    let some: Vec<String> = some.collect();
    Some(match &some[..] {
        [] => format!("{side}, and the records do not show why"),
        some => format!("{side}: {}", some.join(", ")),
    })
}

/// What happened meanwhile that no formula has.
#[derive(Default)]
struct Meanwhile {
    dead: BTreeSet<String>,
    died: usize,
    started: usize,
    lost: usize,
    to_the_dead: usize,
    again: usize,
    otherwise: usize,
}

impl Meanwhile {
    fn of(merged: &Merged, kinds: &[Kind]) -> Meanwhile {
        let mut found = Meanwhile::default();
        let (mut gone, mut rounds) = (BTreeSet::new(), BTreeSet::new());
        let elects =
            |event: &DrawnEvent| event.what.kind().is_some_and(|kind| kinds.contains(&kind));
        for (at, event) in merged.events.iter().enumerate() {
            match &event.what {
                DrawnWhat::Dies => {
                    // The election is for the leader that died before.
                    let is_before = merged.events[..at].iter().all(|it| it.what == DrawnWhat::Led);
                    found.died += usize::from(!is_before);
                    found.dead.extend(merged.names.get(event.node).cloned());
                    gone.insert(event.node);
                }
                DrawnWhat::Starts => {
                    found.started += 1;
                    gone.remove(&event.node);
                }
                DrawnWhat::Sends { to, message, lost, .. } if elects(event) => {
                    found.lost += usize::from(*lost);
                    found.to_the_dead += usize::from(gone.contains(to) && !lost);
                    rounds.extend(message.number);
                }
                DrawnWhat::Becomes { phase: Phase::Following, .. } => {
                    let sent = event.causes.iter().filter_map(|at| merged.events.get(*at));
                    let mut sent = sent.filter(|cause| cause.what.kind().is_some()).peekable();
                    let is_other = sent.peek().is_some() && !sent.any(elects);
                    found.otherwise += usize::from(is_other);
                }
                _ => {}
            }
        }
        found.again = rounds.len().saturating_sub(1);
        found
    }
}
