//! `GET /leader?redirect` and `/locks/NAME/leader?redirect`: sends a client to where the work of the leader, or of the
//! holder of a lock, is reached.
//!
//! The holder alone knows its URL, and whether it may act. So a node that is another asks it over HTTP, and what it
//! answers is true: an idle cluster sends nothing for that, and the holder's version is the only one that matters.

use crate::core::locks::table::LockName;
use crate::limits::is_url;
use crate::node::handle::Handle;
use crate::node::status::{MemberStatus, Status};
use crate::tls::Security;

use super::request::Request;
use super::response::Response;
use super::{limits, locks, peers};

/// Whose work a client wants to be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirection {
    Leader,
    Lock(LockName),
}

/// What this request wants to be redirected to, if it does.
pub fn asked(request: &Request) -> Option<Redirection> {
    let reads = ["GET", "HEAD"].contains(&request.method.as_str());
    if !reads || request.query != "redirect" {
        return None;
    }
    match request.path.as_str() {
        "/leader" => Some(Redirection::Leader),
        path => locks::of_leader(path).map(Redirection::Lock),
    }
}

/// What a member answers of itself.
struct ToldHolder {
    /// Whether it leads, or holds the lock, and may act.
    acts: bool,
    url: Option<String>,
}

impl Redirection {
    fn told(&self, status: &Status) -> ToldHolder {
        ToldHolder { acts: status.leads(), url: status.url.clone() }
    }

    /// What is held, in words.
    fn words(&self) -> String {
        match self {
            Redirection::Leader => "the leadership".to_owned(),
            Redirection::Lock(name) => format!("the lock {name}"),
        }
    }

    /// The answer, for which the holder may be asked, by HTTPS where this node serves that.
    pub fn answer<H: Handle>(&self, node: &H, security: &Security) -> Response {
        let own = node.status();
        let (holder, here) = match self {
            Redirection::Leader => {
                let leader = own.leader.as_ref().filter(|_| !own.stalled);
                (leader.map(|leader| leader.name.clone()), self.told(&own))
            }
            Redirection::Lock(name) => {
                let lock = node.lock_view(name).lock(name.as_str());
                let acts = lock.reason.is_none() && !own.stalled;
                (lock.holder, ToldHolder { acts, url: lock.url })
            }
        };
        let Some(holder) = holder else {
            return Response::not_now(503, format!("nobody holds {} now", self.words()));
        };
        if holder == own.node.name {
            return self.to(&holder, here);
        }
        let Some(member) = own.members.iter().find(|member| member.name == holder) else {
            return Response::not_now(503, format!("{holder} is no member any more"));
        };
        match self.ask(member, &own, security) {
            Ok(told) => self.to(&holder, told),
            Err(why) => Response::not_now(503, format!("{holder} holds {}: {why}", self.words())),
        }
    }

    /// To the holder of this name, which says this.
    fn to(&self, holder: &str, told: ToldHolder) -> Response {
        let what = self.words();
        match told {
            ToldHolder { acts: false, .. } => {
                Response::not_now(503, format!("{holder} does not hold {what} any more"))
            }
            ToldHolder { url: Some(url), .. } if is_url(&url) => Response::redirect(url),
            ToldHolder { .. } => Response::error(
                404,
                format!("{holder} holds {what}, and what runs there was given no --url"),
            ),
        }
    }

    /// What this member says.
    fn ask(
        &self,
        member: &MemberStatus,
        own: &Status,
        security: &Security,
    ) -> Result<ToldHolder, String> {
        let client = peers::client(member, security, Some(limits::MEMBER));
        let client = client.map_err(|(_, why)| why)?;
        let address = member.admin.as_deref().unwrap_or_default();
        let silent = |error: super::client::ClientError| error.to_string();
        match self {
            Redirection::Leader => {
                let status = client.status(address).map_err(silent)?;
                let is_it = (&status.node.id, &status.cluster) == (&member.id, &own.cluster);
                if is_it {
                    return Ok(self.told(&status));
                }
                let (other, cluster) = (status.node.name, status.cluster);
                Err(format!("at {address} answers {other} of cluster {cluster}"))
            }
            Redirection::Lock(name) => {
                let lock = client.lock(address, name.as_str()).map_err(silent)?.lock(name.as_str());
                let holds = lock.holder.as_deref() == Some(&*member.name);
                Ok(ToldHolder { acts: holds && lock.reason.is_none(), url: lock.url })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_asks_to_be_redirected_by_its_query_alone() {
        let asks = |line: &str| {
            let text = format!("{line} HTTP/1.1\r\nHost: n\r\n\r\n");
            asked(&Request::parse(text.as_bytes()).unwrap().unwrap().0)
        };
        let lock = Redirection::Lock(LockName::new("vip-1").unwrap());
        assert_eq!(asks("GET /leader?redirect"), Some(Redirection::Leader));
        assert_eq!(asks("HEAD /locks/vip-1/leader?redirect"), Some(lock));
        for line in [
            "GET /leader",
            "GET /leader?redirect=0",
            "POST /leader?redirect",
            "GET /status?redirect",
            "GET /locks/vip-1?redirect",
            "GET /locks/A/leader?redirect",
        ] {
            assert_eq!(asks(line), None, "{line}");
        }
    }
}
