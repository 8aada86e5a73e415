//! Processes that ask for locks.

use super::*;
use crate::exec::words::NoLockCause;

/// The answer to this, without what is said of leaderships and locks by themselves.
fn asks_for(exec: &mut Exec, name: &str) -> FromNode {
    let lock = FromExec::Lock { name: name.to_owned(), period: None };
    match exec.asks(&lock) {
        FromNode::DoesNotLead => exec.hears(),
        answer => answer,
    }
}

/// A process by the same name awaits the end of the first one.
#[test]
fn a_process_that_asks_for_a_lock_runs_by_that_alone() {
    let node = leader().unwrap();
    let (attached, _folder) = attached(&node);
    let wanting = || {
        let mut exec = Exec::of(&attached);
        assert!(exec.number().is_some());
        let FromNode::Leads { .. } = exec.hears() else { panic!("the node leads") };
        assert_eq!(asks_for(&mut exec, "backup"), FromNode::WantsLock);
        exec
    };
    let token = |exec: &mut Exec| loop {
        match exec.hears() {
            FromNode::Leads { epoch, .. } => break epoch,
            FromNode::DoesNotLead => {}
            other => panic!("{other:?}"),
        }
    };
    let mut first = wanting();
    let held = token(&mut first);
    let mut second = wanting();
    let hold = FromExec::Hold { most_ms: 1000, takes: true };
    assert_eq!(second.hears(), FromNode::DoesNotLead);
    assert_eq!(second.asks(&hold), FromNode::Held(false), "it is not its turn");
    let given = first.takes().unwrap();
    assert_eq!(holding(&node), 0, "the leadership may go");
    assert_eq!(first.asks(&FromExec::Resign), FromNode::Resigned(None));
    while first.hears() != FromNode::Ending {} // once the command has ended
    drop(given);
    lines::write(&first.stream, &FromExec::Ended).unwrap();
    drop(first);
    assert!(token(&mut second) > held);
}

#[test]
fn a_process_is_told_why_the_node_does_not_want_its_lock() {
    let node = leader().unwrap();
    let (attached, _folder) = attached(&node);
    let mut exec = Exec::of(&attached);
    assert!(exec.number().is_some());
    let FromNode::NoLock { cause, why } = asks_for(&mut exec, "..") else {
        panic!("it is no name")
    };
    assert_eq!(cause, NoLockCause::Name, "{why}");
    exec.lines.read_to_string(&mut String::new()).unwrap(); // nothing more
}
