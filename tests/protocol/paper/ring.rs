//! The statements of seed 004 about the ring election, sentence by sentence.

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::bounds;
use electd_election::core::membership::{Member, MemberList};
use electd_election::core::message::{Ballot, Candidate, Heartbeat, Lap, Message, Run, View};
use electd_election::core::settings::{AlgorithmKind, RankKind, Settings};
use electd_election::core::types::{Epoch, Incarnation, Rank, Role};
use electd_election::core::{Input, Phase, Redial};

use crate::paper::process::{self, Process, Sent, TIMING, id, rank};

fn ring(number: u8) -> Settings {
    process::settings(AlgorithmKind::Ring, number)
}

fn process(number: u8) -> Process {
    Process::with(ring(number)).0
}

/// The sent messages, without the signs of life.
fn news(sent: Sent) -> Sent {
    let background = |message: &Message| {
        matches!(message, Message::Probe { .. } | Message::Alive { .. } | Message::Heartbeat(_))
    };
    sent.into_iter().filter(|(_, message)| !background(message)).collect()
}

fn candidate(number: u8) -> Candidate {
    Candidate { eligible: true, rank: rank(number), incarnation: Incarnation(1) }
}

fn run(epoch: u64, initiator: u8) -> Run {
    Run { epoch: Epoch(epoch), initiator: id(initiator) }
}

/// The ballot of this run, for this candidate, sent so often.
fn ballot(run: Run, number: u8, hops: u32) -> Message {
    Message::Ballot(Ballot { run, candidate: candidate(number), hops })
}

fn lap(run: Run, leader: u8, hops: u32) -> Message {
    Message::Lap(Lap { run, leader: candidate(leader), hops })
}

/// "Each process pn can communicate with its clockwise neighbor p(n+1) mod N"; "starts election by
/// sending an ELECTION msg to its clockwise neighbor; msg contains it's own ID, and attr value".
#[test]
fn an_initiator_sends_its_own_ballot_to_its_clockwise_neighbor() {
    for (number, neighbor) in [(1, 2), (3, 4), (5, 1)] {
        let sent = news(process(number).calls());
        assert_eq!(sent, [(vec![neighbor], ballot(run(1, number), number, 1))]);
    }
}

/// "When a process detects that the leader has failed (using failure detection mech), it initiates
/// an election."
#[test]
fn the_loss_of_the_leader_initiates_an_election() {
    let mut p3 = process(3);
    p3.hears(2, lap(run(1, 1), 5, 4));
    assert_eq!(p3.leader(), Some(id(5)));
    assert_eq!(news(p3.loses(5)), [(vec![4], ballot(run(2, 3), 3, 1))]);
}

/// Rule 1: "if incoming attr value is greater than it's own: forward it unchanged."
#[test]
fn rule_1_a_greater_candidate_goes_on() {
    let mut p3 = process(3);
    let sent = news(p3.hears(2, ballot(run(1, 1), 5, 7)));
    assert_eq!(sent, [(vec![4], ballot(run(1, 1), 5, 8))]);
}

/// Rule 2: "if incoming attr value is less than it's own, and you havnen't forwarded an election msg
/// yet: replace the attr value with your own, and forward it."
#[test]
fn rule_2_a_lesser_candidate_is_replaced() {
    let mut p3 = process(3);
    let sent = news(p3.hears(2, ballot(run(1, 1), 2, 2)));
    assert_eq!(sent, [(vec![4], ballot(run(1, 1), 3, 3))]);
}

/// "There also exists a flag for each process which is set after it has participated in an
/// election, to prevent it from participating again in the same election."
#[test]
fn who_has_participated_stops_lesser_candidates() {
    let mut p3 = process(3);
    p3.hears(2, ballot(run(1, 1), 1, 2));
    assert_eq!(news(p3.hears(2, ballot(run(1, 1), 2, 2))), []);
    let greater = news(p3.hears(2, ballot(run(1, 1), 4, 2)));
    assert_eq!(greater, [(vec![4], ballot(run(1, 1), 4, 3))]);
    assert_eq!(news(p3.hears(2, ballot(run(1, 1), 4, 2))), [], "the same once more");
}

