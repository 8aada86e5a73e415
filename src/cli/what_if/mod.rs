//! `electd simulate --config FILE --down a,b | --cut a,b/c | --add N`: what would happen to this cluster.

mod locks;
mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{file, member_names};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::config::forecast::{Case, ForecastMember};
use crate::config::{self, Attribute, Config, MemberConfig};
use crate::core::membership::MOST_MEMBERS;
use crate::core::settings::RankKind;
use crate::core::types::Role;
use crate::node::ranked;
use locks::LockForecast;
pub use words::{object, text};

/// The arguments of a simulation, which have no meaning for the cluster of a file.
const SIMULATED: [&str; 11] = [
    "algorithm",
    "nodes",
    "attributes",
    "initiators",
    "crash",
    "detected",
    "no_hierarchy",
    "delays",
    "faults",
    "quorum",
    "seed",
];

/// What happens to the cluster of a file.
#[derive(Args, Debug)]
#[command(next_help_heading = "What would happen to a cluster")]
pub struct WhatIf {
    /// The cluster of this file: with --down, --cut or --add. [env: ELECTD_CONFIG=] [default:
    /// /etc/electd/cluster.json]
    #[arg(long, value_name = "FILE", conflicts_with_all = SIMULATED)]
    config: Option<PathBuf>,
    /// These members are gone, such as a,b: their hosts are off, or do not answer.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = member_names(), conflicts_with_all = SIMULATED)]
    down: Vec<String>,
    /// The network splits into these sides, such as a,b/c,d. Members that are not named are together on one more side.
    #[arg(long, value_name = "SIDES", conflicts_with_all = SIMULATED)]
    cut: Option<String>,
    /// So many members are added first, which may lead and vote.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..), conflicts_with_all = SIMULATED)]
    add: Option<u8>,
    /// The member that leads now. Without it: the one that ranks highest, as far as the file tells.
    #[arg(long, value_name = "NAME", add = member_names(), conflicts_with_all = SIMULATED)]
    leader: Option<String>,
}

/// A cluster by its file, and what happens to it.
pub struct WhatIfQuestion {
    cluster: String,
    /// What its members are ranked by.
    rank: RankKind,
    case: Case,
    locks: Vec<LockForecast>,
}

impl WhatIf {
    /// Whether any of it is given.
    pub fn is_given(&self) -> bool {
        let WhatIf { config, down, cut, add, leader } = self;
        let given = [config.is_some(), cut.is_some(), add.is_some(), leader.is_some()];
        given.contains(&true) || !down.is_empty()
    }

    /// Reads the file, and what happens to its members.
    ///
    /// # Errors
    /// With all problems of the file; if a name is none of a member, or in two places; if nothing happens.
    pub fn read(&self) -> Result<WhatIfQuestion, CliError> {
        if self.down.is_empty() && self.cut.is_none() && self.add.is_none() {
            let what = "say what happens to the cluster: --down NAMES, --cut SIDES or --add N";
            return Err(usage(what.to_owned()));
        }
        let config = config::load(&file(self.config.clone()))?;
        let new = usize::from(self.add.unwrap_or_default());
        if config.members.len() + new > MOST_MEMBERS {
            let what = format!("--add {new}: a cluster has at most {MOST_MEMBERS} members");
            return Err(usage(what));
        }
        let mut members: Vec<ForecastMember> =
            config.members.iter().map(|member| known(&config, member)).collect();
        members.extend((1..=new).map(|number| newcomer(&config, number)));
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let leader =
            self.leader.as_ref().map(|name| place("--leader", name, &names)).transpose()?;
        if let Some(at) = leader.filter(|at| members[*at].role != Role::Member) {
            let (name, role) = (names[at], members[at].role.name());
            return Err(usage(format!("--leader {name}: a member of role {role} never leads")));
        }
        let down = places("--down", self.down.iter().map(String::as_str), &names)?;
        let sides = self.sides(&names, &down)?;
        let locks = locks::forecast(&config, &down, &sides);
        let case = Case {
            algorithm: config.algorithm,
            quorum: config.quorum,
            preempt: config.preempt,
            timing: config.timing,
            leader,
            down,
            sides,
            members,
        };
        Ok(WhatIfQuestion { case, rank: config.rank, cluster: config.cluster, locks })
    }

