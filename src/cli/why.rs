//! `electd why`: why a member leads, and why another does not, in sentences with what to do about it.

use clap::Args;
use electd_facts::judge::Verdict;
use electd_facts::why::WhyView;

use super::args::{OutputArgs, OutputFormat, member_names};
use super::ask::{NodeArgs, any_answer, facts_of};
use super::error::CliError;
use super::exit::Exit;
use super::lock::lock_names;
use super::transition::now;
use super::{print, screen, why_lock};

/// Tell why a member leads, and why the others do not.
///
/// The nodes are asked for their status now, and the answer is drawn from all of them: roles, drains, health, ranks,
/// refusals, disks, and who hears whom. If something can be done about it, a line says what.
///
/// With --lock it tells why a member holds that lock, why others do not, or why nobody does.
///
/// Exit codes: 0 a member leads, or holds the lock; 1 nobody does, as far as the nodes know; 2 two or more members lead, or
/// there is no such member; 69 no node answers;
/// 78 another node answers at an address of the file.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd why --config cluster.json                every member
  electd why node-2 --config cluster.json         node-2 alone
  electd why --lock vip-7                         who holds a lock, and why
  electd why --config cluster.json --output json  for programs")]
pub struct WhyArgs {
    /// The member to tell of. Without it: all.
    #[arg(value_name = "NODE", id = "member", add = member_names())]
    member: Option<String>,
    /// Tell why a member holds this lock, or nobody does.
    #[arg(long, value_name = "NAME", conflicts_with = "member", add = lock_names())]
    lock: Option<String>,
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl WhyArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(lock) = &self.lock {
            return why_lock::run(&self.nodes, &why_lock::named(lock)?, self.output.output);
        }
        let targets = self.nodes.targets()?;
        let asked = targets.ask(&targets.client(None));
        if asked.iter().all(|asked| asked.answer.is_err()) {
            return any_answer(&asked);
        }
        let view = WhyView::of(facts_of(&asked), &self.nodes.flags(), now());
        let member = self.member.as_deref();
        if let Some(name) = member.filter(|name| !view.names.contains(name)) {
            let all = view.names.iter().copied().collect::<Vec<_>>().join(", ");
            let what = format!("there is no member {name:?}; there are {all}");
            return Err(CliError::new(Exit::Usage, what));
        }
        match self.output.output {
            OutputFormat::Table => print::result(&screen::on_terminal(&view.text(member), 2)),
            OutputFormat::Json => print::json(&view.object(member)),
        }?;
        any_answer(&asked)?;
        match view.leader {
            Some(_) if view.judgement.verdict == Verdict::TwoLeaders => {
                Err(CliError::silent(Exit::Outage))
            }
            Some(_) => Ok(()),
            None => Err(CliError::silent(Exit::No)),
        }
    }
}
