//! Three members with names, and every word arrives at once.

use std::collections::BTreeMap;

use super::*;
use crate::core::locks::periods::WallTime;
use crate::core::locks::rules::LockRules;
use crate::core::locks::table::LockTable;
use crate::core::locks::tests::{id, name, three};
use crate::core::locks::word::LockWant;
use crate::core::settings::Timing;
use crate::core::types::{Incarnation, Version};

const MS: Duration = Duration::from_millis(1);

/// The voters 1 to 3, of which some are down, and the leader that the others name.
struct Cluster {
    now: Time,
    leader: (NodeId, Epoch),
    members: BTreeMap<NodeId, LockMember>,
    elect: Vec<NodeId>,
    over: Vec<Life>,
    /// Two members whose link is cut.
    cut: Option<(NodeId, NodeId)>,
    reserved: Epoch,
    /// How often a member said all that it wants, and was heard.
    wholes: usize,
}

impl Cluster {
    fn new(kept: [KeptTable; 3]) -> Cluster {
        let leader = (id(1), Epoch(1));
        let (members, elect, over) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (now, cut, reserved, wholes) = (Time(0), None, Epoch(16), 0);
        let mut cluster = Cluster { now, leader, members, elect, over, cut, reserved, wholes };
        for (number, kept) in (1..).zip(kept) {
            let life = Life { member: id(number), incarnation: Incarnation(1) };
            let view = cluster.view();
            let mut member = LockMember::new(&view, life, kept, view.timing.lease);
            let want = |text: &str| (name(text), LockWant { weight: 1, prefer: 0 });
            member.want(&view, ["x", "y", "z"].map(want).into());
            cluster.members.insert(life.member, member);
        }
        cluster
    }

    fn view(&self) -> ElectionView {
        let timing =
            Timing { heartbeat: MS * 100, failure: MS * 500, message: MS * 50, lease: MS * 400 };
        let (leader, told) = (Some(self.leader), Some(Epoch(0)));
        let over = self.over.clone();
        let (list, now, reserved) = (three(), self.now, self.reserved);
        let wall = WallTime(self.now.0 / 1_000_000);
        ElectionView { now, list, leader, told, reserved, timing, over, wall }
    }

    /// Each is called at once, and again every 10 ms until then.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let mut inputs: VecDeque<(NodeId, LockInput)> =
                self.members.keys().map(|id| (*id, LockInput::Tick)).collect();
            let view = self.view();
            while let Some((to, input)) = inputs.pop_front() {
                let Some(member) = self.members.get_mut(&to) else { continue };
                let mut out = Vec::new();
                member.take(&view, input, &mut out);
                for output in out {
                    match output {
                        LockOutput::Say { to: whom, .. }
                            if self.cut == Some((to, whom)) || self.cut == Some((whom, to)) => {}
                        LockOutput::Say { to: whom, word } => {
                            let is_whole = matches!(word, LockWord::Want { wants: Some(_), .. });
                            self.wholes += usize::from(is_whole);
                            inputs.push_back((whom, LockInput::Word { from: to, word }));
                        }
                        LockOutput::Keep { number, .. } => {
                            inputs.push_back((to, LockInput::Kept { number }));
                        }
                        LockOutput::Elect => self.elect.push(to),
                    }
                }
            }
            self.now = self.now + MS * 10;
        }
    }

    /// How many names each member may act under.
    fn acting(&self) -> Vec<usize> {
        let names = ["x", "y", "z"].map(name);
        let acts = |member: &LockMember| {
            names.iter().filter(|name| member.holder().token(name, self.now).is_some()).count()
        };
        self.members.values().map(acts).collect()
    }
}

