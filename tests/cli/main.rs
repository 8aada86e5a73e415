//! The interfaces for users and their tools: the configuration, the commands and HTTP; and the processes beside a node, each
//! alone. See tests/README.md.

mod admin;
mod config;
mod coroner;
mod engines;
mod events;
#[path = "../process/support/heed.rs"]
mod heed;
mod jobs;
mod lab;
mod package;
mod pty;
mod run;
mod simulate;
mod terminal;
mod what_if;
