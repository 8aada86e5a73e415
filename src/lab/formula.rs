//! How many messages an election takes by the formulas of docs/algorithms.md: at least and at most for as many members as
//! live, and exactly for those that called it, if every message takes as long as the others and nobody fails meanwhile.

use serde_json::{Value, json};

use crate::core::Phase;
use crate::core::message::Kind;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::sim::Elected;
use crate::trace::merge::figures;
use crate::trace::{DrawnEvent, DrawnWhat};

use super::question::LabQuestion;

/// A formula with its numbers.
struct Formula {
    words: String,
    value: usize,
}

/// The formulas beside the count of an election, whose events are these among all. With a majority a candidate calls the
/// election again until the voters' promises to the old leader have expired: then there is no exact one.
pub fn object(
    question: &LabQuestion,
    elected: &Elected,
    own: &[&DrawnEvent],
    all: &[DrawnEvent],
) -> Value {
    let algorithm = question.algorithm;
    let range = figures::messages(algorithm, elected.alive.len());
    let initiators = initiators(own, all);
    let formula = match algorithm {
        _ if question.quorum == Quorum::Majority => None,
        AlgorithmKind::Bully => bully(elected, own, &initiators),
        AlgorithmKind::Halting => halting(elected, own, &initiators),
        AlgorithmKind::Ring => ring(elected, own, &initiators),
    };
    json!({
        "least": range.start(),
        "most": range.end(),
        "initiators": initiators,
        "words": formula.as_ref().map(|formula| formula.words.clone()),
        "exact": formula.map(|formula| formula.value),
    })
}

/// Those that called the election without a message that made them, by their numbers.
fn initiators(own: &[&DrawnEvent], all: &[DrawnEvent]) -> Vec<usize> {
    let calls = |event: &&&DrawnEvent| {
        let began = matches!(&event.what, DrawnWhat::Becomes { phase, .. } if phase.elects() || *phase == Phase::Leading);
        let by_message = |cause: &usize| matches!(all[*cause].what, DrawnWhat::Sends { .. });
        began && !event.causes.iter().any(by_message)
    };
    let mut numbers: Vec<usize> = own.iter().filter(calls).map(|event| event.node + 1).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// To whom messages of this kind were sent, and by whom.
fn sent(own: &[&DrawnEvent], kind: Kind) -> impl Iterator<Item = (usize, usize)> {
    own.iter().filter_map(move |event| match &event.what {
        DrawnWhat::Sends { to, message, .. } if message.kind == Some(kind) => {
            Some((event.node + 1, to + 1))
        }
        _ => None,
    })
}

fn bully(elected: &Elected, own: &[&DrawnEvent], initiators: &[usize]) -> Option<Formula> {
    let (alive, lowest) = (&elected.alive, *initiators.first()?);
    let m = alive.len();
    let dead = sent(own, Kind::Election).map(|(_, to)| to).filter(|to| !alive.contains(to));
    let top = dead.max();
    if let Some(n) = top {
        if alive.len() + 1 != n || lowest >= n {
            return None; // more than the leader is dead
        }
        let k = n - lowest;
        let words = format!("k² + N − 2, k = {k}, N = {n}");
        return Some(Formula { words, value: k * k + n - 2 });
    }
    let r = alive.iter().position(|number| *number == lowest)? + 1;
    let words = format!("(M − r)(M − r + 1) + M − 1, M = {m}, r = {r}");
    Some(Formula { words, value: (m - r) * (m - r + 1) + m - 1 })
}

fn halting(elected: &Elected, own: &[&DrawnEvent], initiators: &[usize]) -> Option<Formula> {
    let (alive, (leader, _)) = (&elected.alive, elected.leader?);
    let to_dead = |(_, to): &(usize, usize)| !alive.contains(to);
    let asked = || sent(own, Kind::AreYouThere);
    if asked().any(|way| way.0 != leader && to_dead(&way)) {
        // All look for a coordinator of whose death nobody knows.
        let n = alive.len() + 1;
        let is_all = initiators == alive && alive.last() == Some(&(n - 1));
        let words = format!("9N − 16, N = {n}");
        return is_all.then(|| Formula { words, value: 9 * n - 16 });
    }
    let h = asked().filter(to_dead).count();
    let i = asked().count() - h; // each of them is answered, and gives up
    let d = sent(own, Kind::Halt).filter(to_dead).count();
    let l = alive.iter().filter(|number| **number < leader).count();
    let (name, value) = if i == 0 { ("", String::new()) } else { (" + 2I", format!(", I = {i}")) };
    let words = format!("h + D + 6L{name}, h = {h}, D = {d}, L = {l}{value}");
    Some(Formula { words, value: h + d + 6 * l + 2 * i })
}

fn ring(elected: &Elected, own: &[&DrawnEvent], initiators: &[usize]) -> Option<Formula> {
    let (alive, m) = (&elected.alive, elected.alive.len());
    let place = |number: &usize| alive.iter().position(|other| other == number);
    let hops = |from: usize, to: usize| (to + m - from) % m;
    let (greatest, best) = (place(initiators.last()?)?, m.checked_sub(1)?);
    let d = hops(greatest, best);
    let between: Option<usize> =
        initiators.windows(2).map(|pair| Some(hops(place(&pair[0])?, place(&pair[1])?))).sum();
    let between = between?;
    let to_dead = |kind| sent(own, kind).any(|(_, to)| !alive.contains(&to));
    if to_dead(Kind::Election) || to_dead(Kind::Elected) {
        return None; // the ring waited, and others began meanwhile
    }
    let mut words = ["2N + d".to_owned(), format!(", N = {m}, d = {d}")];
    let (_, epoch) = elected.leader?;
    let is_other = |event: &&&DrawnEvent| match &event.what {
        DrawnWhat::Sends { message, .. } => {
            message.kind == Some(Kind::Elected) && message.number != Some(epoch.0)
        }
        _ => false,
    };
    let y = own.iter().filter(is_other).count(); // they tell a newcomer of the leader before
    for (name, value) in [("e", between), ("y", y)].into_iter().filter(|(_, value)| *value > 0) {
        words[0] += &format!(" + {name}");
        words[1] += &format!(", {name} = {value}");
    }
    Some(Formula { words: words.concat(), value: 2 * m + d + between + y })
}
