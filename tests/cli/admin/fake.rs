//! A fake node, its server, and a client that sends exactly what the test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use electd::admin::{Server, listen};
use electd::flight::document::Recording;
use electd::node::delays::MeasuredDelays;
use electd::node::events::{Event, EventKind, EventLog};
use electd::node::handle::{Command, CommandError, Handle, Outcome};
use electd::node::history::HistoryEntry;
use electd::node::locks::LocksView;
use electd::node::status::{LeaderStatus, MemberStatus, NodeRef, RankStatus, Status};
use electd::node::tally::Tally;
use electd::trace::record::Record;
use prometheus_client::metrics::histogram::Histogram;

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
    pub delays: MeasuredDelays,
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

    fn delays(&self) -> MeasuredDelays {
        self.0.lock().unwrap().delays.clone()
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
            delays: MeasuredDelays::default(),
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
