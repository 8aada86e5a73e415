//! The questions of a candidate: when it asks them, and which answers count.

use std::time::Duration;

use electd_election::core::message::{Ballot, Candidate, Lap, Message, Opinion, Run};
use electd_election::core::settings::{AlgorithmKind, Timing};
use electd_election::core::types::{Epoch, Incarnation, Role};
use electd_election::core::{NodeStatus, Phase};

use super::{
    NEVER, all_say, coordinator, deny, election, heartbeat, listed, majority, no, p5_asks,
    p5_leads, p5_tries, pre_vote, preempt, release, says, to, vote, vote_request, voter, votes_for,
    would, yes_if,
};
use crate::paper::process::{MOMENT, Process, Sent, TIMING, id, rank, task};

const OTHERS: [u8; 4] = [1, 2, 3, 4];

/// "Where: bully: between the end of T1 and COORDINATOR."
#[test]
fn a_bully_asks_the_voters_between_t1_and_coordinator() {
    let mut p3 = voter(3);
    assert_eq!(p3.calls(), to(&[4, 5], election(1, 3)));
    assert_eq!(p3.after(TIMING.t1() - MOMENT), []);
    assert_eq!(p3.after(MOMENT), to(&[1, 2, 4, 5], pre_vote(1, 1)));
    p3.hears(1, says(1, Opinion::Yes, 0));
    assert_eq!(p3.hears(2, says(1, Opinion::Yes, 0)), to(&[1, 2, 4, 5], vote_request(2, 1)));
    p3.stores();
    p3.hears(1, vote(2, 1));
    assert_eq!(p3.leader(), None);
    assert_eq!(p3.hears(2, vote(2, 1)), to(&[1, 2, 4, 5], coordinator(1, 3)));
}

/// "Halting: pre-vote before HALT, vote request between HALT and ELECTED."
#[test]
fn halting_asks_before_halt_and_between_halt_and_elected() {
    let mut p5 = Process::new(AlgorithmKind::Halting, 5);
    assert!(matches!(p5.calls()[..], [(_, Message::Halt { .. })]), "without a majority");

    let mut p5 = Process::with(majority(AlgorithmKind::Halting, 5)).0;
    let (round, accepted) = (Epoch(1), |number| Message::Reply { number, accepted: true });
    assert_eq!(p5.calls(), to(&OTHERS, pre_vote(1, 1)));
    let halt = Message::Halt { number: 1, round, rank: rank(5), incumbent: false };
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0)), to(&OTHERS, halt));
    assert_eq!(all_say(&mut p5, &OTHERS, &accepted(1)), to(&OTHERS, vote_request(2, 1)));
    p5.stores();
    let elected = Message::Elected { number: 2, round, task: task(5).version };
    assert_eq!(all_say(&mut p5, &[1, 2], &vote(2, 1)), to(&OTHERS, elected));
    let ready = Message::Ready { number: 3, round, task: task(5) };
    assert_eq!(all_say(&mut p5, &OTHERS, &accepted(2)), to(&OTHERS, ready));
    all_say(&mut p5, &OTHERS, &accepted(3));
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Normal, Some(id(5))));
}

/// Slow disks and slow members take as long as a lease: the voters have stored their votes, and tell them
/// once more. (N1)
#[test]
fn halting_asks_for_its_votes_again_if_they_are_about_to_run_out_when_all_have_the_task() {
    let mut p5 = Process::with(majority(AlgorithmKind::Halting, 5)).0;
    let accepted = |number| Message::Reply { number, accepted: true };
    p5.calls();
    all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0));
    all_say(&mut p5, &OTHERS, &accepted(1));
    let asked_at = p5.now;
    for _ in 0..4 {
        p5.after(TIMING.message);
    }
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(2, 1));
    all_say(&mut p5, &OTHERS, &accepted(2));
    p5.after(TIMING.message);
    assert!(p5.now + TIMING.message * 2 > asked_at + TIMING.lease * 9 / 11, "for one heartbeat");
    assert_eq!(all_say(&mut p5, &OTHERS, &accepted(3)), to(&OTHERS, vote_request(3, 1)));
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Reorganization, None));
    all_say(&mut p5, &[1, 2], &vote(3, 1));
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Normal, Some(id(5))));
}

