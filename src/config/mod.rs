//! From a file to a validated configuration.
pub mod types;
pub use types::{Config, MemberConfig};
