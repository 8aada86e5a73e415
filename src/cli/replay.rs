//! `electd replay`: runs what a node took through the core of this binary, and compares.

use std::fmt::Write as _;
use std::panic;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::Exit;
use super::print::{self, counted};
use super::trace::files;
use crate::flight::document::{Recording, VERSION};
use crate::flight::replay::{Difference, Replayed, Unfinished};
use crate::node::moment;
use crate::trace::Diagram;
use crate::trace::html::Html;
use crate::trace::merge::{TimedRecord, Which, merge};

/// Run what a node took through this electd: does it do the same?
///
/// The file is a recording, by `electd record` or of the folder `flight` of a node's state, where a node leaves one when
/// it panics and when it gets USR1. All that the node took goes through the core of this electd, at the times at which
/// the node took it, and all that comes out is compared with what came out of the node, bit for bit. Nothing is sent.
///
/// Exit codes: 0 all is the same; 1 something differs, and the first difference is shown; 65 the file is no recording, is
/// damaged, or is of a format that another version replays; 66 it cannot be read.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd record --config cluster.json --out a.json
  electd replay a.json                         does this electd do the same?
  electd replay --output json a.json | jq .turns
  electd replay --output html a.json > a.html  what the node saw, as a page")]
pub struct ReplayArgs {
    /// The recording of a node.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How it is shown: for people, for programs (docs/trace.md), or as a page with what the node recorded of its
    /// elections.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: ReplayForm,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReplayForm {
    /// What the file is, and whether all is the same.
    #[default]
    Text,
    /// The same for programs.
    Json,
    /// A drawing in a file for a browser.
    Html,
}

impl ReplayArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let recording = self.read()?;
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {})); // a panic of the core is a result
        let replayed = recording.replay();
        panic::set_hook(hook);
        let replayed = replayed.map_err(|why| files::refused(&self.file, why))?;
        let flown = Flown { recording: &recording, replayed: &replayed };
        match self.output {
            ReplayForm::Text => print::result(&flown.text()),
            ReplayForm::Json => print::json(&flown.object()),
            ReplayForm::Html => print::result(&flown.page()),
        }?;
        if replayed.is_same() { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }

    fn read(&self) -> Result<Recording, CliError> {
        Recording::read(&files::whole(&self.file)?).map_err(|why| files::refused(&self.file, why))
    }
}

/// A recording, and what came of its replay.
struct Flown<'a> {
    recording: &'a Recording,
    replayed: &'a Replayed,
}

