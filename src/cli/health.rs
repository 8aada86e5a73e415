//! `electd health`: the cluster in one line and an exit code, as monitoring systems run plugins.

use clap::Args;

use super::ask::NodeArgs;
use super::error::CliError;
use super::exit::Exit;
use super::judge::{Judgement, Verdict, judge};
use super::print;

/// Show in one line how the cluster is, for a monitoring system.
///
/// It does so as a plugin of Nagios, Icinga and their like. Without --node and --admin all members are asked. The line also names a pause, a switchover, and members that are
/// drained or have resigned, which change no exit code. Figures for graphs follow a bar.
///
/// Exit codes: 0 well; 1 degraded: a leader leads, and something is wrong; 2 no leader; 3 unknown: no node answers,
/// or the command line is wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd health --config cluster.json
  electd health --admin 127.0.0.1:7201              as this node alone sees it")]
pub struct Health {
    #[command(flatten)]
    nodes: NodeArgs,

    /// Only ask the node of this host whether it lives, whatever it knows of a leader: 0 if it does, otherwise 1. For the
    /// health check of a container: an orchestrator must not restart the voters of a cluster that has no leader.
    #[arg(long)]
    live: bool,
}

impl Health {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.live {
            return self.ask_whether_it_lives();
        }
        let targets = self.nodes.targets();
        let targets = targets.map_err(|error| CliError { exit: Exit::Unknown, ..error })?;
        let judgement = judge(&targets.ask(&targets.client(None)));
        print::result(&line(&judgement))?;
        let exit = match judgement.verdict {
            Verdict::Well => return Ok(()),
            Verdict::Degraded => Exit::No,
            Verdict::NoLeader => Exit::Usage, // the number 2, which means an outage here
            Verdict::Unknown => Exit::Unknown,
        };
        Err(CliError::silent(exit))
    }
}

impl Health {
    fn ask_whether_it_lives(&self) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let asked = targets.ask(&targets.client(None));
        let dead = asked.iter().find_map(|asked| match &asked.answer {
            Ok(status) if status.stalled => Some("its election thread hangs".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        });
        match dead {
            None => print::result("live\n"),
            Some(why) => Err(CliError::new(Exit::No, format!("not live: {why}"))),
        }
    }
}

/// The line of a plugin. A bar would end its words, so they contain none.
fn line(judgement: &Judgement) -> String {
    let Judgement { verdict, problems, orders, leader, tolerated, .. } = judgement;
    let (answering, asked) = &judgement.answering;
    let word = match verdict {
        Verdict::Well => "OK",
        Verdict::Degraded => "DEGRADED",
        Verdict::NoLeader => "NO LEADER",
        Verdict::Unknown => "UNKNOWN",
    };
    let noun = if *asked == 1 { "node answers" } else { "nodes answer" };
    let mut words = vec![judgement.summary(), format!("{answering} of {asked} {noun}")];
    words.extend(orders.iter().chain(problems).cloned());
    let words = words.join("; ").replace(['|', '\n'], " ");
    let epoch = leader.as_ref().map_or(0, |(_, epoch)| *epoch);
    format!(
        "ELECTD {word}: {words} | failures_tolerated={tolerated} answering={answering};;;0;{asked} \
         problems={} epoch={epoch}c\n",
        problems.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};
    use crate::node::status::PauseStatus;

    #[test]
    fn an_order_of_an_operator_is_named_and_is_no_problem() {
        let mut paused = following("a", Some(("c", 7)));
        let since = "2026-11-22T10:58:33.123Z".to_owned();
        paused.answer.as_mut().unwrap().pause = Some(PauseStatus { since, until: None });
        let judgement = judge(&[paused]);
        assert_eq!(judgement.verdict, Verdict::Well);
        let text = line(&judgement);
        let words = "paused: since 2026-11-22T10:58:33.123Z: nobody preempts the leader | ";
        assert!(text.starts_with("ELECTD OK: ") && text.contains(words), "{text}");
        assert!(text.contains(" problems=0 "), "{text}");
    }

    #[test]
    fn one_line_has_words_and_figures() {
        let text = line(&judge(&[following("a", Some(("c", 7))), silent("b")]));
        let (words, figures) = text.split_once(" | ").unwrap();
        assert!(
            words.starts_with(
                "ELECTD DEGRADED: c leads in epoch 7; 1 more failure tolerated; 1 of 2"
            )
        );
        assert!(words.contains("b does not answer: "), "{words}");
        assert_eq!(figures, "failures_tolerated=1 answering=1;;;0;2 problems=1 epoch=7c\n");
        assert!(
            line(&judge(&[silent("b")]))
                .starts_with("ELECTD UNKNOWN: no leader is known; 0 of 1 node answers;")
        );
    }
}
