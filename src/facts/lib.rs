//! What nodes tell of themselves, and what that means: facts as types, and one verdict on a cluster.
//!
//! [`status`] is the answer of a node. [`judge`] takes the answers of all that were asked, and is the only place that
//! says whether a cluster is well; `electd status`, `health`, `leader` and `why`, the page and the alerts show what it says.
//! [`problem`] has the kinds of problems, with the remedy of each, and [`why`] the reasons why each member leads or does
//! not. Nothing here asks, waits or prints.

pub mod asked;
pub mod changed;
pub mod clocks;
pub mod entry;
pub mod forecast;
pub mod hands;
pub mod held;
pub mod hindrance;
pub mod hint;
pub mod hold;
pub mod judge;
pub mod known;
pub mod leaderless;
pub mod led;
pub mod locks;
pub mod majority;
pub mod orders;
pub mod problem;
pub mod refused;
pub mod runs;
#[doc(hidden)]
pub mod samples;
pub mod status;
pub mod takeover;
pub mod tells;
pub mod tuning;
pub mod unable;
pub mod versions;
pub mod watched_lock;
pub mod why;
pub mod why_lock;
pub mod words;
