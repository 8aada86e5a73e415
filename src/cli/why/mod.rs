//! `electd why`: why a member leads, and why another does not, in sentences with what to do about it.

mod nobody;
mod of_member;
#[cfg(test)]
mod tests;
mod view;

use std::fmt::Write;

use clap::Args;
use electd_facts::judge::Verdict;
use serde_json::{Value, json};

use super::args::{OutputArgs, OutputFormat, member_names};
use super::ask::{NodeArgs, any_answer};
use super::error::CliError;
use super::exit::Exit;
use super::{print, screen};
use view::{WhyAnswer, WhyView};

/// Tell why a member leads, and why the others do not.
///
/// The nodes are asked for their status now, and the answer is drawn from all of them: roles, drains, health, ranks,
/// refusals, disks, and who hears whom. If something can be done about it, a line says what.
///
/// Exit codes: 0 a member leads; 1 nobody leads, as far as the nodes know; 2 two or more members lead, or there is no such
/// member; 69 no node answers;
/// 78 another node answers at an address of the file.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd why --config cluster.json                every member
  electd why node-2 --config cluster.json         node-2 alone
  electd why --config cluster.json --output json  for programs")]
pub struct WhyArgs {
    /// The member to tell of. Without it: all.
    #[arg(value_name = "NODE", id = "member", add = member_names())]
    member: Option<String>,
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl WhyArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let asked = targets.ask(&targets.client(None));
        if asked.iter().all(|asked| asked.answer.is_err()) {
            return any_answer(&asked);
        }
        let view = WhyView::of(&asked, &self.nodes.flags());
        let names: Vec<&str> = match &self.member {
            None => view.names.iter().copied().collect(),
            Some(name) if view.names.contains(name.as_str()) => vec![name],
            Some(name) => {
                let all = view.names.iter().copied().collect::<Vec<_>>().join(", ");
                let what = format!("there is no member {name:?}; there are {all}");
                return Err(CliError::new(Exit::Usage, what));
            }
        };
        let members: Vec<(&str, WhyAnswer)> =
            names.into_iter().map(|name| (name, of_member::why(name, &view))).collect();
        let nobody = view.leader.is_none().then(|| nobody::why(&view));
        match self.output.output {
            OutputFormat::Table => {
                let chosen = self.member.is_some();
                let text = text(&view, nobody.as_ref(), &members, chosen);
                print::result(&screen::on_terminal(&text, 2))
            }
            OutputFormat::Json => print::json(&object(&view, nobody.as_ref(), &members)),
        }?;
        any_answer(&asked)?;
        match nobody {
            None if view.judgement.verdict == Verdict::TwoLeaders => {
                Err(CliError::silent(Exit::Outage))
            }
            None => Ok(()),
            Some(_) => Err(CliError::silent(Exit::No)),
        }
    }
}

/// For people: a sentence each, and below it what to do. What only changes who leads, although nothing is wrong, is for
/// whoever asked about this member (`chosen`).
fn text(
    view: &WhyView,
    nobody: Option<&WhyAnswer>,
    members: &[(&str, WhyAnswer)],
    chosen: bool,
) -> String {
    let mut text = String::new();
    let judgement = &view.judgement;
    if judgement.verdict == Verdict::TwoLeaders || !judgement.cut_off.is_empty() {
        let _ = writeln!(text, "{}", judgement.headline()); // a string takes everything
    }
    let sentences = members.iter().map(|(name, why)| (why.begin(name), why));
    // A node that hears nobody cannot know that nobody leads.
    let nobody = nobody.filter(|_| judgement.verdict != Verdict::CutOff);
    let nobody = nobody.map(|why| ("nobody leads".to_owned(), why));
    for (begin, WhyAnswer { reason, remedy, cause }) in nobody.into_iter().chain(sentences) {
        let _ = writeln!(text, "{begin}: {reason}");
        if let Some(remedy) = remedy.as_ref().filter(|_| chosen || !cause.is_as_ranked()) {
            let _ = writeln!(text, "  => {remedy}");
        }
    }
    text
}

/// For programs.
fn object(view: &WhyView, nobody: Option<&WhyAnswer>, members: &[(&str, WhyAnswer)]) -> Value {
    let words = |why: &WhyAnswer| json!({ "cause": why.cause.name(), "reason": why.reason, "remedy": why.remedy });
    let members = members.iter().map(|(name, why)| {
        let mut object = words(why);
        object["name"] = (*name).into();
        object["leads"] = why.leads().into();
        object
    });
    json!({
        "leader": view.leader.map(|leader| &leader.name),
        "epoch": view.leader.map(|leader| leader.epoch),
        "nobody_leads": nobody.map(words),
        "members": members.collect::<Vec<_>>(),
    })
}
