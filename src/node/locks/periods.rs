//! Names that are held once in each period, as a node has them: what keeps its program from a run, what became of the last
//! one, and how it is forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use electd_facts::runs::{LastRun, RunOutcome};

use super::forgotten::{ForgottenRun, refused};
use super::named::WantedName;
use super::orders::OrderAnswer;
use super::request::LockRefused;
use super::seen::LocksSeen;
use super::side::LockSide;
use super::wanted::WantedLock;
use crate::core::Core;
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::member::LockMember;
use crate::core::locks::periods::{OncePer, RunEnd, WallTime};
use crate::core::locks::table::{LockName, LockTable};
use crate::core::locks::word::{LockWant, LockWord};
use crate::core::membership::MemberList;
use crate::core::types::Time;
use crate::node::clock;
use crate::node::command::CommandError;
use crate::node::running::NodeHandle;

/// A period that begins within this share of its length, and this time, is waited for: the clock of a host that comes too
/// early may only be a little ahead.
const SOON: u32 = 10;
const SOON_AT_MOST: Duration = Duration::from_secs(60);

/// Why a program has no run of this period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeriodHindrance {
    /// The coordinator goes by the periods of another host.
    Differs,
    /// This run was in it.
    HasRun(LastRun),
}

impl NodeHandle {
    /// As [`NodeHandle::lock`], for a name that is held once in each of these periods. What holds it ends with
    /// [`WantedLock::end_run`].
    ///
    /// # Errors
    /// If the cluster has no majority, the name is wanted by this node already, or too many are.
    pub fn lock_once(
        &self,
        name: LockName,
        want: LockWant,
        once: OncePer,
    ) -> Result<WantedLock, LockRefused> {
        self.want_lock(name, want, Some(once))
    }

    /// What keeps a program of this node, which wants the name since then, from a run of the present period, as far as this
    /// node knows.
    pub(crate) fn period_hindrance(
        &self,
        name: &LockName,
        once: OncePer,
        since: Time,
    ) -> Option<PeriodHindrance> {
        let seen = self.published.locks_seen();
        if seen.periods.differ.contains(name) {
            return Some(PeriodHindrance::Differs);
        }
        let run = seen.table.as_ref().and_then(|table| table.run(name))?;
        let agreed = seen.periods.agreed.as_ref()?;
        // The coordinator has yet to say by whose periods it goes.
        if run.once != once && agreed.at.since(since) < self.timing().failure {
            return None;
        }
        let now = agreed.by(clock::now());
        let soon = (once.length() / SOON).min(SOON_AT_MOST);
        let is_own = seen.holds(name, run.token);
        let has_run = !is_own && !run.leaves_room(once.retry) && run.until.since(now) > soon;
        has_run
            .then(|| seen.last_run(name, &self.published.members()))?
            .map(PeriodHindrance::HasRun)
    }
}

impl LocksSeen {
    /// Whether this member holds the name under this token.
    fn holds(&self, name: &LockName, token: u64) -> bool {
        let hold = self.table.as_ref().and_then(|table| table.get(name));
        hold.is_some_and(|hold| {
            hold.token == token && self.own.is_some_and(|(own, _)| own == hold.by.member)
        })
    }

    /// The last run under a name that is held once in each period.
    pub(super) fn last_run(&self, name: &LockName, list: &MemberList) -> Option<LastRun> {
        let table = self.table.as_ref()?;
        let run = table.run(name)?;
        let is_held = table.get(name).is_some_and(|hold| hold.token == run.token);
        let (outcome, code) = match run.end {
            _ if is_held => (RunOutcome::Runs, None),
            Some(RunEnd::Code(code)) => (RunOutcome::Ended, Some(code)),
            Some(RunEnd::Unused) => (RunOutcome::Unused, None),
            None => (RunOutcome::Unknown, None),
        };
        Some(LastRun {
            node: list.name(run.by),
            token: run.token,
            begun_ms: run.begun.0,
            from_ms: run.from().0,
            until_ms: run.until.0,
            outcome,
            code,
        })
    }

    /// Why nobody holds the name now, if its period has had its run.
    pub(super) fn rests(&self, name: &LockName, list: &MemberList) -> Option<String> {
        let run = self.table.as_ref()?.run(name)?;
        let now = match &self.periods.agreed {
            Some(agreed) => agreed.by(clock::now()),
            None => WallTime(clock::wall_clock_ms()),
        };
        let rests = now < run.until && !run.leaves_room(run.once.retry);
        rests.then(|| self.last_run(name, list))?.map(|run| run.rest())
    }
}

/// Gives a name back. Under a token under which no program began, the period still lacks its run. (G13)
pub(super) fn give_back(
    member: &mut LockMember,
    view: &ElectionView,
    (name, code): (&LockName, Option<u8>),
    begun: &BTreeMap<LockName, u64>,
) {
    let Some(token) = member.holder().held_token(name) else { return };
    let run = member.holder().table().and_then(|table| table.run(name));
    let is_of_run = run.is_some_and(|run| run.token == token);
    match code.map(RunEnd::Code) {
        Some(end) if is_of_run => member.end_run(view, name, end),
        None if is_of_run && begun.get(name) != Some(&token) => {
            member.end_run(view, name, RunEnd::Unused);
        }
        _ => member.release(view, name),
    }
}

impl LockSide {
    /// Whether what this member holds is good for no run: it was not taken for one, or its program was ended already.
    pub(super) fn is_spent(&self, member: &LockMember, name: &WantedName) -> bool {
        let table = member.holder().table();
        let token = table.and_then(|table| table.get(&name.name)).map(|hold| hold.token);
        let run = table.and_then(|table| table.run(&name.name)).map(|run| run.token);
        name.once.is_some() && (run != token || self.begun.get(&name.name).copied() == token)
    }

    /// Whether there is only the last run under this name to forget.
    pub(super) fn is_remembered(&self, name: &LockName) -> bool {
        let table = self.seen.table.as_ref();
        let wanted = self.seen.wishes.iter().any(|(_, wants)| wants.contains_key(name));
        let is_free = |table: &Arc<LockTable>| table.get(name).is_none();
        !wanted && table.is_some_and(|table| is_free(table) && table.run(name).is_some())
    }

    /// Has the coordinator forget the last run under this name, if its period has ended.
    pub(super) fn forget(
        &mut self,
        core: &Core,
        name: LockName,
        (now, until, answer): (Time, Time, OrderAnswer),
    ) {
        let run = self.seen.table.as_ref().and_then(|table| table.run(&name)).copied();
        let (Some(run), Some(leader)) = (run, core.leader()) else {
            let what = "no leader is known, who would forget it".to_owned();
            let _ = answer.try_send(Err(CommandError::NotNow(what))); // the caller may have given up
            return;
        };
        if clock::wall_clock_ms() < run.until.0 {
            let why = refused(&name, &run);
            let _ = answer.try_send(Err(CommandError::Refused(why))); // the caller may have given up
            return;
        }
        match &mut self.member {
            Some(member) if leader.id == core.id() => member.forget_run(now, name.clone()),
            _ => self.said.push((leader.id, LockWord::Forget { name: name.clone() })),
        }
        self.forgotten.add(ForgottenRun { name, run, until, answer });
    }
}
