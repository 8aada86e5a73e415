//! What operators want of a lock.

/// What an operator has a cluster do with a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockOrder {
    /// Its holder gives it back: another candidate gets it, and without one the same member again, a while later.
    Release,
    /// Its holder gives it back, and this candidate gets it.
    Move {
        /// The name of the member.
        to: String,
    },
    /// The cluster knows nothing of the name any more. Refused while a member holds or wants it.
    Forget,
}
