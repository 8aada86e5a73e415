//! Why a member holds a lock, or nobody does: for `electd why --lock`.

use serde_json::{Value, json};
use strum::IntoStaticStr;

use super::hint::{ClusterFlags, Hint, starts};
use super::hold::HolderBefore;
use super::locks::{LockEntry, LockHindrance, LocksUnavailable, LocksView};
use super::status::Status;
use super::words::{and, moment};

/// A member that was asked.
#[derive(Clone, Copy, Debug)]
pub struct WhyLockAnswer<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its status, if it answers.
    pub status: Option<&'a Status>,
    /// What it knows of the lock, if it knows of locks.
    pub locks: Option<&'a LocksView>,
}

/// A cause of who holds a lock, or of why nobody does, or a member does not.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "a field without words is what its name says")]
pub enum LockCause {
    /// It stays with its holder. Others may want it.
    Stays { holder: String, before: Option<HolderBefore>, others: Vec<String> },
    /// Its holder may not act by it.
    Unsupported { holder: String, why: String },
    /// Its holder does not answer.
    HolderSilent { holder: String },
    /// No name can be had.
    Unavailable { why: LocksUnavailable, silent: Vec<String> },
    /// No program waits for it.
    NobodyWants,
    /// The coordinator has yet to give it to one of these.
    OnItsWay { candidates: Vec<String> },
    /// A member where a program waits for it is no candidate.
    Hindered { member: String, by: LockHindrance },
    /// A candidate comes after all others for a while.
    Behind { member: String },
    /// These members do not answer: whether a program there wants it is not known.
    Unasked { members: Vec<String> },
}

/// Who holds a lock, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyLock {
    entry: LockEntry,
    /// The first is the cause; the others are about members that do not hold it.
    pub causes: Vec<LockCause>,
}

impl LockCause {
    /// The cause as one word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// In words, without a full stop.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            LockCause::Stays { holder, before, .. } => {
                let before = before.as_ref().map(|it| {
                    let (moment, end) = (moment(it.until_ms), &it.reason);
                    format!("; {} held it before, until {moment}: {end}", it.holder)
                });
                let stays =
                    format!("it stays with {holder} until {holder} gives it back or is gone");
                stays + &before.unwrap_or_default()
            }
            LockCause::Unsupported { holder, why } => {
                format!("{holder} may not act by it now: {why}")
            }
            LockCause::HolderSilent { holder } => format!(
                "{holder} does not answer; the lock goes to another candidate once the voters' promises to {holder} have \
                 ended, or its death is certified"
            ),
            LockCause::Unavailable { why, silent } if silent.is_empty() => why.to_string(),
            LockCause::Unavailable { why, silent } => {
                format!("{why}; {} not answer", does(silent))
            }
            LockCause::NobodyWants => "no program of a member that answers waits for it".to_owned(),
            LockCause::OnItsWay { candidates } => {
                format!("the coordinator has yet to give it to {}", or(candidates))
            }
            LockCause::Hindered { member, by } => {
                format!("a program waits for it at {member}, but {member} {by}")
            }
            LockCause::Behind { member } => format!(
                "{member} comes after the other candidates for a while: its command failed, or {member} gave the lock back by \
                 an order"
            ),
            LockCause::Unasked { members } => format!(
                "{} not answer: whether a program there waits for it is not known",
                does(members)
            ),
        }
    }

    /// What to do, if anything can be done.
    #[must_use]
    pub fn remedy(&self, lock: &str, flags: &ClusterFlags) -> Option<String> {
        let hint = match self {
            LockCause::Stays { others, .. } => {
                let to = others.first()?;
                let line = Hint::LockMove.with(&format!("{lock} --to {to}"), flags);
                format!("to have {to} hold it: {line}")
            }
            LockCause::Unsupported { .. } | LockCause::HolderSilent { .. } => {
                format!("see which members answer: {}", Hint::Status.by(flags))
            }
            LockCause::Unavailable { why: LocksUnavailable::NoLeader, .. } => Hint::Why.by(flags),
            LockCause::Unavailable { why: LocksUnavailable::NoTable, silent } => {
                starts(silent.first()?, flags)
            }
            LockCause::Unavailable { .. }
            | LockCause::OnItsWay { .. }
            | LockCause::Behind { .. } => {
                return None;
            }
            LockCause::NobodyWants => {
                let line = Hint::Exec.with(&format!("--lock {lock} -- CMD"), flags);
                format!("on each host that may hold it: {line}")
            }
            LockCause::Hindered { member, by: LockHindrance::Drained } => {
                Hint::Undrain.at(member, flags)
            }
            LockCause::Hindered { member, by: LockHindrance::Unhealthy } => {
                Hint::Status.at(member, flags)
            }
            LockCause::Hindered { .. } => return None,
            LockCause::Unasked { members } => starts(members.first()?, flags),
        };
        Some(hint)
    }
}

