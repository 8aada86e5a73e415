//! The steps that lead from one state of the cluster to the next, and how often each may be taken.

use std::time::Duration;

use electd_election::core::types::Time;
use electd_election::core::{Input, Redial};

use super::book::Book;
use super::process::{Event, place};
use super::search::Searched;
use super::world::World;

/// Time may pass in pieces as short as this, even if no member wants to be called that soon: this puts
/// a delay between events that would happen at one instant.
const STRIDE: Duration = Duration::from_nanos(3);

/// The events that may still happen; these limits make the number of states finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How often time passes.
    pub passes: u8,
    /// How often it passes though some process should have been called: it is paused.
    pub lates: u8,
    /// How many messages overtake another of their connection.
    pub overtakes: u8,
    /// How many are lost.
    pub losses: u8,
    /// How many arrive twice.
    pub repeats: u8,
    /// How many processes crash.
    pub crashes: u8,
    /// How many start again.
    pub starts: u8,
    /// How often a process gets a death certificate.
    pub certificates: u8,
    /// How many commands are given.
    pub commands: u8,
    /// How many members are added or removed.
    pub changes: u8,
    /// How many processes are paused, for shorter than they notice.
    pub pauses: u8,
    /// How many for longer.
    pub stalls: u8,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message arrives; `early` if it overtakes another of its connection.
    Deliver { at: usize, early: bool },
    /// A message arrives, and once more later.
    Repeat { at: usize },
    /// A message never arrives.
    Lose { at: usize },
    /// All clocks advance to this time.
    Pass { to: Time, late: bool },
    /// A process is called at or after the time it asked for.
    Tick(usize),
    /// The disk has written the oldest record that waited.
    Written(usize),
    /// A process ends; this many of the records that waited are kept.
    Crash { member: usize, kept: usize },
    /// It starts again.
    Start(usize),
    /// Another gets the certificate of its last run that is over, at any time after that.
    Certify { of: usize, to: usize },
    /// It dials another.
    Connect { from: usize, to: usize },
    /// It is asked for an election.
    Elect(usize),
    /// It is asked to hand over.
    Resign(usize),
    /// A leader is asked to add a member.
    Add { leader: usize, who: usize },
    /// A leader is asked to remove one.
    Remove { leader: usize, who: usize },
    /// A process does nothing from now on, for longer than it takes for nothing or not.
    Pause { member: usize, long: bool },
    /// The paused process resumes.
    GoOn,
}

impl Searched for World {
    type Shared = Book;
    type Step = Step;

    fn steps(&self, book: &Book) -> Vec<Step> {
        Step::all(self, book)
    }

    fn after(&self, book: &mut Book, step: Step) -> Result<Option<World>, String> {
        let mut after = self.clone();
        after.step(book, step).map(|()| Some(after))
    }

    fn kind(&self, book: &Book, step: Step) -> &'static str {
        step.kind(self, book)
    }

    fn sentence(&self, book: &Book, step: Step) -> String {
        step.sentence(self, book)
    }
}

impl Step {
    /// Every step that may come next.
    pub fn all(world: &World, book: &Book) -> Vec<Step> {
        let mut steps = Vec::new();
        for (at, flying, first) in world.flight() {
            if world.paused.is_some_and(|pause| pause.member == flying.to()) {
                continue;
            }
            if first || world.left.overtakes > 0 {
                steps.push(Step::Deliver { at, early: !first });
            }
            let event = book.event(flying.event);
            let message = first && matches!(event, Event::Input(Input::Message { .. }));
            if message && world.left.repeats > 0 {
                steps.push(Step::Repeat { at });
            }
            if message && world.left.losses > 0 {
                steps.push(Step::Lose { at });
            }
        }
        for member in world.places() {
            Step::of(member, world, book, &mut steps);
        }
        if world.paused.is_some_and(|pause| pause.may_end(world.now)) {
            steps.push(Step::GoOn);
        }
        Step::time(world, book, &mut steps);
        steps
    }

    fn of(member: usize, world: &World, book: &Book, steps: &mut Vec<Step>) {
        if !world.runs(book, member) {
            if world.left.starts > 0 && world.process(book, member).may_start() {
                steps.push(Step::Start(member));
            }
            return;
        }
        if !world.acts(book, member) {
            return;
        }
        let process = world.process(book, member);
        if world.due(book, member).is_some_and(|due| due <= world.now) {
            steps.push(Step::Tick(member));
        }
        if process.waiting() > 0 {
            steps.push(Step::Written(member));
        }
        if world.left.crashes > 0 {
            let kept = 0..=process.waiting();
            steps.extend(kept.map(|kept| Step::Crash { member, kept }));
        }
        let others = world.places().filter(|to| *to != member && world.acts(book, *to));
        let apart = others.filter(|to| !world.connected(member, *to) && process.knows(*to));
        steps.extend(apart.map(|to| Step::Connect { from: member, to }));
        if world.left.certificates > 0 {
            let dead = |of: &usize| world.process(book, *of).certificate().is_some();
            let others = world.places().filter(|of| *of != member).filter(dead);
            steps.extend(others.map(|of| Step::Certify { of, to: member }));
        }
        if world.left.commands > 0 {
            steps.push(Step::Elect(member));
            if process.leads(world.now).is_some() {
                steps.push(Step::Resign(member));
            }
        }
        if world.left.changes > 0 && process.leads(world.now).is_some() {
            let others = world.places().filter(|who| *who != member);
            steps.extend(others.map(|who| match process.knows(who) {
                true => Step::Remove { leader: member, who },
                false => Step::Add { leader: member, who },
            }));
        }
        if world.paused.is_none() {
            let short = (world.left.pauses > 0).then_some(Step::Pause { member, long: false });
            let long = (world.left.stalls > 0).then_some(Step::Pause { member, long: true });
            steps.extend(short.into_iter().chain(long));
        }
    }

