//! Texts of others without characters that would change how the text around them is shown: for terminals and logs, and in the
//! JSON of another process.

use std::borrow::Cow;
use std::fmt::Write;

use super::disguises;

/// A text of one or more lines, fit for a terminal and for a log: all characters that would disguise it are escaped as JSON
/// escapes them, so that JSON stays JSON.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { escape(c, &mut shown) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Whether the character disguises a text that may have lines and tabs.
fn is_escaped(c: char) -> bool {
    disguises(c) && c != '\n' && c != '\t'
}

fn escape(c: char, to: &mut String) {
    let _ = write!(to, "\\u{:04x}", u32::from(c)); // a string takes everything
}

/// JSON of another process, in whose strings no character is left that would disguise a text: neither as it is nor escaped. In
/// its place stands its escape as text, so that nobody's name begins a line.
#[must_use]
pub fn plain_json(json: &str) -> Cow<'_, str> {
    let is_space = |c: char| matches!(c, '\n' | '\r' | '\t'); // a string cannot have one
    let is_odd = |c: char| disguises(c) && !is_space(c);
    if !json.contains(|c| c == '\\' || is_odd(c)) {
        return Cow::Borrowed(json);
    }
    let mut plain = String::with_capacity(json.len() + 8);
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let length = if c == '\\' { escaped_length(after) } else { 0 };
        if length > 0 || is_odd(c) {
            plain.push('\\'); // the backslash that follows is text
        }
        match c {
            '\\' => plain.push(c),
            c if is_odd(c) => escape(c, &mut plain),
            c => plain.push(c),
        }
        // What an escape escapes begins none itself.
        let more =
            if c == '\\' { after.chars().next().map_or(0, char::len_utf8).max(length) } else { 0 };
        plain.push_str(&after[..more]);
        rest = &after[more..];
    }
    Cow::Owned(plain)
}

/// The length of the escape after a backslash, if it stands for a character that disguises.
fn escaped_length(after: &str) -> usize {
    match after.as_bytes().first() {
        Some(b'b' | b'f' | b'n' | b'r' | b't') => 1,
        Some(b'u') => {
            let digits = after.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok());
            if digits.and_then(char::from_u32).is_some_and(disguises) { 5 } else { 0 }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A name that clears a terminal, in both ways to say so, hides what stands before it, and begins a line.
    const ODD: &str = "a\u{1b}[2J\u{9b}2J\u{202e}b\rc\u{7f}\u{2028}d\u{2066}";

    #[test]
    fn a_text_for_people_has_lines_and_nothing_else_that_moves_a_cursor_or_turns_the_text() {
        let shown = printable(ODD);
        let expected = r"a\u001b[2J\u009b2J\u202eb\u000dc\u007f\u2028d\u2066";
        assert_eq!(shown, expected);
        for plain in ["", "a\tb\nc\n", "d\u{e9}mo \u{1f600}", r"C:\x \u001b"] {
            assert!(matches!(printable(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn json_that_is_printed_stays_the_same_json() {
        let document = json!({ ODD: [ODD, "\n"] });
        let text = printable(&format!("{document:#}\n")).into_owned();
        assert!(!text.contains(is_escaped), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }

    #[test]
    fn no_string_of_another_process_has_a_character_that_disguises() {
        let odd = format!("{ODD}\n\t");
        let document = json!({ &odd: [&odd, 7, null, { "x": [] }], "fine": "d\u{e9}mo \"\\n\" \\\\ \u{1f600}" });
        let all_escaped = |text: &str| {
            let escaped = |c: char| {
                if c.is_ascii_graphic() {
                    c.to_string()
                } else {
                    format!("\\u{:04x}", u32::from(c))
                }
            };
            text.chars().map(escaped).collect::<String>()
        };
        let written = [
            document.to_string(),
            format!("{document:#}").replace('\n', "\r\n"),
            format!(
                r#"{{"{0}": ["{0}", 7, null, {{"x": []}}], "fine": {1}}}"#,
                all_escaped(&odd),
                document["fine"]
            ),
        ];
        let expected = r"a\u001b[2J\u009b2J\u202eb";
        for text in written {
            let plain: Value = serde_json::from_str(&plain_json(&text)).unwrap();
            let key = plain.as_object().unwrap().keys().find(|key| *key != "fine").unwrap();
            let shown = plain[key][0].as_str().unwrap();
            assert!(shown.starts_with(expected) && key.starts_with(expected), "{shown} {key}");
            assert!(!shown.contains(disguises) && !key.contains(disguises), "{shown} {key}");
            assert_eq!((&plain["fine"], &plain[key][1]), (&document["fine"], &7.into()));
        }
    }

    #[test]
    fn what_is_no_json_or_has_nothing_odd_is_left_as_it_is() {
        for text in [
            "",
            "\\",
            "\"\\",
            r#""\u"#,
            r#""\u00"#,
            r#""\ud83d\ude00""#,
            r#""\u00e9\/\"\\""#,
            r#""\\n\\u001b""#,
            "\"\\\u{e9}\"",
            "{\r\n\t\"a\": 1}",
        ] {
            assert_eq!(plain_json(text), text);
        }
        assert_eq!(plain_json(r#""\\\n\\\u001b\n""#), r#""\\\\n\\\\u001b\\n""#);
    }
}
