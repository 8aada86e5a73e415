//! The steps of a world of locks: all that may come next, and what it does.

use std::time::Duration;

use electd_election::core::locks::coordinator::TableCoordinator;
use electd_election::core::locks::holder::LockHolder;
use electd_election::core::locks::table::TableChange;
use electd_election::core::locks::voter::{KeptTable, PromiseReport, StoreAnswer, TableVoter};
use electd_election::core::planted::Fault;
use electd_election::core::types::Epoch;
use strum::{IntoStaticStr, VariantNames};

use super::super::process::{TIMING, id, place};
use super::story::{Deed, Story};
use super::world::{HolderProcess, NOW, Part, VoterProcess, World, name};

/// A step. Voters, holders, coordinators and tables are given by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantNames)]
pub enum Step {
    /// The next coordinator reads the tables of the voters in this set, by this list.
    Read {
        voters: u32,
        list: usize,
    },
    Propose {
        of: usize,
        deed: Deed,
    },
    Withdraw {
        of: usize,
    },
    Store {
        table: usize,
        voter: usize,
    },
    /// The coordinator learns that.
    Stored {
        table: usize,
        voter: usize,
    },
    /// A voter learns that its table is done.
    Done {
        table: usize,
        voter: usize,
    },
    /// A holder learns the done table: from the coordinator, or from a voter.
    Learn {
        holder: usize,
        table: usize,
    },
    Tell {
        holder: usize,
        voter: usize,
    },
    /// A voter promises a holder, which counts that.
    Promise {
        holder: usize,
        voter: usize,
    },
    Uncount {
        holder: usize,
        voter: usize,
    },
    Over {
        holder: usize,
        voter: usize,
    },
    Release {
        holder: usize,
    },
    RestartVoter(usize),
    LoseDisk(usize),
    Recover(usize),
    RestartHolder(usize),
    /// The job of a process that is gone ends.
    JobEnds(usize),
    Certify {
        holder: usize,
        voter: usize,
    },
    /// The coordinator changes the list.
    ChangeList(usize),
    VoterTakesList(usize),
    HolderTakesList(usize),
}

impl Step {
    /// All that may be tried; a step that changes nothing leads to no new state.
    pub fn all(story: &Story, world: &World) -> Vec<Step> {
        let mut steps = Vec::new();
        coordinate(story, world, &mut steps);
        let all_voters = 0..world.voters.len();
        for (table, sent) in world.sent.iter().enumerate() {
            for voter in all_voters.clone() {
                if !sent.stored.contains(&voter) {
                    steps.push(Step::Store { table, voter });
                } else if world.late {
                    steps.push(Step::Stored { table, voter });
                }
                if sent.done && story.tells {
                    steps.push(Step::Done { table, voter });
                }
            }
        }
        for (holder, process) in world.holders.iter().enumerate() {
            for voter in all_voters.clone() {
                if process.counts(id(voter)) {
                    steps.push(Step::Uncount { holder, voter });
                } else {
                    steps.push(Step::Over { holder, voter });
                }
                if is_certified(process) && story.lives > 0 {
                    steps.push(Step::Certify { holder, voter });
                }
                if process.runs {
                    steps.push(Step::Promise { holder, voter });
                    if story.tells {
                        steps.push(Step::Tell { holder, voter });
                    }
                }
            }
            if !process.runs && process.works {
                steps.push(Step::JobEnds(holder));
            }
            if process.runs {
                let done = world.sent.iter().enumerate().filter(|(_, sent)| sent.done);
                steps.extend(done.map(|(table, _)| Step::Learn { holder, table }));
                if story.releases && process.acts().is_some() {
                    steps.push(Step::Release { holder });
                }
                if world.holders.len() < 2 + story.lives {
                    steps.push(Step::RestartHolder(holder));
                }
                if world.announced > 0 {
                    steps.push(Step::HolderTakesList(holder));
                }
            }
        }
        for voter in all_voters {
            if world.faults < story.restarts {
                steps.push(Step::RestartVoter(voter));
            }
            if world.faults < story.losses {
                steps.push(Step::LoseDisk(voter));
            }
            if world.faults > 0 {
                steps.push(Step::Recover(voter));
            }
            if world.announced > 0 {
                steps.push(Step::VoterTakesList(voter));
            }
        }
        steps
    }

    /// The world after this step; none if it cannot be taken.
    pub fn take(self, world: &World) -> Option<World> {
        let mut after = world.clone();
        self.apply(&mut after).then_some(after)
    }

