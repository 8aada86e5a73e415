//! `electd invite`: takes hosts into the cluster, for as long as it runs. It has the key of the authority, which no node
//! has; and as its tokens are in its memory alone, none outlives it.

mod guests;
mod port;

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use electd_facts::hint::ClusterFlags;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;
use uuid::Uuid;

use super::args::{ConfigArgs, time_to_wait};
use super::ask::{AskedNode, Targets};
use super::certificates::{self, FOLDER};
use super::error::CliError;
use super::exit::Exit;
use super::join::{JoinAnswer, JoinRequest, JoinToken, judge_name, receive, run_line, send};
use super::member::{members, with_members};
use super::order::give;
use super::print;
use crate::admin::client::{Client, Order};
use crate::config::{self, Config};
use crate::core::address::HostPort;
use crate::net::{Deadline, dial};
use crate::node::status::MemberStatus;
use crate::store::file::rewrite;
use crate::tls::Secured;
use guests::Guests;
pub use port::JoinPort;

/// For how long a token is valid.
pub const VALID: Duration = Duration::from_secs(15 * 60);
/// How much longer the node of a host that was let in has for its start.
const GRACE: Duration = Duration::from_secs(120);
/// How long each step of a host that joins may take.
const STEP: Duration = Duration::from_secs(5);
/// At most so many connections are served: the oldest one goes for the next.
const CONNECTIONS: usize = 16;

/// Let hosts join: print the line for each, and take them in.
///
/// To be run on the host that has the key of the cluster's authority, where `electd init --join` ran, as the user that may
/// read it, beside the node. Each line is good for one host, and for no longer than this command runs. It ends when all
/// hosts are members.
///
/// Exit codes: 0 all hosts are members; 71 the port for joiners, 200 above that of the member, cannot be opened; 75 the
/// time is over; 78 the file, or the authority beside it, cannot be used.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd invite
  electd invite --hosts 2 --for 5m --config /etc/electd/billing/cluster.json")]
pub struct Invite {
    #[command(flatten)]
    config: ConfigArgs,

    /// How many hosts may join.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    hosts: u8,

    /// For how long they may, at most.
    #[arg(long = "for", value_name = "TIME", default_value = "15m", value_parser = time_to_wait)]
    time: Duration,
}

impl Invite {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let config = self.config.load()?;
        let own = config::node_name(&config, self.config.node().as_deref())?.to_owned();
        let address = config.member(&own).map(|member| member.address.clone()).unwrap_or_default();
        let door = JoinPort::open(&own, &address)?;
        invite(config, &own, self.hosts, self.time, door)
    }
}

/// What the connections share.
struct Inviting {
    config: Config,
    own: String,
    folder: PathBuf,
    guests: Guests,
    /// When the tokens end.
    end: Instant,
    /// One host after the other, so that the file of each lists those before it.
    turn: Mutex<()>,
}

/// Lets so many hosts join, by way of the member of this host.
///
/// # Errors
/// If this host cannot invite, or the time is over.
pub fn invite(
    config: Config,
    own: &str,
    hosts: u8,
    time: Duration,
    JoinPort { address: door, listener }: JoinPort,
) -> Result<(), CliError> {
    certificates::judge_own(&config, own).map_err(|error| {
        CliError::new(Exit::Config, format!("hosts cannot join this cluster: {error}"))
    })?;
    let folder = config.file.with_file_name(FOLDER);
    let authority = certificates::hash(&folder, &config.cluster).map_err(|error| {
        CliError::new(
            Exit::Config,
            format!(
                "this host cannot let others join: {error}: invite where `electd init --join` ran"
            ),
        )
    })?;
    let secrets: Vec<Uuid> = (0..hosts).map(|_| Uuid::new_v4()).collect();
    let guests = Guests::new(&secrets);
    let tokens = secrets.into_iter().map(|secret| JoinToken { secret, authority });
    let lines = tokens.map(|token| format!("electd join {door} --token {token}\n"));
    print::result(&lines.collect::<String>())?;
    print::message(&format!(
        "each line lets one host join {}, within {} s, and while this command runs",
        config.cluster,
        time.as_secs()
    ));
    let end = Instant::now() + time;
    let inviting = Arc::new(Inviting {
        config,
        own: own.to_owned(),
        folder,
        guests,
        end,
        turn: Mutex::default(),
    });
    inviting.until_done(listener)
}

