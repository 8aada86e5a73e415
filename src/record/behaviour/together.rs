//! What the recordings of several lives say together. An order between two nodes comes from messages alone.

use std::collections::{BTreeMap, BTreeSet};

use super::alone::Account;
use super::{Breach, RefusedRecording, SpecAction, ToldAnswer};
use crate::core::types::{Incarnation, NodeId};

/// Judges the accounts of all lives together.
pub fn judge(accounts: &[Account<'_>]) -> Result<(), RefusedRecording> {
    one_leader_an_epoch(accounts)?;
    for lives in lives_of_each(accounts) {
        for (before, after) in lives.iter().zip(lives.iter().skip(1)) {
            follows(before, after)?;
        }
    }
    judge_sent(accounts)
}

/// `NoEpochTwice`: no epoch has two leaders, and nobody leads again in one.
fn one_leader_an_epoch(accounts: &[Account<'_>]) -> Result<(), RefusedRecording> {
    let mut led: BTreeMap<u64, &Account<'_>> = BTreeMap::new();
    for account in accounts {
        for (epoch, turn) in &account.led {
            let Some(other) = led.insert(*epoch, account) else { continue };
            if life_of(other) == life_of(account) && *turn == 0 {
                continue; // the recording has a gap amid the leadership
            }
            let why = format!("epoch {epoch} is led by {} as well", other.life.start.name);
            let breach = Breach { action: SpecAction::NoEpochTwice, why };
            return Err(account.refused(*turn, breach));
        }
    }
    Ok(())
}

fn life_of(account: &Account<'_>) -> (NodeId, Incarnation) {
    (account.life.start.id, account.life.start.incarnation)
}

/// The lives of each node, in order. A node two of whose lives have one number lost its state between them: that it
/// forgot is no step of the specification, and the other members keep such a node out (C7).
fn lives_of_each<'a>(accounts: &'a [Account<'a>]) -> Vec<Vec<&'a Account<'a>>> {
    let mut nodes: BTreeMap<NodeId, Vec<&Account<'_>>> = BTreeMap::new();
    for account in accounts.iter().filter(|account| account.life.start.is_whole) {
        nodes.entry(account.life.start.id).or_default().push(account);
    }
    for lives in nodes.values_mut() {
        lives.sort_by_key(|account| account.life.start.incarnation);
    }
    let is_lost = |lives: &Vec<&Account<'_>>| {
        lives.windows(2).any(|pair| life_of(pair[0]) == life_of(pair[1]))
    };
    nodes.into_values().filter(|lives| !is_lost(lives)).collect()
}

/// `Crash` and `Stop`: a life goes on with what the life before had said. One that found an empty disk knows nothing of
/// that (`Lose`).
fn follows(before: &Account<'_>, after: &Account<'_>) -> Result<(), RefusedRecording> {
    let start = &after.life.start;
    let Some(found) = start.started.found.filter(|found| found.informed) else { return Ok(()) };
    let next = before.life.start.incarnation.next() == start.incarnation;
    if next && found.promised < before.made {
        let why =
            format!("the disk knows of {:?} and not of {:?} (Q4)", found.promised, before.made);
        return Err(after.refused(0, Breach { action: SpecAction::Crash, why }));
    }
    let last = before.votes.iter().map(|vote| vote.epoch).max();
    for vote in &after.votes {
        if Some(vote.epoch) <= last && !before.votes.iter().any(|other| is_same(other, vote)) {
            let why = format!("it votes in epoch {} after its life before had (Q1)", vote.epoch);
            return Err(after.refused(0, Breach { action: SpecAction::GiveVote, why }));
        }
    }
    Ok(())
}

/// Whether these are votes for one candidate in one epoch.
fn is_same(one: &ToldAnswer, other: &ToldAnswer) -> bool {
    (one.epoch, one.to.0) == (other.epoch, other.to.0)
}

/// What each life sent.
type SentByLives = BTreeMap<(NodeId, Incarnation), BTreeSet<ToldAnswer>>;

/// A vote or an acknowledgement that counts was sent, if the sender's recording has what it sent before and after.
fn judge_sent(accounts: &[Account<'_>]) -> Result<(), RefusedRecording> {
    let whole = accounts.iter().filter(|account| account.life.start.is_whole);
    let whole: BTreeSet<_> = whole.map(life_of).collect();
    let (mut votes, mut acknowledged) = (SentByLives::new(), SentByLives::new());
    for account in accounts {
        votes.entry(life_of(account)).or_default().extend(&account.votes);
        acknowledged.entry(life_of(account)).or_default().extend(&account.acknowledged);
    }
    for account in accounts {
        let kinds = [
            (&account.counted_votes, &votes, SpecAction::Become),
            (&account.counted_acknowledged, &acknowledged, SpecAction::Renew),
        ];
        for (counted, sent, action) in kinds {
            let unsent = counted.iter().find(|(told, _)| {
                let sent = sent.get(&told.by);
                sent.is_some_and(|sent| is_missing(told, sent, whole.contains(&told.by)))
            });
            if let Some((told, turn)) = unsent {
                let why = format!("nobody sent what it counts in epoch {} (E3)", told.epoch);
                return Err(account.refused(*turn, Breach { action, why }));
            }
        }
    }
    Ok(())
}

/// Whether this was not sent, although the recording has what was sent before and after it.
fn is_missing(told: &ToldAnswer, sent: &BTreeSet<ToldAnswer>, is_whole: bool) -> bool {
    let to_same = |other: &ToldAnswer| other.to == told.to;
    let before = is_whole || sent.range(..*told).next_back().is_some_and(to_same);
    let after = sent.range(*told..).next().is_some_and(to_same);
    before && after && !sent.contains(told)
}
