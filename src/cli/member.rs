//! `electd member`: the members of the cluster.

mod file;
mod set;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::admin::client::{Achieved, Order};
use crate::config::entry;
use crate::limits::{NAME_RULE, is_id, is_name};
use crate::node::status::{MemberStatus, Status};

use super::args::{OutputFormat, member_names};
use super::ask::{AskedNode, NodeArgs, answers};
use super::error::CliError;
use super::exit::Exit;
use super::order::{OrderArgs, TokenArgs, give};
use super::print;
pub use file::with_members;

/// Add, remove, change or list the members of a running cluster.
///
/// Any node can be asked: it passes the command on to the leader, which makes one change at a time. The members of
/// the configuration file found a cluster; afterwards the list that every node has stored counts.
///
/// Exit codes: 0 done; 1 refused; 75 refused for now, try again; 69 no node answers, or none could tell the
/// outcome in time.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd member list --config cluster.json
  electd member add --config cluster.json --name node-4 --address 10.0.0.4:7101
  electd member remove --config cluster.json node-2
  electd member set --config cluster.json node-2 --address 10.0.1.2:7101
  electd member set --config cluster.json --all    as the file says")]
pub struct MemberArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Add(Add),
    Remove(Remove),
    Set(set::Set),
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

    /// If the cluster has this member already, with the same addresses and role, change nothing and succeed.
    #[arg(long)]
    if_absent: bool,
}

/// The role of a new member.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum RoleArg {
    #[default]
    Member,
    Witness,
    Observer,
}

impl RoleArg {
    /// Its word.
    pub fn name(self) -> &'static str {
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
    #[arg(value_name = "NAME", add = member_names())]
    name: String,

    /// Remove it even if the live voters are no majority afterwards.
    #[arg(long)]
    force: bool,

    /// If the cluster has no member of this name, change nothing and succeed.
    #[arg(long)]
    if_present: bool,
}

/// List the members, as the node with the latest view knows them.
#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    token: TokenArgs,

    /// How they are printed: for people, for programs, or as the configuration file, with these members in place of those
    /// that it lists.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: ListOutput,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ListOutput {
    #[default]
    Table,
    Json,
    Config,
}

impl MemberArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::Add(add) => add.run(),
            Action::Remove(remove) => remove.run(),
            Action::Set(set) => set.run(),
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
        let present = members(&asked).iter().find(|member| self.if_absent && self.is(member));
        let (result, id) = match present {
            Some(member) => (format!("{} is a member already", self.name), member.id.clone()),
            None => {
                let post = Order::post("members", &entry).changing_members();
                let done = give(&client, &asked, &post, &self.order.flags())?;
                (done.result, done.id.unwrap_or_default())
            }
        };
        match self.order.output.output {
            OutputFormat::Json => print::json(&json!({ "result": result, "id": id })),
            OutputFormat::Table => print::result(&format!("{result}\nits id is {id}\n")),
        }
    }

    /// Whether this is the member to add.
    fn is(&self, member: &MemberStatus) -> bool {
        let Add { name, id, address, member_admin, role, .. } = self;
        let has_id = id.as_ref().is_none_or(|id| *id == member.id);
        let own = (name, address, member_admin, role.name());
        has_id && own == (&member.name, &member.address, &member.admin, member.role.as_str())
    }
}

impl Remove {
    fn run(self) -> Result<(), CliError> {
        if !is_name(&self.name) {
            let what = format!("\"{}\" is nobody's name: {NAME_RULE}", self.name);
            return Err(CliError::new(Exit::Usage, what)); // it would be part of a path
        }
        let Remove { order, name, force, if_present } = self;
        let query = if force { "?force=true" } else { "" };
        let remove = Order::delete(format!("members/{name}{query}"));
        let remove = remove.ending_a_leadership(); // that member may be the leader
        let is_gone = |asked: &[AskedNode]| if_present && is_absent(&name, asked);
        let gone =
            || Achieved { result: format!("{name} is no member"), successor: None, id: None };
        let (client, asked) = order.ask()?;
        if is_gone(&asked) {
            return order.print(&gone());
        }
        match give(&client, &asked, &remove, &order.flags()) {
            // Somebody else removed it meanwhile, or the node that was asked did not know so yet.
            Err(_) if if_present && is_gone(&order.ask()?.1) => order.print(&gone()),
            done => order.print(&done?),
        }
    }
}

