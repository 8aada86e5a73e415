//! The recorder: what the election thread took and did in elections, kept in memory for `GET /trace`.
//!
//! The election thread notes an event in a list of its own, and hands the list over at the end of its turn unless a
//! reader holds the lock: then it does so after a later turn. So it never waits, and a reader only holds the lock for a
//! copy.
//!
//! Signs of life are recorded only where something else came of them. What happens while this member has a leader, and
//! keeps it, is kept apart: neither the regular checks of the halting algorithm nor a member that comes and goes push
//! the last election out.

mod counts;
mod entries;
mod event;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::core::types::{NodeId, Time};
use crate::core::{Core, Input, Output, Phase};
use crate::trace::{Brief, Detail, Narrator};

use counts::ConnectionCounts;
use event::{RecordedEvent, RecordedWhat};

/// How many bytes are kept of the times in which this member had no leader, or got another: more than 60 elections of
/// 64 members. The answer to a reader is not much longer.
const OF_ELECTIONS: usize = 1280 * 1024;

/// How many are kept of all other times.
const OF_QUIET_TIMES: usize = 256 * 1024;

/// How many events wait for a reader to let go of the lock.
const PENDING: usize = 1024;

/// How many records may wait for the disk before what ordered the first of them is forgotten.
const UNWRITTEN: usize = 64;

/// The events that are kept.
#[derive(Debug)]
pub struct Recorded(Mutex<KeptEvents>);

#[derive(Clone, Debug)]
struct KeptEvents {
    elections: Events,
    quiet: Events,
    /// Nothing is missing from here on.
    since: Time,
}

/// The latest events, as many as fit.
#[derive(Clone, Debug)]
struct Events {
    events: VecDeque<RecordedEvent>,
    bytes: usize,
    most: usize,
}

impl Recorded {
    /// Nothing yet.
    pub fn new(now: Time) -> Recorded {
        let [elections, quiet] = [OF_ELECTIONS, OF_QUIET_TIMES].map(Events::within);
        Recorded(Mutex::new(KeptEvents { elections, quiet, since: now }))
    }
}

impl KeptEvents {
    fn keep(&mut self, event: RecordedEvent) {
        let events = if event.is_quiet { &mut self.quiet } else { &mut self.elections };
        events.bytes += event.bytes();
        events.events.push_back(event);
        while events.bytes > events.most
            && let Some(oldest) = events.events.pop_front()
        {
            events.bytes -= oldest.bytes();
            self.since = self.since.max(oldest.time);
        }
    }
}

impl Events {
    fn within(most: usize) -> Events {
        Events { events: VecDeque::new(), bytes: 0, most }
    }
}

/// A wait of this member: since when, until when, and what made it wait.
#[derive(Debug)]
struct RecordedWait {
    since: Time,
    due: Time,
    causes: Arc<[u64]>,
}

/// The election thread's side.
#[derive(Debug)]
pub struct Recorder {
    /// The number of the next event.
    next: u64,
    /// Events that are not handed over yet.
    pending: VecDeque<RecordedEvent>,
    /// How many of them were there before this turn.
    before: usize,
    /// Whether the input of this turn is recorded whatever comes of it.
    is_noted: bool,
    causes: Arc<[u64]>,
    counts: ConnectionCounts,
    phase: Phase,
    /// The waits for an ANSWER and for a leader.
    waits: [Option<RecordedWait>; 2],
    /// The records that the disk has not written, by their numbers, with what made this member order them.
    orders: VecDeque<(u64, Arc<[u64]>)>,
    /// The peers of which a refused dial is no news.
    refused: BTreeSet<NodeId>,
}

impl Recorder {
    /// The recorder of a member that starts.
    pub fn new(core: &Core, now: Time) -> Recorder {
        let mut recorder = Recorder {
            next: 1,
            pending: VecDeque::new(),
            before: 0,
            is_noted: false,
            causes: Arc::default(),
            counts: ConnectionCounts::default(),
            phase: core.phase(),
            waits: [None, None],
            orders: VecDeque::new(),
            refused: BTreeSet::new(),
        };
        recorder.add(now, RecordedWhat::Started, Arc::default());
        recorder
    }

