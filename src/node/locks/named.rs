//! A name that this member wants, as the election thread has it: who holds on to it, and what its program was told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::core::locks::periods::OncePer;
use crate::core::locks::table::LockName;
use crate::core::locks::word::LockWant;
use crate::core::types::Time;
use crate::node::leadership::{Change, Feed};

/// For how long an operator's choice comes before all other candidates.
const FAVOURED: Duration = Duration::from_secs(60);

/// One name that a program wants.
#[derive(Debug)]
pub struct WantedName {
    pub name: LockName,
    want: LockWant,
    /// It is held once in each of these periods.
    pub once: Option<OncePer>,
    pub feed: Arc<Feed>,
    /// Those who hold on to it, and for how long each may.
    holds: BTreeMap<u64, Duration>,
    /// The token under which the program acts.
    pub token: Option<u64>,
    /// The name is to be given back, by then at the latest.
    ending: Option<Time>,
    /// All other candidates come first until then.
    behind: Time,
    /// It comes first until then.
    favoured: Time,
    /// The program wants it no more.
    pub is_dropped: bool,
    /// The code with which the command ended that ran under this token.
    pub code: Option<u8>,
    /// The configuration lets this member hold it.
    is_allowed: bool,
}

impl WantedName {
    pub fn new(name: LockName, want: LockWant, once: Option<OncePer>, feed: Feed) -> WantedName {
        WantedName {
            name,
            want,
            once,
            feed: Arc::new(feed),
            holds: BTreeMap::new(),
            token: None,
            ending: None,
            behind: Time(0),
            favoured: Time(0),
            is_dropped: false,
            code: None,
            is_allowed: true,
        }
    }

    /// What the coordinator is told: what the program prefers leaves room for those that come last, and first.
    pub fn wish(&self, now: Time) -> LockWant {
        let prefer = if now < self.favoured {
            u32::MAX
        } else if now < self.behind {
            0
        } else {
            self.want.prefer.saturating_add(1).min(u32::MAX - 1)
        };
        LockWant { prefer, ..self.want }
    }

    /// The configuration says otherwise from now on how much this member is to want it, or whether it may hold it.
    pub fn rewish(&mut self, want: LockWant, is_allowed: bool) {
        (self.want, self.is_allowed) = (want, is_allowed);
    }

    /// Whether the member may want it.
    pub fn is_wanted(&self) -> bool {
        self.is_allowed && !self.is_dropped
    }

    /// Whether it is being given back.
    pub fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    pub fn favour(&mut self, now: Time) {
        self.favoured = now + FAVOURED;
    }

    pub fn fall_behind(&mut self, until: Time) {
        (self.favoured, self.behind) = (Time(0), self.behind.max(until));
    }

    /// Somebody holds on to it; false while it waits for others to let go.
    pub fn hold(&mut self, hold: u64, most: Duration) -> bool {
        let may = self.ending.is_none() && !self.is_dropped;
        if may {
            self.holds.insert(hold, most);
        }
        may
    }

    /// Whether the program may have begun to act.
    pub fn is_held(&self) -> bool {
        !self.holds.is_empty()
    }

    pub fn let_go(&mut self, hold: u64) {
        self.holds.remove(&hold);
    }

    /// The name is to be given back, if it is held: whoever holds on to it has to end the work.
    pub fn end(&mut self, now: Time) {
        if self.token.is_none() || self.ending.is_some() {
            return;
        }
        let within = self.holds.values().copied().max().unwrap_or_default();
        self.ending = Some(now + within);
        if !within.is_zero() {
            self.feed.tell(&Change::Ending { within });
        }
    }

    /// Whether it is to be given back now.
    pub fn has_ended(&self, now: Time) -> bool {
        self.ending.is_some_and(|by| by <= now || self.holds.is_empty())
    }

    /// When it wants to be looked at again.
    pub fn deadline(&self, now: Time) -> Option<Time> {
        let later = [self.behind, self.favoured].into_iter().filter(|at| *at > now);
        later.chain(self.ending).min()
    }

    /// The program may act under this token as the term of all names says, or not at all. Returns whether the name is to be
    /// looked at again: whether it is to be given back, or is wished for otherwise, by that.
    pub fn show(&mut self, token: Option<u64>, may_hold: bool, now: Time) -> bool {
        let before = std::mem::replace(&mut self.token, token);
        if before == token {
            return false;
        }
        let goes_back = token.is_none() || !may_hold || !self.is_wanted();
        let looks_again = goes_back || self.favoured > now;
        self.feed.lead(token);
        (self.ending, self.code) = (None, None);
        match token {
            Some(epoch) => {
                self.favoured = Time(0);
                log::info!(
                    event = "lock_held", lock = self.name.as_str(), token = epoch;
                    "holds the lock {}, under token {epoch}", self.name
                );
                self.feed.tell(&Change::Leading { epoch });
            }
            None => {
                let token = before.unwrap_or_default();
                log::info!(
                    event = "lock_given_up", lock = self.name.as_str(), token = token;
                    "holds the lock {} no more", self.name
                );
                self.feed.tell(&Change::NotLeading);
            }
        }
        looks_again
    }
}
