//! What users and their tools see: the configuration, the commands and the HTTP interface. See
//! tests/README.md.

mod admin;
mod config;
mod simulate;