#[test]
fn names_are_spread_and_those_of_a_dead_member_move_once_nobody_is_bound_to_it() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.run(MS * 200);
    assert_eq!(cluster.acting(), [1, 1, 1]);
    cluster.members.remove(&id(3));
    cluster.run(MS * 390);
    assert_eq!(cluster.acting(), [1, 1], "it may still act");
    cluster.run(MS * 300);
    assert_eq!(cluster.acting().into_iter().sum::<usize>(), 3);
    cluster.members.remove(&id(1));
    cluster.leader = (id(2), Epoch(2));
    cluster.run(MS * 2000);
    assert_eq!(cluster.acting(), [0], "one of three voters");
}

/// Nobody could forget a name that only a dead or a removed member wanted.
#[test]
fn a_member_that_is_gone_wants_nothing_any_more() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.run(MS * 200);
    let who_wants = |cluster: &Cluster| {
        let wishes = cluster.members[&id(1)].wishes(&cluster.view());
        wishes.into_iter().map(|(member, _)| member).collect::<Vec<_>>()
    };
    assert_eq!(who_wants(&cluster), [id(1), id(2), id(3)]);
    cluster.members.remove(&id(3));
    cluster.run(MS * 700);
    assert_eq!(who_wants(&cluster), [id(1), id(2)]);
}

/// Rule G7.
#[test]
fn the_names_of_a_certified_life_move_at_once() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    // What the dead held makes room for others to hold it: no more names than these may be held.
    let rules = Arc::new(LockRules { most: 3, ..LockRules::default() });
    cluster.members.values_mut().for_each(|member| member.set_rules(rules.clone()));
    cluster.run(MS * 200);
    let before = cluster.members[&id(1)].holder().known();
    let dead = cluster.members.remove(&id(3)).expect("it lived");
    cluster.over.push(dead.life());
    cluster.run(MS * 20);
    assert_eq!(cluster.acting().into_iter().sum::<usize>(), 3);
    let after = cluster.members[&id(1)].holder().known();
    assert_eq!(after.counter, before.counter + 1, "one table");
}

#[test]
fn what_a_member_gives_back_goes_to_another_that_wants_it_at_once() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.run(MS * 200);
    let view = cluster.view();
    let member = cluster.members.get_mut(&id(2)).expect("it lives");
    for text in ["x", "y", "z"] {
        member.release(&view, &name(text));
    }
    member.want(&view, LockWants::new());
    cluster.run(MS * 110);
    let acting = cluster.acting();
    assert_eq!((acting[1], acting[0] + acting[2]), (0, 3));
}

/// Rule G6: the coordinator lacks a table of a majority, and a voter that it needs shows itself to a later one alone.
#[test]
fn a_coordinator_that_needs_a_voter_with_an_empty_disk_has_itself_elected_anew() {
    let table = LockTable::default()
        .changed(crate::core::types::Version { epoch: Epoch(1), counter: 1 }, &three(), Vec::new())
        .table;
    let kept = KeptTable { table: Some(Arc::new(table)), promised: Epoch(1) };
    let lost = || KeptTable::lost(Epoch(1));
    let mut cluster = Cluster::new([kept, lost(), lost()]);
    cluster.run(MS * 500);
    assert_eq!((cluster.acting(), &cluster.elect[..]), (vec![0, 0, 0], &[id(1)][..]));
    cluster.leader = (id(1), Epoch(2));
    cluster.run(MS * 600);
    assert_eq!(cluster.acting(), [1, 1, 1]);
}

/// Rule G6: no member ever led before these voters were told of each other, so an empty disk has lost nothing.
#[test]
fn the_first_lock_of_a_cluster_needs_a_majority_alone() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.members.remove(&id(3));
    cluster.run(MS * 300);
    assert_eq!(cluster.acting().into_iter().sum::<usize>(), 3);
}

/// Rule G6: else a voter that loses its table alone does not know how late that was.
#[test]
fn no_voter_stores_a_table_of_an_epoch_that_the_election_might_forget() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.reserved = Epoch(0);
    cluster.run(MS * 300);
    assert!(cluster.members.values().all(|it| it.voter.kept().promised == Epoch(0)));
    cluster.reserved = Epoch(1);
    cluster.run(MS * 300);
    assert_eq!(cluster.acting(), [1, 1, 1]);
}

