//! Why a connection was refused for what it showed, or did not show.

use std::fmt;

use strum::{IntoStaticStr, VariantArray};

/// Which kind of reason. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, PartialEq, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(usize)]
pub enum TlsCause {
    /// The peer shows no certificate.
    NoCertificate,
    /// No authority that is trusted signed the certificate.
    UnknownCa,
    /// The certificate has ended.
    Expired,
    /// The certificate has not begun.
    NotYetValid,
    /// The certificate names another member, or none.
    OtherMember,
    /// The certificate names a member of another cluster.
    OtherCluster,
    /// The certificate may not be used by this side of a connection.
    OtherUse,
    /// The peer does not speak TLS 1.3.
    Version,
    /// The peer speaks no TLS, and this node does.
    Plain,
    /// The peer speaks TLS, and this node does not.
    Tls,
    /// Anything else that breaks the handshake.
    Broken,
}

impl TlsCause {
    /// All of them.
    pub const ALL: &'static [TlsCause] = TlsCause::VARIANTS;

    /// Whether it is the certificate of a member, or that it has none: the other side is an electd with `tls`.
    #[must_use]
    pub fn is_of_certificate(self) -> bool {
        match self {
            TlsCause::NoCertificate
            | TlsCause::UnknownCa
            | TlsCause::Expired
            | TlsCause::NotYetValid
            | TlsCause::OtherMember
            | TlsCause::OtherCluster
            | TlsCause::OtherUse => true,
            TlsCause::Version | TlsCause::Plain | TlsCause::Tls | TlsCause::Broken => false,
        }
    }

    /// Its name in status and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why one side of a connection refuses the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFault {
    /// Which kind of reason.
    pub cause: TlsCause,
    /// Whether the peer refuses this node, rather than this node the peer.
    pub by_peer: bool,
    /// What is wrong and what to do, in words.
    pub why: String,
}

impl TlsFault {
    /// This node refuses the peer.
    pub fn of_peer(cause: TlsCause, why: impl Into<String>) -> TlsFault {
        TlsFault { cause, by_peer: false, why: why.into() }
    }

    /// The peer refuses this node.
    pub fn of_this_node(cause: TlsCause, why: impl Into<String>) -> TlsFault {
        TlsFault { cause, by_peer: true, why: why.into() }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for TlsFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_shown_by_its_reason() {
        assert_eq!(TlsFault::of_peer(TlsCause::Tls, "so it is").to_string(), "so it is");
    }

    /// Whoever watches a cluster asks for them by these names.
    #[test]
    fn the_names_of_the_causes_are_part_of_the_interface() {
        let names: Vec<&str> = TlsCause::ALL.iter().map(|cause| cause.name()).collect();
        assert_eq!(
            names,
            [
                "no_certificate",
                "unknown_ca",
                "expired",
                "not_yet_valid",
                "other_member",
                "other_cluster",
                "other_use",
                "version",
                "plain",
                "tls",
                "broken",
            ]
        );
    }
}
