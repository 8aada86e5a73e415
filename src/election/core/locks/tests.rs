//! The voter, the holder and the coordinator, one rule each. That no two members act at once, the exhaustive
//! search shows (tests/model/exhaustive/locks).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::coordinator::TableCoordinator;
use super::holder::LockHolder;
use super::table::{ChangeRefusal, Life, LockName, LockTable, TableChange};
use super::voter::{KeptTable, PromiseReport, StoreAnswer, TableRead, TableVoter};
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::types::{Epoch, Incarnation, NodeId, Role, Time, Version};

const LONGEST: Duration = Duration::from_nanos(1100);

pub(super) fn id(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(number))
}

/// The first life of a member.
pub(super) fn life(number: u128) -> Life {
    Life { member: id(number), incarnation: Incarnation(1) }
}

pub(super) fn name(text: &str) -> LockName {
    LockName::new(text).expect("it is one")
}

pub(super) fn version(epoch: u64, counter: u64) -> Version {
    Version { epoch: Epoch(epoch), counter }
}

/// A list of these voters; 11 and 12 are members that do not vote.
fn list(counter: u64, voters: &[u128]) -> Arc<MemberList> {
    let member = |number: u128, role| Member {
        id: id(number),
        name: format!("node-{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role,
    };
    let voting = voters.iter().map(|number| member(*number, Role::Member));
    let all = voting.chain([11, 12].map(|number| member(number, Role::Observer)));
    let version = ListVersion { epoch: Epoch(0), counter };
    Arc::new(MemberList::new(version, all.collect()))
}

pub(super) fn three() -> Arc<MemberList> {
    list(1, &[1, 2, 3])
}

pub(super) fn take(text: &str, by: u128) -> TableChange {
    TableChange::Take { name: name(text), by: life(by) }
}

pub(super) fn first(changes: Vec<TableChange>) -> Arc<LockTable> {
    Arc::new(LockTable::default().changed(version(1, 1), &three(), changes).table)
}

/// The next table of epoch 1.
pub(super) fn next(table: &LockTable, changes: Vec<TableChange>) -> Arc<LockTable> {
    let version = table.version().next(Epoch(1));
    Arc::new(table.changed(version, &three(), changes).table)
}

/// A voter that has this table, and has run for long.
fn voter(table: &Arc<LockTable>) -> TableVoter {
    let kept = KeptTable { table: Some(table.clone()), promised: table.version().epoch };
    let mut voter = TableVoter::new(Time(0), kept, LONGEST);
    voter.end_promises(Time(0) + LONGEST);
    voter
}

fn read(table: &Arc<LockTable>) -> TableRead {
    TableRead { table: Some(table.clone()), promises: PromiseReport::default() }
}

/// A coordinator of epoch 2 that has read this table from voters 1 and 2.
fn coordinator(table: &Arc<LockTable>) -> TableCoordinator {
    let mut coordinator = TableCoordinator::new(Epoch(2), three());
    coordinator.read(id(1), read(table));
    assert!(!coordinator.is_ready(), "one of three is no majority");
    coordinator.read(id(2), read(table));
    assert!(coordinator.is_ready());
    coordinator
}

/// Voters 1 and 2 store what it proposes.
fn done(coordinator: &mut TableCoordinator, now: Time) -> Arc<LockTable> {
    let version = coordinator.open().expect("it proposed").version();
    assert_eq!(coordinator.stored(now, id(1), version), None);
    coordinator.stored(now, id(2), version).expect("a majority has stored it")
}

/// Rule G4.
#[test]
fn a_voter_stores_nothing_that_takes_from_a_member_that_it_supports() {
    let table = first(vec![take("a", 11)]);
    let mut voter = voter(&table);
    assert!(voter.promise(&three(), life(11), table.version(), Time(5000)));
    let other = next(&table, vec![take("b", 12)]);
    assert_eq!(voter.store(&other, three().version()), StoreAnswer::Stored);
    let taken = next(&other, vec![TableChange::Strip(life(11)), take("a", 12)]);
    let report = voter.report();
    assert!(report.is_bound_to(life(11)) && !report.is_bound_to(life(12)));
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Wait(report));

    // It prolongs nothing that it waits for, unless the member knows.
    assert!(!voter.promise(&three(), life(11), other.version(), Time(6000)));
    assert!(voter.promise(&three(), life(12), other.version(), Time(6000)));
    assert_eq!(voter.deadline(), Some(Time(5000)));
    voter.end_promises(Time(4999));
    assert_ne!(voter.store(&taken, three().version()), StoreAnswer::Stored);
    voter.end_promises(Time(5000));
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Stored);
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Stored, "the answer was lost");
    assert_eq!(voter.store(&other, three().version()), StoreAnswer::Outdated);
}

