//! `electd init`: writes a configuration with fresh ids, on one machine or on many hosts.

mod begin;
mod present;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use serde_json::{Value, json};
use uuid::Uuid;

use super::certificates;
use super::error::CliError;
use super::exit::Exit;
use super::files::{PLAIN, write_new};
use super::{ports, print};
use crate::config::{self, parse_quorum};
use crate::core::address::HostPort;
use crate::core::settings::Quorum;
use crate::core::types::Role;
use crate::limits::{NAME_RULE, is_name};

/// For how long a member on a host of its own waits before it takes over from a lower leader: a host that has just
/// come back often fails again soon.
const CALM: &str = "30s";

/// Write a configuration with fresh ids.
///
/// With --member the cluster spans the hosts named. It needs a majority to lead, and a member that
/// comes back waits 30 s before it takes over from a lower one, unless --quorum and --preempt say
/// otherwise. With --nodes all members run on this machine (node-1, node-2, ... on 127.0.0.1), to
/// try things out: one live member is enough to lead.
///
/// The admin address of a member, its HTTP, is its host at port + 100: one file serves all hosts,
/// and `electd status` asks every node. A node takes commands by its control socket alone. Remove
/// "admin", or give another address, if HTTP must not be reached from elsewhere.
///
/// With --tls the members speak TLS with each other. The folder `tls` beside the file then has, for each member,
/// a folder with all that its host needs, valid for two years; and the key of the authority that signed it,
/// ca-key.pem, which no member needs: move it to a safe place.
///
/// With --join the cluster begins with this host alone, over TLS with a majority, and others join: `electd join` on each of
/// them, with a line that this command prints. It then serves them, as `electd invite` does.
///
/// Ids rank the members. They are drawn at random and given out in ascending order, so that a
/// later member ranks higher and the last one is the first to lead.
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("who").required(true).multiple(true).args(["nodes", "member", "renew", "join"])),
    after_help = "\
Examples:
  electd init --nodes 5 --out cluster.json
  electd init --join
      a cluster of this host, and the lines for two others
  electd init --tls --renew a --out cluster.json
      a new certificate for a, by the authority of this file
  electd init --cluster billing --member db1=10.0.0.1 db2=10.0.0.2:7301 \\
      --witness w=10.0.0.3 --tls --out /etc/electd/cluster.json",
    override_usage = "electd init [OPTIONS] <--nodes N | --member NAME=HOST... | --join>\n       electd init --tls --renew NAME --out FILE"
)]
pub struct InitArgs {
    /// Number of members to create, all on this machine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100),
          conflicts_with = "member")]
    nodes: Option<u16>,

    /// A member: its name and the host that others reach it at; port 7101 unless given. Repeat it
    /// for each member.
    #[arg(long, value_name = "NAME=HOST[:PORT]", num_args = 1.., value_parser = parse_member)]
    member: Vec<NewMember>,

    /// A member that votes and never leads, for a third host beside two that may lead.
    #[arg(long, value_name = "NAME=HOST[:PORT]", num_args = 1.., value_parser = parse_witness,
          conflicts_with = "nodes")]
    witness: Vec<NewMember>,

    /// A member that follows the leader, and neither votes nor leads.
    #[arg(long, value_name = "NAME=HOST[:PORT]", num_args = 1.., value_parser = parse_observer,
          conflicts_with = "nodes")]
    observer: Vec<NewMember>,

    /// The port of node-1; the others follow it.
    #[arg(long, value_name = "PORT", default_value_t = ports::PEERS, conflicts_with = "member",
          value_parser = clap::value_parser!(u16).range(1..))]
    base_port: u16,

    /// The name of the cluster.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    cluster: String,

    /// What a leader needs: "majority" of the voters, so that there are never two leaders; or
    /// "none", so that one live member is enough and each side of a split has a leader. Default:
    /// majority with --member, none with --nodes.
    #[arg(long, value_name = "none|majority", value_parser = parse_quorum)]
    quorum: Option<Quorum>,

    /// When a higher member takes over from a live leader: "always" (immediately), "never", or after it
    /// has been eligible for this long without interruption. Default: 30s with --member, always
    /// with --nodes.
    #[arg(long, value_name = "always|never|TIME")]
    preempt: Option<String>,

    /// How long a leader may be silent before it is replaced: 500 ms in a local network (lan), 3 s
    /// between sites (wan), 2 s on virtual machines that their host may stop for a moment (vm).
    #[arg(long, value_enum, default_value_t)]
    timing: NetworkKind,

    /// The folder of the nodes' state; a relative one starts at the folder of the file. Default: /var/lib/electd with
    /// --member, data with --nodes.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,

    /// Have the members speak TLS: make an authority, and a certificate and a key for each member, in the folder
    /// `tls` beside the file.
    #[arg(long, requires = "out")]
    tls: bool,

    /// Make a new certificate and key for this member of the existing file --out, in `tls/NAME` beside it; the key of the
    /// authority has to be there, `tls/ca-key.pem`. Also for a member that was added later.
    #[arg(long, value_name = "NAME", requires_all = ["tls", "out"], conflicts_with_all = ["nodes", "member"])]
    renew: Option<String>,

    /// Begin with this host, and let so many others join within 15 minutes: two unless given. The member is named like this
    /// host, with the address of its default route, unless --member says otherwise.
    #[arg(long, value_name = "HOSTS", num_args = 0..=1, require_equals = true, default_missing_value = "2",
          value_parser = clap::value_parser!(u8).range(1..=100),
          conflicts_with_all = ["nodes", "base_port", "witness", "observer", "renew", "if_absent", "quorum", "tls"])]
    join: Option<u8>,

    /// If the file exists, leave it as it is, and succeed if it has the cluster and the members that are asked for.
    #[arg(long, requires = "out", conflicts_with = "renew")]
    if_absent: bool,

    /// The file to write, which must not exist yet. Without it: stdout, or with --join that of ELECTD_CONFIG, or
    /// /etc/electd/cluster.json.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The network between the members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum NetworkKind {
    /// One local network: the default timings.
    #[default]
    Lan,
    /// Several sites.
    Wan,
    /// Virtual machines on busy hosts.
    Vm,
}

