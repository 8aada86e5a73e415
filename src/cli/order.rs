//! Giving commands to a cluster by any of its nodes, or to one node. Shared by all commands that change something.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use electd_facts::hint::{ClusterFlags, Hint};
use electd_facts::unable;
use serde_json::json;

use crate::admin::client::{Achieved, Client, ClientError, Order, Recipient};

use super::args::{OutputArgs, OutputFormat};
use super::ask::{AskedNode, NodeArgs, Targets, answers};
use super::error::CliError;
use super::exit::Exit;
use super::{print, token};

/// The token that commands over TCP need.
#[derive(Args, Clone, Debug)]
pub struct TokenArgs {
    /// The file with the token. Without it: admin_token_file of the configuration.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl TokenArgs {
    /// A client that has the token, if there is one.
    ///
    /// # Errors
    /// If the file that was named cannot be read, or has no token that a header can hold.
    pub fn client(&self, targets: &Targets) -> Result<Client, CliError> {
        let token = match (&self.token_file, &targets.config) {
            (Some(file), _) => Some(token::named("--token-file", file)?),
            // Not everybody may read it, and with a control socket nobody needs it.
            (None, Some(config)) => token::configured(config).unwrap_or_default(),
            (None, None) => None,
        };
        Ok(targets.client(token))
    }
}

/// The recipient of a command, and the format of its result.
#[derive(Args, Debug)]
pub struct OrderArgs {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl OrderArgs {
    /// A client, and the answers of the nodes of the cluster.
    ///
    /// # Errors
    /// If the file, the token or the environment is wrong.
    pub fn ask(&self) -> Result<(Client, Vec<AskedNode>), CliError> {
        let (client, targets) = self.reach()?;
        let asked = targets.ask_for_any(&client)?;
        Ok((client, asked))
    }

    /// A client, and the nodes to ask.
    ///
    /// # Errors
    /// If the file, the token or the environment is wrong.
    pub fn reach(&self) -> Result<(Client, Targets), CliError> {
        let targets = self.nodes.targets()?;
        Ok((self.token.client(&targets)?, targets))
    }

    /// The flags of this command line that name the cluster.
    pub fn flags(&self) -> ClusterFlags {
        self.nodes.flags()
    }

    /// Gives a command that is meant for the cluster.
    ///
    /// # Errors
    /// As [`give`] says.
    pub fn tell_any(self, order: &Order) -> Result<(), CliError> {
        let (client, asked) = self.ask()?;
        self.print(&give(&client, &asked, order, &self.flags())?)
    }

    /// Gives a command that is meant for one node: the one that was named, or that of this host.
    ///
    /// # Errors
    /// 1 if it is refused, 75 if that passes, `malformed` if the node cannot make sense of it, 69 if the node does not
    /// answer.
    pub fn tell_one(self, malformed: Exit, order: &Order) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let client = self.token.client(&targets)?;
        let asked = targets.ask_for_any(&client)?;
        let to = asked.iter().find_map(AskedNode::recipient);
        let answer = to.map_or(Err(ClientError::NotServed), |to| client.command(to, order));
        let achieved = answer.map_err(|error| match &error {
            ClientError::Refused { code: 400, .. } => CliError::new(malformed, error),
            ClientError::Refused { passes: true, .. } => CliError::new(Exit::NotNow, error),
            ClientError::Refused { code: 403 | 409, .. } => CliError::new(Exit::No, error),
            _ => unknown(&error, &self.flags()),
        })?;
        self.print(&achieved)
    }

    /// Prints what a command achieved.
    pub fn print(&self, achieved: &Achieved) -> Result<(), CliError> {
        let Achieved { result, successor, .. } = achieved;
        match self.output.output {
            OutputFormat::Json if successor.is_none() => print::json(&json!({ "result": result })),
            OutputFormat::Json => print::json(&json!({ "result": result, "successor": successor })),
            OutputFormat::Table => print::result(&format!("{result}\n")),
        }
    }
}

/// Gives a command to the first node that takes it from here: the leader, or else another node; and one that is about
/// to end only if there is no other.
///
/// # Errors
/// 1 if it is refused, 75 if that passes, 69 if nobody answers or the outcome is unknown.
pub fn give(
    client: &Client,
    asked: &[AskedNode],
    order: &Order,
    flags: &ClusterFlags,
) -> Result<Achieved, CliError> {
    let mut refusal = CliError::new(Exit::Unavailable, "no node answers");
    let answered = asked.iter().filter_map(|asked| {
        let state = asked.answer.as_ref().ok()?.state.as_str();
        Some((asked.recipient()?, state))
    });
    let mut answered: Vec<(Recipient<'_>, &str)> = answered.collect();
    answered.sort_by_key(|(_, state)| match *state {
        "leading" => 0,
        "stopping" => 2,
        _ => 1,
    });
    for (to, _) in answered {
        match client.command(to, order) {
            Ok(achieved) => return Ok(achieved),
            // This node does not take commands without the token; the next may run on this host.
            Err(error @ ClientError::Refused { code: 403, .. }) => {
                refusal = CliError::new(Exit::No, error)
            }
            Err(error @ ClientError::Refused { passes: true, .. }) => {
                return Err(CliError::new(Exit::NotNow, error));
            }
            Err(error @ ClientError::Refused { code: 503, .. }) => {
                return Err(CliError::new(Exit::Unavailable, error));
            }
            Err(error @ ClientError::Refused { .. }) => return Err(CliError::new(Exit::No, error)),
            // The command may have been carried out all the same, so we ask no other node.
            Err(error) => return Err(unknown(&error, flags)),
        }
    }
    Err(refusal)
}

/// The error of a command that may have been carried out or not, with what shows that.
fn unknown(error: &ClientError, flags: &ClusterFlags) -> CliError {
    let status = Hint::Status.by(flags);
    let what = match error {
        ClientError::NoAnswer { .. } => format!("{error}; {status} shows how things stand"),
        error => error.to_string(),
    };
    CliError::new(Exit::Unavailable, what)
}

/// The error of a command that is to have a member lead; with the reason that the member itself gives, if it is not eligible.
pub fn explained(mut error: CliError, asked: &[AskedNode], to: Option<&str>) -> CliError {
    let answers = answers(asked);
    let why = answers.filter(|one| Some(&*one.node.name) == to).find_map(unable::own);
    if let (Exit::No, Some(why), Some(to)) = (error.exit, why, to) {
        let _ = write!(error.message, "; {to} itself says: {why}");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};

    /// Nobody refused anything if no node answers, and another member's reason is none.
    #[test]
    fn a_refusal_is_explained_by_the_member_that_was_to_lead() {
        let resigned = |name: &str| {
            let mut asked = following(name, Some(("c", 7)));
            asked.answer.as_mut().unwrap().resigned = true;
            asked
        };
        let asked = [silent("d"), following("b", Some(("c", 7))), resigned("e"), resigned("a")];
        let told = |exit, to| explained(CliError::new(exit, "no"), &asked, to).message;
        let why = "no; a itself says: it resigned: it leads only if no other can";
        assert_eq!(told(Exit::No, Some("a")), why);
        for to in [Some("b"), Some("d"), Some("f"), None] {
            assert_eq!(told(Exit::No, to), "no", "{to:?}");
        }
        assert_eq!(told(Exit::Unavailable, Some("a")), "no");
    }
}