    fn apply(self, world: &mut World) -> bool {
        match self {
            Step::Read { voters, list } => return read(world, voters, list),
            Step::Propose { of, deed } => {
                let Some(changes) = changes(world, of, deed) else { return false };
                let refused = world.coordinators[of].change(|one| one.propose(changes));
                world.send_open(of);
                return refused.is_empty();
            }
            Step::Withdraw { of } => {
                world.coordinators[of].change(TableCoordinator::withdraw);
                world.send_open(of);
            }
            Step::Store { table, voter } => {
                let sent = world.sent[table].table.clone();
                let list = world.lists[world.voters[voter].list].version();
                let answer = world.voters[voter].change(|one| one.voter.store(&sent, list));
                if answer == StoreAnswer::Stored {
                    world.sent[table].change(|sent| sent.stored.insert(voter));
                    if !world.late {
                        world.learn_stored(table, voter);
                    }
                }
            }
            Step::Stored { table, voter } => world.learn_stored(table, voter),
            Step::Done { table, voter } => {
                let version = world.sent[table].table.version();
                world.voters[voter].change(|one| one.voter.learn_done(version));
            }
            Step::Learn { holder, table } => {
                let done = world.sent[table].table.clone();
                world.holders[holder].change(|one| one.holder.learn(&done));
            }
            Step::Tell { holder, voter } => {
                let Some(done) = world.voters[voter].voter.done_table().cloned() else {
                    return false;
                };
                world.holders[holder].change(|one| one.holder.learn(&done));
            }
            Step::Promise { holder, voter } => promise(world, holder, voter),
            Step::Uncount { holder, voter } => {
                world.holders[holder].change(|one| one.holder.uncount(id(voter)));
            }
            Step::Over { holder, voter } => {
                let life = world.holders[holder].holder.life();
                world.voters[voter].change(|one| one.voter.free(life));
            }
            Step::Release { holder } => {
                let token = world.holders[holder].change(|one| one.holder.release(&name()));
                world.released.extend(token);
            }
            _ => return self.harm(world),
        }
        true
    }

    /// What comes seldom.
    fn harm(self, world: &mut World) -> bool {
        match self {
            Step::RestartVoter(voter) => {
                world.faults += 1;
                world.voters[voter].change(|one| {
                    one.voter = TableVoter::new(NOW, one.voter.kept().clone(), TIMING.lease);
                });
            }
            Step::LoseDisk(voter) => {
                world.faults += 1;
                let kept = KeptTable::lost(Epoch(world.coordinators.len() as u64));
                world.voters[voter]
                    .change(|one| one.voter = TableVoter::new(NOW, kept, TIMING.lease));
            }
            Step::Recover(voter) => {
                if world.holders.iter().any(|one| one.counts(id(voter))) {
                    return false;
                }
                world.voters[voter].change(|one| one.voter.recovered());
            }
            Step::RestartHolder(holder) => {
                let mut life = world.holders[holder].holder.life();
                life.incarnation = life.incarnation.next();
                let list = world.holders[holder].holder.list().clone();
                world.holders[holder].change(|one| one.runs = false);
                let holder = LockHolder::new(life, list);
                world.holders.push(Part::new(HolderProcess { holder, runs: true, works: true }));
            }
            Step::JobEnds(holder) => world.holders[holder].change(|one| one.works = false),
            Step::Certify { holder, voter } => {
                let life = world.holders[holder].holder.life();
                world.voters[voter].change(|one| one.voter.free(life));
            }
            Step::ChangeList(of) => return change_list(world, of),
            Step::VoterTakesList(voter) => {
                let list = world.voters[voter].list + 1;
                if list > world.announced {
                    return false;
                }
                world.voters[voter].change(|one| one.list = list);
            }
            Step::HolderTakesList(holder) => {
                let announced = world.lists[world.announced].clone();
                if announced.get(world.holders[holder].holder.life().member).is_none() {
                    return false; // it was removed, and nobody sends it anything
                }
                world.holders[holder].change(|one| one.holder.adopt_list(announced));
            }
            _ => return false,
        }
        true
    }
}

/// Whether there is a certificate of its death. (Z6)
fn is_certified(process: &HolderProcess) -> bool {
    !process.runs && (!process.works || Fault::CertificateEarly.is_planted())
}

