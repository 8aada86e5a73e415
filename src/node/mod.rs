//! A running node.
pub mod handle;
pub mod status;
