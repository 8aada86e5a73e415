//! What a cluster guarantees, in words and figures: for `check`, and for every node's status.

use std::time::Duration;

use crate::core::bounds;
use crate::core::settings::{AlgorithmKind, Quorum, Timing};

/// What may be relied upon with a quorum and these timings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarantee {
    /// What holds when members fail and when the network splits; then the figures below.
    pub sentences: Vec<String>,
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
    pub fn of(
        algorithm: AlgorithmKind,
        quorum: Quorum,
        timing: &Timing,
        members: usize,
        trust_refused: bool,
    ) -> Guarantee {
        let others = members > 1;
        let proven = || bounds::proven_failover(algorithm, timing, members);
        let mut guarantee = Guarantee {
            sentences: words(quorum).iter().map(|&sentence| sentence.to_owned()).collect(),
            worst_failover: bounds::worst_failover(algorithm, timing, members),
            proven_failover: (others && trust_refused).then(proven),
            dual_leader_window: match quorum {
                Quorum::None => others.then(|| bounds::dual_leader_window(timing)),
                Quorum::Majority => None,
            },
        };
        let figures = guarantee.figures(bounds::further_death(algorithm, timing));
        guarantee.sentences.extend(figures);
        guarantee
    }

    /// All sentences as one text.
    #[must_use]
    pub fn text(&self) -> String {
        self.sentences.join(" ")
    }

    fn figures(&self, further: Duration) -> Vec<String> {
        let Some(worst) = self.worst_failover else {
            return vec!["There is no other member to take over from this one.".to_owned()];
        };
        let mut figures = vec![format!(
            "A leader that dies silently is replaced within {worst:?}, and {further:?} more for \
             each member that dies while it is being elected."
        )];
        if let Some(proven) = self.proven_failover {
            figures.push(format!(
                "One whose process ends on a live host is replaced within {proven:?}, usually within \
                 milliseconds, as the redial is refused."
            ));
        }
        if let Some(window) = self.dual_leader_window {
            figures.push(format!(
                "After a partition healed, two leaders can coexist for at most {window:?}."
            ));
        }
        figures
    }
}

/// What holds whatever the timings are.
fn words(quorum: Quorum) -> &'static [&'static str] {
    match quorum {
        Quorum::Majority => &[
            "At most one leader at any instant, under any delays, loss, partitions, pauses and \
             restarts, as long as clocks run within 10 % of true time and disks keep what they \
             synced.",
            "Needs more than half of the voters: with fewer connected, nobody leads.",
        ],
        Quorum::None => &[
            "Available down to one live member.",
            "At most one live member leads, as long as members only crash and restart and every \
             message arrives in time.",
            "In a partition each side has a leader; when it heals, one remains, with a greater epoch.",
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        heartbeat: Duration::from_millis(100),
        failure: Duration::from_millis(500),
        message: Duration::from_millis(50),
        lease: Duration::from_millis(400),
    };

    fn of(algorithm: AlgorithmKind, members: usize, trust_refused: bool) -> Guarantee {
        Guarantee::of(algorithm, Quorum::None, &TIMING, members, trust_refused)
    }

    #[test]
    fn the_words_hold_the_figures() {
        let guarantee = of(AlgorithmKind::Bully, 5, true);
        let text = guarantee.text();
        for figure in ["within 700ms", "600ms more", "within 200ms", "at most 800ms"] {
            assert!(text.contains(figure), "{figure} in {text}");
        }
        let ring = of(AlgorithmKind::Ring, 5, true).text();
        assert!(ring.contains("within 1.1s"), "a run takes longer: {ring}");
    }

    #[test]
    fn what_does_not_apply_is_not_said() {
        let distrustful = of(AlgorithmKind::Bully, 5, false);
        assert_eq!(distrustful.proven_failover, None);
        assert!(!distrustful.text().contains("refused"));
        let lone = of(AlgorithmKind::Bully, 1, true);
        assert_eq!((lone.worst_failover, lone.dual_leader_window), (None, None));
    }
}
