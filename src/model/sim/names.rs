//! Members with names: each wants some, holds some, and gives some back, beside the election that its core runs.
//!
//! Two invariants are judged after every turn: no two processes act under one name at one instant, and no process acts
//! under a smaller token of a name than one before. A process acts for as long as it is supported, even while it is
//! paused or after its death: until then its guard may not have ended the job.

use std::collections::BTreeMap;
use std::time::Duration;

use super::periods::{SimulatedPeriods, shown};
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::member::LockMember;
use crate::core::locks::periods::WallTime;
use crate::core::locks::table::{Life, LockName};
use crate::core::locks::voter::KeptTable;
use crate::core::locks::word::LockWant;
use crate::core::random::Random;
use crate::core::types::Time;

/// The random numbers for names come from a sequence of their own.
const NAMES: u64 = 0x006e_616d_6573;

/// How many names there are.
const MANY: usize = 6;

/// So many nanoseconds may be lost where a time goes from a clock to true time.
const ROUNDED: Duration = Duration::from_nanos(2);

/// One of so many turns by the clock changes what a member wants.
const SELDOM: u64 = 24;

/// All names of a world, and who acts under them.
#[derive(Debug)]
pub(super) struct WantedNames {
    pub random: Random,
    all: Vec<LockName>,
    pub of: Vec<NamedNode>,
    pub acting: Vec<Acting>,
    /// The last token under which anybody acted.
    tokens: BTreeMap<LockName, u64>,
    /// How often a process began to act under a name.
    pub taken: u64,
    /// Names that are held once in each period, if there are any.
    pub periods: Option<SimulatedPeriods>,
    /// Nobody changes its mind any more.
    pub calm: bool,
}

/// The locks of one host.
#[derive(Debug, Default)]
pub(super) struct NamedNode {
    pub member: Option<LockMember>,
    pub kept: KeptTable,
    /// The record that is being written, and the latest that waits.
    pub writing: Option<(u64, KeptTable)>,
    pub waiting: Option<(u64, KeptTable)>,
    pub tick: Option<Time>,
}

/// A process that acts, or whose job may still run, until this true time.
#[derive(Debug)]
pub(super) struct Acting {
    pub by: Life,
    pub name: LockName,
    token: u64,
    pub until: Time,
}

impl NamedNode {
    /// Whether its member wants the name once in each period.
    pub fn is_of_periods(&self, name: &LockName) -> bool {
        self.member.as_ref().is_some_and(|member| member.once().contains_key(name))
    }
}

impl WantedNames {
    pub fn new(seed: u64, nodes: usize) -> WantedNames {
        let name = |at: usize| LockName::new(&format!("name-{at}")).ok();
        WantedNames {
            random: Random::new(seed ^ NAMES),
            all: (0..MANY).filter_map(name).collect(),
            of: (0..nodes).map(|_| NamedNode::default()).collect(),
            acting: Vec::new(),
            tokens: BTreeMap::new(),
            taken: 0,
            periods: None,
            calm: false,
        }
    }

    /// The locks of a process, which begin with it.
    pub fn begin(&mut self, node: usize, view: &ElectionView, life: Life, longest: Duration) {
        let kept = self.of[node].kept.clone();
        let mut member = LockMember::new(view, life, kept, longest);
        let mut wants = BTreeMap::new();
        for name in &self.all {
            if self.random.below(2) == 0 {
                let prefer = u32::from(self.random.below(8) == 0);
                wants.insert(name.clone(), LockWant { weight: 1, prefer });
            }
        }
        if let Some(periods) = &self.periods {
            wants.extend(periods.wants());
            member.want_once(view, periods.once());
        }
        member.want(view, wants);
        self.of[node].member = Some(member);
        self.of[node].tick = None;
    }

    /// What the wall clock of a host shows.
    pub fn wall(&self, node: usize, now: Time) -> WallTime {
        let ahead = self.periods.as_ref().map_or(0, |periods| periods.ahead(node));
        shown(now, ahead)
    }

    /// The jobs of a process that run once in each period begin and end.
    pub fn run_jobs(
        &mut self,
        node: usize,
        view: &ElectionView,
        (now, until): (Time, Time),
    ) -> Result<(), String> {
        let (Some(periods), Some(member)) = (&mut self.periods, &mut self.of[node].member) else {
            return Ok(());
        };
        periods.turn((node, member), view, (now, until))
    }

    /// Now and then a member wants one name more, or one less: then it gives that back.
    pub fn change_a_wish(&mut self, node: usize, view: &ElectionView) {
        if self.calm || self.random.below(SELDOM) > 0 {
            return;
        }
        let at = self.random.below(MANY as u64) as usize;
        let (Some(member), name) = (&mut self.of[node].member, &self.all[at]) else { return };
        let mut wants = member.wants().as_ref().clone();
        if wants.remove(name).is_some() {
            member.release(view, name);
        } else {
            wants.insert(name.clone(), LockWant { weight: 1, prefer: 0 });
        }
        member.want(view, wants);
    }

    /// Notes the names under which this process acts after its turn, and judges them.
    pub fn judge(
        &mut self,
        node: usize,
        (now, local): (Time, Time),
        until: Time,
    ) -> Result<(), String> {
        let Some(member) = &self.of[node].member else { return Ok(()) };
        let life = member.life();
        let before: Vec<Acting> =
            self.acting.extract_if(.., |acting| acting.by == life || acting.until <= now).collect();
        if until <= now {
            return Ok(());
        }
        let of_periods = self.periods.iter().flat_map(SimulatedPeriods::names);
        for name in self.all.iter().chain(of_periods) {
            let Some(token) = member.holder().token(name, local) else { continue };
            let rival = self.acting.iter().find(|acting| acting.name == *name);
            if let Some(Acting { by, until, .. }) = rival
                && *until > now + ROUNDED
            {
                return Err(format!("acts under {name} while {:?} does", by.member));
            }
            let last = self.tokens.entry(name.clone()).or_default();
            if token < *last {
                return Err(format!("acts under token {token} of {name} after token {last}"));
            }
            *last = token;
            let held = before.iter().any(|acting| acting.name == *name && acting.token == token);
            self.taken += u64::from(!held);
            self.acting.push(Acting { by: life, name: name.clone(), token, until });
        }
        Ok(())
    }
}