/// Where the ring was repaired, a lesser candidate may come behind a better one, and both would come back. (R1)
#[test]
fn who_has_sent_a_better_candidate_on_stops_lesser_ones_that_rank_above_itself() {
    let mut p3 = process(3);
    assert_eq!(news(p3.hears(2, ballot(run(1, 1), 5, 2))).len(), 1);
    assert_eq!(news(p3.hears(1, ballot(run(1, 1), 4, 2))), []);
}

/// Rule 3: "if msg comes back to you: i.e. id matches your id, you are the leader, and you have the
/// highest attr." Rule 4: "Leader sends an ELECTED msg around teh ring, announcing itself as
/// leader."
#[test]
fn rules_3_and_4_whose_ballot_comes_back_leads_and_says_so() {
    let mut p5 = process(5);
    p5.calls();
    let sent = news(p5.hears(4, ballot(run(1, 5), 5, 5)));
    assert_eq!(sent, [(vec![1], lap(run(1, 5), 5, 1))]);
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(1)));
    assert_eq!(news(p5.hears(4, lap(run(1, 5), 5, 5))), [], "it went around");
}

/// A ballot of an earlier incarnation of this member elects no leader.
#[test]
fn rule_3_holds_for_the_process_that_sent_the_ballot() {
    let mut p5 = process(5);
    let earlier = Candidate { incarnation: Incarnation(0), ..candidate(5) };
    let ballot = Ballot { run: run(1, 5), candidate: earlier, hops: 5 };
    p5.hears(4, Message::Ballot(ballot));
    assert_eq!(p5.leader(), None);
}

/// "At the end of the election, all non-faulty processes must agree on the same leader": each
/// follows the leader that is announced, and tells the next.
#[test]
fn an_announcement_is_followed_and_sent_on_once() {
    let mut p3 = process(3);
    p3.calls();
    let sent = news(p3.hears(2, lap(run(1, 3), 5, 4)));
    assert_eq!(sent, [(vec![4], lap(run(1, 3), 5, 5))]);
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Following, Some(id(5))));
    assert_eq!(news(p3.hears(2, lap(run(1, 3), 5, 4))), []);
}

/// "Non-faulty process with best election attr value is elected": ids only decide between equals.
#[test]
fn the_attribute_comes_before_the_id() {
    let strong = Settings { rank: RankKind::Priority, value: Some(7), ..ring(3) };
    let (mut p3, _) = Process::with(strong);
    let Message::Ballot(weak) = ballot(run(1, 1), 5, 1) else { unreachable!() };
    let sent = news(p3.hears(2, Message::Ballot(weak)));
    let own = Candidate { rank: Rank { value: 7, id: id(3) }, ..candidate(3) };
    let replaced = Ballot { candidate: own, hops: 2, ..weak };
    assert_eq!(sent, [(vec![4], Message::Ballot(replaced))]);
}

/// Multiple initiators, rule 1: "if incoming initiator_ID is greater than the stored initiator_ID:
/// treat it as a new election run, and process it as per normal rules" - so a member that participated
/// in the lesser run has not participated in this one. (R1)
#[test]
fn hierarchy_1_a_greater_initiator_is_a_new_run() {
    let mut p3 = process(3);
    p3.calls();
    let sent = news(p3.hears(2, ballot(run(1, 4), 1, 3)));
    assert_eq!(sent, [(vec![4], ballot(run(1, 4), 3, 4))]);
}

/// Multiple initiators, rule 2: "if incoming initiator_ID is less than the stored initiator_ID:
/// discard the msg."
#[test]
fn hierarchy_2_a_lesser_initiator_is_discarded() {
    let mut p3 = process(3);
    p3.calls();
    assert_eq!(news(p3.hears(2, ballot(run(1, 2), 5, 3))), []);
    let later = news(p3.hears(2, ballot(run(2, 2), 5, 3)));
    assert_eq!(later.len(), 1, "a later epoch comes before the initiator");
}

