//! Where names are held by the configuration, and how they come to be there.

use super::*;
use crate::config::locks::LockNames;
use crate::config::{LocksConfig, MemberConfig};

/// How many of these their node holds.
fn held(wanted: &[WantedLock]) -> usize {
    wanted.iter().filter(|one| one.leadership().is_some_and(|held| held.is_valid())).count()
}

/// Rule G12.
#[test]
fn the_configuration_says_who_may_hold_a_name_who_is_preferred_and_an_operator_has_work_spread() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "majority", &addresses());
    let text = json!({"vip": {"prefer": ["b"], "only": ["a", "b"]}, "w-1": {}});
    let builder = Builder::new("three", "majority", folder.path()).set("locks", text);
    let add = |builder: Builder, member: &MemberConfig| {
        builder.member(&member.name, &member.id.0.to_string(), &member.address)
    };
    let placed = config.members.iter().fold(builder, add).build().unwrap();
    let config = Config { locks: placed.locks, ..config };
    let nodes: Vec<Node> = NAMES.iter().map(|name| Node::start(&config, name).unwrap()).collect();
    let lock = |at: usize, text: &str| nodes[at].handle().lock(name(text), WANT);
    assert_eq!(lock(2, "vip").unwrap_err(), LockRefused::NotAllowed);

    let first = lock(0, "vip").unwrap();
    within(LIMIT, "it is held", || first.leadership().is_some());
    let preferred = lock(1, "vip").unwrap();
    within(LIMIT, "the preferred member preempts it", || preferred.leadership().is_some());

    let names = ["w-1", "w-2", "w-3", "w-4", "w-5"];
    let of_first: Vec<WantedLock> = names.iter().map(|name| lock(0, name).unwrap()).collect();
    within(LIMIT, "all are held", || held(&of_first) == 5);
    let of_second: Vec<WantedLock> = names.iter().map(|name| lock(1, name).unwrap()).collect();
    within(LIMIT, "all nodes know who wants them", || {
        let wants = |lock: &LockEntry| lock.candidates.len() == 2;
        let knows = |node: &Node| node.handle().locks().locks.iter().filter(|it| wants(it)).count();
        nodes.iter().any(|node| knows(node) == 6)
    });
    assert_eq!((held(&of_first), held(&of_second)), (5, 0), "nothing moves by itself");
    let said = nodes[2].handle().command(Command::RebalanceLocks, LIMIT).unwrap().sentence;
    within(LIMIT, "work is spread", || (held(&of_first), held(&of_second)) == (3, 2));
    assert!(said.contains("spread"), "{said}");

    // What a reload says counts from then on.
    let handle = nodes[2].handle();
    handle.set_locks(LocksConfig { most: 6, ..LocksConfig::default() }).unwrap();
    let refused = handle.lock(name("more"), WANT).unwrap_err();
    assert_eq!(refused, LockRefused::Most { most: 6 });
    let declared = LocksConfig { names: LockNames::Declared, ..LocksConfig::default() };
    handle.set_locks(declared).unwrap();
    assert_eq!(handle.lock(name("more"), WANT).unwrap_err(), LockRefused::Undeclared);
    within(LIMIT, "the leader finds that", || {
        nodes.iter().any(|node| {
            let differs = |id| node.handle.published.own() != id;
            node.handle.published.locks.read().differing.iter().any(|id| differs(*id))
        })
    });
}