impl NetworkKind {
    /// `timing.failure`, from which the other timings follow; none if the default is right.
    fn failure(self) -> Option<&'static str> {
        match self {
            NetworkKind::Lan => None,
            NetworkKind::Wan => Some("3s"),
            NetworkKind::Vm => Some("2s"),
        }
    }
}

/// A member before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewMember {
    name: String,
    address: HostPort,
    admin: HostPort,
    role: Role,
}

impl InitArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let (Some(member), Some(file)) = (&self.renew, &self.out) {
            return certificates::renew(file, member);
        }
        if let Some(hosts) = self.join {
            return begin::run(self, hosts);
        }
        if let Some(file) = self.out.as_ref().filter(|file| self.if_absent && file.exists()) {
            present::compare(&self, file)?;
            print::message(&format!("{} exists, and is left as it is", file.display()));
            return Ok(());
        }
        let text = self.document()?;
        // Conflicts between members, and the cluster's name, only show in the whole.
        config::parse(&text, self.out.as_deref().unwrap_or(Path::new("(new)")))
            .map_err(|errors| CliError::new(Exit::Usage, errors))?;
        match &self.out {
            Some(path) => {
                write_new(path, &text, PLAIN).map_err(|error| refused(path, &error))?;
                if self.tls {
                    let written = self.write_certificates(path);
                    written.inspect_err(|_| _ = fs::remove_file(path))?; // it names missing files
                }
            }
            None => print::result(&text)?,
        }
        if let Some(warning) = self.warning() {
            print::message(warning);
        }
        if let Some(path) = &self.out {
            print::message(&format!("wrote {0}; next: electd check --config {0}", path.display()));
        }
        Ok(())
    }

    fn write_certificates(&self, file: &Path) -> Result<(), CliError> {
        let members = self.members()?;
        let names = members.iter().map(|member| (member.name.as_str(), member.name.as_str()));
        let folder = certificates::write(file, &self.cluster, names)?;
        print::message(&format!(
            "wrote {0}: copy {0}/NAME to the host of each member, beside the file, and move {0}/ca-key.pem to a \
             safe place",
            folder.display()
        ));
        Ok(())
    }

    /// All members, without their ids.
    fn members(&self) -> Result<Vec<NewMember>, CliError> {
        match self.nodes {
            Some(nodes) => local_members(nodes, self.base_port),
            None => Ok([&self.member[..], &self.witness, &self.observer].concat()),
        }
    }

    /// The quorum that was asked for, or the one that suits the hosts.
    fn quorum(&self) -> Quorum {
        let default = if self.nodes.is_some() { Quorum::None } else { Quorum::Majority };
        self.quorum.unwrap_or(default)
    }

    /// The folder that was asked for, or the one that suits the hosts: that of the packaged unit, or one for a trial.
    fn data_dir(&self) -> &str {
        let default = if self.nodes.is_some() { "data" } else { "/var/lib/electd" };
        self.data_dir.as_deref().unwrap_or(default)
    }

    /// What an operator should know of this cluster before it runs.
    fn warning(&self) -> Option<&'static str> {
        let voters = self.member.len() + self.witness.len();
        match self.quorum() {
            Quorum::None if self.quorum.is_none() => Some(
                "quorum is \"none\": in a partition each side has a leader (--quorum none says \
                 that you mean it)",
            ),
            Quorum::Majority if self.nodes.is_none() && voters == 2 => Some(
                "two voters survive no failure: add --witness NAME=HOST on a third host, which \
                 votes and never leads",
            ),
            _ => None,
        }
    }

    /// The file, one member a line.
    fn document(&self) -> Result<String, CliError> {
        let members = self.members()?;
        let mut ids: Vec<Uuid> = members.iter().map(|_| Uuid::new_v4()).collect();
        ids.sort_unstable();
        let rows: Vec<String> =
            members.iter().zip(&ids).map(|(member, id)| member.row(*id, self.tls)).collect();
        let mut keys = vec![
            ("cluster", Value::from(self.cluster.as_str())),
            ("quorum", Value::from(self.quorum().name())),
            ("data_dir", Value::from(self.data_dir())),
        ];
        keys.extend(self.preempt().map(|preempt| ("preempt", preempt)));
        let failure = self.timing.failure();
        keys.extend(failure.map(|failure| ("timing", json!({ "failure": failure }))));
        keys.extend(begin::keys(self).into_iter().flatten());
        let mut text = String::from("{\n");
        for (key, value) in keys {
            let _ = writeln!(text, "  \"{key}\": {value},");
        }
        let _ = writeln!(text, "  \"members\": [\n{}\n  ]\n}}", rows.join(",\n"));
        Ok(text)
    }

    /// The key `preempt`, unless the file's default is meant.
    fn preempt(&self) -> Option<Value> {
        match self.preempt.as_deref() {
            None if self.nodes.is_some() => None,
            None => Some(json!({ "after": CALM })),
            Some(word @ ("always" | "never")) => Some(word.into()),
            Some(time) => Some(json!({ "after": time })),
        }
    }
}

