//! What members of electd did.
//!
//! [`trace`] is the events of elections, as text, JSON and drawings, and merges what several members recorded.
//! [`recorder`] notes what a member took and did in elections, [`delays`] how long that takes. [`flight`] is all inputs and
//! outputs of a core, which can be replayed later, and [`behaviour`] judges whether these are what the specification allows.
//! There is no file and no thread in this crate: the daemon writes the recordings down.

use electd_election::{core, limits};

pub mod behaviour;
pub mod delays;
pub mod flight;
pub mod recorder;
pub mod trace;
