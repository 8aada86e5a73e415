//! A leader's lease, and how it ends.

use std::time::Duration;

use electd_election::core::message::{Ballot, Candidate, Envelope, Message, Opinion, Run, View};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation, Role, Time};
use electd_election::core::{Input, Output, Phase};

use super::{
    NEVER, acknowledge, all_say, coordinator, deny, heartbeat, listed, majority, p5_asks, p5_leads,
    p5_tries, pre_vote, preempt, release, says, to, vote, vote_request, voter, votes_for, would,
};
use crate::paper::process::{MOMENT, Process, Sent, TIMING, connection, id, rank, task};

const OTHERS: [u8; 4] = [1, 2, 3, 4];

/// The part of a promise of `lease` that a leader may rely on.
fn certain() -> Duration {
    TIMING.lease * 9 / 11
}

/// When P5 sent the vote request that elected it.
const ASKED: Time = Time(10_000_000);

/// P5 leads since the voters answered its vote request, 20 ms after it had sent that.
fn p5_leads_later() -> Process {
    let mut p5 = p5_tries();
    p5.after(ASKED.since(Time(0)));
    all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0));
    p5.after(Duration::from_millis(20));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(2, 1));
    assert_eq!(p5.leader(), Some(id(5)));
    p5
}

/// "Lease: the leader's runs for `lease` * 9/11 [...] from the sending of what a majority
/// acknowledged." (L4)
#[test]
fn the_lease_counts_from_the_sending_of_the_vote_request() {
    let p5 = p5_leads_later();
    assert_eq!(p5.core.lease_until(), Some(ASKED + certain()));
    assert_eq!(certain(), Duration::from_nanos(327_272_727));
}

/// The same of heartbeats. (L4)
#[test]
fn the_lease_counts_from_the_sending_of_a_heartbeat() {
    let mut p5 = p5_leads_later();
    p5.after(TIMING.heartbeat);
    let sent = p5.now;
    p5.after(Duration::from_millis(20));
    p5.hears(1, acknowledge(1, 1, 1));
    assert_eq!(p5.core.lease_until(), Some(ASKED + certain()), "two are no majority");
    p5.hears(1, acknowledge(1, 1, 1));
    assert_eq!(p5.core.lease_until(), Some(ASKED + certain()), "nor is a copy");
    p5.hears(2, acknowledge(1, 1, 2));
    assert_eq!(p5.core.lease_until(), Some(sent + certain()));
}

/// "Votes and acknowledgements echo (incarnation, epoch, number) of what they answer": so a late
/// one counts for what it answers, and that of something else for nothing. (E3)
#[test]
fn an_acknowledgement_counts_for_what_it_answers() {
    let mut p5 = p5_leads_later();
    p5.after(TIMING.heartbeat);
    let first = p5.now;
    p5.after(TIMING.heartbeat);
    all_say(&mut p5, &[1, 2], &acknowledge(1, 1, 1));
    assert_eq!(p5.core.lease_until(), Some(first + certain()), "the second is on its way");
    for answer in [acknowledge(1, 3, 1), acknowledge(0, 2, 1), acknowledge(2, 2, 1), of_run(2)] {
        all_say(&mut p5, &OTHERS, &answer);
        assert_eq!(p5.core.lease_until(), Some(first + certain()), "{answer:?}");
    }
}

/// The acknowledgement of the second heartbeat of another run.
fn of_run(run: u64) -> Message {
    let (incarnation, epoch) = (Incarnation(run), Epoch(1));
    Message::Acknowledge {
        incarnation,
        epoch,
        number: 2,
        rank: rank(1),
        eligible: true,
        pause: None,
    }
}

/// "Voters are the members that are not observers": what observers acknowledge binds no voter.
#[test]
fn an_observer_prolongs_no_lease() {
    let roles = [(1, Role::Observer), (2, Role::Observer)];
    let mut p5 = Process::with(listed(majority(AlgorithmKind::Bully, 5), &roles, 0)).0;
    p5.calls();
    p5.hears(3, says(1, Opinion::Yes, 0));
    p5.stores();
    p5.hears(3, vote(2, 1));
    let lease = p5.core.lease_until();
    p5.after(TIMING.heartbeat);
    all_say(&mut p5, &[1, 2], &acknowledge(1, 1, 1));
    assert_eq!(p5.core.lease_until(), lease);
    p5.hears(3, acknowledge(1, 1, 3));
    assert!(p5.core.lease_until() > lease);
}