    fn sides(
        &self,
        names: &[&str],
        down: &BTreeSet<usize>,
    ) -> Result<Vec<BTreeSet<usize>>, CliError> {
        let mut sides = Vec::new();
        let mut rest: BTreeSet<usize> = (0..names.len()).collect();
        for side in self.cut.iter().flat_map(|cut| cut.split('/')) {
            let side = places("--cut", side.split(','), names)?;
            if let Some(at) = side.intersection(down).next() {
                let name = names[*at];
                return Err(usage(format!("{name} is in --down and in --cut: name it in one")));
            }
            if let Some(at) = side.iter().find(|at| !rest.contains(at)) {
                return Err(usage(format!("--cut: {} is on two sides", names[*at])));
            }
            rest.retain(|at| !side.contains(at));
            sides.push(side);
        }
        if !rest.is_subset(down) || sides.is_empty() {
            sides.push(rest);
        }
        if self.cut.is_some() && sides.len() < 2 {
            let what =
                "--cut: all members are on one side; separate the sides with /, such as a,b/c";
            return Err(usage(what.to_owned()));
        }
        Ok(sides)
    }
}

/// A member of the file, with the rank that the file tells.
fn known(config: &Config, member: &MemberConfig) -> ForecastMember {
    let value = match &member.rank.attribute {
        Attribute::Id => Some(0),
        Attribute::Priority(number) => Some(*number),
        Attribute::Address => ranked::sample(config, member).ok().map(|sample| sample.value),
        _ => None,
    };
    let MemberConfig { name, role, .. } = member;
    let rank = value.map(|value| (value, member.id));
    ForecastMember { name: name.clone(), role: *role, rank, is_new: false }
}

/// A member to come, with a name that no other has.
fn newcomer(config: &Config, number: usize) -> ForecastMember {
    let mut name = format!("new-{number}");
    while config.member(&name).is_some() {
        name.push('\'');
    }
    ForecastMember { name, role: Role::Member, rank: None, is_new: true }
}

fn usage(what: String) -> CliError {
    CliError::new(Exit::Usage, what)
}

fn place(flag: &str, name: &str, names: &[&str]) -> Result<usize, CliError> {
    let place = names.iter().position(|known| *known == name);
    let all = names.join(", ");
    place.ok_or_else(|| usage(format!("{flag}: there is no member {name:?}; there are {all}")))
}

fn places<'a>(
    flag: &str,
    given: impl Iterator<Item = &'a str>,
    names: &[&str],
) -> Result<BTreeSet<usize>, CliError> {
    let mut places = BTreeSet::new();
    for name in given {
        if !places.insert(place(flag, name, names)?) {
            return Err(usage(format!("{flag}: {name} is named twice")));
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn refused(args: &[&str]) -> Option<ErrorKind> {
        let args = [&["electd", "simulate"], args].concat();
        crate::cli::command().try_get_matches_from(args).err().map(|error| error.kind())
    }

    const GIVEN: [[&str; 2]; 5] = [
        ["--config", "c.json"],
        ["--down", "a"],
        ["--cut", "a/b"],
        ["--add", "1"],
        ["--leader", "a"],
    ];

    /// What a simulation takes would be passed over without a word.
    #[test]
    fn what_happens_to_a_cluster_goes_with_no_argument_of_a_simulation() {
        let simulated: [&[&str]; 11] = [
            &["--algorithm", "ring"],
            &["--nodes", "3"],
            &["--attributes", "1,2,3,4,5"],
            &["--initiators", "1"],
            &["--crash", "5"],
            &["--crash", "5", "--detected"],
            &["--no-hierarchy"],
            &["--delays", "random"],
            &["--faults"],
            &["--quorum", "none"],
            &["--seed", "7"],
        ];
        for given in GIVEN {
            assert_eq!(refused(&given), None, "{given:?}");
            for simulated in simulated {
                let both = [simulated, &given].concat();
                assert_eq!(refused(&both), Some(ErrorKind::ArgumentConflict), "{both:?}");
            }
        }
        for simulated in SIMULATED {
            let option = format!("--{}", simulated.replace('_', "-"));
            let with_it = [&["--config", "c.json", option.as_str()][..], &["1"]].concat();
            assert!(refused(&with_it).is_some(), "{option}");
        }
        assert_eq!(refused(&["--add", "0"]), Some(ErrorKind::ValueValidation));
    }

    #[test]
    fn each_argument_asks_for_a_cluster() {
        let nothing =
            || WhatIf { config: None, down: Vec::new(), cut: None, add: None, leader: None };
        assert!(!nothing().is_given());
        let [text, file] = ["a".to_owned(), "c.json".to_owned()];
        for one in [
            WhatIf { config: Some(file.into()), ..nothing() },
            WhatIf { down: vec![text.clone()], ..nothing() },
            WhatIf { cut: Some(text.clone()), ..nothing() },
            WhatIf { add: Some(1), ..nothing() },
            WhatIf { leader: Some(text), ..nothing() },
        ] {
            assert!(one.is_given(), "{one:?}");
        }
    }
}
