//! `electd health`: the cluster in one line and an exit code, as monitoring systems run plugins.

use std::fmt::Write;

use clap::Args;
use electd_facts::judge::{Judgement, Verdict};

use super::args::{OutputArgs, OutputFormat};
use super::ask::{NodeArgs, judged};
use super::error::CliError;
use super::exit::Exit;
use super::print;

/// Show in one line how the cluster is, for a monitoring system.
///
/// It does so as a plugin of Nagios, Icinga and their like. Without --node and --admin all members are asked. The line
/// has less than 500 characters, and ends its lists with how many more there are; --output json prints all. It also names a
/// pause, a switchover, members that are drained or have resigned, and nodes whose versions or clocks differ, which by
/// themselves change no exit code. Figures for graphs follow a bar.
///
/// Exit codes: 0 well; 1 degraded: a leader leads, and something is wrong, or no further failure is tolerated although
/// the whole cluster tolerates one, whoever caused that; 2 no leader, more than one, or only a node answers that hears
/// nobody; 3 unknown: no node answers, or the command line is
/// wrong.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd health --config cluster.json
  electd health --config cluster.json --output json | jq -r .verdict
  electd health --admin 127.0.0.1:7201              as this node alone sees it")]
pub struct HealthArgs {
    #[command(flatten)]
    nodes: NodeArgs,

    /// Only ask the node of this host whether it lives, whatever it knows of a leader: 0 if it does, otherwise 1. For the
    /// health check of a container: an orchestrator must not restart the voters of a cluster that has no leader.
    #[arg(long, conflicts_with = "output")]
    live: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl HealthArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.live {
            return self.ask_whether_it_lives();
        }
        let targets = self.nodes.targets();
        let targets = targets.map_err(|error| CliError { exit: Exit::Unknown, ..error })?;
        let judgement = judged(&targets.ask(&targets.client(None)), &self.nodes.flags());
        match self.output.output {
            OutputFormat::Table => print::result(&line(&judgement)),
            OutputFormat::Json => print::json(&judgement.json()),
        }?;
        let exit = match judgement.verdict {
            Verdict::Well => return Ok(()),
            Verdict::Degraded => Exit::No,
            Verdict::NoLeader | Verdict::TwoLeaders | Verdict::CutOff => Exit::Outage,
            Verdict::Unknown => Exit::Unknown,
        };
        Err(CliError::silent(exit))
    }

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

/// The longest line, with its end: plugins cut longer ones.
const LONGEST: usize = 499;
/// The longest piece of it that is about one thing.
const PIECE: usize = 240;
/// Of what is wrong at least so much is left where room is short: what to do is said whole, or not at all.
const CAUSE: usize = 48;
/// The room for how many pieces were left out.
const MORE: usize = 16;

/// The line of a plugin: as many of its words as fit, the worst first. A bar would end its words, so they contain none.
fn line(judgement: &Judgement) -> String {
    let Judgement { verdict, problems, orders, leader, tolerated, .. } = judgement;
    let (answering, asked) = &judgement.answering;
    let epoch = leader.as_ref().map_or(0, |(_, epoch)| *epoch);
    let begin = match verdict {
        Verdict::TwoLeaders => "ELECTD ".to_owned(), // the summary begins with the word
        verdict => format!("ELECTD {}: ", verdict.word()),
    };
    let figures = format!(
        " | failures_tolerated={tolerated} answering={answering};;;0;{asked} problems={} epoch={epoch}c\n",
        problems.len()
    );
    let room = LONGEST - begin.len() - figures.len() - MORE;
    let noun = if *asked == 1 { "node answers" } else { "nodes answer" };
    let mut words = shortened(&judgement.summary(), room / 4 * 3);
    let differ = judgement.differences.iter().map(ToString::to_string);
    let more = orders.iter().cloned().chain(differ).map(|text| (text, None));
    let pieces = wrong(judgement).into_iter().chain(more);
    let count = (format!("{answering} of {asked} {noun}"), None);
    let pieces: Vec<(String, Option<String>)> = std::iter::once(count).chain(pieces).collect();
    for (at, (text, remedy)) in pieces.iter().enumerate() {
        let Some(piece) = fitted(text, remedy.as_deref(), room.saturating_sub(words.len() + 2))
        else {
            let _ = write!(words, "; {} more", pieces.len() - at);
            break;
        };
        let _ = write!(words, "; {piece}");
    }
    begin + &words.replace(['|', '\n'], " ") + &figures
}

