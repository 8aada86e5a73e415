//! A member that resigned, where the only other that may lead gets no majority.

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::membership::{Member, MemberList};
use electd_election::core::message::{Message, Opinion};
use electd_election::core::settings::{AlgorithmKind, Settings};
use electd_election::core::types::Role;

use super::{all_say, majority, says, vote};
use crate::paper::process::{Process, TIMING, id, rank};

/// P5 led, and has resigned for P4; the others are witnesses.
fn p5_resigned() -> Process {
    let settings = majority(AlgorithmKind::Bully, 5);
    let role = |id| if id >= rank(4).id { Role::Member } else { Role::Witness };
    let member = |member: &Member| Member { role: role(member.id), ..member.clone() };
    let members = settings.members.iter().map(member).collect();
    let members = Arc::new(MemberList::new(settings.members.version(), members));
    let mut p5 = Process::with(Settings { members, ..settings }).0;
    p5.calls();
    all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(2, 1));
    assert_eq!(p5.leader(), Some(id(5)));
    p5.resigns();
    assert!(!p5.core.is_eligible());
    p5
}

/// Whether it asks for votes in this time, in which it hears all others, and none of them leads.
fn asks_for_votes(p5: &mut Process, time: Duration) -> bool {
    let until = p5.now + time;
    let asks = |(_, message): &(_, Message)| matches!(message, Message::PreVote { .. });
    while p5.now < until {
        let sent = p5.after(Duration::from_millis(10));
        if sent.iter().any(asks) {
            return true;
        }
        all_say(p5, &[1, 2, 3, 4], &Message::Alive { number: 1 });
    }
    false
}

/// P4 may be without a majority, and says so nowhere: it asks for pre-votes only. (A2)
#[test]
fn a_resigned_member_is_eligible_again_when_no_member_comes_to_lead() {
    let mut p5 = p5_resigned();
    assert!(!asks_for_votes(&mut p5, TIMING.failure * 4), "P4 may need a second attempt");
    assert!(asks_for_votes(&mut p5, TIMING.failure * 2));
}
