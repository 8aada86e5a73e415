//! The last run of a command that runs once in each period.

use serde::{Deserialize, Serialize};

use super::words::moment;

/// The last run under a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// The member on whose host it ran.
    pub node: String,
    /// Its token.
    pub token: u64,
    /// When that member was given the lock for it, by the clocks of a majority.
    pub begun_ms: u64,
    /// When its period began.
    pub from_ms: u64,
    /// When its period ends: the next run may begin then.
    pub until_ms: u64,
    /// What became of it.
    pub outcome: RunOutcome,
    /// The exit code of a command that ended by itself.
    pub code: Option<u8>,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Its host still holds the lock for it.
    Runs,
    /// The command ended by itself.
    Ended,
    /// The command never began: another host may run it in the same period.
    Unused,
    /// The command was ended, or its host died: it may have run in part, or not at all.
    Unknown,
}

impl LastRun {
    /// In words, without a full stop.
    #[must_use]
    pub fn words(&self) -> String {
        let (node, begun) = (&self.node, moment(self.begun_ms));
        match (self.outcome, self.code) {
            (RunOutcome::Runs, _) => format!("{node} has run it since {begun}"),
            (RunOutcome::Ended, Some(code)) => {
                format!("{node} ran it at {begun}, and it ended with {code}")
            }
            (RunOutcome::Unused, _) => {
                format!("{node} was to run it at {begun}, and did not begin")
            }
            _ => format!("{node} was to run it at {begun}, and nobody knows how that ended"),
        }
    }

    /// The same, and when the next period begins.
    #[must_use]
    pub fn rest(&self) -> String {
        let until = moment(self.until_ms);
        format!("already run in this period: {}; the next period begins at {until}", self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_with_its_host_its_time_and_its_end() {
        let run = LastRun {
            node: "a".to_owned(),
            token: 7,
            begun_ms: 1000,
            from_ms: 0,
            until_ms: 86_400_000,
            outcome: RunOutcome::Ended,
            code: Some(3),
        };
        let at = "1970-01-01T00:00:01.000Z";
        let rest = format!(
            "already run in this period: a ran it at {at}, and it ended with 3; the next period begins at \
             1970-01-02T00:00:00.000Z"
        );
        assert_eq!(run.rest(), rest);
        for (outcome, words) in [
            (RunOutcome::Runs, format!("a has run it since {at}")),
            (RunOutcome::Unused, format!("a was to run it at {at}, and did not begin")),
            (
                RunOutcome::Unknown,
                format!("a was to run it at {at}, and nobody knows how that ended"),
            ),
        ] {
            assert_eq!(LastRun { outcome, code: None, ..run.clone() }.words(), words);
        }
    }
}