/// What is wrong, with what to do. Where nobody answers, that is why: there is no row to say it.
fn wrong(judgement: &Judgement) -> Vec<(String, Option<String>)> {
    match judgement.verdict {
        Verdict::Unknown => judgement.problems.iter().map(|it| (it.to_string(), None)).collect(),
        _ => judgement.besides(),
    }
}

/// What is wrong and what to do about it, in so much room; none if that is too little. What is wrong is shortened first, and
/// stands alone where what to do about it has no room.
fn fitted(text: &str, remedy: Option<&str>, room: usize) -> Option<String> {
    let least = text.len().min(CAUSE);
    let within = |remedy: &str| {
        let most = room.checked_sub(remedy.len())?.min(PIECE);
        (most >= least).then(|| shortened(text, most) + remedy)
    };
    let remedy = remedy.map_or_else(String::new, |remedy| format!(" => {remedy}"));
    within(&remedy).or_else(|| within(""))
}

/// The text, or its begin if it has more bytes than this.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mark = "...";
    let begins = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let end = begins.take_while(|end| *end <= most - mark.len()).last().unwrap_or_default();
    format!("{}{mark}", &text[..end])
}

#[cfg(test)]
mod tests {
    use electd_facts::hint::ClusterFlags;
    use electd_facts::refused::MutualRefusal;
    use serde_json::json;

    use super::*;
    use crate::admin::client::ClientError;
    use crate::cli::ask::AskedNode;
    use crate::cli::ask::tests::{following, silent};
    use crate::node::status::{
        LeaderlessStatus, PauseStatus, Problem, RefusalCause, RejectionStatus,
    };

    fn judged(asked: &[AskedNode]) -> Judgement {
        super::judged(asked, &ClusterFlags::default())
    }

    #[test]
    fn an_order_of_an_operator_is_named_and_is_no_problem() {
        let mut paused = following("a", Some(("c", 7)));
        let since = "2026-11-22T10:58:33.123Z".to_owned();
        paused.answer.as_mut().unwrap().pause = Some(PauseStatus { since, until: None });
        let judgement = judged(&[paused]);
        assert_eq!(judgement.verdict, Verdict::Well);
        let text = line(&judgement);
        let words = "ELECTD OK: c leads in epoch 7; 1 more failure tolerated; 1 of 1 node answers; paused: since \
                     2026-11-22T10:58:33.123Z: nobody preempts the leader; `electd resume` ends that | failures_tolerated=1 answering=1;;;0;1 \
                     problems=0 epoch=7c\n";
        assert_eq!(text, words);
        let paused = "paused: since 2026-11-22T10:58:33.123Z: nobody preempts the leader; `electd resume` ends that";
        assert_eq!(judgement.json()["orders"], json!([paused]));
    }

    #[test]
    fn one_line_has_words_and_figures() {
        let text = line(&judged(&[following("a", Some(("c", 7))), silent("b")]));
        let silence = "b does not answer: no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there";
        let expected = "ELECTD DEGRADED: c leads in epoch 7; 1 more failure tolerated; 1 of 2 nodes answer; b does not answer => look \
             whether it runs, and whether its `admin` address can be reached | \
             failures_tolerated=1 answering=1;;;0;2 problems=1 epoch=7c\n";
        assert_eq!(text, expected);
        let expected = format!(
            "ELECTD UNKNOWN: no leader is known; 0 of 1 node answers; {silence} | failures_tolerated=0 \
             answering=0;;;0;1 problems=1 epoch=0c\n"
        );
        assert_eq!(line(&judged(&[silent("b")])), expected);
    }