#[test]
fn what_a_holder_gives_back_that_the_coordinator_cannot_reach_comes_by_the_voters() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.run(MS * 200);
    cluster.cut = Some((id(1), id(3)));
    cluster.run(MS * 2000);
    assert_eq!(cluster.acting(), [1, 1, 1], "the voters support it");
    let view = cluster.view();
    let member = cluster.members.get_mut(&id(3)).expect("it lives");
    let held = member.holder().held().next().map(|(name, _)| name.clone()).expect("one");
    member.release(&view, &held);
    member.want(&view, LockWants::new());
    cluster.run(MS * 300);
    let acting = cluster.acting();
    assert_eq!((acting[0] + acting[1], acting[2]), (3, 0));
}

/// Rule G9.
#[test]
fn a_leader_that_knows_of_no_lock_changes_the_voters_once_a_majority_knows_of_none() {
    let without_wants = |kept: [KeptTable; 3]| {
        let mut cluster = Cluster::new(kept);
        let view = cluster.view();
        cluster.members.values_mut().for_each(|member| member.want(&view, LockWants::new()));
        cluster
    };
    let state = |cluster: &Cluster| {
        let leader = &cluster.members[&id(1)];
        (leader.is_idle(), leader.may_change_list(cluster.now))
    };
    // Voters that nobody ever asked about locks, and that do not show themselves to this epoch.
    let mut fresh = without_wants([(); 3].map(|()| KeptTable::lost(Epoch(1))));
    assert_eq!(state(&fresh), (true, false));
    fresh.members.remove(&id(3));
    fresh.run(MS * 10);
    assert_eq!((state(&fresh), fresh.elect.is_empty()), ((true, true), true));
    // Nothing is proposed, which a newcomer might not store: the next change would wait for that.
    let mut first = without_wants([(); 3].map(|()| KeptTable::default()));
    first.run(MS * 200);
    assert_eq!(state(&first), (true, true));
    let version = |member: &LockMember| member.voter.kept().table.as_ref().map(|it| it.version());
    assert!(first.members.values().all(|member| version(member) == Some(Version::default())));

    let mut before = Cluster::new([(); 3].map(|()| KeptTable::default()));
    before.run(MS * 200);
    let kept = |number| before.members[&id(number)].voter.kept().clone();
    let mut missed = without_wants([KeptTable::default(), kept(2), kept(3)]);
    missed.leader = (id(1), Epoch(2));
    assert_eq!(state(&missed), (true, false));
    missed.run(MS * 10);
    assert_eq!(state(&missed), (false, false), "promises may run by tables that it has just read");
    missed.run(MS * 410);
    assert_eq!(state(&missed), (false, true));
}

#[test]
fn all_that_a_member_wants_is_said_once_and_again_if_it_did_not_arrive() {
    let mut cluster = Cluster::new([(); 3].map(|()| KeptTable::default()));
    cluster.run(MS * 200);
    assert_eq!(cluster.wholes, 2);
    cluster.run(MS * 2000);
    assert_eq!(cluster.wholes, 2);
    cluster.cut = Some((id(1), id(3)));
    let view = cluster.view();
    let wants: LockWants = [(name("z"), LockWant { weight: 1, prefer: 0 })].into();
    cluster.members.get_mut(&id(3)).expect("it lives").want(&view, wants.clone());
    cluster.run(MS * 110);
    cluster.cut = None;
    cluster.run(MS * 300);
    assert_eq!(cluster.wholes, 3);
    let wishes = cluster.members[&id(1)].wishes(&cluster.view());
    assert_eq!(wishes.last().map(|(id, wants)| (*id, (**wants).clone())), Some((id(3), wants)));
}