/// Multiple initiators, rule 3: "if incoming initiator_ID is equal to stored initiator_ID: process
/// it as per normal rules".
#[test]
fn hierarchy_3_the_same_initiator_is_the_same_run() {
    let mut p3 = process(3);
    p3.hears(2, ballot(run(1, 4), 1, 3));
    let sent = news(p3.hears(2, ballot(run(1, 4), 5, 3)));
    assert_eq!(sent, [(vec![4], ballot(run(1, 4), 5, 4))]);
}

/// "A process can call atmost one election at a time".
#[test]
fn at_most_one_election_at_a_time() {
    let mut p3 = process(3);
    assert_eq!(news(p3.calls()).len(), 1);
    assert_eq!(news(p3.calls()), []);
}

/// "When nodes fail, the ring may get broken, and liveness may be violated" - so what was sent to
/// the failed one goes to the next.
#[test]
fn a_broken_ring_is_repaired() {
    let mut p3 = process(3);
    p3.calls();
    assert_eq!(news(p3.loses(4)), [(vec![5], ballot(run(1, 3), 3, 1))]);
    assert_eq!(news(p3.loses(5)), [(vec![1], ballot(run(1, 3), 3, 1))]);
}

/// "Liveness: for all runs of the election algo, a leader is elected who is not null" - even if the
/// candidate fails.
#[test]
fn the_loss_of_the_candidate_is_a_new_run() {
    let mut p3 = process(3);
    p3.hears(2, ballot(run(1, 1), 5, 4));
    assert_eq!(news(p3.loses(5)), [(vec![4], ballot(run(2, 3), 3, 1))]);
    let stale = news(p3.hears(2, ballot(run(2, 4), 5, 4)));
    assert_eq!(stale, [(vec![4], ballot(run(3, 3), 3, 1))], "nobody elects the dead");
}

/// Only the link to the candidate may be dead: a member that puts itself into the run that was begun
/// because of its loss is alive. Otherwise no run would end, as this member would stop each of them.
#[test]
fn a_candidate_that_comes_again_lives() {
    let mut p3 = process(3);
    let redial = Redial::Failed;
    p3.take(Input::Ended { connection: process::connection(5), peer: id(5), redial });
    let stopped = news(p3.hears(2, ballot(run(1, 1), 5, 3)));
    assert_eq!(stopped, [(vec![4], ballot(run(2, 3), 3, 1))], "it may be dead");
    let goes_on = news(p3.hears(2, ballot(run(2, 3), 5, 4)));
    assert_eq!(goes_on, [(vec![4], ballot(run(2, 3), 5, 5))]);
    let announced = news(p3.hears(2, lap(run(2, 3), 5, 4)));
    assert_eq!(announced, [(vec![4], lap(run(2, 3), 5, 5))]);
    assert_eq!(p3.leader(), None, "it cannot be watched");
    // An earlier run of it never comes back.
    let earlier = Candidate { incarnation: Incarnation(0), ..candidate(5) };
    let dead = Ballot { run: run(3, 3), candidate: earlier, hops: 4 };
    assert_eq!(news(p3.hears(2, Message::Ballot(dead))), [(vec![4], ballot(run(4, 3), 3, 1))]);
}

/// The same, if a message is lost unnoticed, or never stops. (E5)
#[test]
fn a_lost_ballot_is_a_new_run() {
    let mut p3 = process(3);
    p3.calls();
    let timeout = bounds::ring_timeout(&TIMING, 5);
    let mut sent = Sent::new();
    while p3.now.0 < u64::try_from(timeout.as_nanos()).unwrap() {
        sent.extend(news(p3.after(TIMING.heartbeat / 2)));
        p3.hears(4, Message::Alive { number: 0 });
    }
    assert_eq!(sent, [], "without a majority it is waited for: both ballots might come back");
    assert_eq!(news(p3.after(TIMING.message)), [(vec![4], ballot(run(2, 3), 3, 1))]);
    let endless = news(p3.hears(2, ballot(run(2, 4), 5, 11)));
    assert_eq!(endless, [(vec![4], ballot(run(3, 3), 3, 1))]);
}

