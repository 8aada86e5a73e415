//! The timings: durations with a unit, defaults that follow `failure`, and the rules between them.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::fmt::friendly::SpanParser;

use super::report::{Object, Report, Spot};
use electd_election::core::settings::{Quorum, Timing};

const KEYS: &[&str] = &["heartbeat", "failure", "message", "lease"];

/// `failure`, where the file does not say.
const FAILURE: Duration = Duration::from_millis(500);

/// Below this a timer is noise: the scheduler alone takes longer.
pub(super) const SHORTEST: Duration = Duration::from_micros(100);
/// A `failure` at least this long leaves room for the timings derived from it.
const SHORTEST_FAILURE: Duration = Duration::from_millis(1);

/// Reads `timing`, which may be missing as a whole. The lease matters only with a majority.
pub(super) fn read<'t>(
    spot: Option<&Spot<'t>>,
    quorum: Option<Quorum>,
    report: &mut Report<'t>,
) -> Option<Timing> {
    let object = match spot {
        Some(spot) => Some(Object::open(spot, KEYS, report)?),
        None => None,
    };
    let mut given = |key: &str| match object.as_ref().and_then(|object| object.get(key)) {
        Some(spot) => {
            let shortest = if key == "failure" { SHORTEST_FAILURE } else { SHORTEST };
            duration(spot, shortest, report).map(Some)
        }
        None => Some(None),
    };
    // All four are read before any failure counts, so that all four are reported.
    let (failure, heartbeat) = (given("failure"), given("heartbeat"));
    let (message, lease) = (given("message"), given("lease"));
    let failure = failure?.unwrap_or(FAILURE);
    let timing = Timing {
        heartbeat: heartbeat?.unwrap_or(failure / 5),
        failure,
        message: message?.unwrap_or(failure / 10),
        lease: lease?.unwrap_or(failure * 4 / 5),
    };
    match object {
        Some(object) => fit_together(&timing, quorum, &object, report).then_some(timing),
        None => Some(timing),
    }
}

/// A length of time with a unit, such as "150ms": at least `shortest`, at most a day.
pub(super) fn duration<'t>(
    spot: &Spot<'t>,
    shortest: Duration,
    report: &mut Report<'t>,
) -> Option<Duration> {
    if let Some(number) = spot.number() {
        let remedy = format!("give it a unit, in quotes, such as \"{number}ms\"");
        report.wrong(spot, "is a number without a unit", remedy);
        return None;
    }
    let text = report.string(spot)?;
    match parse(&text).and_then(|length| within(length, shortest)) {
        Ok(length) => Some(length),
        Err((what, remedy)) => {
            report.wrong(spot, what, remedy);
            None
        }
    }
}

/// The problem with a duration, and the remedy.
type Bad = (String, String);

/// A length of time in jiff's friendly format, but always with a unit: that would take "00:00:01" as well.
#[must_use]
pub fn with_unit(text: &str) -> Option<SignedDuration> {
    let parsed = SpanParser::new().parse_duration(text).ok();
    parsed.filter(|_| !is_bare(text) && !text.contains(':'))
}

