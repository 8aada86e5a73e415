//! The thread "watch": reads what the election thread has published, and reports what is new.
//!
//! The election thread only wakes it, some time after its messages have left; all text is made here. So neither a
//! reader of events nor a hanging disk can delay an election.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use crossbeam::select;

use super::NodeHandle;
use super::alerts::{self, Alerts};
use super::attendance::Attendance;
use super::certificates::Certificates;
use super::clock::wall_clock_ms;
use super::edited::Edited;
use super::events::{Event, EventKind};
use super::history::{HistoryEntry, HistoryKeeper, Leaderships, load};
use super::members::others;
use super::problems::{PresentProblem, Problems, Sight};
use super::publish::Published;
use super::release::TimedOrders;
use super::status::{ChangeStatus, Status};
use crate::calls::{Named, THREAD};
use crate::core::{Cause, Phase};
use crate::net::OwnListener;
use crate::store::RoomKeeper;

/// How often problems are looked for where nothing rings.
const LOOK: Duration = Duration::from_secs(1);

/// If the leader changes as often within so many milliseconds and nobody ordered that, it is a problem.
const OFTEN: usize = 5;
const OF_LATE: u64 = 600_000;

const STACK: usize = 512 * 1024;

/// What it looks at beside the status: the configuration file, the certificates, and who attends the node.
type Observed = (Edited, Certificates, Attendance);

/// The handle of the thread.
pub(super) struct WatchThread {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl WatchThread {
    /// Starts the thread. The state of the node is in this folder.
    pub fn start(
        handle: NodeHandle,
        socket: OwnListener,
        folder: PathBuf,
        observed: Observed,
    ) -> io::Result<WatchThread> {
        let (end, ended) = bounded(0);
        let watcher = Watcher::new(handle, socket, folder, observed)?;
        let builder = thread::Builder::new().name("watch".to_owned()).stack_size(STACK);
        let thread = builder.spawn(move || watcher.run(&ended)).named(THREAD)?;
        Ok(WatchThread { end, thread })
    }

    /// Ends the thread, after a last look.
    pub fn stop(self) {
        drop(self.end);
        if self.thread.join().is_err() {
            log::error!("the watch thread panicked; this is a defect");
        }
    }
}

/// The thread's data.
struct Watcher {
    handle: NodeHandle,
    socket: OwnListener,
    published: Arc<Published>,
    room: RoomKeeper,
    edited: Edited,
    certificates: Certificates,
    attendance: Attendance,
    problems: Problems,
    alerts: Alerts,
    history: Leaderships,
    keeper: HistoryKeeper,
    /// The number of the last change of state that was reported.
    reported: u64,
    /// Which members answered at the last look.
    alive: BTreeMap<String, bool>,
    /// The leader that this node was to take over from at the last look, and whether it waited for that.
    takeover: Option<(String, bool)>,
    left: TimedOrders,
}

impl Watcher {
    fn new(
        handle: NodeHandle,
        socket: OwnListener,
        folder: PathBuf,
        (edited, certificates, attendance): Observed,
    ) -> io::Result<Watcher> {
        let published = handle.published.clone();
        let history = Leaderships::new(wall_clock_ms(), load(&folder));
        published.show(|watched| {
            watched.history = history.entries();
            watched.leaderless = history.leaderless();
        });
        Ok(Watcher {
            handle,
            socket,
            published,
            keeper: HistoryKeeper::start(&folder)?,
            room: RoomKeeper::start(&folder)?,
            edited,
            certificates,
            attendance,
            problems: Problems::default(),
            alerts: Alerts::default(),
            history,
            reported: 0,
            alive: BTreeMap::new(),
            takeover: None,
            left: TimedOrders::default(),
        })
    }

    fn run(mut self, ended: &Receiver<()>) {
        let news = self.published.news();
        loop {
            self.look();
            select! {
                recv(news) -> _ => {}
                recv(ended) -> _ => break,
                default(LOOK) => {}
            }
        }
        self.look();
        self.keeper.stop();
    }

    fn look(&mut self) {
        self.handle.end_orders(&mut self.left);
        let sight = self.sight();
        let status = self.published.status();
        let (began, over) = self.problems.look(&status, &sight);
        self.published.show(|watched| {
            watched.problems = self.problems.list();
            watched.disk = sight.storage.as_ref().map(|fault| fault.kind);
        });
        self.alerts.problems(&began, &over, &status, sight.settled);
        let mut events = self.changes(&status);
        events.extend(takeover(&mut self.takeover, &status));
        events.extend(members(&mut self.alive, &status));
        let now = wall_clock_ms();
        let problem = |kind, problem: PresentProblem| {
            let reason = format!("{}: {}", problem.kind.name(), problem.text);
            Event { event: kind, ..present(&status, now, reason) }
        };
        events.extend(began.into_iter().map(|began| problem(EventKind::Problem, began)));
        events.extend(over.into_iter().map(|over| problem(EventKind::ProblemOver, over)));
        self.published.measures.events.push(events);
    }

