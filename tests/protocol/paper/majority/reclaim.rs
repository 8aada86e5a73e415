//! A leader that asks for a greater epoch, as a voter says that a greater one is known.

use electd::core::message::{Done, Forwarded, Message, Opinion};
use electd::core::types::{CommandId, Epoch, NodeId};
use electd::core::{Input, Phase};

use super::{
    NEVER, all_say, coordinator, deny, heartbeat, p5_leads, to, vote, vote_request, voter, would,
};
use crate::paper::process::{Process, Sent, TIMING, answer, id};

/// P5, which leads in epoch 1, has heard of epoch 22 and asks for 23.
fn p5_reclaims() -> Process {
    let mut p5 = p5_leads();
    p5.stores();
    p5.after(TIMING.heartbeat);
    let sent = p5.hears(4, deny(1, NEVER, 22));
    assert_eq!(sent, to(&[1, 2, 3, 4], vote_request(3, 23)));
    p5
}

/// The members that a heartbeat names as chosen.
fn chosen(sent: &Sent) -> Option<NodeId> {
    sent.iter().find_map(|(_, message)| match message {
        Message::Heartbeat { chosen, .. } => *chosen,
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

/// "The release frees the voters immediately": those too that voted in the greater epoch.
#[test]
fn a_leader_that_hands_over_frees_those_that_it_asked_for_a_greater_epoch() {
    let mut p5 = p5_reclaims();
    p5.stores();
    let sent = p5.resigns();
    let epochs = |(_, message): &(_, Message)| match message {
        Message::Release { epoch, .. } => Some(epoch.0),
        _ => None,
    };
    let released: Vec<u64> = sent.iter().filter_map(epochs).collect();
    assert_eq!(released, [23, 1], "the last one names the successor: {sent:?}");
    // A late vote does not make it lead in the epoch that it released.
    all_say(&mut p5, &[1, 3], &vote(3, 23));
    assert_ne!(p5.core.phase(), Phase::Leading);
}

#[test]
fn a_voter_is_free_after_both_releases() {
    let mut p1 = voter(1);
    p1.hears(5, coordinator(1, 5));
    p1.stores();
    p1.hears(5, heartbeat(1, 1, 5));
    p1.hears(5, vote_request(9, 23));
    assert_eq!(p1.stores(), to(&[5], vote(9, 23)));
    let release =
        |epoch, successor| Message::Release { epoch: Epoch(epoch), successor, eligible: false };
    p1.hears(5, release(23, None));
    p1.hears(5, release(1, Some(id(4))));
    assert_eq!(would(&mut p1, 4, 24), Opinion::Yes);
}

/// Operators that ask too often are refused, as for all commands that wait for the disk.
#[test]
fn commands_that_wait_for_a_disk_that_hangs_are_bounded() {
    let mut p1 = voter(1);
    let mut asks = |id| {
        let command = electd::core::Command::Undrain;
        answer(&p1.outputs(Input::Command { id: CommandId(id), command }))
    };
    let refused = (1..=2000).filter_map(&mut asks).filter(Result::is_err).count();
    assert!(refused > 1000, "{refused} of 2000");
    let is_done = |out: &[_]| matches!(answer(out), Some(Ok(Done::Undrained)));
    assert!(!is_done(&p1.outputs(Input::Tick)), "the disk has written nothing");
}
