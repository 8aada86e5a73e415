//! A session with one server: how it begins, and one statement after the other.
//!
//! Statements are simple queries, which name nothing that a session would have to keep.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use bytes::BytesMut;
use electd_election::limits;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Header, Message};
use postgres_protocol::message::frontend;

use super::super::failure::{Failure, odd};
use super::super::line::EngineLine;
use super::super::url::EnginePlace;
use crate::tls::ServerTrust;

/// The longest answer to a question, in bytes. A row has less than a kilobyte.
const LONGEST: usize = 64 * 1024;

/// The longest text of a server that is shown, in characters.
const SHOWN: usize = 300;

/// A row, as texts.
pub type Row = Vec<String>;

/// The database and the user, and the password if there is one.
pub type Login<'a> = ((&'a str, &'a str), Option<&'a str>);

/// What PostgreSQL's own words of an error are.
pub trait OfPlace {
    /// Whether another place, or another session, may be better.
    fn is_of_place(&self) -> bool;
}

impl OfPlace for Failure {
    fn is_of_place(&self) -> bool {
        match self {
            // Read-only, a server that starts or ends, too many sessions, a broken connection of a pooler.
            Failure::Error { code, .. } => {
                ["25006", "53300"].contains(&code.as_str())
                    || ["57P", "08"].iter().any(|class| code.starts_with(class))
            }
            Failure::Refused(_) => false,
            Failure::Silent(_) => true,
        }
    }
}

fn said(fields: &mut ErrorFields<'_>) -> Failure {
    let (mut code, mut words) = (String::new(), String::new());
    while let Ok(Some(field)) = fields.next() {
        let text = String::from_utf8_lossy(field.value_bytes());
        match field.type_() {
            b'C' => code = limits::shown(&text, 5),
            b'M' => words = limits::shown(&text, SHOWN),
            _ => {}
        }
    }
    Failure::Error { code, words }
}

/// A session.
pub struct PgSession {
    line: EngineLine,
    bytes: BytesMut,
}

impl PgSession {
    pub fn open(
        place: &EnginePlace,
        trust: Option<&ServerTrust>,
        login: Login<'_>,
        until: Instant,
    ) -> Result<PgSession, Failure> {
        let mut line = EngineLine::open(place, until)?;
        if let Some(trust) = trust {
            let mut question = BytesMut::new();
            frontend::ssl_request(&mut question);
            line.by(until).write_all(&question)?;
            let mut answer = [0];
            line.by(until).read_exact(&mut answer)?; // what follows belongs to TLS
            match &answer {
                b"S" => line.secure(trust, &place.host, until)?,
                b"N" => {
                    return Err(Failure::Refused("it offers no TLS: sslmode=disable".to_owned()));
                }
                _ => return Err(odd("an unknown answer to the request for TLS")),
            }
        }
        let mut session = PgSession { line, bytes: BytesMut::new() };
        session.log_in(login, until)?;
        Ok(session)
    }

    fn log_in(
        &mut self,
        ((database, user), password): Login<'_>,
        until: Instant,
    ) -> Result<(), Failure> {
        let about = [
            ("user", user),
            ("database", database),
            ("application_name", "electd"),
            ("client_encoding", "UTF8"),
        ];
        let about =
            about.into_iter().filter(|(key, value)| *key != "database" || !value.is_empty());
        self.say(until, |bytes| frontend::startup_message(about, bytes))?;
        let password = || {
            let none = || {
                Failure::Refused(format!(
                    "it wants a password of {user}, and none is given: see docs/engines.md"
                ))
            };
            password.ok_or_else(none)
        };
        let (mut scram, mut budget) = (None::<ScramSha256>, LONGEST);
        loop {
            match self.hear(until, &mut budget)? {
                Message::AuthenticationOk
                | Message::BackendKeyData(_)
                | Message::ParameterStatus(_)
                | Message::NoticeResponse(_) => {}
                Message::AuthenticationCleartextPassword => {
                    let password = password()?;
                    self.say(until, |bytes| {
                        frontend::password_message(password.as_bytes(), bytes)
                    })?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(user.as_bytes(), password()?.as_bytes(), body.salt());
                    self.say(until, |bytes| frontend::password_message(hash.as_bytes(), bytes))?;
                }
                Message::AuthenticationSasl(body) => {
                    if !body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256))? {
                        return Err(Failure::Refused("it takes no SCRAM-SHA-256".to_owned()));
                    }
                    let begun =
                        ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                    self.say(until, |bytes| {
                        frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), bytes)
                    })?;
                    scram = Some(begun);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or_else(|| odd("SCRAM that was not begun"))?;
                    scram.update(body.data())?;
                    self.say(until, |bytes| frontend::sasl_response(scram.message(), bytes))?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let scram = scram.as_mut().ok_or_else(|| odd("SCRAM that was not begun"))?;
                    scram.finish(body.data())?;
                }
                Message::ErrorResponse(body) => return Err(said(&mut body.fields())),
                Message::ReadyForQuery(_) => return Ok(()),
                _ => {
                    return Err(Failure::Refused(
                        "it wants a kind of login that electd does not have".to_owned(),
                    ));
                }
            }
        }
    }

    /// The first row that a statement returns, if it does.
    pub fn ask(&mut self, sql: &str, until: Instant) -> Result<Option<Row>, Failure> {
        self.say(until, |bytes| frontend::query(sql, bytes))?;
        let (mut first, mut failure, mut budget) = (None, None, LONGEST);
        loop {
            match self.hear(until, &mut budget)? {
                Message::DataRow(body) if first.is_none() => first = Some(row(&body)?),
                Message::ErrorResponse(body) => {
                    let said = said(&mut body.fields());
                    if said.is_of_place() {
                        return Err(said); // a server that ends says no more
                    }
                    failure = Some(said);
                }
                Message::ReadyForQuery(_) => return failure.map_or(Ok(first), Err),
                Message::DataRow(_)
                | Message::CommandComplete(_)
                | Message::EmptyQueryResponse
                | Message::NoticeResponse(_)
                | Message::ParameterStatus(_)
                | Message::RowDescription(_) => {}
                _ => return Err(odd("what is no answer to a statement")),
            }
        }
    }

    fn say(
        &mut self,
        until: Instant,
        write: impl FnOnce(&mut BytesMut) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut bytes = BytesMut::new();
        write(&mut bytes)?;
        Ok(self.line.by(until).write_all(&bytes)?)
    }

    /// The next message. An answer may have so many bytes yet.
    fn hear(&mut self, until: Instant, budget: &mut usize) -> Result<Message, Failure> {
        loop {
            if let Some(header) = Header::parse(&self.bytes)? {
                let length = usize::try_from(header.len()).unwrap_or(usize::MAX);
                if length > LONGEST {
                    return Err(odd("a message that is too long"));
                }
                let before = self.bytes.len();
                if let Some(message) = Message::parse(&mut self.bytes)? {
                    let left = budget.checked_sub(before - self.bytes.len());
                    *budget = left.ok_or_else(|| odd("too long an answer"))?;
                    return Ok(message);
                }
            }
            let mut part = [0; 4096];
            match self.line.by(until).read(&mut part)? {
                0 => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
                count => self.bytes.extend_from_slice(&part[..count]),
            }
        }
    }
}

fn row(body: &DataRowBody) -> Result<Row, Failure> {
    let text = |range: Option<std::ops::Range<usize>>| {
        let bytes = range.and_then(|range| body.buffer().get(range)).unwrap_or_default();
        Ok(String::from_utf8_lossy(bytes).into_owned())
    };
    Ok(body.ranges().map(text).collect()?)
}

#[cfg(test)]
mod tests;
