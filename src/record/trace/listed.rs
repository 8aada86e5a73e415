//! Lists in a sentence.

/// These parts of a sentence: "a", "a and b", "a, b and c".
///
/// ```
/// use electd_record::trace::and;
///
/// let parts = ["a", "b", "c"].map(str::to_owned);
/// assert_eq!(and(&parts), "a, b and c");
/// ```
#[must_use]
pub fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
