//! A fake node, its server, and a client that sends exactly what the test says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use electd::admin::{Server, listen};
use electd::flight::document::Recording;
use electd::node::events::{Event, EventKind, EventLog};
use electd::node::handle::{Command, CommandError, Handle, Outcome};
use electd::node::history::HistoryEntry;
use electd::node::locks::LocksView;
use electd::node::status::{LeaderStatus, MemberStatus, NodeRef, RankStatus, Status};
use electd::node::tally::Tally;
use electd::trace::record::Record;
use prometheus_client::metrics::histogram::Histogram;
use serde_json::Value;

/// The token that commands over TCP need, unless a test sets another.
pub const TOKEN: &str = "s3cret";
/// The header with it.
pub const BEARER: &str = "Authorization: Bearer s3cret\r\n";

/// A node that shows and does what the test says.
#[derive(Clone)]
pub struct FakeNode(pub Arc<Mutex<State>>);

/// The state that the fake node shows, and the commands that it got.
pub struct State {
    pub status: Status,
    pub live: bool,
    pub task: Option<Vec<u8>>,
    pub outcome: Result<Outcome, CommandError>,
    pub commands: Vec<Command>,
    pub events: Arc<EventLog>,
    pub tally: Arc<Tally>,
    pub history: Arc<Vec<HistoryEntry>>,
    pub record: Record,
    pub locks: Arc<LocksView>,
    /// While a test holds this, no command is carried out and no record is told.
    pub gate: Arc<Mutex<()>>,
    /// The effects of a command.
    effect: fn(&mut State),
}

impl Handle for FakeNode {
    fn status(&self) -> Status {
        let state = self.0.lock().unwrap();
        let (locks_held, locks_unheld) = (state.locks.held(), state.locks.unheld());
        let locks_version = state.locks.version;
        Status { locks_held, locks_unheld, locks_version, ..state.status.clone() }
    }

    fn is_live(&self) -> bool {
        self.0.lock().unwrap().live
    }

    fn tally(&self) -> Arc<Tally> {
        self.0.lock().unwrap().tally.clone()
    }

    fn events(&self) -> Arc<EventLog> {
        self.0.lock().unwrap().events.clone()
    }

    fn history(&self) -> Arc<Vec<HistoryEntry>> {
        self.0.lock().unwrap().history.clone()
    }

    fn record(&self) -> Record {
        self.pass_gate();
        self.0.lock().unwrap().record.clone()
    }

    fn recording(&self) -> String {
        Recording::new::<Vec<u8>>(self.record(), &[]).written()
    }

    fn locks(&self) -> Arc<LocksView> {
        self.0.lock().unwrap().locks.clone()
    }

    fn task(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap().task.clone()
    }

    fn command(&self, command: Command, limit: Duration) -> Result<Outcome, CommandError> {
        assert_eq!(limit, Duration::from_secs(2));
        self.pass_gate();
        let mut state = self.0.lock().unwrap();
        state.commands.push(command);
        (state.effect)(&mut state);
        state.outcome.clone()
    }
}

impl FakeNode {
    /// A follower of node-2 in epoch 7.
    pub fn new() -> FakeNode {
        let outcome = Outcome {
            sentence: "node-2 resigned; node-1 was asked to lead".to_owned(),
            successor: Some("node-1".to_owned()),
        };
        FakeNode(Arc::new(Mutex::new(State {
            status: status("following", Some("node-2")),
            live: true,
            task: None,
            outcome: Ok(outcome),
            commands: Vec::new(),
            events: Arc::new(EventLog::new(1)),
            tally: Arc::new(Tally::new(Histogram::new([0.001]))),
            history: Arc::default(),
            record: Record::default(),
            locks: Arc::default(),
            gate: Arc::default(),
            effect: |_| {},
        })))
    }

    fn pass_gate(&self) {
        let gate = self.0.lock().unwrap().gate.clone();
        drop(gate.lock());
    }

    /// Lets no command and no record pass while this lives.
    pub fn shut<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let gate = self.0.lock().unwrap().gate.clone();
        let _shut = gate.lock().unwrap();
        meanwhile()
    }

    /// That it is node N of the cluster, and not node-1.
    pub fn with_number(self, number: usize) -> FakeNode {
        self.set(|state| {
            let node = &mut state.status.node;
            node.name = format!("node-{number}");
            node.id = format!("00000000-0000-4000-8000-00000000000{number}");
        });
        self
    }

    pub fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    /// Sets the effects of each command.
    pub fn on_command(&self, effect: fn(&mut State)) {
        self.set(|state| state.effect = effect);
    }

    pub fn tell(&self, event: Event) {
        self.events().push([event]);
    }

    pub fn commands(&self) -> Vec<Command> {
        self.0.lock().unwrap().commands.clone()
    }

    /// Serves clients that have [`TOKEN`].
    pub fn serve(&self) -> Server {
        self.serve_with(Some(TOKEN))
    }

    pub fn serve_with(&self, token: Option<&str>) -> Server {
        let listener = listen("127.0.0.1:0").unwrap();
        Server::start(listener, self.clone(), token.map(str::to_owned)).unwrap()
    }
}

