//! The pages that processes show to clients that ask who leads, and what a client may conclude from
//! them.
//!
//! A process replaces its page after each turn, before any output of the turn leaves; a process that is
//! paused between the two keeps showing the old page. A client that asks learns what the page says at
//! an instant between question and answer, and for how long the leader may still lead; this counts from
//! the question. The worst client is assumed: it asks at the instant of the publication, is answered
//! immediately, and has a clock as slow as clocks may be. No other client believes a page for longer,
//! so that no delay of an answer has to be drawn.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::content::Content;
use crate::core::membership::MemberList;
use crate::core::types::{Epoch, NodeId, Time};
use crate::core::{Core, Phase};

/// The page of one process.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub phase: Phase,
    pub leader: Option<NodeId>,
    pub epoch: Epoch,
    /// A leader is not to be believed from then on, by its own clock.
    until: Time,
    /// When a leader's lease ends, by the same clock.
    lease: Option<Time>,
    list: Arc<MemberList>,
    /// The content of its list.
    pub content: Rc<Content>,
}

/// For how long the answer says that the leader may lead, in whole milliseconds.
const UNIT: Duration = Duration::from_millis(1);

impl Page {
    /// The page of a process that turned at this time of its clock.
    pub fn of(core: &Core, turned: Time, last: Option<&Page>) -> Page {
        let list = core.members();
        let same = last.filter(|page| Arc::ptr_eq(&page.list, list)); // it is read once
        Page {
            phase: core.phase(),
            leader: core.leader().map(|leader| leader.id),
            epoch: core.view().epoch,
            until: core.believable_until(turned),
            lease: core.lease_until(),
            list: list.clone(),
            content: same.map_or_else(|| Rc::new(Content::of(list)), |page| page.content.clone()),
        }
    }

    /// Whether it says that its process leads, at this time of its clock.
    pub fn leads(&self, local: Time) -> bool {
        self.phase == Phase::Leading && local < self.until
    }

    /// Until when the process leads by this page, by its own clock: the limit that `GET /leader` uses
    /// or the lease in the page, whichever is later.
    pub fn end(&self) -> Time {
        self.lease.map_or(self.until, |lease| lease.max(self.until))
    }

    /// Until when the worst client believes that the process leads, if it asked now.
    pub fn believed(&self, now: Time, clock: Clock) -> Time {
        let left = self.end().since(clock.local(now));
        let shown = UNIT * u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
        now + Clock::SLOWEST.truly_takes(shown)
    }
}
