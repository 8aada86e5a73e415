//! The TLS session of one connection: its handshake, and then the bytes of one direction.

use std::io::{self, ErrorKind, Read, Write};

use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription as Alert, CertificateError, ClientConnection, Connection, Error,
    PeerIncompatible, ServerConnection,
};

use super::credentials::Credentials;
use super::identity::{describe, judge_member, timestamp};
use crate::tls::fault::{TlsCause, TlsFault};

/// One side of a connection after its handshake.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    cluster: String,
}

impl Session {
    /// Takes the handshake of a dialer. [`prove`](Session::prove) then tells which member it is.
    ///
    /// # Errors Says what is wrong; none if the connection ended or was too slow.
    pub fn accept(
        credentials: &Credentials,
        io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        let connection = ServerConnection::new(credentials.server.clone());
        Session::begin(connection.map(Connection::from), &credentials.cluster, io)
    }

    /// Begins a connection to the member of this name, and to no other.
    ///
    /// # Errors Says what is wrong; none if the connection ended or was too slow.
    pub fn dial(
        credentials: &Credentials,
        name: &str,
        io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        let server = ServerName::try_from(name.to_owned()).map_err(|_| {
            TlsFault::of_peer(
                TlsCause::OtherMember,
                format!("no certificate can name it: \"{name}\" is no DNS name"),
            )
        })?;
        let connection = ClientConnection::new(credentials.client.clone(), server);
        Session::begin(connection.map(Connection::from), &credentials.cluster, io)
    }

    /// Begins a connection to a node whose certificate is trusted.
    ///
    /// # Errors
    /// With what is wrong, or with none where the connection ended or was too slow.
    pub fn ask(
        trust: &super::Trust,
        io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        let connection = ClientConnection::new(trust.client.clone(), trust.member.clone());
        Session::begin(connection.map(Connection::from), &trust.cluster, io)
    }

    /// Takes the handshake of a client of HTTP, which may show the certificate of a member.
    ///
    /// # Errors
    /// With what is wrong, or with none where the connection ended or was too slow.
    pub fn serve(
        credentials: &Credentials,
        io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        let connection = ServerConnection::new(credentials.admin.clone());
        Session::begin(connection.map(Connection::from), &credentials.cluster, io)
    }

    /// Shakes hands as this side.
    ///
    /// # Errors
    /// With what is wrong, or with none where the connection ended or was too slow.
    pub(super) fn begin(
        connection: Result<Connection, Error>,
        cluster: &str,
        io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        let mut connection = connection.map_err(|error| fault(&error))?;
        connection.set_buffer_limit(None); // a frame has a bound of its own
        connection.complete_io(io).map_err(|error| Session::fault(&error))?;
        if connection.is_handshaking() {
            return Err(None); // it said a part of a message, and the rest did not come in time
        }
        Ok(Session { connection, cluster: cluster.to_owned() })
    }

    /// The members that the other side's certificate names, in words.
    #[must_use]
    pub fn shown(&self) -> String {
        let shown = self.connection.peer_certificates().and_then(|chain| chain.first());
        shown.map_or_else(String::new, describe)
    }

    /// Whether the other side is the member of this name.
    ///
    /// # Errors
    /// With what its certificate says instead.
    pub fn prove(&self, name: &str) -> Result<(), TlsFault> {
        let shown = self.connection.peer_certificates().and_then(|chain| chain.first());
        let shown =
            shown.ok_or_else(|| TlsFault::of_peer(TlsCause::NoCertificate, NO_CERTIFICATE))?;
        judge_member(shown, &self.cluster, name)
    }

    /// Reads what the other side sent. None is the end of the connection; it says no farewell.
    ///
    /// # Errors
    /// When the connection fails, or brings what the other side did not send.
    pub fn read(&mut self, io: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            self.connection.read_tls(io)?;
            let processed = self.connection.process_new_packets();
            processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }

    /// The bytes that carry these. They must be sent whole, and in the order of the calls.
    ///
    /// # Errors
    /// When the connection cannot be used any more.
    pub fn seal(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut sealed = Vec::with_capacity(bytes.len() + 64);
        self.connection.writer().write_all(bytes)?;
        while self.connection.wants_write() {
            self.connection.write_tls(&mut sealed)?;
        }
        Ok(sealed)
    }

