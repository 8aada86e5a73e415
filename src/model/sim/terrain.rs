//! Dials that always fail: wrong addresses and closed ports. Such a failure says nothing about the
//! dialed process, and established connections stay up.

use std::collections::BTreeMap;

/// How a dial fails that does not reach its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// Something refuses it: another host at this address, or a firewall.
    Refused,
    /// Nothing answers.
    TimesOut,
}

/// The dials that fail, by dialer and dialed member.
#[derive(Debug, Default)]
pub(super) struct Terrain(BTreeMap<(usize, usize), Blocked>);

impl Terrain {
    /// From now on this member's dials to that one fail.
    pub fn block(&mut self, from: usize, to: usize, how: Blocked) {
        self.0.insert((from, to), how);
    }

    /// How this member's dials to that one fail, if they do.
    pub fn blocked(&self, from: usize, to: usize) -> Option<Blocked> {
        self.0.get(&(from, to)).copied()
    }
}
