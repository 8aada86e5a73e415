//! Locks: leaderships with names, which the elected leader hands out.
//!
//! There is one table (`table.rs`), which says who holds which name. The leader is its *coordinator* (`coordinator.rs`): it
//! adopts the newest table of a majority, and proposes changes. A *voter* (`voter.rs`) stores what a coordinator proposes,
//! and promises members to take nothing from them for a while. A *holder* (`holder.rs`) acts under a name while a
//! majority's promises to it run. `placing.rs` chooses the holder of a name that has none, and
//! `periods.rs` judges whether one that is held once in each period is to have one.
//!
//! Why no two members act under one name. A promise says: "For this time I store no table that takes anything from you
//! that you do not know of." A acts by a done table D while such promises of a majority run. A table that takes the name from
//! A has a version above that of D, and is done once a majority has stored it. The two majorities share a voter. Its
//! promise does not let it store that table before the promise ends (G4); and once it has stored that table, it promises A
//! nothing before A knows of it (G5). So A has learned that it lost the name, or its support has ended, before the next
//! member may act.
//!
//! `member.rs` is one member of a cluster with all of these; `coordination.rs` has what it does while it coordinates, and
//! `word.rs` what members say to each other, in pieces if it is long (`piece.rs`, `parcels.rs`). A node runs it beside the election
//! (src/node/locks), and so does the simulator (src/model/sim/named.rs).
//!
//! All of this is free of clocks, sockets, threads and files: the caller gives times, carries messages, and writes a voter's
//! [`KeptTable`](voter::KeptTable) before it sends the answer that relies on it.

pub mod coordination;
pub mod coordinator;
pub mod holder;
pub mod member;
pub mod name;
pub mod parcels;
pub mod periods;
pub mod piece;
pub mod placing;
pub mod recurring;
pub mod rules;
pub mod table;
pub mod voter;
pub mod want;
pub mod word;

#[cfg(test)]
mod tests;
