//! How much a day of trouble logs, and how its lines look.

use std::sync::Arc;
use std::time::Duration;

use log::Level;
use log::kv::Value;

use super::repeats::INTERVAL;
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

    /// A change of state at this time.
    fn change(&mut self, now: Duration, text: &str) {
        let key = repeat_key(&Record::builder().build(), text);
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
        day.change(now, &waits);
        day.change(now, "waiting -> electing, leader none, epoch 4: nobody came to lead in time");
    });
    assert!((10_000..MOST).contains(&day.bytes), "{}", day.bytes);
}

/// Whatever the rhythm: the lines of a follower, and of those that take over by turns.
#[test]
fn a_day_in_which_a_cable_flaps_stays_small() {
    for seconds in [1, 3, 10, 61, 299, 301, 901] {
        let day = Day::of(Duration::from_secs(seconds), |day, now, epoch| {
            let took = epoch * 7919 % 977;
            for text in [
                "following -> electing, leader none, epoch 0: leader c is suspected: it was silent for 512 ms".to_owned(),
                "electing -> waiting, leader none, epoch 0: b ranks higher and answered".to_owned(),
                "electing -> waiting, leader none, epoch 0: too few voters agree; asks again in {took} ms".to_owned(),
                format!("waiting -> following, leader b, epoch {epoch}: b leads"),
                format!("electing -> leading, leader b, epoch {epoch}: won: no eligible member ranks higher"),
                format!("leads in epoch {epoch}: took over from c (leader c is suspected) after {took} ms without a leader"),
                format!("leading -> following, leader c, epoch {epoch}: c leads"),
                "voter c is down: the dial fails: connect: it takes too long; 2 of 3 voters left, which tolerate no failure".to_owned(),
                "the dial to c fails: connect: No route to host (os error 113)".to_owned(),
                "voter c is up; 3 of 3 voters left, which tolerate 1 failure".to_owned(),
                "the majority is lost: 1 of 3 voters left, 2 are needed, so nobody can lead".to_owned(),
                "the majority is back: 3 of 3 voters left, which tolerate 1 failure".to_owned(),
            ] {
                day.change(now, &text);
            }
        });
        assert!((10_000..MOST).contains(&day.bytes), "every {seconds} s: {}", day.bytes);
    }
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
fn what_repeats_is_counted_whatever_it_says_and_a_count_keeps_its_level() {
    let out = Arc::default();
    let log = node_log(&out, "info", WriteStyle::Never, LogFormat::Text, false);
    let line = |fields: &[(&str, Value<'_>)], text: &str| {
        let mut record = Record::builder();
        record.level(Level::Warn).key_values(&fields);
        log.log(&record.args(format_args!("{text}")).build());
    };
    for epoch in 1..=12 {
        line(&[("event", "majority_lost".into())], "the majority is lost");
        line(&[("event", "following".into())], &format!("follows in epoch {epoch}"));
        line(&[("event", "hook".into()), ("same", "words".into())], "hook: words");
        line(&[("event", "hook".into()), ("same", "1".into())], &format!("hook: {epoch}"));
        line(&[], "cannot accept a connection");
    }
    log.flush();
    let log = take(&out);
    let count = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    for words in ["the majority is lost", "follows in epoch", "hook: words", "cannot accept"] {
        assert_eq!(count(&format!("a: {words}")), 10, "{log}");
        assert_eq!(
            count(&format!("WARN  a: repeated 2 times in the last 0 s: {words}")),
            1,
            "{log}"
        );
    }
    assert_eq!(count("follows in epoch 12"), 1, "the last: {log}");
    assert!(INTERVAL > Duration::from_secs(1), "the test is shorter");
}

#[test]
fn a_filter_is_of_levels_and_modules() {
    let directives = |wanted: &str| directives(Some(wanted.to_owned()));
    for wanted in [
        "debug",
        "Warn",
        "off",
        "electd_host::net=trace",
        "electd",
        "info,rustls=debug",
        "info/lease",
    ] {
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
             level such as electd_host::net=debug"
        );
        let CliError { exit, message } = directives(wanted).unwrap_err();
        assert_eq!((exit, message), (Exit::Usage, words));
    }
    assert_eq!(super::directives(None).unwrap(), "info");
    assert_eq!(
        directives("warn, ,electd_host::net=trace").unwrap(),
        "warn, ,electd_host::net=trace"
    );
}

/// Lines that have a place and all words but the numbers in common, or what they say that they have in common.
#[test]
fn a_line_repeats_another_from_its_place_with_its_words() {
    let key_in = |file: &'static str, line: u32, text: &str, fields: &[(&str, &str)]| {
        let place = Record::builder().file(Some(file)).line(Some(line)).key_values(&fields).build();
        repeat_key(&place, text)
    };
    let key = |line: u32, text: &str, fields: &[(&str, &str)]| key_in("a.rs", line, text, fields);
    assert_eq!(key(1, "so", &[]), key(1, "so", &[]));
    assert_eq!(key(1, "epoch 4: so", &[]), key(1, "epoch 17: so", &[("event", "leading")]));
    assert_ne!(key(1, "so", &[]), key(2, "so", &[]));
    assert_ne!(key(1, "so", &[]), key(1, "other", &[]));
    let hook = [("same", "7"), ("event", "hook")];
    assert_eq!(key(1, "so", &hook), key(1, "other", &hook));
    assert_ne!(key(1, "so", &[("same", "7")]), key(1, "so", &[("same", "8")]));
    assert_ne!(key(1, "so", &[]), key_in("b.rs", 1, "so", &[]));
}

