//! Where the searches start: a cluster that was brought to the moment before it gets difficult, by
//! an undisturbed course of the same steps.

use electd::core::message::{Kind, Message};
use electd::core::{Input, Phase};

use crate::book::Book;
use crate::process::{Event, MEMBERS};
use crate::step::{Limits, Step};
use crate::world::{Flying, World};

/// P1, P2 and P3.
const P1: usize = 0;
const P2: usize = 1;
const P3: usize = 2;

/// One search: what it is about, where it starts, and what may happen.
pub struct Story {
    pub name: &'static str,
    start: fn(&mut Book) -> World,
    limits: Limits,
}

impl Story {
    /// The state from which it starts.
    pub fn begin(&self, book: &mut Book) -> World {
        let mut world = (self.start)(book);
        world.left = self.limits;
        world
    }
}

const NOTHING: Limits = Limits {
    passes: 0,
    lates: 0,
    overtakes: 0,
    losses: 0,
    repeats: 0,
    crashes: 0,
    starts: 0,
    commands: 0,
};

/// All of them.
pub const STORIES: [Story; 6] = [
    Story {
        name: "race: the leader is gone, and two nominees want to succeed it",
        start: leader_missed,
        limits: Limits { passes: 4, losses: 2, overtakes: 1, repeats: 1, ..NOTHING },
    },
    Story {
        name: "lease: heartbeats and their replies are late while another wants to lead",
        start: challenged,
        limits: Limits { passes: 5, losses: 1, ..NOTHING },
    },
    Story {
        name: "replies: to heartbeats are late, until the promises behind them are over",
        start: reply_late,
        limits: Limits { passes: 4, commands: 1, ..NOTHING },
    },
    Story {
        name: "pause: as before, and processes miss their time",
        start: challenged,
        limits: Limits { passes: 5, lates: 2, ..NOTHING },
    },
    Story {
        name: "crash: after a claim, voters crash before or after they wrote their grant",
        start: claim_made,
        limits: Limits { passes: 4, crashes: 1, starts: 1, overtakes: 1, ..NOTHING },
    },
    Story {
        name: "return: the leader comes back while its successor is elected or told to go",
        start: leader_missed,
        limits: Limits { passes: 3, starts: 1, commands: 1, ..NOTHING },
    },
];

/// All have started, are connected, and follow P3.
fn settled(book: &mut Book) -> World {
    let mut world = World::new(book);
    world.left.passes = u8::MAX;
    world.left.starts = u8::MAX;
    for member in 0..MEMBERS {
        take(&mut world, book, Step::Start(member));
    }
    for from in 0..MEMBERS {
        for to in (0..MEMBERS).filter(|to| *to != from) {
            take(&mut world, book, Step::Connect { from, to });
        }
    }
    run_until(&mut world, book, |world, book| {
        let phase = |member| world.process(book, member).core.as_ref().map(|core| core.phase());
        let follow = [P1, P2].iter().all(|member| phase(*member) == Some(Phase::Following));
        phase(P3) == Some(Phase::Leading) && follow && is_quiet(world, book)
    });
    world
}

/// P3 has just sent heartbeats, and nobody has taken them.
fn heartbeat_sent(book: &mut Book) -> World {
    let mut world = settled(book);
    run_until(&mut world, book, |world, _| world.flight().next().is_some());
    world
}

/// Both others have taken a heartbeat. One reply came late, the other is still on its way, and the
/// next heartbeats are lost: the lease is about to end.
fn reply_late(book: &mut Book) -> World {
    let mut world = heartbeat_sent(book);
    world.left.losses = 2;
    arrive(&mut world, book, P1, Kind::Heartbeat);
    arrive(&mut world, book, P2, Kind::Heartbeat);
    pass(&mut world, book);
    arrive(&mut world, book, P3, Kind::Acknowledge);
    pass(&mut world, book);
    take(&mut world, book, Step::Tick(P3));
    for member in [P1, P2] {
        let at = on_its_way(&world, book, member, Kind::Heartbeat);
        take(&mut world, book, Step::Lose { at });
    }
    pass(&mut world, book);
    world
}

/// P3 has crashed, and nothing that was promised to it runs any more. Nobody has noticed.
fn leader_gone(book: &mut Book) -> World {
    let mut world = settled(book);
    world.left.crashes = 1;
    take(&mut world, book, Step::Crash { member: P3, kept: 0 });
    let end = world.now + crate::process::TIMING.lease;
    while world.now < end {
        pass(&mut world, book);
    }
    world
}

/// The others have just seen that.
fn leader_missed(book: &mut Book) -> World {
    let mut world = leader_gone(book);
    while let Some((at, ..)) = ended(&world, book) {
        take(&mut world, book, Step::Deliver { at, early: false });
    }
    world
}

/// The first end of a connection that somebody has to see.
fn ended(world: &World, book: &Book) -> Option<(usize, Flying, bool)> {
    let is_end = |event: &Event| matches!(event, Event::Input(Input::Ended { .. }));
    world.flight().find(|(_, flying, _)| is_end(book.event(flying.event)))
}

/// After a heartbeat was sent, P1 is asked for an election.
fn challenged(book: &mut Book) -> World {
    let mut world = heartbeat_sent(book);
    world.left.commands = 1;
    take(&mut world, book, Step::Elect(P1));
    world
}

/// The leader is gone, and a nominee has sent its claim.
fn claim_made(book: &mut Book) -> World {
    let mut world = leader_gone(book);
    run_until(&mut world, book, |world, book| {
        world.flight().any(|(_, flying, _)| match book.event(flying.event) {
            Event::Input(Input::Message { envelope, .. }) => {
                matches!(envelope.message, Message::Claim { .. })
            }
            _ => false,
        })
    });
    world
}

/// Where a message of this kind to this member is.
fn on_its_way(world: &World, book: &Book, to: usize, kind: Kind) -> usize {
    let fits = |flying: Flying| match book.event(flying.event) {
        Event::Input(Input::Message { envelope, .. }) => {
            flying.to() == to && envelope.message.kind() == kind
        }
        _ => false,
    };
    let found = world.flight().find(|(_, flying, _)| fits(*flying));
    found.expect("it was sent").0
}

fn arrive(world: &mut World, book: &mut Book, to: usize, kind: Kind) {
    let at = on_its_way(world, book, to, kind);
    take(world, book, Step::Deliver { at, early: false });
}

/// The shortest time passes.
fn pass(world: &mut World, book: &mut Book) {
    let next = Step::all(world, book).into_iter().find(|step| matches!(step, Step::Pass { .. }));
    take(world, book, next.expect("nobody is due"));
}

fn is_quiet(world: &World, book: &Book) -> bool {
    let waits = (0..MEMBERS).any(|member| world.process(book, member).waiting() > 0);
    world.flight().next().is_none() && !waits
}

fn take(world: &mut World, book: &mut Book, step: Step) {
    world.step(book, step).expect("nothing is broken before the search begins");
}

/// Whatever may happen without a fault happens, in a fixed order, and then time passes.
fn run_until(world: &mut World, book: &mut Book, reached: impl Fn(&World, &Book) -> bool) {
    for _ in 0..1000 {
        if reached(world, book) {
            return;
        }
        let steps = Step::all(world, book);
        let calm =
            |step: &&Step| matches!(step, Step::Deliver { .. } | Step::Tick(_) | Step::Written(_));
        let passes = |step: &&Step| matches!(step, Step::Pass { .. });
        let next = steps.iter().find(calm).or(steps.iter().rfind(passes));
        take(world, book, *next.expect("time passes for ever"));
    }
    panic!("the start of a search was not reached");
}
