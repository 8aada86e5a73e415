//! `electd join`: makes this host a member of a cluster, with a token of its first host.

mod staged;
mod words;

use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use uuid::Uuid;

use super::args;
use super::ask::Targets;
use super::certificates::{self, OWN};
use super::error::CliError;
use super::exit::Exit;
use super::files::write_new;
use super::member::RoleArg;
use super::ports::{self, with_port};
use super::{print, unit};
use crate::config;
use crate::core::address::HostPort;
use crate::limits::{NAME_RULE, is_name};
use crate::net::{Deadline, dial};
use crate::tls::{Credentials, Secured, TlsCause, TlsFault, can_name};
use electd_facts::hint::{ClusterFlags, Hint, quoted};
use staged::{Staged, refused};
pub use words::{JoinAnswer, JoinRequest, JoinToken, receive, send};

/// How long its name service, and then that host, may take for a connection.
const DIAL: Duration = Duration::from_secs(5);
/// How long the first host may take for an answer. It dials this one meanwhile.
const ANSWER: Duration = Duration::from_secs(20);
/// How long a member that was started may take to know its leader.
const LED: Duration = Duration::from_secs(60);

/// Join a cluster, as a host of its own.
///
/// On the first host `electd init --join`, or `electd invite`, prints the line for this one. The first host dials the
/// port of this host, signs a certificate for its key, and sends the file of the cluster. The key does not leave this
/// host. Where systemd has the unit of electd, it is enabled and started; else a line says how to start the node. The
/// node becomes a member once it runs.
///
/// Exit codes: 0 done; 1 refused; 2 this host has the files of a cluster, or they cannot be written; 69 nobody invites at
/// that address; 71 the port of this host cannot be opened; 78 what the first host answers cannot be used: then this host is as
/// before. 70 the unit cannot be started; 75 its node knows no leader yet.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd join 10.0.0.1 --token TOKEN
  electd join 10.0.0.1 --token TOKEN --name db2 --address 10.1.0.2
  electd join 10.0.0.1:7311 --token TOKEN \\
      --config /etc/electd/billing/cluster.json")]
pub struct Join {
    /// The first host, and its port for joiners: 7301 unless given.
    #[arg(value_name = "HOST[:PORT]", value_parser = first_host)]
    host: HostPort,

    /// The token that it printed, good for one host.
    #[arg(long, value_name = "TOKEN")]
    token: String,

    /// The name of the new member. Without it: the name of this host.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The address that other members dial. Without it: that of this host towards the first one. The port is that of the
    /// first host's member unless given; HTTP is at port + 100.
    #[arg(long, value_name = "HOST[:PORT]")]
    address: Option<String>,

    /// The role of the new member.
    #[arg(long, value_enum, default_value_t)]
    role: RoleArg,

    /// The file to write, which must not exist yet. [env: ELECTD_CONFIG=] [default: /etc/electd/cluster.json]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn first_host(text: &str) -> Result<HostPort, String> {
    with_port(text, ports::JOINERS_DEFAULT)
}

fn usage(what: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::Usage, what)
}

impl Join {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let token: JoinToken = self.token.parse().map_err(usage)?;
        let name = self.name.clone().unwrap_or_else(own_name);
        judge_name(&name, "--name").map_err(usage)?;
        let file = std::path::absolute(args::file(self.config.clone())).map_err(usage)?;
        let staged = Staged::begin(&file)?;
        let key = staged.files().key;
        let request = certificates::request(&key).map_err(|error| refused(&key, &error))?;
        let (text, [ca, cert]) = self.ask(token, &name, request)?;
        let files = staged.files();
        for (file, text) in [(&files.ca, ca), (&files.cert, cert)] {
            write_new(file, &text, 0o644).map_err(|error| refused(file, &error))?;
        }
        // All of the answer is judged before any of it is in its place.
        let config = config::parse(&text, &file)?;
        Credentials::load(&files, &config.cluster, &name)
            .map_err(|error| CliError::new(Exit::Config, error))?;
        certificates::judge_own(&config, &name)
            .map_err(|error| CliError::new(Exit::Config, error))?;
        staged.commit(&text)?;
        let wrote =
            format!("{} is now that of {name} in cluster {}", file.display(), config.cluster);
        print::message(&wrote);
        match unit::start(&file, &name)? {
            Some(unit) => {
                print::message(&format!("{unit} runs"));
                until_led(config, &name)
            }
            None => {
                print::message("start the node:");
                print::result(&format!("{}\n", run_line(&file, &name)))
            }
        }
    }

    /// Asks the first host to let this one in. Returns the text of the file, and the certificates.
    fn ask(
        &self,
        token: JoinToken,
        name: &str,
        request: String,
    ) -> Result<(String, [String; 2]), CliError> {
        let (host, role) = (&self.host, self.role.name().to_owned());
        let socket = dial(&host.to_string(), DIAL, DIAL).map_err(|error| {
            let what = format!(
                "nobody invites at {host}: {error}; a token ends with the command that printed it: `electd invite` there \
                 prints a new one"
            );
            CliError::new(Exit::Unavailable, what)
        })?;
        let lost = |error: std::io::Error| {
            CliError::new(Exit::Unavailable, format!("{host} does not answer: {error}"))
        };
        let mut session = certificates::meet(token.authority, &mut Deadline::new(&socket, ANSWER))
            .map_err(|fault| CliError::new(Exit::No, unmet(host, fault)))?;
        let address = self.own_address(&socket)?;
        let listener = TcpListener::bind(address.to_string()).map_err(|error| {
            let what =
                format!("this host cannot listen on {address}: {error}: give another --address");
            CliError::new(Exit::Listen, what)
        })?;
        let (secret, name, proof) = (token.secret, name.to_owned(), Uuid::new_v4());
        let address = address.to_string();
        let question = JoinRequest { secret, name, address, role, request, proof };
        let mut line = Secured::new(Deadline::new(&socket, ANSWER), Some(&mut session));
        send(&mut line, &question).map_err(lost)?;
        prove(&listener, &socket, proof).map_err(lost)?;
        let mut line = Secured::new(Deadline::new(&socket, ANSWER), Some(&mut session));
        match receive(&mut line).map_err(lost)? {
            JoinAnswer::Refused(why) => {
                Err(CliError::new(Exit::No, format!("{host} refuses this host: {why}")))
            }
            JoinAnswer::Granted { file, ca, cert } => Ok((file, [ca, cert])),
        }
    }

    /// The address that is given, or that of this end of the connection.
    fn own_address(&self, socket: &TcpStream) -> Result<HostPort, CliError> {
        let port = ports::peers_below(self.host.port());
        let address = match &self.address {
            Some(text) => with_port(text, port),
            None => match socket.local_addr() {
                Ok(own) => with_port(&std::net::SocketAddr::new(own.ip(), port).to_string(), port),
                Err(error) => Err(error.to_string()),
            },
        };
        address.map_err(|error| usage(format_args!("--address: {error}")))
    }
}

