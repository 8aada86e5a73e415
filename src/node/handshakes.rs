//! The peers that were refused before a hello, by their certificate or as they speak no TLS. The
//! network threads note the refusals, however many dial, and the election thread does not hear of them:
//! no lock is shared with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log::warn;
use parking_lot::Mutex;

use super::status::{RefusalCause, RejectionStatus};
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};
use crate::net::Who;
use crate::net::rejections::{RefusedBy, Rejections, name};
use crate::tls::TlsFault;

/// The last reasons of each peer, one way and the other.
pub struct Handshakes {
    kept: Mutex<HandshakeState>,
    /// Whether a reason of a member is among them.
    of_members: AtomicBool,
}

struct HandshakeState {
    rejections: Rejections,
    /// The members at the last look at them.
    list: Arc<MemberList>,
}

impl Handshakes {
    /// Nobody was refused yet.
    pub fn new(list: Arc<MemberList>) -> Handshakes {
        let kept = Mutex::new(HandshakeState { rejections: Rejections::default(), list });
        Handshakes { kept, of_members: AtomicBool::new(false) }
    }

    /// Records a refusal, and logs it once until it changes.
    pub fn record(&self, now: Time, who: Who, fault: &TlsFault) {
        let by = if fault.by_peer { RefusedBy::Peer } else { RefusedBy::Node };
        let mut kept = self.kept.lock();
        let list = kept.list.clone();
        let is_news =
            kept.rejections.record(now, &list, (who, by), (RefusalCause::Certificate, &fault.why));
        drop(kept);
        if matches!(who, Who::Member(_)) {
            self.of_members.store(true, Ordering::Relaxed);
        }
        if is_news {
            let (peer, cause) = (name(who, &list), fault.cause.name());
            warn!(event = "rejected", peer = peer, cause = cause; "{peer} {}: {fault}", by.words());
        }
    }

    /// A peer is connected: forgets why it was not. Tells whether there was a reason.
    pub fn forget(&self, peer: NodeId) -> bool {
        self.of_members.load(Ordering::Relaxed) && self.kept.lock().rejections.forget(peer)
    }

    /// All of them.
    pub fn status(&self, list: &MemberList) -> Vec<RejectionStatus> {
        self.kept.lock().rejections.status(list)
    }

    /// Those that last, with the members at present.
    pub fn recent(
        &self,
        list: &Arc<MemberList>,
        now: Time,
        failure: Duration,
    ) -> Vec<RejectionStatus> {
        let mut kept = self.kept.lock();
        kept.list.clone_from(list);
        kept.rejections.recent(list, now, failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::logged::{fields, logged};
    use crate::node::words::tests::{id, members};
    use crate::tls::TlsCause;

    #[test]
    fn a_refusal_is_told_with_its_cause_until_the_peer_is_connected_or_it_is_past() {
        let list = Arc::new(members());
        let handshakes = Handshakes::new(list.clone());
        let (now, failure) = (Time(0) + Duration::from_secs(60), Duration::from_secs(5));
        let told = |who, by_peer| {
            let fault =
                TlsFault { cause: TlsCause::Expired, by_peer, why: "it has ended".to_owned() };
            logged(|| handshakes.record(now, who, &fault)).join("\n")
        };
        let reasons = |all: Vec<RejectionStatus>| -> Vec<String> {
            all.into_iter().map(|one| format!("{} {}", one.peer, one.reason)).collect()
        };
        assert!(!handshakes.forget(id(2)), "nothing was refused");
        let line = |what: &str| format!("WARN rejected: {what}: it has ended");
        assert_eq!(told(Who::Member(id(2)), false), line("b is refused"));
        assert_eq!(told(Who::Member(id(2)), false), "", "it is the same");
        assert_eq!(told(Who::Member(id(2)), true), line("b rejects this node"));
        assert!(handshakes.forget(id(2)));
        assert!(!handshakes.forget(id(2)), "it is forgotten");
        let stranger = Who::Address("10.0.0.9".parse().unwrap());
        assert_eq!(told(stranger, false), line("10.0.0.9 is refused"));
        assert!(!handshakes.forget(id(2)), "that was another");
        [false, true].iter().for_each(|by_peer| _ = told(Who::Member(id(2)), *by_peer));
        let of_b = ["b is refused: it has ended", "b rejects this node: it has ended"];
        let all = [&of_b[..], &["10.0.0.9 is refused: it has ended"]].concat();
        assert_eq!(reasons(handshakes.status(&list)), all);
        assert_eq!(reasons(handshakes.recent(&list, now, failure)), all);
        assert_eq!(reasons(handshakes.recent(&list, now + failure * 2, failure)), [""; 0]);
        assert!(handshakes.forget(id(2)));
        assert_eq!(reasons(handshakes.status(&list)), all[2..]);
    }

    #[test]
    fn a_refusal_is_told_with_the_name_that_the_peer_has_by_the_last_look_at_the_members() {
        let handshakes = Handshakes::new(Arc::default());
        let told = |cause, why: &str| {
            let fault = TlsFault { cause, by_peer: false, why: why.to_owned() };
            let now = Time(if cause == TlsCause::Plain { 1_000_000_000 } else { 0 });
            fields(|| handshakes.record(now, Who::Member(id(2)), &fault)).join("\n")
        };
        let unknown = format!("event=rejected peer={} cause=expired", id(2));
        assert_eq!(told(TlsCause::Expired, "it has ended"), unknown);
        let list = Arc::new(members());
        let recent = handshakes.recent(&list, Time(0), Duration::from_secs(5));
        assert_eq!(recent.len(), 1);
        assert_eq!(told(TlsCause::Plain, "it speaks no TLS"), "event=rejected peer=b cause=plain");
    }
}
