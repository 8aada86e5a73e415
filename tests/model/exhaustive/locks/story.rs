//! The small worlds that are searched, each with what may happen there.

use std::sync::Arc;

use electd_election::core::membership::MemberList;

use super::step::Step;
use super::world::list;

/// What a coordinator makes of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Nothing: a new version.
    Stamp,
    /// It gives the free name, or that of a certified holder, to this one.
    Give(usize),
    /// It takes the name from its holder, and gives it to this one.
    Take(usize),
    /// The holder gave it back.
    Free,
    /// The holder gave it back for this one.
    Move(usize),
}

/// A world, and what may happen in it besides tables, promises and their end.
#[derive(Clone, Copy)]
pub struct Story {
    pub name: &'static str,
    /// What happened before the search begins.
    pub before: &'static [Step],
    /// Nobody has a table yet.
    pub begins: bool,
    /// How many coordinators, and how many tables they send, in all.
    pub epochs: usize,
    pub tables: usize,
    pub voters: usize,
    /// The voters and holders of each list, one after the other.
    members: &'static [(&'static [usize], &'static [usize])],
    /// Voters learn that their table is done, and hand it on.
    pub tells: bool,
    /// Holders give names back.
    pub releases: bool,
    /// Proposals are withdrawn.
    pub withdraws: bool,
    /// How many voters restart or lose their disk, and how many holders restart.
    pub restarts: usize,
    pub losses: usize,
    pub lives: usize,
}

const PLAIN: Story = Story {
    name: "",
    before: &[],
    begins: false,
    epochs: 1,
    tables: 2,
    voters: 3,
    members: &[(&[0, 1, 2], &[0, 1])],
    tells: false,
    releases: false,
    withdraws: false,
    restarts: 0,
    losses: 0,
    lives: 0,
};

const A: usize = 0;
const B: usize = 1;
const FIRST: Step = Step::Read { voters: 0b011, list: 0 };
const ALL: Step = Step::Read { voters: 0b111, list: 0 };

const fn propose(deed: Deed) -> Step {
    Step::Propose { of: 0, deed }
}

const fn store(table: usize, voter: usize) -> Step {
    Step::Store { table, voter }
}

const fn stored(table: usize, voter: usize) -> Step {
    Step::Stored { table, voter }
}

const fn promise(holder: usize, voter: usize) -> Step {
    Step::Promise { holder, voter }
}

/// B has taken the name from A in epoch 1, and a majority has stored that.
const TAKEN: &[Step] = &[
    FIRST,
    propose(Deed::Take(B)),
    store(0, 0),
    store(0, 1),
    stored(0, 0),
    stored(0, 1),
    Step::Learn { holder: B, table: 0 },
];

/// One voter has stored what epoch 1 proposed, and the coordinator of epoch 2 has read the others.
const OVERTAKEN: &[Step] =
    &[FIRST, propose(Deed::Take(B)), store(0, 0), Step::Read { voters: 0b110, list: 0 }];

/// A majority has stored what the coordinator then withdrew, and the next one goes on from that.
const WITHDRAWN: &[Step] = &[
    FIRST,
    propose(Deed::Take(B)),
    store(0, 0),
    store(0, 1),
    Step::Withdraw { of: 0 },
    Step::Read { voters: 0b011, list: 0 },
    Step::Propose { of: 1, deed: Deed::Stamp },
    store(2, 0),
    store(2, 1),
    stored(2, 0),
    stored(2, 1),
    Step::Learn { holder: B, table: 2 },
];

/// A acts.
const ACTING: &[Step] = &[promise(A, 0), promise(A, 1), FIRST];

/// The next life of A has the name. It is the third holder.
const AGAIN: &[Step] = &[
    Step::RestartHolder(A),
    Step::JobEnds(A),
    FIRST,
    propose(Deed::Give(2)),
    store(0, 0),
    store(0, 1),
    Step::Learn { holder: 2, table: 0 },
];

/// A is supported; it is removed, and a majority has stored a table that was made for the list without it.
const REMOVED: &[Step] = &[
    promise(A, 0),
    promise(A, 1),
    FIRST,
    propose(Deed::Stamp),
    store(0, 0),
    store(0, 1),
    Step::ChangeList(0),
    Step::VoterTakesList(0),
    Step::VoterTakesList(1),
    store(1, 0),
    store(1, 1),
];

/// The only voter has stored a table of epoch 1, and a second voter is added.
const ADDED: &[Step] = &[
    Step::Read { voters: 0b001, list: 0 },
    propose(Deed::Stamp),
    store(0, 0),
    Step::ChangeList(0),
];