/// Rule G4: a voter that missed some tables catches up while it supports a member that knows them.
#[test]
fn a_promise_to_a_member_that_knows_of_a_loss_does_not_keep_a_voter_back() {
    let table = first(vec![take("a", 11), take("b", 11)]);
    let mut voter = voter(&table);
    let taken = next(&table, vec![TableChange::Strip(life(11)), take("a", 12)]);
    assert!(voter.promise(&three(), life(11), taken.version(), Time(5000)));
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Stored);
}

/// Rule G5.
#[test]
fn a_voter_supports_nobody_who_does_not_know_what_was_taken_from_it() {
    let table = first(vec![take("a", 11)]);
    let taken = next(&table, vec![TableChange::Strip(life(11)), take("a", 12)]);
    let mut voter = voter(&taken);
    assert!(!voter.promise(&three(), life(11), table.version(), Time(5000)));
    assert!(voter.promise(&three(), life(11), taken.version(), Time(5000)));
    let stranger = Life { member: id(99), ..life(11) };
    assert!(!voter.promise(&three(), stranger, taken.version(), Time(5000)));
}

/// Rule G6.
#[test]
fn a_restarted_voter_takes_nothing_from_anybody_for_the_longest_promise() {
    let table = first(vec![take("a", 11)]);
    let kept = voter(&table).kept().clone();
    let mut voter = TableVoter::new(Time(100), kept, LONGEST);
    assert!(voter.report().is_bound_to(life(12)));
    let taken = next(&table, vec![TableChange::Strip(life(11))]);
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Wait(voter.report()));
    let other = next(&table, vec![take("b", 12)]);
    assert_eq!(voter.store(&other, three().version()), StoreAnswer::Stored);
    voter.end_promises(Time(100) + LONGEST);
    let taken = next(&taken, Vec::new());
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Stored);
}

/// Rule G6.
#[test]
fn a_voter_without_a_table_supports_nobody_and_counts_in_no_reading() {
    let table = first(vec![take("a", 11)]);
    let mut lost = TableVoter::new(Time(0), KeptTable::default(), LONGEST);
    assert!(!lost.promise(&three(), life(11), table.version(), Time(5000)));

    let mut coordinator = TableCoordinator::new(Epoch(2), three());
    let list = three().version();
    coordinator.read(id(1), lost.read(Epoch(2), list, list).expect("it knows no later epoch"));
    coordinator.read(id(2), read(&table));
    assert!(!coordinator.is_ready());
    coordinator.read(id(3), read(&table));
    assert!(coordinator.is_ready());
}

/// Rule G6: the first table, and what its coordinator leaves behind that dies early.
#[test]
fn voters_without_a_table_count_once_all_voters_were_read() {
    let table = first(vec![take("a", 11)]);
    let none = TableRead { table: None, promises: PromiseReport::default() };
    for (third, names) in [(none.clone(), 0), (read(&table), 1)] {
        let mut begins = TableCoordinator::new(Epoch(2), three());
        [1, 2].into_iter().for_each(|voter| begins.read(id(voter), none.clone()));
        assert!(!begins.is_ready(), "the third may have a table that was done");
        begins.read(id(3), third);
        assert!(begins.is_ready());
        assert_eq!(begins.base().map(|base| base.iter().len()), Some(names));
    }
}

/// Rule G6.
#[test]
fn a_voter_that_lost_its_disk_stores_nothing_of_an_epoch_that_it_may_have_stored_in() {
    let (table, own) = (first(vec![take("a", 11)]), three().version());
    let mut lost = TableVoter::new(Time(0), KeptTable::lost(Epoch(1)), LONGEST);
    assert_eq!(lost.store(&table, own), StoreAnswer::Outdated);
    lost.end_promises(Time(0) + LONGEST);
    let later = table.changed(version(2, 2), &three(), Vec::new()).table;
    assert_eq!(lost.store(&Arc::new(later), own), StoreAnswer::Stored);
}

