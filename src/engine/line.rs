//! A connection to a place of an engine, with TLS or without.

use std::io;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::EngineError;
use super::url::{EnginePlace, EngineUrl, Protection};
use crate::net::{Deadline, dial};
use crate::tls::{Secured, ServerTrust, Session, TlsCause};

/// Where systems keep the authorities that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whom a connection is protected with; none if it is not.
pub(crate) fn trust(url: &EngineUrl) -> Result<Option<ServerTrust>, EngineError> {
    let system = || SYSTEM.iter().map(PathBuf::from).find(|path| path.exists());
    let roots = match url.protection {
        Protection::None => return Ok(None),
        Protection::Encrypted => url.roots.clone(),
        Protection::Verified => Some(url.roots.clone().or_else(system).ok_or_else(|| {
            EngineError::Usage("sslmode=verify-full needs sslrootcert=FILE on this host".to_owned())
        })?),
    };
    ServerTrust::of_server(roots.as_deref()).map(Some).map_err(|bad| {
        EngineError::Usage(format!("sslrootcert {}: {}", bad.file.display(), bad.what))
    })
}

/// The place of this number; beyond the last one they begin anew.
pub(crate) fn place(url: &EngineUrl, at: usize) -> &EnginePlace {
    &url.places[at % url.places.len()]
}

/// When the first of so many tries has to be over that share this time.
pub(crate) fn share(until: Instant, tries: usize) -> Instant {
    let now = Instant::now();
    now + until.saturating_duration_since(now) / u32::try_from(tries).unwrap_or(1)
}

/// A connection.
pub(crate) struct EngineLine {
    socket: TcpStream,
    session: Option<Session>,
}

impl EngineLine {
    pub fn open(place: &EnginePlace, until: Instant) -> io::Result<EngineLine> {
        let left = until.saturating_duration_since(Instant::now()) / 2;
        let limit = left.max(Duration::from_millis(1));
        let socket = dial(&place.to_string(), limit, limit)?;
        socket.set_nodelay(true)?;
        Ok(EngineLine { socket, session: None })
    }

    /// Has TLS from now on.
    pub fn secure(
        &mut self,
        trust: &ServerTrust,
        host: &str,
        until: Instant,
    ) -> Result<(), EngineError> {
        let session = Session::visit(trust, host, &mut Deadline::until(&self.socket, until, ()));
        self.session = Some(session.map_err(|fault| match fault {
            None => {
                EngineError::Unreachable("it ended the TLS handshake, or was too slow".to_owned())
            }
            Some(fault) if fault.cause == TlsCause::UnknownCa => EngineError::Refused(
                "its certificate is signed by no authority of sslrootcert".to_owned(),
            ),
            Some(fault) => EngineError::Refused(format!("no TLS with it: {}", fault.why)),
        })?);
        Ok(())
    }

    /// To be read and written until then.
    pub fn by(&mut self, until: Instant) -> Secured<Deadline<'_>, &mut Session> {
        Secured::new(Deadline::until(&self.socket, until, ()), self.session.as_mut())
    }
}
