//! Members that serve HTTPS, and who may command them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use electd_record::delays::MeasuredDelays;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use rustix::process::getpriority_process;

use super::*;
use crate::admin::client::{Achieved, Client, ClientError, Order, Recipient};
use crate::admin::control;
use crate::admin::exchange::Exchange;
use crate::net::listen;
use crate::node::events::EventLog;
use crate::node::handle::{Command, CommandError, Outcome};
use crate::node::history::HistoryEntry;
use crate::node::status::{MemberStatus, Status};
use crate::node::tally::Tally;
use crate::tls::make::Authority;
use crate::tls::{Credentials, Files, Trust};
use crate::trace::record::Record;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

/// A node that shows this, and does what it is told.
#[derive(Clone)]
pub struct Shows {
    status: Arc<Mutex<Status>>,
    pub events: Arc<EventLog>,
    /// How often it was asked for its record.
    recorded: Arc<AtomicUsize>,
    /// The names of the threads that served clients, and their nice values.
    threads: Arc<Mutex<Vec<(String, i32)>>>,
}

impl Shows {
    /// The member of this name of a cluster of these.
    pub fn new(name: &str, members: &[(&str, SocketAddr)]) -> Shows {
        let member = |(name, admin): &(&str, SocketAddr)| MemberStatus {
            name: (*name).to_owned(),
            id: format!("id of {name}"),
            admin: Some(admin.to_string()),
            ..MemberStatus::default()
        };
        let members = members.iter().map(member).collect();
        let mut status = Status { members, cluster: "hc".to_owned(), ..Status::default() };
        (status.node.name, status.node.id) = (name.to_owned(), format!("id of {name}"));
        let (status, events) = (Arc::new(Mutex::new(status)), Arc::new(EventLog::new(1)));
        Shows { status, events, recorded: Arc::default(), threads: Arc::default() }
    }
}

impl Handle for Shows {
    fn status(&self) -> Status {
        self.status.lock().clone()
    }

    fn is_live(&self) -> bool {
        let name = thread::current().name().unwrap().to_owned();
        self.threads.lock().push((name, getpriority_process(None).unwrap()));
        true
    }

    fn tally(&self) -> Arc<Tally> {
        Arc::new(Tally::new(Histogram::new([0.001])))
    }

    fn events(&self) -> Arc<EventLog> {
        self.events.clone()
    }

    fn delays(&self) -> MeasuredDelays {
        MeasuredDelays::default()
    }

    fn history(&self) -> Arc<Vec<HistoryEntry>> {
        Arc::default()
    }

    fn record(&self) -> Record {
        self.recorded.fetch_add(1, Ordering::SeqCst);
        Record::default()
    }

    fn recording(&self) -> String {
        String::new()
    }

    fn task(&self) -> Option<Vec<u8>> {
        None
    }

    fn command(&self, command: Command, _: Duration) -> Result<Outcome, CommandError> {
        Ok(Outcome { sentence: format!("{command:?}"), successor: None })
    }
}

/// The credentials of two members of a cluster, which are called a and b.
pub fn members() -> [Credentials; 2] {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("hc").unwrap());
    ["a", "b"].map(|name| {
        let pair = authority.sign(name).unwrap();
        let file = |what: &str, text: &str| {
            let path = folder.path().join(format!("{name}-{what}"));
            fs::write(&path, text).unwrap();
            path
        };
        let (ca, cert) = (file("ca", authority.certificate()), file("cert", &pair.cert));
        let files = Files { ca, cert, key: file("key", &pair.key) };
        Credentials::load(&files, "hc", name).unwrap()
    })
}

/// The servers of two members, which are called a and b, with their nodes and their certificates.
fn two_members() -> [(Server, Shows, Arc<Credentials>); 2] {
    let mut credentials = members().into_iter();
    let listeners = ["a", "b"].map(|name| (name, listen("127.0.0.1:0").unwrap()));
    let places = listeners.each_ref().map(|(name, at)| (*name, at.local_addr().unwrap()));
    listeners.map(|(name, listener)| {
        let (security, node) = (Security::new(credentials.next()), Shows::new(name, &places));
        let own = security.now().unwrap();
        let server = Server::start_secured(listener, node.clone(), None, security, []).unwrap();
        (server, node, own)
    })
}