    /// The bytes that say that nothing more follows.
    ///
    /// # Errors
    /// When the connection cannot be used any more.
    pub fn farewell(&mut self) -> io::Result<Vec<u8>> {
        self.connection.send_close_notify();
        self.seal(&[])
    }

    /// New keys, as the library takes them after millions of frames.
    #[cfg(test)]
    pub fn renew_keys(&mut self) {
        self.connection.refresh_traffic_keys().unwrap();
    }

    /// Whether what an earlier connection proved counted in the handshake.
    #[cfg(test)]
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    /// Whether it would say something by itself.
    #[cfg(test)]
    #[must_use]
    pub fn wants_to_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// What is wrong with the other side, or what it says is wrong with ours; none if a connection just
    /// failed.
    #[must_use]
    pub fn fault(error: &io::Error) -> Option<TlsFault> {
        error.get_ref()?.downcast_ref::<Error>().and_then(fault)
    }
}

const NO_CERTIFICATE: &str = "it shows no certificate: every member needs one of its own";

/// Why a handshake failed, in words; none if the reason says nothing about either side.
fn fault(error: &Error) -> Option<TlsFault> {
    let of_peer = |cause, why: &str| Some(TlsFault::of_peer(cause, why));
    match error {
        Error::NoCertificatesPresented => of_peer(TlsCause::NoCertificate, NO_CERTIFICATE),
        Error::InvalidCertificate(error) => Some(refusal(error)),
        Error::AlertReceived(alert) => alert_fault(*alert),
        Error::PeerIncompatible(
            PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => of_peer(TlsCause::Version, "it does not speak TLS 1.3"),
        Error::InvalidMessage(_) => of_peer(
            TlsCause::Plain,
            "it does not answer in TLS: give all members `tls`, and look at who listens there",
        ),
        error => of_peer(TlsCause::Broken, &format!("the TLS handshake failed: {error}")),
    }
}

fn refusal(error: &CertificateError) -> TlsFault {
    use CertificateError as E;
    let (cause, why) = match error {
        E::ExpiredContext { not_after, .. } => {
            (TlsCause::Expired, format!("its certificate ended on {}: renew it", timestamp(*not_after)))
        }
        E::NotValidYetContext { not_before, .. } => (
            TlsCause::NotYetValid,
            format!("its certificate begins on {}: correct the clocks, or the certificate", timestamp(*not_before)),
        ),
        E::UnknownIssuer | E::BadSignature => (
            TlsCause::UnknownCa,
            "its certificate is signed by no authority that this node trusts: see tls.ca".to_owned(),
        ),
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => (
            TlsCause::OtherUse,
            "its certificate is not for this side of a connection: it needs the extended key usages clientAuth and \
             serverAuth"
                .to_owned(),
        ),
        E::Other(other) => match other.0.downcast_ref::<TlsFault>() {
            Some(fault) => return fault.clone(),
            None => (TlsCause::Broken, format!("its certificate is refused: {other:?}")),
        },
        error => (TlsCause::Broken, format!("its certificate is refused: {error:?}")),
    };
    TlsFault::of_peer(cause, why)
}

/// What the other side said about our side.
fn alert_fault(alert: Alert) -> Option<TlsFault> {
    let (cause, why) = match alert {
        Alert::CertificateRequired => {
            (TlsCause::NoCertificate, "it wants a certificate, and this node shows none")
        }
        Alert::UnknownCA | Alert::DecryptError => (
            TlsCause::UnknownCa,
            "it trusts no authority that signed this node's certificate: see its tls.ca",
        ),
        Alert::CertificateExpired => {
            (TlsCause::Expired, "this node's certificate has ended, or has not begun by its clock")
        }
        Alert::UnsupportedCertificate => {
            (TlsCause::OtherUse, "this node's certificate is not for this side of a connection")
        }
        Alert::CertificateUnknown | Alert::BadCertificate | Alert::AccessDenied => (
            TlsCause::OtherMember,
            "this node's certificate is of another member or cluster; its own log says which",
        ),
        Alert::ProtocolVersion => (TlsCause::Version, "it does not speak TLS 1.3"),
        alert => {
            return Some(TlsFault::of_this_node(
                TlsCause::Broken,
                format!("it ended the TLS handshake: {alert:?}"),
            ));
        }
    };
    Some(TlsFault::of_this_node(cause, why))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::pki_types::UnixTime;
    use rustls::{ExtendedKeyPurpose, InvalidMessage};

    use super::*;

    /// What a peer sees wrong with this node it says in a code of TLS alone.
    #[test]
    fn what_a_peer_says_against_this_node_is_put_into_words() {
        let untrusted =
            "it trusts no authority that signed this node's certificate: see its tls.ca";
        let other =
            "this node's certificate is of another member or cluster; its own log says which";
        for (alert, cause, words) in [
            (
                Alert::CertificateRequired,
                TlsCause::NoCertificate,
                "it wants a certificate, and this node shows none",
            ),
            (Alert::UnknownCA, TlsCause::UnknownCa, untrusted),
            (Alert::DecryptError, TlsCause::UnknownCa, untrusted),
            (
                Alert::CertificateExpired,
                TlsCause::Expired,
                "this node's certificate has ended, or has not begun by its clock",
            ),
            (
                Alert::UnsupportedCertificate,
                TlsCause::OtherUse,
                "this node's certificate is not for this side of a connection",
            ),
            (Alert::CertificateUnknown, TlsCause::OtherMember, other),
            (Alert::BadCertificate, TlsCause::OtherMember, other),
            (Alert::AccessDenied, TlsCause::OtherMember, other),
            (Alert::ProtocolVersion, TlsCause::Version, "it does not speak TLS 1.3"),
            (Alert::InternalError, TlsCause::Broken, "it ended the TLS handshake: InternalError"),
        ] {
            let error = io::Error::new(ErrorKind::InvalidData, Error::AlertReceived(alert));
            let told = Session::fault(&error);
            assert_eq!(told, Some(TlsFault::of_this_node(cause, words)), "{alert:?}");
        }
        assert_eq!(Session::fault(&ErrorKind::UnexpectedEof.into()), None, "nobody is at fault");
    }

    #[test]
    fn what_this_node_sees_wrong_with_a_peer_is_put_into_words() {
        use CertificateError as E;
        use PeerIncompatible as Peer;
        let moment = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let expired = E::ExpiredContext { time: moment(2), not_after: moment(1) };
        let early = E::NotValidYetContext { time: moment(1), not_before: moment(2) };
        let purpose = E::InvalidPurposeContext {
            required: ExtendedKeyPurpose::ClientAuth,
            presented: Vec::new(),
        };
        let [untrusted, unusable, version] = [
            "its certificate is signed by no authority that this node trusts: see tls.ca",
            "its certificate is not for this side of a connection: it needs the extended key usages clientAuth and \
             serverAuth",
            "it does not speak TLS 1.3",
        ];
        let plain =
            "it does not answer in TLS: give all members `tls`, and look at who listens there";
        for (error, cause, words) in [
            (Error::NoCertificatesPresented, TlsCause::NoCertificate, NO_CERTIFICATE),
            (
                expired.into(),
                TlsCause::Expired,
                "its certificate ended on 1970-01-01T00:00:01Z: renew it",
            ),
            (
                early.into(),
                TlsCause::NotYetValid,
                "its certificate begins on 1970-01-01T00:00:02Z: correct the clocks, or the certificate",
            ),
            (E::UnknownIssuer.into(), TlsCause::UnknownCa, untrusted),
            (E::BadSignature.into(), TlsCause::UnknownCa, untrusted),
            (E::InvalidPurpose.into(), TlsCause::OtherUse, unusable),
            (purpose.into(), TlsCause::OtherUse, unusable),
            (E::Revoked.into(), TlsCause::Broken, "its certificate is refused: Revoked"),
            (Peer::SupportedVersionsExtensionRequired.into(), TlsCause::Version, version),
            (Peer::Tls12NotOfferedOrEnabled.into(), TlsCause::Version, version),
            (Peer::ServerDoesNotSupportTls12Or13.into(), TlsCause::Version, version),
            (Peer::ServerTlsVersionIsDisabledByOurConfig.into(), TlsCause::Version, version),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), TlsCause::Plain, plain),
            (
                Error::General("so".to_owned()),
                TlsCause::Broken,
                "the TLS handshake failed: unexpected error: so",
            ),
        ] {
            let told = fault(&error);
            assert_eq!(told, Some(TlsFault::of_peer(cause, words)), "{error:?}");
        }
    }
}
