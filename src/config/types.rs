//! A validated configuration.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::locks::LocksConfig;
use electd_election::core::settings::{
    AlgorithmKind, Alone, Margin, Preempt, Quorum, RankKind, Timing,
};
use electd_election::core::types::{NodeId, Role};
use electd_host::tls::Files;

/// The configuration of a cluster, validated as a whole.
///
/// ```
/// # let file = std::path::Path::new("../../conf/cluster.json");
/// let config = electd_config::load(file)?;
/// assert_eq!((config.cluster.as_str(), config.members.len()), ("demo", 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file that it was read from.
    pub file: PathBuf,
    /// The cluster's name.
    pub cluster: String,
    /// The guarantee.
    pub quorum: Quorum,
    /// The folder of all state; a node's own is the folder of its name in it. Paths relative to
    /// the file have been resolved.
    pub data_dir: PathBuf,
    /// The election algorithm.
    pub algorithm: AlgorithmKind,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// The attribute by which all members are ranked.
    pub rank: RankKind,
    /// By how much a rank must exceed the leader's before its member preempts.
    pub margin: Margin,
    /// The timings, defaults filled in.
    pub timing: Timing,
    /// Without a majority: whether a refused redial proves a death. With one it is false, whatever the file says.
    pub trust_refused: bool,
    /// Whether the threads that a heartbeat passes run in real time, with the memory of the process locked.
    pub realtime: bool,
    /// All members, in the order of the file.
    pub members: Vec<MemberConfig>,
    /// This process's member, where the file names it.
    pub node: Option<String>,
    /// The file with the bearer token for commands over TCP.
    pub admin_token_file: Option<PathBuf>,
    /// Whether the admin addresses serve HTTPS, with the certificates of the members.
    pub admin_tls: bool,
    /// Further names by which the admin addresses are asked, such as that of a proxy.
    pub admin_names: Vec<String>,
    /// The group that may use the control socket too, by its name or number.
    pub control_group: Option<String>,
    /// The names of locks, and where each is to be held.
    pub locks: LocksConfig,
    /// What the file says to no effect, in sentences.
    pub warnings: Vec<String>,
}

/// One member of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberConfig {
    /// The name for people, for the data folder and for `--node`.
    pub name: String,
    /// UUID version 4.
    pub id: NodeId,
    /// host:port that the others dial.
    pub address: String,
    /// host:port that this member binds; the address if none is given.
    pub listen: String,
    /// host:port of HTTP that the others are told; none is served without it.
    pub admin: Option<String>,
    /// host:port that its HTTP binds; `admin` if none is given.
    pub admin_listen: Option<String>,
    /// The role of the member.
    pub role: Role,
    /// Its own rank: of the cluster's kind, with figures of its own or the cluster's.
    pub rank: RankConfig,
    /// The hooks: the member's own, or the cluster's.
    pub hooks: Option<HooksConfig>,
    /// The health check: the member's own, or the cluster's if it may lead.
    pub health: Option<HealthConfig>,
    /// The certificate that it shows, and the authorities that it trusts: its own, or the cluster's.
    /// Without it connections are plain.
    pub tls: Option<Files>,
}

/// A program that exits with 0 where its member is fit to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthConfig {
    /// The program: a path, or a name that is looked for in PATH.
    pub program: PathBuf,
    /// Its arguments; no shell reads them.
    pub arguments: Vec<String>,
    /// The time from the begin of one check to that of the next.
    pub every: Duration,
    /// How long one may take.
    pub timeout: Duration,
    /// So many failures in a row make a healthy member unhealthy.
    pub fall: u32,
    /// So many passes in a row make an unhealthy member healthy.
    pub rise: u32,
    /// The action of an unhealthy leader while no other member may lead.
    pub alone: Alone,
}

/// In words.
impl fmt::Display for HealthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HealthConfig { program, arguments, every, timeout, fall, rise, alone } = self;
        write!(f, "`{}", program.display())?;
        arguments.iter().try_for_each(|argument| write!(f, " {argument}"))?;
        write!(
            f,
            "` every {every:?}, each for at most {timeout:?}; unhealthy after {fall} failures in a row, "
        )?;
        write!(f, "healthy after {rise} passes; alone: {}", alone.name())
    }
}

