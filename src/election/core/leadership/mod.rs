//! The leadership, its beginning and its end, whatever the algorithm.
//!
//! The algorithm nominates this member; the nomination waits until the epoch is durable and, with a
//! majority, the voters are asked (`nomination.rs`, `asking.rs`) and their answers counted (`tally.rs`). A voter
//! (`voter.rs`) votes for one candidate of an epoch only (`judging.rs`), and promises to vote for no other for a while
//! (`voting.rs`). The member becomes what the election made it (`becoming.rs`). A leader leads for as long as a majority
//! is bound by what it promised (`promise.rs`), which its heartbeats renew (`heartbeat.rs` of the core). It announces
//! itself (`announcement.rs`), and hands over to a better member (`handover.rs`), after its job has ended (`ending.rs`),
//! by a release (`release.rs`). The proof of a death frees the voters (`certified.rs`). `candidacy.rs`, `question.rs`,
//! `lease.rs`, `endings.rs` and `voter.rs` hold the state of all that. `tests/tidy/floors.rs` says which of these files
//! calls which.

pub(super) mod announcement;
pub(super) mod asking;
pub(super) mod becoming;
pub(super) mod call;
pub(super) mod candidacy;
pub(super) mod certified;
pub(super) mod ending;
pub(super) mod endings;
pub(super) mod handover;
pub(super) mod judging;
pub(super) mod lease;
pub(super) mod nomination;
pub(super) mod promise;
pub(super) mod question;
pub(super) mod release;
pub(super) mod tally;
pub(super) mod voter;
pub(super) mod voting;
