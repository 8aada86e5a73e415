//! The nodes that a command asks, and their answers. Shared by all commands that ask running nodes.

use std::fmt::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use crossbeam::channel::{self, Receiver};
use electd_facts::asked::{self, Asked, Silence, rivals};
use electd_facts::hint::ClusterFlags;
use electd_facts::judge::{Judgement, judge};

use crate::admin::client::{Client, ClientError, Recipient};
use crate::config::{Config, node_name};
use crate::node::status::{LeaderStatus, MemberStatus, Status};
use crate::tls::Trust;

use super::args::{ConfigArgs, time_to_wait, variable};
use super::error::CliError;
use super::exit::Exit;
use super::print;
use super::target::{NodeTarget, address, named, target};
use super::trust;

/// The nodes to ask: the one at an address, the one named, or all of the cluster.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("node", |arg| arg.help("Ask the member of this name alone")))]
pub struct NodeArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Ask the node at this admin address; no configuration is needed then, but for https://HOST:PORT.
    /// [env: ELECTD_ADMIN=]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "node", value_parser = address)]
    admin: Option<String>,

    /// How long to wait for a connection, and for an answer, such as 10s. Without it: 1 s and 2 s; 4 s for the answer
    /// to a command, 60 s to one that changes the members, and 310 s to one that may end a leadership, as the leader's job ends first.
    #[arg(long, value_name = "TIME", value_parser = time_to_wait)]
    timeout: Option<Duration>,
}

/// The nodes to ask.
#[derive(Debug)]
pub struct Targets {
    /// All members of the file in its order, or one node.
    pub nodes: Vec<NodeTarget>,
    /// Whether one node was chosen, rather than all of the cluster.
    pub one: bool,
    /// The configuration, unless an address made it needless.
    pub config: Option<Config>,
    timeout: Option<Duration>,
    /// The certificates for HTTPS; none if HTTP is plain.
    trust: Option<Trust>,
}

impl NodeArgs {
    /// The node named, or all.
    ///
    /// # Errors
    /// If the configuration is invalid or does not have the node.
    pub fn targets(&self) -> Result<Targets, CliError> {
        if let Some(address) = self.address()? {
            return self.at(address);
        }
        let config = self.config.load()?;
        let node = self.config.node();
        let nodes = match &node {
            Some(name) => vec![named(&config, node_name(&config, Some(name))?)?],
            None => config.members.iter().map(|member| target(&config, member)).collect(),
        };
        let (one, timeout, trust) = (node.is_some(), self.timeout, trust::configured(&config)?);
        Ok(Targets { nodes, one, config: Some(config), timeout, trust })
    }

    /// The node named, or the one of this host.
    ///
    /// # Errors
    /// If the configuration is invalid, or none of its members is on this host.
    pub fn own(&self) -> Result<Targets, CliError> {
        if let Some(address) = self.address()? {
            return self.at(address);
        }
        let config = self.config.load()?;
        let own = named(&config, node_name(&config, self.config.node().as_deref())?)?;
        let (nodes, timeout, trust) = (vec![own], self.timeout, trust::configured(&config)?);
        Ok(Targets { nodes, one: true, config: Some(config), timeout, trust })
    }

    /// The flags of this command line that name the cluster, for the commands that sentences name.
    pub fn flags(&self) -> ClusterFlags {
        self.config.flags().asking(self.admin.clone())
    }

    /// The node at this address. The certificates for HTTPS come from the configuration.
    fn at(&self, address: String) -> Result<Targets, CliError> {
        let secured = address.starts_with("https://");
        let trusted = secured.then(|| self.config.load()).transpose()?;
        let trust = trusted.map(|config| trust::of(&config)).transpose()?;
        let node = NodeTarget { admin: Some(address), ..NodeTarget::default() };
        Ok(Targets { nodes: vec![node], one: true, config: None, timeout: self.timeout, trust })
    }

