//! TLS between members: the certificates that a node shows and trusts, and the session of one
//! connection.
//!
//! Every connection is TLS 1.3 with certificates on both sides. A certificate names its member twice:
//! as a DNS name, and as the URI `electd://CLUSTER/NAME`; so nobody can use the certificate of one
//! member to pass as another, or in another cluster. Without the feature `tls` the file `absent` stands for the folder
//! `present`: it has the same types, and none of their values exist.
//!
//! ```text
//! files -> credentials (identity, verifier) -> session
//! ```

mod fault;
mod files;
#[cfg_attr(not(feature = "tls"), path = "absent.rs")]
mod present;
mod secured;
mod security;

pub use fault::{TlsCause, TlsFault};
pub use files::{BadFile, Files, TlsFilesStamp};
pub use present::*;
pub use secured::Secured;
pub use security::Security;
