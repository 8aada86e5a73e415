//! Which versions of the protocol members speak, so that a cluster is upgraded member by member.
//!
//! A hello carries the lowest and the highest version that its sender speaks; two members use the highest that both
//! speak. What a peer does not know is not sent to it, and what a later version says to this one is counted and
//! dropped. Fields that a message gained since are optional, and unknown ones are ignored.

/// The versions that a member speaks.
///
/// ```
/// use electd::core::protocol::Protocols;
///
/// let old = Protocols { lowest: 5, highest: 5 };
/// assert_eq!(Protocols::OURS.shared(old), Ok(5));
/// assert_eq!(old.shared(Protocols { lowest: 6, highest: 7 }), Err((5, 6)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocols {
    /// The lowest version.
    pub lowest: u32,
    /// The highest version.
    pub highest: u32,
}

impl Protocols {
    /// Those of this build.
    ///
    /// 6 added TIMING, and passing on pause, resume, switchover and its end.
    pub const OURS: Protocols = Protocols { lowest: 5, highest: 6 };

    /// The version that two members use with each other.
    ///
    /// # Errors
    /// When they share none: the version of this member that comes closest, and that of the other.
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
