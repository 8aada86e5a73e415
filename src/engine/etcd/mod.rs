//! A lock as the keys of etcd's own recipe, so that `etcdctl lock NAME` and electd exclude each other.
//!
//! Who wants the lock puts a key NAME/LEASE, with the lease in hexadecimal. Of all that begin so, the one that was made first
//! holds the lock, and the revision in which it was made is its token. The key goes with its lease, and the next one follows.

mod gateway;

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use electd_election::limits;
use gateway::Gateway;
use serde_json::{Value, json};

use super::failure::Failure;
use super::{Engine, EngineError, EngineHolder, EngineUrl, LockAnswer};

/// What etcd says of a lease that it does not know.
const NOT_FOUND: &str = "5";

/// A lock in an etcd.
struct Etcd {
    gateway: Gateway,
    name: String,
    ttl: Duration,
    wish: Option<Wish>,
}

/// What is in etcd of one wish.
struct Wish {
    holder: String,
    lease: u64,
    /// In which revision its key was made, once that is known.
    made: Option<u64>,
    /// When the time of the lease was last known to begin anew.
    kept: Instant,
}

/// The lock of this URL.
pub fn open(
    url: &EngineUrl,
    ttl: Duration,
    patience: Duration,
) -> Result<Box<dyn Engine>, EngineError> {
    let gateway = Gateway::new(url, patience)?;
    Ok(Box::new(Etcd { gateway, name: url.name().to_owned(), ttl, wish: None }))
}

impl Etcd {
    fn ask(&mut self, path: &str, question: &Value) -> Result<Value, EngineError> {
        self.gateway.ask(path, question).map_err(|failure| self.gateway.error(failure))
    }

    fn key(&self, lease: u64) -> String {
        BASE64.encode(format!("{}/{lease:x}", self.name))
    }

    /// The question for the first of the keys.
    fn first(&self) -> Value {
        let [from, to] = ['/', '0'].map(|end| BASE64.encode(format!("{}{end}", self.name)));
        json!({"key": from, "range_end": to, "limit": "1", "sort_order": "ASCEND", "sort_target": "CREATE"})
    }

    /// The wish in this name, with a lease.
    fn begin(&mut self, holder: &str) -> Result<(), EngineError> {
        if self.wish.as_ref().is_some_and(|wish| wish.holder == holder) {
            return Ok(());
        }
        let seconds = self.ttl.as_secs() + u64::from(self.ttl.subsec_nanos() > 0);
        let kept = Instant::now();
        let answer = self.ask("lease/grant", &json!({"TTL": seconds.to_string()}))?;
        let (lease, granted) = (number(&answer["ID"])?, number(&answer["TTL"])?);
        // A key without a lease would be there for ever, and one with a shorter lease is gone too soon.
        if lease == 0 || granted < seconds {
            let what = "etcd answers what is no lease for this time".to_owned();
            return Err(EngineError::Unreachable(what));
        }
        self.wish = Some(Wish { holder: holder.to_owned(), lease, made: None, kept });
        Ok(())
    }

    /// Puts the key of the wish, unless it is there. Returns the first of all keys.
    fn put(&mut self, lease: u64, holder: &str) -> Result<Option<EngineHolder>, EngineError> {
        let key = self.key(lease);
        let answer = self.ask(
            "kv/txn",
            &json!({
                "compare": [{"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0"}],
                "success": [
                    {"request_put": {"key": key, "value": BASE64.encode(holder), "lease": lease.to_string()}},
                    {"request_range": self.first()}
                ],
                "failure": [{"request_range": {"key": key}}, {"request_range": self.first()}],
            }),
        )?;
        let range = |at: usize| &answer["responses"][at]["response_range"]["kvs"][0];
        let made = match answer["succeeded"] == true {
            true => number(&answer["header"]["revision"])?,
            false => number(&range(0)["create_revision"])?,
        };
        if let Some(wish) = &mut self.wish {
            wish.made = Some(made);
        }
        key_holder(range(1))
    }

    /// Has the time of the lease begin anew. Returns in which term of etcd that was, if there is a lease yet.
    fn keep(&mut self, lease: u64) -> Result<Option<u64>, EngineError> {
        let kept = Instant::now();
        let answer = self.ask("lease/keepalive", &json!({"ID": lease.to_string()}))?;
        let left = &answer["result"]["TTL"];
        let is_there = !left.is_null() && number(left)? > 0;
        match &mut self.wish {
            Some(wish) if is_there => wish.kept = kept,
            _ => self.wish = None,
        }
        let term = number(&answer["result"]["header"]["raft_term"])?;
        Ok(is_there.then_some(term))
    }

