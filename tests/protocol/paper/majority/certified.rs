//! Death certificates: which of them counts, what it frees, and who gets it.

use electd_election::core::death::{DeathCertificate, Secret};
use electd_election::core::message::{Heartbeat, Hello, Liveness, MemberReport, Message, Opinion};
use electd_election::core::protocol::Protocols;
use electd_election::core::settings::{AlgorithmKind, Settings};
use electd_election::core::types::Incarnation;
use electd_election::core::{Input, Note, Output, Phase, Redial};

use super::{
    acknowledge, coordinator, heartbeat, majority, no, pre_vote, says, to, vote_request, would,
    yes_if,
};
use crate::paper::process::{
    MOMENT, Process, Sent, TIMING, comes_to_lead, connection, heartbeat_of, hello_of, id, rank,
    settings,
};

fn certificate(of: u8, incarnation: u64) -> DeathCertificate {
    let (incarnation, secret) = (Incarnation(incarnation), Secret([of; 32]));
    DeathCertificate { member: id(of), incarnation, secret }
}

fn dead(of: u8, incarnation: u64) -> Message {
    Message::Dead(certificate(of, incarnation))
}

/// The hello of this life of a peer that has a coroner.
fn hello_of_life(process: &Process, of: u8, incarnation: u64) -> Hello {
    let death = Some(certificate(of, incarnation).hash("paper"));
    let (incarnation, instance) = (Incarnation(incarnation), u64::from(of) + 100 * incarnation);
    Hello { incarnation, instance, death, ..hello_of(of, process.core.settings()) }
}

/// A life of a peer begins: it connects to this member, which connects to it.
fn begins(process: &mut Process, of: u8, incarnation: u64) -> Sent {
    let hello = hello_of_life(process, of, incarnation);
    let (connection, address) = (connection(of), String::new());
    let welcomed = Input::Welcomed { peer: id(of), welcome: hello.clone() };
    let mut sent = process.take(Input::Hello { connection, address, hello });
    sent.extend(process.take(welcomed));
    sent
}

/// The present life of a peer ends, and the next one begins.
fn restarts(process: &mut Process, of: u8) {
    let (connection, peer, redial) = (connection(of), id(of), Redial::Accepted);
    process.take(Input::Ended { connection, peer, redial });
    begins(process, of, 2);
}

/// P4, with all others connected, each in its first life with a coroner; it follows P5, which leads in epoch 1, and has
/// promised it its vote.
fn p4_under_p5(settings: Settings) -> Process {
    let mut p4 = Process::alone(settings);
    [1, 2, 3, 5].into_iter().for_each(|other| drop(begins(&mut p4, other, 1)));
    p4.hears(5, coordinator(1, 5));
    assert_eq!(p4.hears(5, heartbeat(1, 1, 5)), to(&[5], acknowledge(1, 1, 4)));
    p4
}

fn bully() -> Process {
    p4_under_p5(majority(AlgorithmKind::Bully, 4))
}

/// Rules Z2 and Z4: the voters are free before the candidate asks them.
#[test]
fn a_certificate_is_passed_on_and_frees_the_voter_before_the_election() {
    let mut p4 = bully();
    assert_eq!(would(&mut p4, 3, 2), yes_if(1, TIMING.lease));
    let sent = p4.take(Input::Dead(certificate(5, 1)));
    assert_eq!(sent, [to(&[1, 2, 3], dead(5, 1)), to(&[1, 2, 3], pre_vote(1, 2))].concat());
    assert_eq!(would(&mut p4, 3, 2), Opinion::Yes);
    assert_eq!(p4.take(Input::Dead(certificate(5, 1))), [], "once is enough");
    assert_eq!(p4.hears(3, dead(5, 1)), []);
}

/// Rule Z4: any member may carry it, and does so once; the one that it comes from has it.
#[test]
fn a_certificate_that_a_member_passes_on_counts_as_well() {
    let mut p4 = bully();
    let sent = p4.hears(1, dead(5, 1));
    assert_eq!(sent, [to(&[2, 3], dead(5, 1)), to(&[1, 2, 3], pre_vote(1, 2))].concat());
    assert_eq!(would(&mut p4, 3, 2), Opinion::Yes);
}

/// Rule Z1.
#[test]
fn a_certificate_without_the_secret_changes_nothing() {
    let mut p4 = bully();
    let forged = DeathCertificate { secret: Secret([9; 32]), ..certificate(5, 1) };
    let noted =
        |from| vec![Output::Note(Note::Forged { peer: id(5), incarnation: Incarnation(1), from })];
    assert_eq!(p4.outputs(Input::Dead(forged)), noted(None));
    assert_eq!(p4.hears(3, Message::Dead(forged)), [], "nor does it close a connection");
    for unknown in [certificate(5, 2), certificate(4, 1), certificate(9, 1)] {
        assert_eq!(p4.outputs(Input::Dead(unknown)), [], "nobody told a hash of that life");
    }
    assert_eq!(would(&mut p4, 3, 2), yes_if(1, TIMING.lease));
    assert_eq!(p4.leader(), Some(id(5)));
}

