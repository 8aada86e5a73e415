//! A leader that asks for a greater epoch, as a voter says that a greater one is known.

use electd_election::core::message::{Forwarded, Heartbeat, Message};
use electd_election::core::types::{CommandId, Epoch, NodeId};
use electd_election::core::{Input, Phase};

use super::{NEVER, all_say, deny, p5_leads, vote};
use crate::paper::process::{Sent, TIMING, answer, id};

/// The members that a heartbeat names as chosen.
fn chosen(sent: &Sent) -> Option<NodeId> {
    sent.iter().find_map(|(_, message)| match message {
        Message::Heartbeat(Heartbeat { chosen, .. }) => *chosen,
        _ => None,
    })
}

#[test]
fn a_switchover_goes_on_when_the_leader_takes_a_greater_epoch() {
    let mut p5 = p5_leads();
    let command = Forwarded::Switchover { to: id(2) }.into();
    let out = p5.outputs(Input::Command { id: CommandId(7), command });
    assert_eq!(answer(&out), None, "it waits for P2");
    p5.stores();
    p5.after(TIMING.heartbeat);
    p5.hears(4, deny(1, NEVER, 22));
    p5.stores();
    all_say(&mut p5, &[1, 3], &vote(3, 23));
    assert_eq!((p5.core.phase(), p5.core.view().epoch), (Phase::Leading, Epoch(23)));
    assert_eq!(chosen(&p5.after(TIMING.heartbeat)), Some(id(2)));
}
