//! From a file to a validated configuration.
mod load;
pub mod types;
pub use load::{ConfigErrors, NodeNameError, load, node_name};
pub use types::{Config, MemberConfig};
