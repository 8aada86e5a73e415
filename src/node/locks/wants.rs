//! Which names this member wants: those that its programs ask for, as far as the configuration lets it.

use std::sync::Arc;

use super::named::WantedName;
use super::request::{LockRefused, MOST_WANTED};
use super::side::LockSide;
use crate::config::LocksConfig;
use crate::config::locks::LockNames;
use crate::core::locks::periods::OncePer;
use crate::core::locks::recurring::MOST_ONCE;
use crate::core::locks::table::LockName;
use crate::core::locks::word::LockWant;
use crate::node::leadership::Feed;

impl LockSide {
    pub(super) fn want(
        &mut self,
        number: u64,
        name: LockName,
        want: LockWant,
        once: Option<OncePer>,
    ) -> Result<Arc<Feed>, LockRefused> {
        if self.member.is_none() {
            return Err(LockRefused::QuorumNone);
        } else if self.is_stopping {
            return Err(LockRefused::Stopping);
        } else if self.names.len() >= MOST_WANTED {
            return Err(LockRefused::TooMany);
        } else if self.looks.numbers.contains_key(&name) {
            return Err(LockRefused::Wanted);
        } else if once.is_some()
            && self.names.values().filter(|it| it.once.is_some()).count() >= MOST_ONCE
        {
            return Err(LockRefused::TooManyOnce);
        }
        let want = self.judge(&name, want)?;
        self.looks.lacking += usize::from(!self.is_held(&name));
        self.looks.numbers.insert(name.clone(), number);
        let wanted = WantedName::new(name, want, once, Feed::of_name(&self.term));
        let feed = wanted.feed.clone();
        self.names.insert(number, wanted);
        Ok(feed)
    }

    pub(super) fn forget_name(&mut self, number: u64) {
        if let Some(known) = self.names.remove(&number) {
            self.looks.numbers.remove(&known.name);
        }
    }

    /// Whether any member holds the name, by the last done table.
    fn is_held(&self, name: &LockName) -> bool {
        self.seen.table.as_ref().is_some_and(|table| table.get(name).is_some())
    }

    /// How much this member is to want the name, by the configuration; or why it may not.
    fn judge(&self, name: &LockName, want: LockWant) -> Result<LockWant, LockRefused> {
        let held = self.seen.table.as_deref().map_or(0, |table| table.iter().len());
        let most = self.config.most;
        if !self.is_held(name) && held + self.looks.lacking >= most {
            return Err(LockRefused::Most { most });
        }
        match self.config.declared.get(name) {
            None if self.config.names == LockNames::Declared => Err(LockRefused::Undeclared),
            None => Ok(want),
            Some(lock) if !lock.allows(&self.own) => Err(LockRefused::NotAllowed),
            Some(lock) => Ok(LockWant { weight: lock.weight, prefer: lock.preference(&self.own) }),
        }
    }

    /// Goes by this from now on. A name that this member may hold no more goes back.
    pub(super) fn configure(&mut self, config: LocksConfig) {
        if let Some(member) = &mut self.member {
            member.set_rules(Arc::new(config.rules()));
        }
        self.config = config;
        for name in self.names.values_mut() {
            if let Some(lock) = self.config.declared.get(&name.name) {
                let prefer = lock.preference(&self.own);
                name.rewish(LockWant { weight: lock.weight, prefer }, lock.allows(&self.own));
            }
        }
    }
}