    /// A bar begins the figures, and a plugin has one line.
    #[test]
    fn a_piece_has_no_bar_and_no_end_of_a_line_and_no_more_than_its_share() {
        let told = |text: &str| {
            let mut asked = following("a", Some(("c", 7)));
            let (kind, text) = ("k".to_owned(), text.to_owned());
            let problem = Problem { kind, text, about: String::new(), since: String::new() };
            asked.answer.as_mut().unwrap().problems = vec![problem];
            let text = line(&judged(&[asked]));
            let begin = "ELECTD DEGRADED: c leads in epoch 7; 1 more failure tolerated; 1 of 1 node answers; a: k: ";
            let end = " | failures_tolerated=1 answering=1;;;0;1 problems=1 epoch=7c\n";
            let words = text.strip_prefix(begin).and_then(|text| text.strip_suffix(end));
            words.unwrap_or_else(|| panic!("{text}")).to_owned()
        };
        assert_eq!(told("it| is\nill"), "it  is ill");
        let longest = "x".repeat(240 - "a: k: ".len());
        assert_eq!(told(&longest), longest);
        let cut = format!("{}...", &longest[3..]);
        assert_eq!(told(&format!("{longest}x")), cut);
    }

    /// A follower may not have heard yet how many members live; and who cannot be asked is not missing.
    #[test]
    fn the_leader_says_how_many_failures_are_tolerated_or_else_the_most_cautious_node() {
        let of = |name: &str, state: &str, tolerated| {
            let mut asked = following(name, Some(("c", 7)));
            let status = asked.answer.as_mut().unwrap();
            (status.state, status.failures_tolerated) = (state.to_owned(), tolerated);
            asked
        };
        let mut unserved = silent("d");
        unserved.answer = Err(ClientError::NotServed);
        let all = [of("a", "following", 1), of("c", "leading", 2), unserved];
        let text = line(&judged(&all));
        assert!(text.contains("; 2 more failures tolerated; 2 of 2 nodes answer | "), "{text}");
        assert!(text.contains(" failures_tolerated=2 answering=2;;;0;2 "), "{text}");
        let text = line(&judged(&[of("a", "following", 3), of("b", "following", 0)]));
        assert!(text.contains("; no further failure tolerated; "), "{text}");
    }

    /// Names, reasons and lists as long as they may be.
    #[test]
    fn the_line_stays_short_whatever_there_is_to_say() {
        let name = |at: usize| format!("{at:0>63}");
        let mut asked: Vec<AskedNode> = (0..64).map(|at| silent(&name(at))).collect();
        for at in 64..128 {
            let mut one = following(&name(at), Some((&name(127), u64::MAX)));
            let status = one.answer.as_mut().unwrap();
            let down = |other| Problem {
                kind: "peer_down".to_owned(),
                about: name(other),
                text: format!("{} is down: {}", name(other), "ä|\n".repeat(100)),
                since: String::new(),
            };
            status.problems = (0..64).map(down).collect();
            status.resigned = true;
            asked.push(one);
        }
        let led = line(&judged(&asked));
        for status in asked.iter_mut().filter_map(|asked| asked.answer.as_mut().ok()) {
            status.leader = None;
            let reason = format!("{} {}", status.node.name, "why ".repeat(50));
            status.leaderless = Some(LeaderlessStatus { reason, ..LeaderlessStatus::default() });
        }
        for line in [led, line(&judged(&asked))] {
            assert!(line.len() < 500 && line.lines().count() == 1, "{} {line}", line.len());
            assert!(
                line.contains(" more | failures_tolerated=") && line.ends_with("c\n"),
                "{line}"
            );
        }
        let several = line(&judged(&[following("a", Some(("c", 7))), silent("b"), silent("c")]));
        assert!(
            several.contains("1 of 3 nodes answer; b, c do not answer => look whether "),
            "{several}"
        );
    }

    #[test]
    fn a_program_gets_the_whole_verdict() {
        let mut asked = following("a", None);
        let reason = "c is silent".to_owned();
        asked.answer.as_mut().unwrap().leaderless =
            Some(LeaderlessStatus { lasts_ms: 2_000, reason, ..LeaderlessStatus::default() });
        let mut other = silent("b");
        other.answer = Err(ClientError::Other("b is of another cluster".to_owned()));
        let expected = json!({
            "verdict": "no_leader",
            "summary": "no leader is known: a: c is silent; nobody has led for 2 s",
            "leader": null,
            "leaderless_ms": 2_000,
            "reasons": ["a: c is silent"],
            "failures_tolerated": 0,
            "answering": 1,
            "asked": 2,
            "problems": [{ "nodes": [], "kind": null, "about": null, "text": "b is of another cluster" }],
            "orders": [],
        });
        assert_eq!(judged(&[asked, other]).json(), expected);
        assert_eq!(judged(&[silent("b")]).json()["verdict"], "unknown");
    }

