//! The election thread: the only one that touches the core. It waits in one place, on one queue,
//! and never on a peer or on the disk.
//!
//! One queue, and a `select!` over that queue and the time. A `select!` over several queues would cost
//! a failover 0.1 ms on a busy processor: a thread that wakes it holds a lock that the woken thread
//! needs, so that the woken thread often sleeps again until the other has run on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender};
use crossbeam::select;
use electd_facts::refused::MutualRefusal;
use log::{info, warn};

use super::clock;
use super::inbox::{CommandOrder, InboxEvent};
use super::leadership::Change;
use super::locks::side::LockSide;
use super::members;
use super::notes;
use super::publish::Published;
use super::story;
use super::words;
use crate::core::durable::Durable;
use crate::core::membership::MemberList;
use crate::core::message::{Done, Refusal, Rejection};
use crate::core::restart::KeptState;
use crate::core::types::{NodeId, Time};
use crate::core::{CommandId, Core, Input, Note, Output, Phase, Reason, Transition};
use crate::flight::tape::Tape;
use crate::net::rejections::RefusedBy;
use crate::net::{Answering, Net, NetEvent, Who};
use crate::recorder::Recorder;
use crate::store::{StoreRecord, StoreWriter};

/// How many inputs are taken before the timers get their turn, however many wait.
const BATCH: usize = 256;

/// Everything that the election thread owns.
pub struct ElectionLoop {
    core: Core,
    net: Net,
    store: StoreWriter,
    locks: LockSide,
    /// The order to stop, which waits until all names have been given back, and until when at most.
    stopping: Option<(CommandOrder, Time)>,
    /// A change of the voters, which waits until the locks bear it, and until when at most.
    changing: Option<(Input, Time)>,
    events: Receiver<InboxEvent>,
    /// Those who wait for an answer wait no longer than this lives.
    _answering: Answering,
    published: Arc<Published>,
    answers: BTreeMap<CommandId, Sender<Result<Done, Refusal>>>,
    last_command: u64,
    /// Those who hold the leadership, by their numbers, and for how long each may do so.
    holds: BTreeMap<u64, Duration>,
    /// The leadership is to end, and waits for them.
    ending: bool,
    out: Vec<Output>,
    /// Log lines to write once the outputs have left.
    log: Vec<Transition>,
    /// The last logged change; an equal one is no news. A member whose wait for one that may lead
    /// brings no leader repeats it every T2.
    last_change: Option<Transition>,
    recorder: Recorder,
    tape: Tape,
    stopped: bool,
    /// This member does not belong to the cluster any more.
    removed: bool,
    /// The member list as it was before this turn.
    members: Arc<MemberList>,
    /// Whether the thread "watch" is to be woken at the end of this turn.
    rings: bool,
}

impl ElectionLoop {
    pub fn new(
        core: Core,
        net: Net,
        (store, locks): (StoreWriter, LockSide),
        (events, answering): (Receiver<InboxEvent>, Answering),
        published: Arc<Published>,
    ) -> ElectionLoop {
        let members = core.members().clone();
        let recorder = Recorder::new(&core, clock::now());
        let tape = Tape::new(&core, clock::now(), &published.taped);
        ElectionLoop {
            core,
            net,
            store,
            locks,
            stopping: None,
            changing: None,
            events,
            _answering: answering,
            published,
            answers: BTreeMap::new(),
            last_command: 0,
            holds: BTreeMap::new(),
            ending: false,
            out: Vec::new(),
            log: Vec::new(),
            last_change: None,
            recorder,
            tape,
            stopped: false,
            removed: false,
            members,
            rings: false,
        }
    }

    /// The main loop of the election thread. Returns the threads that are left to be stopped.
    pub fn run(mut self) -> (Net, StoreWriter) {
        self.published.realtime.enter();
        let mut batch = 0;
        while !self.stopped {
            let event = self.wait();
            self.notice_stall();
            self.published.turned(clock::now());
            let waiting = !self.events.is_empty() && batch < BATCH;
            batch = if waiting { batch + 1 } else { 0 };
            if let Some(InboxEvent::Held { number, most, held }) = event {
                self.hold(number, most, &held);
            } else if let Some(InboxEvent::Unheld { number }) = event {
                self.let_go(number);
            } else if let Some(InboxEvent::Lock(request)) = event {
                self.request_locks(request);
            } else if let Some(InboxEvent::LocksStored(result)) = event {
                self.locks_stored(result);
            } else if let Some(InboxEvent::Timed { timing, done }) = event {
                self.net.set_failure(timing.failure);
                self.turn(Input::Timed { timing });
                let _ = done.try_send(()); // the caller may have given up
            } else if let Some(input) = event.and_then(|event| self.input(event)) {
                self.turn(input);
            }
            // Queued events count before overdue timers: a heartbeat in the queue is no silence.
            if !waiting && self.core.deadline().is_some_and(|due| due <= clock::now()) {
                self.turn(Input::Tick);
            } else if self.locks.deadline(clock::now()).is_some_and(|due| due <= clock::now()) {
                self.turn_locks(None);
            }
            if std::mem::take(&mut self.rings) {
                self.published.ring();
            }
        }
        if self.removed {
            self.published.calls.removed();
        }
        self.published.ring();
        self.locks.stop();
        (self.net, self.store)
    }