/// Rule Z2: the life before is over, and the present one leads.
#[test]
fn the_certificate_of_an_earlier_life_does_not_free_a_promise_to_the_present_one() {
    let mut p4 = bully();
    restarts(&mut p4, 5);
    p4.hears_of(5, 2, coordinator(3, 5));
    p4.hears_of(5, 2, heartbeat(3, 1, 5));
    assert_eq!(p4.take(Input::Dead(certificate(5, 1))), to(&[1, 2, 3], dead(5, 1)));
    assert_eq!(p4.leader(), Some(id(5)));
    assert_eq!(would(&mut p4, 3, 4), yes_if(3, TIMING.lease));
    p4.take(Input::Dead(certificate(5, 2)));
    assert_eq!(would(&mut p4, 3, 4), Opinion::Yes);
}

/// Rule Z2: its hello comes before the certificate of the life before.
#[test]
fn the_certificate_of_the_life_before_frees_the_promises_to_that() {
    let mut p4 = bully();
    restarts(&mut p4, 5);
    assert_eq!(would(&mut p4, 3, 4), yes_if(1, TIMING.lease));
    p4.hears_of(5, 2, dead(5, 1));
    assert_eq!(would(&mut p4, 3, 4), Opinion::Yes);
}

/// Rule Z3.
#[test]
fn what_a_dead_process_sent_is_not_taken_any_more() {
    let mut p4 = bully();
    let out = p4.outputs(Input::Dead(certificate(5, 1)));
    assert!(out.contains(&Output::Disconnect { peer: id(5) }), "{out:?}");
    assert_eq!(p4.hears(5, heartbeat(1, 2, 5)), []);
    assert_eq!(would(&mut p4, 3, 2), Opinion::Yes, "it is not bound again");
    let (connection, peer, redial) = (connection(5), id(5), Redial::Accepted);
    assert_eq!(p4.outputs(Input::Ended { connection, peer, redial }), []);

    let hello = hello_of_life(&p4, 5, 1);
    let welcomed = Input::Welcomed { peer: id(5), welcome: hello.clone() };
    assert_eq!(p4.outputs(welcomed), [Output::Disconnect { peer: id(5) }]);
    let out = p4.outputs(Input::Hello { connection, address: String::new(), hello });
    assert!(matches!(out[..], [Output::Reject { .. }]), "{out:?}");
    let status = |p4: &Process| p4.core.detector().get(id(5)).unwrap().status();
    assert_eq!(status(&p4), Liveness::Dead);

    let mut report = MemberReport {
        id: id(5),
        incarnation: Incarnation(1),
        status: Liveness::Alive,
        eligible: true,
        value: 0,
    };
    let leads = |report| {
        Message::Heartbeat(Heartbeat { members: [report].into(), ..heartbeat_of(3, 2, 1) })
    };
    p4.hears(3, leads(report));
    assert_eq!((p4.leader(), status(&p4)), (Some(id(3)), Liveness::Dead));
    report.incarnation = Incarnation(2);
    p4.hears(3, leads(report));
    assert_eq!(status(&p4), Liveness::Alive, "it started again");
}

/// Rule Z4: it may be bound, and nobody else may tell it.
#[test]
fn a_member_that_connects_gets_the_certificate_of_the_last_leader_until_another_leads() {
    let mut p4 = bully();
    p4.take(Input::Dead(certificate(5, 1)));
    assert!(begins(&mut p4, 3, 1).contains(&(vec![3], dead(5, 1))));
    assert!(!begins(&mut p4, 5, 2).contains(&(vec![5], dead(5, 1))), "it knows that");
    p4.hears(3, coordinator(2, 3));
    assert_eq!(p4.leader(), Some(id(3)));
    assert_eq!(begins(&mut p4, 2, 1), []);
}

/// Rule Z4: the coroner hands its certificate over to the next start of the member.
#[test]
fn a_restarted_member_passes_on_the_certificate_of_its_earlier_life() {
    let buried = Some(certificate(4, 1));
    let mut p4 = Process::alone(Settings { buried, ..majority(AlgorithmKind::Bully, 4) });
    assert_eq!(begins(&mut p4, 5, 1), to(&[5], dead(4, 1)));
    assert_eq!(p4.hears(5, dead(4, 1)), [], "it is not that one any more");
}

