//! What keys of a configuration mean, for `check`.

use crate::config::{Attribute, Config, MemberConfig};
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
    let has_zero = |member: &MemberConfig| member.rank.attribute == Attribute::Priority(0);
    let zero = if config.members.iter().any(has_zero) {
        "; 0 is a priority like others: who is never to lead gets the role witness or observer"
    } else {
        ""
    };
    let by = by + zero;
    match config.margin {
        margin if margin.is_none() => by,
        margin => format!("{by}; preempts when it exceeds the leader's by more than {margin}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::core::settings::Margin;

    #[test]
    fn a_value_is_told_with_what_it_means() {
        let after = Preempt::After(Duration::from_secs(30));
        for (preempt, words) in [
            (Preempt::Always, "always: a higher member takes over from a live leader at once"),
            (Preempt::Never, "never: a live leader stays, whoever ranks higher"),
            (
                after,
                "after 30s: so long a higher member is eligible without a break before it takes over",
            ),
        ] {
            assert_eq!(preemption(preempt), words);
        }
        let text = include_str!("../../conf/cluster.json");
        let mut config = crate::config::parse(text, Path::new("c.json")).unwrap();
        assert_eq!(ranking(&config), "by id");
        config.rank = RankKind::Priority;
        assert_eq!(ranking(&config), "by priority, then by id");
        config.members[1].rank.attribute = Attribute::Priority(0);
        let zero =
            "; 0 is a priority like others: who is never to lead gets the role witness or observer";
        assert_eq!(ranking(&config), format!("by priority, then by id{zero}"));
        config.members[1].rank.attribute = Attribute::Priority(-1);
        assert_eq!(ranking(&config), "by priority, then by id");
        (config.rank, config.margin) = (RankKind::Cpu, Margin::Percent(10));
        let words = "by cpu, then by id; sampled again and again; preempts when it exceeds the leader's by more than 10%";
        assert_eq!(ranking(&config), words);
    }
}
