//! The commands in groups, for `electd --help`: clap lists them in one piece.

use std::fmt::Write;

/// All commands by what they are for, in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Run a node", &["run", "exec", "init", "invite", "join", "check"]),
    (
        "See",
        &[
            "status", "leader", "health", "history", "trace", "record", "replay", "watch", "why",
            "tune",
        ],
    ),
    (
        "Change",
        &[
            "resign",
            "switchover",
            "drain",
            "undrain",
            "pause",
            "resume",
            "member",
            "lock",
            "reload",
        ],
    ),
    ("Learn and set up", &["demo", "simulate", "lab", "completions", "man", "help"]),
];

/// What clap adds to the commands of an application.
const HELP: (&str, &str) = ("help", "Print this message, or the help of a command");

/// The template of the help, with the descriptions of these commands.
pub fn template(commands: &clap::Command) -> String {
    let heading = commands.get_styles().get_header();
    let literal = commands.get_styles().get_literal();
    let all = commands.get_subcommands();
    let abouts = all.filter_map(|one| Some((one.get_name(), one.get_about()?.to_string())));
    let abouts: Vec<_> = abouts.chain([(HELP.0, HELP.1.to_owned())]).collect();
    let widest = abouts.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{heading}{group}:{heading:#}"); // a string takes everything
        let named = names.iter().filter_map(|name| abouts.iter().find(|(one, _)| one == name));
        for (name, about) in named {
            let _ = writeln!(text, "  {literal}{name:<widest$}{literal:#}  {about}");
        }
    }
    text + &format!("\n{heading}Options:{heading:#}\n{{options}}{{after-help}}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_help_has_the_groups_in_their_order_and_the_options_below() {
        let command =
            |name: &'static str, about: &'static str| clap::Command::new(name).about(about);
        let all = [
            command("switchover", "Change the leader"),
            command("init", "Begin"),
            command("demo", "Try it"),
            command("guard", "No group has it"),
            clap::Command::new("run"), // it says nothing
            command("check", "Look"),
        ];
        let plain = clap::Command::new("electd").styles(clap::builder::Styles::plain());
        let expected = "\
{about-with-newline}
{usage-heading} {usage}

Run a node:
  init        Begin
  check       Look

See:

Change:
  switchover  Change the leader

Learn and set up:
  demo        Try it
  help        Print this message, or the help of a command

Options:
{options}{after-help}
";
        assert_eq!(template(&plain.subcommands(all)), expected);
        let names = GROUPS.map(|(group, names)| format!("{group}: {}", names.join(" ")));
        let expected = [
            "Run a node: run exec init invite join check",
            "See: status leader health history trace record replay watch why tune",
            "Change: resign switchover drain undrain pause resume member lock reload",
            "Learn and set up: demo simulate lab completions man help",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = crate::cli::command();
        command.build();
        let all = command.get_subcommands().filter(|one| !one.is_hide_set());
        let names: BTreeSet<String> = all.map(|one| one.get_name().to_owned()).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let once: BTreeSet<String> = grouped.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names, once, "put each command into a group of src/cli/groups.rs");
        assert_eq!(grouped.len(), once.len(), "a command is in two groups");
        let help = command.render_help().to_string();
        for name in names {
            let lines = help.lines().filter(|line| line.starts_with(&format!("  {name} ")));
            assert_eq!(lines.count(), 1, "{name} has one line:\n{help}");
        }
    }
}
