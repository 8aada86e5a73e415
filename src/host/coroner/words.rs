//! What a node tells its coroner, by the pair between the two ([`crate::local::pair`]).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The hidden argument that makes `electd` a coroner.
pub const CORONER: &str = "coroner";

/// A word of the node.
#[derive(Debug, Serialize, Deserialize)]
pub enum CoronerOrder {
    /// The first one, with the listening sockets. The answer is whether it has begun, or why not.
    Attend(Charge),
    /// The node listens on these sockets from now on.
    Listen,
    /// A guard of a job gets the other end of the line that comes with this ([`super::guards`]).
    Guard,
    /// The question of this number: whether no guard runs, and all have left nothing. The answer is the number, or none.
    Attest(u64),
    /// No death is to be certified: the coroner ends.
    Dismiss,
}

/// What a coroner has to know.
#[derive(Debug, Serialize, Deserialize)]
pub struct Charge {
    /// The frame of the certificate.
    pub dead: Vec<u8>,
    pub failure: Duration,
    pub lease: Duration,
}
