//! TLS between members: the certificates that a node shows and trusts, and the session of one
//! connection.
//!
//! Every connection is TLS 1.3 with certificates on both sides. A certificate names its member twice:
//! as a DNS name, and as the URI `electd://CLUSTER/NAME`; so nobody can use the certificate of one
//! member to pass as another, or in another cluster. Without the feature `tls` this module has the same
//! types, and none of their values exist.
//!
//! ```text
//! files -> credentials (identity, verifier) -> session
//! ```

#![cfg_attr(not(feature = "tls"), allow(dead_code, reason = "no file is read then"))]

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod credentials;
mod fault;
mod files;
#[cfg(feature = "tls")]
mod identity;
#[cfg(feature = "tls")]
pub mod make;
mod secured;
mod security;
#[cfg(feature = "tls")]
mod session;
#[cfg(all(test, feature = "tls"))]
pub(crate) mod tests;
#[cfg(feature = "tls")]
mod trust;
#[cfg(feature = "tls")]
mod verifier;

#[cfg(not(feature = "tls"))]
pub use absent::{Credentials, Session, Trust, can_name};
pub use fault::{Cause, Fault};
pub use files::Stamp;
pub use files::{BadFile, Files};
#[cfg(feature = "tls")]
pub use identity::uri;
pub use secured::Secured;
pub use security::Security;
#[cfg(feature = "tls")]
pub use {credentials::Credentials, identity::can_name, session::Session, trust::Trust};

/// Whether this build has TLS.
pub const AVAILABLE: bool = cfg!(feature = "tls");
