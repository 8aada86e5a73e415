//! A lock as a row of a table in PostgreSQL.
//!
//! ```sql
//! CREATE TABLE electd_lock (name text PRIMARY KEY, holder text NOT NULL, token bigint NOT NULL, until timestamptz NOT NULL)
//! ```
//!
//! The row says who holds the lock, and until when, by the clock of the server alone. It is never deleted, as the token
//! grows in it. Each question is one statement, and a session keeps nothing: a pooler may give each one to another server
//! process.

mod session;

use std::time::{Duration, Instant};

use electd_election::limits;
use session::{OfPlace, PgSession, Row};

use super::failure::Failure;
use super::line::{Tries, place, trust};
use super::{Engine, EngineError, EngineHolder, EngineUrl, LockAnswer, secret};
use crate::tls::ServerTrust;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS electd_lock (name text PRIMARY KEY, holder text NOT NULL, \
                     token bigint NOT NULL, until timestamptz NOT NULL)";

/// Has a commit wait for the disk, and for the standbys that the server waits for, whatever the default of the user is.
const DURABLE: &str = "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN \
                       ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, true)";

/// The codes of errors (SQLSTATE) that need a person, beside those of class 28.
const REFUSALS: [&str; 2] = ["3D000", "42501"];

/// Those that say that the table is another one.
const OTHER_TABLE: [&str; 7] = ["42703", "42P10", "42804", "22P02", "23502", "42883", "42809"];

const NO_TABLE: &str = "42P01";

/// How long a lock that is held without an end is said to be held, in seconds: a century.
const FOR_EVER: f64 = 100.0 * 365.25 * 86_400.0;

/// Another made the table at the same moment.
const MADE: [&str; 2] = ["23505", "42P07"];

/// A lock in a PostgreSQL.
struct Postgres {
    url: EngineUrl,
    user: String,
    trust: Option<ServerTrust>,
    ttl: Duration,
    patience: Duration,
    /// The place that is asked.
    at: usize,
    session: Option<PgSession>,
}

/// The lock of this URL.
pub fn open(
    url: &EngineUrl,
    ttl: Duration,
    patience: Duration,
) -> Result<Box<dyn Engine>, EngineError> {
    let user = url.user.clone().or_else(secret::user_of_postgres).ok_or_else(|| {
        EngineError::Usage("name a user: postgres://USER@HOST/DATABASE?lock=NAME".to_owned())
    })?;
    let trust = trust(url)?;
    let url = url.clone();
    Ok(Box::new(Postgres { url, user, trust, ttl, patience, at: 0, session: None }))
}

impl Postgres {
    /// What a statement returns, from the first place that takes it. Each of them may be carried out twice.
    fn ask(&mut self, sql: &str) -> Result<Option<Row>, Failure> {
        let (mut last, count) = (None, self.url.places.len());
        let mut tries = Tries::new(self.patience);
        // A session that is there may have ended with its server.
        for left in (1..=count + usize::from(self.session.is_some())).rev() {
            match self.ask_here(sql, tries.until(left)) {
                Err(failure) if failure.is_of_place() => {
                    self.session = None;
                    self.at += 1;
                    last = Some(failure);
                }
                done => return done,
            }
        }
        Err(last.unwrap_or_else(|| Failure::Silent("the URL names no place".to_owned())))
    }

    fn ask_here(&mut self, sql: &str, until: Instant) -> Result<Option<Row>, Failure> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect(until)?,
        };
        let answer = session.ask(sql, until);
        if !answer.as_ref().is_err_and(OfPlace::is_of_place) {
            self.session = Some(session);
        }
        answer
    }

    fn connect(&self, until: Instant) -> Result<PgSession, Failure> {
        let place = place(&self.url, self.at);
        let names = (self.url.database.as_str(), self.user.as_str());
        let password = secret::of_postgres(self.url.passfile.as_deref(), place, names);
        let password = password.map_err(|error| Failure::Refused(error.to_string()))?;
        PgSession::open(place, self.trust.as_ref(), (names, password.as_deref()), until)
    }

    /// What a statement about the table returns. Makes the table if there is none.
    fn ask_table(&mut self, sql: &str) -> Result<Option<Row>, EngineError> {
        for _ in 0..2 {
            match self.ask(sql) {
                Err(Failure::Error { code, .. }) if code == NO_TABLE => match self.ask(TABLE) {
                    Err(Failure::Error { code, .. }) if MADE.contains(&code.as_str()) => {}
                    made => _ = made.map_err(|failure| self.error(failure))?,
                },
                answer => return answer.map_err(|failure| self.error(failure)),
            }
        }
        Err(EngineError::Unreachable("the table electd_lock is gone again".to_owned()))
    }

    fn error(&self, failure: Failure) -> EngineError {
        let place = place(&self.url, self.at);
        match failure {
            Failure::Refused(why) => EngineError::Refused(format!("PostgreSQL at {place}: {why}")),
            Failure::Silent(why) => {
                EngineError::Unreachable(format!("PostgreSQL at {place}: {why}"))
            }
            Failure::Error { code, words } => {
                let told = format!("PostgreSQL at {place}: {words} ({code})");
                match code.as_str() {
                    "42501" => EngineError::Refused(format!(
                        "{told}; as its owner: {TABLE}; GRANT SELECT, INSERT, UPDATE ON electd_lock TO \"{}\"",
                        self.user
                    )),
                    code if OTHER_TABLE.contains(&code) => EngineError::Refused(format!(
                        "{told}: the table electd_lock is another one than {TABLE}"
                    )),
                    code if code.starts_with("28") || REFUSALS.contains(&code) => {
                        EngineError::Refused(told)
                    }
                    _ => EngineError::Unreachable(told),
                }
            }
        }
    }

    /// From now on, by the clock of the server.
    fn end(&self) -> String {
        format!("clock_timestamp() + interval '{} milliseconds'", self.ttl.as_millis())
    }

    /// Has the time of the lock end now, if it is held so.
    fn end_where(&mut self, held: &str) -> Result<(), EngineError> {
        let name = self.url.name();
        let sql = format!(
            "UPDATE electd_lock SET until = clock_timestamp() WHERE name = '{name}' AND {held} \
             AND until > clock_timestamp() RETURNING token, {DURABLE}"
        );
        self.ask(&sql).map(drop).map_err(|failure| self.error(failure))
    }

    fn look(&mut self) -> Result<Option<EngineHolder>, EngineError> {
        let sql = format!(
            "SELECT token, holder, extract(epoch FROM until) - extract(epoch FROM clock_timestamp()) FROM electd_lock \
             WHERE name = '{}'",
            self.url.name()
        );
        let row = match self.ask(&sql) {
            Err(Failure::Error { code, .. }) if code == NO_TABLE => return Ok(None),
            answer => answer.map_err(|failure| self.error(failure))?,
        };
        let Some(row) = row else { return Ok(None) };
        let left: f64 = number(&row, 2)?;
        let name = limits::shown(row.get(1).map_or("", |name| name), 128);
        // An operator may have written "infinity", so that nobody takes the lock.
        let left = Duration::try_from_secs_f64(left.clamp(0.0, FOR_EVER)).unwrap_or_default();
        let holder = EngineHolder { name, token: number(&row, 0)?, left: Some(left) };
        Ok(Some(holder).filter(|_| !left.is_zero()))
    }
}

