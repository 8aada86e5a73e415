//! Recordings that somebody changed are refused, each for what was changed.

use electd_election::core::durable::VoterRecord;
use electd_election::core::message::{Heartbeat, Message};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::{Input, Output, Phase, Transition};
use electd_model::sim::FaultSet;
use electd_record::behaviour::life::{LifeStart, RecordedLife, TapedTurn};
use electd_record::behaviour::{SpecAction, judge};

use super::{lives, run_of};

/// A change by hand: returns whether there was anything to change.
type Change = fn(&mut [RecordedLife]) -> bool;

const CHANGES: [(&str, SpecAction, Change); 14] = [
    ("a vote is given to another as well", SpecAction::GiveVote, votes_twice),
    ("nobody asked for a vote", SpecAction::GiveVote, is_not_asked),
    ("a vote is beyond all that the disk covers", SpecAction::GiveVote, votes_beyond),
    ("an older leader is acknowledged", SpecAction::Acknowledge, acknowledges_older),
    ("no heartbeat has this number", SpecAction::Acknowledge, acknowledges_nothing),
    ("no vote came", SpecAction::Become, gets_no_vote),
    ("no acknowledgement came", SpecAction::Renew, gets_no_acknowledgement),
    ("a leader says that it leads no more before it stops", SpecAction::Release, releases_early),
    ("a record forgets how long promises are", SpecAction::Write, writes_less),
    ("a follower sends heartbeats", SpecAction::Beat, follower_beats),
    ("a start found a record that forgot a promise", SpecAction::Crash, finds_less),
    ("an acknowledgement that counted was not sent", SpecAction::Renew, sends_less),
    ("a certificate has another secret", SpecAction::GiveVote, forges),
    ("a certificate is of another life", SpecAction::GiveVote, buries_another),
];

#[test]
fn changed_recordings_are_refused() {
    for (what, action, change) in CHANGES {
        let refused = (0..200).find_map(|seed| {
            let faults = [FaultSet::All, FaultSet::Storm][seed as usize % 2];
            let mut lives = lives(run_of(AlgorithmKind::Bully, faults, seed));
            assert_eq!(judge(&lives).err(), None, "before the change");
            let is_changed = change(&mut lives);
            judge(&lives).err().filter(|_| is_changed).map(|refused| (seed, refused))
        });
        let Some((seed, refused)) = refused else { panic!("not refused: {what}") };
        println!("{what}: seed {seed}: {refused}");
        assert_eq!(refused.breach.action, action, "{what}: {refused}");
    }
}

/// Changes the first turn that can be changed so.
fn first(
    lives: &mut [RecordedLife],
    mut change: impl FnMut(&LifeStart, &mut TapedTurn) -> bool,
) -> bool {
    lives.iter_mut().any(|life| life.turns.iter_mut().any(|turn| change(&life.start, turn)))
}

/// The messages that a turn sends.
fn sent(turn: &mut TapedTurn) -> impl Iterator<Item = &mut Message> {
    turn.outputs.iter_mut().filter_map(|output| match output {
        Output::Send { envelope, .. } => Some(&mut envelope.message),
        _ => None,
    })
}

/// The message that it takes.
fn taken(turn: &mut TapedTurn) -> Option<&mut Message> {
    match &mut turn.input {
        Input::Message { envelope, .. } => Some(&mut envelope.message),
        _ => None,
    }
}

fn votes_twice(lives: &mut [RecordedLife]) -> bool {
    first(lives, |start, turn| {
        let is_vote = |output: &&Output| matches!(output, Output::Send { envelope, .. } if matches!(envelope.message, Message::Vote { .. }));
        let Some(Output::Send { to, envelope }) = turn.outputs.iter().find(is_vote).cloned() else {
            return false;
        };
        let other = start.list.voters().find(|id| !to.contains(id) && *id != start.id);
        let Some(other) = other else { return false };
        turn.outputs.push(Output::Send { to: vec![other], envelope });
        true
    })
}

/// Whether a request for a vote comes in this turn, and the vote is given.
fn votes_at_once(turn: &mut TapedTurn) -> bool {
    matches!(taken(turn), Some(Message::VoteRequest { .. }))
        && sent(turn).any(|message| matches!(message, Message::Vote { .. }))
}

fn is_not_asked(lives: &mut [RecordedLife]) -> bool {
    first(lives, |_, turn| {
        let votes = votes_at_once(turn);
        if votes {
            turn.input = Input::Tick;
        }
        votes
    })
}

fn votes_beyond(lives: &mut [RecordedLife]) -> bool {
    first(lives, |_, turn| {
        let votes = votes_at_once(turn);
        if votes {
            taken(turn).into_iter().for_each(raise);
            sent(turn).for_each(raise);
        }
        votes
    })
}

/// The same in a later epoch.
fn raise(message: &mut Message) {
    if let Message::VoteRequest { epoch, .. } | Message::Vote { epoch, .. } = message {
        epoch.0 += 1000;
    }
}

fn acknowledges_older(lives: &mut [RecordedLife]) -> bool {
    first(lives, |_, turn| {
        sent(turn).any(|message| match message {
            Message::Acknowledge { epoch, .. } if epoch.0 > 1 => {
                epoch.0 -= 1;
                true
            }
            _ => false,
        })
    })
}

