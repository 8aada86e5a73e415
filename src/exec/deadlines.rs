//! When a job is sent TERM and KILL, so that nothing of it runs when the leadership has ended.

use std::time::Duration;

use crate::config::Config;
use crate::core::settings::Quorum;

/// How long before the end of the leadership a job is ended, if the leadership is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// TERM comes this long before the end.
    pub term: Duration,
    /// KILL comes this long before the end.
    pub kill: Duration,
}

impl Deadlines {
    /// A quarter of the time for which a heartbeat is valid is reserved for ending the job, and half of
    /// that quarter for the time after KILL. A heartbeat is valid for 9/11 of the lease; without a
    /// majority, for the time after which a stalled leader counts itself as failed.
    #[must_use]
    pub fn of(config: &Config) -> Deadlines {
        Deadlines::of_renewal(match config.quorum {
            Quorum::Majority => config.timing.lease * 9 / 11,
            Quorum::None => config.timing.stall(),
        })
    }

    /// The same, if a heartbeat is valid for this long.
    #[must_use]
    pub fn of_renewal(whole: Duration) -> Deadlines {
        Deadlines { term: whole / 4, kill: whole / 8 }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config;

    #[test]
    fn a_job_has_an_eighth_of_a_renewal_to_end_after_term_and_an_eighth_after_kill() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cluster.json");
        let deadlines = |quorum: &str| {
            let member = r#"{"name": "a", "id": "0dac99d5-3e7f-40fb-ace7-f991c011c960", "address": "127.0.0.1:1"}"#;
            let timing =
                r#"{"failure": "13s", "message": "1s", "heartbeat": "1s", "lease": "11s"}"#;
            let text = format!(
                r#"{{"cluster": "c", "quorum": "{quorum}", "data_dir": "d", "timing": {timing}, "members": [{member}]}}"#
            );
            fs::write(&file, text).unwrap();
            let Deadlines { term, kill } = Deadlines::of(&config::load(&file).unwrap());
            (term.as_millis(), kill.as_millis())
        };
        assert_eq!(deadlines("majority"), (2_250, 1_125), "of 9 s");
        assert_eq!(deadlines("none"), (2_750, 1_375), "of 11 s");
    }
}