fn coordinate(story: &Story, world: &World, steps: &mut Vec<Step>) {
    if world.coordinators.len() < story.epochs {
        for list in 0..=world.announced {
            let all = 0..1_u32 << world.voters.len();
            steps.extend(all.map(|voters| Step::Read { voters, list }));
        }
    }
    for (of, coordinator) in world.coordinators.iter().enumerate() {
        if world.sent.len() < story.tables {
            if coordinator.is_ready() {
                let to = (0..world.holders.len()).filter(|at| world.holders[*at].runs);
                let given = to.flat_map(|at| [Deed::Give(at), Deed::Take(at), Deed::Move(at)]);
                let deeds = [Deed::Stamp, Deed::Free].into_iter().chain(given);
                steps.extend(deeds.map(|deed| Step::Propose { of, deed }));
            } else if story.withdraws {
                steps.push(Step::Withdraw { of });
            }
            steps.push(Step::ChangeList(of));
        }
    }
}

/// The members of a majority vote for a coordinator, or all do, and it reads their tables. Their reports come late: by
/// then they have promised nothing.
fn read(world: &mut World, voters: u32, list: usize) -> bool {
    let list = world.lists[list].clone();
    let among = |at: &usize| voters & (1 << at) != 0;
    let read: Vec<usize> = (0..world.voters.len()).filter(among).collect();
    let votes = |at: &usize| list.is_voter(id(*at));
    let sizes = [list.majority(), list.voters().count()];
    if !read.iter().all(votes) || !sizes.contains(&read.len()) {
        return false;
    }
    let epoch = Epoch(world.coordinators.len() as u64 + 1);
    let mut coordinator = TableCoordinator::new(epoch, list.clone());
    for at in read {
        let own = world.lists[world.voters[at].list].version();
        let ask = |one: &mut VoterProcess| one.voter.read(epoch, list.version(), own);
        let Some(mut read) = world.voters[at].change(ask) else { return false };
        read.promises = PromiseReport::default();
        coordinator.read(id(at), read);
    }
    world.coordinators.push(Part::new(coordinator));
    true
}

/// The changes that make this of the name; none if it is not so that they can be made.
fn changes(world: &World, of: usize, deed: Deed) -> Option<Vec<TableChange>> {
    let base = world.coordinators[of].base()?;
    let held = base.get(&name());
    let life = |at: usize| world.holders[at].holder.life();
    let take = |at: usize| TableChange::Take { name: name(), by: life(at) };
    let released = held.filter(|hold| world.released.contains(&hold.token));
    match deed {
        Deed::Stamp => Some(Vec::new()),
        Deed::Give(to) => {
            let Some(hold) = held else { return Some(vec![take(to)]) };
            let certified =
                world.holders.iter().any(|one| one.holder.life() == hold.by && is_certified(one));
            certified.then(|| vec![TableChange::Bury(hold.by), take(to)])
        }
        Deed::Take(to) => held.map(|hold| vec![TableChange::Strip(hold.by), take(to)]),
        Deed::Free => {
            released.map(|hold| vec![TableChange::Release { name: name(), token: hold.token }])
        }
        Deed::Move(to) => released
            .map(|hold| vec![TableChange::Move { name: name(), token: hold.token, to: life(to) }]),
    }
}

/// A voter promises a holder. The caller counts that at once: later it would be weaker.
fn promise(world: &mut World, holder: usize, voter: usize) {
    let list = &world.lists[world.voters[voter].list].clone();
    let (life, known) = (world.holders[holder].holder.life(), world.holders[holder].holder.known());
    let ask = |one: &mut VoterProcess| one.voter.promise(list, life, known, NOW + TIMING.lease);
    if world.voters[voter].change(ask) {
        world.holders[holder]
            .change(|one| one.holder.count(id(voter), list.version(), NOW, TIMING.lease));
    }
}

/// A coordinator makes the next list, once what the voters of its list promised by an earlier one is over.
fn change_list(world: &mut World, of: usize) -> bool {
    let coordinator = &world.coordinators[of];
    let present = coordinator.list().version();
    let next = usize::try_from(present.counter).expect("few") + 1;
    let older = world.holders.iter().any(|one| {
        let mut counted = one.holder.counted();
        counted.any(|(list, voter)| {
            list < present && world.lists[world.voters[place(voter)].list].version() >= present
        })
    });
    if next >= world.lists.len() || older || !coordinator.may_change_list(NOW, Duration::ZERO) {
        return false;
    }
    world.announced = world.announced.max(next);
    let list = world.lists[next].clone();
    world.coordinators[of].change(|one| {
        one.change_list(list.clone());
        list.voters().for_each(|voter| one.report(voter, PromiseReport::default()));
    });
    world.send_open(of);
    true
}
