//! What the two hosts send each other: one question, and one answer.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// No message is longer: a file of many members fits.
const LONGEST: u64 = 1 << 20;

/// What lets one host join: a secret that counts once, and the hash of the authority that the host is to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinToken {
    pub secret: Uuid,
    pub authority: [u8; 16],
}

impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.secret.simple(), Uuid::from_bytes(self.authority).simple())
    }
}

impl FromStr for JoinToken {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<JoinToken, Self::Err> {
        let half = |text: &str| text.parse().ok().filter(|_| text.len() == 32);
        let halves = text.split_at_checked(32);
        let both: Option<(Uuid, Uuid)> = halves.and_then(|(a, b)| Some((half(a)?, half(b)?)));
        let (secret, authority) = both.ok_or(
            "--token is none: it has 64 digits and letters, and `electd init --join` or `electd invite` prints it",
        )?;
        Ok(JoinToken { secret, authority: authority.into_bytes() })
    }
}

/// What the host that wants to join sends.
#[derive(Debug, Serialize, Deserialize)]
pub struct JoinRequest {
    pub secret: Uuid,
    pub name: String,
    pub address: String,
    pub role: String,
    /// The signing request for its key, in PEM.
    pub request: String,
    /// What it answers at its address.
    pub proof: Uuid,
}

/// What it gets.
#[derive(Debug, Serialize, Deserialize)]
pub enum JoinAnswer {
    Refused(String),
    /// The text of the file, the certificate of the authority, and its own.
    Granted {
        file: String,
        ca: String,
        cert: String,
    },
}

/// Sends one message.
///
/// # Errors
/// If the connection fails.
pub fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&serde_json::to_vec(message)?)?;
    to.flush()
}

/// Waits for one message.
///
/// # Errors
/// If the connection fails, or brings something else.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    Ok(T::deserialize(&mut serde_json::Deserializer::from_reader(from.take(LONGEST)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_is_printed_and_anything_else_is_none() {
        let token = JoinToken { secret: Uuid::new_v4(), authority: [7; 16] };
        let text = token.to_string();
        assert_eq!((text.len(), text.parse()), (64, Ok(token)));
        for wrong in
            ["", &text[1..], &format!("{text}0"), &text.replace('7', "x"), &"\u{e4}".repeat(32)]
        {
            assert!(wrong.parse::<JoinToken>().is_err(), "{wrong}");
        }
    }
}
