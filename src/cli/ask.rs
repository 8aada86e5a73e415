//! Which nodes a command asks, and what they answer. Shared by all commands that ask running nodes.

use std::fmt::Write;

use clap::Args;
use jiff::Timestamp;

use crate::admin::client::{Client, ClientError};
use crate::config::{Config, node_name};
use crate::node::status::{LeaderStatus, MemberStatus, Status};

use super::args::{ConfigArgs, variable};
use super::error::CliError;
use super::exit::Exit;

/// Which nodes are asked: the one at an address, the one named, or all of the cluster.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("node", |arg| arg.help("Ask the member of this name alone")))]
pub struct NodeArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Ask the node at this admin address; no configuration is needed then. [env: ELECTD_ADMIN=]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "node")]
    admin: Option<String>,
}

/// A node to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name; known from the configuration, or when it answers.
    pub name: Option<String>,
    /// Its admin address, if it has one.
    pub admin: Option<String>,
}

/// The nodes to ask.
#[derive(Debug)]
pub struct Targets {
    /// Those of the file in its order, or the one.
    pub nodes: Vec<Target>,
    /// Whether one was chosen, rather than all of the cluster.
    pub one: bool,
    /// The configuration, unless an address made it needless.
    pub config: Option<Config>,
}

impl NodeArgs {
    /// The node named, or all.
    ///
    /// # Errors
    /// When the configuration cannot be used or does not know the node.
    pub fn targets(&self) -> Result<Targets, CliError> {
        if let Some(address) = self.address() {
            return Ok(Targets::at(address));
        }
        let config = self.config.load()?;
        let node = self.config.node();
        let nodes = match &node {
            Some(name) => vec![named(&config, node_name(&config, Some(name))?)?],
            None => config.members.iter().map(target).collect(),
        };
        Ok(Targets { nodes, one: node.is_some(), config: Some(config) })
    }

    /// The node named, or the one of this host.
    ///
    /// # Errors
    /// When the configuration cannot be used, or none of its members is of this host.
    pub fn own(&self) -> Result<Targets, CliError> {
        if let Some(address) = self.address() {
            return Ok(Targets::at(address));
        }
        let config = self.config.load()?;
        let own = named(&config, node_name(&config, self.config.node().as_deref())?)?;
        Ok(Targets { nodes: vec![own], one: true, config: Some(config) })
    }

    /// The flag; the environment only where nothing else says who is meant.
    fn address(&self) -> Option<String> {
        let from_environment = || variable("ELECTD_ADMIN").filter(|_| !self.config.says_whom());
        self.admin.clone().or_else(from_environment)
    }
}

impl Targets {
    fn at(address: String) -> Targets {
        let node = Target { name: None, admin: Some(address) };
        Targets { nodes: vec![node], one: true, config: None }
    }

    /// Asks all at the same time; then those of whom the first have told.
    pub fn ask(&self, client: &Client) -> Vec<Asked> {
        let mut asked = ask(&self.nodes, client);
        let mut added = Vec::new();
        for status in asked.iter().filter_map(|asked| asked.answer.as_ref().ok()) {
            let more = self.added(status).filter(|member| !added.contains(member));
            added.extend(more.collect::<Vec<_>>());
        }
        asked.extend(ask(&added, client));
        asked
    }

    /// The members that a node knows besides these, if all of the cluster are meant: they were added
    /// since the file was written.
    pub fn added(&self, status: &Status) -> impl Iterator<Item = Target> {
        let known = |member: &MemberStatus| {
            self.nodes.iter().any(|node| node.name.as_ref() == Some(&member.name))
        };
        let members = status.members.iter().filter(move |member| !self.one && !known(member));
        members
            .map(|member| Target { name: Some(member.name.clone()), admin: member.admin.clone() })
    }

    /// Asks all, and insists on one answer at least.
    ///
    /// # Errors
    /// 69, with each node's reason.
    pub fn ask_for_any(&self, client: &Client) -> Result<Vec<Asked>, CliError> {
        let asked = self.ask(client);
        any_answer(&asked)?;
        Ok(asked)
    }
}

/// Asks these at the same time.
fn ask(nodes: &[Target], client: &Client) -> Vec<Asked> {
    let addresses: Vec<&str> = nodes.iter().filter_map(|node| node.admin.as_deref()).collect();
    let mut answers = client.statuses(&addresses).into_iter();
    let asked = nodes.iter().map(|node| {
        let answer = node.admin.as_ref().and_then(|_| answers.next());
        Asked { target: node.clone(), answer: answer.unwrap_or(Err(ClientError::NotServed)) }
    });
    asked.collect()
}

