//! Durations that no file may hold, and those that do not fit together.

use super::files::*;

#[test]
fn durations() {
    let cases = [
        ("500", "is a number without a unit", "give it a unit, in quotes, such as \"500ms\""),
        ("\"500\"", "has no unit", "write \"500ms\" or \"500s\""),
        ("\"0ms\"", "is not above zero", "give at least \"1ms\""),
        ("\"-1s\"", "is not above zero", "give at least \"1ms\""),
        ("\"25h\"", "is longer than a day", "give at most \"24h\""),
        (
            "\"soon\"",
            "is not a duration",
            "write a number and a unit, such as \"150ms\", \"1.5s\" or \"1m 30s\"",
        ),
    ];
    for (value, what, remedy) in cases {
        let expected = format!("5:47: timing.failure: {what} (value {value}): {remedy}");
        one_problem("\"500ms\"", value, &expected);
    }
}

#[test]
fn timings_fit_together() {
    one_problem(
        "\"heartbeat\": \"100ms\"",
        "\"heartbeat\": \"251ms\"",
        "5:47: timing.failure: failure 500ms is under twice the heartbeat 251ms (value \"500ms\"): \
         raise failure to at least \"502ms\", or lower heartbeat to at most \"250ms\"",
    );
    one_problem(
        "\"50ms\"",
        "\"200ms\"",
        "5:67: timing.message: failure 500ms less 2 * message 200ms is not above heartbeat 100ms, \
         so that a healthy leader would count itself as stalled (value \"200ms\"): lower message \
         below \"200ms\", or raise failure above \"500ms\"",
    );
    one_problem(
        "\"400ms\"",
        "\"501ms\"",
        "5:84: timing.lease: lease 501ms is above failure 500ms (value \"501ms\"): lower lease to at \
         most \"500ms\", or leave it out: 400ms",
    );
}

/// What the file leaves out follows from `failure`: no operator can correct it there.
#[test]
fn timings_that_do_not_fit_are_told_at_a_key_that_is_given() {
    let timing = "{\"heartbeat\": \"100ms\", \"failure\": \"500ms\", \"message\": \"50ms\", \"lease\": \"400ms\"}";
    let told = |quorum: &str, given: &str| {
        let text = GOOD.replace("\"none\"", quorum).replace(timing, given);
        ConfigFile::new(&text).problems()
    };
    for (quorum, given, problem) in [
        (
            "\"none\"",
            "{\"heartbeat\": \"300ms\"}",
            "5:27: timing.heartbeat: failure 500ms is under twice the",
        ),
        (
            "\"none\"",
            "{\"message\": \"200ms\"}",
            "5:25: timing.message: failure 500ms less 2 * message 200ms is",
        ),
        (
            "\"majority\"",
            "{\"heartbeat\": \"250ms\"}",
            "5:27: timing.heartbeat: lease 400ms is too short to be",
        ),
        (
            "\"majority\"",
            "{\"message\": \"150ms\"}",
            "5:25: timing.message: lease 400ms is too short to be",
        ),
        (
            "\"majority\"",
            "{\"lease\": \"1ms\"}",
            "5:23: timing.lease: lease 1ms is too short to be renewed",
        ),
    ] {
        let problems = told(quorum, given);
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problem}: {problems:?}");
    }
}
