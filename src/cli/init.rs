//! `electd init`: writes a configuration with fresh ids, on one machine or on many hosts.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use serde_json::Value;
use uuid::Uuid;

use super::error::CliError;
use super::exit::Exit;
use super::print;
use crate::config::address::HostPort;
use crate::config::{self, members, parse_quorum};
use crate::core::settings::Quorum;

/// The port of peers, where none is given.
const PORT: u16 = 7101;
/// How far the admin port lies above the port of peers.
const ADMIN: u16 = 100;

/// Write a configuration with fresh ids.
///
/// With --nodes a cluster on this machine: node-1, node-2, ... on 127.0.0.1, peers from port 7101
/// on and HTTP (admin) 100 above. With --member a cluster on the hosts named: its admin address is
/// the same host at port + 100, because one file serves all hosts and `electd status` asks every
/// node; commands (POST) are taken only from the node's own host. Remove "admin", or give another,
/// where HTTP is not to be reached from elsewhere.
///
/// Ids rank the members. They are drawn at random and given out in ascending order, so that a
/// later member ranks higher and the last one is the first to lead.
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("who").required(true).args(["nodes", "member"])),
    after_help = "\
Examples:
  electd init --nodes 5 --out cluster.json
  electd init --cluster billing --member db1=10.0.0.1 --member db2=10.0.0.2:7301 \\
      --data-dir /var/lib/electd --out /etc/electd/cluster.json"
)]
pub struct Init {
    /// So many members on this machine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    nodes: Option<u16>,

    /// A member: its name and the host that others reach it at; port 7101 unless given. Repeat it
    /// for each member.
    #[arg(long, value_name = "NAME=HOST[:PORT]", num_args = 1.., value_parser = parse_member)]
    member: Vec<NewMember>,

    /// The port of node-1; the others follow it.
    #[arg(long, value_name = "PORT", default_value_t = PORT, conflicts_with = "member",
          value_parser = clap::value_parser!(u16).range(1..))]
    base_port: u16,

    /// The name of the cluster.
    #[arg(long, value_name = "NAME", default_value = "demo")]
    cluster: String,

    /// What a leader needs: "none", so that one live member is enough and each side of a split has a
    /// leader; or "majority" of the voters, so that there are never two.
    #[arg(long, value_name = "none|majority", value_parser = parse_quorum)]
    quorum: Option<Quorum>,

    /// The folder of the nodes' state; a relative one starts at the folder of the file.
    #[arg(long, value_name = "DIR", default_value = "data")]
    data_dir: String,

    /// The file to write, which must not exist yet. Without it: stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A member before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewMember {
    name: String,
    address: HostPort,
    admin: HostPort,
}

impl Init {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let text = self.document()?;
        // What two members share, and the cluster's name, only show in the whole.
        config::parse(&text, self.out.as_deref().unwrap_or(Path::new("(new)")))
            .map_err(|errors| CliError::new(Exit::Usage, errors))?;
        match &self.out {
            Some(path) => write_new(path, &text).map_err(|error| refused(path, &error))?,
            None => print::result(&text)?,
        }
        if self.quorum.is_none() {
            print::message(
                "quorum is \"none\": in a partition each side has a leader (--quorum none says \
                 that you mean it)",
            );
        }
        if let Some(path) = &self.out {
            print::message(&format!("wrote {0}; next: electd check --config {0}", path.display()));
        }
        Ok(())
    }

    /// The file, one member a line.
    fn document(&self) -> Result<String, CliError> {
        let members = match self.nodes {
            Some(nodes) => local_members(nodes, self.base_port)?,
            None => self.member.clone(),
        };
        let mut ids: Vec<Uuid> = members.iter().map(|_| Uuid::new_v4()).collect();
        ids.sort_unstable();
        let rows: Vec<String> =
            members.iter().zip(&ids).map(|(member, id)| member.row(*id)).collect();
        let mut text = String::from("{\n");
        let quorum = self.quorum.unwrap_or(Quorum::None).name();
        for (key, value) in
            [("cluster", self.cluster.as_str()), ("quorum", quorum), ("data_dir", &self.data_dir)]
        {
            let _ = writeln!(text, "  \"{key}\": {},", Value::from(value));
        }
        let _ = writeln!(text, "  \"members\": [\n{}\n  ]\n}}", rows.join(",\n"));
        Ok(text)
    }
}

