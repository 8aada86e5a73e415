//! electd elects one leader among N processes and keeps it elected.

pub mod cli;
pub mod config;
pub mod core;
mod net;
pub mod node;
pub mod sim;
pub mod store;
pub mod trace;
mod wire;
