//! electd elects one leader among N processes and keeps it elected.

pub mod config;
pub mod core;
pub mod node;
pub mod store;