impl Inviting {
    /// Serves who comes, and adds the members whose nodes run.
    fn until_done(self: &Arc<Self>, listener: TcpListener) -> Result<(), CliError> {
        let end = self.end;
        let (mut listener, mut connections) = (Some(listener), Vec::new());
        loop {
            let now = Instant::now();
            if now >= end {
                listener = None; // the tokens end here
            }
            match &listener {
                Some(listener) => self.serve_next(listener, &mut connections),
                None if self.guests.waiting().is_empty() || now >= end + GRACE => {
                    return Err(CliError::new(Exit::NotNow, self.guests.left()));
                }
                None => thread::sleep(Duration::from_millis(500)),
            }
            for member in self.guests.waiting() {
                self.add(&member);
            }
            if self.guests.is_done() {
                print::message(&self.farewell());
                return Ok(());
            }
        }
    }

    /// What is left to do: the files of those that joined before others do not list these.
    fn farewell(&self) -> String {
        let others = self.config.members.iter().map(|member| &member.name);
        let mut earlier: Vec<&String> = others.filter(|name| **name != self.own).collect();
        let joined = self.guests.joined();
        earlier.extend(joined.iter().rev().skip(1));
        let all = format!("all hosts have joined {}", self.config.cluster);
        if earlier.is_empty() {
            return all;
        }
        let earlier: Vec<&str> = earlier.into_iter().map(String::as_str).collect();
        format!(
            "{all}; copy {} of this host to that of {}: the last one joined after its file was written",
            self.config.file.display(),
            earlier.join(" and ")
        )
    }

    /// Serves a connection, if one comes soon.
    fn serve_next(self: &Arc<Self>, listener: &TcpListener, connections: &mut Vec<TcpStream>) {
        let limit = rustix::time::Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        if !poll(&mut fds, Some(&limit)).is_ok_and(|ready| ready > 0) {
            return;
        }
        let Ok((io, _)) = listener.accept() else { return };
        connections.extend(io.try_clone());
        if connections.len() > CONNECTIONS {
            let _ = connections.remove(0).shutdown(Shutdown::Both);
        }
        let inviting = self.clone();
        let work = move || {
            if let Err(error) = inviting.serve(&io) {
                log::debug!("a connection ended: {error}");
            }
            let _ = io.shutdown(Shutdown::Both); // the clone keeps it open
        };
        if let Err(error) = thread::Builder::new().name("join".to_owned()).spawn(work) {
            log::error!("no thread for a host that joins: {error}");
        }
    }

    fn serve(&self, io: &TcpStream) -> std::io::Result<()> {
        let cluster = &self.config.cluster;
        let Some(mut session) =
            certificates::show(&self.folder, cluster, &mut Deadline::new(io, STEP))?
        else {
            return Ok(()); // a stranger, or a host with another token
        };
        let mut line = Secured::new(Deadline::new(io, STEP), Some(&mut session));
        let request: JoinRequest = receive(&mut line)?;
        let answer = self.answer(&request).unwrap_or_else(JoinAnswer::Refused);
        if let JoinAnswer::Granted { .. } = answer {
            print::message(&format!(
                "{} may join: waiting for its node at {}",
                request.name, request.address
            ));
        }
        send(&mut Secured::new(Deadline::new(io, STEP), Some(&mut session)), &answer)
    }

    /// Judges all of a request, and only then counts its token as used.
    fn answer(&self, request: &JoinRequest) -> Result<JoinAnswer, String> {
        let JoinRequest { name, address, role, .. } = request;
        let _turn = self.turn.lock();
        if Instant::now() >= self.end {
            return Err(
                "the time of the token is over: `electd invite` there prints a new one".to_owned()
            );
        }
        self.guests.judge(request.secret, name, address)?;
        judge_name(name, "--name")?;
        let present = self.present(request.secret)?;
        if let Some(other) = present.iter().find(|member| member.name == *name) {
            return Err(format!(
                "the member at {} has the name {name}: give another with --name",
                other.address
            ));
        }
        let (name, address, role) = (name.clone(), address.clone(), role.clone());
        let admin = super::ports::admin_of(&HostPort::parse(&address).map_err(|bad| bad.what)?)?;
        // Whoever comes again may be a member by now, without knowing.
        let id = self.guests.id_of(request.secret).unwrap_or_else(|| Uuid::new_v4().to_string());
        let admin = Some(admin.to_string());
        let member = MemberStatus { id, name, address, admin, role, ..MemberStatus::default() };
        let all: Vec<MemberStatus> = present.into_iter().chain([member.clone()]).collect();
        let file = with_members(&self.config.file, &all);
        let file = file.map_err(|errors| errors.trim().replace('\n', "; "))?;
        reach(&member.address, request.proof)?;
        let [ca, cert] = certificates::answer(
            &self.folder,
            &self.config.cluster,
            &member.name,
            &request.request,
        )
        .map_err(|error| format!("it gets no certificate: {error}"))?;
        self.guests.take(request.secret, member)?;
        Ok(JoinAnswer::Granted { file, ca, cert })
    }

