//! Where the searches start: a cluster that was brought to the moment before it gets difficult, by
//! an undisturbed course of the same steps.

use electd_election::core::message::Kind;
use electd_election::core::{Input, Phase};

use super::book::Book;
use super::course::{
    arrive, is_of_kind, is_quiet, on_its_way, pass, phase, run_apart, run_until, take,
};
use super::process::{Event, Process, TIMING};
use super::step::{Limits, Step};
use super::world::{Flying, World};

/// P1 to P5; P4 and P5 are there in some of the searches.
const P1: usize = 0;
const P2: usize = 1;
const P3: usize = 2;
const P4: usize = 3;
const P5: usize = 4;

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
    certificates: 0,
    commands: 0,
    changes: 0,
    pauses: 0,
    stalls: 0,
};

/// All of them.
pub const STORIES: [Story; 14] = [
    Story {
        name: "race: the leader is gone, and two candidates want to succeed it",
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
        name: "crash: after a vote request, voters crash before or after they wrote their vote",
        start: claim_made,
        limits: Limits { passes: 4, crashes: 1, starts: 1, overtakes: 1, ..NOTHING },
    },
    Story {
        name: "return: the leader comes back while its successor is elected or told to go",
        start: leader_missed,
        limits: Limits { passes: 3, starts: 1, commands: 1, ..NOTHING },
    },
    Story {
        name: "certificate: the leader crashes, and its death is certified while its heartbeats are on their way",
        start: heartbeat_sent,
        limits: Limits { passes: 3, crashes: 1, certificates: 2, ..NOTHING },
    },
    Story {
        name: "again: the certificate of an earlier run comes while the same member leads again",
        start: challenged_again,
        limits: Limits { passes: 4, certificates: 2, ..NOTHING },
    },
    Story {
        name: "stall: a process does nothing for a short time, or for long",
        start: challenged,
        limits: Limits { passes: 5, pauses: 1, stalls: 1, ..NOTHING },
    },
    Story {
        name: "growth: two members are added to three, and one may be removed again",
        start: newcomers_run,
        limits: Limits { passes: 1, losses: 1, changes: 3, ..NOTHING },
    },
    Story {
        name: "removal: two voters of an epoch were removed, and another member is in a round of that number",
        start: two_removed,
        limits: Limits { passes: 1, ..NOTHING },
    },
    Story {
        name: "loss: a voter lost its disk, and another member is in a round for which it voted before that",
        start: vote_lost,
        limits: Limits { passes: 1, ..NOTHING },
    },
    Story {
        name: "forgotten: a voter crashed before its disk had its vote, and another member is in that round",
        start: vote_forgotten,
        limits: Limits { passes: 1, ..NOTHING },
    },
    Story {
        name: "unsure: a voter voted against its leader, crashed before its disk had that, and hears that leader again",
        start: leader_forsaken,
        limits: Limits { passes: 4, losses: 1, ..NOTHING },
    },
];

/// This many processes, of which the first ones, this many, founded the cluster.
fn not_started(book: &mut Book, size: usize, founders: usize) -> World {
    let mut world = World::new(book, size, founders);
    world.left.passes = u8::MAX;
    world.left.starts = u8::MAX;
    world
}

/// These are connected to each other.
fn connect(world: &mut World, book: &mut Book, members: &[usize]) {
    for from in members {
        for to in members.iter().filter(|to| *to != from) {
            take(world, book, Step::Connect { from: *from, to: *to });
        }
    }
}

/// All have started, are connected, and follow P3.
fn settled(book: &mut Book) -> World {
    let mut world = not_started(book, 3, 3);
    for member in [P1, P2, P3] {
        take(&mut world, book, Step::Start(member));
    }
    connect(&mut world, book, &[P1, P2, P3]);
    run_until_settled(&mut world, book);
    world
}

/// P1 and P2 follow P3, and nothing is on its way.
fn run_until_settled(world: &mut World, book: &mut Book) {
    run_until(world, book, |world, book| {
        let phase = |member| phase(world, book, member);
        let follow = [P1, P2].iter().all(|member| phase(*member) == Some(Phase::Following));
        phase(P3) == Some(Phase::Leading) && follow && is_quiet(world, book)
    });
}

/// P3 leads, and P4 and P5 run, which no list names yet.
fn newcomers_run(book: &mut Book) -> World {
    let mut world = not_started(book, 5, 3);
    for member in [P1, P2, P3] {
        take(&mut world, book, Step::Start(member));
    }
    connect(&mut world, book, &[P1, P2, P3]);
    run_until_settled(&mut world, book);
    for member in [P4, P5] {
        take(&mut world, book, Step::Start(member));
        take(&mut world, book, Step::Connect { from: member, to: P3 }); // it is refused, and known
    }
    world
}

