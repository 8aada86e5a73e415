//! Why peers and this node refuse each other, as the log and `/status` tell it.

use std::collections::BTreeMap;

use super::status::RejectionStatus;
use crate::core::membership::MemberList;
use crate::core::types::NodeId;

/// How many are kept: strangers may come with ever new ids.
const MOST: usize = 64;

/// The last reason of each peer, one way and the other.
#[derive(Clone, Debug, Default)]
pub struct Rejections(BTreeMap<(NodeId, &'static str), String>);

impl Rejections {
    /// Notes what (this node rejects it, or it this node) and why. Tells whether that is news.
    pub fn note(&mut self, peer: NodeId, what: &'static str, why: &str) -> bool {
        let known = self.0.get(&(peer, what)).is_some_and(|known| known == why);
        let news = !known && self.0.len() < MOST;
        if news {
            self.0.insert((peer, what), why.to_owned());
        }
        news
    }

    /// A peer is connected: forgets why it was not. Tells whether there was a reason.
    pub fn forget(&mut self, peer: NodeId) -> bool {
        let before = self.0.len();
        self.0.retain(|(refused, _), _| *refused != peer);
        self.0.len() < before
    }

    /// All of them.
    pub fn status(&self, list: &MemberList) -> Vec<RejectionStatus> {
        let status = |((peer, what), why): (&(NodeId, &str), &String)| RejectionStatus {
            peer: list.name(*peer),
            reason: format!("{what}: {why}"),
        };
        self.0.iter().map(status).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn each_way_is_news_once_until_the_peer_is_connected() {
        let peer = NodeId(Uuid::from_u128(1));
        let mut rejections = Rejections::default();
        for news in [true, false] {
            assert_eq!(rejections.note(peer, "is refused", "another cluster"), news);
            assert_eq!(rejections.note(peer, "rejects this node", "another cluster"), news);
        }
        assert!(rejections.note(peer, "is refused", "another algorithm"));
        let status = rejections.status(&MemberList::default());
        let reasons: Vec<&str> = status.iter().map(|status| status.reason.as_str()).collect();
        assert_eq!(
            reasons,
            ["is refused: another algorithm", "rejects this node: another cluster"]
        );
        assert!(rejections.forget(peer));
        assert!(!rejections.forget(peer));
        assert!(rejections.note(peer, "is refused", "another algorithm"));
    }

    #[test]
    fn strangers_do_not_fill_the_memory() {
        let mut rejections = Rejections::default();
        for stranger in 0..1000 {
            rejections.note(NodeId(Uuid::from_u128(stranger)), "is refused", "it is no member");
        }
        assert_eq!(rejections.status(&MemberList::default()).len(), MOST);
    }
}