/// A program that runs at each change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HooksConfig {
    /// The program: a path, or a name that is looked for in PATH.
    pub program: PathBuf,
    /// Its arguments; no shell reads them.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// The attribute by which a member is ranked, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankConfig {
    /// The attribute.
    pub attribute: Attribute,
    /// The time between two samples, where the attribute changes.
    pub every: Duration,
}

/// An attribute of a member, with all that it takes to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// None: the id alone.
    Id,
    /// This number.
    Priority(i64),
    /// The IP address of the member's own `address`.
    Address,
    /// The number of cores times their clock.
    Cpu,
    /// The free space of the file system that holds this path.
    Disk(PathBuf),
    /// The number of files in this folder.
    Files(PathBuf),
    /// The number that a program prints.
    Command {
        /// The program: a path, or a name that is looked for in PATH.
        program: PathBuf,
        /// Its arguments; no shell reads them.
        arguments: Vec<String>,
        /// How long it may take.
        timeout: Duration,
    },
}

/// In words, such as `disk /var/lib`.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Id => f.write_str("id"),
            Attribute::Priority(number) => write!(f, "priority {number}"),
            Attribute::Address => f.write_str("address"),
            Attribute::Cpu => f.write_str("cpu"),
            Attribute::Disk(path) => write!(f, "disk {}", path.display()),
            Attribute::Files(path) => write!(f, "files {}", path.display()),
            Attribute::Command { program, arguments, .. } => {
                write!(f, "command {}", program.display())?;
                arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
            }
        }
    }
}

impl Config {
    /// The member with this name.
    ///
    /// ```
    /// # let file = std::path::Path::new("../../conf/cluster.json");
    /// let config = electd_config::load(file)?;
    /// assert!(config.member("node-1").is_some() && config.member("node-9").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&MemberConfig> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The hosts by which the admin addresses are asked, by this file.
    pub fn admin_hosts(&self) -> impl Iterator<Item = &str> {
        let listed = self.members.iter();
        let listed = listed.flat_map(|member| [Some(&member.address), member.admin.as_ref()]);
        let listed = listed.flatten();
        self.admin_names.iter().chain(listed).map(String::as_str)
    }

    /// The role of each member.
    ///
    /// ```
    /// # let file = std::path::Path::new("../../conf/cluster.json");
    /// let config = electd_config::load(file)?;
    /// use electd_election::core::types::Role;
    ///
    /// assert_eq!(config.roles(), [Role::Member; 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn roles(&self) -> Vec<Role> {
        self.members.iter().map(|member| member.role).collect()
    }

    /// The folder of a node's state.
    ///
    /// ```
    /// # let file = std::path::Path::new("../../conf/cluster.json");
    /// let config = electd_config::load(file)?;
    /// assert!(config.state_dir("node-1").ends_with("node-1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn state_dir(&self, name: &str) -> PathBuf {
        self.data_dir.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_and_a_check_are_told_in_words() {
        let (program, timeout) = (PathBuf::from("nproc"), Duration::from_secs(1));
        let arguments = vec!["--all".to_owned(), "x".to_owned()];
        let command =
            Attribute::Command { program: program.clone(), arguments: arguments.clone(), timeout };
        for (attribute, words) in [
            (Attribute::Id, "id"),
            (Attribute::Priority(-7), "priority -7"),
            (Attribute::Address, "address"),
            (Attribute::Cpu, "cpu"),
            (Attribute::Disk("/var/lib".into()), "disk /var/lib"),
            (Attribute::Files("/srv".into()), "files /srv"),
            (command, "command nproc --all x"),
        ] {
            assert_eq!(attribute.to_string(), words);
        }
        let (every, alone) = (Duration::from_secs(2), Alone::default());
        let check = HealthConfig { program, arguments, every, timeout, fall: 3, rise: 2, alone };
        assert_eq!(
            check.to_string(),
            "`nproc --all x` every 2s, each for at most 1s; unhealthy after 3 failures in a row, healthy after \
             2 passes; alone: lead"
        );
    }
}