/// "A leader stops saying so before anybody else may start; the published snapshot carries its own
/// expiry" - whatever it handles first. (I5, L6)
#[test]
fn without_a_lease_nobody_leads() {
    let mut p5 = p5_leads();
    let until = p5.core.lease_until().expect("it has a lease");
    assert_eq!(p5.core.believable_until(p5.now), until);
    for _ in 0..3 {
        p5.after(TIMING.heartbeat);
    }
    p5.now = Time(until.0 - 1);
    p5.hears(1, Message::Probe { number: 1 });
    assert_eq!(p5.leader(), Some(id(5)));
    p5.now = p5.now + MOMENT;
    let sent = p5.hears(1, Message::Probe { number: 2 });
    assert_eq!(p5.leader(), None);
    assert!(sent.contains(&(OTHERS.to_vec(), release(1))), "{sent:?}");
    assert_eq!(all_say(&mut p5, &OTHERS, &acknowledge(1, 3, 1)), [], "it came too late");
    assert_eq!(p5.leader(), None);
}

/// "The candidate's own vote obeys the same rules": P5 voted for P4 in epoch 3 after it had asked for votes in
/// epoch 2 without its own vote. It leads by three others, and needs three others to go on.
#[test]
fn a_leader_whose_vote_is_anothers_does_not_count_it() {
    let mut p5 = voter(5);
    votes_for(&mut p5, 4, 1);
    p5.calls();
    all_say(&mut p5, &[1, 2, 3], &says(1, Opinion::Yes, 1));
    votes_for(&mut p5, 4, 3);
    assert_eq!(all_say(&mut p5, &[1, 2, 3], &vote(2, 2)), to(&OTHERS, coordinator(2, 5)));
    let lease = p5.core.lease_until();
    p5.after(TIMING.heartbeat);
    all_say(&mut p5, &[1, 2], &acknowledge(2, 1, 1));
    assert_eq!(p5.core.lease_until(), lease);
    p5.hears(3, acknowledge(2, 1, 3));
    assert!(p5.core.lease_until() > lease);
}

/// "That leader asks for votes in a greater epoch itself, without stepping down first." (L5)
#[test]
fn a_refused_leader_asks_for_a_greater_epoch() {
    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    assert_eq!(p5.hears(3, deny(1, NEVER, 9)), to(&OTHERS, vote_request(3, 10)));
    let asked_at = p5.now;
    assert_eq!((p5.core.phase(), p5.core.view().epoch), (Phase::Leading, Epoch(1)));
    p5.after(Duration::from_millis(20));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(3, 10));
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(10)));
    assert_eq!(p5.core.lease_until(), Some(asked_at + certain()));
}

/// "As long as its lease runs, no later leader was elected": a member that says so is mistaken or lies,
/// and no stream of such messages makes the leader ask more than once between two heartbeats. (Q12)
#[test]
fn a_leader_does_not_step_down_on_the_word_of_a_third_member() {
    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    let mut asked = 0;
    for epoch in 100..1000 {
        let leader = (epoch % 2 == 0).then(|| rank(4));
        let sent = p5.hears(3, Message::View(View { epoch: Epoch(epoch), leader }));
        p5.stores();
        for (_, said) in sent {
            if let Message::VoteRequest { number, epoch, .. } = said {
                asked += 1;
                all_say(&mut p5, &[1, 2], &vote(number, epoch.0));
            }
        }
        p5.after(TIMING.heartbeat / 100);
        assert_eq!(p5.core.phase(), Phase::Leading, "epoch {epoch}");
    }
    assert!((2..=10).contains(&asked), "{asked} vote requests in 9 intervals");
}

/// A member that was lied to names another leader of this epoch, and follows no second one: the leader asks for a
/// greater epoch, in which it is followed. (Q8)
#[test]
fn a_leader_whose_epoch_is_said_to_be_anothers_asks_for_a_greater_epoch() {
    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    let view = Message::View(View { epoch: Epoch(1), leader: Some(rank(4)) });
    assert_eq!(p5.hears(3, view.clone()), to(&OTHERS, vote_request(3, 2)));
    assert_eq!(p5.hears(3, view), []);
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Leading, Some(id(5))));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(3, 2));
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(2)));
}

