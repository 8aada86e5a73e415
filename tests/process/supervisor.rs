//! The messages of a node to the service manager that started it. The test is the service manager.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::support::{Cluster, DEADLINE, Held, ensure, watchful, within};
use story::story;

/// The socket of the service manager.
struct Manager {
    socket: UnixDatagram,
    _folder: tempfile::TempDir,
    path: String,
}

impl Manager {
    fn new() -> Manager {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify").to_str().unwrap().to_owned();
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        Manager { socket, _folder: folder, path }
    }

    /// One whose socket no file system has.
    fn nowhere() -> Manager {
        let name = format!("electd-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        Manager { socket, _folder: tempfile::tempdir().unwrap(), path: format!("@{name}") }
    }

    /// Lets messages wait in its socket until no more fit.
    fn fall_behind(&self) {
        let other = UnixDatagram::unbound().unwrap();
        other.set_nonblocking(true).unwrap();
        while other.send_to(b"STATUS=of another service", &self.path).is_ok() {}
    }

    /// The next message, if one comes within this time.
    fn hears_within(&self, time: Duration) -> Option<String> {
        let mut buffer = [0; 4096];
        self.socket.set_read_timeout(Some(time.max(Duration::from_millis(1)))).unwrap();
        let heard = self.socket.recv(&mut buffer);
        self.socket.set_read_timeout(Some(DEADLINE)).unwrap();
        heard.ok().map(|length| String::from_utf8_lossy(&buffer[..length]).into_owned())
    }

    /// Reads its messages up to this line. Returns all lines up to there.
    #[track_caller]
    fn hear(&self, wanted: &str) -> Vec<String> {
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let length = match self.socket.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => panic!("nobody said {wanted:?}: {error}; heard {heard:?}"),
            };
            heard.extend(String::from_utf8_lossy(&buffer[..length]).lines().map(str::to_owned));
            if heard.iter().any(|line| line == wanted) {
                return heard;
            }
        }
    }
}

#[story]
fn a_node_says_that_it_is_ready_where_it_stands_that_it_lives_and_that_it_stops() {
    let (cluster, manager) = (Cluster::prepare(1, |_| {}), Manager::new());
    let node = cluster.node(1);
    node.start_in(&[("NOTIFY_SOCKET", &manager.path), ("WATCHDOG_USEC", "200000")]);
    let first = manager.hear("READY=1");
    assert!(first.iter().any(|line| line.starts_with("STATUS=")), "{first:?}");
    manager.hear("STATUS=leads in epoch 1");
    for _ in 0..2 {
        let heard = manager.hear("WATCHDOG=1");
        assert!(
            !heard.iter().any(|line| line.starts_with("STATUS=")),
            "nothing changed: {heard:?}"
        );
    }
    node.stop_term();
    manager.hear("STOPPING=1");
    assert_eq!(node.exit_code(), 0);
}

/// A watchdog that is fed by a node whose election thread hangs would never bite.
#[story]
fn a_node_whose_election_thread_hangs_gives_no_sign_of_life() {
    let (cluster, manager) = (Cluster::prepare(1, watchful), Manager::new());
    let node = cluster.node(1);
    node.start_in(&[("NOTIFY_SOCKET", &manager.path), ("WATCHDOG_USEC", "200000")]);
    manager.hear("WATCHDOG=1");
    let held = Held::hold(node, "election");
    within(Duration::from_secs(10), "it is not live", || {
        let code = node.get("/livez")?.code;
        ensure(code == 503, || code.to_string())
    });
    while manager.hears_within(Duration::ZERO).is_some() {} // what it said before
    let said = manager.hears_within(Duration::from_secs(1)); // it was five times due
    assert!(said.as_ref().is_none_or(|said| said.starts_with("STATUS=")), "{said:?}");
    drop(held);
    manager.hear("WATCHDOG=1");
}

#[story]
fn a_service_manager_may_have_an_abstract_socket() {
    let (cluster, manager) = (Cluster::prepare(1, |_| {}), Manager::nowhere());
    let node = cluster.node(1);
    node.start_in(&[("NOTIFY_SOCKET", &manager.path)]);
    manager.hear("READY=1");
    manager.hear("STATUS=leads in epoch 1");
    node.stop_term();
    manager.hear("STOPPING=1");
    assert_eq!(node.exit_code(), 0);
}

#[story]
fn a_service_manager_that_is_behind_delays_no_handover() {
    let (cluster, manager) = (Cluster::prepare(2, |_| {}), Manager::new());
    manager.fall_behind();
    cluster.node(1).start();
    cluster.node(2).start_in(&[("NOTIFY_SOCKET", &manager.path)]);
    let epoch = cluster.agree_on(2);
    cluster.node(2).stop_term();
    assert!(cluster.agree_among(&[1], 1) > epoch);
    manager.hear("STOPPING=1");
    assert_eq!(cluster.node(2).exit_code(), 0);
}

#[story]
fn a_node_without_a_service_manager_has_no_thread_for_it() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    assert_eq!(cluster.node(1).threads("supervisor"), Vec::<String>::new());
}

#[story]
fn quit_hands_over_and_ends_like_term() {
    let cluster = Cluster::start(2);
    let epoch = cluster.agree_on(2);
    cluster.node(2).quit();
    assert_eq!(cluster.node(2).exit_code(), 0);
    assert!(cluster.agree_on(1) > epoch);
}
