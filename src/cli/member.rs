//! `electd member`: the members of the cluster.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::admin::client::Order;
use crate::config::entry;
use crate::limits::{NAME_RULE, is_id, is_name};
use crate::node::status::{MemberStatus, Status};

use super::args::Output;
use super::error::CliError;
use super::exit::Exit;
use super::order::{OrderArgs, give};
use super::print;

/// Add, remove or list the members of a running cluster.
///
/// Any node can be asked: it passes the command on to the leader, which makes one change at a time. The members of
/// the configuration file found a cluster; afterwards the list that every node has stored counts.
///
/// Exit codes: 0 done; 1 refused; 69 no node answers, or none could tell the outcome in time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd member list --config cluster.json
  electd member add --config cluster.json --name node-4 --address 10.0.0.4:7101
  electd member remove --config cluster.json node-2")]
pub struct Members {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Add(Add),
    Remove(Remove),
    List(List),
}

/// Add a member, then start it with a file that lists it and any live member.
#[derive(Args, Debug)]
struct Add {
    #[command(flatten)]
    order: OrderArgs,

    /// Its name.
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Its id, a version 4 UUID that no member ever had; without it, a fresh one is printed.
    #[arg(long, value_name = "UUID")]
    id: Option<String>,

    /// The address that other members dial.
    #[arg(long, value_name = "HOST:PORT")]
    address: String,

    /// The address of its HTTP.
    #[arg(long = "member-admin", value_name = "HOST:PORT")]
    member_admin: Option<String>,

    /// Its role.
    #[arg(long, value_enum, default_value_t)]
    role: RoleArg,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum RoleArg {
    #[default]
    Member,
    Witness,
    Observer,
}

impl RoleArg {
    fn name(self) -> &'static str {
        match self {
            RoleArg::Member => "member",
            RoleArg::Witness => "witness",
            RoleArg::Observer => "observer",
        }
    }
}

/// Remove a member, which then ends; a leader hands over first.
#[derive(Args, Debug)]
struct Remove {
    #[command(flatten)]
    order: OrderArgs,

    /// The member.
    #[arg(value_name = "NAME")]
    name: String,

    /// Remove it even if the live voters are no majority afterwards.
    #[arg(long)]
    force: bool,
}

/// List the members, as the node with the latest view knows them.
#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    order: OrderArgs,
}

impl Members {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::Add(add) => add.run(),
            Action::Remove(remove) => remove.run(),
            Action::List(list) => list.run(),
        }
    }
}

impl Add {
    /// Its entry, as in the configuration; judged as the node judges it, so that nobody needs to be asked.
    fn entry(&self) -> Result<Value, String> {
        if let Some(id) = self.id.as_deref().filter(|id| !id.parse().is_ok_and(is_id)) {
            return Err(format!("--id \"{id}\" is no version 4 UUID: leave it out to get one"));
        }
        let entry = json!({
            "name": self.name, "id": self.id, "address": self.address,
            "admin": self.member_admin, "role": self.role.name(),
        });
        entry::parse(entry.to_string().as_bytes())?;
        Ok(entry)
    }

    fn run(self) -> Result<(), CliError> {
        let entry = self.entry().map_err(|error| CliError::new(Exit::Usage, error))?;
        let (client, asked) = self.order.ask()?;
        let done = give(&client, &asked, &Order::post("members", &entry))?;
        match self.order.output.output {
            Output::Json => print::json(&json!({ "result": done.result, "id": done.id })),
            Output::Table => {
                let id = done.id.unwrap_or_default();
                print::result(&format!("{}\nits id is {id}\n", done.result))
            }
        }
    }
}

impl Remove {
    fn run(self) -> Result<(), CliError> {
        if !is_name(&self.name) {
            let what = format!("\"{}\" is nobody's name: {NAME_RULE}", self.name);
            return Err(CliError::new(Exit::Usage, what)); // it would be part of a path
        }
        let Remove { order, name, force } = self;
        let query = if force { "?force=true" } else { "" };
        let remove = Order::delete(format!("members/{name}{query}"));
        order.tell_any(&remove.ending_a_leadership()) // that member may be the leader
    }
}

impl List {
    fn run(self) -> Result<(), CliError> {
        let (_, asked) = self.order.ask()?;
        let statuses = asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
        let latest = statuses.max_by_key(|status| (status.leader.is_some(), status.epoch));
        let members = latest.map(|status: &Status| &status.members[..]).unwrap_or_default();
        match self.order.output.output {
            Output::Json => print::json(&json!({ "members": members })),
            Output::Table => print::result(&table(members)),
        }
    }
}

fn table(members: &[MemberStatus]) -> String {
    let row = |member: &MemberStatus| {
        let admin = member.admin.clone().unwrap_or_else(|| "-".to_owned());
        let MemberStatus { name, status, role, address, id, .. } = member.clone();
        vec![name, status, role, address, admin, id]
    };
    print::table(&["MEMBER", "STATUS", "ROLE", "ADDRESS", "ADMIN", "ID"], members.iter().map(row))
}
