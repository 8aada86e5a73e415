//! Names, changes, tokens and notes.

use super::*;
use crate::core::locks::tests::{first, id, life, name, next, take, three, version};
use crate::core::types::Epoch;

#[test]
fn names_are_short_and_plain() {
    for good in ["a", "0", "vip-7", "a.b_c-d", &"x".repeat(63)] {
        assert_eq!(LockName::new(good).expect("it is one").as_str(), good);
    }
    let long = "x".repeat(64);
    for bad in ["", "-a", ".", "..", "_x", "A", "a b", "a\n", "ä", "etcd://h/x", &long] {
        assert_eq!(LockName::new(bad), Err(BadLockName::Characters), "{bad:?}");
    }
    for key in ["names", "most", "spread"] {
        assert_eq!(LockName::new(key), Err(BadLockName::Setting));
    }
}

#[test]
fn one_change_has_many_names_and_what_cannot_be_is_refused_alone() {
    let table = first(vec![take("a", 11), take("b", 12)]);
    let changes = vec![
        take("a", 12),
        TableChange::Release { name: name("b"), token: 1 },
        TableChange::Release { name: name("a"), token: 7 },
        take("b", 11),
        take("c", 99),
    ];
    let changed = table.changed(version(1, 2), &three(), changes);
    let refused: Vec<_> = changed.refused.iter().map(|(_, refusal)| *refusal).collect();
    let expected = [ChangeRefusal::Held, ChangeRefusal::OtherToken, ChangeRefusal::NoMember];
    assert_eq!(refused, expected);
    let held: Vec<_> = changed.table.iter().map(|(name, hold)| (name.as_str(), hold)).collect();
    let hold = |by, token| LockHold { by: life(by), token };
    assert_eq!(held, [("a", hold(11, 1)), ("b", hold(11, 2))]);
}

/// Rule G10: tokens grow over all names, so that nothing is left of a name that was given back.
#[test]
fn a_name_that_is_given_back_leaves_nothing_and_comes_again_with_a_greater_token() {
    let table = first(vec![take("a", 11)]);
    let free = next(&table, vec![TableChange::Release { name: name("a"), token: 1 }]);
    assert_eq!((free.iter().len(), free.note(id(11))), (0, Some(TakingNote::default())));
    let again = next(&free, vec![take("a", 11)]);
    assert_eq!(again.get(&name("a")).map(|hold| hold.token), Some(3));
    let late = again.changed(
        version(1, 4),
        &three(),
        vec![TableChange::Release { name: name("a"), token: 1 }],
    );
    assert_eq!(late.table.get(&name("a")), again.get(&name("a")), "a late release frees nothing");
}

#[test]
fn no_table_has_more_than_the_most_names() {
    let full = (0..=MOST_NAMES).map(|number| take(&format!("n{number}"), 11)).collect();
    let changed = LockTable::default().changed(version(1, 1), &three(), full);
    assert_eq!(changed.table.iter().len(), MOST_NAMES);
    let last = take(&format!("n{MOST_NAMES}"), 11);
    assert_eq!(changed.refused, [(last, ChangeRefusal::TableFull)]);
}

/// Rules G3 and G7.
#[test]
fn the_table_notes_what_is_taken_and_not_what_was_given_back_or_was_a_dead_lifes() {
    let table = first(vec![take("a", 11), take("b", 11), take("c", 12)]);
    let nothing = next(&table, vec![TableChange::Bury(life(11))]);
    assert_eq!(nothing.iter().len(), 1);
    assert!(!nothing.takes_from(life(11), Version::default()));

    let taken = next(&table, vec![TableChange::Strip(life(11)), take("a", 12)]);
    assert!(taken.takes_from(life(11), table.version()));
    assert!(!taken.takes_from(life(11), taken.version()), "it knows of that");
    assert!(!taken.takes_from(life(12), table.version()));
    let second = Life { incarnation: Incarnation(2), ..life(11) };
    assert!(!taken.takes_from(second, Version::default()), "nothing was taken from its next life");

    let idle = next(&taken, vec![TableChange::Strip(second)]);
    assert_eq!(idle.note(id(11)), taken.note(id(11)), "it held nothing");
    assert!(taken.takes_from(life(13), version(9, 9)), "no member, no note: taken now");
}

/// Rule G3.
#[test]
fn notes_outlive_a_removal() {
    let table = first(vec![take("a", 11)]);
    let without = MemberList::new(ListVersion { epoch: Epoch(1), counter: 2 }, Vec::new());
    let (gone, forgotten) = (without.clone().with_removed(vec![id(11)]), without);
    let strip = vec![TableChange::Strip(life(11))];
    let stripped = table.changed(version(1, 2), &gone, strip).table;
    assert!(stripped.takes_from(life(11), table.version()));
    assert!(!stripped.takes_from(life(11), stripped.version()), "and it is told so");
    let later = stripped.changed(version(1, 3), &forgotten, Vec::new()).table;
    assert_eq!(later.note(id(11)), None);
}