/// The answer of a member to a command of an operator with the certificate of another one, or with its own.
fn commands(server: &Server, to: &str, shown: &Credentials) -> Result<Achieved, ClientError> {
    let address = server.local_addr().to_string();
    let client = Client::within(Some(LONG), None).secured(Trust::in_member(shown, to));
    let id = format!("id of {to}");
    let to = Recipient { address: &address, cluster: "hc", id: &id };
    client.command(to, &Order::post("elections", &serde_json::json!({})))
}

#[test]
fn over_https_the_certificate_of_any_member_lets_a_command_pass_until_it_is_removed() {
    let [(server, node, of_a), (_, _, of_b)] = two_members();
    for shown in [&of_a, &of_b] {
        assert_eq!(commands(&server, "a", shown).unwrap().result, "Elect");
    }
    node.status.lock().members.retain(|member| member.name == "a");
    let refused = commands(&server, "a", &of_b).unwrap_err();
    assert!(
        matches!(&refused, ClientError::Refused { code: 403, sentence, .. }
        if sentence.starts_with("commands over TCP need the certificate of a member")),
        "{refused}"
    );
    assert_eq!(commands(&server, "a", &of_a).unwrap().result, "Elect", "it is a member still");
    server.stop();
}

#[test]
fn who_speaks_http_to_an_address_of_https_is_told_so() {
    let [(server, ..), _] = two_members();
    let mut client = TcpStream::connect(server.local_addr()).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client.write_all(b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    let body = "{\"error\":\"this address serves HTTPS alone: ask for https://\"}\n";
    assert!(answer.ends_with(body), "{answer}");
    server.stop();
}

/// The answer of a server to a question.
fn ask(address: &str, trust: Option<&Trust>, path: &str) -> (u16, String) {
    let mut exchange = Exchange::open(address, trust, LONG).unwrap();
    exchange.ask(&format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"), LONG).unwrap();
    exchange.answer(LONG).unwrap()
}

/// A crowd on the admin address shall keep neither the election thread waiting nor an operator on this host.
#[test]
fn who_comes_by_tcp_is_served_after_others_and_who_comes_by_the_control_socket_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let node = Shows::new("a", &[]);
    let server = Server::start(listen("127.0.0.1:0").unwrap(), node.clone(), None).unwrap();
    let control = ControlSocket::listen(folder.path(), None).unwrap();
    let control = ControlServer::start(control, node.clone(), drop).unwrap();
    for address in [server.local_addr().to_string(), control::address(folder.path())] {
        assert_eq!(ask(&address, None, "/livez").0, 200);
    }
    let own = getpriority_process(None).unwrap();
    let served = std::mem::take(&mut *node.threads.lock());
    let names: Vec<_> = served.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["admin-client", "control-client"]);
    for ((_, nice), meant) in served.iter().zip([5, 0]) {
        assert!([meant, own.max(meant)].contains(nice), "{served:?}, and {own} of the test");
    }
    server.stop();
    control.stop();
    assert_eq!(control::reach(folder.path()), control::Reach::Absent);
}

#[test]
fn a_member_that_serves_https_asks_the_others_by_it() {
    let [(server, _, own), (_other, b, _)] = two_members();
    let address = server.local_addr().to_string();
    let trust = Trust::in_member(&own, "a");
    let ask = |path| ask(&address, trust.as_ref(), path);
    // It waits for a second, which a busy machine may take.
    let (_, status) =
        (0..20).map(|_| ask("/peers/b/status")).find(|(code, _)| *code == 200).unwrap();
    let status: Status = serde_json::from_str(&status).unwrap();
    assert_eq!((status.node.name.as_str(), status.cluster.as_str()), ("b", "hc"));
    let asks = || {
        assert_eq!(ask("/elections/last").0, 404, "nobody recorded one");
        b.recorded.load(Ordering::SeqCst) > 0
    };
    assert!((0..20).any(|_| asks()), "it asks b for its record");
    server.stop();
}
