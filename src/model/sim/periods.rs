//! Names that are held once in each period, and the jobs of their holders.
//!
//! The wall clocks of a minority of the voters, and of any other host, are a year ahead or show 1970. Judged is each begin of
//! a job, and at the end whether the jobs went on: no period has two runs, but of a job that is tried again; that one has
//! none after a run that ended with 0 and is noted in the table; and no wrong clock moves a period.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::core::locks::coordination::ElectionView;
use crate::core::locks::member::LockMember;
use crate::core::locks::periods::{OncePer, PeriodRun, RunEnd, WallTime};
use crate::core::locks::table::{Life, LockName};
use crate::core::locks::word::LockWant;
use crate::core::random::Random;
use crate::core::types::Time;

/// The random numbers for periods come from a sequence of their own.
const PERIODS: u64 = 0x0070_6572_696f_6473;

/// How long a period is.
pub(super) const LENGTH: Duration = Duration::from_secs(2);

/// What a right clock shows as a run begins: 2026-01-01.
const BEGIN: i64 = 1_767_225_600_000;
const YEAR: i64 = 365 * 24 * 3600 * 1000;

/// How far right clocks are apart at most, in milliseconds.
const APART: u64 = 1500;

/// What the wall clock that is so many milliseconds ahead shows at this true time.
pub(super) fn shown(now: Time, ahead: i64) -> WallTime {
    let millis = i64::try_from(now.0 / 1_000_000).unwrap_or(i64::MAX);
    let shown = BEGIN.saturating_add(millis).saturating_add(ahead);
    WallTime(u64::try_from(shown).unwrap_or(0))
}

/// What became of the runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeriodFigures {
    /// How often a job began.
    pub begun: u64,
    /// How often a process died between its taking of a name and the begin of the job.
    pub missed: u64,
}

/// The job of a host under a name.
#[derive(Debug)]
struct PeriodJob {
    token: u64,
    /// When it ends by itself, once it has begun; none if it was broken off.
    ends: Option<Time>,
    has_begun: bool,
}

/// All names that are held once in each period.
#[derive(Debug)]
pub(super) struct SimulatedPeriods {
    random: Random,
    /// How far the wall clock of each host is ahead.
    ahead: Vec<i64>,
    once: BTreeMap<LockName, OncePer>,
    jobs: BTreeMap<(usize, LockName), PeriodJob>,
    /// The end of the last period in which the job of each name began.
    begun: BTreeMap<LockName, WallTime>,
    /// The end of the last period of each name whose run ended with 0, by the table of any member.
    done: BTreeMap<LockName, WallTime>,
    /// The runs that were seen in a table: the end of the period, the token and the life.
    seen: BTreeMap<(LockName, u64), (WallTime, Life)>,
    started: BTreeSet<(LockName, u64)>,
    ended_lives: BTreeSet<Life>,
    /// The runs whose hosts lost the name before these ended.
    taken: BTreeSet<(LockName, u64)>,
    figures: PeriodFigures,
}

impl SimulatedPeriods {
    /// The clocks of at most so many voters are wrong.
    pub fn new(seed: u64, nodes: usize, (voters, most): (&[usize], usize)) -> SimulatedPeriods {
        let mut random = Random::new(seed ^ PERIODS);
        let mut wrong = 0;
        let ahead = (0..nodes).map(|node| {
            let may = !voters.contains(&node) || wrong < most;
            let kind = random.below(3);
            if may && kind < 2 {
                wrong += usize::from(voters.contains(&node));
            }
            match kind {
                0 if may => YEAR,
                1 if may => -BEGIN,
                _ => i64::try_from(random.below(APART)).unwrap_or(0),
            }
        });
        let ahead = ahead.collect();
        let name = |retry: bool| LockName::new(if retry { "tried" } else { "once" }).ok();
        let once = |retry| OncePer::new(LENGTH, Duration::ZERO, retry).ok();
        let names = [false, true].into_iter().filter_map(|retry| name(retry).zip(once(retry)));
        SimulatedPeriods {
            ahead,
            once: names.collect(),
            random,
            jobs: BTreeMap::new(),
            begun: BTreeMap::new(),
            done: BTreeMap::new(),
            seen: BTreeMap::new(),
            started: BTreeSet::new(),
            ended_lives: BTreeSet::new(),
            taken: BTreeSet::new(),
            figures: PeriodFigures::default(),
        }
    }

    pub fn ahead(&self, node: usize) -> i64 {
        self.ahead[node]
    }

    pub fn names(&self) -> impl Iterator<Item = &LockName> {
        self.once.keys()
    }

    pub fn once(&self) -> BTreeMap<LockName, OncePer> {
        self.once.clone()
    }

    pub fn wants(&self) -> impl Iterator<Item = (LockName, LockWant)> {
        self.once.keys().map(|name| (name.clone(), LockWant { weight: 1, prefer: 0 }))
    }

    /// When the next job of this host ends by itself. Of one that has ended the next turn takes note that can.
    pub fn ends(&self, node: usize, now: Time) -> Option<Time> {
        let own = self.jobs.iter().filter(|((at, _), _)| *at == node);
        own.filter_map(|(_, job)| job.ends).filter(|ends| *ends > now).min()
    }

    pub fn died(&mut self, node: usize, life: Life) {
        self.ended_lives.insert(life);
        let missed = self.jobs.iter().filter(|((at, _), job)| *at == node && !job.has_begun);
        self.figures.missed += missed.count() as u64;
        self.jobs.retain(|(at, _), _| *at != node);
    }

