//! The state that a member keeps across a restart, and how the others treat a member that lost it.

use electd_election::core::message::{Ballot, Candidate, Hello, Message, Opinion, Rejection, Run};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation};
use electd_election::core::{Input, Output};

use super::{
    NEVER, acknowledge, all_say, coordinator, deny, election, heartbeat, majority, no, pre_vote,
    promising, says, to, vote_request, voter, votes_for, would,
};
use crate::paper::process::{MOMENT, Process, TIMING, connection, hello_of, id, rank};

/// No round of the first run of a process was above this.
const FLOOR: u64 = 64;

/// Restarts and meets all others.
fn restarted(process: &Process) -> Process {
    let mut next = process.restarts();
    let others = (1..=5).filter(|other| id(*other) != process.core.id());
    others.for_each(|other| drop(next.meets(other)));
    next
}

/// "With majority also the vote (epoch, candidate)": "what a member asks for or votes in never goes
/// backwards, across restarts". (Q2)
#[test]
fn a_vote_survives_a_restart() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 22);
    let mut p3 = restarted(&p3);
    p3.after(TIMING.lease);
    assert_eq!(p3.hears(5, vote_request(1, 22)), to(&[5], deny(1, NEVER, 22)));
    assert_eq!(p3.hears(5, vote_request(1, 5)), to(&[5], deny(1, NEVER, 22)));
    assert_eq!(p3.hears(4, coordinator(5, 4)), []);
    assert_eq!(would(&mut p3, 4, 22), Opinion::Yes);
    assert_eq!(would(&mut p3, 5, 23), Opinion::Yes);
}

/// "A voter that voted in e denies everything from a leader with a smaller epoch": it may have led in e,
/// and forgotten that.
#[test]
fn a_restarted_voter_follows_no_leader_from_before_its_vote() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 22);
    let mut p3 = restarted(&p3);
    p3.hears(5, coordinator(21, 5));
    assert_eq!(p3.leader(), None);
    p3.hears(4, coordinator(22, 4));
    assert_eq!(p3.leader(), Some(id(4)));
}

/// "Not in the first `lease` after a restart": an earlier run may have promised.
#[test]
fn a_restarted_voter_is_muted_for_a_lease() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 22);
    let mut p3 = restarted(&p3);
    let refused = to(&[4], deny(1, no(TIMING.lease), 22));
    assert_eq!(p3.hears(4, vote_request(1, 23)), refused);
    p3.after(TIMING.lease);
    votes_for(&mut p3, 4, 23);
}

/// One with an empty store may have lost it, and with it what it promised.
#[test]
fn an_empty_voter_is_muted_for_a_lease() {
    let mut p3 = Process::empty(majority(AlgorithmKind::Bully, 3));
    [1, 2, 4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    assert_eq!(would(&mut p3, 5, 70), no(TIMING.lease));
    p3.after(TIMING.lease);
    assert_eq!(would(&mut p3, 5, 70), Opinion::Yes);
}

/// Else a candidate that asks at a first start would ask again only after `failure`, and a lesser one
/// would come first.
#[test]
fn an_empty_voter_that_has_not_met_all_tells_for_how_long_it_is_muted() {
    let mut p3 = Process::empty(majority(AlgorithmKind::Bully, 3));
    p3.meets(5);
    p3.after(MOMENT);
    assert_eq!(would(&mut p3, 5, 70), Opinion::Uninformed { wait: TIMING.lease - MOMENT });
    p3.after(TIMING.lease);
    assert_eq!(would(&mut p3, 5, 70), Opinion::Uninformed { wait: TIMING.failure });
}

/// "The candidate's own vote obeys the same rules", this one as well.
#[test]
fn a_restarted_candidate_is_muted_too() {
    let mut p5 = restarted(&voter(5));
    p5.calls();
    assert_eq!(all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0)), []);
    assert_eq!(p5.hears(3, says(1, Opinion::Yes, 0)).len(), 1, "it needs three others");
}

/// "A voter persists the longest it promised and waits that long after a restart", however short
/// its own `lease` is. (Q4)
#[test]
fn a_restarted_voter_is_muted_for_the_longest_promise_ever() {
    let long = TIMING.lease * 2;
    let mut p3 = voter(3);
    p3.hears(4, promising(long, 1, 1, 4));
    p3.stores();
    let mut p3 = restarted(&p3);
    assert_eq!(would(&mut p3, 5, 70), no(long));
    p3.after(long - MOMENT);
    assert_eq!(would(&mut p3, 5, 70), no(MOMENT));
    let mut again = restarted(&p3);
    assert_eq!(would(&mut again, 5, 70), no(long), "nor does another run forget");
    p3.after(MOMENT);
    assert_eq!(would(&mut p3, 5, 70), Opinion::Yes);
}