/// A neighbor that says nothing for `failure` is taken as failed.
#[test]
fn a_silent_neighbor_is_passed_over() {
    let mut p3 = process(3);
    p3.calls();
    let mut sent = Sent::new();
    for _ in 0..5 {
        sent.extend(news(p3.after(TIMING.heartbeat)));
    }
    assert_eq!(sent, [(vec![5], ballot(run(1, 3), 3, 1))]);
    let asked = p3.after(TIMING.heartbeat);
    assert!(matches!(asked[..], [(_, Message::Probe { .. })]));
    assert_eq!(asked[0].0, [4, 5], "it may live after all");
    let back = news(p3.hears(4, Message::Alive { number: 0 }));
    assert_eq!(back, [(vec![4], ballot(run(1, 3), 3, 1))]);
}

/// "Msgs are eventually delivered (no msg loss)": what cannot be sent yet waits for the connection.
#[test]
fn a_ballot_waits_for_the_connection() {
    let mut p3 = process(3);
    p3.take(Input::Lost { peer: id(4) });
    assert_eq!(news(p3.calls()), []);
    assert_eq!(news(p3.reaches(4)), [(vec![4], ballot(run(1, 3), 3, 1))]);
}

/// A leader that lives stops a run of a member that does not hear it. That member sends its ballot past
/// one member after another, and these must not carry it past the leader.
#[test]
fn a_ballot_does_not_go_past_a_leader_that_others_hear() {
    let mut p3 = process(3);
    p3.hears(2, lap(run(1, 1), 5, 4));
    p3.hears(2, ballot(run(2, 2), 2, 1));
    p3.meets_leader(5, 1);
    assert_eq!(p3.leader(), Some(id(5)), "its leader reminded it");
    let view = View { epoch: Epoch(1), leader: Some(rank(5)) };
    let sent = news(p3.hears(2, ballot(run(2, 2), 2, 1)));
    assert_eq!(sent, [(vec![2], Message::View(view))]);
    assert_eq!(p3.leader(), Some(id(5)));

    let mut p1 = process(1);
    p1.calls();
    p1.hears(2, Message::View(view));
    assert_eq!(news(p1.after(bounds::ring_run(&TIMING, 5))), [], "it is not sent past");
}

/// "Which is not null": a single live member elects itself, and sends nothing.
#[test]
fn the_last_one_leads() {
    let mut p3 = process(3);
    for other in [1, 2, 4, 5] {
        p3.loses(other);
    }
    assert_eq!(news(p3.calls()), []);
    assert_eq!(p3.leader(), Some(id(3)));
}

/// An ineligible member begins a ballot all the same, replaces no candidate, and never leads. (A1)
#[test]
fn who_is_not_eligible_replaces_nobody() {
    let (mut p3, _) = Process::with(Settings { value: None, rank: RankKind::Disk, ..ring(3) });
    let sent = news(p3.hears(2, ballot(run(1, 1), 1, 2)));
    assert_eq!(sent, [(vec![4], ballot(run(1, 1), 1, 3))]);
    let (mut p3, _) = Process::with(Settings { value: None, rank: RankKind::Disk, ..ring(3) });
    let sent = news(p3.calls());
    let [(_, Message::Ballot(own))] = sent[..] else { panic!("{sent:?}") };
    assert!(!own.candidate.eligible);
    p3.hears(2, Message::Ballot(Ballot { hops: 5, ..own }));
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Waiting, None));
}

