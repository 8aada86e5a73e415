//! How much a day of trouble logs, and how its lines look.

use std::sync::Arc;
use std::time::Duration;

use log::Level;
use log::kv::{ToValue, Value};

use super::repeats::MINUTE;
use super::*;

/// The log of a node, without the places that it goes to.
#[derive(Default)]
struct Day {
    repeats: Repeats,
    bytes: usize,
}

/// The most that a day may log.
const MOST: usize = 5_000_000;
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Day {
    /// A day of rounds of this length, in which a node logs what this function says.
    fn of(round: Duration, logs: impl Fn(&mut Day, Duration, u32)) -> Day {
        let mut day = Day::default();
        for number in (0..).take_while(|number| round * *number < DAY) {
            logs(&mut day, round * number, number);
        }
        day
    }

    /// A change of state at this time that repeats others with this key.
    fn change(&mut self, now: Duration, key: u64, text: &str) {
        for repeated in self.repeats.due(now) {
            self.write(&repeated.text);
        }
        if self.repeats.admit(key, Level::Info, text, now) {
            self.write(text);
        }
    }

    /// Counts a line with the fields that changes of state have, in the longer format.
    fn write(&mut self, text: &str) {
        let fields = [
            ("event", "no_leader"),
            ("from", "following"),
            ("to", "electing"),
            ("leader", "node-3"),
        ];
        self.bytes += written(LogFormat::Json, true, Level::Info, &fields, text).len();
    }
}

#[test]
fn a_day_without_a_quorum_stays_small() {
    let day = Day::of(Duration::from_secs(1), |day, now, number| {
        let waits =
            format!("electing -> waiting, leader none, epoch {number}: a majority is bound");
        day.change(now, 1, &waits);
        day.change(
            now,
            2,
            "waiting -> electing, leader none, epoch 4: nobody came to lead in time",
        );
    });
    assert!((10_000..MOST).contains(&day.bytes), "{}", day.bytes);
}

/// A line of this format, from a record with these fields.
fn written(
    format: LogFormat,
    for_journal: bool,
    level: Level,
    fields: &[(&str, &str)],
    text: &str,
) -> String {
    let out = Arc::<Mutex<Vec<u8>>>::default();
    let node_log = node_log(&out, "info", WriteStyle::Never, format, for_journal);
    let mut record = Record::builder();
    record.level(level).key_values(&fields);
    node_log.log(&record.args(format_args!("{text}")).build());
    take(&out)
}

/// The log of node a of cluster x, which writes the lines that these directives ask for to this buffer.
fn node_log(
    out: &Arc<Mutex<Vec<u8>>>,
    directives: &str,
    colour: WriteStyle,
    format: LogFormat,
    for_journal: bool,
) -> NodeLog {
    let style = Style { format, for_journal, cluster: "x".to_owned(), node: "a".to_owned() };
    let logger = Builder::new()
        .parse_filters(directives)
        .target(Target::Pipe(Box::new(Shared(out.clone()))))
        .write_style(colour)
        .format(move |out, record| style.write(out, Timestamp::UNIX_EPOCH, record))
        .build();
    NodeLog::new(logger)
}

fn take(out: &Mutex<Vec<u8>>) -> String {
    String::from_utf8(std::mem::take(&mut *out.lock())).unwrap()
}

struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_change_of_state_is_never_counted_away_and_a_count_keeps_its_level() {
    let out = Arc::default();
    let log = node_log(&out, "info", WriteStyle::Never, LogFormat::Text, false);
    let line = |fields: &[(&str, Value<'_>)], text: &str| {
        let mut record = Record::builder();
        record.level(Level::Warn).key_values(&fields);
        log.log(&record.args(format_args!("{text}")).build());
    };
    for _ in 0..4 {
        line(&[("event", "majority_lost".into())], "the majority is lost");
        line(&[("event", "majority_back".into())], "the majority is back");
        line(&[("event", "no_leader".into()), ("same", "7".into())], "waits");
        line(&[("event", "following".into()), ("same", None::<&str>.to_value())], "follows");
        line(&[("event", "hook".into()), ("same", "words".into())], "hook: words");
        line(&[], "cannot accept a connection");
    }
    log.flush();
    let log = take(&out);
    let count = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!((count("a: the majority is lost"), count("a: the majority is back")), (4, 4));
    assert_eq!(count("a: follows"), 4, "it repeats nothing");
    assert_eq!((count("a: waits"), count("a: cannot accept"), count("a: hook")), (1, 1, 1));
    let counted = |words| format!("WARN  a: repeated 3 times in the last 0 s: {words}");
    assert_eq!((count(&counted("waits")), count(&counted("cannot accept"))), (1, 1), "{log}");
    assert!(MINUTE > Duration::from_secs(1), "the test is shorter");
}

#[test]
fn a_filter_is_of_levels_and_modules() {
    let directives = |wanted: &str| directives(Some(wanted.to_owned()));
    for wanted in
        ["debug", "Warn", "off", "electd::net=trace", "electd", "info,rustls=debug", "info/lease"]
    {
        assert!(directives(wanted).is_ok(), "{wanted}");
    }
    for (wanted, strange) in [
        ("debgu", "debgu"),
        ("info,verbose", "verbose"),
        ("electd=loud", "electd=loud"),
        ("=", "="),
        ("=info", "=info"),
        ("2", "2"),
        ("info/lease/vote", "vote"),
        ("info, loud/lease/vote", "loud"),
    ] {
        let words = format!(
            "RUST_LOG={wanted:?}: {strange:?} is no level: use error, warn, info, debug, trace or off, or a module and a \
             level such as electd::net=debug"
        );
        let CliError { exit, message } = directives(wanted).unwrap_err();
        assert_eq!((exit, message), (Exit::Usage, words));
    }
    assert_eq!(super::directives(None).unwrap(), "info");
    assert_eq!(directives("warn, ,electd::net=trace").unwrap(), "warn, ,electd::net=trace");
}

/// Lines that have a place and words in common, or what they say that they have in common.
#[test]
fn a_line_repeats_another_from_its_place_with_its_words() {
    let key = |line: u32, text: &str, fields: &[(&str, &str)]| {
        repeat_key(
            &Record::builder()
                .file(Some("a.rs"))
                .line(Some(line))
                .key_values(&fields)
                .args(format_args!("{text}"))
                .build(),
        )
    };
    assert!(key(1, "so", &[]).is_some() && key(1, "so", &[]) == key(1, "so", &[]));
    assert_ne!(key(1, "so", &[]), key(2, "so", &[]));
    assert_ne!(key(1, "so", &[]), key(1, "other", &[]));
    assert_eq!(key(1, "so", &[("event", "leading")]), None);
    assert_eq!(
        key(1, "so", &[("same", "7")]),
        key(1, "other", &[("same", "7"), ("event", "leading")])
    );
    assert_ne!(key(1, "so", &[("same", "7")]), key(1, "so", &[("same", "8")]));
    let elsewhere = repeat_key(
        &Record::builder().file(Some("b.rs")).line(Some(1)).args(format_args!("so")).build(),
    );
    assert_ne!(elsewhere, key(1, "so", &[]));
}

#[test]
fn all_repetitions_are_logged_for_debugging_and_counted_otherwise() {
    let told = |directives| {
        let out = Arc::default();
        let log = node_log(&out, directives, WriteStyle::Never, LogFormat::Text, false);
        for level in [Level::Info, Level::Info, Level::Debug, Level::Debug, Level::Trace] {
            log.log(&Record::builder().level(level).args(format_args!("so")).build());
        }
        log.flush();
        let lines = take(&out);
        lines
            .lines()
            .map(|line| line["1970-01-01T00:00:00.000Z ".len()..].to_owned())
            .collect::<Vec<_>>()
    };
    let (info, debug, trace) = ("INFO  a: so", "DEBUG a: so", "TRACE a: so");
    assert_eq!(told("warn"), [""; 0]);
    assert_eq!(told("info"), [info, "INFO  a: repeated once in the last 0 s: so"]);
    assert_eq!(told("debug"), [info, info, debug, debug]);
    assert_eq!(told("trace"), [info, info, debug, debug, trace]);
    assert_eq!(told("warn,electd=debug"), [""; 0], "of that module alone");
}

#[test]
fn a_line_is_text_or_one_document() {
    let fields = [("event", "leading"), ("same", "7"), ("leader", "c")];
    let text = written(LogFormat::Text, false, Level::Warn, &fields, "leads");
    assert_eq!(text, "1970-01-01T00:00:00.000Z WARN  a: leads\n");
    let json = written(LogFormat::Json, false, Level::Warn, &fields, "leads\nin epoch 4");
    let begin = r#"{"time":"1970-01-01T00:00:00.000Z","level":"WARN","cluster":"x","node":"a","#;
    assert_eq!(
        json,
        format!(
            "{begin}\"event\":\"leading\",\"message\":\"leads\\nin epoch 4\",\"leader\":\"c\"}}\n"
        )
    );
}

#[test]
fn a_document_names_cluster_and_node_once_and_numbers_are_numbers() {
    let out = Arc::default();
    let log = node_log(&out, "info", WriteStyle::Never, LogFormat::Json, false);
    let fields: [(&str, Value<'_>); 4] =
        [("cluster", "y".into()), ("node", "b".into()), ("epoch", 7.into()), ("why", "x".into())];
    let mut record = Record::builder();
    record.level(Level::Error).key_values(&fields);
    log.log(&record.args(format_args!("says")).build());
    let begin = r#"{"time":"1970-01-01T00:00:00.000Z","level":"ERROR","cluster":"x","node":"a","#;
    let end = r#""event":"log","message":"says","epoch":7,"why":"x"}"#;
    assert_eq!(take(&out), format!("{begin}{end}\n"));
}

#[test]
fn what_was_counted_for_a_minute_is_told_before_the_next_line() {
    let out = Arc::default();
    let mut log = node_log(&out, "info", WriteStyle::Never, LogFormat::Json, false);
    let say = |log: &NodeLog, text: &str| {
        log.log(&Record::builder().level(Level::Warn).args(format_args!("{text}")).build());
    };
    (0..3).for_each(|_| say(&log, "cannot accept"));
    log.started -= MINUTE; // as if it had passed
    say(&log, "another");
    let text = take(&out);
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let told: Vec<_> = lines
        .map(|line| [&line["event"], &line["message"]].map(|it| it.as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(told.len(), 3, "{text}");
    assert_eq!(told[0], ["log", "cannot accept"]);
    assert_eq!(told[2], ["log", "another"]);
    assert_eq!(told[1][0], "repeated", "{text}");
    assert!(told[1][1].starts_with("repeated 2 times in the last 6"), "{text}");
}

#[test]
fn a_level_that_is_not_asked_for_is_not_enabled() {
    let log = node_log(&Arc::default(), "info", WriteStyle::Never, LogFormat::Text, false);
    let enabled = |level| log.enabled(&Metadata::builder().level(level).build());
    assert!(enabled(Level::Info) && !enabled(Level::Debug));
}

#[test]
fn the_journal_gets_the_priority_of_each_line_and_no_second_time_and_level() {
    let text = written(LogFormat::Text, true, Level::Warn, &[], "one\nother");
    assert_eq!(text, "<4>a: one\n<4>other\n");
    let document = written(LogFormat::Json, false, Level::Info, &[], "one\nother");
    assert_eq!(
        written(LogFormat::Json, true, Level::Info, &[], "one\nother"),
        format!("<6>{document}")
    );
    assert_eq!(written(LogFormat::Text, true, Level::Error, &[], "one"), "<3>a: one\n");
    let [journal, other] = [(); 2].map(|()| tempfile::tempfile().unwrap());
    let said = fstat(&journal).map(|file| format!("{}:{}", file.st_dev, file.st_ino)).unwrap();
    assert!(is_journal(&journal, &said) && !is_journal(&other, &said) && !is_journal(&other, ""));
}

#[test]
fn a_terminal_shows_levels_in_colour() {
    let shown = |colour| {
        let out = Arc::default();
        let log = node_log(&out, "info", colour, LogFormat::Text, false);
        log.log(&Record::builder().level(Level::Warn).args(format_args!("leads")).build());
        take(&out)
    };
    assert_eq!(shown(WriteStyle::Never), "1970-01-01T00:00:00.000Z WARN  a: leads\n");
    let yellow = "1970-01-01T00:00:00.000Z \u{1b}[33mWARN \u{1b}[0m a: leads\n";
    assert_eq!(shown(WriteStyle::Always), yellow);
}
