//! What the bodies of commands say.

use std::time::Duration;

use serde::Deserialize;

use crate::config::{entry, with_unit};
use crate::node::handle::Command;

use super::response::Response;

/// The body of `POST /resign`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resignation {
    #[serde(default)]
    to: Option<String>,
}

/// The body of `POST /switchover`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchingOver {
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    clear: bool,
}

/// The body of `POST /drain`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draining {
    #[serde(default, rename = "for")]
    length: Option<String>,
    #[serde(default)]
    reason: String,
}

/// The body of `POST /pause`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pausing {
    #[serde(default, rename = "for")]
    length: Option<String>,
}

/// The body of `POST /elections`, `POST /undrain`, `POST /resume` and `POST /reload`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// `POST /resign`.
pub fn resign(body: &[u8]) -> Result<Command, Response> {
    let Resignation { to } = parse(body, r#"{"to": "NAME"}"#)?;
    Ok(Command::Resign { to })
}

/// `POST /pause`.
pub fn pause(body: &[u8]) -> Result<Command, Response> {
    let Pausing { length } = parse(body, r#"{"for": "30m"}"#)?;
    let length = length.as_deref().map(time).transpose()?;
    Ok(Command::Pause { length })
}

/// A command without more to say.
pub fn nothing(body: &[u8]) -> Result<(), Response> {
    parse::<Nothing>(body, "{}").map(|Nothing {}| ())
}

/// `POST /switchover`.
pub fn switchover(body: &[u8]) -> Result<Command, Response> {
    let example = r#"{"to": "NAME"} or {"clear": true}"#;
    match parse::<SwitchingOver>(body, example)? {
        SwitchingOver { to: Some(to), clear: false } => Ok(Command::Switchover { to }),
        SwitchingOver { to: None, clear: true } => Ok(Command::EndSwitchover),
        _ => Err(Response::error(400, format!("the body names no member: send {example}"))),
    }
}

/// `POST /drain`.
pub fn drain(body: &[u8]) -> Result<Command, Response> {
    let Draining { length, reason } =
        parse::<Draining>(body, r#"{"for": "1h", "reason": "TEXT"}"#)?;
    let length = length.as_deref().map(time).transpose()?;
    Ok(Command::Drain { length, reason })
}

/// What an operator may ask for: wall clocks count milliseconds, and 10 years are as good as no end.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(87_600 * 60 * 60);

/// For how long something is to last.
fn time(text: &str) -> Result<Duration, Response> {
    let refused = |why: &str| Response::error(400, format!("\"for\": \"{text}\" {why}"));
    let time = with_unit(text).and_then(|time| Duration::try_from(time).ok());
    let time = time.ok_or_else(|| refused("is no time: give a number and a unit, such as 1h"))?;
    if !(SHORTEST..=LONGEST).contains(&time) {
        return Err(refused("is out of range: give 1ms to 87600h, or leave it out for no end"));
    }
    Ok(time)
}

/// A body, or none at all, which stands for an empty document.
fn parse<'a, T: Default + Deserialize<'a>>(body: &'a [u8], example: &str) -> Result<T, Response> {
    if body.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    entry::object(body).map_err(|error| {
        Response::error(400, format!("the body cannot be used: {error}; send {example} or nothing"))
    })
}
