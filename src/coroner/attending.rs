//! The node's side: it starts its coroner, and tells it what it has to know.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::PollFlags;
use socket2::{Domain, Socket, Type};

use super::guards::{self, Register};
use super::passing;
use super::still;
use super::words::{CORONER, Charge, LONGEST, Order};
use crate::core::death::DeathCertificate;
use crate::core::settings::Timing;
use crate::rank::{HELPER, children};
use crate::wire::encode_dead;

/// How long a coroner may take to begin, on a host that is busy.
const BEGIN: Duration = Duration::from_secs(5);

/// How long a coroner may take to end that is no longer needed.
const END: Duration = Duration::from_secs(1);

/// The coroner of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Coroner(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    line: Line,
    register: Register,
}

/// The node's end of the pair. It must not close before this process has ended, or the other side has: the coroner takes
/// that for the death of its node.
#[derive(Debug)]
struct Line(Option<Socket>);

impl Deref for Line {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !has_ended(self, Duration::ZERO) {
            self.0.take().into_iter().for_each(std::mem::forget);
        }
    }
}

impl Coroner {
    /// Starts one that certifies the death of this process, in this folder, which holds the state of the node. `group`
    /// may run jobs beside the node. Returns when guards can register. No other coroner of this process may live, and no
    /// guard that registered with one.
    ///
    /// # Errors
    /// When the process cannot be started, or does not begin in time. None runs then.
    pub fn start(
        folder: &Path,
        group: Option<u32>,
        certificate: &DeathCertificate,
        timing: &Timing,
        listener: &TcpListener,
    ) -> io::Result<Coroner> {
        let (line, far) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None)?;
        let line = Line(Some(line));
        let mut command = children::this_program();
        command
            .arg(CORONER)
            .args(folder.file_name()) // the name of the node, for whoever lists processes
            .env_clear()
            .env(HELPER.0, HELPER.1) // it is no part of a job
            .current_dir(folder)
            .stdin(Stdio::from(OwnedFd::from(far)))
            .stdout(Stdio::null()) // who reads what the node prints waits for its end alone
            .stderr(Stdio::null());
        let mut child = children::start_unwatched(&mut command)?;
        drop(command); // and with it the far end
        let charge = Charge {
            dead: encode_dead(certificate).to_vec(),
            incarnation: certificate.incarnation.0,
            group,
            failure: timing.failure,
            lease: timing.lease,
        };
        let begun =
            tell(&line, &Order::Attend(charge), Some(listener)).and_then(|()| hear(&line, BEGIN));
        if let Err(error) = begun {
            let _ = child.kill(); // or it would take the end of this process for that of a node that it attends
            has_ended(&line, END);
            return Err(error);
        }
        let register = Register {
            socket: std::path::absolute(guards::path(folder))?,
            incarnation: certificate.incarnation.0,
        };
        Ok(Coroner(Arc::new(Shared { line, register })))
    }

    /// The node listens on this socket from now on, and no longer on the one before.
    pub fn listens(&self, listener: &TcpListener) {
        // If the coroner does not take it, dials to the new address are refused after a death, which proves nothing.
        let _ = tell(&self.0.line, &Order::Listen, Some(listener));
    }

    /// Tells it to end: it will certify nothing any more, even if this process dies at once.
    ///
    /// # Errors
    /// When it cannot be ordered to, as it stands still and its queue is full.
    pub fn dismiss(&self) -> io::Result<()> {
        match tell(&self.0.line, &Order::Dismiss, None) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Ok(()), // it has ended
            sent => sent,
        }
    }

    /// Waits until it has ended, but not for long.
    pub fn await_end(&self) {
        has_ended(&self.0.line, END);
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        has_ended(&self.0.line, Duration::ZERO)
    }

    /// Asks it whether all guards have left nothing; `number` is that of the question.
    pub fn ask(&self, number: u64) {
        let _ = tell(&self.0.line, &Order::Attest(number), None); // one that cannot be asked gives no answer
    }

    /// Whether it has answered by now that all guards had left nothing when it got the question of this number.
    #[must_use]
    pub fn attests(&self, number: u64) -> bool {
        let mut bytes = [0; LONGEST];
        let line = &self.0.line;
        let mut answers = std::iter::from_fn(|| {
            line.set_nonblocking(true).ok()?;
            let (count, _) = passing::receive(&**line, &mut bytes).ok()?;
            serde_json::from_slice::<u64>(&bytes[..count]).ok()
        });
        answers.any(|answer| answer == number)
    }

    /// Where the guards of this node register.
    #[must_use]
    pub fn register(&self) -> Register {
        self.0.register.clone()
    }
}