/// "Ring: pre-vote before initiating, vote request when the own ballot is back."
#[test]
fn a_ring_asks_before_it_initiates_and_when_the_ballot_is_back() {
    let mut p5 = Process::with(majority(AlgorithmKind::Ring, 5)).0;
    let run = Run { epoch: Epoch(1), initiator: id(5) };
    let own = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    let ballot = |hops| Message::Ballot(Ballot { run, candidate: own, hops });
    assert_eq!(p5.calls(), to(&OTHERS, pre_vote(1, 1)));
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0))[..1], to(&[1], ballot(1)));
    assert_eq!(p5.hears(4, ballot(5)), to(&OTHERS, vote_request(2, 1)));
    p5.stores();
    let lap = Message::Lap(Lap { run, leader: own, hops: 1 });
    assert_eq!(all_say(&mut p5, &[1, 2], &vote(2, 1))[..1], to(&[1], lap));
}

/// "The candidate's own vote obeys the same rules": while it is promised to another, three others
/// have to agree. (Q3)
#[test]
fn the_own_vote_obeys_the_same_rules() {
    let mut p5 = voter(5);
    votes_for(&mut p5, 4, 1);
    assert_eq!(p5.calls(), to(&OTHERS, pre_vote(1, 2)));
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 1)), []);
    assert_eq!(p5.hears(3, says(1, Opinion::Yes, 1)), to(&OTHERS, vote_request(2, 2)));
    assert_eq!(p5.stores(), []);
    assert_eq!(all_say(&mut p5, &[1, 2], &vote(2, 2)), []);
    assert_eq!(p5.hears(3, vote(2, 2)), to(&OTHERS, coordinator(2, 5)));
}

/// "A vote is durable before it is sent": one's own counts no sooner. (Q3)
#[test]
fn the_own_vote_counts_only_when_it_is_durable() {
    let mut p5 = p5_asks();
    assert_eq!(all_say(&mut p5, &[1, 2], &vote(2, 1)), []);
    assert_eq!(p5.leader(), None);
    assert_eq!(p5.stores(), to(&OTHERS, coordinator(1, 5)));
}

/// "Replies to something no longer awaited (ANSWER, acknowledgements, votes) are dropped." (E3)
#[test]
fn a_copied_or_late_vote_counts_for_nothing() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.hears(1, vote(2, 1));
    let earlier_run = Message::Vote { incarnation: Incarnation(0), number: 2, epoch: Epoch(1) };
    p5.hears(1, vote(2, 1)); // once more
    p5.hears(2, vote(1, 1)); // of another question
    p5.hears(3, vote(2, 0)); // of another epoch
    p5.hears(4, earlier_run);
    p5.hears(4, says(2, Opinion::Yes, 0)); // to a pre-vote
    assert_eq!(p5.leader(), None);
    assert_eq!(p5.hears(2, vote(2, 1)), to(&OTHERS, coordinator(1, 5)));
}

/// The same of the replies to a pre-vote. (E3)
#[test]
fn a_copied_or_late_opinion_counts_for_nothing() {
    let mut p5 = p5_tries();
    p5.hears(1, says(1, Opinion::Yes, 0));
    assert_eq!(p5.hears(1, says(1, Opinion::Yes, 0)), []);
    assert_eq!(p5.hears(2, says(0, Opinion::Yes, 0)), []);
    assert_eq!(p5.hears(3, vote(1, 1)), []);
    assert_eq!(p5.hears(2, says(1, Opinion::Yes, 0)), to(&OTHERS, vote_request(2, 1)));
}

/// "Voters are the members that are not observers": P3 to P5, two of which are a majority.
#[test]
fn an_observer_is_not_asked_and_does_not_count() {
    let roles = [(1, Role::Observer), (2, Role::Observer)];
    let mut p5 = Process::with(listed(majority(AlgorithmKind::Bully, 5), &roles, 0)).0;
    assert_eq!(p5.calls(), to(&[3, 4], pre_vote(1, 1)));
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0)), []);
    assert_eq!(p5.hears(3, says(1, Opinion::Yes, 0)), to(&[3, 4], vote_request(2, 1)));
    p5.stores();
    assert_eq!(all_say(&mut p5, &[1, 2], &vote(2, 1)), []);
    assert_eq!(p5.hears(3, vote(2, 1)), to(&OTHERS, coordinator(1, 5)));
}