fn is_bare(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// A duration as it is in the file.
fn parse(text: &str) -> Result<SignedDuration, Bad> {
    let text = text.trim();
    if !text.is_empty() && is_bare(text) {
        let remedy = format!("write \"{text}ms\" or \"{text}s\"");
        return Err(("has no unit".to_owned(), remedy));
    }
    with_unit(text).ok_or_else(|| {
        let remedy = "write a number and a unit, such as \"150ms\", \"1.5s\" or \"1m 30s\"";
        ("is not a duration".to_owned(), remedy.to_owned())
    })
}

fn within(length: SignedDuration, shortest: Duration) -> Result<Duration, Bad> {
    match Duration::try_from(length) {
        Err(_) | Ok(Duration::ZERO) => {
            Err(("is not above zero".to_owned(), format!("give at least \"{shortest:?}\"")))
        }
        Ok(length) if length < shortest => {
            Err((format!("is under {shortest:?}"), format!("give at least \"{shortest:?}\"")))
        }
        Ok(length) if length > Timing::LONGEST => {
            Err(("is longer than a day".to_owned(), "give at most \"24h\"".to_owned()))
        }
        Ok(length) => Ok(length),
    }
}

/// The rules between the timings. Each is reported at a key that the file gives: an omitted key is
/// derived from `failure` and always obeys them.
fn fit_together<'t>(
    timing: &Timing,
    quorum: Option<Quorum>,
    object: &Object<'t>,
    report: &mut Report<'t>,
) -> bool {
    let Timing { heartbeat, failure, message, lease } = *timing;
    let mut fits = true;
    let mut refuse = |keys: &[&str], what: String, remedy: String| {
        fits = false;
        if let Some(spot) = keys.iter().find_map(|key| object.get(key)) {
            report.wrong(spot, what, remedy);
        }
    };
    if failure < heartbeat * 2 {
        refuse(
            &["failure", "heartbeat"],
            format!("failure {failure:?} is under twice the heartbeat {heartbeat:?}"),
            format!(
                "raise failure to at least \"{:?}\", or lower heartbeat to at most \"{:?}\"",
                heartbeat * 2,
                failure / 2
            ),
        );
    } else if timing.stall() <= heartbeat {
        refuse(
            &["message"],
            format!(
                "failure {failure:?} less 2 * message {message:?} is not above heartbeat \
                 {heartbeat:?}, so that a healthy leader would count itself as stalled"
            ),
            format!(
                "lower message below \"{:?}\", or raise failure above \"{:?}\"",
                (failure - heartbeat) / 2,
                heartbeat + message * 2
            ),
        );
    }
    if lease > failure {
        refuse(
            &["lease"],
            format!("lease {lease:?} is above failure {failure:?}"),
            format!(
                "lower lease to at most \"{failure:?}\", or leave it out: {:?}",
                failure * 4 / 5
            ),
        );
    } else if quorum == Some(Quorum::Majority) && lease * 9 / 11 <= heartbeat + message * 2 {
        refuse(
            &["lease", "heartbeat", "message"],
            format!(
                "lease {lease:?} is too short to be renewed in time: 9/11 of it, which clocks that \
                 differ leave, is not above heartbeat {heartbeat:?} and 2 * message {message:?}"
            ),
            format!(
                "raise lease above \"{:?}\", or lower heartbeat or message",
                (heartbeat + message * 2) * 11 / 9
            ),
        );
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        let read = |text| parse(text).map_err(|bad| bad.0);
        assert_eq!(read("150ms"), Ok(SignedDuration::from_millis(150)));
        assert_eq!(read("1.5s"), Ok(SignedDuration::from_millis(1500)));
        assert_eq!(read("1m 30s"), Ok(SignedDuration::from_secs(90)));
        assert_eq!(read(" 2s "), Ok(SignedDuration::from_secs(2)));
        assert_eq!(read("250µs"), Ok(SignedDuration::from_micros(250)));
        assert_eq!(read("500"), Err("has no unit".to_owned()));
        assert_eq!(read("0.5"), Err("has no unit".to_owned()));
        for text in ["", " ", "ms", "00:00:01", "1 parsec", "1s 500", "NaN", "1e3s"] {
            assert_eq!(read(text), Err("is not a duration".to_owned()), "{text}");
        }
    }

    #[test]
    fn lengths_that_make_no_sense_are_refused() {
        let read =
            |text| parse(text).and_then(|length| within(length, SHORTEST)).map_err(|bad| bad.0);
        assert_eq!(read("24h"), Ok(Timing::LONGEST));
        assert_eq!(read("0ms"), Err("is not above zero".to_owned()));
        assert_eq!(read("-5s"), Err("is not above zero".to_owned()));
        assert_eq!(read("5s ago"), Err("is not above zero".to_owned()));
        assert_eq!(read("10us"), Err("is under 100µs".to_owned()));
        assert_eq!(read("25h"), Err("is longer than a day".to_owned()));
    }
}
