//! The whole cluster: up to five processes, what is on its way between them, and every step that may
//! come next.
//!
//! A message stays on its way for as long as the search likes, and the first of any connection may
//! arrive next. A bounded number of them are lost, arrive twice, or overtake another on the same
//! connection, which is more than TCP does.

use electd_election::core::detector::ConnectionId;
use electd_election::core::membership::MembershipChange;
use electd_election::core::message::{Envelope, Forwarded, Hello};
use electd_election::core::types::{NodeId, Time};
use electd_election::core::{CommandId, Input, OperatorCommand, Output, Redial};

use super::book::{Book, EventKey, ProcessKey};
use super::process::{Event, MEMBERS, Process, TIMING, id, member, place};
use super::step::{Limits, Step};

/// One direction between two members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Link {
    up: bool,
    /// Counts its connections.
    count: u8,
}

/// Something on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flying {
    /// The sender and the receiver; the end of a connection overtakes what was sent on it.
    lane: (u8, u8),
    pub event: EventKey,
}

impl Flying {
    /// Whether it is on its way from one of these to the other.
    pub fn is_between(self, pair: [usize; 2]) -> bool {
        let (from, to) = (usize::from(self.lane.0), usize::from(self.lane.1));
        from != to && pair.contains(&from) && pair.contains(&to)
    }

    pub fn to(self) -> usize {
        usize::from(self.lane.1)
    }
}

/// A process does nothing for a while; what arrives waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pause {
    pub member: usize,
    since: Time,
    /// Whether it is longer than a process takes for nothing.
    long: bool,
}

impl Pause {
    /// Whether the process may resume: at any time if the pause is a short one.
    pub fn may_end(&self, now: Time) -> bool {
        !self.long || now.since(self.since) > TIMING.stall()
    }

    /// Whether it may last until then.
    pub fn may_last(&self, until: Time) -> bool {
        self.long || until.since(self.since) <= TIMING.stall()
    }
}

/// A state of the cluster.
#[derive(Clone, Hash)]
pub struct World {
    pub now: Time,
    processes: [ProcessKey; MEMBERS],
    /// The sender, the receiver.
    links: [[Link; MEMBERS]; MEMBERS],
    /// Everything on its way, by connection, in the order of sending.
    flight: Vec<Flying>,
    /// How many members there are at most; the first of them founded the cluster.
    size: u8,
    /// The events that may still happen.
    pub left: Limits,
    /// The process that is paused.
    pub paused: Option<Pause>,
    /// The leaders of each epoch so far.
    leaderships: Vec<(u64, u8)>,
}

impl World {
    /// This many processes that never ran; the first ones, this many, found the cluster.
    pub fn new(book: &mut Book, size: usize, founders: usize) -> World {
        World {
            now: Time(0),
            size: narrow(size),
            paused: None,
            processes: std::array::from_fn(|place| book.enter(Process::new(place, founders))),
            links: Default::default(),
            flight: Vec::new(),
            left: Limits::default(),
            leaderships: Vec::new(),
        }
    }