    /// Somebody wants to hold the leadership: refused, by no answer, while it waits for others to let go.
    fn hold(&mut self, number: u64, most: Duration, held: &Sender<()>) {
        if self.ending {
            return;
        }
        self.holds.insert(number, most);
        self.count_holds();
        let stops_within = self.holds.values().copied().max().unwrap_or(most);
        self.turn(Input::JobStarted { stops_within });
        let _ = held.try_send(()); // the caller may have given up
    }

    /// Nobody holds the leadership under this number any more.
    fn let_go(&mut self, number: u64) {
        let last = self.holds.remove(&number).is_some() && self.holds.is_empty();
        self.count_holds();
        if !last {
            return;
        }
        let ended_for_that = std::mem::take(&mut self.ending);
        self.turn(Input::JobEnded);
        // Whoever wanted the leadership does not any more, such as a higher member that died meanwhile: who ended their work
        // for that begin again.
        if ended_for_that && self.core.phase() == Phase::Leading {
            let epoch = self.core.view().epoch.0;
            self.published.feed.tell(&Change::Leading { epoch });
        }
    }

    /// Handles a new member list: dials its members, and logs what changed.
    fn members(&mut self, list: &Arc<MemberList>) {
        self.net.set_peers(members::peers(list, self.core.id()));
        if let Some(what) = members::difference(list, &self.members) {
            let version = list.version();
            info!(event = "members", version:% = version; "the member list is now version {version}: {what}");
        }
        self.members.clone_from(list);
    }

    /// A process that was frozen finds messages that were true before. It fails first.
    fn notice_stall(&mut self) {
        let time = self.published.since_turn(clock::now());
        if time > self.core.settings().timing.stall() {
            self.turn(Input::Stalled { time });
        }
    }

    /// The one place where this thread waits. None when it is time to look at the timers.
    fn wait(&mut self) -> Option<InboxEvent> {
        select! {
            recv(self.events) -> event => {
                // All handles of the node are gone, and all threads of the network.
                self.stopped |= event.is_err();
                event.ok()
            }
            default(self.timeout()) => None,
        }
    }

    /// Until the core's deadline, but short enough that this thread shows a sign of life.
    fn timeout(&self) -> Duration {
        let alive = self.core.settings().timing.failure / 3;
        let now = clock::now();
        let due = self.core.deadline().into_iter().chain(self.locks.deadline(now)).min();
        due.map_or(alive, |due| due.since(now).min(alive))
    }

    fn input(&mut self, event: InboxEvent) -> Option<Input> {
        match event {
            InboxEvent::Net(NetEvent::Input(input)) => self.without_locks(input),
            InboxEvent::Net(NetEvent::Newcomer(newcomer)) => Some(self.net.admit(*newcomer)),
            InboxEvent::Stored(result) => {
                let number = result.ok()?; // the store logs failures
                self.locks.durable(number);
                Some(Input::Persisted { number })
            }
            InboxEvent::Sampled(outcome) => {
                self.published.carry_on(|snapshot| snapshot.sampled(&outcome));
                Some(Input::Sampled { value: outcome.ok().map(|sample| sample.value) })
            }
            InboxEvent::Checked { healthy } => {
                self.locks.checked(healthy);
                Some(Input::Checked { healthy })
            }
            InboxEvent::StandBack => Some(Input::StandBack),
            InboxEvent::Held { .. }
            | InboxEvent::Unheld { .. }
            | InboxEvent::Lock(_)
            | InboxEvent::LocksStored(_)
            | InboxEvent::Timed { .. } => None, // taken before
            InboxEvent::Order(order) => {
                let CommandOrder { command, answer } = self.unless_locks_wait(order)?;
                Some(self.command(command, Some(answer)))
            }
        }
    }

    fn count_holds(&self) {
        let count = i64::try_from(self.holds.len()).unwrap_or(i64::MAX);
        self.published.measures.tally.exec_running.set(count);
    }