impl NewMember {
    fn new(name: String, address: HostPort) -> Result<NewMember, String> {
        let Some(admin) = address.port().checked_add(ADMIN) else {
            return Err(format!("the admin port, {ADMIN} above {address}, is over 65535"));
        };
        Ok(NewMember { name, admin: address.with_port(admin), address })
    }

    /// Name and addresses hold no character that JSON would have to escape.
    fn row(&self, id: Uuid) -> String {
        let NewMember { name, address, admin } = self;
        format!(
            "    {{\"name\": \"{name}\", \"id\": \"{id}\", \"address\": \"{address}\", \
             \"admin\": \"{admin}\"}}"
        )
    }
}

/// node-1 to node-N on this machine.
fn local_members(nodes: u16, base_port: u16) -> Result<Vec<NewMember>, CliError> {
    let member = |at: u32| {
        let port = u32::from(base_port) + at;
        parse_member(&format!("node-{}=127.0.0.1:{port}", at + 1))
    };
    let members: Result<Vec<NewMember>, String> = (0..u32::from(nodes)).map(member).collect();
    members.map_err(|error| {
        let message = format!("--base-port {base_port} is too high: {error}");
        CliError::new(Exit::Usage, message)
    })
}

/// `NAME=HOST[:PORT]`
fn parse_member(text: &str) -> Result<NewMember, String> {
    let (name, host) = text.split_once('=').ok_or("write NAME=HOST or NAME=HOST:PORT")?;
    if !members::is_name(name) {
        return Err(format!("\"{name}\" is not a name: {}", members::NAME_RULE));
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let address = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
    let address = HostPort::parse(&address)
        .map_err(|bad| format!("\"{host}\" {}: {}", bad.what, bad.remedy))?;
    NewMember::new(name.to_owned(), address)
}

/// Writes a file that must not exist yet, whole or not at all.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file would be in the way of the next attempt; if it stays, that one says so.
        let _ = fs::remove_file(path);
    }
    written
}

fn refused(path: &Path, error: &io::Error) -> CliError {
    let path = path.display();
    let message = if error.kind() == io::ErrorKind::AlreadyExists {
        format!("{path} exists and is not overwritten: name another file, or move it away")
    } else {
        format!("{path} cannot be written: {error}: name another file with --out")
    };
    CliError::new(Exit::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_a_name_and_a_host_with_or_without_port() {
        let parse = |text| parse_member(text).map(|m| (m.address.to_string(), m.admin.to_string()));
        let pair = |a: &str, b: &str| Ok((a.to_owned(), b.to_owned()));
        assert_eq!(parse("a=10.0.0.1"), pair("10.0.0.1:7101", "10.0.0.1:7201"));
        assert_eq!(parse("a=db1:9000"), pair("db1:9000", "db1:9100"));
        assert_eq!(parse("a=[::1]"), pair("[::1]:7101", "[::1]:7201"));
        assert_eq!(parse("a=[::1]:9000"), pair("[::1]:9000", "[::1]:9100"));
        for text in ["a", "=h", "a=", "a/b=h", "a=h:0", "a=::1", "a=h:65500"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn local_members_stay_below_the_last_port() {
        assert_eq!(local_members(100, 7101).unwrap().len(), 100);
        assert!(local_members(1, 65435).is_ok());
        assert_eq!(local_members(2, 65435).unwrap_err().exit, Exit::Usage);
        assert_eq!(local_members(2, 65535).unwrap_err().exit, Exit::Usage);
    }
}
