//! `electd leader`: prints the leader, for people and for scripts.

use clap::Args;
use electd_facts::judge::{Judgement, Verdict};
use electd_facts::majority;
use serde_json::{Value, json};

use crate::core::locks::table::LockName;
use crate::core::settings::Quorum;
use crate::exec::target::LockTarget;
use crate::node::status::{LeaderStatus, MemberStatus, Status};

use super::args::{OutputArgs, OutputFormat};
use super::ask::{AskedNode, NodeArgs, answers, any_answer, judged, newest_leader};
use super::engine::NamedEngine;
use super::error::CliError;
use super::exit::Exit;
use super::lock::{self, lock_names};
use super::print;

/// Print the leader: its name, its address, its epoch.
///
/// The epoch is the fencing token.
///
/// Without --node and --admin all members are asked. If they disagree, as they do for a moment during a failover, the
/// greatest epoch counts, and stderr says which members differ. The answer is printed as soon as a majority agrees. With
/// "quorum": "none" each part of a network that is cut may have a leader of its own, so every member has to answer, or
/// not to answer in time: of a part that cannot be reached from here nothing is known.
///
/// With --lock it prints who holds that lock, and the token, as the leader knows it.
///
/// Exit codes: 0 a leader is known; 1 nodes answer, and none knows a leader, or two or more lead: all of them are printed;
/// or nobody holds the lock; 69 no node answers.
/// With --check: 0 the node leads, or holds the lock, 1 it does not, 69 unknown, for it does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd leader --config cluster.json      node-5  127.0.0.1:7105  epoch 7
  electd leader --config cluster.json --output json | jq -r .name
  electd leader --check && run-the-backup  on the leading host alone
  electd leader --lock backup --check      whether this host holds the lock")]
pub struct LeaderArgs {
    #[command(flatten)]
    nodes: NodeArgs,

    /// Print nothing; exit with 0 if a node leads: the one named, or this host's.
    #[arg(long)]
    check: bool,

    /// Ask for this lock rather than for the leadership of the cluster. With a URL, as for `exec`, the engine there decides
    /// on it, and --check exits with 0 if a process of this host holds it.
    #[arg(long, value_name = "NAME|URL", add = lock_names())]
    lock: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

impl LeaderArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self.lock.as_deref().map(lock::target).transpose()? {
            Some(LockTarget::Engine(url)) => {
                return NamedEngine::new(&url, None)?.leader(self.check, self.output.output);
            }
            Some(LockTarget::Name(lock)) if self.check => return self.check_lock(&lock),
            Some(LockTarget::Name(lock)) => return self.holder(&lock),
            None if self.check => return self.check(),
            None => {}
        }
        let targets = self.nodes.targets()?;
        let quorum = targets.config.as_ref().map(|config| config.quorum);
        let enough = |asked: &[AskedNode]| agree(asked, quorum);
        let asked = targets.ask_until(&targets.client(None), enough);
        any_answer(&asked)?;
        let judgement = judged(&asked, &self.nodes.flags());
        let leaders = leaders(&asked, &judgement);
        if leaders.len() != 1 || !judgement.cut_off.is_empty() {
            print::message(&judgement.summary());
        }
        let newest = newest_leader(&asked);
        dissent(&asked, &leaders).iter().for_each(|sentence| print::message(sentence));
        match self.output.output {
            OutputFormat::Json if leaders.len() > 1 => print::json(&json!(leaders))?,
            OutputFormat::Json => print::json(&json!(newest))?,
            OutputFormat::Table => {
                leaders.iter().try_for_each(|leader| print::result(&line(leader)))?
            }
        }
        if leaders.len() == 1 { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }

    fn check(&self) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let asked = targets.ask_for_any(&targets.client(None))?;
        let leading = asked.iter().any(|asked| asked.answer.as_ref().is_ok_and(Status::leads));
        self.told(leading, &json!({ "leads": leading }))
    }

    /// The answer to --check.
    fn told(&self, is_so: bool, document: &Value) -> Result<(), CliError> {
        if let OutputFormat::Json = self.output.output {
            print::json(document)?;
        }
        if is_so { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }

    /// Whether a node holds this lock, and may act by it.
    fn check_lock(&self, lock: &LockName) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let client = targets.client(None);
        let asked = targets.ask_for_any(&client)?;
        let holds = lock::ask(&asked, |address| client.holds(address, lock.as_str()))?;
        self.told(holds, &json!({ "holds": holds }))
    }

    /// Prints who holds this lock.
    fn holder(&self, lock: &LockName) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = targets.client(None);
        let asked = targets.ask_for_any(&client)?;
        let locks = lock::ask(&asked, |address| client.lock(address, lock.as_str()))?;
        let known = locks.lock(lock.as_str());
        match (&known.holder, self.output.output) {
            (_, OutputFormat::Json) => print::json(&json!(known))?,
            (Some(holder), OutputFormat::Table) => {
                print::result(&format!("{holder}  token {}\n", known.token.unwrap_or_default()))?;
            }
            (None, OutputFormat::Table) => print::message(&locks.standing(lock.as_str())),
        }
        if known.holder.is_some() { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }
}

/// Whether these answers settle who leads, so that we wait for no others: more than half of the voters name one leader in
/// one epoch. Without a majority a member that they miss may lead beside it.
fn agree(asked: &[AskedNode], quorum: Option<Quorum>) -> bool {
    if quorum != Some(Quorum::Majority) {
        return false;
    }
    let Some(leader) = newest_leader(asked) else { return false };
    let answered: Vec<&Status> = answers(asked).collect();
    let names = |status: &&&Status| {
        status.named_leader().is_some_and(|own| (&own.id, own.epoch) == (&leader.id, leader.epoch))
    };
    let agreeing: Vec<&str> =
        answered.iter().filter(names).map(|status| status.node.id.as_str()).collect();
    let Some(members) = answered.iter().find(names).map(|status| &status.members) else {
        return false;
    };
    let voters: Vec<&MemberStatus> = members.iter().filter(|member| member.votes()).collect();
    let votes = voters.iter().filter(|voter| agreeing.contains(&voter.id.as_str())).count();
    majority::is_reached(votes, voters.len())
}