/// Rule G2.
#[test]
fn a_coordinator_adopts_the_newest_table_and_a_voter_that_was_read_stores_no_older_one() {
    let table = first(vec![take("a", 11)]);
    let newer = next(&table, vec![take("b", 12)]);
    let mut coordinator = TableCoordinator::new(Epoch(2), three());
    coordinator.read(id(99), read(&next(&newer, vec![take("c", 12)])));
    coordinator.read(id(1), read(&newer));
    coordinator.read(id(2), read(&table));
    assert_eq!(coordinator.done(), None, "it may not be done");
    assert_eq!(coordinator.propose(Vec::new()), []);
    let open = coordinator.open().expect("it proposed").clone();
    assert_eq!((open.version(), open.iter().len()), (version(2, 3), 2));
    assert_eq!(done(&mut coordinator, Time(0)), open);
    assert_eq!(coordinator.done(), Some(&open));

    let (mut voter, list) = (voter(&table), three().version());
    assert!(voter.read(Epoch(2), list, list).is_some());
    assert_eq!(voter.store(&newer, list), StoreAnswer::Outdated);
    assert_eq!(voter.read(Epoch(1), list, list), None);
    assert_eq!(voter.read(Epoch(3), ListVersion::default(), list), None, "an older list");
    assert_eq!(voter.store(&open, ListVersion::default()), StoreAnswer::OtherList);
    assert_eq!(voter.store(&open, list), StoreAnswer::Stored);
}

/// Rule G1.
#[test]
fn a_voter_hands_on_only_what_it_knows_to_be_done() {
    let table = first(Vec::new());
    let mut voter = voter(&table);
    voter.learn_done(version(9, 9));
    assert_eq!(voter.done_table(), None);
    voter.learn_done(table.version());
    assert_eq!(voter.done_table(), Some(&table));
    voter.store(&next(&table, Vec::new()), three().version());
    assert_eq!(voter.done_table(), None);
}

/// Rules G8 and G10.
#[test]
fn a_holder_acts_by_a_done_table_while_a_majority_supports_it() {
    let mut holder = LockHolder::new(life(11), three());
    let table = first(vec![take("a", 11), take("b", 12)]);
    let list = three().version();
    holder.count(id(1), list, Time(100), LONGEST);
    holder.count(id(2), list, Time(200), LONGEST);
    assert_eq!(holder.supported_until(), Time(1000), "9/11 of it, from when it asked");
    assert_eq!(holder.token(&name("a"), Time(500)), None, "no table is done yet");
    holder.learn(&table);
    assert_eq!(holder.token(&name("a"), Time(999)), Some(1));
    assert_eq!(holder.token(&name("a"), Time(1000)), None);
    assert_eq!(holder.token(&name("b"), Time(999)), None);
    holder.count(id(99), list, Time(900), LONGEST);
    holder.count(id(3), ListVersion::default(), Time(900), LONGEST);
    assert_eq!(holder.supported_until(), Time(1000), "a stranger, and another list");

    assert_eq!(holder.release(&name("b")), None);
    assert_eq!(holder.release(&name("a")), Some(1));
    assert_eq!((holder.token(&name("a"), Time(500)), holder.held().count()), (None, 0));
    holder.learn(&next(&table, Vec::new()));
    assert_eq!(holder.token(&name("a"), Time(500)), None, "never again under that token");
    let free =
        next(&next(&table, Vec::new()), vec![TableChange::Release { name: name("a"), token: 1 }]);
    holder.learn(&next(&free, vec![take("a", 11)]));
    assert_eq!(holder.token(&name("a"), Time(500)), Some(4));
    let second = Life { incarnation: Incarnation(2), ..life(11) };
    let mut again = LockHolder::new(second, three());
    again.learn(&table);
    assert_eq!(again.held().count(), 0, "what its earlier life held");
}

/// Rule G9.
#[test]
fn promises_by_the_list_before_count_until_they_end() {
    let mut holder = LockHolder::new(life(11), three());
    holder.count(id(1), three().version(), Time(100), LONGEST);
    holder.count(id(2), three().version(), Time(100), LONGEST);
    holder.adopt_list(list(2, &[1, 2, 3]));
    holder.count(id(3), three().version(), Time(500), LONGEST);
    holder.count(id(1), list(2, &[]).version(), Time(200), LONGEST);
    assert_eq!(holder.supported_until(), Time(1000), "the voters are the same");
    holder.adopt_list(list(3, &[2, 3]));
    assert_eq!(holder.supported_until(), Time(1000), "1 and 2, by the list before");
    holder.count(id(3), list(3, &[]).version(), Time(300), LONGEST);
    assert_eq!(holder.supported_until(), Time(1000));
    holder.count(id(2), list(3, &[]).version(), Time(400), LONGEST);
    assert_eq!(holder.supported_until(), Time(1200));
    holder.uncount(id(2));
    assert_eq!(holder.supported_until(), Time(0));
}

