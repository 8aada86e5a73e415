//! `electd why --lock`: why a member holds a lock, or nobody does.

use electd_facts::locks::LocksView;
use electd_facts::why_lock::{WhyLock, WhyLockAnswer};
use serde_json::json;

use super::args::OutputFormat;
use super::ask::{AskedNode, NodeArgs, any_answer};
use super::error::CliError;
use super::exit::Exit;
use super::{lock, print, screen};
use crate::core::locks::table::LockName;
use crate::exec::target::LockTarget;

/// The lock of this cluster that `--lock` names.
///
/// # Errors
/// If it is no name, or the lock is one of an engine.
pub fn named(text: &str) -> Result<LockName, CliError> {
    match lock::target(text)? {
        LockTarget::Name(name) => Ok(name),
        LockTarget::Engine(_) => {
            let what = "--lock: a node knows the locks of its cluster alone; `electd leader --lock URL` asks an engine";
            Err(CliError::new(Exit::Usage, what))
        }
    }
}

/// Prints it.
pub fn run(nodes: &NodeArgs, name: &LockName, output: OutputFormat) -> Result<(), CliError> {
    let targets = nodes.targets()?;
    let client = targets.client(None);
    let asked = targets.ask(&client);
    any_answer(&asked)?;
    let known = |one: &AskedNode| {
        one.answer.as_ref().ok()?;
        client.lock(one.recipient()?.address, name.as_str()).ok()
    };
    let views: Vec<Option<LocksView>> = asked.iter().map(known).collect();
    if views.iter().all(Option::is_none) {
        let what = "no node that answers knows of locks: upgrade electd there";
        return Err(CliError::new(Exit::Unavailable, what));
    }

    let answers: Vec<WhyLockAnswer<'_>> = (asked.iter().zip(&views))
        .map(|(one, locks)| WhyLockAnswer {
            name: one.name(),
            status: one.answer.as_ref().ok(),
            locks: locks.as_ref(),
        })
        .collect();
    let why = WhyLock::of(name.as_str(), &answers);
    let members = asked.iter().filter_map(|one| one.answer.as_ref().ok());
    let flags = nodes.flags().knowing(members.flat_map(|status| &status.members));
    match output {
        OutputFormat::Table => print::result(&screen::on_terminal(&why.text(&flags), 2)),
        OutputFormat::Json => print::json(&json!(why.object(&flags))),
    }?;
    if why.holder().is_some() { Ok(()) } else { Err(CliError::silent(Exit::No)) }
}