/// P4 has asked P5 for the election of a round, and hears nothing of it any more. P5 led in the epoch of
/// that number, for which P1 and P2 voted, and removed those two. P3 has stored that, and met P5 after
/// the vote. All but P4 are down.
fn two_removed(book: &mut Book) -> World {
    let mut world = not_started(book, 5, 5);
    for member in [P1, P2, P4, P5] {
        take(&mut world, book, Step::Start(member));
    }
    connect(&mut world, book, &[P1, P2, P5]);
    connect(&mut world, book, &[P4, P5]);
    run_apart(&mut world, book, [P4, P5], |world, book| {
        let leads = world.process(book, P5).leads(world.now).is_some();
        leads && phase(world, book, P4) == Some(Phase::Electing)
    });
    take(&mut world, book, Step::Start(P3));
    connect(&mut world, book, &[P3, P5]);
    for who in [P1, P2] {
        world.left.changes = 1;
        take(&mut world, book, Step::Remove { leader: P5, who });
        run_apart(&mut world, book, [P4, P5], |world, book| {
            !world.process(book, P3).knows(who) && is_quiet(world, book)
        });
    }
    for member in [P1, P2, P3, P5] {
        world.left.crashes = 1;
        take(&mut world, book, Step::Crash { member, kept: 0 });
    }
    take(&mut world, book, Step::Start(P3));
    pause_while_bound(&mut world, book, P4);
    world
}

/// The disk of P1 has lost everything.
fn vote_lost(book: &mut Book) -> World {
    vote_gone(book, Process::emptied)
}

/// The disk of P1 knows only what it did before it voted.
fn vote_forgotten(book: &mut Book) -> World {
    vote_gone(book, Process::forgetful)
}

/// P2 has asked P3 to join the election of a round, and gets no answer. P3 led in the epoch of that
/// number, for which P1 voted. P3 restarts, so it no longer knows which process of P1 that was; and so
/// does P1, to whose disk this happened.
fn vote_gone(book: &mut Book, happens: fn(&Process) -> Process) -> World {
    let mut world = not_started(book, 3, 3);
    for member in [P1, P2, P3] {
        take(&mut world, book, Step::Start(member));
    }
    connect(&mut world, book, &[P1, P3]);
    connect(&mut world, book, &[P2, P3]);
    run_apart(&mut world, book, [P2, P3], |world, book| {
        let leads = world.process(book, P3).leads(world.now).is_some();
        leads && phase(world, book, P2) == Some(Phase::Electing)
    });
    for member in [P1, P3] {
        world.left.crashes = 1;
        let kept = world.process(book, member).waiting();
        take(&mut world, book, Step::Crash { member, kept });
    }
    world.change_disk(book, P1, happens);
    for member in [P1, P3] {
        take(&mut world, book, Step::Start(member));
    }
    connect(&mut world, book, &[P1, P3]);
    pause_while_bound(&mut world, book, P2);
    world
}

/// P3 leads, and P1 starts again without the vote that it gave to another.
fn leader_forsaken(book: &mut Book) -> World {
    let mut world = settled(book);
    world.left.crashes = 1;
    let kept = world.process(book, P1).waiting();
    take(&mut world, book, Step::Crash { member: P1, kept });
    world.change_disk(book, P1, Process::faithless);
    while let Some((at, ..)) = ended(&world, book) {
        take(&mut world, book, Step::Deliver { at, early: false });
    }
    take(&mut world, book, Step::Start(P1));
    connect(&mut world, book, &[P1, P3]);
    world
}

/// A member in an election pauses for a short time, at the end of which no voter is still bound by a
/// promise from before its restart.
fn pause_while_bound(world: &mut World, book: &mut Book, member: usize) {
    let bound = world.now + TIMING.lease;
    assert_eq!(phase(world, book, member), Some(Phase::Electing));
    while world.due(book, member).is_some_and(|due| due > world.now) {
        pass(world, book);
    }
    world.left.pauses = 1;
    take(world, book, Step::Pause { member, long: false });
    while world.now < bound {
        pass(world, book);
    }
}

/// P3 has just sent heartbeats, and no member has taken them.
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
    let end = world.now + TIMING.lease;
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

/// The first end of a connection that a member has yet to see.
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

/// P3 has crashed and leads again, and nobody has its certificate. P2 hears it no more, and asks P1 for a pre-vote.
fn challenged_again(book: &mut Book) -> World {
    let mut world = settled(book);
    world.left.crashes = 1;
    let kept = world.process(book, P3).waiting();
    take(&mut world, book, Step::Crash { member: P3, kept });
    while let Some((at, ..)) = ended(&world, book) {
        take(&mut world, book, Step::Deliver { at, early: false });
    }
    take(&mut world, book, Step::Start(P3));
    connect(&mut world, book, &[P1, P2, P3]);
    run_until_settled(&mut world, book);
    run_apart(&mut world, book, [P2, P3], |world, book| {
        let asks = |flying: Flying| is_of_kind(book, flying, Kind::PreVote) && flying.to() == P1;
        world.flight().any(|(_, flying, _)| asks(flying))
    });
    world
}

/// The leader is gone, and a candidate has sent its vote request.
fn claim_made(book: &mut Book) -> World {
    let mut world = leader_gone(book);
    run_until(&mut world, book, |world, book| {
        world.flight().any(|(_, flying, _)| is_of_kind(book, flying, Kind::VoteRequest))
    });
    world
}