    /// Has the time of the lease begin anew, and tells whether it still holds the key that was made in this revision.
    ///
    /// A member that was cut off, and still takes itself for the leader, keeps leases too. A majority reads a key: if that
    /// is in the same term, nobody else led in between.
    fn confirm(&mut self, lease: u64, made: Option<u64>) -> Result<bool, EngineError> {
        let Some(term) = self.keep(lease)? else { return Ok(false) };
        let answer = self.ask("kv/range", &json!({"key": self.key(lease)}))?;
        if number(&answer["header"]["raft_term"])? != term {
            return Err(EngineError::Unreachable("etcd has another leader".to_owned()));
        }
        let key = key_holder(&answer["kvs"][0])?;
        Ok(key.is_some_and(|key| Some(key.token) == made))
    }
}

impl Engine for Etcd {
    fn take(&mut self, holder: &str) -> Result<LockAnswer, EngineError> {
        self.begin(holder)?;
        let Some(Wish { lease, made, kept, .. }) = &self.wish else {
            return Err(EngineError::Unreachable("there is no lease".to_owned()));
        };
        let (lease, kept) = (*lease, *kept);
        let first = match made {
            Some(_) => self.watch()?,
            None => self.put(lease, holder)?,
        };
        let made = self.wish.as_ref().and_then(|wish| wish.made);
        let is_own = first.as_ref().is_some_and(|first| Some(first.token) == made);
        let is_there = if is_own {
            self.confirm(lease, made)?
        } else {
            kept.elapsed() <= self.ttl / 5 || self.keep(lease)?.is_some()
        };
        if !is_there {
            return Err(EngineError::Unreachable("etcd has ended the lease".to_owned()));
        }
        match first {
            Some(first) if is_own => Ok(LockAnswer::Held(first.token)),
            Some(other) => Ok(LockAnswer::Other(other)),
            // Somebody has deleted the key.
            None => {
                self.wish = None;
                Err(EngineError::Unreachable(
                    "somebody has deleted the key of this process".to_owned(),
                ))
            }
        }
    }

    fn renew(&mut self, holder: &str) -> Result<bool, EngineError> {
        let wish = self.wish.as_ref().filter(|wish| wish.holder == holder);
        let Some((lease, made)) = wish.map(|wish| (wish.lease, wish.made)) else {
            return Ok(false);
        };
        self.confirm(lease, made)
    }

    fn release(&mut self, holder: &str) -> Result<(), EngineError> {
        let Some(wish) = self.wish.as_ref().filter(|wish| wish.holder == holder) else {
            return Ok(());
        };
        let revoked = self.gateway.ask("lease/revoke", &json!({"ID": wish.lease.to_string()}));
        match revoked {
            Err(Failure::Error { code, .. }) if code == NOT_FOUND => {}
            revoked => _ = revoked.map_err(|failure| self.gateway.error(failure))?,
        }
        self.wish = None;
        Ok(())
    }

    fn give_back(&mut self, token: u64) -> Result<(), EngineError> {
        let first = self.first();
        let key = self.ask("kv/range", &first)?["kvs"][0]["key"].take();
        self.ask(
            "kv/txn",
            &json!({
                "compare": [{"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": token.to_string()}],
                "success": [{"request_delete_range": {"key": key}}],
            }),
        )?;
        Ok(())
    }

    fn watch(&mut self) -> Result<Option<EngineHolder>, EngineError> {
        let first = self.first();
        key_holder(&self.ask("kv/range", &first)?["kvs"][0])
    }

    fn describe(&mut self) -> Result<Vec<String>, EngineError> {
        let answer = self.ask("maintenance/status", &json!({}))?;
        let version = limits::quote(answer["version"].as_str().unwrap_or_default());
        Ok(vec![format!("etcd {version} answers at {}", self.gateway.place())])
    }
}

/// Who has put this key, if there is one. etcd's own tools leave the value empty.
fn key_holder(key: &Value) -> Result<Option<EngineHolder>, EngineError> {
    if key.is_null() {
        return Ok(None);
    }
    let text = |part: &Value| {
        let bytes = BASE64.decode(part.as_str().unwrap_or_default()).unwrap_or_default();
        limits::shown(&String::from_utf8_lossy(&bytes), 128)
    };
    let name = Some(text(&key["value"])).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| text(&key["key"]));
    Ok(Some(EngineHolder { name, token: number(&key["create_revision"])?, left: None }))
}

/// A number as the gateway writes it: as a string, and not at all where it is 0.
fn number(value: &Value) -> Result<u64, EngineError> {
    let text = value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
    let number = if value.is_null() { Some(0) } else { text.parse().ok() };
    number.ok_or_else(|| EngineError::Unreachable("etcd answers what is no number".to_owned()))
}

#[cfg(test)]
mod tests;
