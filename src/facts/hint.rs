//! The commands that sentences name, with the flags by which their reader reaches the same cluster.

use std::path::{Path, PathBuf};

use strum::VariantArray;

/// The configuration file that a command reads if nothing names another.
pub const USUAL_FILE: &str = "/etc/electd/cluster.json";

/// The flags that name a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFlags {
    config: Option<PathBuf>,
}

impl ClusterFlags {
    /// Those of a command line that names this file, or none.
    #[must_use]
    pub fn of_command(config: Option<&Path>) -> ClusterFlags {
        ClusterFlags { config: config.map(Path::to_owned) }
    }

    /// The file of the cluster.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(USUAL_FILE))
    }
}

/// A path as a shell takes it.
#[must_use]
pub fn quoted(path: &Path) -> String {
    let shown = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,=".contains(&byte);
    if shown.bytes().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
}

/// A command that a sentence names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Hint {
    /// `check`.
    Check,
    /// `history`.
    History,
    /// `member add`.
    MemberAdd,
    /// `member list`.
    MemberList,
    /// `member remove`.
    MemberRemove,
    /// `member set --all`.
    MemberSetAll,
    /// `reload`.
    Reload,
    /// `resume`.
    Resume,
    /// `run`.
    Run,
    /// `status`.
    Status,
    /// `switchover --clear`.
    SwitchoverClear,
    /// `switchover --to` a member.
    SwitchoverTo,
    /// `undrain`.
    Undrain,
}

impl Hint {
    /// All of them.
    pub const ALL: &'static [Hint] = Hint::VARIANTS;

    /// The command for the cluster, or for the node of this host.
    #[must_use]
    pub fn by(self, flags: &ClusterFlags) -> String {
        self.of(None, flags)
    }

    /// The command for this member.
    #[must_use]
    pub fn at(self, member: &str, flags: &ClusterFlags) -> String {
        self.of(Some(member), flags)
    }

    /// The command for this member, if it is for one.
    #[must_use]
    pub fn of(self, member: Option<&str>, flags: &ClusterFlags) -> String {
        format!("`{}`", self.line(member, flags))
    }

    /// The same, as it is typed.
    #[must_use]
    pub fn line(self, member: Option<&str>, flags: &ClusterFlags) -> String {
        let file = flags.config.as_ref().map(|file| format!(" --config {}", quoted(file)));
        let key = if self == Hint::SwitchoverTo { "to" } else { "node" };
        let member = member.map(|name| format!(" --{key} {name}"));
        let (command, more) = self.words();
        let [file, member] = [file, member].map(Option::unwrap_or_default);
        format!("electd {command}{file}{member}{more}")
    }

    /// The command, and a flag of it that comes last.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Hint::Check => ("check", ""),
            Hint::History => ("history", ""),
            Hint::MemberAdd => ("member add", ""),
            Hint::MemberList => ("member list", ""),
            Hint::MemberRemove => ("member remove", ""),
            Hint::MemberSetAll => ("member set", " --all"),
            Hint::Reload => ("reload", ""),
            Hint::Resume => ("resume", ""),
            Hint::Run => ("run", ""),
            Hint::Status => ("status", ""),
            Hint::SwitchoverClear => ("switchover", " --clear"),
            Hint::SwitchoverTo => ("switchover", ""),
            Hint::Undrain => ("undrain", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_repeats_the_file_that_was_named() {
        let usual = ClusterFlags::of_command(None);
        let named = ClusterFlags::of_command(Some(Path::new("f.json")));
        assert_eq!(Hint::Undrain.at("a", &usual), "`electd undrain --node a`");
        assert_eq!(Hint::Undrain.at("a", &named), "`electd undrain --config f.json --node a`");
        let switch = "`electd switchover --config f.json --to a`";
        assert_eq!(Hint::SwitchoverTo.at("a", &named), switch);
        let clear = "`electd switchover --config f.json --clear`";
        assert_eq!(Hint::SwitchoverClear.by(&named), clear);
        assert_eq!(Hint::MemberSetAll.by(&usual), "`electd member set --all`");
        let odd = ClusterFlags::of_command(Some(Path::new("/my files/it's.json")));
        assert_eq!(Hint::Check.by(&odd), r"`electd check --config '/my files/it'\''s.json'`");
    }
}
