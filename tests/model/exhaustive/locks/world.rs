//! A small world of locks: coordinators, voters and holders, of which each is the real code, and what was sent between them.
//!
//! A promise has no time here. It ends by a step of its own, which comes at any moment after its holder has ceased to count
//! it: the clocks of the two differ by less than the part of a promise that a holder does not rely on.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use electd_election::core::locks::coordinator::TableCoordinator;
use electd_election::core::locks::holder::LockHolder;
use electd_election::core::locks::table::{Life, LockName, LockTable, TableChange};
use electd_election::core::locks::voter::{KeptTable, TableVoter};
use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::types::{Epoch, Incarnation, NodeId, Role, Time, Version};
use uuid::Uuid;

use super::super::book::fingerprint;
use super::super::process::{TIMING, id};
use super::super::search::Searched;
use super::step::Step;
use super::story::Story;

/// It never passes.
pub const NOW: Time = Time(0);

/// The two members that hold names; the voters are numbered from 0 on.
pub const HOLDERS: usize = 2;

/// The member that may hold the name, A or B.
pub fn holder_id(place: usize) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_00a0 + place as u128))
}

/// The only name.
pub fn name() -> LockName {
    LockName::new("x").expect("it is one")
}

/// The list of these voters and holders, at this place of the story.
pub fn list(place: usize, voters: &[usize], holders: &[usize]) -> Arc<MemberList> {
    let member = |id: NodeId, role| Member {
        id,
        name: format!("{}", id.0.as_u128() & 0xff),
        address: String::new(),
        admin: None,
        role,
    };
    let voters = voters.iter().map(|at| member(id(*at), Role::Witness));
    let members: Vec<Member> =
        voters.chain(holders.iter().map(|at| member(holder_id(*at), Role::Observer))).collect();
    let there: BTreeSet<NodeId> = members.iter().map(|member| member.id).collect();
    let removed = (0..HOLDERS).map(holder_id).filter(|id| !there.contains(id)).collect();
    let version = ListVersion { epoch: Epoch(0), counter: place as u64 };
    Arc::new(MemberList::new(version, members).with_removed(removed))
}

/// A part of a world, hashed once.
#[derive(Clone)]
pub struct Part<T>(u64, Rc<T>);

impl<T: Hash> Part<T> {
    pub fn new(value: T) -> Part<T> {
        Part(fingerprint(&value), Rc::new(value))
    }
}

impl<T: Hash + Clone> Part<T> {
    /// Changes it.
    pub fn change<R>(&mut self, by: impl FnOnce(&mut T) -> R) -> R {
        let mut value = T::clone(&self.1);
        let result = by(&mut value);
        *self = Part::new(value);
        result
    }
}

impl<T> Hash for Part<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.1
    }
}

#[derive(Clone, Hash)]
pub struct VoterProcess {
    pub voter: TableVoter,
    /// Its list, by the place in the story.
    pub list: usize,
}

#[derive(Clone, Hash)]
pub struct HolderProcess {
    pub holder: LockHolder,
    /// Whether the process runs.
    pub runs: bool,
    /// Whether its job does: it outlives the process until its guard ends it, when the support is over.
    pub works: bool,
}

impl HolderProcess {
    /// The token under which it acts.
    pub fn acts(&self) -> Option<u64> {
        self.holder.token(&name(), NOW).filter(|_| self.works)
    }

    pub fn counts(&self, voter: NodeId) -> bool {
        self.holder.counted().any(|(_, counted)| counted == voter)
    }
}

/// A table that was sent to the voters.
#[derive(Clone, Hash)]
pub struct SentTable {
    pub table: Arc<LockTable>,
    /// The voters that have stored it, and sent that.
    pub stored: BTreeSet<usize>,
    /// Whether its coordinator has said that it is done.
    pub done: bool,
}

impl Searched for World {
    type Shared = Story;
    type Step = Step;

    fn steps(&self, story: &Story) -> Vec<Step> {
        Step::all(story, self)
    }

    fn after(&self, _: &mut Story, step: Step) -> Result<Option<World>, String> {
        let after = step.take(self).filter(|after| fingerprint(after) != fingerprint(self));
        after.map(|mut after| after.check().map(|()| after)).transpose()
    }