/// "A candidate that steps down releases its votes", and "who released an epoch never leads in it
/// again, whatever still arrives". (H13)
#[test]
fn who_gives_up_releases_and_never_leads_in_that_epoch() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.hears(1, vote(2, 1));
    for again in 3..=5 {
        // A vote request that timed out is repeated in the same epoch.
        assert_eq!(p5.after(TIMING.lease * 9 / 11), to(&OTHERS, vote_request(again, 1)));
    }
    let sent = p5.after(TIMING.lease * 9 / 11);
    assert_eq!(sent, to(&OTHERS, release(1)));
    assert_eq!(all_say(&mut p5, &OTHERS, &vote(5, 1)), []);
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Waiting, None));
}

/// "A vote request that timed out is repeated in the same epoch": the voters' disks may be slow. Its own vote is
/// durable by then, and each answers the question that it was asked last. (N1)
#[test]
fn a_vote_request_that_was_not_answered_in_time_is_repeated() {
    let mut p5 = p5_asks();
    p5.stores();
    assert_eq!(p5.after(TIMING.lease * 9 / 11), to(&OTHERS, vote_request(3, 1)));
    assert_eq!(all_say(&mut p5, &OTHERS, &vote(2, 1)), [], "its lease would be over");
    assert_eq!(p5.hears(1, vote(3, 1)), []);
    assert_eq!(p5.hears(2, vote(3, 1)), to(&OTHERS, coordinator(1, 5)));
}

/// It does not repeat the request if the answers could not come: it releases the voters immediately.
#[test]
fn a_vote_request_is_not_repeated_to_those_that_are_gone() {
    let mut p5 = p5_asks();
    p5.stores();
    [1, 2, 3].into_iter().for_each(|other| drop(p5.loses(other)));
    let sent = p5.after(TIMING.lease * 9 / 11);
    assert!(
        !sent.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })),
        "{sent:?}"
    );
}

/// "A new leader heartbeats at once": its lease runs since its vote request was sent. (N1)
#[test]
fn the_first_heartbeat_leaves_at_once() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.hears(1, vote(2, 1));
    p5.hears(2, vote(2, 1));
    let sent = p5.after(Duration::ZERO);
    assert!(sent.iter().any(|(_, message)| matches!(message, Message::Heartbeat(_))), "{sent:?}");
}

/// "The leader's lease runs [...] from the sending of what a majority acknowledged": where it is
/// over when the last vote comes, the candidate asks for votes in that epoch once more.
#[test]
fn a_vote_that_comes_when_its_lease_is_over_is_of_no_use() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.hears(1, vote(2, 1));
    p5.now = p5.now + TIMING.lease * 9 / 11;
    assert_eq!(p5.hears(2, vote(2, 1)), to(&OTHERS, vote_request(3, 1)));
    assert_eq!(p5.leader(), None);
}

/// "Unless [...] its last pre-vote failed for want of replies": then it is not eligible, and asks the
/// voters again before it calls another election. (N3)
#[test]
fn who_hears_no_majority_is_not_eligible() {
    let mut p5 = p5_tries();
    p5.hears(1, says(1, Opinion::Yes, 0));
    assert_eq!(p5.after(TIMING.t1() - MOMENT), []);
    assert!(p5.core.is_eligible());
    assert_eq!(p5.after(MOMENT), []);
    assert_eq!((p5.core.phase(), p5.core.is_eligible()), (Phase::Waiting, false));
    let lower = Message::Lower { round: Epoch(2) };
    assert_eq!(p5.hears(3, election(2, 3)), to(&[3], lower), "it sends no ANSWER");
    let again = p5.after(TIMING.t2() + TIMING.message);
    let probe = Message::Probe { number: 0 };
    let silent = to(&[1, 2, 4], probe);
    assert_eq!(again, [to(&OTHERS, pre_vote(2, 3)), silent].concat(), "P3 was heard just now");
    assert_eq!(all_say(&mut p5, &[1, 2], &says(2, Opinion::Yes, 0)), to(&OTHERS, pre_vote(3, 3)));
    assert!(p5.core.is_eligible());
}