/// Later the first voter is removed.
const REPLACED: &[Step] = &[
    Step::Read { voters: 0b001, list: 0 },
    propose(Deed::Stamp),
    store(0, 0),
    Step::ChangeList(0),
    Step::VoterTakesList(0),
    store(1, 0),
    store(1, 1),
    Step::ChangeList(0),
    Step::VoterTakesList(1),
    store(2, 1),
];

/// One voter has stored the first table of all. Its coordinator dies, and the next one reads all voters.
const BEGUN: &[Step] =
    &[ALL, propose(Deed::Stamp), store(0, 0), ALL, Step::Propose { of: 1, deed: Deed::Stamp }];

/// A second voter is added to the only one, and the coordinator dies before that has stored a table.
const GROWN: &[Step] = &[
    Step::Read { voters: 0b001, list: 0 },
    propose(Deed::Stamp),
    store(0, 0),
    stored(0, 0),
    Step::ChangeList(0),
    Step::VoterTakesList(0),
    Step::Read { voters: 0b011, list: 1 },
    Step::Propose { of: 1, deed: Deed::Stamp },
];

/// B has taken the name from A by a second table. A voter of both loses its disk, and the first table comes late.
const LOST: &[Step] = &[
    FIRST,
    propose(Deed::Stamp),
    store(0, 1),
    store(0, 2),
    stored(0, 1),
    stored(0, 2),
    propose(Deed::Take(B)),
    store(1, 0),
    store(1, 1),
    stored(1, 0),
    stored(1, 1),
    Step::Learn { holder: B, table: 1 },
    promise(B, 1),
    promise(B, 2),
    Step::LoseDisk(0),
    store(0, 0),
];

/// The lists of these two.
const TWO: &[(&[usize], &[usize])] = &[(&[0], &[A, B]), (&[0, 1], &[A, B]), (&[1], &[A, B])];

pub const STORIES: [Story; 20] = [
    Story { name: "locks begun", before: BEGUN, begins: true, epochs: 2, tables: 3, ..PLAIN },
    Story { name: "locks takes", ..PLAIN },
    Story { name: "locks back", before: TAKEN, ..PLAIN },
    Story { name: "locks withdraws", withdraws: true, tables: 3, ..PLAIN },
    Story { name: "locks epochs", epochs: 2, ..PLAIN },
    Story { name: "locks taken", before: TAKEN, epochs: 2, ..PLAIN },
    Story { name: "locks overtaken", before: OVERTAKEN, epochs: 2, ..PLAIN },
    Story {
        name: "locks withdrawn",
        before: WITHDRAWN,
        epochs: 2,
        tables: 3,
        withdraws: true,
        ..PLAIN
    },
    Story { name: "locks told", tells: true, tables: 1, ..PLAIN },
    Story { name: "locks release", releases: true, ..PLAIN },
    Story { name: "locks restart", restarts: 1, tables: 1, ..PLAIN },
    Story { name: "locks loss", before: TAKEN, losses: 1, epochs: 2, ..PLAIN },
    Story { name: "locks lost", before: LOST, losses: 1, epochs: 2, tables: 3, ..PLAIN },
    Story { name: "locks lives", before: ACTING, lives: 1, tables: 1, ..PLAIN },
    Story { name: "locks again", before: AGAIN, lives: 1, ..PLAIN },
    Story {
        name: "locks removed",
        before: REMOVED,
        tables: 3,
        members: &[(&[0, 1, 2], &[A, B]), (&[0, 1, 2], &[B])],
        ..PLAIN
    },
    Story { name: "locks added", before: ADDED, tables: 4, voters: 2, members: TWO, ..PLAIN },
    Story {
        name: "locks grown",
        before: GROWN,
        epochs: 2,
        tables: 4,
        voters: 2,
        members: TWO,
        ..PLAIN
    },
    Story { name: "locks left", before: REPLACED, tables: 4, voters: 2, members: TWO, ..PLAIN },
    Story {
        name: "locks voters",
        tables: 4,
        voters: 4,
        members: &[(&[0, 1, 2], &[A, B]), (&[0, 1, 2, 3], &[A, B]), (&[1, 2, 3], &[A, B])],
        ..PLAIN
    },
];

impl Story {
    pub fn lists(&self) -> Vec<Arc<MemberList>> {
        let lists = self.members.iter().enumerate();
        lists.map(|(at, (voters, holders))| list(at, voters, holders)).collect()
    }

    /// Whether a coordinator learns later what a voter stored, or never. That makes no difference to the only one that
    /// withdraws nothing.
    pub fn learns_late(&self) -> bool {
        self.epochs > 1 || self.withdraws
    }
}