/// Whether anybody answered.
///
/// # Errors
/// 69, with each node's reason.
pub fn any_answer(asked: &[Asked]) -> Result<(), CliError> {
    if asked.iter().any(|asked| asked.answer.is_ok()) {
        return Ok(());
    }
    let mut message = "no node answers".to_owned();
    for Asked { target, answer } in asked {
        if let Err(error) = answer {
            let _ = write!(message, "\n  {}: {error}", target.name());
        }
    }
    Err(CliError::new(Exit::Unavailable, message))
}

impl Target {
    /// Its name, or where it is.
    pub fn name(&self) -> &str {
        self.name.as_deref().or(self.admin.as_deref()).unwrap_or("?")
    }
}

fn target(member: &crate::config::MemberConfig) -> Target {
    Target { name: Some(member.name.clone()), admin: member.admin.clone() }
}

fn named(config: &Config, name: &str) -> Result<Target, CliError> {
    match config.member(name) {
        Some(member) if member.admin.is_some() => Ok(target(member)),
        _ => Err(CliError::new(
            Exit::Config,
            format!(
                "{name} cannot be asked: its entry in \"members\" has no \"admin\" address; add one"
            ),
        )),
    }
}

/// A node that was asked, and its answer.
#[derive(Debug)]
pub struct Asked {
    /// Who was asked.
    pub target: Target,
    /// Its status, or why there is none.
    pub answer: Result<Status, ClientError>,
}

impl Asked {
    /// The node's name, best by its own word.
    pub fn name(&self) -> &str {
        self.answer.as_ref().map_or(self.target.name(), |status| &status.node.name)
    }
}

/// Whether this node leads. One that is stalled may have been replaced without knowing it.
pub fn leads(status: &Status) -> bool {
    status.state == "leading" && !status.stalled
}

/// The leader that a node names and may still vouch for.
pub fn leader_of(status: &Status) -> Option<&LeaderStatus> {
    status.leader.as_ref().filter(|_| !status.stalled)
}

/// Of all leaders named, the one with the greatest epoch: the others have not heard of it yet.
pub fn newest_leader(asked: &[Asked]) -> Option<&LeaderStatus> {
    let statuses = asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    statuses.filter_map(leader_of).max_by_key(|leader| leader.epoch)
}

/// A moment, given in milliseconds since the Unix epoch, in UTC.
pub fn moment(at_ms: u64) -> String {
    i64::try_from(at_ms)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .map_or_else(|| at_ms.to_string(), |at| format!("{at:.3}"))
}

/// Statuses for the tests of the commands.
#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::node::status::NodeRef;

    /// A follower of this leader in this epoch; without one, electing.
    pub fn status(name: &str, leader: Option<(&str, u64)>) -> Status {
        let named = |name: &str| format!("id of {name}");
        Status {
            cluster: "demo".to_owned(),
            node: NodeRef { id: named(name), name: name.to_owned() },
            state: if leader.is_some() { "following" } else { "electing" }.to_owned(),
            leader: leader.map(|(name, epoch)| LeaderStatus {
                id: named(name),
                name: name.to_owned(),
                address: "127.0.0.1:7101".to_owned(),
                epoch,
            }),
            epoch: leader.map_or(0, |(_, epoch)| epoch),
            quorum: "none".to_owned(),
            algorithm: "bully".to_owned(),
            preempt: "always".to_owned(),
            rank_source: "all are equal, the id decides".to_owned(),
            guarantee: "one leader while all reach each other".to_owned(),
            worst_failover_ms: Some(900),
            incarnation: 1,
            uptime_ms: 61_000,
            age_ms: 3,
            failures_tolerated: 1,
            ..Status::default()
        }
    }

    /// The answer of such a node.
    pub fn following(name: &str, leader: Option<(&str, u64)>) -> Asked {
        Asked { target: target(name), answer: Ok(status(name, leader)) }
    }

    /// A node that does not answer.
    pub fn silent(name: &str) -> Asked {
        let reason = "connection refused, so no node runs there".to_owned();
        let answer = Err(ClientError::NoAnswer { address: "127.0.0.1:1".to_owned(), reason });
        Asked { target: target(name), answer }
    }

    fn target(name: &str) -> Target {
        Target { name: Some(name.to_owned()), admin: Some("127.0.0.1:1".to_owned()) }
    }

    #[test]
    fn silence_of_all_names_each_reason() {
        let error = any_answer(&[silent("node-1"), silent("node-2")]).unwrap_err();
        assert_eq!(error.exit, Exit::Unavailable);
        assert_eq!(error.message.lines().count(), 3, "{}", error.message);
        assert!(error.message.contains("node-2: no answer from 127.0.0.1:1: connection refused"));
        assert!(any_answer(&[silent("node-1"), following("node-2", None)]).is_ok());
    }
}
