//! How much a day of trouble logs, and how its lines look.

use std::time::Duration;

use super::*;

/// The log of a node, without the places that it goes to.
struct Day {
    limiter: Limiter,
    /// How much was written, as text and as JSON.
    bytes: [usize; 2],
    digest_at: Duration,
}

/// The most that a day may log.
const MOST: usize = 5_000_000;
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Day {
    /// A day of rounds of this length, in which a node logs what this function says.
    fn of(round: Duration, logs: impl Fn(&mut Day, Duration, u32)) -> Day {
        let limiter = Limiter::default();
        let mut day = Day { limiter, bytes: [0, 0], digest_at: limiter::DIGEST };
        for number in (0..).take_while(|number| round * *number < DAY) {
            logs(&mut day, round * number, number);
        }
        day
    }

    /// A line of the log at this time, from this place in the code.
    fn line(&mut self, now: Duration, place: u32, same: &str, text: &str) {
        while self.digest_at <= now {
            if let Some(text) = self.limiter.digest() {
                self.write(&text);
            }
            self.digest_at += limiter::DIGEST;
        }
        let line = Line { site: ("src/node/story.rs", place), same, text };
        if self.limiter.admit(&line, now) {
            self.write(text);
        }
    }

    /// Counts a line with the fields that changes of state have.
    fn write(&mut self, text: &str) {
        let mut fields = Fields { event: Some("no_leader".to_owned()), ..Fields::default() };
        for (name, value) in [("from", "following"), ("to", "electing"), ("leader", "node-3")] {
            fields.others.insert(name.to_owned(), value.into());
        }
        for (bytes, format) in self.bytes.iter_mut().zip([LogFormat::Text, LogFormat::Json]) {
            let style = Style { format, with_priority: true, node: "node-1".to_owned() };
            *bytes += style.line(Timestamp::UNIX_EPOCH, Level::Info, &fields, text).len();
        }
    }

    #[track_caller]
    fn assert_small(&self) {
        let told = 10_000; // nor may the log be silent
        assert!(self.bytes.iter().all(|bytes| (told..MOST).contains(bytes)), "{:?}", self.bytes);
    }
}

#[test]
fn a_day_without_a_quorum_stays_small() {
    let day = Day::of(Duration::from_secs(1), |day, now, number| {
        let waits =
            format!("electing -> waiting, leader none, epoch {number}: a majority is bound");
        day.line(now, 1, "electing waiting", &waits);
        let elects = "waiting -> electing, leader none, epoch 4: nobody came to lead in time";
        day.line(now, 1, "waiting electing", elects);
    });
    day.assert_small();
}

#[test]
fn a_day_with_a_flapping_link_stays_small() {
    for seconds in [2, 61] {
        let day = Day::of(Duration::from_secs(seconds), |day, now, _| {
            day.line(
                now,
                1,
                "1",
                "following -> electing, leader none, epoch 4: lost the connection",
            );
            day.line(now, 1, "2", "electing -> waiting, leader none, epoch 4: node-3 ranks higher");
            day.line(
                now,
                2,
                "3",
                "voter node-3 is down: silent; 2 of 3 voters left, no further failure",
            );
            day.line(now, 1, "4", "waiting -> following, leader node-3, epoch 4: node-3 leads");
            day.line(
                now,
                3,
                "5",
                "voter node-3 is up; 3 of 3 voters left, 1 more failure tolerated",
            );
        });
        day.assert_small();
    }
}

#[test]
fn a_day_with_a_new_leader_every_other_second_stays_small() {
    let day = Day::of(Duration::from_secs(2), |day, now, epoch| {
        let lost = format!("following -> electing, leader none, epoch {epoch}: node-3 is silent");
        day.line(now, 1, &format!("1 {epoch}"), &lost);
        let leads = format!("electing -> leading, leader node-1, epoch {epoch}: a majority agrees");
        day.line(now, 1, &format!("2 {epoch}"), &leads);
        let summary =
            format!("leads in epoch {epoch}: took over from node-3 (silent) after 400 ms");
        day.line(now, 2, &summary, &summary);
    });
    day.assert_small();
}

#[test]
fn ten_failovers_within_a_minute_are_all_told() {
    let mut limiter = Limiter::default();
    let told = (0..30_u64).filter(|epoch| {
        let text = format!("electing -> leading, leader node-1, epoch {epoch}: won");
        let line = Line { site: ("file", 1), same: &text, text: &text };
        limiter.admit(&line, Duration::from_secs(2 * epoch))
    });
    assert_eq!(told.count(), 30);
}

/// A line of this format, from a record with these fields.
fn written(format: LogFormat, with_priority: bool, text: &str) -> String {
    let style = Style { format, with_priority, node: "a".to_owned() };
    let values = [("epoch", log::kv::Value::from(4_u64)), ("leader", "c".into())];
    let values = [
        ("event", log::kv::Value::from("leading")),
        ("same", "x".into()),
        values[0].clone(),
        values[1].clone(),
    ];
    let mut record = Record::builder();
    let fields = Fields::of(&record.key_values(&values).build(), format);
    style.line(Timestamp::UNIX_EPOCH, Level::Warn, &fields, text)
}

#[test]
fn a_filter_is_of_levels_and_modules() {
    let filter = |wanted: &str| filter(Some(wanted.to_owned()));
    for wanted in
        ["debug", "Warn", "off", "electd::net=trace", "electd", "info,rustls=debug", "info/lease"]
    {
        assert!(filter(wanted).is_ok(), "{wanted}");
    }
    for wanted in ["debgu", "info,verbose", "electd=loud", "=", "2"] {
        assert!(filter(wanted).is_err(), "{wanted}");
    }
}

#[test]
fn a_line_is_text_or_one_document() {
    let text = written(LogFormat::Text, false, "leads");
    assert_eq!(text, "1970-01-01T00:00:00.000Z WARN  a: leads\n");
    let json = written(LogFormat::Json, false, "leads\nin epoch 4");
    let told = r#"{"time":"1970-01-01T00:00:00.000Z","level":"WARN","node":"a","event":"leading","#;
    assert_eq!(
        json,
        format!("{told}\"message\":\"leads\\nin epoch 4\",\"epoch\":4,\"leader\":\"c\"}}\n")
    );
}

#[test]
fn the_journal_is_told_the_priority_of_each_line() {
    let text = written(LogFormat::Text, true, "one\nother");
    assert_eq!(text, "<4>1970-01-01T00:00:00.000Z WARN  a: one\n<4>other\n");
    assert!(written(LogFormat::Json, true, "one\nother").starts_with("<4>{"));
    assert!(!is_journal(&io::stderr()), "tests do not run in a unit");
}
