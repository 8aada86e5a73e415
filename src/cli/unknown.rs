//! Commands that electd does not have, and that people type all the same, as other programs have them.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that are typed, and what does it here.
const KNOWN: [(&[&str], &str); 14] = [
    (&["start", "up", "serve", "server", "daemon", "node"], "`electd run` starts a node"),
    (
        &["stop", "down", "kill", "shutdown", "quit"],
        "`systemctl stop electd@NAME`, or TERM to its process, stops a node; \
         `electd drain` keeps a running one from leading",
    ),
    (
        &["restart"],
        "`systemctl restart electd@NAME` restarts a node; \
         `electd reload` has a running one read its file again",
    ),
    (&["version"], "`electd --version` prints the version, `electd status` those of all nodes"),
    (&["list", "ls", "members", "nodes", "peers"], "`electd member list` lists the members"),
    (&["add"], "`electd member add` adds a member to a running cluster"),
    (
        &["remove", "rm", "delete", "leave"],
        "`electd member remove` removes a member from a running cluster",
    ),
    (&["info", "show", "ps", "state"], "`electd status` shows the state of all nodes"),
    (&["who", "master", "primary"], "`electd leader` prints the leader"),
    (&["new", "create", "generate", "setup"], "`electd init` writes a configuration"),
    (
        &["validate", "verify", "config", "doctor", "test"],
        "`electd check` validates a configuration",
    ),
    (
        &["elect", "election", "promote", "failover", "campaign"],
        "`electd switchover --to NAME` lets a member lead, `electd resign` lets the leader hand over",
    ),
    (&["demote", "step-down", "stepdown", "yield"], "`electd resign` lets the leader hand over"),
    (
        &["log", "logs", "events", "tail"],
        "`electd watch` shows each change; a node logs to stderr, for `journalctl -u electd@NAME`",
    ),
];

/// What to say of a command that does not exist, if people often mean something else by its name.
pub fn hint(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let ContextValue::String(typed) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let (_, remedy) = KNOWN.iter().find(|(words, _)| words.contains(&typed.as_str()))?;
    Some(format!("electd has no command {typed}: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_a_command_or_has_two_hints() {
        let all: Vec<&str> = KNOWN.iter().flat_map(|(words, _)| *words).copied().collect();
        for word in &all {
            assert!(crate::cli::command().find_subcommand(word).is_none(), "{word}");
            assert_eq!(all.iter().filter(|other| *other == word).count(), 1, "{word}");
        }
    }

    /// What a command needs besides may be missing.
    #[test]
    fn every_command_of_a_hint_is_one_that_electd_takes() {
        use ErrorKind::{DisplayVersion, MissingRequiredArgument};
        for (_, remedy) in KNOWN {
            for line in remedy.split('`').filter(|piece| piece.starts_with("electd ")) {
                let parsed = crate::cli::command().try_get_matches_from(line.split(' '));
                let wrong = parsed.err().map(|error| error.kind());
                let wrong =
                    wrong.filter(|it| ![DisplayVersion, MissingRequiredArgument].contains(it));
                assert_eq!(wrong, None, "{line}");
            }
        }
    }

    #[test]
    fn each_word_that_people_type_has_the_hint_of_its_kind() {
        for (words, remedy) in [
            ("start up serve server daemon node", "`electd run` starts"),
            ("stop down kill shutdown quit", "`systemctl stop electd@NAME`, or TERM"),
            ("restart", "`systemctl restart electd@NAME` restarts"),
            ("version", "`electd --version` prints"),
            ("list ls members nodes peers", "`electd member list` lists"),
            ("add", "`electd member add` adds"),
            ("remove rm delete leave", "`electd member remove` removes"),
            ("info show ps state", "`electd status` shows"),
            ("who master primary", "`electd leader` prints"),
            ("new create generate setup", "`electd init` writes"),
            ("validate verify config doctor test", "`electd check` validates"),
            (
                "elect election promote failover campaign",
                "`electd switchover --to NAME` lets a member lead, `electd resign`",
            ),
            ("demote step-down stepdown yield", "`electd resign` lets"),
            ("log logs events tail", "`electd watch` shows"),
        ] {
            for word in words.split(' ') {
                let error =
                    crate::cli::command().try_get_matches_from(["electd", word]).unwrap_err();
                let hint = hint(&error).unwrap_or_default();
                assert!(
                    hint.starts_with(&format!("electd has no command {word}: {remedy}")),
                    "{word}: {hint}"
                );
            }
        }
        let error =
            crate::cli::command().try_get_matches_from(["electd", "run", "--start"]).unwrap_err();
        assert_eq!(hint(&error), None, "it is no command");
    }
}