/// Seed 000: "From leader election to leader death, the cluster's epoch does not change": a live
/// leader stops the ballots of greater runs, and reminds all.
#[test]
fn a_live_leader_stops_ballots_and_reminds_all() {
    let mut p5 = process(5);
    p5.calls();
    p5.hears(4, ballot(run(1, 5), 5, 5));
    assert_eq!(news(p5.hears(4, ballot(run(2, 3), 4, 2))), []);
    let reminded = p5.after(Duration::ZERO);
    assert!(matches!(reminded[..], [(_, Message::Heartbeat(Heartbeat { epoch: Epoch(1), .. }))]));
    assert_eq!(reminded[0].0, [1, 2, 3, 4]);
}

/// Only the link between P4 and the leader is dead: P4's ballot comes past the leader, and would come back. (R5)
#[test]
fn a_ballot_that_left_out_a_live_leader_goes_no_further() {
    let mut p3 = process(3);
    let p5 = process::coordinator(1, 5);
    p3.hears(5, p5.clone());
    let view = Message::View(View { epoch: Epoch(1), leader: Some(rank(5)) });
    assert_eq!(news(p3.hears(4, ballot(run(2, 4), 4, 1))), [(vec![4], view)]);
    assert_eq!(p3.leader(), Some(id(5)));
    let gone = news(p3.clone().loses(5));
    assert_eq!(gone, [(vec![4], ballot(run(2, 4), 4, 2))], "P4 had found its death first");

    let sent = news(p3.hears(2, ballot(run(2, 2), 2, 1)));
    assert_eq!(sent, [(vec![4], ballot(run(2, 2), 3, 2))], "P2's comes to the leader");
    p3.hears(5, p5);
    assert_eq!(p3.leader(), Some(id(5)), "it stopped that");

    p3.after(TIMING.failure / 2);
    let sent = news(p3.hears(4, ballot(run(3, 4), 4, 1)));
    assert_eq!(sent, [(vec![4], ballot(run(3, 4), 4, 2))], "it may be gone");
}

/// P3 of five of which only these may lead.
fn witness_beside(members: &[u8]) -> Process {
    let file = ring(3);
    let recast = |(at, member): (usize, &Member)| {
        let may_lead = members.contains(&(at as u8 + 1));
        Member { role: if may_lead { Role::Member } else { Role::Witness }, ..member.clone() }
    };
    let members = file.members.iter().enumerate().map(recast).collect();
    let members = Arc::new(MemberList::new(file.members.version(), members));
    Process::with(Settings { members, ..file }).0
}

/// The ballot of P3, which may not lead, in its own run.
fn own_ballot(hops: u32) -> Message {
    let own = Candidate { eligible: false, ..candidate(3) };
    Message::Ballot(Ballot { run: run(1, 3), candidate: own, hops })
}

/// The only member that may lead is never sent a ballot, as the link between it and the one before it is dead. (R2)
#[test]
fn who_may_not_lead_sends_its_own_ballot_to_who_may_and_was_left_out() {
    let mut p3 = witness_beside(&[5]);
    assert_eq!(news(p3.calls()), [(vec![4], own_ballot(1))]);
    assert_eq!(news(p3.hears(2, own_ballot(4))), [(vec![5], own_ballot(1))]);
}

/// P2 passed the ballot on as it is: its vote is not free, or it was added just now. (R2)
#[test]
fn a_ballot_that_comes_back_goes_to_another_than_the_member_that_passed_it_on() {
    let mut p3 = witness_beside(&[1, 2]);
    p3.calls();
    assert_eq!(news(p3.hears(2, own_ballot(4))), [(vec![1], own_ballot(1))]);
}

/// P5 calls older runs than P4, which it does not hear. (R3)
#[test]
fn who_sends_an_older_ballot_gets_the_present_one_of_a_member_that_may_not_lead() {
    let mut p3 = witness_beside(&[5]);
    let unfit = Candidate { eligible: false, ..candidate(4) };
    let present = |hops| Message::Ballot(Ballot { run: run(2, 4), candidate: unfit, hops });
    assert_eq!(news(p3.hears(2, present(1))), [(vec![4], present(2))]);
    assert_eq!(news(p3.hears(5, ballot(run(1, 5), 5, 1))), [(vec![5], present(2))]);
}