    fn sight(&mut self) -> Sight {
        let mut sight = self.published.sight();
        sight.storage = self.published.measures.pace.trouble().or_else(|| self.room.look());
        let (list, own) = (self.published.members(), self.published.own());
        // Right after the start of this node nobody needs to have dialed it yet.
        let silent = if sight.settled { self.published.silent() } else { Vec::new() };
        sight.address = self.socket.look(&others(&list, own), &silent);
        sight.edited = self.edited.look(&self.published);
        sight.certificate = self.certificates.look();
        sight.coroner = self.attendance.look();
        let changes = self.history.unplanned(wall_clock_ms().saturating_sub(OF_LATE));
        sight.changes = Some(changes).filter(|changes| changes.times >= OFTEN);
        sight
    }

    /// The changes of state since the last look.
    fn changes(&mut self, status: &Status) -> Vec<Event> {
        let reported = self.reported;
        let new = status.changes.iter().filter(|change| change.number > reported);
        let mut events = Vec::new();
        for change in new {
            let leadership = self.count(change, &status.node.name);
            let leaderless_ms = leadership.as_ref().and_then(HistoryEntry::gap_ms);
            let leaderless = self.history.leaderless().map(|since| since.at(change.at_ms));
            events.push(Event { leaderless, leaderless_ms, leadership, ..changed(change, status) });
        }
        let late = self.published.late_renewal();
        let is_late = late
            .is_some_and(|late| self.history.note_late(&status.node.name, late.epoch, late.at_ms));
        if !events.is_empty() || is_late {
            let history = self.history.entries();
            self.published.show(|watched| {
                watched.history = history.clone();
                watched.leaderless = self.history.leaderless();
            });
            self.keeper.keep(history);
        }
        self.reported = status.changes.last().map_or(self.reported, |change| change.number);
        events
    }

    /// Counts a change for the metrics, and logs the begin of a leadership of this node. Returns the leadership that
    /// begins by this, if one does.
    fn count(&mut self, change: &ChangeStatus, own: &str) -> Option<HistoryEntry> {
        let tally = &self.published.measures.tally;
        if change.cause.parse() == Ok(Cause::Stalled) {
            tally.stalls.inc();
        }
        let began = self.history.change(change);
        if let Some(leadership) = &began {
            tally.began(leadership);
            if change.phase() == Some(Phase::Leading) {
                alerts::leads(leadership, own);
            }
        }
        tally.set_leaderless(self.history.leaderless().map(|leaderless| leaderless.since_ms));
        began
    }
}

/// That this node is to take over from the leader, once for each leader and each of the two steps: it waits, and it asks.
/// `known` is the leader of the last look, and whether this node waited then.
fn takeover(known: &mut Option<(String, bool)>, status: &Status) -> Option<Event> {
    let now = status.takeover.as_ref().map(|it| (it.from.clone(), it.at.is_some()));
    let is_new = now != *known;
    *known = now;
    let takeover = status.takeover.as_ref().filter(|_| is_new)?;
    let member = Some(takeover.from.clone());
    let present = present(status, wall_clock_ms(), takeover.words());
    Some(Event { event: EventKind::Takeover, member, ..present })
}

/// A change of state as an event.
fn changed(change: &ChangeStatus, status: &Status) -> Event {
    let event = match change.to.as_str() {
        "leading" => EventKind::Leading,
        "following" => EventKind::Following,
        "stopping" if change.cause.parse() == Ok(Cause::Removed) => EventKind::Removed,
        "stopping" => EventKind::Stopping,
        _ => EventKind::NoLeader,
    };
    Event {
        event,
        from: Some(change.from.clone()),
        state: change.to.clone(),
        halting: change.halting.clone(),
        leader: change.leader.clone(),
        epoch: change.epoch,
        ..present(status, change.at_ms, change.reason.clone())
    }
}

/// The members that answer since the last look, or do not any more. Those of the first look are no news.
fn members(known: &mut BTreeMap<String, bool>, status: &Status) -> Vec<Event> {
    let others = status.members.iter().filter(|member| member.id != status.node.id);
    let now: BTreeMap<String, bool> =
        others.map(|member| (member.name.clone(), member.is_alive())).collect();
    let mut events = Vec::new();
    for (name, alive) in &now {
        // A member that was just added has not been met yet.
        if known.get(name).copied().unwrap_or_default() == *alive {
            continue;
        }
        let (event, reason) = if *alive {
            (EventKind::MemberUp, format!("{name} answers"))
        } else {
            (EventKind::MemberDown, format!("{name} does not answer"))
        };
        let member = Some(name.clone());
        events.push(Event { event, member, ..present(status, wall_clock_ms(), reason) });
    }
    *known = now;
    events
}

/// An event that leaves the state as it is.
fn present(status: &Status, at_ms: u64, reason: String) -> Event {
    Event {
        id: String::new(), // the log of events gives it
        at_ms,
        event: EventKind::NoLeader,
        node: status.node.name.clone(),
        from: None,
        state: status.state.clone(),
        halting: status.halting.as_ref().map(|halting| halting.status.clone()),
        leader: status.leader.as_ref().map(|leader| leader.name.clone()),
        epoch: status.epoch,
        leaderless: status.leaderless.clone(),
        leaderless_ms: None,
        leadership: None,
        member: None,
        reason,
    }
}

#[cfg(test)]
mod tests;
