//! The holders of names after many deaths and returns.

use uuid::Uuid;

use super::*;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::types::{Epoch, Incarnation, Role, Version};

const MEMBERS: u64 = 5;
const NAMES: usize = 100;

fn life(member: u64, incarnation: u64) -> Life {
    let member = NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0000 + u128::from(member)));
    Life { member, incarnation: Incarnation(incarnation) }
}

fn name(number: usize) -> LockName {
    LockName::new(&format!("job-{number}")).expect("it is one")
}

fn list() -> MemberList {
    let member = |number| Member {
        id: life(number, 1).member,
        name: format!("node-{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    };
    MemberList::new(ListVersion::default(), (0..MEMBERS).map(member).collect())
}

/// All names, with these candidates, of which the weights and preferences follow from the name.
fn wishes(lives: &[Life], weight: fn(usize) -> u32, prefers: bool) -> Vec<LockWish> {
    let wish = |number: usize| LockWish {
        name: name(number),
        weight: weight(number),
        with: None,
        candidates: (lives.iter().enumerate())
            .map(|(at, life)| LockCandidate {
                life: *life,
                prefer: u32::from(prefers && number.is_multiple_of(3) && at == 0),
            })
            .collect(),
    };
    (0..NAMES).map(wish).collect()
}

fn changed(table: &LockTable, changes: Vec<TableChange>) -> LockTable {
    let changed = table.changed(table.version().next(Epoch(1)), &list(), changes);
    assert_eq!(changed.refused, []);
    changed.table
}

/// The greatest and the least load of these members, if all names weigh the same.
fn loads(table: &LockTable, lives: &[Life]) -> (usize, usize) {
    let load = |life: &Life| table.iter().filter(|(_, hold)| hold.by == *life).count();
    let loads = lives.iter().map(load);
    (loads.clone().max().unwrap_or(0), loads.min().unwrap_or(0))
}

/// Rule G12: a thousand deaths and returns at random.
#[test]
fn only_what_the_dead_held_moves_and_a_rebalance_makes_all_equal() {
    let mut random = Random::new(52);
    let mut lives: Vec<Life> = (0..MEMBERS).map(|member| life(member, 1)).collect();
    let mut table = LockTable::default();
    let mut down: Vec<Life> = Vec::new();
    let mut moved = 0;
    for _ in 0..1000 {
        let dies = down.is_empty() || (lives.len() > 1 && random.below(2) == 0);
        let gone = if dies {
            let at = usize::try_from(random.below(lives.len() as u64)).expect("few");
            let dead = lives.remove(at);
            down.push(dead);
            BTreeSet::from([dead])
        } else {
            let back = down.remove(0);
            lives.push(Life { incarnation: back.incarnation.next(), ..back });
            BTreeSet::new()
        };
        let before = table.clone();
        let mut changes: Vec<TableChange> = gone.iter().copied().map(TableChange::Strip).collect();
        changes.extend(place(&table, &gone, &wishes(&lives, |_| 1, false)));
        table = changed(&table, changes);
        for (name, hold) in table.iter() {
            assert!(lives.contains(&hold.by), "{name} is held by a member that is down");
            let stayed = before.get(name) == Some(hold);
            let orphan = before.get(name).is_none_or(|hold| gone.contains(&hold.by));
            assert!(stayed || orphan, "{name} moved, though its holder lives");
            moved += usize::from(!stayed);
        }
        assert_eq!(table.iter().len(), NAMES);
        let even = changed(&table, rebalance(&table, &wishes(&lives, |_| 1, false)));
        let (most, least) = loads(&even, &lives);
        assert!(most - least <= 1, "{most} beside {least}");
        if random.below(4) == 0 {
            table = even;
        }
    }
    assert!(moved > 1000, "only {moved} names ever moved");
}

/// Rule G12.
#[test]
fn a_member_that_returns_stays_empty_until_the_rebalance_and_moves_are_few() {
    let lives: Vec<Life> = (0..4).map(|member| life(member, 1)).collect();
    let table = changed(
        &LockTable::default(),
        place(&LockTable::default(), &BTreeSet::new(), &wishes(&lives, |_| 1, false)),
    );
    assert_eq!(loads(&table, &lives), (25, 25));
    let all: Vec<Life> = lives.iter().copied().chain([life(4, 1)]).collect();
    let wishes = wishes(&all, |_| 1, false);
    assert_eq!(place(&table, &BTreeSet::new(), &wishes), []);
    let moves = rebalance(&table, &wishes);
    assert_eq!(moves.len(), 20, "as many as the new one is to hold");
    let table = changed(&table, moves);
    assert_eq!(loads(&table, &all), (20, 20));
    assert_eq!(rebalance(&table, &wishes), []);
}

/// Rule G12.
#[test]
fn preference_comes_before_load_and_weight_before_count() {
    let lives = [life(0, 1), life(1, 1), life(2, 1)];
    let wishes = wishes(&lives, |number| if number == 1 { 60 } else { 1 }, true);
    let table = LockTable::default();
    let table = changed(&table, place(&table, &BTreeSet::new(), &wishes));
    let holder = |number: usize| table.get(&name(number)).map(|hold| hold.by);
    assert!((0..NAMES).step_by(3).all(|number| holder(number) == Some(lives[0])));
    let heavy = holder(1).expect("it is held");
    let beside =
        (0..NAMES).filter(|number| !number.is_multiple_of(3) && holder(*number) == Some(heavy));
    assert_eq!(beside.count(), 1, "60 of 159 are enough for one");
}

/// Rule G12: whoever coordinates, and whatever order it knows the wishes in, the same comes out.
#[test]
fn the_place_depends_on_nothing_else() {
    let lives: Vec<Life> = (0..MEMBERS).map(|member| life(member, 1)).collect();
    let mut wishes = wishes(&lives, |number| 1 + number as u32 % 2, false);
    let (table, none) = (LockTable::default(), BTreeSet::new());
    let placed = place(&table, &none, &wishes);
    wishes.reverse();
    wishes.iter_mut().for_each(|wish| wish.candidates.reverse());
    assert_eq!(place(&table, &none, &wishes), placed);
    // A name that comes alone comes to any member, by its hash.
    let alone = |number: usize| match &place(&table, &none, &wishes[number..=number])[..] {
        [TableChange::Take { by, .. }] => *by,
        other => panic!("{other:?}"),
    };
    let places: BTreeSet<Life> = (0..NAMES).map(alone).collect();
    assert_eq!(places.len(), lives.len());
    assert_eq!(Version::default(), table.version());
}

/// Rule G12.
#[test]
fn a_name_that_is_to_be_with_another_is_placed_there_and_follows_it() {
    let lives: Vec<Life> = (0..4).map(|member| life(member, 1)).collect();
    let mut wishes = wishes(&lives, |_| 1, false);
    for (number, wish) in wishes.iter_mut().enumerate().take(4).skip(1) {
        wish.with = Some(name(number - 1));
    }
    let (table, none) = (LockTable::default(), BTreeSet::new());
    let table = changed(&table, place(&table, &none, &wishes));
    let at = |table: &LockTable, number: usize| table.get(&name(number)).map(|hold| hold.by);
    let first = at(&table, 0).expect("it is held");
    assert!((1..=3).all(|number| at(&table, number) == Some(first)));
    let (most, least) = loads(&table, &lives);
    assert!(most - least <= 1, "{most} beside {least}");

    // The first is moved, and so the others are.
    let to = *lives.iter().find(|life| **life != first).expect("there are others");
    let token = table.get(&name(0)).expect("it is held").token;
    let table = changed(&table, vec![TableChange::Move { name: name(0), token, to }]);
    let table = changed(&table, rebalance(&table, &wishes));
    let now = at(&table, 0).expect("it is held");
    assert!((1..=3).all(|number| at(&table, number) == Some(now)));

    // Where it may not be held, it is held elsewhere rather than nowhere.
    wishes[1].candidates.retain(|candidate| candidate.life != now);
    let without = changed(&table, vec![release(&table, 1)]);
    let placed = place(&without, &none, &wishes);
    assert!(matches!(&placed[..], [TableChange::Take { by, .. }] if *by != now), "{placed:?}");
}

fn release(table: &LockTable, number: usize) -> TableChange {
    let token = table.get(&name(number)).expect("it is held").token;
    TableChange::Release { name: name(number), token }
}
