//! The bodies of commands.

use serde::Deserialize;

use crate::config::entry;
use crate::node::handle::Command;

use super::response::Response;

/// A command without a body.
pub fn nothing(body: &[u8], command: Command) -> Result<Command, Response> {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    parse::<Nothing>(body, "{}").map(|Nothing {}| command)
}

/// A body, or none at all, which stands for an empty document.
pub fn parse<'a, T: Default + Deserialize<'a>>(
    body: &'a [u8],
    example: &str,
) -> Result<T, Response> {
    if body.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    entry::object(body).map_err(|error| {
        Response::error(400, format!("the body cannot be used: {error}; send {example} or nothing"))
    })
}