    #[test]
    fn a_long_text_is_cut_between_two_letters() {
        for (text, most, short) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "ab..."),
            ("ääää", 7, "ää..."),
            ("ääää", 6, "ä..."),
        ] {
            assert_eq!(shortened(text, most), short);
        }
    }

    /// What is wrong is shortened to the room that is left, and left out where that is too little.
    #[test]
    fn the_line_has_as_much_as_it_has_room_for() {
        let of = |leader: usize, first: usize, second: usize| {
            let mut asked = following("a", Some(("c", 7)));
            let told = |about: &str, length| Problem {
                kind: "k".to_owned(),
                about: about.to_owned(),
                text: about.repeat(length),
                since: String::new(),
            };
            let status = asked.answer.as_mut().unwrap();
            status.problems = vec![told("x", first), told("y", second)];
            status.leader.as_mut().unwrap().name = "c".repeat(leader);
            line(&judged(&[asked]))
        };
        let filled = of(1, 200, 200);
        assert_eq!(filled.len(), 499 - 16, "it fills its room: {filled}");
        assert!(filled.contains("yyy... | "), "{filled}");
        let whole = of(1, 100, 181);
        assert!(whole.contains(&"y".repeat(181)) && !whole.contains("..."), "{whole}");
        let cut = of(60, 234, 200);
        assert!(cut.contains("; 1 more | ") && !cut.contains('y'), "{cut}");
    }

    /// A cause of any length leaves room for what to do about it.
    #[test]
    fn what_to_do_is_said_whole() {
        let mut asked = following("a", Some(("c", 7)));
        let status = asked.answer.as_mut().unwrap();
        let text =
            format!("b is refused: {}", "it came back without what it had stored ".repeat(9));
        let (kind, about, since) = ("rejected".to_owned(), "b".to_owned(), String::new());
        status.problems = vec![Problem { kind, about, text, since }];
        let (peer, reason) = ("b".to_owned(), String::new());
        status.rejections = vec![RejectionStatus {
            peer,
            reason,
            cause: Some(RefusalCause::StateLost),
            by_peer: false,
        }];
        let flags = ClusterFlags::of_command(Some("/etc/electd/another-cluster.json".as_ref()));
        let text = line(&super::judged(&[asked], &flags));
        let remedy =
            format!(" => {} | ", MutualRefusal::by(RefusalCause::StateLost).remedy(&flags));
        assert!(
            text.contains("a: rejected: b is refused: it came back") && text.len() < 500,
            "{text}"
        );
        assert!(text.contains(&remedy), "{text}");
        let in_room = [24, 20, 6].map(|room| fitted("a cause", Some("what to do"), room));
        assert_eq!(in_room, [Some("a cause => what to do".into()), Some("a cause".into()), None]);
    }

    #[test]
    fn a_program_gets_each_piece_in_its_place() {
        let mut asked = following("a", Some(("c", 7)));
        let down = |about: &str| Problem {
            kind: "peer_down".to_owned(),
            about: about.to_owned(),
            text: "gone".to_owned(),
            since: String::new(),
        };
        asked.answer.as_mut().unwrap().problems =
            vec![down("d"), Problem { about: String::new(), ..down("") }];
        let judgement = judged(&[asked, silent("b")]);
        let silence = "b does not answer: no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there";
        let expected = json!({
            "verdict": "degraded",
            "summary": "c leads in epoch 7; 1 more failure tolerated",
            "leader": { "name": "c", "epoch": 7 },
            "leaderless_ms": null,
            "reasons": [],
            "failures_tolerated": 1,
            "answering": 1,
            "asked": 2,
            "problems": [
                { "nodes": [], "kind": null, "about": "b", "text": silence },
                { "nodes": ["a"], "kind": "peer_down", "about": "d", "text": "gone" },
            ],
            "orders": [],
        });
        assert_eq!(judgement.json(), expected);
    }
}
