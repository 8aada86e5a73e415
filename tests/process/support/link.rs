//! The connection of a test that speaks as a member: plain, or TLS with the certificate of that member
//! if the cluster has TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

use super::Cluster;

/// How long the other side may take for anything that it says.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A node gives a handshake one second, which a busy machine may not keep.
const ATTEMPTS: usize = 10;

/// One side of a connection. A clone may write while another one reads; only one may read.
#[derive(Clone, Debug)]
pub struct Link {
    socket: Arc<TcpStream>,
    session: Option<Arc<Mutex<Connection>>>,
}

/// The certificate shown to the members: none, or that of one of them.
#[derive(Clone)]
pub struct Guise(Option<(Arc<ClientConfig>, Arc<ServerConfig>)>);

impl Guise {
    /// All that this member would show.
    pub fn of(cluster: &Cluster, number: usize) -> Guise {
        let Some(certificates) = cluster.certificates.as_ref() else { return Guise(None) };
        let file = |what| certificates.file(&cluster.node(number).name, what);
        let chain = || {
            let found = CertificateDer::pem_file_iter(file("cert")).unwrap();
            found.collect::<Result<Vec<_>, _>>().unwrap()
        };
        let key = || PrivateKeyDer::from_pem_file(file("key")).unwrap();
        let mut trusted = RootCertStore::empty();
        for authority in CertificateDer::pem_file_iter(file("ca")).unwrap() {
            trusted.add(authority.unwrap()).unwrap();
        }
        let trusted = Arc::new(trusted);
        let client = ClientConfig::builder().with_root_certificates(Arc::clone(&trusted));
        let client = client.with_client_auth_cert(chain(), key()).unwrap();
        let dialers = WebPkiClientVerifier::builder(trusted).build().unwrap();
        let server = ServerConfig::builder().with_client_cert_verifier(dialers);
        let server = server.with_single_cert(chain(), key()).unwrap();
        Guise(Some((Arc::new(client), Arc::new(server))))
    }

    /// Dials the member of this name.
    pub fn dial(&self, name: &str, address: SocketAddr) -> io::Result<Link> {
        let mut attempt = 1;
        loop {
            let socket = TcpStream::connect_timeout(&address, TIMEOUT)?;
            match self.greet(name, socket) {
                Err(_) if attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    fn greet(&self, name: &str, socket: TcpStream) -> io::Result<Link> {
        let session = self.0.as_ref().map(|(client, _)| {
            let name = ServerName::try_from(name.to_owned()).unwrap();
            ClientConnection::new(Arc::clone(client), name).unwrap().into()
        });
        Link::begin(socket, session)
    }

    /// Takes the dial of a member.
    pub fn take(&self, socket: TcpStream) -> io::Result<Link> {
        let session = self.0.as_ref();
        let session =
            session.map(|(_, server)| ServerConnection::new(Arc::clone(server)).unwrap().into());
        Link::begin(socket, session)
    }
}

impl Link {
    fn begin(mut socket: TcpStream, session: Option<Connection>) -> io::Result<Link> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let shaken = session.map(|mut session| {
            session.set_buffer_limit(None);
            while session.is_handshaking() || session.wants_write() {
                session.complete_io(&mut socket)?;
            }
            Ok::<_, io::Error>(Arc::new(Mutex::new(session)))
        });
        Ok(Link { session: shaken.transpose()?, socket: Arc::new(socket) })
    }

    /// How long a read may take; none for no limit.
    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)
    }

    /// Says that nothing more comes, and ends this direction or both.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if let Some(session) = &self.session {
            let mut session = session.lock();
            session.send_close_notify();
            while session.wants_write() {
                session.write_tls(&mut &*self.socket)?;
            }
        }
        self.socket.shutdown(how)
    }
}

impl Read for Link {
    /// The end of the connection is 0, however it ends: no member says farewell.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(session) = &self.session else { return (&*self.socket).read(buffer) };
        loop {
            match session.lock().reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            // Nobody waits for the session meanwhile: who writes needs it too.
            let mut sealed = [0; 16 * 1024];
            let count = (&*self.socket).read(&mut sealed)?;
            let mut session = session.lock();
            let mut rest = &sealed[..count];
            loop {
                session.read_tls(&mut rest)?;
                session.process_new_packets().map_err(io::Error::other)?;
                if rest.is_empty() {
                    break;
                }
            }
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = &self.session else { return (&*self.socket).write(bytes) };
        let mut session = session.lock();
        session.writer().write_all(bytes)?;
        while session.wants_write() {
            session.write_tls(&mut &*self.socket)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.socket).flush()
    }
}