    /// The members by the node of this host, and those that are to become members besides the one of this secret.
    fn present(&self, secret: Uuid) -> Result<Vec<MemberStatus>, String> {
        let unled = || {
            let start = run_line(&self.config.file, &self.own);
            format!(
                "the cluster has no leader: `electd status` there says why; if its node does not run, `{start}` starts it"
            )
        };
        let (_, asked) = self.asked().map_err(|error| error.message)?;
        let is_led =
            asked.iter().any(|one| one.answer.as_ref().is_ok_and(|it| it.leader.is_some()));
        if !is_led {
            return Err(unled());
        }
        let present = members(&asked);
        let is_new = |guest: &MemberStatus| present.iter().all(|member| member.id != guest.id);
        let guests = self.guests.waiting_besides(Some(secret)).into_iter().filter(is_new);
        Ok(present.iter().cloned().chain(guests).collect())
    }

    fn asked(&self) -> Result<(Client, Vec<AskedNode>), CliError> {
        let targets = Targets::of(self.config.clone(), None)?;
        let client = targets.client(None);
        let asked = targets.ask(&client);
        Ok((client, asked))
    }

    /// Makes this host a member, once its node runs. Until then the cluster stays as it is.
    fn add(&self, member: &MemberStatus) {
        let MemberStatus { id, name, address, admin, role, .. } = member;
        let entry =
            json!({ "name": name, "id": id, "address": address, "admin": admin, "role": role });
        if !has_node(address) {
            return;
        }
        let Ok((client, asked)) = self.asked() else { return };
        let flags = ClusterFlags::of_command(Some(&self.config.file));
        if !members(&asked).iter().any(|known| known.id == *id)
            && let Err(error) =
                give(&client, &asked, &Order::post("members", &entry).changing_members(), &flags)
        {
            return self.guests.note(name, error.message);
        }
        if let Err(error) = self.write_file() {
            print::message(&format!(
                "{} does not list {name} yet: {error}",
                self.config.file.display()
            ));
        }
        self.guests.done(name);
        print::message(&format!("{name} is a member"));
    }

    /// The file of this host lists the members that there are now.
    fn write_file(&self) -> Result<(), String> {
        let (_, asked) = self.asked().map_err(|error| error.message)?;
        let file = &self.config.file;
        let text = with_members(file, members(&asked))?;
        rewrite(file, text.as_bytes()).map_err(|error| error.to_string())
    }
}

/// Whether a node listens at this address: it waits for a hello, while a host that still joins speaks at once.
fn has_node(address: &str) -> bool {
    let limit = Duration::from_secs(1);
    let Ok(io) = dial(address, limit, limit) else { return false };
    let is_silent = |error: std::io::Error| {
        matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
    };
    Deadline::new(&io, Duration::from_millis(300)).read(&mut [0]).is_err_and(is_silent)
}

/// Dials a host that joins at its address, where that host itself has to answer.
fn reach(address: &str, proof: Uuid) -> Result<(), String> {
    let mut found = [0; 16];
    let limit = Duration::from_secs(2);
    let answered =
        dial(address, limit, limit).and_then(|io| Deadline::new(&io, limit).read_exact(&mut found));
    match answered {
        Err(error) => Err(format!(
            "others do not reach it at {address}: {error}: give another --address, or open the port"
        )),
        Ok(()) if found != *proof.as_bytes() => {
            Err(format!("another process answers at {address}: give another --address"))
        }
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A host that joins listens, too, until it has its answer: it must not become a member before its node runs.
    #[test]
    fn a_host_that_still_joins_is_no_node() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = address.clone();
        let asks = thread::spawn(move || [(); 3].map(|()| has_node(&asked)));
        listener.accept().unwrap().0.write_all(&[7; 16]).unwrap();
        drop(listener.accept().unwrap());
        let silent = listener.accept().unwrap();
        assert_eq!(asks.join().unwrap(), [false, false, true], "it speaks, it ends, it waits");
        drop((silent, listener));
        assert!(!has_node(&address), "nobody is there");
    }
}
