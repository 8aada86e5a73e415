//! What a cluster guarantees, in words and figures: for `check`, and for every node's status.

use std::time::Duration;

use crate::core::bounds;
use crate::core::settings::{Quorum, Timing};

/// What may be relied upon with a quorum and these timings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// What holds when members fail and when the network splits, in a few sentences.
    pub words: String,
    /// The longest time without a leader after one died silently; none for a lone member.
    pub worst_failover: Option<Duration>,
    /// The same after one whose death was proved; none where a refused redial proves nothing.
    pub proven_failover: Option<Duration>,
    /// How long two leaders can coexist once a partition healed; none where there never are two.
    pub dual_leader_window: Option<Duration>,
}

impl Guarantee {
    /// The guarantee of a cluster of this many members.
    #[must_use]
    pub fn of(quorum: Quorum, timing: &Timing, members: usize, trust_refused: bool) -> Guarantee {
        let others = members > 1;
        Guarantee {
            words: words(quorum).to_owned(),
            worst_failover: bounds::worst_failover(timing, members),
            proven_failover: (others && trust_refused).then(|| bounds::proven_failover(timing)),
            dual_leader_window: match quorum {
                Quorum::None => others.then(|| bounds::dual_leader_window(timing)),
            },
        }
    }
}

/// The guarantee in words. They hold whatever the timings are.
#[must_use]
pub fn words(quorum: Quorum) -> &'static str {
    match quorum {
        Quorum::None => {
            "Available down to one live member. Processes may crash and restart; while messages \
             arrive within `message`, at most one live member leads. In a partition each side has \
             a leader; when it heals, one remains, with a greater epoch."
        }
    }
}