    /// The flag; or the environment, if nothing else names a node.
    fn address(&self) -> Result<Option<String>, CliError> {
        if self.admin.is_some() {
            return Ok(self.admin.clone());
        }
        let variable = variable("ELECTD_ADMIN").filter(|_| !self.config.says_whom());
        let wrong = |text: &str, error| {
            CliError::new(Exit::Usage, format!("ELECTD_ADMIN=\"{text}\" is no address: {error}"))
        };
        variable.map(|text| address(&text).map_err(|error| wrong(&text, error))).transpose()
    }
}

impl Targets {
    /// All members of this configuration, each with this time limit, if there is one.
    ///
    /// # Errors
    /// If the certificates that it names cannot be used.
    pub fn of(config: Config, timeout: Option<Duration>) -> Result<Targets, CliError> {
        let nodes = config.members.iter().map(|member| target(&config, member)).collect();
        let trust = trust::configured(&config)?;
        Ok(Targets { nodes, one: false, config: Some(config), timeout, trust })
    }

    /// A client for these, with the token for commands over TCP, if there is one.
    pub fn client(&self, token: Option<String>) -> Client {
        Client::within(self.timeout, token).secured(self.trust.clone())
    }

    /// Asks all at the same time; then the members that the first answers name besides.
    pub fn ask(&self, client: &Client) -> Vec<AskedNode> {
        self.ask_until(client, |_| false)
    }

    /// As [`Targets::ask`], in no order, but waits for no more answers once these are enough.
    pub fn ask_until(
        &self,
        client: &Client,
        enough: impl Fn(&[AskedNode]) -> bool,
    ) -> Vec<AskedNode> {
        let mut asked = Vec::new();
        collect(&self.nodes, client, &mut asked, &enough);
        if enough(&asked) {
            return asked;
        }
        let place = |asked: &AskedNode| self.nodes.iter().position(|node| *node == asked.target);
        asked.sort_by_key(place);
        let mut added = Vec::new();
        for status in answers(&asked) {
            let more = self.added(status).filter(|member| !added.contains(member));
            added.extend(more.collect::<Vec<_>>());
        }
        let known = asked.len();
        collect(&added, client, &mut asked, &enough);
        let place = |asked: &AskedNode| added.iter().position(|node| *node == asked.target);
        asked[known..].sort_by_key(place);
        ask_rivals_again(&mut asked, client);
        asked
    }

    /// The members that a node knows besides these, if all of the cluster are meant: they were added since the file
    /// was written.
    pub fn added(&self, status: &Status) -> impl Iterator<Item = NodeTarget> {
        let known = |member: &MemberStatus| {
            self.nodes.iter().any(|node| node.name.as_ref() == Some(&member.name))
        };
        let members = status.members.iter().filter(move |member| !self.one && !known(member));
        let cluster = self.config.as_ref().map(|config| &config.cluster);
        members.map(move |member| NodeTarget {
            name: Some(member.name.clone()),
            admin: member.admin.clone(),
            cluster: cluster.cloned(),
            id: None,
        })
    }

    /// Asks all, and fails without an answer, or with one of another node than was meant.
    ///
    /// # Errors
    /// 69, with each node's reason; 78 if another node answers.
    pub fn ask_for_any(&self, client: &Client) -> Result<Vec<AskedNode>, CliError> {
        let asked = self.ask(client);
        any_answer(&asked)?;
        Ok(asked)
    }
}

/// Asks these at the same time, and takes the answers as they come until they are enough.
fn collect(
    nodes: &[NodeTarget],
    client: &Client,
    asked: &mut Vec<AskedNode>,
    enough: &impl Fn(&[AskedNode]) -> bool,
) {
    let answers = ask_all(nodes, client);
    for answer in answers.iter().take(nodes.len()) {
        asked.push(answer);
        if enough(asked) {
            return;
        }
    }
}

/// Asks those that lead beside each other once more: one of them may have handed over to the other meanwhile.
fn ask_rivals_again(asked: &mut [AskedNode], client: &Client) {
    let answers: Vec<Option<&Status>> = asked.iter().map(|it| it.answer.as_ref().ok()).collect();
    let rivals = rivals(&answers);
    let nodes: Vec<NodeTarget> = rivals.iter().map(|at| asked[*at].target.clone()).collect();
    for again in ask_all(&nodes, client).iter().take(nodes.len()) {
        let place = asked.iter_mut().find(|known| known.target == again.target);
        place.into_iter().for_each(|known| known.answer.clone_from(&again.answer));
    }
}

