//! What a hook is told: a change of what its node sees, or that its node holds a lock, or holds it no more.

use std::collections::VecDeque;
use std::sync::Arc;

use electd_facts::hold::LockChange;

use crate::node::events::{Event, EventId, EventKind, Logged};

/// One of them.
#[derive(Clone, Debug)]
pub enum HookNews {
    OfNode(Arc<Event>),
    OfLock(Arc<LockChange>),
}

impl HookNews {
    /// The name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            HookNews::OfNode(event) => event.kind(),
            HookNews::OfLock(change) => change.kind(),
        }
    }

    /// The same as in `/events`.
    pub fn json(&self) -> String {
        match self {
            HookNews::OfNode(event) => serde_json::json!(event).to_string(),
            HookNews::OfLock(change) => serde_json::json!(change).to_string(),
        }
    }

    /// What the program finds in its environment; what says nothing here is empty, and not what the node's own has.
    pub fn environment(&self) -> [(&'static str, String); 8] {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (node, of_node, of_lock) = match self {
            HookNews::OfNode(event) => {
                let of_node = [text(&event.leader), event.epoch.to_string(), text(&event.member)];
                (&event.node, of_node, Default::default())
            }
            HookNews::OfLock(change) => {
                let token = change.token.map(|token| token.to_string());
                let of_lock = [change.lock.clone(), text(&change.holder), text(&token)];
                (&change.node, Default::default(), of_lock)
            }
        };
        let ([leader, epoch, member], [lock, holder, token]) = (of_node, of_lock);
        [
            ("ELECTD_EVENT", self.name().to_owned()),
            ("ELECTD_NODE", node.clone()),
            ("ELECTD_LEADER", leader),
            ("ELECTD_EPOCH", epoch),
            ("ELECTD_MEMBER", member),
            ("ELECTD_LOCK", lock),
            ("ELECTD_HOLDER", holder),
            ("ELECTD_TOKEN", token),
        ]
    }

    /// Whether the program is run for it. That another member holds a lock concerns the hook of that one.
    pub(super) fn is_told(&self) -> bool {
        match self {
            HookNews::OfNode(event) => !matches!(
                event.event,
                EventKind::Problem | EventKind::ProblemOver | EventKind::Takeover
            ),
            HookNews::OfLock(change) => {
                let before = change.before.as_ref().map(|before| &before.holder);
                [change.holder.as_ref(), before].contains(&Some(&change.node))
            }
        }
    }

    /// Whether this is of the same kind, and of the same member or lock: then the newer one alone is told.
    fn is_like(&self, other: &HookNews) -> bool {
        match (self, other) {
            (HookNews::OfNode(one), HookNews::OfNode(other)) => {
                (one.event, &one.member) == (other.event, &other.member)
            }
            (HookNews::OfLock(one), HookNews::OfLock(other)) => one.lock == other.lock,
            _ => false,
        }
    }
}

impl From<Arc<Event>> for HookNews {
    fn from(event: Arc<Event>) -> HookNews {
        HookNews::OfNode(event)
    }
}

impl From<Arc<LockChange>> for HookNews {
    fn from(change: Arc<LockChange>) -> HookNews {
        HookNews::OfLock(change)
    }
}

/// What waits until the program is run for it, oldest first: at most one of each kind, of each member and of each lock.
#[derive(Default)]
pub struct WaitingNews(VecDeque<HookNews>);

impl WaitingNews {
    /// Takes new events of one log. Tells how many are left out: since a newer one of their kind came, or they were
    /// forgotten before they were seen.
    pub fn take<E: Logged>(&mut self, seen: &mut EventId, new: Vec<Arc<E>>) -> u64
    where
        Arc<E>: Into<HookNews>,
    {
        let mut left_out = 0;
        for event in new {
            let id: EventId = event.id().parse().unwrap_or(*seen);
            left_out += id.number.saturating_sub(seen.number + 1);
            *seen = id;
            let news: HookNews = event.into();
            if !news.is_told() {
                continue;
            }
            let before = self.0.len();
            self.0.retain(|waiting| !waiting.is_like(&news));
            left_out += (before - self.0.len()) as u64;
            self.0.push_back(news);
        }
        left_out
    }

    /// What is told next.
    pub fn next(&mut self) -> Option<HookNews> {
        self.0.pop_front()
    }

    /// How many wait.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets all, as nobody is to be told.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
