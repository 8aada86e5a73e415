//! The rules of docs/protocol.md for a majority, one by one: a voter (`voter.rs`), a candidate
//! (`candidate.rs`), a leader (`leader.rs`), who comes back (`restart.rs`), timings that change (`retiming.rs`),
//! a leader that takes a greater epoch (`reclaim.rs`), a member that resigned (`resigned.rs`),
//! a candidate that waits for its votes (`votes.rs`), the epochs of lists (`stamped.rs`), a leader whose death is
//! proved (`proved.rs`), death certificates (`certified.rs`), and votes that are written behind (`behind.rs`). Here is
//! what they say and hear.

mod behind;
mod candidate;
mod certified;
mod departures;
mod late;
mod leader;
mod liars;
mod proved;
mod reclaim;
mod resigned;
mod restart;
mod retiming;
mod spoilers;
mod stamped;
mod stuck;
mod unsteady;
mod voter;
mod votes;

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::message::{Heartbeat, Message, Opinion};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings};
use electd_election::core::types::{Epoch, Incarnation, Role};

use crate::paper::process::{
    Process, Sent, TIMING, coordinator, election, heartbeat_of, id, rank, settings,
};

/// Three of P1 to P5 are a majority.
fn majority(algorithm: AlgorithmKind, number: u8) -> Settings {
    Settings { quorum: Quorum::Majority, trust_refused: false, ..settings(algorithm, number) }
}

/// A bully that has met all others, so that it may vote.
fn voter(number: u8) -> Process {
    Process::with(majority(AlgorithmKind::Bully, number)).0
}

/// The same, where some have another role, or the list another version.
fn listed(settings: Settings, roles: &[(u8, Role)], counter: u64) -> Settings {
    let role = |member: &Member| {
        let role = roles.iter().find(|(number, _)| id(*number) == member.id);
        Member { role: role.map_or(member.role, |(_, role)| *role), ..member.clone() }
    };
    let members = settings.members.iter().map(role).collect();
    let version = ListVersion { counter, ..ListVersion::default() };
    Settings { members: Arc::new(MemberList::new(version, members)), ..settings }
}

fn pre_vote(number: u64, epoch: u64) -> Message {
    Message::PreVote { number, epoch: Epoch(epoch), list: ListVersion::default() }
}

fn vote_request(number: u64, epoch: u64) -> Message {
    let (epoch, list) = (Epoch(epoch), ListVersion::default());
    Message::VoteRequest { number, epoch, lease: TIMING.lease, list }
}

fn says(number: u64, opinion: Opinion, epoch: u64) -> Message {
    Message::PreVoteReply { number, opinion, epoch: Epoch(epoch) }
}

fn vote(number: u64, epoch: u64) -> Message {
    Message::Vote { incarnation: Incarnation(1), number, epoch: Epoch(epoch) }
}

fn deny(number: u64, opinion: Opinion, epoch: u64) -> Message {
    Message::Denial { number, opinion, epoch: Epoch(epoch) }
}

fn no(wait: Duration) -> Opinion {
    Opinion::No { wait }
}

/// There is nothing to wait for.
const NEVER: Opinion = Opinion::No { wait: Duration::ZERO };

fn yes_if(released: u64, wait: Duration) -> Opinion {
    Opinion::YesIf { released: Epoch(released), wait }
}

fn heartbeat(epoch: u64, number: u64, from: u8) -> Message {
    promising(TIMING.lease, epoch, number, from)
}

/// A heartbeat that asks for a promise of this length.
fn promising(lease: Duration, epoch: u64, number: u64, from: u8) -> Message {
    Message::Heartbeat(Heartbeat { lease, ..heartbeat_of(from, epoch, number) })
}

fn acknowledge(epoch: u64, number: u64, from: u8) -> Message {
    let (incarnation, epoch, rank) = (Incarnation(1), Epoch(epoch), rank(from));
    Message::Acknowledge { incarnation, epoch, number, rank, eligible: true, pause: None }
}

fn preempt(epoch: u64, from: u8, votes: &[u8]) -> Message {
    let votes = votes.iter().map(|number| id(*number)).collect();
    Message::Preempt { epoch: Epoch(epoch), rank: rank(from), votes }
}

/// A leader or candidate releases this epoch, without naming a successor.
fn release(epoch: u64) -> Message {
    Message::Release { epoch: Epoch(epoch), successor: None, eligible: true }
}

fn to(peers: &[u8], message: Message) -> Sent {
    vec![(peers.to_vec(), message)]
}

/// A voter's reply to the pre-vote of a candidate.
fn would(voter: &mut Process, candidate: u8, epoch: u64) -> Opinion {
    let sent = voter.hears(candidate, pre_vote(7, epoch));
    match sent.as_slice() {
        [(to, Message::PreVoteReply { number: 7, opinion, .. })] if *to == [candidate] => *opinion,
        other => panic!("not an answer to P{candidate}: {other:?}"),
    }
}

/// A voter votes for a candidate in this epoch.
fn votes_for(voter: &mut Process, candidate: u8, epoch: u64) {
    let mut sent = voter.hears(candidate, vote_request(8, epoch));
    sent.extend(voter.stores());
    assert_eq!(sent, to(&[candidate], vote(8, epoch)));
}

/// All of these say the same, and what is sent after the last.
fn all_say(process: &mut Process, peers: &[u8], message: &Message) -> Sent {
    let sent = peers.iter().map(|peer| process.hears(*peer, message.clone()));
    sent.last().unwrap_or_default()
}

/// P5 has asked all for epoch 1, in the question of number 1.
fn p5_tries() -> Process {
    let mut p5 = voter(5);
    assert_eq!(p5.calls(), to(&[1, 2, 3, 4], pre_vote(1, 1)));
    p5
}

/// P5 has asked for votes in epoch 1, in the question of number 2.
fn p5_asks() -> Process {
    let mut p5 = p5_tries();
    let sent = all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0));
    assert_eq!(sent, to(&[1, 2, 3, 4], vote_request(2, 1)));
    p5
}

/// P5 leads in epoch 1, by the votes of P1, P2 and itself.
fn p5_leads() -> Process {
    let mut p5 = p5_asks();
    p5.stores();
    assert_eq!(all_say(&mut p5, &[1, 2], &vote(2, 1)), to(&[1, 2, 3, 4], coordinator(1, 5)));
    p5
}