/// Rule G9.
#[test]
fn the_voters_change_once_a_majority_of_the_last_list_has_a_table_and_old_promises_are_over() {
    let mut coordinator = coordinator(&first(vec![take("a", 11)]));
    coordinator.propose(vec![take("b", 12)]);
    assert!(!coordinator.may_change_list(Time(1 << 40), LONGEST));
    let two = list(2, &[2, 3]);
    assert_eq!(coordinator.change_list(two.clone()), [], "nothing is lost");
    let open = coordinator.open().expect("it proposed anew").clone();
    assert_eq!((open.list(), open.iter().len()), (two.version(), 2));
    assert_eq!(coordinator.stored(Time(0), id(1), open.version()), None, "it votes no more");
    assert_eq!(coordinator.stored(Time(50), id(2), open.version()), None);
    assert!(coordinator.stored(Time(100), id(3), open.version()).is_some());
    assert!(!coordinator.may_change_list(Time(1199), LONGEST));
    assert!(coordinator.may_change_list(Time(1200), LONGEST));
}

/// Rule G11.
#[test]
fn a_coordinator_takes_nothing_from_a_member_that_voters_support_and_goes_on_without() {
    let mut coordinator = coordinator(&first(vec![take("a", 11)]));
    let bound = PromiseReport { to: BTreeSet::from([life(11)]), to_all: false };
    coordinator.report(id(1), bound.clone());
    let strip = TableChange::Strip(life(11));
    let refused = coordinator.propose(vec![strip.clone(), take("b", 12)]);
    assert_eq!(refused, [(strip.clone(), ChangeRefusal::Supported)]);
    let table = done(&mut coordinator, Time(0));
    assert_eq!(table.iter().len(), 2);

    coordinator.report(id(1), PromiseReport::default());
    assert_eq!(coordinator.propose(vec![strip.clone(), take("a", 12), take("c", 12)]), []);
    let taken = coordinator.open().expect("it proposed").version();
    assert_eq!(coordinator.wait(id(3), taken, bound.clone()), [], "the others may store it");
    assert_eq!(coordinator.stored(Time(0), id(1), taken), None);
    let waits = coordinator.wait(id(2), taken, bound);
    let expected = [(take("a", 12), ChangeRefusal::Held), (strip, ChangeRefusal::Supported)];
    assert_eq!(waits, expected);
    assert_eq!(coordinator.stored(Time(0), id(2), taken), None, "it was withdrawn");
    let table = done(&mut coordinator, Time(0));
    assert_eq!(table.get(&name("c")).map(|hold| hold.token), Some(4));
    assert_eq!(table.get(&name("a")).map(|hold| hold.by), Some(life(11)));
    assert!(!table.takes_from(life(11), Version::default()));
}

/// Rule G11: whoever asked for it has its answer.
#[test]
fn a_change_that_was_refused_is_never_made_later() {
    let mut coordinator = coordinator(&first(vec![take("a", 11)]));
    let (strip, stranger) = (TableChange::Strip(life(11)), take("b", 4));
    let refused = coordinator.propose(vec![strip.clone(), stranger.clone(), take("c", 12)]);
    assert_eq!(refused, [(stranger, ChangeRefusal::NoMember)]);
    assert_eq!(coordinator.withdraw(), [(strip, ChangeRefusal::Supported)]);
    assert_eq!(coordinator.change_list(list(2, &[1, 2, 4])), []);
    let table = done(&mut coordinator, Time(0));
    let held: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(held, ["a", "c"]);
}

/// Rule G11.
#[test]
fn only_a_voter_that_has_not_stored_a_table_keeps_it_waiting() {
    let mut coordinator = coordinator(&first(vec![take("a", 11)]));
    let none = PromiseReport::default;
    assert_eq!(coordinator.propose(vec![TableChange::Strip(life(11))]), []);
    let taken = coordinator.open().expect("it proposed").version();
    for voter in [98, 99, 1] {
        assert_eq!(coordinator.wait(id(voter), taken, none()), [], "two voters may store it");
    }
    assert_eq!(coordinator.stored(Time(0), id(1), taken), None);
    assert_eq!(coordinator.wait(id(3), taken, none()), [], "the first has stored it meanwhile");
    assert_eq!(coordinator.wait(id(1), taken, none()), [], "that is an older answer");
    assert!(coordinator.stored(Time(0), id(2), taken).is_some());
}

/// Rule G7.
#[test]
fn a_certificate_ends_the_promise_to_one_life_alone() {
    let table = first(vec![take("a", 11)]);
    let mut voter = voter(&table);
    let second = Life { incarnation: Incarnation(2), ..life(11) };
    for to in [life(11), second] {
        assert!(voter.promise(&three(), to, table.version(), Time(5000)));
    }
    voter.free(life(11));
    assert_eq!(voter.report().to, BTreeSet::from([second]));
    let taken = next(&table, vec![TableChange::Strip(life(11))]);
    assert_eq!(voter.store(&taken, three().version()), StoreAnswer::Stored, "from its first life");
}