/// "The longest promise shrinks to the present one when the mute after a restart is over", and not
/// before: each run waits for what the last one may have promised, once. (Q4)
#[test]
fn a_long_promise_of_an_earlier_run_is_waited_for_once() {
    let long = TIMING.lease * 2;
    let mut p3 = voter(3);
    p3.hears(4, promising(long, 1, 1, 4));
    p3.stores();
    let mut p3 = restarted(&p3);
    p3.after(long - MOMENT);
    p3.stores();
    assert_eq!(would(&mut restarted(&p3), 5, 70), no(long), "it may still run");
    p3.after(MOMENT);
    p3.stores();
    assert_eq!(would(&mut restarted(&p3), 5, 70), no(TIMING.lease));
    // The promises of this incarnation count from then on as well, and are durable before the voter
    // sends them.
    assert_eq!(p3.hears(4, promising(long, 90, 1, 4)), []);
    p3.stores();
    assert_eq!(would(&mut restarted(&p3), 5, 100), no(long));
}

/// It may have voted against that leader before it lost its store; and that vote may count. (Q5)
///
/// Claim: lost-voter.
#[test]
fn an_empty_voter_promises_nothing_before_its_wait_is_over() {
    let mut p3 = Process::empty(majority(AlgorithmKind::Bully, 3));
    [4, 5].into_iter().for_each(|other| drop(p3.meets(other)));
    let refused = |number| to(&[4], deny(number, NEVER, 1));
    assert_eq!(p3.hears(4, heartbeat(1, 1, 4)), refused(1));
    p3.stores();
    let mut again = p3.crashes();
    [4, 5].into_iter().for_each(|other| drop(again.meets(other)));
    for p3 in [&mut p3, &mut again] {
        p3.after(TIMING.lease - MOMENT);
        assert_eq!(p3.hears(4, heartbeat(1, 2, 4)), refused(2), "nor was it told yet");
        p3.after(MOMENT);
        assert_eq!(p3.hears(4, heartbeat(1, 3, 4)), to(&[4], acknowledge(1, 3, 3)));
    }
}

/// "What an empty voter was told (the floor)" is durable: it may have voted for anybody up to it before it
/// lost its store. (Q5)
#[test]
fn what_an_empty_voter_was_told_survives_a_restart() {
    let mut p3 = Process::empty(majority(AlgorithmKind::Bully, 3));
    p3.meets(5);
    p3.meets(1);
    p3.after(TIMING.lease);
    p3.hears(1, vote_request(1, 80)); // it is refused, and tells of this round
    p3.hears(5, coordinator(70, 5));
    p3.hears(5, promising(TIMING.lease, 70, 1, 5));
    p3.stores();
    assert_eq!(p3.leader(), Some(id(5)));
    p3.stores(); // the leader that it follows, and thus what it was told
    let mut p3 = p3.restarts();
    p3.meets(4);
    p3.after(TIMING.lease);
    assert_eq!(would(&mut p3, 4, 80), NEVER);
    assert_eq!(would(&mut p3, 4, 81), Opinion::Yes);
}

/// "A voter with an empty store [...]": a voter that was informed and stored that need not be informed
/// again.
#[test]
fn an_informed_voter_stays_informed() {
    let mut p3 = voter(3);
    votes_for(&mut p3, 4, 1);
    let mut p3 = p3.restarts();
    p3.meets(5);
    p3.after(TIMING.lease);
    assert_eq!(would(&mut p3, 5, 2), Opinion::Yes);
}

/// "After a restart own rounds start above `reserved`": a member that is drawn into a round joins
/// it, unless its earlier run may have led in it. (W2)
#[test]
fn a_restarted_bully_joins_no_round_of_its_earlier_run() {
    for (round, joined) in [(FLOOR - 1, FLOOR + 1), (FLOOR, FLOOR + 1), (FLOOR + 2, FLOOR + 2)] {
        let mut p5 = restarted(&voter(5));
        let sent = p5.hears(1, election(round, 1));
        assert_eq!(sent[1..], to(&[1, 2, 3, 4], pre_vote(1, joined)), "drawn into {round}");
    }
}