/// The same without success: the old epoch ends with its own lease, and votes that come after the new
/// lease would be over are useless.
#[test]
fn a_leader_that_reclaims_without_success_leads_no_longer_than_its_lease() {
    let mut p5 = p5_leads();
    let until = p5.core.lease_until().expect("it has a lease");
    p5.after(TIMING.heartbeat);
    p5.hears(3, deny(1, NEVER, 9));
    p5.stores();
    p5.now = until;
    all_say(&mut p5, &[1, 2], &vote(3, 10));
    assert_eq!(p5.leader(), None);
}

/// P4 leads in epoch 1, and P5 is back.
fn p4_leads() -> Process {
    let mut p4 = voter(4);
    p4.loses(5);
    assert_eq!(p4.calls(), to(&[1, 2, 3], pre_vote(1, 1)));
    all_say(&mut p4, &[1, 2], &says(1, Opinion::Yes, 0));
    p4.stores();
    all_say(&mut p4, &[1, 2], &vote(2, 1));
    p4.meets(5);
    assert_eq!(p4.leader(), Some(id(4)));
    p4
}

/// "L releases only to a candidate that shows a majority of yes and yes-if, in PREEMPT." (H1)
#[test]
fn a_leader_releases_only_to_a_majority() {
    let mut p4 = p4_leads();
    let view = View { epoch: Epoch(1), leader: Some(rank(4)) };
    for few in [&[][..], &[2, 5], &[2, 5, 2], &[2, 5, 9]] {
        assert_eq!(p4.hears(5, preempt(1, 5, few)), to(&[5], Message::View(view)));
    }
    let lower = p4.hears(3, preempt(1, 3, &[1, 2, 3]));
    assert_eq!(lower, to(&[3], Message::View(view)), "nor to a lower member");
    let released = Message::Release { epoch: Epoch(1), successor: Some(id(5)), eligible: true };
    assert_eq!(p4.hears(5, preempt(1, 5, &[1, 2, 5])), to(&[1, 2, 3, 5], released));
    assert_eq!(p4.leader(), None);
}

/// "That leader stops (its work first), then answers RELEASE(epoch)." (H8)
#[test]
fn a_leader_stops_before_it_says_so() {
    let mut p4 = p4_leads();
    let message = preempt(1, 5, &[1, 2, 5]);
    let envelope = Envelope { epoch: Epoch(1), incarnation: Incarnation(1), message };
    let input = Input::Message { connection: connection(5), from: id(5), envelope };
    let out = p4.outputs(input);
    let stops =
        |output: &Output| matches!(output, Output::Changed(change) if change.leader.is_none());
    let tells = |output: &Output| match output {
        Output::Send { envelope, .. } => matches!(envelope.message, Message::Release { .. }),
        _ => false,
    };
    let (stops, tells) = (out.iter().position(stops), out.iter().position(tells));
    assert!(stops.is_some() && stops < tells, "{out:?}");
}

/// "Who released an epoch never leads in it again, whatever still arrives." (H13)
#[test]
fn who_released_an_epoch_never_leads_in_it_again() {
    let mut p4 = p4_leads();
    p4.after(TIMING.heartbeat);
    p4.hears(5, preempt(1, 5, &[1, 2, 5]));
    for late in [acknowledge(1, 1, 1), vote(2, 1), says(1, Opinion::Yes, 1)] {
        all_say(&mut p4, &[1, 2, 3, 5], &late);
        assert_eq!((p4.leader(), p4.core.lease_until()), (None, None), "{late:?}");
    }
    let released = Message::Release { epoch: Epoch(1), successor: Some(id(5)), eligible: true };
    assert_eq!(p4.hears(5, preempt(1, 5, &[1, 2, 5])), to(&[5], released), "and says so again");
}

/// "`resign` [...] release the same way."
#[test]
fn who_resigns_releases() {
    let mut p5 = p5_leads();
    let released = Message::Release { epoch: Epoch(1), successor: Some(id(4)), eligible: false };
    assert_eq!(p5.resigns(), to(&OTHERS, released));
    assert_eq!(p5.leader(), None);
}

/// Its vote for itself would only keep another from leading. (H12)
#[test]
fn a_leader_that_steps_down_for_a_later_one_frees_its_own_vote() {
    let mut p5 = p5_leads();
    p5.hears(4, heartbeat(2, 1, 4));
    p5.stores();
    assert_eq!(p5.leader(), Some(id(4)));
    p5.hears(4, release(2));
    assert_eq!(would(&mut p5, 3, 3), Opinion::Yes);

    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    p5.hears(3, Message::View(View { epoch: Epoch(3), leader: None }));
    p5.hears(4, heartbeat(9, 1, 4));
    p5.stores();
    p5.hears(4, release(9));
    assert_eq!(
        would(&mut p5, 3, 10),
        Opinion::Yes,
        "also that for a greater epoch which it asked for"
    );
}

