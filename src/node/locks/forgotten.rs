//! The runs that operators want forgotten.

use std::sync::Arc;

use super::orders::OrderAnswer;
use crate::core::locks::periods::PeriodRun;
use crate::core::locks::table::{LockName, LockTable};
use crate::core::types::Time;
use crate::node::clock;
use crate::node::command::CommandError;

/// Why a run is not forgotten.
pub fn refused(name: &LockName, run: &PeriodRun) -> String {
    let until = clock::moment(run.until.0);
    format!("the lock {name} has had its run of this period, which ends at {until}")
}

/// A run that an operator wants forgotten.
#[derive(Debug)]
pub struct ForgottenRun {
    pub name: LockName,
    pub run: PeriodRun,
    pub until: Time,
    pub answer: OrderAnswer,
}

/// The runs that operators want forgotten.
#[derive(Debug, Default)]
pub struct ForgottenRuns(Vec<ForgottenRun>);

impl ForgottenRuns {
    pub fn add(&mut self, forgotten: ForgottenRun) {
        self.0.push(forgotten);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn deadline(&self) -> Option<Time> {
        self.0.iter().map(|forgotten| forgotten.until).min()
    }

    /// Answers for what is forgotten by now, and what takes too long.
    pub fn look(&mut self, table: Option<&Arc<LockTable>>, now: Time) {
        self.0.retain(|ForgottenRun { name, run, until, answer }| {
            let known = table.and_then(|table| table.run(name));
            let outcome = match known {
                Some(known) if known.token == run.token && now < *until => return true,
                Some(_) => Err(CommandError::NotNow(format!(
                    "{}: the clocks of a majority of the voters have not passed that, or do not say",
                    refused(name, run)
                ))),
                None => Ok(format!("the last run under the lock {name} is forgotten")),
            };
            let _ = answer.try_send(outcome); // the caller may have given up
            false
        });
    }
}