/// Asks each in its own thread. We wait for no thread: it may be asking a host that is dead.
fn ask_all(nodes: &[NodeTarget], client: &Client) -> Receiver<AskedNode> {
    let (sender, answers) = channel::bounded(nodes.len());
    for target in nodes {
        let (target, client, sender) = (target.clone(), client.clone(), sender.clone());
        let work = move || {
            let answer = target.status(&client);
            let _ = sender.send(AskedNode { target, answer }); // the earlier answers may have been enough
        };
        if let Err(error) = thread::Builder::new().name("ask".to_owned()).spawn(work) {
            log::error!("no thread to ask a node: {error}");
        }
    }
    answers
}

/// Checks that at least one node answered, and none other than was meant.
///
/// # Errors
/// 69, with each node's reason; 78 if another node answered.
pub fn any_answer(asked: &[AskedNode]) -> Result<(), CliError> {
    let other = asked.iter().find_map(|asked| match &asked.answer {
        Err(error @ ClientError::Other(_)) => Some(error),
        _ => None,
    });
    if let Some(other) = other {
        return Err(CliError::new(Exit::Config, other));
    }
    if asked.iter().any(|asked| asked.answer.is_ok()) {
        return Ok(());
    }
    let mut message = "no node answers".to_owned();
    for AskedNode { target, answer } in asked {
        if let Err(error) = answer {
            let _ = write!(message, "\n  {}: {error}", target.name());
        }
    }
    Err(CliError::new(Exit::Unavailable, message))
}

/// A node that was asked, and its answer.
#[derive(Debug)]
pub struct AskedNode {
    /// The node.
    pub target: NodeTarget,
    /// Its status, or why there is none.
    pub answer: Result<Status, ClientError>,
}

impl AskedNode {
    /// The node as the recipient of a command, if it answered.
    pub fn recipient(&self) -> Option<Recipient<'_>> {
        let (address, status) = (self.target.admin.as_deref()?, self.answer.as_ref().ok()?);
        Some(Recipient { address, cluster: &status.cluster, id: &status.node.id })
    }

    /// Asks it once more, by its address. None, with a line that says why, if it has not answered or does not now.
    pub fn further<T>(&self, ask: impl FnOnce(&str) -> Result<T, ClientError>) -> Option<T> {
        let address = self.target.admin.as_deref().unwrap_or_default();
        let answer = self.answer.as_ref().map_err(Clone::clone).and_then(|_| ask(address));
        answer.inspect_err(|error| print::message(&format!("{}: {error}", self.name()))).ok()
    }

    /// The node's name, preferably as it says itself.
    pub fn name(&self) -> &str {
        self.answer.as_ref().map_or(self.target.name(), |status| &status.node.name)
    }
}

/// Of all leaders named, the one that counts.
pub fn newest_leader(asked: &[AskedNode]) -> Option<&LeaderStatus> {
    asked::newest_leader(answers(asked))
}

/// The status of each node that answers.
pub fn answers(asked: &[AskedNode]) -> impl Iterator<Item = &Status> {
    asked.iter().filter_map(|asked| asked.answer.as_ref().ok())
}

/// The answers as facts.
pub fn facts_of(asked: &[AskedNode]) -> Vec<Asked<'_>> {
    let silence = |error: &ClientError| match error {
        ClientError::NotServed => Silence::NotServed,
        ClientError::Other(sentence) => Silence::Other(sentence.clone()),
        error => Silence::None(error.to_string()),
    };
    let told = asked
        .iter()
        .map(|asked| Asked { name: asked.name(), answer: asked.answer.as_ref().map_err(silence) });
    told.collect()
}

/// The verdict on the cluster by these answers, for a reader who reaches it by these flags.
pub fn judged(asked: &[AskedNode], flags: &ClusterFlags) -> Judgement {
    let told = facts_of(asked);
    let members = asked::answers(&told).flat_map(|status| &status.members);
    judge(&told, &flags.clone().knowing(members))
}

#[cfg(test)]
pub mod tests;
