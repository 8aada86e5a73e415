//! The commands that sentences name, with the flags by which their reader reaches the same cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use strum::VariantArray;

use super::status::MemberStatus;

/// The configuration file that a command reads if nothing names another.
pub const USUAL_FILE: &str = "/etc/electd/cluster.json";

/// The flags that name a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFlags {
    config: Option<PathBuf>,
    /// The admin address of the one node that was asked by it.
    admin: Option<String>,
    /// Where the HTTP of each member is, by its name: for hints to a reader who names no file.
    members: BTreeMap<String, String>,
}

impl ClusterFlags {
    /// Those of a command line that names this file, or none.
    #[must_use]
    pub fn of_command(config: Option<&Path>) -> ClusterFlags {
        ClusterFlags { config: config.map(Path::to_owned), ..ClusterFlags::default() }
    }

    /// The same of a command line that names a node by its admin address, if it does.
    #[must_use]
    pub fn asking(self, admin: Option<String>) -> ClusterFlags {
        ClusterFlags { admin, ..self }
    }

    /// The same with the admin addresses that these members have.
    #[must_use]
    pub fn knowing<'m>(mut self, members: impl Iterator<Item = &'m MemberStatus>) -> ClusterFlags {
        let scheme = self.admin.as_ref().and_then(|admin| admin.split_once("://"));
        let scheme = scheme.map_or_else(String::new, |(scheme, _)| format!("{scheme}://"));
        let known = members.filter_map(|it| Some((it.name.clone(), it.admin.as_ref()?)));
        self.members.extend(known.map(|(name, admin)| (name, format!("{scheme}{admin}"))));
        self
    }

    /// The flags that reach this member, or any.
    fn reaching(&self, member: Option<&str>, key: &str) -> String {
        let by_name = || member.map(|name| format!(" --{key} {name}")).unwrap_or_default();
        match (&self.admin, member) {
            (None, _) => by_name(),
            (Some(admin), Some(_)) if key == "to" => format!(" --admin {admin}{}", by_name()),
            (Some(_), Some(name)) => {
                self.members.get(name).map_or_else(by_name, |admin| format!(" --admin {admin}"))
            }
            (Some(admin), None) => format!(" --admin {admin}"),
        }
    }

    /// The file of the cluster.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(USUAL_FILE))
    }
}

/// The unit that runs this member of this file on its host, if the file is at a place of one, and the name of its cluster
/// among several of one host.
#[must_use]
pub fn unit(file: &Path, member: &str) -> Option<(String, Option<String>)> {
    let inside = file.strip_prefix("/etc/electd").ok()?;
    let parts: Option<Vec<&str>> = inside.iter().map(|part| part.to_str()).collect();
    match parts?[..] {
        ["cluster.json"] => Some((format!("electd@{member}"), None)),
        [cluster, "cluster.json"] => {
            Some((format!("electd-cluster@{cluster}"), Some(cluster.to_owned())))
        }
        _ => None,
    }
}

/// What starts this member on its host: its unit, or the command.
#[must_use]
pub fn starts(member: &str, flags: &ClusterFlags) -> String {
    let run = Hint::Run.at(member, flags);
    let unit = unit(flags.file(), member);
    unit.map_or(run.clone(), |(unit, _)| format!("`systemctl start {unit}`, or {run}"))
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
    /// `exec`.
    Exec,
    /// `history`.
    History,
    /// `lock move`.
    LockMove,
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
    /// `watch`.
    Watch,
    /// `why`.
    Why,
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

    /// The command with these arguments, for the cluster.
    #[must_use]
    pub fn with(self, arguments: &str, flags: &ClusterFlags) -> String {
        format!("`{} {arguments}`", self.line(None, flags))
    }

    /// The same, as it is typed.
    #[must_use]
    pub fn line(self, member: Option<&str>, flags: &ClusterFlags) -> String {
        let file = flags.config.as_ref().map(|file| format!(" --config {}", quoted(file)));
        let key = if self == Hint::SwitchoverTo { "to" } else { "node" };
        let (command, more) = self.words();
        let is_local = matches!(self, Hint::Check | Hint::Run);
        let whom = match member {
            Some(name) if is_local => format!(" --node {name}"),
            None if is_local => String::new(),
            member => flags.reaching(member, key),
        };
        format!("electd {command}{}{whom}{more}", file.unwrap_or_default())
    }

    /// The command, and a flag of it that comes last.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Hint::Check => ("check", ""),
            Hint::Exec => ("exec", ""),
            Hint::History => ("history", ""),
            Hint::LockMove => ("lock move", ""),
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
            Hint::Watch => ("watch", ""),
            Hint::Why => ("why", ""),
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

    #[test]
    fn a_member_is_started_by_its_unit_where_the_file_has_one() {
        let at = |file: &str| starts("a", &ClusterFlags::of_command(Some(Path::new(file))));
        let usual = "`systemctl start electd@a`, or `electd run --node a`";
        assert_eq!(starts("a", &ClusterFlags::default()), usual);
        let several = "/etc/electd/billing/cluster.json";
        let words = format!(
            "`systemctl start electd-cluster@billing`, or `electd run --config {several} --node a`"
        );
        assert_eq!(at(several), words);
        assert_eq!(at("/tmp/c.json"), "`electd run --config /tmp/c.json --node a`");
    }

    /// A command for one member goes to the address of that member, and never to the node that was asked.
    #[test]
    fn a_hint_repeats_the_address_that_was_asked() {
        let at = |admin: &str| {
            let member = |name: &str, admin: &str| MemberStatus {
                name: name.to_owned(),
                admin: Some(admin.to_owned()),
                ..MemberStatus::default()
            };
            let flags = ClusterFlags::default().asking(Some(admin.to_owned()));
            flags.knowing([member("a", "h:1"), member("b", "h:2")].iter())
        };
        let plain = at("h:1");
        for (hint, words) in [
            (Hint::History.by(&plain), "history --admin h:1"),
            (Hint::Undrain.at("a", &plain), "undrain --admin h:1"),
            (Hint::Undrain.at("b", &plain), "undrain --admin h:2"),
            (Hint::Undrain.at("c", &plain), "undrain --node c"),
            (Hint::SwitchoverTo.at("b", &plain), "switchover --admin h:1 --to b"),
            (Hint::Run.at("b", &plain), "run --node b"),
            (Hint::Check.by(&plain), "check"),
            (Hint::Undrain.at("b", &at("https://h:1")), "undrain --admin https://h:2"),
        ] {
            assert_eq!(hint, format!("`electd {words}`"));
        }
    }
}
