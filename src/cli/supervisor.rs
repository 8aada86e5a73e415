//! The messages of a node to the service manager that started it (systemd, `Type=notify`): that it is ready, its
//! state in one line, a sign of life for the watchdog, and that it is stopping.
//!
//! A thread of its own sends them, since a full socket of the service manager may hold up its sender. The thread
//! gives a sign of life only while the election thread turns: a node whose election thread hangs is restarted.
//! Without a service manager there is no thread.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use sd_notify::NotifyState;

use crate::node::handle::Handle;
use crate::node::status::Status;

/// How often the line is compared with the last one that was sent.
const LOOK: Duration = Duration::from_secs(1);

/// The variable with the name of the service manager's socket.
const SOCKET: &str = "NOTIFY_SOCKET";

const STACK: usize = 256 * 1024;

/// The thread that tells the service manager. Dropping it ends the thread.
pub struct Supervised {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Supervised {
    /// Tells the service manager that this node is ready, and from then on its state. None if no service manager
    /// asked for that.
    pub fn start(node: impl Handle) -> Option<Supervised> {
        std::env::var_os(SOCKET)?;
        let (end, ended) = bounded(0);
        let work = move || report(&node, &ended);
        let builder = thread::Builder::new().name("supervisor".to_owned()).stack_size(STACK);
        match builder.spawn(work) {
            Ok(thread) => Some(Supervised { end, thread }),
            Err(error) => {
                log::warn!("cannot start the thread that tells the service manager: {error}");
                None
            }
        }
    }

    /// Tells the service manager that this node is stopping, and nothing more.
    pub fn stop(self) {
        drop(self.end);
        if self.thread.join().is_err() {
            log::error!("the supervisor thread panicked; this is a defect");
        }
    }
}

/// The main loop of the thread.
fn report(node: &impl Handle, ended: &Receiver<()>) {
    let wanted = sd_notify::watchdog_enabled();
    let mut sent = line(&node.status());
    let mut fed = Instant::now();
    tell(&[NotifyState::Ready, NotifyState::Status(&sent)]);
    while ended.recv_timeout(pause(wanted)) == Err(RecvTimeoutError::Timeout) {
        let now = line(&node.status());
        if now != sent {
            tell(&[NotifyState::Status(&now)]);
            sent = now;
        }
        if wanted.is_some_and(|wanted| is_due(wanted, fed.elapsed())) && node.is_live() {
            tell(&[NotifyState::Watchdog]);
            fed = Instant::now();
        }
    }
    tell(&[NotifyState::Stopping]);
}

/// The pause between two looks, where the service manager wants a sign of life within this time, or none.
fn pause(wanted: Option<Duration>) -> Duration {
    wanted.map_or(LOOK, |wanted| (wanted / 2).min(LOOK))
}

/// Whether a sign of life is due, this long after the last: one twice as often as wanted allows for one that is late.
fn is_due(wanted: Duration, since: Duration) -> bool {
    since + pause(Some(wanted)) > wanted / 2
}

fn tell(what: &[NotifyState]) {
    if let Err(error) = try_tell(what) {
        log::debug!("the service manager cannot be told: {error}");
    }
}

/// Sends lines to the socket of the service manager. A name that begins with @ is abstract: no file system has it.
fn try_tell(what: &[NotifyState]) -> io::Result<()> {
    let Some(name) = std::env::var_os(SOCKET) else { return Ok(()) };
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(&name)?,
    };
    let lines: String = what.iter().map(|line| format!("{line}\n")).collect();
    UnixDatagram::unbound()?.send_to_addr(lines.as_bytes(), &address).map(drop)
}

/// The state of a node, in one line.
fn line(status: &Status) -> String {
    match &status.leader {
        Some(leader) if leader.id == status.node.id => format!("leads in epoch {}", leader.epoch),
        Some(leader) => format!("follows {} in epoch {}", leader.name, leader.epoch),
        None => format!("{}, no leader known", status.state),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::cli::ask::tests::status;

    #[test]
    fn the_service_manager_is_told_who_leads() {
        assert_eq!(line(&status("a", Some(("a", 7)))), "leads in epoch 7");
        assert_eq!(line(&status("a", Some(("b", 7)))), "follows b in epoch 7");
        assert_eq!(line(&status("a", None)), "electing, no leader known");
    }

    /// The last look before half of the time is over gives it.
    #[test]
    fn a_sign_of_life_comes_twice_as_often_as_it_is_wanted() {
        let millis = Duration::from_millis;
        for (wanted, paused) in
            [(None, 1000), (Some(20_000), 1000), (Some(2000), 1000), (Some(500), 250)]
        {
            assert_eq!(pause(wanted.map(millis)), millis(paused), "{wanted:?}");
        }
        for (wanted, since, due) in
            [(20_000, 9000, false), (20_000, 9001, true), (500, 0, false), (500, 1, true)]
        {
            assert_eq!(is_due(millis(wanted), millis(since)), due, "{wanted} {since}");
        }
    }

    /// Says to the test below that it is the process of a node.
    const ALONE: &str = "ELECTD_TEST_ALONE";

    /// The node is a process of its own, as the socket stands in its environment.
    #[test]
    fn the_service_manager_hears_of_the_start_of_life_and_of_the_end() {
        let example = || crate::node::example::leader().unwrap();
        if std::env::var_os(ALONE).is_some() {
            let node = example();
            let supervised = Supervised::start(node.handle()).expect("it is told to");
            let _ = std::io::stdin().read(&mut [0]); // until the parent closes it
            return supervised.stop();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let hidden = format!("electd-test-{}", uuid::Uuid::new_v4());
        let sockets = [
            (path.display().to_string(), UnixDatagram::bind(&path).unwrap()),
            (
                format!("@{hidden}"),
                UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap(),
            ),
        ];
        for (name, socket) in sockets {
            socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut node = Command::new(std::env::current_exe().unwrap());
            let test = "cli::supervisor::tests::the_service_manager_hears_of_the_start_of_life_and_of_the_end";
            node.args([test, "--exact"]).env(ALONE, "yes").env(SOCKET, &name);
            node.env("WATCHDOG_USEC", "100000").env_remove("WATCHDOG_PID");
            let mut node = node.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            let next = || {
                let mut said = [0; 256];
                loop {
                    match socket.recv(&mut said) {
                        // A signal to the process of all tests is no end of the wait.
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        length => {
                            let said = &said[..length.expect("it says more")];
                            return String::from_utf8_lossy(said).into_owned();
                        }
                    }
                }
            };
            assert_eq!(next(), "READY=1\nSTATUS=leads in epoch 1\n");
            assert_eq!(next(), "WATCHDOG=1\n");
            assert_eq!(next(), "WATCHDOG=1\n", "again and again");
            drop(node.stdin.take());
            let last = (0..1000).map(|_| next()).find(|said| said != "WATCHDOG=1\n");
            assert_eq!(last.as_deref(), Some("STOPPING=1\n"), "{name}");
            assert!(node.wait().unwrap().success());
        }
        let is_asked = std::env::var_os(SOCKET).is_some(); // whoever runs the tests may be
        assert_eq!(Supervised::start(example().handle()).is_some(), is_asked);
    }
}
