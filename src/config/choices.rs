//! The words that choices in the file may take.

use crate::core::limits::quote;
use crate::core::settings::{AlgorithmKind, Alone, Preempt, Quorum, RankKind};
use crate::core::types::Role;

/// A name in the file and its value.
pub(super) type Choice<T> = (&'static str, T);

/// `quorum`
pub(super) const QUORUMS: &[Choice<Quorum>] =
    &[("none", Quorum::None), ("majority", Quorum::Majority)];

/// `algorithm`
pub(super) const ALGORITHMS: &[Choice<AlgorithmKind>] = &[
    ("bully", AlgorithmKind::Bully),
    ("halting", AlgorithmKind::Halting),
    ("ring", AlgorithmKind::Ring),
];

/// `preempt`, where it is a word
pub(super) const PREEMPTS: &[Choice<Preempt>] =
    &[("always", Preempt::Always), ("never", Preempt::Never)];

/// `health.alone`
pub(super) const ALONES: &[Choice<Alone>] =
    &[("lead", Alone::Lead), ("step-down", Alone::StepDown)];

/// `role`
pub(super) const ROLES: &[Choice<Role>] =
    &[("member", Role::Member), ("witness", Role::Witness), ("observer", Role::Observer)];

/// `rank.by`
pub(super) const RANKS: &[Choice<RankKind>] = &[
    ("id", RankKind::Id),
    ("priority", RankKind::Priority),
    ("address", RankKind::Address),
    ("cpu", RankKind::Cpu),
    ("disk", RankKind::Disk),
    ("files", RankKind::Files),
    ("command", RankKind::Command),
];

/// The problem with an unknown name, and the remedy.
pub(super) type Refusal = (String, String);

/// The value of a name given for the key `key`.
pub(super) fn pick<T: Copy>(key: &str, word: &str, choices: &[Choice<T>]) -> Result<T, Refusal> {
    let chosen = choices.iter().find(|choice| choice.0 == word);
    chosen.map(|choice| choice.1).ok_or_else(|| unknown(key, word, choices))
}

fn unknown<T>(key: &str, word: &str, choices: &[Choice<T>]) -> Refusal {
    let words: Vec<&str> = choices.iter().map(|choice| choice.0).collect();
    let remedy = match nearest(word, &words) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("use {}", quoted.join(" or "))
        }
    };
    (format!("{key} cannot be \"{}\"", quote(word)), remedy)
}

/// The name that a misspelt name was probably meant to be: at most a third of its letters are wrong.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |known: &str| strsim::damerau_levenshtein(&word.to_lowercase(), known);
    // Long names cost quadratic time, and are no typing errors.
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
    fn an_unknown_word_is_told_what_there_is() {
        assert!(pick("quorum", "majority", QUORUMS).is_ok());
        assert_eq!(pick("role", "wittness", ROLES).unwrap_err().1, "did you mean \"witness\"?");
        let refusal = pick("quorum", "all of them", QUORUMS).unwrap_err();
        assert_eq!(refusal.1, "use \"none\" or \"majority\"");
    }
}
