//! The election as a pure state machine.
pub mod bounds;
pub mod membership;
pub mod message;
pub mod settings;
pub mod types;
