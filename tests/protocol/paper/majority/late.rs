//! A word that a cut link carries only when it is repaired.

use electd_election::core::message::{Heartbeat, Message};
use electd_election::core::types::Epoch;

use super::{acknowledge, p5_leads};
use crate::paper::process::{TIMING, id, rank};

/// P4 led before, was cut off, and its lease ended before P5 came to lead. What P4 sent meanwhile arrives now: never did
/// two lead at one instant. The word of a later epoch would prove that.
#[test]
fn a_late_word_of_an_earlier_leader_is_no_second_leader() {
    let mut p5 = p5_leads();
    let end = p5.now + TIMING.failure * 2;
    while p5.now < end {
        let sent = p5.after(TIMING.heartbeat);
        let number = sent.iter().find_map(|(_, message)| match message {
            Message::Heartbeat(Heartbeat { number, .. }) => Some(*number),
            _ => None,
        });
        for voter in [1, 2, 3] {
            p5.hears(voter, acknowledge(1, number.expect("it leads"), voter));
        }
    }
    let says = |epoch| Message::Coordinator { epoch: Epoch(epoch), rank: rank(4) };
    p5.hears(4, says(0));
    assert_eq!((p5.leader(), p5.core.split()), (Some(id(5)), None));
    p5.hears(4, says(2));
    assert_eq!(p5.core.split().map(|split| split.other), Some(id(4)));
}
