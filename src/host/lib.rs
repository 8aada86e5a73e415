//! What a node does with its host: all that waits for the system, a disk, a program or a peer.
//!
//! [`net`] is the connections to peers and [`tls`] what protects one; [`store`] is durable state; [`rank`] samples the
//! attribute that members are ranked by, and runs the health check; [`coroner`] is the process that certifies the death
//! of its node; [`local`] is how the processes of one host speak with each other; [`cgroup`] is the kernel's own list of a
//! job; [`realtime`] is how the kernel runs the threads of a heartbeat. [`calls`] names the calls of the system that
//! failed. Nothing here decides: an input of the core leaves these rooms, and an output of it comes in.
//!
//! A program that embeds a member uses the crate `electd`, which shows some of these rooms under the same names.

use electd_election::{core, limits, wire};
#[cfg(test)]
use electd_testing as testing;

pub mod calls;
pub mod cgroup;
pub mod coroner;
pub mod local;
pub mod net;
pub mod rank;
pub mod realtime;
pub mod store;
pub mod tls;
