//! Comments: from `//` outside a string to the end of the line. JSON has none, so each becomes as many blanks before the
//! text is read, and every other value keeps its line and column.

use std::borrow::Cow;

/// The text with blanks in place of its comments.
pub fn blanked(text: &str) -> Cow<'_, str> {
    if !text.contains("//") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split_inclusive('\n').map(line).collect())
}

/// No string of JSON goes beyond the end of its line.
fn line(text: &str) -> String {
    let code = &text[..start(text)];
    let blanks = text[code.len()..].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    code.chars().chain(blanks).collect()
}

/// Where the comment of a line begins; otherwise its end.
fn start(line: &str) -> usize {
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in line.bytes().enumerate() {
        if !in_string && line.as_bytes()[at..].starts_with(b"//") {
            return at;
        }
        in_string ^= byte == b'"' && !escaped;
        escaped = in_string && byte == b'\\' && !escaped;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_becomes_blanks_and_a_string_stays() {
        let text = "// the cluster é\n{\"a\": \"http://b\", // c\n \"d\\\\\": \"\\\"//\"} // e";
        let blanked = blanked(text);
        assert_eq!(blanked.len(), text.len(), "offsets stay");
        let value: serde_json::Value = serde_json::from_str(&blanked).unwrap();
        assert_eq!(value, serde_json::json!({"a": "http://b", "d\\": "\"//"}));
        let odd = "é \u{202e} // f";
        assert_eq!(
            super::blanked(odd),
            "é \u{202e}     ",
            "letters of several bytes outside a string"
        );
        assert!(matches!(super::blanked("{}"), Cow::Borrowed("{}")));
    }
}