    /// A turn begins with this input.
    pub fn begin(&mut self, now: Time, input: &Input, core: &Core) {
        self.before = self.pending.len();
        self.causes = Arc::default();
        self.is_noted = true;
        let what = match input {
            Input::Message { connection, from, envelope } => {
                let said = Brief::of(&envelope.message);
                let place = self.counts.received(*from, *connection);
                self.is_noted = !said.is_periodic();
                RecordedWhat::Got { from: *from, incarnation: envelope.incarnation, said, place }
            }
            Input::Welcomed { peer, welcome } => {
                self.counts.connected(*peer);
                self.refused.remove(peer);
                RecordedWhat::Connected { peer: *peer, incarnation: welcome.incarnation }
            }
            Input::Hello { hello, .. } => {
                RecordedWhat::Met { peer: hello.id, incarnation: hello.incarnation }
            }
            Input::Lost { peer } => RecordedWhat::Lost { peer: *peer },
            Input::Ended { peer, redial, .. } => {
                RecordedWhat::Ended { peer: *peer, redial: *redial }
            }
            Input::Refused { peer } => {
                self.is_noted = self.refused.insert(*peer);
                RecordedWhat::Refused { peer: *peer }
            }
            Input::Dead(certificate) => RecordedWhat::Certified { peer: certificate.member },
            Input::Stalled { time } => RecordedWhat::Stalled { time: *time },
            Input::Command { .. } => {
                let narrator = Narrator { members: core.members(), detail: Detail::Election };
                RecordedWhat::Asked { words: narrator.input(input).unwrap_or_default() }
            }
            Input::Persisted { number } => return self.written(*number),
            Input::Tick => return self.end_waits(now),
            _ => return,
        };
        let at = self.add(now, what, Arc::default());
        self.causes = Arc::new([at]);
    }

    /// The turn ends with these outputs, in this phase and with these waits.
    pub fn end(&mut self, now: Time, out: &[Output], phase: Phase, waits: [Option<Time>; 2]) {
        let inputs = self.pending.len();
        let mut changes = false;
        for output in out {
            match output {
                Output::Send { to, envelope } => {
                    let said = Brief::of(&envelope.message);
                    for to in to {
                        let place = self.counts.sent(*to);
                        if !said.is_periodic() {
                            let what = RecordedWhat::Sent { to: *to, said, place };
                            self.add(now, what, self.causes.clone());
                        }
                    }
                }
                Output::Changed(change) => {
                    changes = true;
                    self.add(now, RecordedWhat::Became(change.clone()), self.causes.clone());
                }
                Output::Persist { number, .. } => {
                    self.is_noted = true;
                    self.orders.push_back((*number, self.causes.clone()));
                    if self.orders.len() > UNWRITTEN {
                        self.orders.pop_front();
                    }
                }
                _ => {}
            }
        }
        if !self.is_noted && self.pending.len() == inputs {
            self.pending.truncate(self.before);
            self.causes = Arc::default();
        }
        let is_quiet = !changes && phase == self.phase && phase.has_leader();
        self.phase = phase;
        self.pending.range_mut(self.before..).for_each(|event| event.is_quiet = is_quiet);
        self.record_waits(now, waits);
    }

    /// Hands over what was recorded, if no reader is there.
    pub fn pass_on(&mut self, recorded: &Recorded) {
        if self.pending.is_empty() {
            return;
        }
        if let Some(mut kept) = recorded.0.try_lock() {
            self.pending.drain(..).for_each(|event| kept.keep(event));
        } else if self.pending.len() > PENDING {
            self.pending.pop_front(); // whoever reads for so long misses it
        }
    }

    fn add(&mut self, time: Time, what: RecordedWhat, causes: Arc<[u64]>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.pending.push_back(RecordedEvent { number, time, what, causes, is_quiet: false });
        number
    }

    /// All records up to this number are durable: what comes of that was brought about by what ordered them.
    fn written(&mut self, number: u64) {
        let open = self.orders.partition_point(|(ordered, _)| *ordered <= number);
        let causes = self.orders.drain(..open).flat_map(|(_, causes)| causes.to_vec());
        self.causes = causes.collect::<BTreeSet<_>>().into_iter().collect();
    }

    /// The waits that are over bring about what this turn does.
    fn end_waits(&mut self, now: Time) {
        let mut ended = Vec::new();
        for place in 0..self.waits.len() {
            if let Some(wait) = self.waits[place].take_if(|wait| wait.due <= now) {
                let what = RecordedWhat::Waited { for_answer: place == 0, since: wait.since };
                ended.push(self.add(now, what, wait.causes));
            }
        }
        self.causes = ended.into();
    }

    fn record_waits(&mut self, now: Time, due: [Option<Time>; 2]) {
        for (wait, due) in self.waits.iter_mut().zip(due) {
            if wait.as_ref().map(|wait| wait.due) != due {
                let causes = self.causes.clone();
                *wait = due.map(|due| RecordedWait { since: now, due, causes });
            }
        }
    }
}

#[cfg(test)]
mod tests;