/// Halting: an organizer that handed out its task in an epoch is about to lead in it, and does not
/// release it before: "who released an epoch never leads in it again".
#[test]
fn a_coordinator_that_is_about_to_lead_releases_nothing() {
    let mut p5 = Process::with(majority(AlgorithmKind::Halting, 5)).0;
    let accepted = |number| Message::Reply { number, accepted: true };
    p5.calls();
    all_say(&mut p5, &[1, 2], &says(1, Opinion::Yes, 0));
    all_say(&mut p5, &OTHERS, &accepted(1));
    p5.stores();
    all_say(&mut p5, &[1, 2], &vote(2, 1));
    let ready = Message::Ready { number: 3, round: Epoch(1), task: task(5) };
    assert_eq!(all_say(&mut p5, &OTHERS, &accepted(2)), to(&OTHERS, ready));
    assert_eq!(p5.hears(4, preempt(1, 4, &[1, 2, 4])), Sent::new());
    all_say(&mut p5, &OTHERS, &accepted(3));
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(1)));
}

/// "A member names a leader only after the election ended; until then it says "none"." (I3)
#[test]
fn a_candidate_is_no_leader() {
    for p5 in [p5_tries(), p5_asks()] {
        assert_eq!((p5.leader(), p5.core.lease_until()), (None, None));
    }
}

/// "The leader's [lease] runs [...] from the sending": a greater epoch whose lease would be over
/// for which it gets the votes at last is not led in.
#[test]
fn a_greater_epoch_is_not_led_in_without_a_lease() {
    let mut p5 = p5_leads();
    p5.after(TIMING.heartbeat);
    assert_eq!(p5.hears(3, deny(1, NEVER, 9)), to(&OTHERS, vote_request(3, 10)));
    let asked_at = p5.now;
    p5.stores();
    for number in 2..=4 {
        p5.after(TIMING.heartbeat);
        all_say(&mut p5, &[1, 2, 4], &acknowledge(1, number, 1));
    }
    p5.now = asked_at + certain();
    all_say(&mut p5, &[1, 2], &vote(3, 10));
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(1)));
}

/// "Majority: never two for one epoch, ever", whatever anybody says. (Q8)
#[test]
fn an_epoch_that_another_leads_in_is_nobody_elses() {
    let mut p4 = voter(4);
    p4.hears(3, coordinator(1, 3));
    assert_eq!(p4.leader(), Some(id(3)));
    p4.hears(5, coordinator(1, 5));
    let sent = p4.hears(5, heartbeat(1, 1, 5));
    assert_eq!(p4.leader(), Some(id(3)));
    let acknowledged = |(_, message): &(_, Message)| matches!(message, Message::Acknowledge { .. });
    assert!(!sent.iter().any(acknowledged), "{sent:?}");

    let mut p5 = p5_leads();
    for word in [coordinator(1, 4), heartbeat(1, 1, 4)] {
        p5.hears(4, word);
        assert_eq!(p5.leader(), Some(id(5)));
    }
    p5.hears(4, Message::View(View { epoch: Epoch(1), leader: None }));
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Leading, Some(id(5))));
}

/// The ring: a leader whose lease ended tells no member that connects that it leads. (R6)
#[test]
fn an_announcement_ends_with_the_lease() {
    let mut p5 = Process::with(majority(AlgorithmKind::Ring, 5)).0;
    p5.calls();
    [1, 2].into_iter().for_each(|voter| drop(p5.hears(voter, says(1, Opinion::Yes, 0))));
    let run = Run { epoch: Epoch(1), initiator: id(5) };
    let candidate = Candidate { eligible: true, rank: rank(5), incarnation: Incarnation(1) };
    p5.hears(4, Message::Ballot(Ballot { run, candidate, hops: 5 }));
    p5.stores();
    let announces = |sent: &Sent| sent.iter().any(|(_, said)| matches!(said, Message::Lap(_)));
    assert!(announces(&all_say(&mut p5, &[1, 2], &vote(2, 1))));
    assert!(announces(&p5.meets(1)), "it leads");
    p5.after(TIMING.lease);
    assert_eq!(p5.leader(), None);
    assert!(!announces(&p5.meets(1)));
}
