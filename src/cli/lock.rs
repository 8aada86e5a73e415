//! `electd lock`: the locks of the cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, Subcommand};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use electd_facts::held::summary;
use electd_facts::locks::{LockEntry, LocksView};
use serde_json::{Value, json};

use crate::admin::client::{Client, ClientError, Order};
use crate::admin::control::{self, Reach};
use crate::core::locks::table::{BadLockName, LockName};
use crate::exec::target::LockTarget;
use crate::limits::quote;
use crate::node::moment;
use crate::node::status::Status;

use super::args::{OutputArgs, OutputFormat, member_names, typed_config};
use super::ask::{AskedNode, NodeArgs};
use super::error::CliError;
use super::exit::Exit;
use super::order::OrderArgs;
use super::print;

/// Show the locks of a cluster, or change who holds one.
///
/// A lock is a leadership with a name: of the hosts where `electd exec --lock NAME` waits, one holds it. Any node can be
/// asked. A lock that an operator releases or moves ends the command that runs by it first; it comes to the next
/// candidate, and back to the same host if there is no other.
///
/// Exit codes: 0 done; 1 refused, or nobody holds the lock (show); 75 refused for now, try again; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd lock list --config cluster.json
  electd lock show --config cluster.json backup
  electd lock release --config cluster.json backup
  electd lock move --config cluster.json backup --to node-2
  electd lock forget --config cluster.json backup
  electd lock rebalance --config cluster.json")]
pub struct LockArgs {
    #[command(subcommand)]
    action: LockAction,
}

#[derive(Subcommand, Debug)]
enum LockAction {
    List(LockList),
    Show(LockShow),
    Release(LockRelease),
    Move(LockMove),
    Forget(LockForget),
    Rebalance(LockRebalance),
}

/// List all locks that somebody holds or wants, as the leader knows them.
#[derive(Args, Debug)]
struct LockList {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show who holds a lock, since when and by which token, and who else wants it.
#[derive(Args, Debug)]
struct LockShow {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    lock: NameArg,
}

/// Have the holder of a lock give it back: another candidate gets it.
#[derive(Args, Debug)]
struct LockRelease {
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    lock: NameArg,
}

/// Have the holder of a lock give it back, and this candidate get it.
#[derive(Args, Debug)]
struct LockMove {
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    lock: NameArg,
    /// The member that is to hold it.
    #[arg(long, value_name = "NAME", add = member_names())]
    to: String,
}

/// Forget a lock that nobody holds or wants.
#[derive(Args, Debug)]
struct LockForget {
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    lock: NameArg,
}

/// Spread the locks anew: each that were better held by another member moves there, one after the other.
///
/// A lock moves to a preferred member, to where the one is that it is to be held with, or from a member with more work to one
/// with less. What runs by it ends first. Any node passes this on to the leader, and answers once that has begun.
#[derive(Args, Debug)]
struct LockRebalance {
    #[command(flatten)]
    order: OrderArgs,
}

/// The name of a lock.
#[derive(Args, Debug)]
struct NameArg {
    /// The lock.
    #[arg(value_name = "LOCK", add = lock_names())]
    name: String,
}

impl NameArg {
    fn name(&self) -> Result<LockName, CliError> {
        named("LOCK", &self.name)
    }
}

/// The lock of this name, which this argument gave.
///
/// # Errors
/// Why it is no name.
pub fn named(argument: &str, text: &str) -> Result<LockName, CliError> {
    LockName::new(text).map_err(|why| no_name(argument, text, why))
}

/// What `--lock` names. clap would print a bad name as it is.
///
/// # Errors
/// Why it is no name.
pub fn target(text: &str) -> Result<LockTarget, CliError> {
    text.parse().map_err(|why| no_name("--lock", text, why))
}

fn no_name(argument: &str, text: &str, why: BadLockName) -> CliError {
    let what = format!("{argument}: \"{}\" is no name of a lock: {why}", quote(text));
    CliError::new(Exit::Usage, what)
}

impl LockArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self.action {
            LockAction::List(list) => list.run(),
            LockAction::Show(show) => show.run(),
            LockAction::Release(LockRelease { order, lock }) => {
                tell(order, &lock, "release", &json!({}))
            }
            LockAction::Move(LockMove { order, lock, to }) => {
                tell(order, &lock, "move", &json!({ "to": to }))
            }
            LockAction::Forget(LockForget { order, lock }) => {
                tell(order, &lock, "forget", &json!({}))
            }
            LockAction::Rebalance(LockRebalance { order }) => {
                order.tell_any(&Order::post("locks/rebalance", &json!({})))
            }
        }
    }
}

