//! electd elects one leader among N processes and keeps it elected.

pub mod admin;
pub mod cli;
pub mod config;
pub mod core;
pub mod node;
