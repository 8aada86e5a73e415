//! The words that choices in the file may take, and which of them this version has.
//!
//! To make a word available, change its `Later` to `Now(value)`; every message follows.

use super::problem::quote;
use crate::core::settings::{AlgorithmKind, Preempt, Quorum, RankKind};
use crate::core::types::Role;

/// Whether this version has what a word stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Offer<T> {
    /// Yes: this value.
    Now(T),
    /// Not yet: refused by name, because silently doing something else would be worse.
    Later,
}
use Offer::{Later, Now};

/// A word and what it stands for.
pub(super) type Choice<T> = (&'static str, Offer<T>);

/// `quorum`
pub(super) const QUORUMS: &[Choice<Quorum>] =
    &[("none", Now(Quorum::None)), ("majority", Now(Quorum::Majority))];

/// `algorithm`
pub(super) const ALGORITHMS: &[Choice<AlgorithmKind>] = &[
    ("bully", Now(AlgorithmKind::Bully)),
    ("halting", Now(AlgorithmKind::Halting)),
    ("ring", Now(AlgorithmKind::Ring)),
];

/// `preempt`, where it is a word
pub(super) const PREEMPTS: &[Choice<Preempt>] =
    &[("always", Now(Preempt::Always)), ("never", Now(Preempt::Never))];

/// `role`
pub(super) const ROLES: &[Choice<Role>] = &[
    ("member", Now(Role::Member)),
    ("witness", Now(Role::Witness)),
    ("observer", Now(Role::Observer)),
];

/// `rank.by`
pub(super) const RANKS: &[Choice<RankKind>] = &[
    ("id", Now(RankKind::Id)),
    ("priority", Now(RankKind::Priority)),
    ("address", Now(RankKind::Address)),
    ("cpu", Now(RankKind::Cpu)),
    ("disk", Now(RankKind::Disk)),
    ("files", Now(RankKind::Files)),
    ("command", Now(RankKind::Command)),
];

/// What is wrong with a word, and the remedy.
pub(super) type Refusal = (String, String);

/// The value of a word of the key `key`.
pub(super) fn pick<T: Copy>(key: &str, word: &str, choices: &[Choice<T>]) -> Result<T, Refusal> {
    match choices.iter().find(|choice| choice.0 == word) {
        Some(&(_, Now(value))) => Ok(value),
        Some(&(_, Later)) => {
            let what = format!("{key} \"{word}\" is not available in this version");
            Err((what, format!("use {}", offered(choices))))
        }
        None => Err(unknown(key, word, choices)),
    }
}

fn unknown<T>(key: &str, word: &str, choices: &[Choice<T>]) -> Refusal {
    let words: Vec<&str> = choices.iter().map(|choice| choice.0).collect();
    let remedy = match nearest(word, &words) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("use {}", offered(choices)),
    };
    (format!("{key} cannot be \"{}\"", quote(word)), remedy)
}

/// The words of a choice that this version has, for a remedy.
fn offered<T>(choices: &[Choice<T>]) -> String {
    let words = choices.iter().filter(|choice| matches!(choice.1, Now(_)));
    let words: Vec<String> = words.map(|choice| format!("\"{}\"", choice.0)).collect();
    words.join(" or ")
}

/// The word that a misspelt one was probably meant to be: at most a third of it is wrong.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&word.to_lowercase(), known);
    // Long words cost time quadratic in their length and are no slips of the finger.
    let best = known.iter().filter(|_| word.len() <= 64).min_by_key(|known| distance(known))?;
    (distance(best) * 3 <= best.len().max(3)).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["heartbeat", "failure", "message", "id"];
        assert_eq!(nearest("hearbeat", &known), Some("heartbeat"));
        assert_eq!(nearest("Heartbeat", &known), Some("heartbeat"));
        assert_eq!(nearest("fialure", &known), Some("failure"));
        assert_eq!(nearest("idd", &known), Some("id"));
        assert_eq!(nearest("interval", &known), None);
    }

    #[test]
    fn what_is_not_available_says_what_is() {
        let refusal = pick("quorum", "majority", QUORUMS).unwrap_err();
        assert_eq!(refusal.0, "quorum \"majority\" is not available in this version");
        assert_eq!(refusal.1, "use \"none\"");
        assert_eq!(pick("role", "wittness", ROLES).unwrap_err().1, "did you mean \"witness\"?");
    }
}
