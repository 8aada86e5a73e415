//! Questions to etcd's JSON gateway: each is a connection of HTTP/1.0, whose end is that of the answer.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use electd_election::limits;
use serde_json::{Value, json};

use super::super::failure::{Failure, odd};
use super::super::line::{EngineLine, Tries, place, trust};
use super::super::url::{EnginePlace, EngineUrl};
use super::super::{EngineError, secret};
use crate::tls::ServerTrust;

/// The longest answer, in bytes. That about a key has less than a kilobyte.
const LONGEST: u64 = 64 * 1024;

/// Codes of gRPC: of what is wrong with the user, and of a token that is too old.
const DENIED: [&str; 2] = ["3", "7"];
const UNAUTHENTICATED: &str = "16";
/// Of a place that cannot answer now.
const OF_PLACE: [&str; 3] = ["4", "8", "14"];

/// The places of one etcd.
pub struct Gateway {
    url: EngineUrl,
    trust: Option<ServerTrust>,
    patience: Duration,
    /// The place that is asked.
    at: usize,
    /// What says who asks, once it is there.
    token: Option<String>,
}

impl Gateway {
    pub fn new(url: &EngineUrl, patience: Duration) -> Result<Gateway, EngineError> {
        let trust = trust(url)?;
        Ok(Gateway { url: url.clone(), trust, patience, at: 0, token: None })
    }

    pub fn place(&self) -> &EnginePlace {
        place(&self.url, self.at)
    }

    /// The answer of the first place that has one. Each question may be carried out twice.
    pub fn ask(&mut self, path: &str, question: &Value) -> Result<Value, Failure> {
        let count = self.url.places.len();
        let (mut tries, mut last) = (Tries::new(self.patience), None);
        for left in (1..=count).rev() {
            match self.ask_here(path, question, tries.until(left)) {
                Err(Failure::Error { code, words }) if OF_PLACE.contains(&code.as_str()) => {
                    last = Some(Failure::Silent(words));
                }
                Err(Failure::Silent(why)) => last = Some(Failure::Silent(why)),
                done => return done,
            }
            self.at += 1;
        }
        Err(last.unwrap_or_else(|| Failure::Silent("the URL names no place".to_owned())))
    }

    fn ask_here(&mut self, path: &str, question: &Value, until: Instant) -> Result<Value, Failure> {
        for _ in 0..2 {
            if self.token.is_none()
                && let Some(user) = self.url.user.clone()
            {
                self.token = Some(self.log_in(&user, until)?);
            }
            match self.post(path, question, until) {
                // After its lifetime, or a restart of etcd.
                Err(Failure::Error { code, .. })
                    if code == UNAUTHENTICATED && self.token.take().is_some() => {}
                done => return done,
            }
        }
        Err(Failure::Refused("it takes its own token no more".to_owned()))
    }

    fn log_in(&self, user: &str, until: Instant) -> Result<String, Failure> {
        let password = secret::of_etcd(self.url.passfile.as_deref())?.ok_or_else(|| {
            Failure::Refused(format!("no password of {user} is given: see docs/engines.md"))
        })?;
        let question = json!({"name": user, "password": password});
        let answer = self.post("auth/authenticate", &question, until)?;
        let token =
            answer["token"].as_str().filter(|token| token.bytes().all(|b| b.is_ascii_graphic()));
        token.map(str::to_owned).ok_or_else(|| odd("it gives no token"))
    }

    fn post(&self, path: &str, question: &Value, until: Instant) -> Result<Value, Failure> {
        let place = self.place();
        let mut line = EngineLine::open(place, until)?;
        if let Some(trust) = &self.trust {
            line.secure(trust, &place.host, until)?;
        }
        let body = question.to_string();
        let token = self.token.as_ref().map(|token| format!("Authorization: {token}\r\n"));
        let head = format!(
            "POST /v3/{path} HTTP/1.0\r\nHost: {place}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n",
            body.len(),
            token.unwrap_or_default(),
        );
        line.by(until).write_all(format!("{head}{body}").as_bytes())?;
        let mut bytes = Vec::new();
        line.by(until).take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST {
            return Err(odd("its answer is too long"));
        }
        answer(&bytes)
    }

    pub fn error(&self, failure: Failure) -> EngineError {
        let place = self.place();
        match failure {
            Failure::Refused(why) => EngineError::Refused(format!("etcd at {place}: {why}")),
            Failure::Silent(why) => EngineError::Unreachable(format!("etcd at {place}: {why}")),
            Failure::Error { code, words } => {
                let told = format!("etcd at {place}: {words}");
                let is_denied = DENIED.contains(&code.as_str());
                if is_denied { EngineError::Refused(told) } else { EngineError::Unreachable(told) }
            }
        }
    }
}

/// What is in these bytes of HTTP.
fn answer(bytes: &[u8]) -> Result<Value, Failure> {
    if bytes.is_empty() {
        return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
    }
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let length = match head.parse(bytes).map_err(|error| odd(&error.to_string()))? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
    };
    let (code, body) = (head.code.unwrap_or_default(), &bytes[length..]);
    // A stream may have more than one; the first is the answer.
    let first = serde_json::Deserializer::from_slice(body).into_iter::<Value>().next();
    let answer = match first {
        Some(Ok(answer)) if answer.is_object() => answer,
        _ if code == 200 && body.is_empty() => json!({}),
        _ => return Err(odd(&format!("HTTP status {code}, and no JSON"))),
    };
    let error = if answer["error"].is_object() { &answer["error"] } else { &answer };
    let words = ["message", "error"].iter().find_map(|key| error[*key].as_str());
    match words {
        Some(words) => {
            let code = ["code", "grpc_code"].iter().find_map(|key| error[*key].as_u64());
            Err(Failure::Error {
                code: code.unwrap_or_default().to_string(),
                words: limits::shown(words, 300),
            })
        }
        None if code == 200 => Ok(answer),
        None => Err(odd(&format!("HTTP status {code}"))),
    }
}

#[cfg(test)]
mod tests;
