//! Strangers who end every TLS handshake with a certificate that no member takes.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use electd::tls::make::Authority;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};

use crate::support::Cluster;

/// How many of them dial at a time.
const AT_A_TIME: u32 = 16;

/// They keep dialing until this is dropped.
pub struct Strangers {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Strangers {
    /// At the peer port of node-3, as often as this in a second, if they can.
    pub fn dial(cluster: &Cluster, in_a_second: usize) -> Strangers {
        let config = Arc::new(config(cluster));
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let address = cluster.node(3).address;
        let pace = Duration::from_secs(1) * AT_A_TIME
            / u32::try_from(in_a_second.max(1)).unwrap_or(u32::MAX);
        let threads = (0..AT_A_TIME).map(|_| {
            let (config, stop, done) = (config.clone(), stop.clone(), done.clone());
            thread::spawn(move || {
                let mut due = Instant::now();
                while !stop.load(Ordering::Relaxed) {
                    if knock(&config, address).is_some() {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    due = (due + pace).max(Instant::now() - Duration::from_secs(1));
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                }
            })
        });
        let threads = threads.collect();
        Strangers { stop, done, threads }
    }

    /// How many handshakes they have ended.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // its panic is not what is measured
        }
    }
}

/// They trust the cluster, and show what another authority signed.
fn config(cluster: &Cluster) -> ClientConfig {
    let trusted = cluster.certificates().authority.certificate();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
    let pair = Authority::new("test").unwrap().sign("node-1").unwrap();
    ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(
            vec![CertificateDer::from_pem_slice(pair.cert.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap(),
        )
        .unwrap()
}

/// One handshake, up to the refusal.
fn knock(config: &Arc<ClientConfig>, address: SocketAddr) -> Option<()> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    let mut connection = ClientConnection::new(config.clone(), "node-3".try_into().ok()?).ok()?;
    let refused = std::io::Read::read(&mut Stream::new(&mut connection, &mut stream), &mut [0; 1]);
    refused.is_err().then_some(())
}
