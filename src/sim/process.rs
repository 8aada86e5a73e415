//! The life of a simulated process between its start and its death, besides the network.

use std::rc::Rc;
use std::time::Duration;

use super::agenda::{Event, Payload};
use super::counters::Counter;
use super::counts::is_election;
use super::node::{Death, Node};
use super::setup::Delays;
use super::uptime::Uptime;
use super::votes::Word;
use super::world::World;
use crate::core::durable::Durable;
use crate::core::message::{Envelope, Kind, Message};
use crate::core::types::NodeId;
use crate::core::{Core, Input, Phase, Reason, Transition};
use crate::trace::{Narrator, What};

/// How late a process may be woken.
const LATE: Duration = Duration::from_millis(1);

impl World {
    /// Starts a process, unless one runs.
    pub fn start(&mut self, node: usize) {
        if self.nodes[node].core.is_some() {
            return;
        }
        let now = self.now;
        let disk = &self.nodes[node].disk;
        let (epoch, kept) = (disk.epoch(), disk.kept());
        let Some(restored) = self.nodes[node].start(now, &mut self.random) else { return };
        let promised = self.nodes[node].disk.promised();
        self.questions.started(node);
        self.checker.starts(now, node, (epoch, kept, promised));
        self.forget_job(node);
        self.draw(node, |_| Some(What::Starts));
        self.say(node, || {
            format!(
                "starts: incarnation {}, epoch {}, own rounds above {}",
                restored.incarnation, restored.record.epoch, restored.floor
            )
        });
        self.arm(node);
        self.start_checking(node);
    }

    /// Ends a process immediately.
    pub fn die(&mut self, node: usize, death: Death) {
        if self.nodes[node].core.take().is_none() {
            return;
        }
        self.nodes[node].host = death == Death::Killed;
        self.nodes[node].fuse = None;
        self.nodes[node].pause = None;
        let undone = self.nodes[node].disk.crash(&mut self.random);
        self.faults.add(Counter::Unwritten, undone);
        self.compare_disk(node);
        self.checker.died(node);
        self.orphan_job(node);
        self.count_uptime(node);
        self.draw(node, |_| Some(What::Dies));
        self.say(node, || match death {
            Death::Killed => "dies".to_owned(),
            Death::Vanished => "vanishes with its host".to_owned(),
        });
        self.cut_off(node, death);
    }

    /// Ends a process that was removed from its cluster, as its last turn is over.
    pub(super) fn leave(&mut self, node: usize) {
        if std::mem::take(&mut self.nodes[node].leaves) {
            self.faults.count(Counter::Ended);
            self.die(node, Death::Killed);
        }
    }

    /// Uses up one output of a process that is about to die. Tells whether it is dead.
    pub(super) fn burnt(&mut self, node: usize) -> bool {
        if let Some((left, death)) = self.nodes[node].fuse {
            if left == 0 {
                self.die(node, death);
            } else {
                self.nodes[node].fuse = Some((left - 1, death));
            }
        }
        self.nodes[node].core.is_none()
    }

    /// Sends to each receiver in turn; the sender may die between any two of them.
    pub(super) fn send_all(&mut self, node: usize, to: &[NodeId], envelope: Envelope) {
        let envelope = Rc::new(envelope);
        let kind = envelope.message.kind();
        if let Message::AreYouNormal { number, .. } = envelope.message {
            self.nodes[node].checks.insert(number);
        }
        to.iter().for_each(|to| self.tells(node, *to, &envelope.message));
        for to in to {
            let Some(to) = self.place(*to) else { continue };
            if self.burnt(node) {
                return;
            }
            let live = self.nodes[to].core.is_some();
            let elects = self.elects(to, &envelope.message);
            if let Some(arrives) = self.send(node, to, &envelope, elects) {
                self.draw(node, |narrator| {
                    let label = narrator.label(&envelope.message)?;
                    Some(What::Sends { to, label, arrives, lost: true })
                });
                self.in_flight += u64::from(elects);
                self.sent.add(kind, u64::from(live || kind != Kind::Coordinator));
            }
        }
    }

    /// Checks a message of a process against its earlier ones.
    fn tells(&mut self, node: usize, to: NodeId, message: &Message) {
        let Some(at) = self.place(to) else { return };
        let (from, turned) = ((node, self.id(node)), self.nodes[node].turned);
        let word = Word { from, to: (at, to), message, turned };
        self.questions.tells(&word);
        self.checker.tells(self.now, word);
    }

    /// Notes what a process is about to take.
    pub(super) fn hears(&mut self, node: usize, from: usize, message: &Message) {
        let turned = self.nodes[node].local(self.now);
        let (from, to) = ((from, self.id(from)), (node, self.id(node)));
        let word = Word { from, to, message, turned };
        self.questions.hears(&word);
        self.checker.hears(word);
    }