    fn kind(&self, _: &Story, step: Step) -> &'static str {
        step.into()
    }

    fn sentence(&self, _: &Story, step: Step) -> String {
        step.sentence(self)
    }
}

#[derive(Clone, Hash)]
pub struct World {
    /// One after the other; the later ones are not made yet.
    pub lists: Part<Vec<Arc<MemberList>>>,
    pub voters: Vec<Part<VoterProcess>>,
    pub holders: Vec<Part<HolderProcess>>,
    /// The one of epoch 1 first.
    pub coordinators: Vec<Part<TableCoordinator>>,
    pub sent: Vec<Part<SentTable>>,
    /// What holders gave back, and sent.
    pub released: BTreeSet<u64>,
    /// Whether a coordinator learns later what a voter stored.
    pub late: bool,
    /// The last list that was made.
    pub announced: usize,
    /// The greatest token under which anybody ever acted.
    acted: u64,
    pub faults: usize,
}

impl World {
    /// All voters have one table, by which A holds the name and which A and B know to be done, or nobody has any; nobody
    /// promised anything.
    pub fn begin(story: &Story) -> World {
        let lists = story.lists();
        let first = lists[0].clone();
        let version = Version { epoch: Epoch(0), counter: 1 };
        let life = |at| Life { member: holder_id(at), incarnation: Incarnation(1) };
        let take = TableChange::Take { name: name(), by: life(0) };
        let table = Arc::new(LockTable::default().changed(version, &first, vec![take]).table);
        let voters = (0..story.voters).map(|place| {
            let list = lists.iter().position(|list| list.is_voter(id(place)));
            let list = list.expect("each voter is in a list");
            let has = list == 0 && !story.begins;
            let kept = KeptTable { table: has.then(|| table.clone()), promised: Epoch(0) };
            let mut voter = TableVoter::new(NOW, kept, TIMING.lease);
            voter.recovered();
            Part::new(VoterProcess { voter, list })
        });
        let voters = voters.collect();
        let holders = (0..HOLDERS).map(|place| {
            let mut holder = LockHolder::new(life(place), first.clone());
            if !story.begins {
                holder.learn(&table);
            }
            Part::new(HolderProcess { holder, runs: true, works: true })
        });
        let mut world = World {
            voters,
            holders: holders.collect(),
            lists: Part::new(lists),
            coordinators: Vec::new(),
            sent: Vec::new(),
            released: BTreeSet::new(),
            announced: 0,
            late: story.learns_late(),
            acted: 0,
            faults: 0,
        };
        for step in story.before {
            world = step.take(&world).expect("it may come");
        }
        world.check().expect("it begins well");
        world
    }

    /// What a coordinator asks the voters to store is on its way from now on.
    pub fn send_open(&mut self, of: usize) {
        let Some(table) = self.coordinators[of].open().cloned() else { return };
        let place = self.sent.binary_search_by_key(&table.version(), |sent| sent.table.version());
        if let Err(at) = place {
            let sent = SentTable { table, stored: BTreeSet::new(), done: false };
            self.sent.insert(at, Part::new(sent));
        }
    }

    /// The coordinator of a table learns that a voter stored it.
    pub fn learn_stored(&mut self, table: usize, voter: usize) {
        let version = self.sent[table].table.version();
        let of = usize::try_from(version.epoch.0).expect("few") - 1;
        let stored = |one: &mut TableCoordinator| one.stored(NOW, id(voter), version);
        let done = self.coordinators[of].change(stored).map(|done| done.version());
        for sent in self.sent.iter_mut().filter(|sent| Some(sent.table.version()) == done) {
            sent.change(|sent| sent.done = true);
        }
    }

    /// At most one member acts under the name, and no token after a greater one.
    pub fn check(&mut self) -> Result<(), String> {
        let mut acting = self.holders.iter().filter_map(|holder| holder.acts());
        let Some(token) = acting.next() else { return Ok(()) };
        if let Some(other) = acting.next() {
            return Err(format!("two members act at once, by tokens {token} and {other}"));
        }
        if token < self.acted {
            return Err(format!("token {token} acts after token {}", self.acted));
        }
        self.acted = token;
        Ok(())
    }
}