    /// One call of the core, and its outputs in their order, but for the records: no output of the same turn waits
    /// for its record, since a message that must be durable first waits for [`Input::Persisted`] inside the core.
    fn turn(&mut self, input: Input) {
        let now = clock::now();
        let mut out = std::mem::take(&mut self.out);
        let members = self.members.clone(); // who is removed by this is still known by name
        self.published.measures.taking(&input, self.core.deadline(), now);
        self.recorder.begin(now, &input, &self.core);
        self.tape.begin(now, &input, &self.published.taped);
        self.core.handle(now, input, &mut out);
        self.tape.end(&out);
        self.recorder.end(now, &out, self.core.phase(), self.core.waits());
        self.published.measures.round_trips.sending(&out, now);
        self.published.turned(now);
        self.show(&out, now);
        let mut records = Vec::new();
        for output in out.drain(..) {
            match self.net.carry(output) {
                Some(Output::Persist { number, record }) => records.push((number, record)),
                Some(output) => self.carry(output, now),
                None => {}
            }
        }
        self.net.flush();
        self.recorder.pass_on(&self.published.recorded);
        self.tape.pass_on(&self.core, now, &self.published.taped);
        self.out = out;
        for change in self.log.drain(..) {
            story::log(&change, &members);
            self.last_change = Some(change);
        }
        // Last, since the thread that writes them may take the processor of this one.
        for (number, record) in records {
            self.persist(number, record);
        }
        self.turn_locks(None);
    }

    /// Publishes the state of the core before any message leaves: a leader that steps down stops saying
    /// that it leads before another member may start.
    fn show(&mut self, out: &[Output], now: Time) {
        for output in out {
            if let Output::Changed(change) = output
                && self.log.last().or(self.last_change.as_ref()) != Some(change)
            {
                self.log.push(change.clone());
            }
        }
        self.published.feed.update(&self.core, now);
        let (core, log) = (&self.core, &self.log);
        let answers = self.published.carry_on(|snapshot| {
            log.iter().for_each(|change| snapshot.changed(change, core, now));
            snapshot.update(core, now)
        });
        for change in &self.log {
            if change.to != Phase::Leading {
                self.published.measures.round_trips.clear();
            }
            self.published.feed.tell(&change_of(change));
        }
        self.rings |= answers || !self.log.is_empty();
    }

    fn carry(&mut self, output: Output, now: Time) {
        match output {
            Output::Changed(change) => {
                if change.reason == Reason::Removed {
                    self.stopped = true; // it has stepped down, and everybody knows
                    self.removed = true;
                }
            }
            Output::Members(list) => self.members(&list),
            Output::Answer { id, result } => {
                self.stopped |= result == Ok(Done::Stopped);
                if let Some(answer) = self.answers.remove(&id) {
                    let _ = answer.try_send(result); // the caller may have given up
                }
            }
            Output::EndJob { by } => {
                self.ending = true;
                self.published.feed.tell(&Change::Ending { within: by.since(now) });
            }
            Output::Note(note) => self.log_note(note, now),
            other => debug_assert!(false, "the network carries {other:?}"),
        }
    }

    fn persist(&mut self, number: u64, record: Durable) {
        self.locks.recorded(number, &record);
        let kept = KeptState { incarnation: self.core.incarnation(), durable: record };
        self.store.submit(number, StoreRecord { id: self.core.id(), kept });
    }

    fn log_note(&mut self, note: Note, now: Time) {
        let members = self.core.members().clone();
        match note {
            Note::Rejected { peer, reason } => {
                self.refused(now, (peer, RefusedBy::Peer), &reason);
            }
            Note::Refused { peer, reason } => {
                self.refused(now, (peer, RefusedBy::Node), &reason);
            }
            Note::Connected { peer } => {
                let shook = self.published.measures.handshakes.forget(peer);
                if self.published.carry_on(|snapshot| snapshot.rejections.forget(peer)) || shook {
                    let peer = members.name(peer);
                    info!(event = "accepted", peer = peer; "{peer} accepts this node now");
                }
            }
            note => notes::log(note, &members),
        }
    }

    /// Logs a refusal once, until it changes.
    fn refused(&mut self, now: Time, (peer, by): (NodeId, RefusedBy), reason: &Rejection) {
        let (members, who) = (self.core.members(), (Who::Member(peer), by));
        let (cause, why) = (words::refusal_cause(reason), words::rejection(reason, members));
        if self.published.carry_on(|it| it.rejections.record(now, members, who, (cause, &why))) {
            let refused = if by == RefusedBy::Peer { self.core.id() } else { peer };
            let refused = members.get(refused).map(|it| (it.name.clone(), it.address.to_string()));
            let remedy = MutualRefusal { cause, refused }.remedy(self.published.flags());
            let (peer, what) = (members.name(peer), by.words());
            warn!(event = "rejected", peer = peer; "{peer} {what}: {why}: {remedy}");
        }
    }
}

/// A change of the core, as those who act on the leadership get it.
fn change_of(change: &Transition) -> Change {
    match change.to {
        Phase::Leading => Change::Leading { epoch: change.epoch.0 },
        _ => Change::NotLeading,
    }
}

mod locking;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod tests;
