//! The HTTP interface of a node, over real sockets on free loopback ports, with a fake node.

mod answers;
mod cli;
mod cluster;
mod commands;
mod crowd;
mod disguise;
mod drawn;
mod elections;
mod events;
mod fake;
mod limits;
mod locks;
mod members;
mod metrics;
mod orders;
pub mod pace;
mod page;
mod peer;
mod peers;
mod places;
mod protocol;
mod redirects;
mod usage;
mod verdicts;
mod views;
mod watch;
mod whole;