impl NewMember {
    fn new(name: String, address: HostPort, role: Role) -> Result<NewMember, String> {
        Ok(NewMember { name, admin: ports::admin_of(&address)?, address, role })
    }

    /// Name and addresses have no character that JSON would have to escape.
    fn row(&self, id: Uuid, tls: bool) -> String {
        let NewMember { name, address, admin, role } = self;
        let role = match role {
            Role::Member => String::new(),
            role => format!(", \"role\": \"{}\"", role.name()),
        };
        let tls = if tls {
            format!(",\n     \"tls\": {}", certificates::entry(name))
        } else {
            String::new()
        };
        format!(
            "    {{\"name\": \"{name}\", \"id\": \"{id}\", \"address\": \"{address}\", \
             \"admin\": \"{admin}\"{role}{tls}}}"
        )
    }
}

/// node-1 to node-N on this machine.
fn local_members(nodes: u16, base_port: u16) -> Result<Vec<NewMember>, CliError> {
    // The first port whose admin port would be too high is refused, and none after it is tried.
    let member = |at: u16| parse_member(&format!("node-{}=127.0.0.1:{}", at + 1, base_port + at));
    let members: Result<Vec<NewMember>, String> = (0..nodes).map(member).collect();
    members.map_err(|error| {
        let message = format!("--base-port {base_port} is too high: {error}");
        CliError::new(Exit::Usage, message)
    })
}

/// `NAME=HOST[:PORT]` of a member that votes and may lead.
fn parse_member(text: &str) -> Result<NewMember, String> {
    parse(text, Role::Member)
}

/// The same of a witness.
fn parse_witness(text: &str) -> Result<NewMember, String> {
    parse(text, Role::Witness)
}

/// The same of an observer.
fn parse_observer(text: &str) -> Result<NewMember, String> {
    parse(text, Role::Observer)
}

fn parse(text: &str, role: Role) -> Result<NewMember, String> {
    let (name, host) = text.split_once('=').ok_or("write NAME=HOST or NAME=HOST:PORT")?;
    if !is_name(name) {
        return Err(format!("\"{name}\" is not a name: {}", NAME_RULE));
    }
    NewMember::new(name.to_owned(), ports::with_port(host, ports::PEERS)?, role)
}

fn refused(path: &Path, error: &io::Error) -> CliError {
    let (shown, folder) = (path.display(), path.parent().unwrap_or(Path::new(".")).display());
    let message = match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{shown} exists and is not overwritten: name another file, or move it away")
        }
        io::ErrorKind::NotFound => {
            format!("{shown} cannot be written: there is no folder {folder}: create the folder")
        }
        _ => format!("{shown} cannot be written: {error}: name another file with --out"),
    };
    CliError::new(Exit::Usage, message)
}

#[cfg(test)]
mod tests;
