//! The versions of the protocol that members speak, so that a cluster can be upgraded member by member.
//!
//! A hello carries the lowest and the highest version that its sender speaks; two members use the highest that both
//! speak. A member sends a peer nothing that the peer's version does not know, and counts and drops messages of later
//! versions. Fields that were added to a message later are optional, and unknown ones are ignored.

use serde::{Deserialize, Serialize};

/// The version of electd; with the commit too, where the build told it (`make build` does).
pub const VERSION: &str = match option_env!("ELECTD_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The first version that knows that a member's entry in the list may change.
pub(super) const SET: u32 = 8;

/// The first version whose heartbeats say that a leadership is about to end.
pub(super) const ENDING: u32 = 8;

/// The first version that knows locks.
pub const LOCKS: u32 = 9;

/// The versions that a member speaks.
///
/// ```
/// use electd_election::core::protocol::Protocols;
///
/// let old = Protocols { lowest: 5, highest: 5 };
/// assert_eq!(Protocols::OURS.shared(old), Ok(5));
/// assert_eq!(old.shared(Protocols { lowest: 6, highest: 7 }), Err((5, 6)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Protocols {
    pub lowest: u32,
    pub highest: u32,
}

impl Protocols {
    /// The versions of this build.
    ///
    /// 6 added TIMING, and the forwarding of pause, resume, switchover and its end; 7 added DEAD; 8 added the
    /// forwarding of drains and of changes of names and addresses, and heartbeats that say that a leadership is about to end;
    /// 9 added LOCK.
    pub const OURS: Protocols = Protocols { lowest: 5, highest: LOCKS };

    /// The version that two members use with each other. (C4)
    ///
    /// # Errors
    /// If they share none: the closest version of this member, and that of the other.
    pub fn shared(self, other: Protocols) -> Result<u32, (u32, u32)> {
        if other.lowest > self.highest || other.lowest > other.highest {
            Err((self.highest, other.lowest))
        } else if other.highest < self.lowest {
            Err((self.lowest, other.highest))
        } else {
            Ok(self.highest.min(other.highest))
        }
    }
}
