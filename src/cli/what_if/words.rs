//! What would happen to a cluster, in words and as JSON.

use serde_json::{Value, json};

use super::Asked;
use super::forecast::{Case, Forecast, Leads, Side};
use crate::cli::print::millis;
use crate::core::settings::{Quorum, RankKind};

/// For people.
pub fn text(asked: &Asked) -> String {
    let forecast = asked.case.forecast();
    let mut text = format!("{}\n\n", asked.now(&forecast));
    for side in &forecast.sides {
        let live = match side.live.as_slice() {
            [] => "no member lives".to_owned(),
            live => asked.case.names(live).join(", "),
        };
        text += &format!("{live}: {}\n", sentences(&asked.case, &forecast, side).join(" "));
    }
    let left = left(&asked.case, &forecast);
    text + "\nGUARANTEE\n" + &left.iter().map(|line| format!("  {line}\n")).collect::<String>()
}

/// For programs.
pub fn object(asked: &Asked) -> Value {
    let Asked { case, cluster, .. } = asked;
    let forecast = case.forecast();
    let sides = forecast.sides.iter().map(|side| {
        let (leaders, stays) = match &side.leads {
            Leads::Stays(leaders) => (case.names(leaders), true),
            Leads::One(leaders) => (case.names(leaders), false),
            Leads::NoCandidate | Leads::NoMajority => (Vec::new(), false),
        };
        json!({
            "members": case.names(&side.live),
            "leaders": leaders,
            "stays": stays,
            "within_ms": side.within.map(millis),
            "voters": side.voters,
            "failures_tolerated": side.spare,
            "leader_stops_within_ms": side.deposed.map(millis),
            "words": sentences(case, &forecast, side).join(" "),
        })
    });
    json!({
        "cluster": cluster,
        "members": case.members.iter().map(|member| &member.name).collect::<Vec<_>>(),
        "quorum": case.quorum.name(),
        "algorithm": case.algorithm.name(),
        "leaders_before": case.names(&forecast.before),
        "voters_needed": forecast.needed,
        "sides": sides.collect::<Vec<_>>(),
        "guarantee": left(case, &forecast).join(" "),
        "worst_failover_ms": forecast.guarantee.worst_failover.map(millis),
        "dual_leader_window_ms": forecast.guarantee.dual_leader_window.map(millis),
    })
}

impl Asked {
    /// The cluster, and who leads it now.
    fn now(&self, forecast: &Forecast) -> String {
        let Case { members, quorum, algorithm, leader, .. } = &self.case;
        let by = self.rank.name();
        let leads = match (leader, self.case.names(&forecast.before).as_slice()) {
            (Some(_), [name]) => format!("{name} leads now"),
            (_, [name]) => format!(
                "{name} leads now, as it ranks highest by {by}: if another does, say --leader NAME"
            ),
            _ if self.rank == RankKind::Address => {
                "an address cannot be looked up here, so who leads now is not known: say --leader NAME"
                    .to_owned()
            }
            _ => format!("who leads now is not known, as {by} is measured: say --leader NAME"),
        };
        let (count, quorum, algorithm) = (members.len(), quorum.name(), algorithm.name());
        format!(
            "cluster {}: {count} members, quorum {quorum}, algorithm {algorithm}; {leads}",
            self.cluster
        )
    }
}

impl Case {
    fn names(&self, places: &[usize]) -> Vec<&str> {
        places.iter().map(|at| self.members[*at].name.as_str()).collect()
    }
}

/// What comes of a side.
fn sentences(case: &Case, forecast: &Forecast, side: &Side) -> Vec<String> {
    let within = match side.within {
        Some(within) => format!("within {within:?}"),
        None => "when enough voters are back".to_owned(),
    };
    let mut sentences = match &side.leads {
        Leads::Stays(leaders) => match case.names(leaders).as_slice() {
            [name] => vec![format!("{name} goes on leading.")],
            _ => vec!["the leader of now goes on, whichever it is.".to_owned()],
        },
        Leads::One(leaders) => match case.names(leaders).as_slice() {
            [name] => vec![format!("{name} leads, {within}.")],
            names => vec![format!("the highest of {} leads, {within}.", names.join(", "))],
        },
        Leads::NoCandidate => vec!["nobody leads, as no member may lead there.".to_owned()],
        Leads::NoMajority => vec!["nobody leads.".to_owned()],
    };
    if let Some(needed) = forecast.needed {
        sentences.push(match needed.checked_sub(side.voters) {
            None | Some(0) => format!("{} voters live, {needed} are needed.", side.voters),
            Some(missing) => {
                format!(
                    "{} voters live, {needed} are needed: {missing} must come back.",
                    side.voters
                )
            }
        });
    }
    if let Some(time) = side.deposed {
        sentences.push(format!("A leader there stops leading within {time:?}."));
    }
    if side.within.is_some() {
        sentences.push(match side.spare {
            0 => "After one more failure nobody may lead.".to_owned(),
            1 => "One more may fail.".to_owned(),
            spare => format!("{spare} more may fail."),
        });
    }
    sentences
}

/// What is left of the guarantee.
fn left(case: &Case, forecast: &Forecast) -> Vec<String> {
    let leading = forecast.sides.iter().filter(|side| side.within.is_some()).count();
    let guarantee = &forecast.guarantee;
    let mut left = vec![match (case.quorum, leading) {
        (Quorum::Majority, _) => "At most one leader at any instant, as before.".to_owned(),
        (Quorum::None, 0 | 1) => "At most one live member leads.".to_owned(),
        (Quorum::None, leaders) => {
            let window = guarantee.dual_leader_window.unwrap_or_default();
            format!(
                "{leaders} leaders at the same time, one on each side; after the heal two can coexist for at most \
                 {window:?}."
            )
        }
    }];
    let spare = forecast.sides.iter().any(|side| side.spare > 0);
    if let Some(worst) = guarantee.worst_failover.filter(|_| spare) {
        left.push(format!("The next leader that dies silently is replaced within {worst:?}."));
    }
    if let Some(more) = guarantee.unsteady {
        left.push(format!("Each takes up to {more:?} more while a member comes and goes."));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::what_if::forecast::Member;
    use crate::cli::what_if::forecast::tests::cluster;
    use crate::core::settings::AlgorithmKind;
    use crate::core::types::Role;

    /// On another host the names of this cluster may not resolve.
    #[test]
    fn who_leads_is_not_guessed_where_the_ranks_are_not_known() {
        let member = |name: &str| Member {
            name: name.to_owned(),
            role: Role::Member,
            rank: None,
            is_new: false,
        };
        let members = vec![member("a"), member("b")];
        let case = cluster(Quorum::None, &[Role::Member; 2]);
        let case = Case { algorithm: AlgorithmKind::Ring, members, ..case };
        let mut asked = Asked { cluster: "c".to_owned(), rank: RankKind::Address, case };
        let now = |asked: &Asked| asked.now(&asked.case.forecast());
        let begin = "cluster c: 2 members, quorum none, algorithm ring; ";
        let address =
            "an address cannot be looked up here, so who leads now is not known: say --leader NAME";
        assert_eq!(now(&asked), format!("{begin}{address}"));
        asked.rank = RankKind::Cpu;
        let measured = "who leads now is not known, as cpu is measured: say --leader NAME";
        assert_eq!(now(&asked), format!("{begin}{measured}"));
        assert!(text(&asked).contains("\n\na, b: the leader of now goes on, whichever it is."));
        asked.case.leader = Some(1);
        assert_eq!(now(&asked), format!("{begin}b leads now"));
    }
}
