//! Lists and counts in words.

use std::fmt::Display;

pub use electd_record::trace::and;
use jiff::Timestamp;

/// How many names of a list are shown, if there are more than one more.
const SHOWN: usize = 2;

/// These names, or the first of them and how many others there are.
#[must_use]
pub fn some_of(names: &[String]) -> String {
    if names.len() <= SHOWN + 1 {
        return names.join(", ");
    }
    let (shown, others) = names.split_at(SHOWN);
    format!("{} and {} others", shown.join(", "), others.len())
}

/// These names as the subject of a sentence, or the first of them and how many others there are.
#[must_use]
pub fn and_some(names: &[String]) -> String {
    if names.len() <= SHOWN + 1 { and(names) } else { some_of(names) }
}

/// How many failures are tolerated, in words.
#[must_use]
pub fn failures(count: u64) -> String {
    match count {
        0 => "no further failure".to_owned(),
        1 => "1 more failure".to_owned(),
        count => format!("{count} more failures"),
    }
}

/// So many of these, such as "1 voter" and "2 voters".
#[must_use]
pub fn counted(count: impl TryInto<u64> + Display + Copy, noun: &str) -> String {
    let ending = if count.try_into().is_ok_and(|count| count == 1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// A moment, given in milliseconds since the Unix epoch, in UTC.
#[must_use]
pub fn moment(at_ms: u64) -> String {
    i64::try_from(at_ms)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .map_or_else(|| at_ms.to_string(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|at| format!("n{at}")).collect()
    }

    #[test]
    fn a_long_list_of_names_is_cut() {
        assert_eq!(some_of(&names(3)), "n1, n2, n3");
        assert_eq!(some_of(&names(4)), "n1, n2 and 2 others");
        assert_eq!([3, 4].map(|it| and_some(&names(it))), ["n1, n2 and n3", "n1, n2 and 2 others"]);
        assert_eq!(some_of(&names(7)), "n1, n2 and 5 others");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [0_u64, 1, 2].map(|count| counted(count, "voter")),
            ["0 voters", "1 voter", "2 voters"]
        );
    }

    #[test]
    fn each_form_is_a_sentence_of_its_own() {
        assert_eq!(
            [0, 1, 2, 3].map(|it| and(&names(it))),
            ["", "n1", "n1 and n2", "n1, n2 and n3"]
        );
        let counts = [0, 1, 2].map(failures);
        assert_eq!(counts, ["no further failure", "1 more failure", "2 more failures"]);
    }
}