impl List {
    fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let asked = targets.ask_for_any(&self.token.client(&targets)?)?;
        let members = members(&asked);
        match self.output {
            ListOutput::Json => print::json(&json!({ "members": members })),
            ListOutput::Table => print::result(&table(members)),
            ListOutput::Config => {
                let Some(config) = &targets.config else {
                    let what = "the other keys come from the file: name it with --config";
                    return Err(CliError::new(Exit::Usage, what));
                };
                let text = with_members(&config.file, members);
                print::result(&text.map_err(|error| CliError::new(Exit::Config, error))?)
            }
        }
    }
}

/// The members, as the node with the latest view knows them: the leader first, as others store a change later.
pub fn members(asked: &[AskedNode]) -> &[MemberStatus] {
    let statuses = answers(asked);
    let latest =
        statuses.max_by_key(|status| (status.leader.is_some(), status.epoch, status.leads()));
    latest.map(|status: &Status| &status.members[..]).unwrap_or_default()
}

/// Whether a leader knows no member of this name. A member that knows no leader may have an old list.
fn is_absent(name: &str, asked: &[AskedNode]) -> bool {
    let mut statuses = answers(asked);
    let is_led = statuses.any(|status| status.leader.is_some());
    is_led && members(asked).iter().all(|member| member.name != name)
}

fn table(members: &[MemberStatus]) -> String {
    let row = |member: &MemberStatus| {
        let admin = member.admin.clone().unwrap_or_else(|| "-".to_owned());
        let MemberStatus { name, status, role, address, id, .. } = member.clone();
        vec![name, status, role, address, admin, id]
    };
    print::table(&["MEMBER", "STATUS", "ROLE", "ADDRESS", "ADMIN", "ID"], members.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::member;

    #[test]
    fn each_member_has_a_row_with_all_that_is_known_of_it() {
        let served = MemberStatus { admin: Some("127.0.0.1:7201".to_owned()), ..member("a") };
        let witness = MemberStatus { role: "witness".to_owned(), ..member("b") };
        let text = table(&[served, witness]);
        let cells = |line| {
            let cells = str::split(line, "  ").map(str::trim);
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<&str>> = text.lines().map(cells).collect();
        let expected = [
            ["MEMBER", "STATUS", "ROLE", "ADDRESS", "ADMIN", "ID"],
            ["a", "alive", "member", "127.0.0.1:7101", "127.0.0.1:7201", "id of a"],
            ["b", "alive", "witness", "127.0.0.1:7101", "-", "id of b"],
        ];
        assert_eq!(rows, expected, "{text}");
    }

    fn add(id: Option<&str>, role: RoleArg) -> Add {
        use clap::{Command, FromArgMatches};
        let matches = Add::augment_args(Command::new("add")).get_matches_from([
            "add",
            "--name",
            "d",
            "--address",
            "h:1",
        ]);
        let add = Add::from_arg_matches(&matches).unwrap();
        assert!(matches!(add.role, RoleArg::Member) && !add.if_absent);
        Add { id: id.map(str::to_owned), role, member_admin: Some("h:2".to_owned()), ..add }
    }

    #[test]
    fn a_member_to_add_is_told_with_all_that_is_given_of_it() {
        let id = "00000000-0000-4000-8000-000000000009";
        for (role, word) in [
            (RoleArg::Member, "member"),
            (RoleArg::Witness, "witness"),
            (RoleArg::Observer, "observer"),
        ] {
            let entry =
                json!({"name": "d", "id": id, "address": "h:1", "admin": "h:2", "role": word});
            assert_eq!(add(Some(id), role).entry(), Ok(entry));
        }
        assert_eq!(add(None, RoleArg::Member).entry().unwrap()["id"], Value::Null);
        let words = "--id \"x\" is no version 4 UUID: leave it out to get one".to_owned();
        assert_eq!(add(Some("x"), RoleArg::Member).entry(), Err(words));
    }

    #[test]
    fn who_knows_no_member_lists_none() {
        use crate::cli::ask::tests::{following, silent};
        assert!(members(&[silent("a")]).is_empty());
        let mut known = following("b", Some(("b", 7)));
        known.answer.as_mut().unwrap().members = vec![member("b")];
        let asked = [silent("a"), following("c", None), known];
        assert_eq!(
            members(&asked).iter().map(|member| member.name.as_str()).collect::<Vec<_>>(),
            ["b"]
        );
    }
}