/// The names with the verb that follows them.
fn does(names: &[String]) -> String {
    let verb = if names.len() == 1 { "does" } else { "do" };
    format!("{} {verb}", and(names))
}

fn or(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        names => names.concat(),
    }
}

impl WhyLock {
    /// Of the lock of this name, as these members answer.
    #[must_use]
    pub fn of(lock: &str, answers: &[WhyLockAnswer<'_>]) -> WhyLock {
        // The leader coordinates; another may lag, and knows no more candidates than itself.
        let known = answers.iter().filter_map(|one| Some((one.status?, one.locks?)));
        let best = known.max_by_key(|(status, locks)| (status.leads(), locks.version));
        let (own, view) = best
            .map_or((None, LocksView::default()), |(status, view)| (Some(status), view.clone()));
        let entry = view.lock(lock);
        let silent: Vec<String> = answers
            .iter()
            .filter(|one| one.status.is_none())
            .map(|one| one.name.to_owned())
            .collect();
        let mut causes = vec![first(&entry, &view, own, answers, &silent)];
        let tells = |one: &WhyLockAnswer<'_>| {
            let by = one.locks?.lock(lock).hindered?;
            Some(LockCause::Hindered { member: one.name.to_owned(), by })
        };
        let others = |name: &&String| Some(*name) != entry.holder.as_ref();
        causes.extend(answers.iter().filter_map(tells));
        causes.extend(
            (entry.behind.iter().filter(others))
                .map(|member| LockCause::Behind { member: member.clone() }),
        );
        let unasked: Vec<String> = silent.into_iter().filter(|name| others(&name)).collect();
        let is_told = matches!(causes.first(), Some(LockCause::Unavailable { silent, .. }) if !silent.is_empty());
        if !unasked.is_empty() && !is_told {
            causes.push(LockCause::Unasked { members: unasked });
        }
        WhyLock { entry, causes }
    }

    /// The member that holds it.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        self.entry.holder.as_deref()
    }

    /// A line for each cause, and below it what to do.
    #[must_use]
    pub fn text(&self, flags: &ClusterFlags) -> String {
        let LockEntry { name, holder, token, since_ms, .. } = &self.entry;
        let since = since_ms.map(|since| format!(" since {}", moment(since)));
        let head = match holder {
            Some(holder) => format!(
                "{holder} holds {name}{}, under token {}",
                since.unwrap_or_default(),
                token.unwrap_or_default()
            ),
            None => format!("nobody holds {name}"),
        };
        let mut lines = Vec::new();
        for (place, cause) in self.causes.iter().enumerate() {
            let words = cause.words();
            lines.push(if place == 0 { format!("{head}: {words}") } else { words });
            lines.extend(cause.remedy(name, flags).map(|remedy| format!("  => {remedy}")));
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    /// For programs.
    #[must_use]
    pub fn object(&self, flags: &ClusterFlags) -> Value {
        let LockEntry { name, holder, token, since_ms, candidates, .. } = &self.entry;
        let causes = self.causes.iter().map(|cause| {
            let remedy = cause.remedy(name, flags);
            json!({ "cause": cause.name(), "reason": cause.words(), "remedy": remedy })
        });
        json!({
            "lock": name,
            "holder": holder,
            "token": token,
            "since_ms": since_ms,
            "candidates": candidates,
            "causes": causes.collect::<Vec<_>>(),
        })
    }
}

/// Why the holder holds it, or nobody does.
fn first(
    entry: &LockEntry,
    view: &LocksView,
    own: Option<&Status>,
    answers: &[WhyLockAnswer<'_>],
    silent: &[String],
) -> LockCause {
    let Some(holder) = entry.holder.clone() else {
        return match &view.unavailable {
            Some(why @ LocksUnavailable::NoTable) => {
                let members = own.map(|own| &own.members[..]).unwrap_or_default();
                let votes =
                    |name: &&String| members.iter().any(|it| it.name == **name && it.votes());
                let silent = silent.iter().filter(votes).cloned().collect();
                LockCause::Unavailable { why: why.clone(), silent }
            }
            Some(why) => LockCause::Unavailable { why: why.clone(), silent: Vec::new() },
            None if entry.candidates.is_empty() => LockCause::NobodyWants,
            None => LockCause::OnItsWay { candidates: entry.candidates.clone() },
        };
    };
    // Whether it may act, the holder alone knows.
    let told = answers.iter().find(|one| one.name == holder);
    let reason = told.and_then(|one| one.locks).and_then(|locks| locks.lock(&entry.name).reason);
    if told.is_some_and(|one| one.status.is_none()) {
        return LockCause::HolderSilent { holder };
    }
    match reason {
        Some(why) => LockCause::Unsupported { holder, why },
        None => {
            let others = entry.candidates.iter().filter(|name| **name != holder);
            let others = others.cloned().collect();
            LockCause::Stays { holder, before: entry.before.clone(), others }
        }
    }
}

#[cfg(test)]
mod tests;