/// A status in this state, with this leader.
pub fn status(state: &str, leader: Option<&str>) -> Status {
    let id = |name: &str| format!("00000000-0000-4000-8000-00000000000{}", &name[5..]);
    Status {
        cluster: "demo".to_owned(),
        node: NodeRef { id: id("node-1"), name: "node-1".to_owned() },
        state: state.to_owned(),
        leader: leader.map(|name| LeaderStatus {
            id: id(name),
            name: name.to_owned(),
            address: "127.0.0.1:7102".to_owned(),
            epoch: 7,
        }),
        epoch: 7,
        quorum: "none".to_owned(),
        algorithm: "bully".to_owned(),
        preempt: "always".to_owned(),
        health: None,
        rank_source: "all are equal, the id decides".to_owned(),
        guarantee: "one leader while all reach each other".to_owned(),
        worst_failover_ms: Some(900),
        crash_failover_ms: Some(400),
        proven_failover_ms: Some(706),
        incarnation: 1,
        uptime_ms: 1000,
        age_ms: 3,
        last_event: Some("1-0".to_owned()),
        ..Status::default()
    }
}

/// That the node lost its leader, for this reason.
pub fn event(reason: &str) -> Event {
    Event {
        id: String::new(),
        at_ms: 1_700_000_000_000,
        event: EventKind::NoLeader,
        node: "node-1".to_owned(),
        from: Some("following".to_owned()),
        state: "electing".to_owned(),
        halting: None,
        leader: None,
        epoch: 7,
        leaderless: None,
        leaderless_ms: None,
        leadership: None,
        member: None,
        reason: reason.to_owned(),
    }
}

/// A client's connection. Reads fail after a minute, so that no test hangs.
pub struct Peer(BufReader<TcpStream>);

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The sentence of a refusal.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_default().to_owned()
    }
}

impl Peer {
    pub fn connect(address: SocketAddr) -> Peer {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Peer(BufReader::new(stream))
    }

    pub fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Says as much as the server takes; it may close meanwhile.
    pub fn try_say(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// Gives up on a server that reads nothing for this long.
    pub fn limit_writes(&self, timeout: Duration) {
        self.0.get_ref().set_write_timeout(Some(timeout)).unwrap();
    }

    /// Whether the server has closed, looked up without waiting and without reading.
    pub fn is_reset(&self) -> bool {
        let stream = self.0.get_ref();
        stream.set_nonblocking(true).unwrap();
        let ended = matches!(stream.peek(&mut [0]), Ok(0));
        stream.set_nonblocking(false).unwrap();
        ended
    }

    /// Whether there is an answer, looked up without waiting and without reading.
    pub fn has_answer(&self) -> bool {
        let stream = self.0.get_ref();
        stream.set_nonblocking(true).unwrap();
        let has_answer = stream.peek(&mut [0]).is_ok_and(|count| count > 0);
        stream.set_nonblocking(false).unwrap();
        has_answer
    }

    /// The next answer; its body is read by its Content-Length.
    pub fn answer(&mut self) -> Answer {
        let mut answer = self.header();
        let length = answer.header("content-length").unwrap().parse().unwrap();
        answer.body = String::from_utf8(self.bytes(length)).unwrap();
        answer
    }

    /// The next bytes, as they are.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The next answer without a body, as to HEAD.
    pub fn header(&mut self) -> Answer {
        let first = self.line();
        let code = first.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {first:?}"));
        let code = code.parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line();
            match line.split_once(": ") {
                Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
                None => {
                    return Answer { code, headers, body: String::new() };
                }
            };
        }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the server to close; true if it said nothing more.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset closes as well.
        let _ = self.0.read_to_end(&mut rest);
        rest.is_empty()
    }
}

/// One request on a connection of its own.
pub fn ask(address: SocketAddr, text: &str) -> Answer {
    let mut peer = Peer::connect(address);
    peer.say(text);
    peer.answer()
}

/// All that is answered to this line and these header lines, without the date.
pub fn whole(address: SocketAddr, line: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let text = format!("{line} HTTP/1.1\r\nHost: n\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: ")).collect()
}

/// An answer of JSON as [`whole`] gives it, with these header lines.
pub fn answer(code: &str, headers: &str, body: &str) -> String {
    let length = body.len() + 1;
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\n{headers}Connection: close\r\n\r\n{body}\n"
    )
}

/// The refusal with this code and this sentence.
pub fn refusal(code: &str, sentence: &str) -> String {
    answer(code, "", &serde_json::json!({ "error": sentence }).to_string())
}

/// `GET path`, on a connection of its own.
pub fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n"))
}

/// `POST path` with this body and these header lines, and with [`TOKEN`] unless they have another.
pub fn post(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> Answer {
    let mut text = format!("POST {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|header| header.starts_with("Host:")) {
        text += "Host: node\r\n";
    }
    if !headers.iter().any(|header| header.starts_with("Authorization:")) {
        text += &format!("Authorization: Bearer {TOKEN}\r\n");
    }
    for header in headers {
        text += &format!("{header}\r\n");
    }
    ask(address, &format!("{text}\r\n{body}"))
}

/// A node's report of a live member.
pub fn member(name: &str, admin: Option<String>) -> MemberStatus {
    MemberStatus {
        id: format!("id of {name}"),
        name: name.to_owned(),
        address: "127.0.0.1:7101".to_owned(),
        admin,
        role: "member".to_owned(),
        eligible: true,
        status: "alive".to_owned(),
        rank: RankStatus { by: "id".to_owned(), ..RankStatus::default() },
        ..MemberStatus::default()
    }
}