fn acknowledges_nothing(lives: &mut [RecordedLife]) -> bool {
    first(lives, |_, turn| {
        sent(turn).any(|message| match message {
            Message::Acknowledge { number, .. } => {
                *number += 1_000_000;
                true
            }
            _ => false,
        })
    })
}

/// Takes these messages from the life that took most of them.
fn take_from(lives: &mut [RecordedLife], is_such: fn(&Message) -> bool) -> bool {
    let such = |turn: &mut TapedTurn| taken(turn).is_some_and(|message| is_such(message));
    let count = |life: &mut RecordedLife| {
        life.turns.iter_mut().filter_map(|turn| such(turn).then_some(())).count()
    };
    let counts: Vec<usize> = lives.iter_mut().map(count).collect();
    let Some(most) = (0..lives.len()).max_by_key(|at| counts[*at]) else { return false };
    for turn in &mut lives[most].turns {
        if taken(turn).is_some_and(|message| is_such(message)) {
            turn.input = Input::Tick;
        }
    }
    counts[most] > 0
}

fn gets_no_vote(lives: &mut [RecordedLife]) -> bool {
    take_from(lives, |message| matches!(message, Message::Vote { .. }))
}

fn gets_no_acknowledgement(lives: &mut [RecordedLife]) -> bool {
    take_from(lives, |message| matches!(message, Message::Acknowledge { .. }))
}

fn releases_early(lives: &mut [RecordedLife]) -> bool {
    first(lives, |_, turn| {
        let stops = turn.outputs.iter().position(|output| {
            matches!(output, Output::Changed(Transition { from: Phase::Leading, to, .. }) if *to != Phase::Leading)
        });
        let Some(stops) = stops else { return false };
        let Output::Changed(Transition { epoch: led, .. }) = &turn.outputs[stops] else {
            return false;
        };
        let led = *led;
        let says = turn.outputs.iter().position(|output| {
            matches!(output, Output::Send { envelope, .. }
                if matches!(envelope.message, Message::Release { epoch, .. } if epoch == led))
        });
        let Some(says) = says.filter(|says| *says > stops) else { return false };
        turn.outputs.swap(stops, says);
        true
    })
}

fn writes_less(lives: &mut [RecordedLife]) -> bool {
    lives.iter_mut().any(|life| {
        let mut promised = false;
        life.turns.iter_mut().any(|turn| {
            promised |= sent(turn).any(|message| matches!(message, Message::Acknowledge { .. }));
            let mut records = turn.outputs.iter_mut().filter_map(|output| match output {
                Output::Persist { record, .. } => record.vote.as_mut(),
                _ => None,
            });
            let record = records.next().filter(|_| promised);
            record.map(|vote| vote.promised = std::time::Duration::ZERO).is_some()
        })
    })
}

fn follower_beats(lives: &mut [RecordedLife]) -> bool {
    first(lives, |start, turn| {
        let Input::Message { envelope, from, .. } = &turn.input else { return false };
        let Message::Heartbeat(Heartbeat { .. }) = envelope.message else { return false };
        let (to, envelope) = (vec![*from], envelope.clone());
        turn.outputs.push(Output::Send { to, envelope });
        start.id != *from
    })
}

fn finds_less(lives: &mut [RecordedLife]) -> bool {
    lives.iter_mut().any(|life| {
        let found = life.start.started.found.as_mut().filter(|found| found.informed);
        found.map(|found: &mut VoterRecord| found.promised = std::time::Duration::ZERO).is_some()
    })
}

fn sends_less(lives: &mut [RecordedLife]) -> bool {
    let is_such = |output: &Output| matches!(output, Output::Send { envelope, .. } if matches!(envelope.message, Message::Acknowledge { .. }));
    let with = |life: &RecordedLife| -> Vec<usize> {
        let places = life.turns.iter().enumerate();
        places.filter(|(_, turn)| turn.outputs.iter().any(is_such)).map(|(at, _)| at).collect()
    };
    let Some(life) = lives.iter_mut().max_by_key(|life| with(life).len()) else { return false };
    let places = with(life);
    let Some(middle) = places.get(places.len() / 2).copied() else { return false };
    life.turns[middle].outputs.retain(|output| !is_such(output));
    true
}

/// Changes all certificates that come.
fn change_certificates(
    lives: &mut [RecordedLife],
    change: fn(&mut electd_election::core::death::DeathCertificate),
) -> bool {
    let mut any = false;
    for turn in lives.iter_mut().flat_map(|life| &mut life.turns) {
        if let Input::Dead(certificate) = &mut turn.input {
            change(certificate);
            any = true;
        }
        if let Some(Message::Dead(certificate)) = taken(turn) {
            change(certificate);
            any = true;
        }
    }
    any
}

fn forges(lives: &mut [RecordedLife]) -> bool {
    change_certificates(lives, |certificate| certificate.secret.0[0] ^= 1)
}

fn buries_another(lives: &mut [RecordedLife]) -> bool {
    change_certificates(lives, |certificate| certificate.incarnation.0 += 1)
}
