//! The words that choices in the file may take.

use strum::VariantArray;

use electd_election::core::settings::Preempt;
use electd_election::limits::quote;

/// A name in the file and its value.
pub(super) type NamedValue<T> = (&'static str, T);

/// All values of a kind, with their names.
pub(super) fn all<T: Copy + Into<&'static str> + VariantArray>() -> Vec<NamedValue<T>> {
    T::VARIANTS.iter().map(|value| ((*value).into(), *value)).collect()
}

/// `preempt`, where it is a word
pub(super) const PREEMPTS: &[NamedValue<Preempt>] =
    &[("always", Preempt::Always), ("never", Preempt::Never)];

/// The problem with an unknown name, and the remedy.
pub(super) type UnknownName = (String, String);

/// The value of a name given for the key `key`.
pub(super) fn pick<T: Copy>(
    key: &str,
    word: &str,
    choices: &[NamedValue<T>],
) -> Result<T, UnknownName> {
    let chosen = choices.iter().find(|choice| choice.0 == word);
    chosen.map(|choice| choice.1).ok_or_else(|| unknown(key, word, choices))
}

fn unknown<T>(key: &str, word: &str, choices: &[NamedValue<T>]) -> UnknownName {
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
    use electd_election::core::settings::Quorum;
    use electd_election::core::types::Role;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["heartbeat", "failure", "message", "id"];
        assert_eq!(nearest("hearbeat", &known), Some("heartbeat"));
        assert_eq!(nearest("Heartbeat", &known), Some("heartbeat"));
        assert_eq!(nearest("HEARTBEAT", &known), Some("heartbeat"));
        assert_eq!(nearest("fialure", &known), Some("failure"));
        assert_eq!(nearest("idd", &known), Some("id"));
        assert_eq!(nearest("interval", &known), None);
        assert_eq!(nearest("hearxxxat", &known), Some("heartbeat"), "a third of its letters");
        assert_eq!(nearest("heaxxxxat", &known), None);
        assert_eq!(nearest("if", &["id"]), Some("id"), "one letter of a short name");
        let long = "x".repeat(64);
        assert_eq!(nearest(&long, &[&long]), Some(&long[..]));
        assert_eq!(nearest(&"x".repeat(65), &[&long]), None, "too long for a slip");
    }

    #[test]
    fn an_unknown_word_is_told_what_there_is() {
        assert!(pick("quorum", "majority", &all::<Quorum>()).is_ok());
        assert_eq!(
            pick("role", "wittness", &all::<Role>()).unwrap_err().1,
            "did you mean \"witness\"?"
        );
        let refusal = pick("quorum", "all of them", &all::<Quorum>()).unwrap_err();
        assert_eq!(refusal.1, "use \"none\" or \"majority\"");
    }
}