/// Whether the other side of this line ends within this time.
fn has_ended(line: &Socket, timeout: Duration) -> bool {
    still::tells(line, PollFlags::empty(), timeout)
}

/// Sends an order; never waits.
fn tell(line: &Socket, order: &Order, listener: Option<&TcpListener>) -> io::Result<()> {
    line.set_nonblocking(true)?;
    passing::send(line, &serde_json::to_vec(order)?, listener.map(AsFd::as_fd))
}

/// What the coroner answers to the first order, within this time.
fn hear(line: &Socket, timeout: Duration) -> io::Result<()> {
    line.set_read_timeout(Some(timeout))?;
    line.set_nonblocking(false)?;
    let mut bytes = [0; LONGEST];
    match passing::receive(line, &mut bytes)? {
        (0, _) => Err(io::Error::other("it ended at once")),
        (count, _) => {
            let answer: Result<(), String> = serde_json::from_slice(&bytes[..count])?;
            answer.map_err(io::Error::other)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A node's side of a coroner, and the other side.
    pub fn pair() -> (Coroner, Socket) {
        let (line, far) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None).unwrap();
        let register = Register { socket: "guards.sock".into(), incarnation: 1 };
        (Coroner(Arc::new(Shared { line: Line(Some(line)), register })), far)
    }

    /// A job that nobody waits for begins only then.
    #[test]
    fn a_coroner_is_dismissed_if_it_hears_that_or_has_ended() {
        let (coroner, far) = pair();
        coroner.dismiss().unwrap();
        let mut bytes = [0; LONGEST];
        let (count, _) = passing::receive(&far, &mut bytes).unwrap();
        assert!(matches!(serde_json::from_slice(&bytes[..count]), Ok(Order::Dismiss)));
        let mut tries = (0..10_000).map(|_| coroner.dismiss());
        assert!(tries.any(|told| told.is_err()), "it stands still, and would certify the death");
        assert!(!coroner.is_gone());
        drop(far);
        coroner.await_end(); // a process that another test just forks has a copy, until it becomes its program
        assert!(coroner.is_gone());
        coroner.dismiss().unwrap();
    }

    /// Or dials to the new address of its node would be refused after the death, which proves nothing.
    #[test]
    fn a_coroner_is_given_each_new_socket_of_its_node() {
        let (coroner, far) = pair();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        coroner.listens(&listener);
        let mut bytes = [0; LONGEST];
        let (count, given) = passing::receive(&far, &mut bytes).unwrap();
        assert!(matches!(serde_json::from_slice(&bytes[..count]), Ok(Order::Listen)));
        let given = given.map(TcpListener::from).expect("the socket comes with it");
        assert_eq!(given.local_addr().unwrap(), listener.local_addr().unwrap());
        assert_eq!(coroner.register(), coroner.0.register);
    }

    #[test]
    fn a_coroner_has_begun_when_it_says_so() {
        let answers = |answer: Option<Result<(), &str>>| {
            let (coroner, far) = pair();
            if let Some(answer) = answer {
                passing::send(&far, &serde_json::to_vec(&answer).unwrap(), None).unwrap();
            }
            drop(far);
            hear(&coroner.0.line, BEGIN).map_err(|error| error.to_string())
        };
        assert_eq!(answers(Some(Ok(()))), Ok(()));
        assert_eq!(answers(Some(Err("no room"))), Err("no room".to_owned()));
        assert_eq!(answers(None), Err("it ended at once".to_owned()));
        let (coroner, _far) = pair();
        let order = Order::Dismiss;
        tell(&coroner.0.line, &order, None).unwrap(); // never waits, and the answer is waited for all the same
        let late = hear(&coroner.0.line, Duration::from_millis(1)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::WouldBlock, "it says nothing");
        assert!(coroner.0.line.read_timeout().unwrap() > Some(Duration::ZERO));
    }
}
