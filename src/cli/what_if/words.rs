//! What would happen to a cluster, in words and as JSON.

use serde_json::{Value, json};

use super::WhatIfQuestion;
use super::locks;
use crate::cli::print::{counted, millis};
use crate::config::forecast::{Case, Forecast, Leads, Side};
use crate::core::settings::{Quorum, RankKind};

/// For people.
pub fn text(asked: &WhatIfQuestion) -> String {
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
    text += &locks::text(&asked.locks);
    text + "\nGUARANTEE\n" + &left.iter().map(|line| format!("  {line}\n")).collect::<String>()
}

/// For programs.
pub fn object(asked: &WhatIfQuestion) -> Value {
    let WhatIfQuestion { case, cluster, .. } = asked;
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
        "locks": asked.locks.iter().map(|lock| json!({
            "name": lock.name, "holder_before": lock.before, "holder": lock.after,
        })).collect::<Vec<_>>(),
        "guarantee": left(case, &forecast).join(" "),
        "worst_failover_ms": forecast.guarantee.worst_failover.map(millis),
        "dual_leader_window_ms": forecast.guarantee.dual_leader_window.map(millis),
    })
}

impl WhatIfQuestion {
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
        let (quorum, algorithm) = (quorum.name(), algorithm.name());
        let members = counted(members.len(), "member");
        format!(
            "cluster {}: {members}, quorum {quorum}, algorithm {algorithm}; {leads}",
            self.cluster
        )
    }
}

