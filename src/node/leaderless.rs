//! The time in which a node knows no leader, and why it does not.

use electd_facts::leaderless::LeaderlessStatus;

use super::clock;

/// That no leader is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaderless {
    /// When the last leader was heard last, or this node started, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// What keeps the members from electing a leader, if anything does; otherwise why the last leadership ended.
    pub cause: String,
    /// The same in words.
    pub reason: String,
}

impl Leaderless {
    /// As it is shown at this moment, in milliseconds since the Unix epoch.
    pub fn at(self, now_ms: u64) -> LeaderlessStatus {
        let Leaderless { since_ms, cause, reason } = self;
        let lasts_ms = now_ms.saturating_sub(since_ms);
        LeaderlessStatus { since: clock::moment(since_ms), lasts_ms, cause, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_leader_is_told_with_its_begin_its_length_and_why() {
        let at = |now_ms| {
            let (cause, reason) = ("isolated".to_owned(), "it reaches nobody".to_owned());
            Leaderless { since_ms: 3000, cause, reason }.at(now_ms)
        };
        let told = LeaderlessStatus {
            since: "1970-01-01T00:00:03.000Z".to_owned(),
            lasts_ms: 2000,
            cause: "isolated".to_owned(),
            reason: "it reaches nobody".to_owned(),
        };
        assert_eq!(at(5000), told);
        assert_eq!(at(1000), LeaderlessStatus { lasts_ms: 0, ..told }, "the clock was set back");
    }
}
