//! The leadership, its beginning and its end, whatever the algorithm.
//!
//! The algorithm nominates this member; the nomination waits until the epoch is durable and, with a
//! majority, the voters are asked (`nomination.rs`) and their answers counted (`tally.rs`). A voter
//! (`voter.rs`) votes for one candidate of an epoch only, and promises to vote for no other for a while
//! (`voting.rs`). A leader leads for as long as a majority is bound by what it promised, which its
//! heartbeats renew (`heartbeat.rs` of the core). It announces itself (`announcement.rs`), and hands over
//! to a better member (`handover.rs`), after its job has ended (`ending.rs`). `candidacy.rs`,
//! `question.rs`, `lease.rs` and `voter.rs` hold the state of all that.

mod announcement;
pub(super) mod candidacy;
mod ending;
pub(super) mod endings;
mod handover;
pub(super) mod lease;
mod nomination;
pub(super) mod question;
mod tally;
pub(super) mod voter;
mod voting;