/// Tells whoever dials this host that it is the one which asks, until the answer comes.
fn prove(own: &TcpListener, answer: &TcpStream, proof: Uuid) -> std::io::Result<()> {
    let end = Instant::now() + ANSWER;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let limit = left.try_into().map_err(std::io::Error::other)?;
        let mut fds = [PollFd::new(answer, PollFlags::IN), PollFd::new(own, PollFlags::IN)];
        if retry_on_intr(|| poll(&mut fds, Some(&limit)))? == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        if !fds[0].revents().is_empty() {
            return Ok(());
        }
        if let Ok((mut dialer, _)) = own.accept() {
            let _ = dialer.write_all(proof.as_bytes()); // a stranger may be gone
        }
    }
}

/// Why the first host could not prove that it is the one of the token.
fn unmet(host: &HostPort, fault: Option<TlsFault>) -> String {
    match fault {
        Some(TlsFault { cause: TlsCause::UnknownCa, .. }) => {
            format!(
                "the token is not of the cluster at {host}: copy the line that its first host printed"
            )
        }
        Some(TlsFault { cause: TlsCause::NotYetValid | TlsCause::Expired, .. }) => format!(
            "the clock of this host says {:.0}, when the certificate of the cluster is not valid: correct the clock",
            Timestamp::now()
        ),
        Some(fault) => format!("{host} is no host that invites: {}", fault.why),
        None => format!("{host} is no host that invites: the connection ended"),
    }
}

/// Whether a member of a cluster with TLS can have this name, which comes from here.
///
/// # Errors
/// In words.
pub fn judge_name(name: &str, from: &str) -> Result<(), String> {
    match name {
        _ if !is_name(name) => {
            Err(format!("\"{name}\" is not a name: {NAME_RULE}: give one with {from}"))
        }
        _ if name == OWN || !can_name(name) => {
            Err(format!("\"{name}\" cannot be the name of a member here: give another with {from}"))
        }
        _ => Ok(()),
    }
}

/// The name of this host, without its domain.
pub fn own_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    host.split('.').next().unwrap_or_default().to_owned()
}

/// The address that this host has towards others, by its default route. Nothing is sent.
///
/// # Errors
/// If it has none.
pub fn own_host() -> std::io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect("192.0.2.1:9")?;
    Ok(socket.local_addr()?.ip().to_string())
}

/// Waits until the member of this host, which was started, knows its leader.
fn until_led(config: config::Config, name: &str) -> Result<(), CliError> {
    let end = Instant::now() + LED;
    let why = format!("`electd why --config {} {name}`", quoted(&config.file));
    let targets = Targets::of(config, None)?;
    let client = targets.client(None);
    while Instant::now() < end {
        let own = targets.nodes.iter().find(|target| target.name() == name);
        let leader = own.and_then(|own| own.status(&client).ok()?.leader);
        if let Some(leader) = leader {
            return print::result(&format!("{name} is a member; {} leads\n", leader.name));
        }
        thread::sleep(Duration::from_millis(200));
    }
    let what = format!("{name} runs, and knows no leader after {LED:?}: {why} says more");
    Err(CliError::new(Exit::NotNow, what))
}

/// The command that starts this member of this file.
pub fn run_line(file: &Path, name: &str) -> String {
    Hint::Run.line(Some(name), &ClusterFlags::of_command(Some(file)))
}