/// The leader, or all that lead beside each other, the newest first.
fn leaders<'a>(asked: &'a [AskedNode], judgement: &Judgement) -> Vec<&'a LeaderStatus> {
    if judgement.verdict != Verdict::TwoLeaders {
        return newest_leader(asked).into_iter().collect();
    }
    let own = |name: &String| {
        let mut statuses = answers(asked);
        statuses.find(|one| one.node.name == *name && one.leads()).and_then(Status::named_leader)
    };
    judgement.leaders.iter().filter_map(|(name, _)| own(name)).collect()
}

fn line(leader: &LeaderStatus) -> String {
    format!("{}  {}  epoch {}\n", leader.name, leader.address, leader.epoch)
}

/// The nodes that name none of these leaders, a sentence each.
fn dissent(asked: &[AskedNode], leaders: &[&LeaderStatus]) -> Vec<String> {
    let differs = |asked: &AskedNode| {
        let own = asked.answer.as_ref().ok()?.named_leader();
        let is_own = |leader: &&LeaderStatus| {
            own.is_some_and(|own| (&own.id, own.epoch) == (&leader.id, leader.epoch))
        };
        let same = leaders.iter().any(is_own) || leaders.is_empty() && own.is_none();
        let sees = match own {
            Some(own) => format!("says that {} leads in epoch {}", own.name, own.epoch),
            None => "knows no leader".to_owned(),
        };
        (!same).then(|| format!("{} {sees}", asked.name()))
    };
    asked.iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};
    use crate::node::status::RankStatus;

    #[test]
    fn the_greatest_epoch_counts_and_dissent_is_named() {
        let asked = [
            following("node-1", Some(("node-5", 7))),
            following("node-2", Some(("node-4", 8))),
            following("node-3", None),
            silent("node-4"),
        ];
        let leader = newest_leader(&asked);
        assert_eq!(leader.map(line).as_deref(), Some("node-4  127.0.0.1:7101  epoch 8\n"));
        assert_eq!(
            dissent(&asked, leader.as_slice()),
            ["node-1 says that node-5 leads in epoch 7", "node-3 knows no leader"]
        );
        let both: Vec<&LeaderStatus> =
            asked[..2].iter().filter_map(|it| it.answer.as_ref().ok()?.named_leader()).collect();
        assert_eq!(dissent(&asked, &both), ["node-3 knows no leader"], "both are printed");
        assert_eq!(dissent(&asked[2..], &[]), [""; 0], "none is known");
    }

    #[test]
    fn a_majority_of_the_voters_settles_it_and_without_one_nothing_does() {
        let agree = |asked: &[AskedNode]| agree(asked, Some(Quorum::Majority));
        let knows = |name: &str| {
            let mut asked = following(name, Some(("c", 7)));
            let Ok(status) = &mut asked.answer else { panic!("it answers") };
            status.members = [("a", "alive"), ("b", "alive"), ("c", "dead")].map(member).into();
            asked
        };
        assert!(!agree(&[knows("a")]));
        let two = [knows("a"), knows("b")];
        assert!(agree(&two));
        for quorum in [Some(Quorum::None), None] {
            assert!(!super::agree(&two, quorum), "c is missed, and may lead alone");
        }
        assert!(!agree(&[silent("a")]));
        let mut both = [knows("a"), knows("b")];
        for asked in &mut both {
            let more = ["o", "p"].map(|name| MemberStatus {
                role: "observer".to_owned(),
                ..member((name, "alive"))
            });
            asked.answer.as_mut().unwrap().members.extend(more);
        }
        assert!(agree(&both), "observers have no vote");
        let mut four = ["a", "b", "d"].map(knows);
        for asked in &mut four {
            asked.answer.as_mut().unwrap().members.push(member(("d", "alive")));
        }
        assert!(!agree(&four[..2]), "half of them is no majority");
        assert!(agree(&four));
        let mut other = [knows("a"), knows("b")];
        other[1].answer.as_mut().unwrap().leader.as_mut().unwrap().id = "another".to_owned();
        assert!(!agree(&other), "another of that name in that epoch");
        assert!(!agree(&[following("a", Some(("c", 7)))]), "it knows no member");
    }

    fn member((name, status): (&str, &str)) -> MemberStatus {
        MemberStatus {
            id: format!("id of {name}"),
            name: name.to_owned(),
            address: "127.0.0.1:1".to_owned(),
            admin: Some("127.0.0.1:2".to_owned()),
            role: "member".to_owned(),
            eligible: true,
            status: status.to_owned(),
            rank: RankStatus { by: "id".to_owned(), ..RankStatus::default() },
            ..MemberStatus::default()
        }
    }

    #[test]
    fn a_stalled_node_names_no_leader_and_is_none() {
        let mut stalled = following("node-1", Some(("node-5", 9)));
        if let Ok(status) = &mut stalled.answer {
            (status.state, status.stalled) = ("leading".to_owned(), true);
            assert!(!status.leads(), "it may have been replaced");
        }
        let asked = [stalled, following("node-2", Some(("node-4", 8)))];
        assert_eq!(newest_leader(&asked).map(|leader| leader.epoch), Some(8));
    }
}