    pub fn process<'a>(&self, book: &'a Book, member: usize) -> &'a Process {
        book.process(self.processes[member])
    }

    pub fn runs(&self, book: &Book, member: usize) -> bool {
        self.process(book, member).core.is_some()
    }

    /// The places of all members that there may be.
    pub fn places(&self) -> std::ops::Range<usize> {
        0..usize::from(self.size)
    }

    /// Whether it runs and is not paused.
    pub fn acts(&self, book: &Book, member: usize) -> bool {
        self.runs(book, member) && self.paused.is_none_or(|pause| pause.member != member)
    }

    pub fn connected(&self, from: usize, to: usize) -> bool {
        self.links[from][to].up
    }

    /// Everything on its way, each with whether it is the first on its connection.
    pub fn flight(&self) -> impl Iterator<Item = (usize, Flying, bool)> {
        self.flight.iter().enumerate().map(|(at, flying)| {
            let first = at == 0 || self.flight[at - 1].lane != flying.lane;
            (at, *flying, first)
        })
    }

    /// The receiver, and the message.
    pub fn arriving<'a>(&self, book: &'a Book, at: usize) -> (usize, &'a Event) {
        let flying = self.flight[at];
        (flying.to(), book.event(flying.event))
    }

    /// When a process wants to be called.
    pub fn due(&self, book: &Book, member: usize) -> Option<Time> {
        self.process(book, member).core.as_ref()?.deadline()
    }

    /// Takes a step. Fails with the rule that it breaks.
    pub fn step(&mut self, book: &mut Book, step: Step) -> Result<(), String> {
        match step {
            Step::Deliver { at, early } => {
                self.left.overtakes -= u8::from(early);
                let flying = self.flight.remove(at);
                self.turn(book, flying.to(), flying.event)?;
            }
            Step::Repeat { at } => {
                self.left.repeats -= 1;
                let flying = self.flight[at];
                self.turn(book, flying.to(), flying.event)?;
            }
            Step::Lose { at } => {
                self.left.losses -= 1;
                self.flight.remove(at);
            }
            Step::Pass { to, late } => {
                self.left.passes -= 1;
                self.left.lates -= u8::from(late);
                self.now = to;
            }
            Step::Tick(member) => self.give(book, member, Input::Tick)?,
            Step::Written(member) => self.happen(book, member, Event::Written)?,
            Step::Crash { member, kept } => {
                self.left.crashes -= 1;
                self.happen(book, member, Event::Crash { kept })?;
                self.cut_off(book, member);
            }
            Step::Start(member) => {
                self.left.starts -= 1;
                self.happen(book, member, Event::Start)?;
            }
            Step::Certify { of, to } => {
                self.left.certificates -= 1;
                let certificate = self.process(book, of).certificate();
                certificate.map_or(Ok(()), |dead| self.give(book, to, Input::Dead(dead)))?;
            }
            Step::Connect { from, to } => self.connect(book, from, to)?,
            Step::Elect(member) => self.command(book, member, OperatorCommand::Elect)?,
            Step::Resign(member) => {
                self.command(book, member, Forwarded::Resign { to: None }.into())?
            }
            Step::Add { leader, who } => {
                self.left.changes -= 1;
                let command = Forwarded::Change(MembershipChange::Add(member(who))).into();
                self.give(book, leader, Input::Command { id: CommandId(0), command })?;
            }
            Step::Remove { leader, who } => {
                self.left.changes -= 1;
                let command =
                    Forwarded::Change(MembershipChange::Remove { id: id(who), force: false })
                        .into();
                self.give(book, leader, Input::Command { id: CommandId(0), command })?;
            }
            Step::Pause { member, long } => {
                let left = if long { &mut self.left.stalls } else { &mut self.left.pauses };
                *left -= 1;
                self.paused = Some(Pause { member, since: self.now, long });
            }
            Step::GoOn => self.go_on(book)?,
        }
        self.check(book)
    }

    /// The paused process resumes, and first notices the pause, if it was long.
    fn go_on(&mut self, book: &mut Book) -> Result<(), String> {
        match self.paused.take() {
            Some(Pause { member, since, long: true }) => {
                let time = self.now.since(since);
                self.give(book, member, Input::Stalled { time })
            }
            _ => Ok(()),
        }
    }

    /// A process is down, and something happens to its disk.
    pub fn change_disk(&mut self, book: &mut Book, member: usize, change: fn(&Process) -> Process) {
        let process = change(self.process(book, member));
        self.processes[member] = book.enter(process);
    }

    fn command(
        &mut self,
        book: &mut Book,
        member: usize,
        command: OperatorCommand,
    ) -> Result<(), String> {
        self.left.commands -= 1;
        self.give(book, member, Input::Command { id: CommandId(0), command })
    }

    fn give(&mut self, book: &mut Book, member: usize, input: Input) -> Result<(), String> {
        self.happen(book, member, Event::Input(input))
    }

    fn happen(&mut self, book: &mut Book, member: usize, event: Event) -> Result<(), String> {
        let event = book.name_of(event);
        self.turn(book, member, event).map(|_| ())
    }

    /// A turn of one process. Tells the hello or welcome that it says, or that it refused one.
    fn turn(
        &mut self,
        book: &mut Book,
        member: usize,
        event: EventKey,
    ) -> Result<Option<Input>, String> {
        let turn = book
            .turn(self.processes[member], event, self.now)
            .map_err(|rule| format!("P{}: {rule}", member + 1))?;
        let left = self.process(book, member).leaves();
        self.processes[member] = turn.process;
        let mut said = None;
        for output in &turn.out {
            match output {
                Output::Send { to, envelope } => self.send(book, member, to, envelope),
                Output::Disconnect { peer } => {
                    self.hang_up(book, member, place(*peer));
                    self.hang_up(book, place(*peer), member);
                }
                Output::Close { connection } => {
                    let from = self.places().find(|from| {
                        *from != member && self.connection(*from, member) == *connection
                    });
                    from.into_iter().for_each(|from| self.lose_touch(book, from, member));
                }
                Output::Hello { hello, .. } => said = Some(self.hello(member, hello)),
                Output::Welcome { welcome, .. } => {
                    said = Some(Input::Welcomed { peer: id(member), welcome: welcome.clone() });
                }
                Output::Reject { reason, .. } => {
                    said = Some(Input::Rejected { peer: id(member), reason: reason.clone() });
                }
                _ => {} // records are the process's own; a dial is possible at any time
            }
        }
        if self.process(book, member).leaves() && !left {
            self.end(book, member)?;
        }
        Ok(said)
    }

    /// A process that was removed ends, once its disk has written all.
    fn end(&mut self, book: &mut Book, member: usize) -> Result<(), String> {
        let kept = self.process(book, member).waiting();
        self.happen(book, member, Event::Crash { kept })?;
        self.cut_off(book, member);
        Ok(())
    }

    fn connection(&self, from: usize, to: usize) -> ConnectionId {
        let count = u64::from(self.links[from][to].count);
        ConnectionId(100 * count + 10 * from as u64 + to as u64)
    }

    fn send(&mut self, book: &mut Book, from: usize, to: &[NodeId], envelope: &Envelope) {
        for to in to.iter().map(|to| place(*to)) {
            if self.links[from][to].up {
                let (connection, envelope) = (self.connection(from, to), envelope.clone());
                let message = Input::Message { connection, from: id(from), envelope };
                self.fly(book, (from, to), message);
            }
        }
    }

    fn fly(&mut self, book: &mut Book, lane: (usize, usize), input: Input) {
        let lane = (narrow(lane.0), narrow(lane.1));
        let flying = Flying { lane, event: book.name_of(Event::Input(input)) };
        let at = self.flight.partition_point(|other| other.lane <= lane);
        self.flight.insert(at, flying);
    }

    /// A connection ends, and its accepter sees that before or after it takes what was sent on it.
    fn hang_up(&mut self, book: &mut Book, from: usize, to: usize) {
        if std::mem::take(&mut self.links[from][to].up) && self.runs(book, to) {
            let redial = if self.runs(book, from) { Redial::Accepted } else { Redial::Refused };
            let connection = self.connection(from, to);
            let ended = Input::Ended { connection, peer: id(from), redial };
            self.fly(book, (MEMBERS + from, to), ended);
        }
    }

    /// The accepter closes a connection, and the dialer sees that.
    fn lose_touch(&mut self, book: &mut Book, from: usize, to: usize) {
        if std::mem::take(&mut self.links[from][to].up) && self.runs(book, from) {
            self.fly(book, (MEMBERS + to, from), Input::Lost { peer: id(to) });
        }
    }

    /// A process is gone, and with it what was on its way to it.
    fn cut_off(&mut self, book: &mut Book, member: usize) {
        self.flight.retain(|flying| flying.to() != member);
        for other in self.places().filter(|other| *other != member) {
            self.hang_up(book, member, other);
            self.hang_up(book, other, member);
        }
    }

    fn hello(&self, from: usize, hello: &Hello) -> Input {
        let (hello, address) = (hello.clone(), String::new());
        let connection = ConnectionId(0); // given when it is dialed
        debug_assert_eq!(place(hello.id), from);
        Input::Hello { connection, address, hello }
    }

    /// One member dials another: hello and welcome are exchanged in one step.
    fn connect(&mut self, book: &mut Book, from: usize, to: usize) -> Result<(), String> {
        let dialed = book.name_of(Event::Input(Input::Dialed { peer: id(to), attempt: 1 }));
        let Some(Input::Hello { address, hello, .. }) = self.turn(book, from, dialed)? else {
            return Err("no hello was said".into());
        };
        let before = self.links[from][to];
        self.links[from][to] = Link { up: false, count: before.count + 1 };
        let connection = self.connection(from, to);
        let hello = book.name_of(Event::Input(Input::Hello { connection, address, hello }));
        let Some(answer) = self.turn(book, to, hello)? else {
            return Err("a hello was not answered".into());
        };
        match answer {
            Input::Welcomed { .. } => self.links[from][to].up = true,
            _ => self.links[from][to] = before,
        }
        let answer = book.name_of(Event::Input(answer));
        self.turn(book, from, answer).map(|_| ())
    }

    /// At most one leader at an instant, and one for an epoch. Between two steps no member begins to
    /// lead, so what holds after each step holds at every instant.
    fn check(&mut self, book: &Book) -> Result<(), String> {
        let leaders: Vec<(u64, u8)> = self
            .places()
            .filter_map(|member| {
                let epoch = self.process(book, member).leads(self.now)?;
                Some((epoch.0, narrow(member)))
            })
            .collect();
        if let [(first, a), (second, b), ..] = leaders[..] {
            let (a, b) = (a + 1, b + 1);
            return Err(format!("P{a} leads in epoch {first} and P{b} in epoch {second} at once"));
        }
        for (epoch, leader) in leaders {
            match self.leaderships.binary_search_by_key(&epoch, |(epoch, _)| *epoch) {
                Ok(at) if self.leaderships[at].1 == leader => {}
                Ok(_) => return Err(format!("epoch {epoch} has a second leader, P{}", leader + 1)),
                Err(at) => self.leaderships.insert(at, (epoch, leader)),
            }
        }
        Ok(())
    }
}

fn narrow(member: usize) -> u8 {
    u8::try_from(member).unwrap_or(u8::MAX)
}