    /// Whether an election is not over before this has arrived. A coordinator's regular check of the
    /// others never ends.
    fn elects(&self, to: usize, message: &Message) -> bool {
        match message {
            Message::AreYouNormal { .. } => false,
            Message::Reply { number, .. } => !self.nodes[to].checks.contains(number),
            message => is_election(message.kind()),
        }
    }

    /// Something has arrived, whether anybody is there to take it or not.
    pub(super) fn arrived(&mut self, payload: &Payload) {
        if let Payload::Message { elects: true, .. } = payload {
            self.in_flight -= 1;
        }
    }

    pub(super) fn persist(&mut self, node: usize, number: u64, record: Durable) {
        if self.nodes[node].disk.write(number, record) {
            self.write(node);
        }
    }

    fn write(&mut self, node: usize) {
        let drive = self.nodes[node].drive;
        let done = drive.write(self.now, self.setup.disk, &mut self.random);
        let Some((at, failures)) = done else { return };
        self.faults.add(Counter::Unwritable, failures);
        self.faults.add(Counter::SlowWrites, u64::from(drive.speed.is_some()));
        let incarnation = self.nodes[node].incarnation;
        self.note(at, Event::Written { node, incarnation });
    }

    pub(super) fn written(&mut self, node: usize) {
        let Some((number, goes_on)) = self.nodes[node].disk.done() else { return };
        self.compare_disk(node);
        if goes_on {
            self.write(node);
        }
        self.give(node, Input::Persisted { number });
    }

    pub(super) fn changed(&mut self, node: usize, change: &Transition) {
        self.draw(node, |narrator| {
            Some(What::Becomes { phase: change.to, label: narrator.phase(change) })
        });
        let Some(core) = &self.nodes[node].core else { return };
        let turned = self.nodes[node].turned;
        let judged = self.questions.changed(node, turned, &change.reason, core);
        self.checker.judged(self.now, node, judged);
        self.checker.changed(self.now, node, core, change, &self.nodes);
        self.look_at_handover(node, change);
        self.look_at_choice(node, change);
        self.nodes[node].leaves |= change.reason == Reason::Removed;
    }

    /// Publishes the state of a process, before any message leaves.
    pub(super) fn publish(&mut self, node: usize) {
        self.count_uptime(node);
        if let Some(core) = &self.nodes[node].core {
            self.checker.published(self.now, node, core, &self.nodes);
        }
    }

    /// Notes until when a node's claim to lead is believed from now on, if it makes one.
    fn count_uptime(&mut self, node: usize) {
        let now = self.now;
        let Some(uptime) = &mut self.uptime else { return };
        let Node { core, clock, .. } = &self.nodes[node];
        let leads = core.as_ref().filter(|core| core.phase() == Phase::Leading);
        let until = leads.map(|core| clock.truly(core.believable_until(clock.local(now))));
        uptime.claims(now, node, until.unwrap_or_default());
    }

    /// Begins to measure for how much of the time a member leads.
    pub(super) fn begin_uptime(&mut self) {
        self.uptime = Some(Uptime::new(self.nodes.len(), self.now));
        (0..self.nodes.len()).for_each(|node| self.count_uptime(node));
    }

    /// Checks the invariants of a node that was just told something.
    pub(super) fn check(&mut self, node: usize) {
        if let Some(core) = &self.nodes[node].core {
            let Node { turned, disk, .. } = &self.nodes[node];
            let ready = disk.is_idle_and_informed();
            let judged = self.questions.look(node, *turned, core, ready);
            self.checker.judged(self.now, node, judged);
            self.checker.look(self.now, node, core, &self.nodes);
        }
    }

    /// Has the node called at its deadline, unless it will be called by then anyway.
    pub(super) fn arm(&mut self, node: usize) {
        let due = self.nodes[node].core.as_ref().and_then(Core::deadline);
        let Some(due) = due else { return };
        let due = self.nodes[node].clock.truly(due);
        if self.nodes[node].tick.is_some_and(|tick| tick <= due + LATE) {
            return;
        }
        let late = match self.setup.delays {
            Delays::Lockstep | Delays::Short => Duration::ZERO,
            Delays::Random => self.random.up_to(LATE),
        };
        let at = due.max(self.now) + late;
        let incarnation = self.nodes[node].incarnation;
        self.nodes[node].tick = Some(at);
        self.note(at, Event::Tick { node, incarnation });
    }

    pub(super) fn trace(&mut self, node: usize, what: impl FnOnce(&Narrator) -> Option<String>) {
        let Some(detail) = self.setup.detail else { return };
        let narrator = Narrator { members: &self.members, detail };
        if let Some(what) = what(&narrator) {
            self.say(node, || what);
        }
    }
}
