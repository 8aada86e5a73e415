//! `electd watch --lock`: each change of who holds a lock, one line each, whichever node tells it first.

use std::thread;

use crossbeam::channel::{Receiver, Sender, bounded};
use crossbeam::select;
use electd_facts::hold::LockChange;
use electd_facts::locks::LocksView;
use electd_facts::watched_lock::{LockLine, ToldLock};

use super::args::OutputFormat;
use super::ask::{NodeArgs, Targets};
use super::error::CliError;
use super::exit::Exit;
use super::follow::{PAUSE, QUEUE, ends, spawn};
use super::target::NodeTarget;
use super::transition::now;
use super::{lock, print};
use crate::admin::client::{Client, ClientError};
use crate::core::locks::table::LockName;

/// What a node tells.
enum LockNews {
    /// What it knows now.
    State(Box<LocksView>),
    Change(Box<LockChange>),
    /// It does not answer in a way that will ever do.
    Other(String),
}

/// Prints lines until Ctrl-C, or until nobody reads them.
pub fn run(nodes: &NodeArgs, name: &LockName, output: OutputFormat) -> Result<(), CliError> {
    let targets = nodes.targets()?;
    let client = targets.client(None);
    let ends = ends()?;
    let asked = targets.ask_for_any(&client)?;
    let found = lock::ask(&asked, |address| client.lock(address, name.as_str()))?;
    let mut told = ToldLock::default();
    print(&told.find(&found, name.as_str(), now()), output)?;
    let news = follow(&targets, &client, name)?;
    loop {
        select! {
            recv(ends) -> _ => return Ok(()),
            recv(news) -> news => {
                let line = match news {
                    Ok(LockNews::State(view)) => told.look(&view, name.as_str(), now()),
                    Ok(LockNews::Change(change)) => told.take(*change),
                    Ok(LockNews::Other(why)) => return Err(CliError::new(Exit::Config, why)),
                    Err(_) => return Ok(()),
                };
                line.iter().try_for_each(|line| print(line, output))?;
            }
        }
    }
}

fn print(line: &LockLine, output: OutputFormat) -> Result<(), CliError> {
    match output {
        OutputFormat::Table => print::result(&line.text()),
        OutputFormat::Json => print::result(&format!("{}\n", serde_json::json!(line))),
    }
}

/// A thread for each node that can be asked; they end with this process.
fn follow(
    targets: &Targets,
    client: &Client,
    name: &LockName,
) -> Result<Receiver<LockNews>, CliError> {
    let (sender, news) = bounded(QUEUE);
    for target in targets.nodes.iter().filter(|target| target.admin.is_some()) {
        let (target, client, name) = (target.clone(), client.clone(), name.to_string());
        let (thread, sender) = (format!("follow-{}", target.name()), sender.clone());
        spawn(&thread, move || {
            // An error says that nobody reads the news any more.
            while listen(&target, &client, &name, &sender).is_ok() {
                thread::sleep(PAUSE);
            }
        })?;
    }
    Ok(news)
}

/// Listens to this node until the connection ends. What changes between the first two questions comes with the second.
fn listen(
    target: &NodeTarget,
    client: &Client,
    name: &str,
    news: &Sender<LockNews>,
) -> Result<(), crossbeam::channel::SendError<LockNews>> {
    match target.status(client) {
        Ok(_) => {}
        Err(ClientError::Other(why)) => return news.send(LockNews::Other(why)),
        Err(_) => return Ok(()),
    }
    let Some(address) = &target.admin else { return Ok(()) };
    let Ok(mut listener) = client.listen_to_lock(address, name, None) else { return Ok(()) };
    let Ok(view) = client.lock(address, name) else { return Ok(()) };
    news.send(LockNews::State(Box::new(view)))?;
    while let Ok(change) = listener.wait() {
        news.send(LockNews::Change(Box::new(change)))?;
    }
    Ok(())
}