    fn time(world: &World, book: &Book, steps: &mut Vec<Step>) {
        let acts = world.places().filter(|member| world.acts(book, *member));
        let dues: Vec<Time> = acts.filter_map(|member| world.due(book, member)).collect();
        let late = dues.iter().any(|due| *due <= world.now);
        if world.left.passes == 0 || (late && world.left.lates == 0) {
            return;
        }
        let stride = world.now + STRIDE;
        let next = dues.into_iter().filter(|due| *due > world.now).min();
        let instants = match next {
            Some(next) if next < stride => [Some(next), None], // not past one who wants to be called
            next => [Some(stride), next.filter(|next| *next != stride)],
        };
        let goes_on = |to: &Time| world.paused.is_none_or(|pause| pause.may_last(*to));
        let instants = instants.into_iter().flatten().filter(goes_on);
        steps.extend(instants.map(|to| Step::Pass { to, late }));
    }

    /// The name of this kind of step.
    pub fn kind(self, world: &World, book: &Book) -> &'static str {
        match self {
            Step::Deliver { early: true, .. } => "a message overtakes another",
            Step::Deliver { at, .. } => arrival(world.arriving(book, at).1),
            Step::Lose { .. } => "a message is lost",
            Step::Repeat { .. } => "a message arrives twice",
            Step::Pass { late: true, .. } => "time passes, a process is paused",
            Step::Pass { .. } => "time passes",
            Step::Tick(_) => "a timer runs out",
            Step::Written(_) => "a record is written",
            Step::Crash { kept: 0, .. } => "crash, unwritten records lost",
            Step::Crash { .. } => "crash, records written, nobody told",
            Step::Start(_) => "restart",
            Step::Certify { .. } => "a death is certified",
            Step::Connect { .. } => "a connection is made",
            Step::Elect(_) => "command: elect",
            Step::Resign(_) => "command: resign",
            Step::Add { .. } => "command: add a member",
            Step::Remove { .. } => "command: remove a member",
            Step::Pause { long: false, .. } => "a process is paused for a short time",
            Step::Pause { long: true, .. } => "a process is paused for long",
            Step::GoOn => "a process goes on",
        }
    }

    /// The step in words, for a trace.
    pub fn sentence(self, world: &World, book: &Book) -> String {
        match self {
            Step::Deliver { at, .. } => delivery("takes", world.arriving(book, at)),
            Step::Repeat { at } => {
                delivery("takes, not for the last time,", world.arriving(book, at))
            }
            Step::Lose { at } => delivery("never takes", world.arriving(book, at)),
            Step::Pass { to, .. } => format!("the time is {}", to.0),
            Step::Tick(member) => format!("P{} is called", member + 1),
            Step::Written(member) => format!("P{}'s record is written", member + 1),
            Step::Crash { member, kept } => format!("P{} crashes; {kept} kept", member + 1),
            Step::Start(member) => format!("P{} starts", member + 1),
            Step::Certify { of, to } => format!("P{} gets a certificate of P{}", to + 1, of + 1),
            Step::Connect { from, to } => format!("P{} connects to P{}", from + 1, to + 1),
            Step::Elect(member) => format!("P{} is to elect", member + 1),
            Step::Resign(member) => format!("P{} is to resign", member + 1),
            Step::Add { leader, who } => format!("P{} is to add P{}", leader + 1, who + 1),
            Step::Remove { leader, who } => format!("P{} is to remove P{}", leader + 1, who + 1),
            Step::Pause { member, long } => {
                format!("P{} is paused{}", member + 1, if long { " for long" } else { "" })
            }
            Step::GoOn => "the paused process goes on".to_owned(),
        }
    }
}

fn arrival(event: &Event) -> &'static str {
    match event {
        Event::Input(Input::Message { envelope, .. }) => envelope.message.kind().name(),
        _ => "the end of a connection is seen",
    }
}

fn delivery(verb: &str, (to, event): (usize, &Event)) -> String {
    let what = match event {
        Event::Input(Input::Message { from, envelope, .. }) => {
            format!("from P{} {:?}", place(*from) + 1, envelope.message)
        }
        Event::Input(Input::Ended { peer, redial: Redial::Refused, .. }) => {
            format!("that P{} is gone", place(*peer) + 1)
        }
        other => format!("{other:?}"),
    };
    format!("P{} {verb} {what}", to + 1)
}