/// Rules C4 and Z4.
#[test]
fn a_member_of_an_earlier_version_is_not_told() {
    let mut p4 = bully();
    let protocols = Protocols { lowest: 5, highest: 6 };
    let welcome = Hello { protocols, death: None, ..hello_of_life(&p4, 2, 1) };
    p4.take(Input::Welcomed { peer: id(2), welcome });
    let sent = p4.take(Input::Dead(certificate(5, 1)));
    assert_eq!(sent, [to(&[1, 3], dead(5, 1)), to(&[1, 2, 3], pre_vote(1, 2))].concat());
}

/// Rule Z5: P4 suspected its leader before it had the proof, and was denied the votes for the time of a lease.
#[test]
fn a_candidate_that_was_denied_asks_again_at_once() {
    let denied = |certified_amid: bool| {
        let mut p4 = bully();
        let (connection, peer, redial) = (connection(5), id(5), Redial::Failed);
        let sent = p4.take(Input::Ended { connection, peer, redial });
        assert_eq!(sent, to(&[1, 2, 3], pre_vote(1, 2)));
        p4.hears(1, says(1, no(TIMING.lease), 1));
        if certified_amid {
            assert_eq!(p4.take(Input::Dead(certificate(5, 1))), to(&[1, 2, 3], dead(5, 1)));
        }
        p4.hears(2, says(1, no(TIMING.lease), 1));
        p4.hears(3, says(1, no(TIMING.lease), 1));
        assert_eq!(p4.core.phase(), Phase::Waiting);
        if !certified_amid {
            assert_eq!(p4.take(Input::Dead(certificate(5, 1))), to(&[1, 2, 3], dead(5, 1)));
            return (p4.after(MOMENT), 2);
        }
        (p4.after(TIMING.message / 8), 2)
    };
    for certified_amid in [false, true] {
        let (sent, number) = denied(certified_amid);
        assert_eq!(sent, to(&[1, 2, 3], pre_vote(number, 3)), "{certified_amid}");
    }
}

/// Rule N2: one denial among the living is not yet silence, however many are dead; and who denies a candidate that has the
/// proof has a reason of its own, for which the candidate waits.
#[test]
fn the_living_are_heard_out() {
    let mut p4 = bully();
    p4.take(Input::Dead(certificate(1, 1)));
    let sent = p4.take(Input::Dead(certificate(5, 1)));
    assert_eq!(sent, [to(&[2, 3], dead(5, 1)), to(&[2, 3], pre_vote(1, 2))].concat());
    p4.hears(2, says(1, no(TIMING.lease), 1));
    assert_eq!(p4.core.phase(), Phase::Electing);
    p4.hears(3, says(1, no(TIMING.lease), 1));
    assert_eq!(p4.core.phase(), Phase::Waiting);
    assert_eq!(p4.after(TIMING.lease - MOMENT), []);
    assert_eq!(p4.after(TIMING.message / 8), to(&[2, 3], pre_vote(2, 3)), "it was heard");
}

/// The vote for a candidate is a promise as well.
#[test]
fn the_certificate_of_a_candidate_frees_the_votes_for_it() {
    let mut p1 = Process::alone(majority(AlgorithmKind::Bully, 1));
    [2, 3, 4, 5].into_iter().for_each(|other| drop(begins(&mut p1, other, 1)));
    p1.hears(5, vote_request(1, 1));
    p1.stores();
    assert_eq!(would(&mut p1, 3, 2), yes_if(1, TIMING.lease));
    p1.hears(3, dead(5, 1));
    assert_eq!(would(&mut p1, 3, 2), Opinion::Yes);
}

/// Mode none: it proves what a refused redial does with `trust_refused`.
#[test]
fn without_a_majority_a_certificate_proves_a_death() {
    for algorithm in AlgorithmKind::ALL {
        let mut p4 = Process::alone(Settings { trust_refused: false, ..settings(algorithm, 4) });
        [1, 2, 3, 5].into_iter().for_each(|other| drop(begins(&mut p4, other, 1)));
        for message in comes_to_lead(algorithm, 1, rank(5)) {
            p4.hears(5, message);
        }
        p4.hears(5, heartbeat(1, 1, 5));
        assert_eq!(p4.leader(), Some(id(5)), "{algorithm:?}");
        let sent = p4.take(Input::Dead(certificate(5, 1)));
        assert_eq!(sent[..1], to(&[1, 2, 3], dead(5, 1)), "{algorithm:?}");
        assert!(sent.len() > 1 && p4.leader() != Some(id(5)), "{algorithm:?}: {sent:?}");
        assert_eq!(p4.core.detector().get(id(5)).unwrap().status(), Liveness::Dead);
    }
}
