//! The types of this room in a build with TLS.

mod credentials;
mod identity;
pub mod make;
mod read;
mod server;
mod session;
#[cfg(test)]
pub(crate) mod tests;
mod trust;
mod verifier;

pub use credentials::Credentials;
pub use identity::{can_name, uri};
pub use server::ServerTrust;
pub use session::Session;
pub use trust::Trust;

/// Whether this build has TLS.
pub const AVAILABLE: bool = true;