/// A no says "wait": the candidate does so before it asks again.
#[test]
fn who_is_refused_asks_again_when_a_majority_may_agree() {
    let mut p5 = p5_tries();
    let wait = TIMING.message * 3;
    assert_eq!(all_say(&mut p5, &[1, 2, 3], &says(1, no(wait), 0)), []);
    assert!(p5.core.is_eligible(), "it was heard");
    assert_eq!(p5.after(wait - MOMENT), []);
    assert_eq!(p5.after(TIMING.message), to(&OTHERS, pre_vote(2, 2)));
}

/// "RELEASE names its epoch and frees only that one": a candidate that then asks the voters first tells
/// them of the release, which may still be on its way to them; but only of one for the present epoch.
#[test]
fn a_candidate_passes_a_release_on_before_it_asks() {
    let freed = |epoch| Message::Freed { leader: id(4), epoch: Epoch(epoch) };
    let mut p5 = voter(5);
    p5.hears(4, heartbeat(1, 1, 4));
    let sent = p5.hears(4, release(1));
    assert_eq!(sent[..], [to(&OTHERS, freed(1)), to(&OTHERS, pre_vote(2, 2))].concat()[..]);

    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 22);
    p3.hears(2, freed(21));
    assert_ne!(would(&mut p3, 5, 23), Opinion::Yes, "bound in another epoch");
    p3.hears(2, freed(22));
    assert_eq!(would(&mut p3, 5, 23), Opinion::Yes);
}

/// "L releases only to a candidate that shows a majority of yes and yes-if, in PREEMPT": P5 asks for
/// it only then, and follows P4 until it is released. (H1)
#[test]
fn a_higher_member_preempts_with_the_votes_of_a_majority() {
    let mut p5 = voter(5);
    let sent = p5.hears(4, heartbeat(1, 1, 4));
    assert_eq!(sent[1..], to(&OTHERS, pre_vote(1, 2)));
    assert_eq!(p5.hears(1, says(1, yes_if(9, TIMING.lease), 9)), [], "bound to another epoch");
    assert_eq!(p5.hears(2, says(1, yes_if(1, TIMING.lease), 1)), []);
    assert_eq!(p5.hears(3, says(1, Opinion::Yes, 0)), to(&[4], preempt(1, 5, &[2, 3, 5])));
    assert_eq!(p5.leader(), Some(id(4)));
    let successor = Some(id(5));
    let released = Message::Release { epoch: Epoch(1), successor, eligible: true };
    assert!(matches!(p5.hears(4, released)[..], [_, (_, Message::VoteRequest { .. })]));
    assert_eq!(p5.leader(), None);
}

/// A candidate that the leader named when it released its epoch asks for votes in the next epoch
/// without a pre-vote: once. If it is denied, it asks first, like any other.
#[test]
fn who_is_handed_an_epoch_asks_for_the_next_at_once() {
    let released = |successor| {
        let mut p5 = voter(5);
        p5.hears(4, heartbeat(1, 1, 4));
        let sent = p5.hears(4, Message::Release { epoch: Epoch(1), successor, eligible: true });
        (p5, sent.last().cloned())
    };
    let (mut p5, sent) = released(Some(id(5)));
    assert_eq!(sent.into_iter().collect::<Sent>(), to(&OTHERS, vote_request(2, 2)));
    let sent = all_say(&mut p5, &[1, 2, 3], &deny(2, NEVER, 1));
    assert_eq!(sent, to(&OTHERS, release(2)));
    let asks = p5.after(TIMING.message);
    assert!(
        matches!(asks[..], [(_, Message::Freed { .. }), (_, Message::PreVote { .. })]),
        "{asks:?}"
    );

    let (_, sent) = released(None);
    assert_eq!(sent.into_iter().collect::<Sent>(), to(&OTHERS, pre_vote(2, 2)), "named nobody");
}

