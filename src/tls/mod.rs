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
#[cfg(all(feature = "tls", feature = "http"))]
mod trust;
#[cfg(feature = "tls")]
mod verifier;

#[cfg(all(not(feature = "tls"), feature = "http"))]
pub(crate) use absent::Trust;
#[cfg(not(feature = "tls"))]
pub(crate) use absent::{Credentials, Session, can_name};
#[cfg(feature = "tls")]
pub(crate) use credentials::Credentials;
pub(crate) use fault::{Cause, Fault};
pub(crate) use files::Stamp;
pub use files::{BadFile, Files};
#[cfg(feature = "tls")]
pub(crate) use identity::can_name;
#[cfg(feature = "tls")]
pub use identity::uri;
pub(crate) use secured::Secured;
pub(crate) use security::Security;
#[cfg(feature = "tls")]
pub(crate) use session::Session;
#[cfg(all(feature = "tls", feature = "http"))]
pub(crate) use trust::Trust;

/// Whether this build has TLS.
pub(crate) const AVAILABLE: bool = cfg!(feature = "tls");
