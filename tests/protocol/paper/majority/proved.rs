//! With a majority a refused connection proves no death, whatever the file says: a firewall may refuse for a process.

use electd_election::core::settings::{AlgorithmKind, Settings};

use super::{acknowledge, coordinator, heartbeat, majority, to, would, yes_if};
use crate::paper::process::{Process, TIMING};

/// Rule D4. P4 follows P5, which leads in epoch 1, and has promised it its vote.
#[test]
fn a_refusal_frees_no_voter() {
    let bully = majority(AlgorithmKind::Bully, 4);
    let (mut p4, _) = Process::with(Settings { trust_refused: true, ..bully });
    p4.hears(5, coordinator(1, 5));
    assert_eq!(p4.hears(5, heartbeat(1, 1, 5)), to(&[5], acknowledge(1, 1, 4)));
    assert_eq!(would(&mut p4, 3, 2), yes_if(1, TIMING.lease));
    p4.loses(5);
    assert_eq!(would(&mut p4, 3, 2), yes_if(1, TIMING.lease), "it is bound as before");
}
