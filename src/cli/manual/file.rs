//! The manual page of the configuration file, electd.json(5): the section of the reference, in the form of a page.

use clap_mangen::roff::{Inline, Roff, bold, roman};

/// The reference, which documents each key once.
const REFERENCE: &str = include_str!("../../../docs/reference.md");

/// The page.
pub fn page() -> String {
    let mut page = Roff::new();
    let source = format!("electd {}", env!("CARGO_PKG_VERSION"));
    page.control("TH", ["ELECTD.JSON", "5", "", &source, "electd"]);
    page.control("SH", ["NAME"]);
    page.text([roman("electd.json - the configuration of a cluster of electd")]);
    page.control("SH", ["DESCRIPTION"]);
    let mut is_in_table = false;
    for part in configuration().split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
        if part.starts_with('|') {
            table(part, &mut page);
            is_in_table = true;
        } else {
            if is_in_table {
                page.control("SH", ["NOTES"]);
            } else {
                page.control("PP", []);
            }
            is_in_table = false;
            page.text(words(&part.replace('\n', " ")));
        }
    }
    page.control("SH", ["FILES"]).control("TP", []);
    page.text([bold("/etc/electd/cluster.json")]);
    page.text([roman("The file that the commands read if no other is named.")]);
    page.control("SH", ["SEE ALSO"]);
    page.text([roman("electd(1), electd-init(1), electd-check(1)")]);
    page.render()
}

/// The section of the reference, without its heading.
fn configuration() -> &'static str {
    let (_, section) = REFERENCE.split_once("\n## Configuration\n").unwrap_or_default();
    section.split_once("\n## ").map_or(section, |(section, _)| section)
}

/// The rows of a table, each a key with its values and its default.
fn table(part: &str, page: &mut Roff) {
    for (at, line) in part.lines().enumerate() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match at {
            0 => _ = page.control("SH", [cells[0].replace('`', "").to_uppercase().as_str()]),
            1 => {} // the line below the heads
            _ => {
                page.control("TP", []).text(words(cells[0]));
                page.text(words(cells.get(1).copied().unwrap_or_default()));
                if let Some(default) = cells.get(2) {
                    page.control("br", []).text(words(&format!("Default: {default}")));
                }
            }
        }
    }
}

/// A text with its code in bold, and links as their words.
fn words(text: &str) -> Vec<Inline> {
    let plain = without_links(text);
    let parts = plain.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { bold(part) } else { roman(part) }).collect()
}

/// The words of links, without what they lead to.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (start, link) = before.rsplit_once('[').unwrap_or((before, ""));
        out.push_str(start);
        out.push_str(link);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_the_reference_is_on_the_page_with_its_default() {
        let page = page();
        let wanted = ".TP\n\\fBquorum\\fR\n\\fBnone\\fR, \\fBmajority\\fR: what is guaranteed";
        assert!(page.contains(wanted), "{page}");
        assert!(page.contains(".br\nDefault: \\fB500ms\\fR\n"), "{page}");
        for key in ["cluster", "timing.failure", "hooks", "admin_listen", "role"] {
            assert!(page.contains(&format!(".TP\n\\fB{key}\\fR\n")), "{key}: {page}");
        }
        assert!(!page.contains("](") && !page.contains('`'), "{page}");
        assert!(page.contains(".SH \"MEMBER'S KEY\"\n"), "{page}");
    }

    #[test]
    fn a_link_is_its_words() {
        assert_eq!(without_links("a [b c](d#e), [f](g)."), "a b c, f.");
        assert_eq!(without_links("[] x[1]"), "[] x[1]");
    }
}