/// So many say "no" that the rest is no majority: the member does not ask its leader to hand over.
#[test]
fn without_a_majority_nobody_is_preempted() {
    let mut p5 = voter(5);
    p5.hears(4, heartbeat(1, 1, 4));
    let sent: Sent =
        [1, 2, 3].iter().flat_map(|n| p5.hears(*n, says(1, no(TIMING.lease), 1))).collect();
    assert_eq!(sent, []);
    assert_eq!(p5.hears(4, says(1, Opinion::Yes, 1)), [], "the question is over");
}

/// A denied vote request frees those that voted for it.
#[test]
fn a_denied_vote_request_is_released() {
    let mut p5 = p5_asks();
    p5.stores();
    p5.hears(1, vote(2, 1));
    assert_eq!(all_say(&mut p5, &[2, 3], &deny(2, yes_if(1, TIMING.lease), 1)), []);
    assert_eq!(p5.hears(4, deny(2, yes_if(1, TIMING.lease), 1)), to(&OTHERS, release(1)));
}

/// "T2 >= 2 * T1 + 4 * `message`": the one who answered has the time for its own T1, and for both
/// questions to the voters.
#[test]
fn t2_covers_both_questions_to_the_voters() {
    let least = |timing: Timing| timing.t1() * 2 + timing.message * 4;
    assert!(TIMING.t2() >= least(TIMING));
    let mut p3 = voter(3);
    p3.calls();
    p3.hears(4, Message::Answer { round: Epoch(1) });
    assert_eq!(p3.after(least(TIMING) - MOMENT), []);
    assert_eq!(p3.core.phase(), Phase::Waiting);
    assert_eq!(p5_leads().leader(), Some(id(5)));
}

/// "Voters are the members that are not observers": one that misses the leader may call the others
/// of its ring, and has no vote of its own.
#[test]
fn an_observer_does_not_count_itself() {
    let settings = listed(majority(AlgorithmKind::Ring, 5), &[(5, Role::Observer)], 0);
    let mut p5 = Process::with(settings).0;
    assert_eq!(p5.calls(), to(&OTHERS, pre_vote(1, 1)));
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0)), []);
    let sent = p5.hears(3, says(1, Opinion::Yes, 0));
    assert!(matches!(sent[..], [(_, Message::Ballot(_)), ..]), "{sent:?}");
}

/// "Who released an epoch never leads in it again, whatever still arrives": not in another run of
/// the same round either.
#[test]
fn who_gave_up_an_epoch_is_no_candidate_in_it_again() {
    let mut p5 = Process::with(majority(AlgorithmKind::Ring, 5)).0;
    let ballot = |initiator, number, hops| {
        let run = Run { epoch: Epoch(1), initiator: id(initiator) };
        let candidate =
            Candidate { eligible: true, rank: rank(number), incarnation: Incarnation(1) };
        Message::Ballot(Ballot { run, candidate, hops })
    };
    p5.hears(4, ballot(3, 3, 1));
    assert_eq!(p5.hears(4, ballot(3, 5, 5)), to(&OTHERS, pre_vote(1, 1)));
    assert_eq!(
        all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0)),
        to(&OTHERS, vote_request(2, 1))
    );
    let refused = deny(2, no(TIMING.message), 0);
    assert_eq!(all_say(&mut p5, &[1, 2, 3], &refused), to(&OTHERS, release(1)));
    assert_eq!(p5.hears(4, ballot(3, 5, 5)), [], "a late copy");
    let other = to(&[1], ballot(4, 4, 2));
    assert_eq!(p5.hears(4, ballot(4, 4, 1))[..1], other);
}

/// The same of the bully: one that looks for the others after a stall does not join that round. (H13)
#[test]
fn who_gave_up_an_epoch_is_not_drawn_into_it_again() {
    let mut p5 = p5_asks();
    all_say(&mut p5, &[1, 2, 3], &deny(2, no(TIMING.lease * 2), 0));
    p5.after(TIMING.t2() + TIMING.message + TIMING.stall());
    assert_eq!(p5.core.phase(), Phase::Starting, "it was stalled");
    p5.meets(1);
    p5.hears(1, election(1, 1));
    assert_eq!(p5.after(TIMING.failure), to(&[1], pre_vote(3, 2)));
}
