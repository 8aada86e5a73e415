//! What the election thread writes down of each turn: encoded once into memory that it has, and handed over to readers
//! without ever waiting for one.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::core::types::Time;
use crate::core::{Core, Input, Output};

/// How many bytes a segment has at most: more than twice the state of the largest cluster.
pub const SEGMENT: usize = 384 * 1024;

/// A segment ends with the turn by which it has so many bytes. The rest is for a turn that is longer than most.
const FULL: usize = SEGMENT - 64 * 1024;

/// How many segments are kept, the present one included: a flight of fewer has all turns.
pub const SEGMENTS: usize = 5;

/// The segments that are kept, for the election thread and for readers.
///
/// ```
/// use electd_record::flight::tape::Taped;
///
/// assert!(Taped::default().segments().is_empty(), "no turn was taken");
/// ```
#[derive(Debug, Default)]
pub struct Taped(Mutex<TapedTurns>);

#[derive(Debug, Default)]
struct TapedTurns {
    /// Those that are over, oldest first.
    over: VecDeque<Arc<Vec<u8>>>,
    present: Vec<u8>,
}

impl Taped {
    /// All of them, oldest first. The last one may end amid a turn.
    ///
    /// ```
    /// let taped = electd_record::flight::tape::Taped::default();
    /// for segment in taped.segments() {
    ///     println!("{} bytes", segment.len());
    /// }
    /// ```
    #[must_use]
    pub fn segments(&self) -> Vec<Arc<Vec<u8>>> {
        let kept = self.0.lock();
        let present = (!kept.present.is_empty()).then(|| Arc::new(kept.present.clone()));
        kept.over.iter().cloned().chain(present).collect()
    }
}

impl TapedTurns {
    /// The present segment is over. The next one gets the memory of the oldest, unless somebody still reads that.
    fn turn_over(&mut self) {
        let oldest = if self.over.len() + 1 < SEGMENTS { None } else { self.over.pop_front() };
        let mut next = oldest.and_then(Arc::into_inner).unwrap_or_default();
        next.clear();
        next.reserve_exact(SEGMENT);
        let present = std::mem::replace(&mut self.present, next);
        if !present.is_empty() {
            self.over.push_back(Arc::new(present));
        }
    }
}

/// The election thread's side. It has at most a segment that readers do not see yet.
pub struct Tape {
    /// What is not handed over yet: the first so many bytes.
    pending: Box<[u8]>,
    used: usize,
    /// Whether that begins a segment.
    begins: bool,
    /// How long the present segment is, with what is pending.
    length: usize,
    state: TapeState,
}

/// Whether turns are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TapeState {
    /// The present segment goes on.
    Records,
    /// Turns were left out since the present segment: the next one does not follow on it.
    Gap,
    /// Not even the state of this core fits into a segment.
    TooLarge,
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tape({} bytes, {:?})", self.length, self.state)
    }
}

impl Tape {
    /// The tape of a core that has taken no turn yet.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use electd_election::core::membership::{ListVersion, Member, MemberList};
    /// # use electd_election::core::{Core, Input, restart::restart, types::{NodeId, Role, Time}};
    /// # use electd_election::core::settings::{Settings, Timing};
    /// use electd_record::flight::tape::{Tape, Taped};
    ///
    /// # let ms = Duration::from_millis;
    /// # let timing = Timing { heartbeat: ms(10), failure: ms(50), message: ms(5), lease: ms(50) };
    /// # let [name, address] = ["a", "a:1"].map(str::to_owned);
    /// # let own = Member { id: NodeId::default(), name, address, admin: None, role: Role::Member };
    /// # let list = Arc::new(MemberList::new(ListVersion::default(), vec![own]));
    /// # let settings = Settings::new("db", NodeId::default(), list, timing);
    /// # let restored = restart(None, &settings, None).expect("it may start");
    /// # let mut core = Core::new(Time(0), settings, restored, 1);
    /// let taped = Taped::default();
    /// let mut tape = Tape::new(&core, Time(0), &taped);
    /// let (now, input, mut out) = (Time(7), Input::Tick, Vec::new());
    /// tape.begin(now, &input, &taped);
    /// core.handle(now, input, &mut out);
    /// tape.end(&out);
    /// tape.pass_on(&core, now, &taped);
    /// assert_eq!(taped.segments().len(), 1);
    /// ```
    #[must_use]
    pub fn new(core: &Core, now: Time, taped: &Taped) -> Tape {
        let pending = vec![0; SEGMENT].into_boxed_slice();
        let state = TapeState::Gap;
        let mut tape = Tape { pending, used: 0, begins: false, length: 0, state };
        tape.pass_on(core, now, taped);
        tape
    }

    /// A turn begins. Its input is handed over before the core gets it, and can be read if the core panics.
    pub fn begin(&mut self, now: Time, input: &Input, taped: &Taped) {
        self.write(&(now, input));
        self.pass(taped);
    }

    /// The core has put this out.
    pub fn end(&mut self, out: &[Output]) {
        self.write(&out);
    }

    /// The turn is over, and nothing waits for what comes now: where a segment is full, the next one begins with this
    /// state of the core.
    pub fn pass_on(&mut self, core: &Core, now: Time, taped: &Taped) {
        self.pass(taped);
        let is_due = match self.state {
            TapeState::Records => self.length >= FULL,
            TapeState::Gap => true,
            TapeState::TooLarge => false,
        };
        if is_due && self.used == 0 {
            let follows = self.state == TapeState::Records;
            (self.state, self.length) = (TapeState::Records, 0);
            self.write(&(follows, now, core));
            if self.state == TapeState::Records {
                self.begins = true;
            } else {
                self.state = TapeState::TooLarge;
            }
            self.pass(taped);
        }
    }

    /// Appends a value to the present segment. If there is no room, the segment ends here.
    fn write(&mut self, value: &impl Serialize) {
        if self.state != TapeState::Records {
            return;
        }
        let room = (SEGMENT - self.length).min(SEGMENT - self.used);
        let free = &mut self.pending[self.used..self.used + room];
        match postcard::to_slice(value, free) {
            Ok(written) => {
                let length = written.len();
                self.used += length;
                self.length += length;
            }
            Err(_) => self.state = TapeState::Gap,
        }
    }

    /// Hands over what is pending, unless a reader is there: then after a later turn.
    fn pass(&mut self, taped: &Taped) {
        if self.used == 0 {
            return;
        }
        if let Some(mut kept) = taped.0.try_lock() {
            if std::mem::take(&mut self.begins) {
                kept.turn_over();
            }
            kept.present.extend_from_slice(&self.pending[..self.used]);
            self.used = 0;
        }
    }
}

#[cfg(test)]
mod tests;