/// The same of the ring: it sends the ballot on, and not itself.
#[test]
fn a_restarted_member_of_a_ring_is_no_candidate_in_a_round_of_its_earlier_run() {
    let first = Process::with(majority(AlgorithmKind::Ring, 5)).0;
    let named = |number, start| {
        let incarnation = Incarnation(start);
        Candidate { eligible: true, rank: rank(number), incarnation }
    };
    for (epoch, candidate) in [(FLOOR, named(1, 1)), (FLOOR + 1, named(5, 2))] {
        let mut p5 = restarted(&first);
        let run = Run { epoch: Epoch(epoch), initiator: id(1) };
        let ballot = |candidate, hops| Message::Ballot(Ballot { run, candidate, hops });
        let sent = p5.hears(4, ballot(named(1, 1), 4));
        assert_eq!(sent[..1], to(&[1], ballot(candidate, 5)), "round {epoch}");
    }
}

/// If no other member may lead, this one must ask for votes: it calls a run that it may win. (W2)
#[test]
fn a_restarted_member_of_a_ring_calls_a_run_of_its_own_where_no_candidate_may_lead() {
    let first = Process::with(majority(AlgorithmKind::Ring, 5)).0;
    let candidate = Candidate { eligible: false, rank: rank(1), incarnation: Incarnation(1) };
    let mut p5 = restarted(&first);
    let run = Run { epoch: Epoch(FLOOR), initiator: id(1) };
    let sent = p5.hears(4, Message::Ballot(Ballot { run, candidate, hops: 4 }));
    assert_eq!(sent[..1], to(&[1, 2, 3, 4], pre_vote(1, FLOOR + 1)));
}

/// Why P3 refuses the hello of P4 in this run, if it does, having met the first one: of that process,
/// or of another.
fn refusal(mut p3: Process, incarnation: u64, another: bool) -> Option<Rejection> {
    let hello = hello_of(4, p3.core.settings());
    let instance = hello.instance ^ u64::from(another);
    let hello = Hello { incarnation: Incarnation(incarnation), instance, ..hello };
    p3.loses(4);
    p3.after(TIMING.failure);
    let (connection, address) = (connection(4), String::new());
    let out = p3.outputs(Input::Hello { connection, address, hello });
    out.into_iter().find_map(|output| match output {
        Output::Reject { reason, .. } => Some(reason),
        _ => None,
    })
}

/// "An incarnation below one already seen: rejected ("state lost: remove, then add under a new
/// id")" - and the same one of another process, as a start that kept its state counts one more. (C7)
#[test]
fn who_lost_its_state_is_refused() {
    let lost = |known, told| {
        let (known, told) = (Incarnation(known), Incarnation(told));
        Some(Rejection::StateLost { id: id(4), known, told })
    };
    assert_eq!(refusal(voter(3), 1, false), None, "the process that was met");
    assert_eq!(refusal(voter(3), 2, true), None, "a restart");
    assert_eq!(refusal(voter(3), 1, true), lost(1, 1), "a first run that lost its state");
    assert_eq!(refusal(voter(3), 0, true), lost(1, 0));
    let p3 = Process::new(AlgorithmKind::Bully, 3);
    assert_eq!(refusal(p3, 1, true), None, "without a majority nothing was promised");
}

/// Its starts count on from what it still has: sooner or later their numbers are above those that it lost. (C7)
#[test]
fn who_lost_its_state_is_refused_at_all_later_starts_as_well() {
    let mut p3 = voter(3);
    let welcomes = |p3: &mut Process, incarnation, instance| {
        let hello = hello_of(4, p3.core.settings());
        let welcome = Hello { incarnation: Incarnation(incarnation), instance, ..hello };
        p3.outputs(Input::Welcomed { peer: id(4), welcome })
    };
    let refuses = |out: &[Output]| out.contains(&Output::Disconnect { peer: id(4) });
    assert!(!refuses(&welcomes(&mut p3, 2, 70)), "a restart");
    p3.loses(4);
    assert!(refuses(&welcomes(&mut p3, 2, 71)), "of an older copy");
    p3.loses(4);
    assert!(refuses(&welcomes(&mut p3, 3, 72)), "the start after that");
    p3.stores();
    let lost = Rejection::StateLost { id: id(4), known: Incarnation::LOST, told: Incarnation(9) };
    assert_eq!(refusal(p3.restarts(), 9, true), Some(lost), "this member has stored that");
}

/// "The greatest incarnation met of each peer" is durable: a member that restarts refuses a peer that
/// has lost its state meanwhile, and takes the process that it had met. (C7)
#[test]
fn what_was_met_survives_a_restart() {
    let mut p3 = voter(3);
    p3.stores();
    assert_eq!(refusal(p3.restarts(), 1, true), None, "nobody knows which process it was");
    let (known, told) = (Incarnation(1), Incarnation(0));
    assert_eq!(
        refusal(p3.restarts(), 0, true),
        Some(Rejection::StateLost { id: id(4), known, told })
    );
}