impl Flown<'_> {
    fn text(&self) -> String {
        let Replayed { turns, gaps, .. } = self.replayed;
        let mut text = format!("{}\n", self.title());
        if self.recording.version != VERSION {
            let recorded = &self.recording.version;
            let _ = writeln!(text, "recorded by electd {recorded}, replayed by {VERSION}"); // a string takes everything
        }
        if *gaps > 0 {
            let places = counted(*gaps, "place");
            let _ = writeln!(text, "turns are missing in {places}, where there was no room");
        }
        if let Some(Unfinished { input, panic }) = &self.replayed.unfinished {
            let end = match panic {
                Some(panic) => format!("in which this electd panics: {panic}"),
                None => "which was not over yet".to_owned(),
            };
            let _ = writeln!(text, "the recording ends amid a turn, {end}\n  took      {input}");
        }
        match &self.replayed.difference {
            None => {
                let _ = writeln!(text, "{}: every output is the same", counted(*turns, "turn"));
            }
            Some(difference) => text += &self.words(difference),
        }
        text
    }

    /// What the first difference is.
    fn words(&self, difference: &Difference) -> String {
        let Difference { turn, at_ns, input, is_of_state, recorded, replayed } = difference;
        let what = if *is_of_state { "state afterwards" } else { "outputs" };
        let mut text = format!(
            "the first difference is in turn {turn}, at {}: the {what}\n  took      {input}\n",
            self.moment(*at_ns)
        );
        for (who, lines) in [("recorded", recorded), ("replayed", replayed)] {
            let nothing = vec!["nothing".to_owned()];
            for line in if lines.is_empty() { &nothing } else { lines } {
                let _ = writeln!(text, "  {who}  {line}");
            }
        }
        text
    }

    fn object(&self) -> Value {
        let record = &self.recording.record;
        json!({
            "cluster": record.cluster,
            "node": record.node,
            "incarnation": record.incarnation,
            "version": self.recording.version,
            "from": self.moment(self.replayed.from_ns),
            "to": self.moment(self.replayed.to_ns),
            "turns": self.replayed.turns,
            "gaps": self.replayed.gaps,
            "same": self.replayed.is_same(),
            "unfinished": self.replayed.unfinished,
            "difference": self.replayed.difference,
        })
    }

    /// The events that the node recorded, as far as a drawing shows them.
    fn page(&self) -> String {
        let timed = TimedRecord { record: self.recording.record.clone(), ahead_ns: 0 };
        let merged = merge(&[timed], Which::All).unwrap_or_default();
        let diagram = Diagram {
            title: self.title(),
            counts: self.text().lines().skip(1).collect::<Vec<_>>().join("; "),
            description: "What one node took and did; dots are a message of which it saw one end."
                .to_owned(),
            names: merged.names.clone(),
            events: &merged.events,
        };
        Html(&diagram).to_string()
    }

    fn title(&self) -> String {
        let record = &self.recording.record;
        format!(
            "{} of {}, start {}, electd {}, from {} to {}",
            record.node,
            record.cluster,
            record.incarnation,
            self.recording.version,
            self.moment(self.replayed.from_ns),
            self.moment(self.replayed.to_ns)
        )
    }

    /// What the wall clock of the host showed when its other clock showed this.
    fn moment(&self, at_ns: u64) -> String {
        let record = &self.recording.record;
        moment(record.wall_ms.saturating_sub(record.now_ns.saturating_sub(at_ns) / 1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;
    use crate::node::example;
    use crate::node::handle::Handle;

    /// How the replay of a file with this text ends.
    fn ends(change: impl FnOnce(&File)) -> CliError {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        change(&File::create(&file).unwrap());
        ReplayArgs { file, output: ReplayForm::Text }.run().unwrap_err()
    }

    #[test]
    fn what_is_no_recording_is_refused_within_bounded_memory() {
        let text = example::leader().unwrap().handle().recording();
        let with = |text: &str| {
            let text = text.to_owned();
            ends(move |mut file| file.write_all(text.as_bytes()).unwrap())
        };
        for (text, words) in [
            (text.replace("\"node\":\"a\"", "\"node\":\"b\""), "is damaged"),
            (text[..text.len() / 2].to_owned(), "is damaged"),
            ("leaderships".to_owned(), "is no recording"),
            (r#"{"node": "a"}"#.to_owned(), "no flight"),
        ] {
            let CliError { exit, message } = with(&text);
            assert_eq!(exit, Exit::State, "{message}");
            assert!(message.contains("a.json") && message.contains(words), "{message}");
        }
        let large = ends(|file| file.set_len(1 << 30).unwrap());
        assert!(large.exit == Exit::State && large.message.contains("larger"), "{large:?}");
        let none = ReplayArgs { file: "/there/is/none".into(), output: ReplayForm::Text }
            .run()
            .unwrap_err();
        assert_eq!(none.exit, Exit::Unread);
    }

    #[test]
    fn what_came_of_a_replay_is_said() {
        let text = example::leader().unwrap().handle().recording();
        let mut recording = Recording::read(text.as_bytes()).unwrap();
        let replayed = recording.replay().unwrap();
        let said = Flown { recording: &recording, replayed: &replayed }.text();
        let turns = replayed.turns;
        assert!(said.starts_with("a of example, start 1, electd 0"), "{said}");
        assert!(said.ends_with(&format!("\n{turns} turns: every output is the same\n")), "{said}");
        recording.version = "0.0.7".to_owned();
        let difference = Difference {
            turn: 3,
            at_ns: recording.record.now_ns,
            input: "Tick".to_owned(),
            is_of_state: false,
            recorded: Vec::new(),
            replayed: vec!["it panics: so".to_owned()],
        };
        let unfinished = Unfinished { input: "StandBack".to_owned(), panic: Some("so".to_owned()) };
        let (difference, unfinished) = (Some(difference), Some(unfinished));
        let replayed = Replayed { gaps: 2, difference, unfinished, ..replayed };
        let flown = Flown { recording: &recording, replayed: &replayed };
        let [from, to, at] =
            [flown.replayed.from_ns, flown.replayed.to_ns, recording.record.now_ns]
                .map(|at| flown.moment(at));
        let text = format!(
            "a of example, start 1, electd 0.0.7, from {from} to {to}\n\
             recorded by electd 0.0.7, replayed by {VERSION}\n\
             turns are missing in 2 places, where there was no room\n\
             the recording ends amid a turn, in which this electd panics: so\n  took      StandBack\n\
             the first difference is in turn 3, at {at}: the outputs\n  took      Tick\n  recorded  nothing\n  \
             replayed  it panics: so\n"
        );
        assert_eq!(flown.text(), text);
        let expected = json!({
            "cluster": "example", "node": "a", "incarnation": 1, "version": "0.0.7", "from": from, "to": to, "turns": turns,
            "gaps": 2, "same": false, "unfinished": {"input": "StandBack", "panic": "so"},
            "difference": {
                "turn": 3, "at_ns": recording.record.now_ns, "input": "Tick", "is_of_state": false, "recorded": [],
                "replayed": ["it panics: so"],
            },
        });
        assert_eq!(flown.object(), expected);
        let once = Replayed { turns: 1, gaps: 1, ..Replayed::default() };
        let said = Flown { recording: &recording, replayed: &once }.text();
        let words = "\nturns are missing in 1 place, where there was no room\n1 turn: every output is the same\n";
        assert!(said.ends_with(words), "{said}");
    }

    #[test]
    fn a_replay_tells_when_its_first_and_its_last_turn_were() {
        let text = example::leader().unwrap().handle().recording();
        let mut recording = Recording::read(text.as_bytes()).unwrap();
        (recording.record.now_ns, recording.record.wall_ms) = (90_000_000_000, 1_700_000_000_123);
        let replayed =
            Replayed { from_ns: 80_000_000_000, to_ns: 89_900_000_000, ..Replayed::default() };
        let flown = Flown { recording: &recording, replayed: &replayed };
        let (from, to) = ("2023-11-14T22:13:10.123Z", "2023-11-14T22:13:20.023Z");
        let object = flown.object();
        assert_eq!((&object["from"], &object["to"]), (&from.into(), &to.into()));
        assert!(flown.title().ends_with(&format!(", from {from} to {to}")), "{}", flown.title());
    }

    #[test]
    fn a_replay_without_a_difference_is_done_and_says_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let text = example::leader().unwrap().handle().recording();
        std::fs::write(&file, &text).unwrap();
        for output in [ReplayForm::Text, ReplayForm::Json, ReplayForm::Html] {
            let done = ReplayArgs { file: file.clone(), output }.run();
            assert!(done.is_ok(), "{output:?}: {done:?}");
        }
        let recording = Recording::read(text.as_bytes()).unwrap();
        let replayed = Replayed { turns: 4, ..Replayed::default() };
        let flown = Flown { recording: &recording, replayed: &replayed };
        let text = format!("{}\n4 turns: every output is the same\n", flown.title());
        assert_eq!(flown.text(), text);
        let description = "What one node took and did; dots are a message of which it saw one end.";
        let (page, title) = (flown.page(), flown.title());
        for words in [description, "4 turns: every output is the same", &title, "leading"] {
            assert!(page.contains(words), "{words}: {page}");
        }
    }

    /// A second segment, which goes on with the state before the first.
    #[test]
    fn a_replay_with_a_difference_is_shown_and_its_code_says_no() {
        let text = example::leader().unwrap().handle().recording();
        let document: Value = serde_json::from_str(&text).unwrap();
        let first = BASE64_STANDARD.decode(document["flight"][0].as_str().unwrap()).unwrap();
        let second = [&[u8::from(true)], &first[1..]].concat();
        let record = Recording::read(text.as_bytes()).unwrap().record;
        let text = Recording::new(record, &[first, second]).written();
        for output in [ReplayForm::Text, ReplayForm::Json, ReplayForm::Html] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("a.json");
            std::fs::write(&file, &text).unwrap();
            assert_eq!(ReplayArgs { file, output }.run(), Err(CliError::silent(Exit::No)));
        }
    }

    #[test]
    fn a_turn_that_was_not_over_and_a_state_that_differs_are_told_as_such() {
        let text = example::leader().unwrap().handle().recording();
        let recording = Recording::read(text.as_bytes()).unwrap();
        let difference = Difference {
            turn: 3,
            at_ns: recording.record.now_ns,
            input: "Tick".to_owned(),
            is_of_state: true,
            recorded: vec!["one".to_owned()],
            replayed: vec!["other".to_owned(), "more".to_owned()],
        };
        let (difference, input) = (Some(difference), "StandBack".to_owned());
        let unfinished = Some(Unfinished { input, panic: None });
        let replayed = Replayed { difference, unfinished, ..Replayed::default() };
        let flown = Flown { recording: &recording, replayed: &replayed };
        let moment = flown.moment(recording.record.now_ns);
        let text = format!(
            "{}\nthe recording ends amid a turn, which was not over yet\n  took      StandBack\n\
             the first difference is in turn 3, at {moment}: the state afterwards\n  took      Tick\n\
             \x20 recorded  one\n  replayed  other\n  replayed  more\n",
            flown.title()
        );
        assert_eq!(flown.text(), text);
    }
}
