//! The members that were asked, and who of them knows best.

use super::status::{LeaderStatus, Status};

/// A member that was asked.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its status, or why there is none.
    pub answer: Result<&'a Status, Silence>,
}

/// Why a member did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It has no admin address to ask at, which is no problem.
    NotServed,
    /// Another node answers in its place, in words.
    Other(String),
    /// Nobody answered, or not as a node does, in words.
    None(String),
}

/// The answers.
pub fn answers<'a>(asked: &[Asked<'a>]) -> impl Iterator<Item = &'a Status> {
    asked.iter().filter_map(|asked| asked.answer.as_ref().ok().copied())
}

/// The leader that counts of all that are named: the one of the greatest epoch, as the nodes that name another have not
/// heard of it yet; of two in one epoch the one of the greater id, whoever answers first.
#[must_use]
pub fn newest_leader<'a>(answers: impl Iterator<Item = &'a Status>) -> Option<&'a LeaderStatus> {
    answers.filter_map(Status::named_leader).max_by_key(|leader| (leader.epoch, &leader.id))
}

/// The places of the nodes that lead, if there are several. A leader that answered first may have handed over to one
/// that answered last: whoever asks them once more knows. Both led at the same time if both lead on.
#[must_use]
pub fn rivals(answers: &[Option<&Status>]) -> Vec<usize> {
    let leads = |at: &usize| answers[*at].is_some_and(Status::leads);
    let found: Vec<usize> = (0..answers.len()).filter(leads).collect();
    if found.len() < 2 { Vec::new() } else { found }
}

/// The status that says most of the others: that of the leader, or of a node that follows it, or of one that hears
/// others.
#[must_use]
pub fn best<'a>(answers: impl Iterator<Item = &'a Status>) -> Option<&'a Status> {
    answers.max_by_key(|one| {
        let epoch = one.named_leader().map(|leader| leader.epoch);
        (epoch, one.leads(), !one.stalled, !one.is_cut_off())
    })
}
