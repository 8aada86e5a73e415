//! Why a connection was refused for what it showed, or did not show.

use std::fmt;

use strum::{IntoStaticStr, VariantArray};

/// Which kind of reason. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, PartialEq, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(usize)]
pub enum Cause {
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

impl Cause {
    /// All of them.
    pub const ALL: &'static [Cause] = Cause::VARIANTS;

    /// Whether it is the certificate of a member, or that it has none: the other side is an electd with `tls`.
    #[must_use]
    pub fn is_of_certificate(self) -> bool {
        match self {
            Cause::NoCertificate
            | Cause::UnknownCa
            | Cause::Expired
            | Cause::NotYetValid
            | Cause::OtherMember
            | Cause::OtherCluster
            | Cause::OtherUse => true,
            Cause::Version | Cause::Plain | Cause::Tls | Cause::Broken => false,
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
pub struct Fault {
    /// Which kind of reason.
    pub cause: Cause,
    /// Whether the peer refuses this node, rather than this node the peer.
    pub by_peer: bool,
    /// What is wrong and what to do, in words.
    pub why: String,
}

impl Fault {
    /// This node refuses the peer.
    pub fn of_peer(cause: Cause, why: impl Into<String>) -> Fault {
        Fault { cause, by_peer: false, why: why.into() }
    }

    /// The peer refuses this node.
    pub fn of_this_node(cause: Cause, why: impl Into<String>) -> Fault {
        Fault { cause, by_peer: true, why: why.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_shown_by_its_reason() {
        assert_eq!(Fault::of_peer(Cause::Tls, "so it is").to_string(), "so it is");
    }

    /// Whoever watches a cluster asks for them by these names.
    #[test]
    fn the_names_of_the_causes_are_part_of_the_interface() {
        let names: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
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
