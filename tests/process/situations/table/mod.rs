//! The table. What `health` and the page say, `agree.rs` compares too: their sentences are those of `status`.

mod degraded;
mod unfit;
mod unled;
mod well;

pub use degraded::*;
pub use unfit::*;
pub use unled::*;
pub use well::*;

/// What the views say in one situation. In a line `…` is any text, TIME a length of time, WHEN a moment, `<2>` the epoch that
/// node-2 knows, and `<former>` that of the leader before.
pub struct Row {
    pub situation: &'static str,
    pub status: Told,
    pub health: Told,
    pub leader: Told,
    pub why: Told,
    /// The colour, the banner, and what stands below: all boxes, and orders that decide.
    pub page: (&'static str, &'static str, &'static [&'static str]),
    /// What keeps a member from leading: `NODE: what, COLOUR`, all of them.
    pub badges: &'static [&'static str],
    pub history: Told,
    /// Lines, each with the number of the node that logs it.
    pub log: &'static [(usize, &'static str)],
    /// Figures, each with the number of the node that gives it, and all alerts that fire if this lasts.
    pub metrics: (&'static [(usize, &'static str)], &'static [&'static str]),
}

/// The exit code, and the lines that decide.
type Told = (i32, &'static [&'static str]);