impl Engine for Postgres {
    fn take(&mut self, holder: &str) -> Result<LockAnswer, EngineError> {
        // A statement that takes it locks the row, even where it changes nothing.
        match self.look()? {
            Some(other) if other.name != holder => return Ok(LockAnswer::Other(other)),
            _ => {}
        }
        let (name, holder, end) = (self.url.name().to_owned(), literal(holder), self.end());
        let row = self.ask_table(&format!(
            "INSERT INTO electd_lock AS l (name, holder, token, until) VALUES ('{name}', {holder}, 1, {end}) \
             ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, until = {end}, token = l.token + CASE WHEN \
             l.holder = EXCLUDED.holder AND l.until > clock_timestamp() THEN 0 ELSE 1 END \
             WHERE l.until <= clock_timestamp() OR l.holder = EXCLUDED.holder RETURNING token, {DURABLE}"
        ))?;
        match row {
            Some(row) => number(&row, 0).map(LockAnswer::Held),
            None => {
                let other = || EngineHolder { name: "another".to_owned(), token: 0, left: None };
                Ok(LockAnswer::Other(self.look()?.unwrap_or_else(other)))
            }
        }
    }

    fn renew(&mut self, holder: &str) -> Result<bool, EngineError> {
        let (name, holder, end) = (self.url.name(), literal(holder), self.end());
        let sql = format!(
            "UPDATE electd_lock SET until = {end} WHERE name = '{name}' AND holder = {holder} \
             AND until > clock_timestamp() RETURNING token, {DURABLE}"
        );
        let row = self.ask(&sql).map_err(|failure| self.error(failure))?;
        Ok(row.is_some())
    }

    fn release(&mut self, holder: &str) -> Result<(), EngineError> {
        self.end_where(&format!("holder = {}", literal(holder)))
    }

    fn give_back(&mut self, token: u64) -> Result<(), EngineError> {
        self.end_where(&format!("token = {token}"))
    }

    fn watch(&mut self) -> Result<Option<EngineHolder>, EngineError> {
        self.look()
    }

    fn describe(&mut self) -> Result<Vec<String>, EngineError> {
        let sql = "SELECT current_setting('server_version'), to_regclass('electd_lock') IS NOT NULL, \
                   coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), pg_is_in_recovery(), \
                   coalesce(has_table_privilege(to_regclass('electd_lock'), 'INSERT') AND \
                   has_table_privilege(to_regclass('electd_lock'), 'UPDATE'), false)";
        let row = self.ask(sql).map_err(|failure| self.error(failure))?.unwrap_or_default();
        let is = |at: usize| row.get(at).is_some_and(|word| word == "t");
        let place = place(&self.url, self.at);
        let version = limits::quote(row.first().map_or("", |version| version));
        let mut told = vec![format!("PostgreSQL {version} answers at {place}")];
        if is(3) {
            told.push("it is a standby: name its primary, too".to_owned());
        }
        let right = |what: &str| {
            Err(EngineError::Refused(format!(
                "PostgreSQL at {place}: {} may not {what}; as an owner: {TABLE}; GRANT SELECT, INSERT, UPDATE ON \
                 electd_lock TO \"{0}\"",
                self.user
            )))
        };
        if !is(1) {
            if !is(2) {
                return right("make the table electd_lock");
            }
            told.push("the table electd_lock is made when the first lock is taken".to_owned());
            return Ok(told);
        }
        if !is(4) {
            return right("write to the table electd_lock");
        }
        let columns =
            "SELECT name, holder, token + 1, until + interval '1 second' FROM electd_lock LIMIT 1";
        self.ask(columns).map_err(|failure| self.error(failure))?;
        told.push("the table electd_lock is there".to_owned());
        Ok(told)
    }
}

/// As a string of SQL, if standard_conforming_strings is on, as it is by default, or not.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace(['\'', '\\'], "_"))
}

fn number<T: std::str::FromStr>(row: &Row, at: usize) -> Result<T, EngineError> {
    let number = row.get(at).and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        EngineError::Unreachable("PostgreSQL answers what is no row of electd_lock".to_owned())
    })
}

#[cfg(test)]
mod tests;
