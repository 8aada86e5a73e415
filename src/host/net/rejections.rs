//! Why peers and this node refuse each other, as the log and `/status` tell it.
//!
//! Anybody can dial and say hello, with ever new ids and reasons. So strangers share a few places and a few
//! lines of the log, and take neither from the members.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use electd_facts::status::{RefusalCause, RejectionStatus};

use super::Who;
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};

/// How many reasons of strangers are kept; when one more comes, the oldest goes.
const MOST_STRANGERS: usize = 64;

/// How many reasons of strangers are logged in each [`WINDOW`].
const MOST_LINES: u32 = 16;

const WINDOW: Duration = Duration::from_secs(60);

/// How often the reasons of one member are logged, if they change.
const PAUSE: Duration = Duration::from_secs(1);

/// The one of this node and a peer that refuses the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusedBy {
    /// This node refuses the peer.
    Node,
    /// The peer refuses this node.
    Peer,
}

impl RefusedBy {
    /// In words that follow the name of the peer.
    pub fn words(self) -> &'static str {
        match self {
            RefusedBy::Node => "is refused",
            RefusedBy::Peer => "rejects this node",
        }
    }
}

/// A peer, one way.
type Key = (Who, RefusedBy);

#[derive(Clone, Debug)]
struct RejectionReason {
    cause: RefusalCause,
    why: String,
    recorded: Time,
    /// When a reason of this peer was logged last, and whether it was the present one.
    logged: Option<Time>,
    said: bool,
}

/// The last reason of each peer, one way and the other.
#[derive(Clone, Debug, Default)]
pub struct Rejections {
    /// Shared by the snapshots.
    kept: Arc<BTreeMap<Key, RejectionReason>>,
    /// When the present window began, and how many reasons of strangers were logged in it.
    window: (Time, u32),
}

impl Rejections {
    /// Records who refuses the other, and why. Tells whether that is to be logged.
    pub fn record(
        &mut self,
        now: Time,
        list: &MemberList,
        (peer, by): Key,
        (cause, why): (RefusalCause, &str),
    ) -> bool {
        let known = self.kept.get(&(peer, by));
        if known.is_some_and(|known| known.why == why && known.said) {
            self.renew(now, (peer, by));
            return false;
        }
        let last = known.and_then(|known| known.logged);
        let logs = if is_member(peer, list) {
            last.is_none_or(|last| now.since(last) >= PAUSE)
        } else {
            self.take_line(now)
        };
        let logged = if logs { Some(now) } else { last };
        let reason =
            RejectionReason { cause, why: why.to_owned(), recorded: now, logged, said: logs };
        let kept = Arc::make_mut(&mut self.kept);
        kept.insert((peer, by), reason);
        let strangers = kept.iter().filter(|((peer, _), _)| !is_member(*peer, list));
        if strangers.clone().count() > MOST_STRANGERS
            && let Some(oldest) =
                strangers.min_by_key(|(_, reason)| reason.recorded).map(|(key, _)| *key)
        {
            kept.remove(&oldest);
        }
        logs
    }

    /// Notes that a refusal lasts.
    fn renew(&mut self, now: Time, key: Key) {
        let is_due = |known: &RejectionReason| now.since(known.recorded) >= PAUSE;
        if self.kept.get(&key).is_some_and(is_due)
            && let Some(known) = Arc::make_mut(&mut self.kept).get_mut(&key)
        {
            known.recorded = now;
        }
    }

    /// Whether one more line may be logged about strangers.
    fn take_line(&mut self, now: Time) -> bool {
        let (since, lines) = &mut self.window;
        if now.since(*since) >= WINDOW {
            (*since, *lines) = (now, 0);
        }
        *lines += 1;
        *lines <= MOST_LINES
    }

    /// A peer is connected: forgets why it was not. Tells whether there was a reason.
    pub fn forget(&mut self, peer: NodeId) -> bool {
        let peer = Who::Member(peer);
        let found = self.kept.keys().any(|(refused, _)| *refused == peer);
        if found {
            Arc::make_mut(&mut self.kept).retain(|(refused, _), _| *refused != peer);
        }
        found
    }

    /// All of them.
    pub fn status(&self, list: &MemberList) -> Vec<RejectionStatus> {
        self.kept.iter().map(|(key, reason)| status(key, reason, list)).collect()
    }

    /// Those that last: a peer that is refused dials again after at most `failure`.
    pub fn recent(&self, list: &MemberList, now: Time, failure: Duration) -> Vec<RejectionStatus> {
        let lasts = |(_, reason): &(&Key, &RejectionReason)| {
            now.since(reason.recorded) < failure + 3 * PAUSE
        };
        self.kept.iter().filter(lasts).map(|(key, reason)| status(key, reason, list)).collect()
    }
}

fn is_member(peer: Who, list: &MemberList) -> bool {
    matches!(peer, Who::Member(id) if list.get(id).is_some())
}

/// The name of a refused peer.
pub fn name(peer: Who, list: &MemberList) -> String {
    match peer {
        Who::Member(id) => list.name(id),
        Who::Address(address) => address.to_string(),
    }
}

