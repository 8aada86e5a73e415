//! The manual page of a command.

use clap::Command;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::AFTER_HELP;

/// The files that the commands know without being told.
const FILES: &[(&str, &str)] = &[
    ("/etc/electd/cluster.json", "The configuration, the same on every host: electd.json(5)."),
    ("/etc/electd/tls", "The certificate and key of the member of this host, with \"tls\"."),
    ("/var/lib/electd", "The state of the members of this host, a folder for each."),
];

/// The pages of all commands, with their names.
pub fn all() -> Vec<(String, String)> {
    let mut root = crate::cli::command();
    root.build();
    let mut found = Vec::new();
    add(&root, "electd", &mut found);
    found
}

/// The page of a command and of those below it.
fn add(command: &Command, name: &str, found: &mut Vec<(String, String)>) {
    let command = command.clone().display_name(name.to_owned());
    found.push((name.to_owned(), of(&command)));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        add(below, &format!("{name}-{}", below.get_name()), found);
    }
}

/// The page of one command.
pub fn of(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or("electd").to_owned();
    let source = format!("electd {}", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(command.clone())
        .title(name.to_uppercase())
        .source(source)
        .manual("electd");
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = man.render_title(&mut page);
    let _ = man.render_name_section(&mut page);
    let _ = man.render_synopsis_section(&mut page);
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut page);
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let rest = [examples(&help), exit_status(), files(), see_also(&name)];
    let rest: String = rest.iter().map(Roff::render).collect();
    String::from_utf8_lossy(&page).into_owned() + &rest
}

/// The part of the help after its options, but for the exit codes: examples as they are, the rest as text.
fn examples(help: &str) -> Roff {
    let mut page = Roff::new();
    for part in help.split("\n\n").filter(|part| !part.is_empty()) {
        let (head, lines) = part.split_once('\n').unwrap_or((part, ""));
        if head.starts_with("Exit codes") {
            continue;
        }
        let is_list = head.ends_with(':');
        page.control("SH", [if is_list { "EXAMPLES" } else { "NOTES" }]);
        if is_list {
            page.control("nf", []);
            for line in lines.lines() {
                page.text([roman(line)]);
            }
            page.control("fi", []);
        } else {
            page.text([roman(part.replace('\n', " "))]);
        }
    }
    page
}

/// The exit codes, as the help of `electd` lists them.
fn exit_status() -> Roff {
    let mut page = Roff::new();
    page.control("SH", ["EXIT STATUS"]);
    let codes = AFTER_HELP.split_once("Exit codes: ").map_or("", |(_, codes)| codes);
    let codes = codes.replace('\n', " ");
    let (codes, rest) = codes.split_once(". ").unwrap_or((&codes, ""));
    for (code, meaning) in codes.split("; ").filter_map(|entry| entry.split_once(' ')) {
        page.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    page.control("PP", []).text([roman(rest)]);
    page
}

fn files() -> Roff {
    let mut page = Roff::new();
    page.control("SH", ["FILES"]);
    for (path, meaning) in FILES {
        page.control("TP", []).text([bold(*path)]).text([roman(*meaning)]);
    }
    page
}

fn see_also(name: &str) -> Roff {
    let mut page = Roff::new();
    let above = name.rsplit_once('-').map(|(above, _)| format!("{above}(1), "));
    let others = format!("{}electd.json(5)", above.unwrap_or_default());
    page.control("SH", ["SEE ALSO"]).text([roman(others)]);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_with_its_exit_codes_files_and_relatives() {
        let pages = all();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["electd", "electd-run", "electd-member", "electd-member-add"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for (name, page) in &pages {
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "FILES", "SEE ALSO"] {
                let heading = format!(".SH \"{section}\"\n");
                let plain = format!(".SH {section}\n");
                assert!(page.contains(&heading) || page.contains(&plain), "{name}: {section}");
            }
            assert!(!page.contains("EXTRA"), "{name}");
            assert!(page.contains(".TP\n\\fB75\\fR\nnot now: leadership not gained"), "{page}");
        }
        let (_, add) = pages.iter().find(|(name, _)| name == "electd-member-add").unwrap();
        assert!(add.contains(".TH ELECTD-MEMBER-ADD 1"), "{add}");
        assert!(add.contains("electd\\-member(1), electd.json(5)"), "{add}");
    }

    #[test]
    fn examples_stay_as_they_are_typed_and_other_words_are_notes() {
        let page = examples("Examples:\n  electd x  it\n    is\n\nSee y.\n\nExit codes: 0 done.");
        let wanted = ".SH EXAMPLES\n.nf\n  electd x  it\n    is\n.fi\n.SH NOTES\nSee y.\n";
        assert!(page.render().ends_with(wanted), "{}", page.render());
    }
}
