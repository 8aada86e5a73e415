//! `electd member set`: other names and addresses of members.

use clap::Args;
use serde_json::{Value, json};

use super::members;
use crate::admin::client::Order;
use crate::cli::args::{OutputFormat, member_names};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::order::{OrderArgs, give};
use crate::cli::print;
use crate::config::{MemberConfig, entry};
use crate::node::status::MemberStatus;

/// Give members other names and addresses.
///
/// Their ids and roles stay, so no promise of a voter is touched, and nobody is restarted. Put the new address into the
/// files of all hosts first: every node also looks for the others where its own file says. A member that lives has to answer
/// at its new address before; one that is down may be given one all the same.
#[derive(Args, Debug)]
pub struct Set {
    #[command(flatten)]
    order: OrderArgs,

    /// The member, by its present name.
    #[arg(value_name = "NAME", required_unless_present = "all", add = member_names())]
    member: Option<String>,

    /// All members, as the file says: in one step.
    #[arg(long, conflicts_with_all = ["member", "name", "address", "member_admin"])]
    all: bool,

    /// Its new name. The node takes it at its next start, with its state in the folder of that name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The address that other members are to dial.
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,

    /// The address of its HTTP.
    #[arg(long = "member-admin", value_name = "HOST:PORT")]
    member_admin: Option<String>,

    /// Even if a member that lives does not answer at its new address.
    #[arg(long)]
    force: bool,
}

impl Set {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let (client, targets) = self.order.reach()?;
        let asked = targets.ask_for_any(&client)?;
        let present = members(&asked);
        let config = targets.config.as_ref().map(|config| &config.members[..]);
        let entries = if self.all { of_file(present, config)? } else { vec![self.entry(present)?] };
        if entries.is_empty() {
            let result = "nothing to change: the members have the names and addresses of the file";
            return self.tell(result);
        }
        let order = Order::post("entries", &json!({ "members": entries, "force": self.force }))
            .changing_members();
        self.tell(&give(&client, &asked, &order, &self.order.flags())?.result)
    }

    fn tell(&self, result: &str) -> Result<(), CliError> {
        match self.order.output.output {
            OutputFormat::Json => print::json(&json!({ "result": result })),
            OutputFormat::Table => print::result(&format!("{result}\n")),
        }
    }

    /// The entry of the member with what is given; judged as the node judges it, so that nobody needs to be asked.
    fn entry(&self, present: &[MemberStatus]) -> Result<Value, CliError> {
        let Set { member, name, address, member_admin, .. } = self;
        let usage = |what: String| CliError::new(Exit::Usage, what);
        if name.is_none() && address.is_none() && member_admin.is_none() {
            let what = "nothing is given to change: use --name, --address or --member-admin";
            return Err(usage(what.to_owned()));
        }
        let known = present.iter().find(|known| Some(&known.name) == member.as_ref());
        let known = known.ok_or_else(|| {
            let names: Vec<&str> = present.iter().map(|known| known.name.as_str()).collect();
            let who = member.as_deref().unwrap_or_default();
            CliError::new(
                Exit::No,
                format!("no member is named \"{who}\"; there are {}", names.join(", ")),
            )
        })?;
        let entry = json!({
            "id": known.id,
            "name": name.as_ref().unwrap_or(&known.name),
            "address": address.as_ref().unwrap_or(&known.address),
            "admin": member_admin.as_ref().or(known.admin.as_ref()),
            "role": known.role,
        });
        entry::parse(entry.to_string().as_bytes()).map_err(usage)?;
        Ok(entry)
    }
}

/// The entries of the file, of those members that have another name or address there.
fn of_file(
    present: &[MemberStatus],
    file: Option<&[MemberConfig]>,
) -> Result<Vec<Value>, CliError> {
    let what = "the names and addresses come from the file: name it with --config";
    let file = file.ok_or_else(|| CliError::new(Exit::Usage, what))?;
    let differs = |member: &&MemberConfig| {
        let known = present.iter().find(|known| known.id == member.id.to_string());
        known.is_some_and(|known| {
            (&known.name, &known.address, &known.admin)
                != (&member.name, &member.address, &member.admin)
        })
    };
    let entry = |member: &MemberConfig| {
        json!({
            "id": member.id.to_string(), "name": member.name, "address": member.address,
            "admin": member.admin, "role": member.role.name(),
        })
    };
    Ok(file.iter().filter(differs).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::member;

    fn set(args: &[&str]) -> Set {
        use clap::{Command, FromArgMatches};
        let matches =
            Set::augment_args(Command::new("set")).get_matches_from([&["set"], args].concat());
        Set::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn what_is_not_given_stays_as_it_is() {
        let id = "00000000-0000-4000-8000-000000000009";
        let known = MemberStatus { id: id.to_owned(), ..member("b") };
        let entry = set(&["b", "--address", "h:9"]).entry(&[member("a"), known.clone()]).unwrap();
        let expected = json!({
            "id": id, "name": "b", "address": "h:9", "admin": known.admin, "role": known.role
        });
        assert_eq!(entry, expected);
        for (args, code, words) in [
            (&["b"][..], Exit::Usage, "nothing is given to change"),
            (&["c", "--name", "d"], Exit::No, "no member is named \"c\"; there are a, b"),
            (&["b", "--address", "h"], Exit::Usage, "\"address\": \"h\""),
        ] {
            let error = set(args).entry(&[member("a"), known.clone()]).unwrap_err();
            assert!(error.exit == code && error.message.contains(words), "{}", error.message);
        }
    }
}
