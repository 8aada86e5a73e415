//! How well a node knows why a leadership ended.

pub use electd_facts::entry::Entry;

/// How well a change of this cause tells why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tells {
    /// The node that tells it did not see the end.
    Nothing,
    /// What this node did then: another caused it, and may know why.
    Little,
    /// What befell the leader.
    Fate,
    /// Why the leader itself gave up, such as the order of an operator.
    Order,
}

impl Tells {
    /// Of a cause, as one word.
    pub fn by(cause: &str) -> Tells {
        match cause {
            "start" => Tells::Nothing,
            "resigned" | "drained" | "switched_over" | "unhealthy" | "removed" | "stopped" => {
                Tells::Order
            }
            "leader_dead"
            | "leader_certified"
            | "leader_suspected"
            | "leader_disconnected"
            | "leader_removed"
            | "leader_restarted"
            | "lease_ended"
            | "stalled"
            | "preempted"
            | "taking_over"
            | "outranks" => Tells::Fate,
            _ => Tells::Little,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_befell_a_leader_tells_more_than_what_another_member_did_then() {
        for (tells, causes) in [
            (Tells::Nothing, &["start"][..]),
            (Tells::Little, &["announced", "joined", "leader_released", "highest", ""]),
            (
                Tells::Fate,
                &[
                    "leader_dead",
                    "leader_certified",
                    "leader_suspected",
                    "leader_disconnected",
                    "leader_removed",
                    "leader_restarted",
                    "lease_ended",
                    "stalled",
                    "preempted",
                    "taking_over",
                    "outranks",
                ],
            ),
            (
                Tells::Order,
                &["resigned", "drained", "switched_over", "unhealthy", "removed", "stopped"],
            ),
        ] {
            for cause in causes {
                assert_eq!(Tells::by(cause), tells, "{cause}");
            }
        }
        assert!(Tells::Nothing < Tells::Little && Tells::Little < Tells::Fate);
        assert!(Tells::Fate < Tells::Order);
    }
}