    /// The jobs of a process after its turn; it is supported until then.
    pub fn turn(
        &mut self,
        (node, member): (usize, &mut LockMember),
        view: &ElectionView,
        (now, until): (Time, Time),
    ) -> Result<(), String> {
        let names: Vec<LockName> = self.once.keys().cloned().collect();
        for name in names {
            let Some(table) = member.holder().table().cloned() else { continue };
            let Some(run) = table.run(&name).copied() else { continue };
            let hold = table.get(&name).filter(|hold| hold.token == run.token);
            if let Some(hold) = hold {
                self.seen.insert((name.clone(), run.token), (run.until, hold.by));
            }
            let is_lost = |token: u64, life: &Life| {
                table.note(life.member).is_some_and(|note| {
                    note.incarnation >= life.incarnation && note.version.counter > token
                })
            };
            let lost = self.seen.iter().filter(|((_, token), (_, life))| is_lost(*token, life));
            self.taken.extend(lost.map(|(run, _)| run.clone())); // from a member that was cut off
            if run.end == Some(RunEnd::Code(0)) {
                let done = self.done.entry(name.clone()).or_default();
                *done = run.until.max(*done);
            }
            let held = member.holder().held().find(|(held, _)| **held == name);
            let Some((_, token)) = held else {
                self.jobs.remove(&(node, name));
                continue;
            };
            let acts = until > now && member.holder().token(&name, view.now).is_some();
            self.act((node, &name), (&run, token, acts), now)?;
            self.give_back((node, &name), (member, view), token, now);
        }
        Ok(())
    }

    /// A job begins, or is broken off.
    fn act(
        &mut self,
        (node, name): (usize, &LockName),
        (run, token, acts): (&PeriodRun, u64, bool),
        now: Time,
    ) -> Result<(), String> {
        let length = LENGTH / 4 + self.random.up_to(LENGTH / 2);
        let waits = self.random.below(4) > 0;
        let job = self.jobs.entry((node, name.clone()));
        let job = job.or_insert(PeriodJob { token, ends: None, has_begun: false });
        if job.token != token {
            *job = PeriodJob { token, ends: None, has_begun: false };
        }
        if !acts {
            job.ends = None; // its guard has ended it
        } else if !job.has_begun && !waits && run.token == token {
            (job.has_begun, job.ends) = (true, Some(now + length));
            self.figures.begun += 1;
            self.started.insert((name.clone(), token));
            return self.judge_begin(name, run, now);
        }
        Ok(())
    }

    fn judge_begin(&mut self, name: &LockName, run: &PeriodRun, now: Time) -> Result<(), String> {
        let last = self.begun.insert(name.clone(), run.until).unwrap_or_default();
        let (until, retry) = (run.until, run.once.retry);
        if until < last || until == last && !retry {
            return Err(format!("{name} runs twice in the period until {until:?}"));
        }
        let done = self.done.get(name).copied().unwrap_or_default();
        if until <= done {
            return Err(format!("{name} runs again after it ended with 0 in the period {until:?}"));
        }
        let latest = shown(now, i64::try_from(APART).unwrap_or(0));
        if run.begun > latest || run.from() > latest {
            return Err(format!("{name} runs for the period from {:?} at {latest:?}", run.from()));
        }
        Ok(())
    }

    /// A job that has ended gives its name back, and so does one that was broken off, or that never was one.
    fn give_back(
        &mut self,
        (node, name): (usize, &LockName),
        (member, view): (&mut LockMember, &ElectionView),
        token: u64,
        now: Time,
    ) {
        let Some(job) = self.jobs.get(&(node, name.clone())) else { return };
        let run = member.holder().table().and_then(|table| table.run(name));
        let is_of_run = run.is_some_and(|run| run.token == token);
        let code = if self.random.below(4) == 0 { 1 } else { 0 };
        match job.ends {
            Some(ends) if ends <= now => member.end_run(view, name, RunEnd::Code(code)),
            None if job.has_begun || !is_of_run => member.release(view, name),
            _ => return,
        }
        self.jobs.remove(&(node, name.clone()));
    }

    /// Whether each job ran of late, if all is well; and whether nothing but a death kept a run from its begin.
    pub fn judge(&self, now: Time, is_well: bool) -> Result<PeriodFigures, String> {
        let earliest = shown(now, 0);
        for name in self.once.keys().filter(|_| is_well) {
            let last = self.begun.get(name).copied().unwrap_or_default();
            if last.after(LENGTH) < earliest {
                return Err(format!(
                    "{name} ran in the period until {last:?}, and it is {earliest:?}"
                ));
            }
        }
        // A name that was given back before its job began is free again for the same period.
        let mut periods: BTreeMap<(&LockName, WallTime), bool> = BTreeMap::new();
        for (run, (until, life)) in &self.seen {
            let is_excused = self.ended_lives.contains(life) || self.taken.contains(run);
            let is_well = self.started.contains(run) || is_excused;
            *periods.entry((&run.0, *until)).or_default() |= is_well;
        }
        // As long as too few right clocks are known, the first period of all may be one of 1970.
        let first = shown(Time(0), 0);
        let is_over = |until: WallTime| until > first && until.after(LENGTH * 2) < earliest;
        match periods.into_iter().find(|((_, until), is_well)| !is_well && is_over(*until)) {
            Some(((name, until), _)) => {
                Err(format!("no job of {name} began in the period until {until:?}"))
            }
            None => Ok(self.figures),
        }
    }
}