#[test]
fn all_repetitions_are_logged_for_debugging_and_counted_otherwise() {
    let told = |directives| {
        let out = Arc::default();
        let log = node_log(&out, directives, WriteStyle::Never, LogFormat::Text, false);
        for level in [Level::Info; 11].into_iter().chain([Level::Debug; 11]).chain([Level::Trace]) {
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
    assert_eq!(
        told("info"),
        [&[info; 10][..], &["INFO  a: repeated once in the last 0 s: so"]].concat()
    );
    assert_eq!(told("debug"), [[info; 11], [debug; 11]].concat());
    assert_eq!(told("trace"), [&[info; 11][..], &[debug; 11], &[trace]].concat());
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

/// Each start and each end of a job counts for itself, however many there are.
#[test]
fn a_line_that_says_so_is_written_each_time() {
    let out = Arc::default();
    let log = node_log(&out, "info", WriteStyle::Never, LogFormat::Json, false);
    let fields = [("event", "job_ended"), ("every", "true")];
    for epoch in 0..100 {
        let mut record = Record::builder();
        record.level(Level::Info).key_values(&fields);
        log.log(&record.args(format_args!("the job has ended (epoch {epoch}, TERM)")).build());
    }
    let text = take(&out);
    assert_eq!(text.lines().count(), 100, "{text}");
    assert!(!text.contains("every"), "{text}");
}

#[test]
fn what_was_counted_in_an_interval_is_told_before_the_next_line() {
    let out = Arc::default();
    let mut log = node_log(&out, "info", WriteStyle::Never, LogFormat::Json, false);
    let say = |log: &NodeLog, text: &str| {
        log.log(&Record::builder().level(Level::Warn).args(format_args!("{text}")).build());
    };
    (0..12).for_each(|_| say(&log, "cannot accept"));
    log.started -= INTERVAL; // as if it had passed
    say(&log, "another");
    let text = take(&out);
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let told: Vec<_> = lines
        .map(|line| [&line["event"], &line["message"]].map(|it| it.as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(told.len(), 12, "{text}");
    assert!(told[..10].iter().all(|line| *line == ["log", "cannot accept"]), "{text}");
    assert_eq!(told[11], ["log", "another"]);
    assert_eq!(told[10][0], "repeated", "{text}");
    assert!(told[10][1].starts_with("repeated 2 times in the last 30"), "{text}");
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
