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

/// How long the places of an engine may take for the answer to one question. The one that answered last may take all of
/// the patience, however many there are: an engine that is slow is not one that is gone. The others share as much again.
pub(crate) struct Tries {
    patience: Duration,
    begun: bool,
    rest: Option<Instant>,
}

impl Tries {
    pub fn new(patience: Duration) -> Tries {
        Tries { patience, begun: false, rest: None }
    }

    /// When the next try has to be over, of so many that are left.
    pub fn until(&mut self, left: usize) -> Instant {
        let now = Instant::now();
        if !std::mem::replace(&mut self.begun, true) {
            return now + self.patience;
        }
        let rest = *self.rest.get_or_insert(now + self.patience);
        now + rest.saturating_duration_since(now) / u32::try_from(left).unwrap_or(1).max(1)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_answered_last_has_all_of_the_patience_and_the_others_share_as_much() {
        let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
        let begin = Instant::now();
        let mut tries = Tries::new(hour);
        let near = |until: Instant, wanted: Duration| {
            until >= begin + wanted && until < begin + wanted + minute
        };
        assert!(near(tries.until(3), hour));
        assert!(near(tries.until(2), hour / 2) && near(tries.until(1), hour));
    }
}