/// What comes of a side.
fn sentences(case: &Case, forecast: &Forecast, side: &Side) -> Vec<String> {
    let within = format!("within {:?}", side.within.unwrap_or_default());
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
        let lives = if side.voters == 1 { "lives" } else { "live" };
        let are = if needed == 1 { "is" } else { "are" };
        let mut voters =
            format!("{} {lives}, {needed} {are} needed", counted(side.voters, "voter"));
        if let missing @ 1.. = needed.saturating_sub(side.voters) {
            voters += &format!(": {missing} must come back");
        }
        sentences.push(voters + ".");
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
    use std::time::Duration;

    use super::*;
    use crate::config::forecast::ForecastMember;
    use crate::core::settings::AlgorithmKind;
    use crate::core::types::Role;

    /// On another host the names of this cluster may not resolve.
    #[test]
    fn who_leads_is_not_guessed_where_the_ranks_are_not_known() {
        let member = |name: &str| ForecastMember {
            name: name.to_owned(),
            role: Role::Member,
            rank: None,
            is_new: false,
        };
        let members = vec![member("a"), member("b")];
        let case = Case::example(Quorum::None, &[Role::Member; 2]);
        let case = Case { algorithm: AlgorithmKind::Ring, members, ..case };
        let mut asked = WhatIfQuestion {
            cluster: "c".to_owned(),
            rank: RankKind::Address,
            case,
            locks: Vec::new(),
        };
        let now = |asked: &WhatIfQuestion| asked.now(&asked.case.forecast());
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

    fn asked(case: Case) -> WhatIfQuestion {
        WhatIfQuestion {
            cluster: "c".to_owned(),
            rank: RankKind::Priority,
            case,
            locks: Vec::new(),
        }
    }

    /// A cluster of candidates, of which these go down and which is cut like this.
    fn case(quorum: Quorum, count: usize, down: &[usize], sides: &[&[usize]]) -> Case {
        let mut case = Case::example(quorum, &vec![Role::Member; count]);
        case.down = down.iter().copied().collect();
        case.timing.heartbeat = Duration::from_millis(150);
        if !sides.is_empty() {
            case.sides = sides.iter().map(|side| side.iter().copied().collect()).collect();
        }
        case
    }

    #[test]
    fn each_side_and_the_guarantee_are_told_in_words() {
        use Quorum::{Majority, None as Alone};
        let certain = "  At most one leader at any instant, as before.\n";
        let next = "  The next leader that dies silently is replaced within 900ms.\n";
        let unsteady = "  Each takes up to 2.1s more while a member comes and goes.\n";
        let cases = [
            (
                case(Majority, 3, &[0, 1], &[]),
                "n2: nobody leads. 1 voter lives, 2 are needed: 1 must come back. A leader there stops leading within \
                 400ms.\n",
                format!("{certain}{unsteady}"),
            ),
            (
                case(Majority, 3, &[0, 1, 2], &[]),
                "no member lives: nobody leads, as no member may lead there. 0 voters live, 2 are needed: 2 must come \
                 back.\n",
                format!("{certain}{unsteady}"),
            ),
            (
                case(Majority, 1, &[], &[]),
                "n0: n0 goes on leading. 1 voter lives, 1 is needed. After one more failure nobody may lead.\n",
                certain.to_owned(),
            ),
            (
                case(Majority, 5, &[4], &[]),
                "n0, n1, n2, n3: n3 leads, within 900ms. 4 voters live, 3 are needed. One more may fail.\n",
                format!("{certain}{next}{unsteady}"),
            ),
            (
                case(Majority, 5, &[], &[]),
                "n0, n1, n2, n3, n4: n4 goes on leading. 5 voters live, 3 are needed. 2 more may fail.\n",
                format!("{certain}{next}{unsteady}"),
            ),
            (
                case(Alone, 4, &[], &[&[0, 1], &[2, 3]]),
                "n0, n1: n1 leads, within 800ms. One more may fail.\nn2, n3: n3 goes on leading. One more may fail.\n",
                "  2 leaders at the same time, one on each side; after the heal two can coexist for at most 850ms.\n  \
                 The next leader that dies silently is replaced within 800ms.\n"
                    .to_owned(),
            ),
            (
                case(Alone, 2, &[1], &[]),
                "n0: n0 leads, within 550ms. After one more failure nobody may lead.\n",
                "  At most one live member leads.\n".to_owned(),
            ),
        ];
        for (case, sides, guarantee) in cases {
            let (count, quorum) = (counted(case.members.len(), "member"), case.quorum.name());
            let highest =
                format!("n{} leads now, as it ranks highest by priority", case.members.len() - 1);
            let first = format!(
                "cluster c: {count}, quorum {quorum}, algorithm bully; {highest}: if another does, say --leader NAME"
            );
            assert_eq!(text(&asked(case)), format!("{first}\n\n{sides}\nGUARANTEE\n{guarantee}"));
        }
    }

    #[test]
    fn a_program_gets_each_side_with_its_figures_and_its_words() {
        let mut cut = case(Quorum::Majority, 5, &[0], &[&[0, 1, 2, 3], &[4]]);
        cut.leader = Some(4);
        let expected = json!({
            "cluster": "c", "members": ["n0", "n1", "n2", "n3", "n4"], "quorum": "majority", "algorithm": "bully",
            "leaders_before": ["n4"], "voters_needed": 3,
            "sides": [
                {
                    "members": ["n1", "n2", "n3"], "leaders": ["n3"], "stays": false, "within_ms": 900, "voters": 3,
                    "failures_tolerated": 0, "leader_stops_within_ms": null,
                    "words": "n3 leads, within 900ms. 3 voters live, 3 are needed. After one more failure nobody may lead.",
                },
                {
                    "members": ["n4"], "leaders": [], "stays": false, "within_ms": null, "voters": 1,
                    "failures_tolerated": 0, "leader_stops_within_ms": 400,
                    "words": "nobody leads. 1 voter lives, 3 are needed: 2 must come back. A leader there stops leading \
                              within 400ms.",
                },
            ],
            "guarantee": "At most one leader at any instant, as before. Each takes up to 2.1s more while a member comes and \
                          goes.",
            "locks": [], "worst_failover_ms": 900, "dual_leader_window_ms": null,
        });
        assert_eq!(object(&asked(cut)), expected);
        let stays = object(&asked(case(Quorum::None, 3, &[], &[])));
        let side = &stays["sides"][0];
        assert_eq!((&side["leaders"], &side["stays"]), (&json!(["n2"]), &json!(true)));
        assert_eq!((&side["within_ms"], &side["failures_tolerated"]), (&json!(0), &json!(2)));
        let figures =
            (&stays["worst_failover_ms"], &stays["dual_leader_window_ms"], &stays["voters_needed"]);
        assert_eq!(figures, (&json!(800), &json!(850), &Value::Null));
    }
}