fn status((peer, by): &Key, reason: &RejectionReason, list: &MemberList) -> RejectionStatus {
    RejectionStatus {
        peer: name(*peer, list),
        reason: format!("{}: {}", by.words(), reason.why),
        cause: Some(reason.cause),
        by_peer: *by == RefusedBy::Peer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{ListVersion, Member};
    use crate::core::types::Role;
    use uuid::Uuid;

    const REFUSED: RefusedBy = RefusedBy::Node;
    const WHY: RefusalCause = RefusalCause::Cluster;

    const MINUTE: Duration = Duration::from_secs(60);

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn who(number: u128) -> Who {
        Who::Member(id(number))
    }

    /// The members 1 and 2.
    fn members() -> MemberList {
        let member = |number: u128| {
            let (name, address) = (format!("node-{number}"), format!("h:{number}"));
            Member { id: id(number), name, address, admin: None, role: Role::Member }
        };
        MemberList::new(ListVersion::default(), vec![member(1), member(2)])
    }

    fn after(time: Duration) -> Time {
        Time(0) + time
    }

    #[test]
    fn each_way_is_news_once_until_the_peer_is_connected() {
        let (peer, list, now) = (who(1), members(), after(MINUTE));
        let mut rejections = Rejections::default();
        for news in [true, false] {
            let mut record =
                |by| rejections.record(now, &list, (peer, by), (WHY, "another cluster"));
            assert_eq!(record(REFUSED), news);
            assert_eq!(record(RefusedBy::Peer), news);
        }
        let later = now + PAUSE;
        assert!(rejections.record(later, &list, (peer, REFUSED), (WHY, "another algorithm")));
        let status = rejections.status(&list);
        let told = |(reason, by_peer): (&str, bool)| RejectionStatus {
            peer: "node-1".to_owned(),
            reason: reason.to_owned(),
            cause: Some(WHY),
            by_peer,
        };
        let expected = [
            ("is refused: another algorithm", false),
            ("rejects this node: another cluster", true),
        ];
        assert_eq!(status, expected.map(told));
        assert!(rejections.forget(id(1)));
        assert!(!rejections.forget(id(1)));
        assert!(rejections.record(later, &list, (peer, REFUSED), (WHY, "another algorithm")));
    }

    #[test]
    fn strangers_fill_neither_the_memory_nor_the_log_and_the_last_are_shown() {
        let (list, now) = (members(), after(MINUTE));
        let mut rejections = Rejections::default();
        assert!(rejections.record(now, &list, (who(1), REFUSED), (WHY, "another cluster")));
        let mut record = |stranger: u128, now: Time| {
            rejections.record(now, &list, (who(stranger), REFUSED), (WHY, "it is no member"))
        };
        let at = |stranger: u128| now + Duration::from_millis(stranger as u64);
        let logged = (10..1010).filter(|stranger| record(*stranger, at(*stranger))).count();
        assert_eq!(logged, 16);
        let window = at(10) + MINUTE;
        assert!(!record(1010, Time(window.0 - 1)), "the window lasts");
        let logged = (1011..1111).filter(|stranger| record(*stranger, window)).count();
        assert_eq!(logged, 16, "lines of the next window");
        let status = rejections.status(&list);
        let shown: Vec<_> = status.into_iter().map(|status| status.peer).collect();
        let last: Vec<_> = (1111 - 64..1111).map(|number| id(number).to_string()).collect();
        assert_eq!(shown, [vec!["node-1".to_owned()], last].concat(), "the last, and the member's");
        assert!(rejections.record(now, &list, (who(2), REFUSED), (WHY, "it is no member")));
    }

    #[test]
    fn a_member_whose_reasons_change_all_the_time_is_logged_now_and_then() {
        let (list, now) = (members(), after(MINUTE));
        let mut rejections = Rejections::default();
        let mut record = |time, why: u32| {
            rejections.record(now + time, &list, (who(1), REFUSED), (WHY, &why.to_string()))
        };
        assert!(record(Duration::ZERO, 0));
        assert!((1..100).all(|why| !record(Duration::from_millis(500), why)));
        assert!(record(PAUSE, 99), "the last has not been said yet");
        assert!(!record(PAUSE * 2, 99) && record(PAUSE * 2, 100));
        assert_eq!(rejections.status(&list)[0].reason, "is refused: 100");
    }

    #[test]
    fn a_refusal_that_does_not_come_again_is_past_soon() {
        let (list, now, failure) = (members(), after(MINUTE), Duration::from_secs(5));
        let mut rejections = Rejections::default();
        rejections.record(now, &list, (who(1), REFUSED), (WHY, "another cluster"));
        let count =
            |rejections: &Rejections, time| rejections.recent(&list, now + time, failure).len();
        let past = failure + Duration::from_secs(3);
        let (nano, second) = (Duration::from_nanos(1), Duration::from_secs(1));
        assert_eq!(count(&rejections, past - nano), 1);
        assert_eq!(count(&rejections, past), 0);
        let mut again = |time| {
            rejections.record(now + time, &list, (who(1), REFUSED), (WHY, "another cluster"))
        };
        assert!(!again(second - nano) && !again(second), "it is no news");
        assert_eq!(count(&rejections, past), 1, "it came again");
        assert_eq!(count(&rejections, past + second), 0);
        let told = rejections.recent(&list, now, failure);
        assert_eq!(told, rejections.status(&list));
    }

    #[test]
    fn whoever_is_no_member_is_named_by_what_is_known_of_it() {
        let address = "10.0.0.9".parse().unwrap();
        let names = [who(2), who(3), Who::Address(address)].map(|who| name(who, &members()));
        assert_eq!(names, ["node-2", &id(3).to_string(), "10.0.0.9"]);
    }
}
