//! Giving commands to a cluster by any of its nodes. Shared by all commands that change something.

use std::path::PathBuf;

use clap::Args;

use crate::admin::client::{Achieved, Client, ClientError, Recipient};

use super::ask::{Asked, Targets};
use super::error::CliError;
use super::exit::Exit;
use super::token;

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
    /// When the file that was named cannot be read, or is empty.
    pub fn client(&self, targets: &Targets) -> Result<Client, CliError> {
        let token = match (&self.token_file, &targets.config) {
            (Some(file), _) => Some(token::named("--token-file", file)?),
            // Not everybody may read it, and by a control socket nobody needs it.
            (None, Some(config)) => token::configured(config).unwrap_or_default(),
            (None, None) => None,
        };
        Ok(targets.client(token))
    }
}

/// Gives a command to the first node that takes it from here: the leader, or else another, and one
/// that is about to end only if there is no other.
///
/// # Errors
/// 1 when it is refused, 69 when nobody answers or it is not known whether it was carried out.
pub fn give(
    asked: &[Asked],
    command: impl Fn(Recipient<'_>) -> Result<Achieved, ClientError>,
) -> Result<Achieved, CliError> {
    let mut refusal = CliError::new(Exit::Unavailable, "no node answers");
    let answered = asked.iter().filter_map(|Asked { target, answer }| {
        let (address, status) = (target.admin.as_deref()?, answer.as_ref().ok()?);
        let to = Recipient { address, cluster: &status.cluster, id: &status.node.id };
        Some((to, status.state.as_str()))
    });
    let mut answered: Vec<(Recipient<'_>, &str)> = answered.collect();
    answered.sort_by_key(|(_, state)| match *state {
        "leading" => 0,
        "stopping" => 2,
        _ => 1,
    });
    for (to, _) in answered {
        match command(to) {
            Ok(achieved) => return Ok(achieved),
            // This one does not take commands without the token; the next may run on this host.
            Err(error @ ClientError::Refused { code: 403, .. }) => {
                refusal = CliError::new(Exit::No, error)
            }
            Err(error @ ClientError::Refused { code: 503, .. }) => {
                return Err(CliError::new(Exit::Unavailable, error));
            }
            Err(error @ ClientError::Refused { .. }) => return Err(CliError::new(Exit::No, error)),
            // It may have been carried out all the same, so nobody else is asked.
            Err(error) => return Err(CliError::new(Exit::Unavailable, error)),
        }
    }
    Err(refusal)
}
