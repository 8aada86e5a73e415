//! What keys of a configuration mean, for `check`.

use crate::config::Config;
use crate::core::settings::{Preempt, RankKind};

/// The meaning of `preempt`.
pub fn preemption(preempt: Preempt) -> String {
    let meaning = match preempt {
        Preempt::Always => "a higher member takes over from a live leader at once",
        Preempt::Never => "a live leader stays, whoever ranks higher",
        Preempt::After(_) => {
            "so long a higher member is eligible without a break before it takes over"
        }
    };
    format!("{preempt}: {meaning}")
}

/// The meaning of the rank's attribute.
pub fn ranking(config: &Config) -> String {
    let by = match config.rank {
        RankKind::Id => "by id".to_owned(),
        kind if kind.changes() => {
            format!("by {}, then by id; sampled again and again", kind.name())
        }
        kind => format!("by {}, then by id", kind.name()),
    };
    match config.margin {
        margin if margin.is_none() => by,
        margin => format!("{by}; preempts when it exceeds the leader's by more than {margin}"),
    }
}