/// Gives an order about a lock, which may wait for the end of what runs by it.
fn tell(order: OrderArgs, lock: &NameArg, what: &str, body: &Value) -> Result<(), CliError> {
    let path = format!("locks/{}/{what}", lock.name()?);
    order.tell_any(&Order::post(&path, body).ending_a_leadership())
}

impl LockList {
    fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = targets.client(None);
        let asked = targets.ask_for_any(&client)?;
        let locks = ask(&asked, |address| all(&client, address))?;
        match self.output.output {
            OutputFormat::Json => print::json(&json!(locks)),
            OutputFormat::Table => print::result(&table(&locks)),
        }
    }
}

impl LockShow {
    fn run(self) -> Result<(), CliError> {
        let name = self.lock.name()?;
        let targets = self.nodes.targets()?;
        let client = targets.client(None);
        let asked = targets.ask_for_any(&client)?;
        let locks = ask(&asked, |address| client.lock(address, name.as_str()))?;
        match self.output.output {
            OutputFormat::Json => print::json(&json!(locks)),
            OutputFormat::Table => print::result(&details(&locks, name.as_str())),
        }?;
        let is_held = locks.lock(name.as_str()).holder.is_some();
        if is_held { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }
}

/// For how long a shell that completes waits for a node of this host.
const COMPLETES: Duration = Duration::from_secs(1);

/// Completes the name of a lock in a shell: those that the file declares, and those that a node of this host knows.
pub fn lock_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some(config) = typed_config() else { return Vec::new() };
        let client = Client::within(Some(COMPLETES), None);
        let own = config.members.iter().map(|member| config.state_dir(&member.name));
        let mut own = own.filter(|state| control::reach(state) == Reach::Open);
        let known = own.find_map(|state| all(&client, &control::address(&state)).ok());
        let known = known.into_iter().flat_map(|known| known.locks).map(|lock| lock.name);
        let declared = config.locks.declared.keys().map(ToString::to_string);
        let names: BTreeSet<String> = declared.chain(known).collect();
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// What the node answers that knows most: the leader, who coordinates the locks, or else another.
///
/// # Errors
/// Why none answers.
pub fn ask<T>(
    asked: &[AskedNode],
    question: impl Fn(&str) -> Result<T, ClientError>,
) -> Result<T, CliError> {
    let address = |asked: &AskedNode| Some(asked.recipient()?.address.to_owned());
    let leads = |asked: &&AskedNode| asked.answer.as_ref().is_ok_and(Status::leads);
    let leader = asked.iter().find(leads).and_then(address);
    let others = asked.iter().filter(|one| !leads(one)).filter_map(address);
    let mut why = CliError::new(Exit::Unavailable, "no node answers");
    for address in leader.into_iter().chain(others) {
        match question(&address) {
            Ok(answer) => return Ok(answer),
            Err(ClientError::Refused { code: 404, .. }) => {
                let what = "this node runs a version of electd that knows no locks: upgrade it";
                why = CliError::new(Exit::No, what);
            }
            Err(error) => why = CliError::new(Exit::Unavailable, error),
        }
    }
    Err(why)
}

/// All pages of the node at this address.
fn all(client: &Client, address: &str) -> Result<LocksView, ClientError> {
    let mut all: Option<LocksView> = None;
    let mut after = None;
    loop {
        let page = client.locks(address, after.as_deref())?;
        let locks = all.map_or_else(Vec::new, |before| before.locks);
        let locks = locks.into_iter().chain(page.view.locks).collect();
        let view = LocksView { locks, ..page.view };
        let is_further = page.next > after;
        if page.next.is_none() || !is_further {
            return Ok(view);
        }
        (all, after) = (Some(view), page.next);
    }
}

fn or_none<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn row(lock: &LockEntry) -> Vec<String> {
    let others: Vec<&str> = lock
        .candidates
        .iter()
        .map(String::as_str)
        .filter(|name| Some(*name) != lock.holder.as_deref())
        .collect();
    vec![
        lock.name.clone(),
        or_none(lock.holder.as_ref()),
        or_none(lock.token.as_ref()),
        or_none(lock.since_ms.map(moment).as_ref()),
        if others.is_empty() { "-".to_owned() } else { others.join(",") },
        lock.reason.clone().unwrap_or_default(),
    ]
}

/// A row each, and why none can be had.
fn table(locks: &LocksView) -> String {
    let header = ["LOCK", "HOLDER", "TOKEN", "SINCE", "OTHERS", "NOTE"];
    let mut text = print::table(&header, locks.locks.iter().map(row));
    let last = locks.unavailable.as_ref().map(ToString::to_string);
    for line in summary(&locks.held(), locks.unheld()).into_iter().chain(last) {
        text += &format!("\n{line}\n");
    }
    text
}

/// All that is known of one.
fn details(locks: &LocksView, name: &str) -> String {
    let lock = locks.lock(name);
    let mut facts = vec![("lock", lock.name.clone()), ("state", locks.standing(name))];
    facts.extend(lock.token.map(|token| ("token", token.to_string())));
    facts.extend(lock.since_ms.map(|since| ("since", moment(since))));
    if let Some(run) = &lock.last_run {
        let [from, until] = [run.from_ms, run.until_ms].map(moment);
        facts.push(("last run", run.words()));
        facts.push(("period", format!("{from} to {until}")));
    }
    if !lock.candidates.is_empty() {
        facts.push(("candidates", lock.candidates.join(", ")));
    }
    let before = lock.before.as_ref();
    let before =
        before.map(|it| format!("{}, until {}: {}", it.holder, moment(it.until_ms), it.reason));
    facts.extend(before.map(|before| ("before", before)));
    facts.iter().map(|(key, value)| format!("{key:<12}{value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use electd_facts::locks::LocksUnavailable;

    use super::*;
    use crate::cli::ask::tests::{following, silent};

    fn lock(name: &str, holder: Option<&str>) -> LockEntry {
        LockEntry {
            name: name.to_owned(),
            holder: holder.map(str::to_owned),
            token: holder.map(|_| 7),
            since_ms: holder.map(|_| 0),
            candidates: ["a", "b"].map(str::to_owned).into(),
            ..LockEntry::default()
        }
    }

    #[test]
    fn each_lock_has_a_row_with_its_holder_and_who_else_wants_it() {
        let waiting = LockEntry { reason: Some("so".to_owned()), ..lock("x", None) };
        let mut locks =
            LocksView { locks: vec![lock("vip-7", Some("b")), waiting], ..LocksView::default() };
        locks.unavailable = Some(LocksUnavailable::NoLeader);
        let cells = |line| {
            let cells = str::split(line, "  ").map(str::trim);
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
        };
        let text = table(&locks);
        let rows: Vec<Vec<&str>> = text.lines().map(cells).collect();
        let since = "1970-01-01T00:00:00.000Z";
        let expected = [
            vec!["LOCK", "HOLDER", "TOKEN", "SINCE", "OTHERS", "NOTE"],
            vec!["vip-7", "b", "7", since, "a"],
            vec!["x", "-", "-", "-", "a,b", "so"],
            vec![],
            vec!["1 lock held: 1 by b; 1 lock is wanted and nobody holds it"],
            vec![],
            vec!["no leader is known, who would coordinate the locks"],
        ];
        assert_eq!(rows, expected, "{text}");
        let details = details(&locks, "vip-7");
        let expected = "lock        vip-7\nstate       b holds it\ntoken       7\n\
                        since       1970-01-01T00:00:00.000Z\ncandidates  a, b\n";
        assert_eq!(details, expected);
    }

    /// It coordinates them, so it alone knows all candidates.
    #[test]
    fn the_leader_is_asked_first_and_the_others_after_it() {
        let mut asked =
            [silent("d"), following("a", Some(("b", 7))), following("b", Some(("b", 7)))];
        asked[2].answer.as_mut().unwrap().state = "leading".to_owned();
        for (at, one) in asked.iter_mut().enumerate() {
            one.target.admin = Some(at.to_string());
        }
        let told = std::cell::RefCell::new(Vec::new());
        let refuses = |refused: &'static str| {
            let told = &told;
            move |address: &str| {
                told.borrow_mut().push(address.to_owned());
                let sentence = "there is no /locks here".to_owned();
                let refusal = ClientError::Refused { code: 404, passes: false, sentence };
                if refused.contains(address) { Err(refusal) } else { Ok(address.to_owned()) }
            }
        };
        assert_eq!(ask(&asked, refuses("")).as_deref(), Ok("2"));
        assert_eq!(ask(&asked, refuses("2")).as_deref(), Ok("1"));
        let error = ask(&asked, refuses("12")).unwrap_err();
        let words = "this node runs a version of electd that knows no locks: upgrade it";
        assert_eq!(error, CliError::new(Exit::No, words));
        assert_eq!(told.into_inner(), ["2", "2", "1", "2", "1"]);
    }
}
