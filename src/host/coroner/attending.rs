//! The node's side: it starts its coroner, and tells it what it has to know.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, getpid};

use super::still;
use super::words::{CORONER, Charge, CoronerOrder};
use crate::calls::{Named, PROCESS};
use crate::core::death::DeathCertificate;
use crate::core::settings::Timing;
use crate::local::{self, pair};
use crate::rank::children;
use crate::wire::encode_dead;

/// How long a coroner may take to begin, on a host that is busy.
const BEGIN: Duration = Duration::from_secs(5);

/// How long a coroner may take to end that is no longer needed.
const END: Duration = Duration::from_secs(1);

/// The coroner of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Coroner(Arc<AttendingState>);

#[derive(Debug)]
struct AttendingState {
    line: CoronerLine,
    /// Its process.
    process: Pid,
}

/// The node's end of the pair. It must not close before this process has ended, or the other side has: the coroner takes
/// that for the death of its node.
#[derive(Debug)]
struct CoronerLine(Option<OwnedFd>);

impl Deref for CoronerLine {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for CoronerLine {
    fn drop(&mut self) {
        if !local::has_ended(&**self, Duration::ZERO) {
            self.0.take().into_iter().for_each(std::mem::forget);
        }
    }
}

impl Coroner {
    /// Starts one that certifies the death of this process, in this folder, which holds the state of the node. Returns
    /// when it has begun. No other coroner of this process may live, and no guard that has a line to one.
    ///
    /// # Errors
    /// When the process cannot be started, or does not begin in time. None runs then.
    pub fn start(
        folder: &Path,
        certificate: &DeathCertificate,
        timing: &Timing,
        listeners: &[Arc<TcpListener>],
    ) -> io::Result<Coroner> {
        let (line, far) = pair::new()?;
        let line = CoronerLine(Some(line));
        let mut command = children::this_program()?;
        command
            .arg(CORONER)
            .args(folder.file_name()) // the name of the node, for whoever lists processes
            .env_clear()
            .envs([children::mark()]) // it is no part of a job
            .current_dir(folder)
            .stdin(Stdio::from(far))
            .stdout(Stdio::null()) // who reads what the node prints waits for its end alone
            .stderr(Stdio::null());
        let mut child = children::start_unwatched(&mut command).named(PROCESS)?;
        drop(command); // and with it the far end
        let charge = Charge {
            dead: encode_dead(certificate).to_vec(),
            failure: timing.failure,
            lease: timing.lease,
        };
        let begun = pair::say(&*line, &CoronerOrder::Attend(charge), &descriptors(listeners))
            .and_then(|()| await_begin(&line, BEGIN));
        if let Err(error) = begun {
            let _ = child.kill(); // or it would take the end of this process for that of a node that it attends
            local::has_ended(&*line, END);
            return Err(error);
        }
        let process = Pid::from_child(&child);
        Ok(Coroner(Arc::new(AttendingState { line, process })))
    }

    /// The coroner at the other end of this line, which attends this process already, and is this process itself.
    #[must_use]
    pub fn at(line: OwnedFd) -> Coroner {
        let (line, process) = (CoronerLine(Some(line)), getpid());
        Coroner(Arc::new(AttendingState { line, process }))
    }

    /// The node listens on these sockets from now on, and no longer on those before.
    pub fn listens(&self, listeners: &[Arc<TcpListener>]) {
        // If the coroner does not take them, dials to the new address are refused after a death, which proves nothing.
        let _ = self.order(&CoronerOrder::Listen, &descriptors(listeners));
    }

    /// Tells it to end: it will certify nothing any more, even if this process dies at once.
    ///
    /// # Errors
    /// When it cannot be ordered to, as it stands still and its queue is full.
    pub fn dismiss(&self) -> io::Result<()> {
        match self.order(&CoronerOrder::Dismiss, &[]) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Ok(()), // it has ended
            sent => sent,
        }
    }

    /// Waits until it has ended, but not for long.
    pub fn await_end(&self) {
        local::has_ended(&*self.0.line, END);
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        local::has_ended(&*self.0.line, Duration::ZERO)
    }

    /// Whether it was stopped, by a signal or a debugger.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        !self.is_gone() && still::is_stopped(self.0.process)
    }

    /// Asks it whether all guards have left nothing; `number` is that of the question.
    pub fn ask(&self, number: u64) {
        let _ = self.order(&CoronerOrder::Attest(number), &[]); // one that cannot be asked gives no answer
    }

    /// Whether it has answered by now that all guards had left nothing when it got the question of this number.
    #[must_use]
    pub fn attests(&self, number: u64) -> bool {
        let next = || Some(pair::hear(&*self.0.line, Some(Duration::ZERO)).ok()??.0);
        std::iter::from_fn(next).any(|answer: u64| answer == number)
    }

    /// The line that a guard gets, by which the coroner knows of it from now on. None if the coroner has ended: it never
    /// certifies anything then.
    ///
    /// # Errors
    /// If the line cannot be made, or the coroner stands still and has not taken so many that it gets no more. The job
    /// must not begin then.
    pub fn register(&self) -> io::Result<Option<OwnedFd>> {
        let (line, far) = UnixStream::pair().named("socketpair")?;
        match self.order(&CoronerOrder::Guard, &[far.as_fd()]) {
            Ok(()) => Ok(Some(line.into())),
            Err(error) if is_of_end(&error) => Ok(None),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let why = format!("the coroner of this node stands still: {}", self.remedy());
                Err(io::Error::other(why))
            }
            Err(error) => Err(error),
        }
    }

    /// What to do where it stands still.
    #[must_use]
    pub fn remedy(&self) -> String {
        let number = self.0.process.as_raw_nonzero();
        format!("have the process {number} go on (kill -CONT {number}), or restart this node")
    }

    fn order(&self, order: &CoronerOrder, given: &[BorrowedFd<'_>]) -> io::Result<()> {
        pair::say(&*self.0.line, order, given)
    }
}

fn descriptors(listeners: &[Arc<TcpListener>]) -> Vec<BorrowedFd<'_>> {
    listeners.iter().map(AsFd::as_fd).collect()
}

/// Whether a send failed since the other side has ended.
fn is_of_end(error: &io::Error) -> bool {
    [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind())
}

/// Waits for the answer of a coroner to its first order, at most this long.
fn await_begin(line: &OwnedFd, limit: Duration) -> io::Result<()> {
    match pair::hear::<Result<(), String>>(line, Some(limit))? {
        None => Err(io::Error::other("it ended at once")),
        Some((answer, _)) => answer.map_err(io::Error::other),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;
    use crate::coroner::guards::Registered;

    /// A node's side of a coroner, and the other side.
    fn attended() -> (Coroner, OwnedFd) {
        let (line, far) = pair::new().unwrap();
        (Coroner::at(line), far)
    }

    /// What the node orders, and what comes with it.
    fn ordered(far: &OwnedFd) -> (CoronerOrder, Vec<OwnedFd>) {
        pair::hear(far, Some(BEGIN)).unwrap().unwrap()
    }

    /// A job that nobody waits for begins only then.
    #[test]
    fn a_coroner_is_dismissed_if_it_hears_that_or_has_ended() {
        let (coroner, far) = attended();
        coroner.dismiss().unwrap();
        assert!(matches!(ordered(&far).0, CoronerOrder::Dismiss));
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
    fn a_coroner_is_given_all_new_sockets_of_its_node() {
        let (coroner, far) = attended();
        let listeners = [(); 2].map(|()| Arc::new(TcpListener::bind("127.0.0.1:0").unwrap()));
        coroner.listens(&listeners);
        let (order, given) = ordered(&far);
        assert!(matches!(order, CoronerOrder::Listen));
        let given = given.into_iter().map(|given| TcpListener::from(given).local_addr().unwrap());
        assert!(
            given.eq(listeners.map(|listener| listener.local_addr().unwrap())),
            "they come with it"
        );
    }

    /// Before the guard has the other end: what the guard says is for the coroner, also once the node has died.
    #[test]
    fn a_coroner_knows_of_a_guard_when_that_gets_its_line() {
        let (coroner, far) = attended();
        let line = coroner.register().unwrap().expect("it attends");
        Registered::by(line).begin(None);
        let (order, given) = ordered(&far);
        assert!(matches!(order, CoronerOrder::Guard));
        let [line] = <[OwnedFd; 1]>::try_from(given).expect("the line comes with it");
        let mut said = String::new();
        File::from(line).read_to_string(&mut said).unwrap();
        assert_eq!(said, "b");
        let error = (0..10_000).find_map(|_| coroner.register().err()).expect("its queue is full");
        let own = std::process::id();
        let remedy =
            format!("have the process {own} go on (kill -CONT {own}), or restart this node");
        assert_eq!(error.to_string(), format!("the coroner of this node stands still: {remedy}"));
        drop(far);
        coroner.await_end(); // a process that another test just forks has a copy, until it becomes its program
        assert!(coroner.register().unwrap().is_none(), "it certifies nothing any more");
    }

    #[test]
    fn a_coroner_has_begun_when_it_says_so() {
        let answers = |answer: Option<Result<(), &str>>| {
            let (coroner, far) = attended();
            if let Some(answer) = answer {
                pair::say(&far, &answer, &[]).unwrap();
            }
            drop(far);
            await_begin(&coroner.0.line, BEGIN).map_err(|error| error.to_string())
        };
        assert_eq!(answers(Some(Ok(()))), Ok(()));
        assert_eq!(answers(Some(Err("no room"))), Err("no room".to_owned()));
        assert_eq!(answers(None), Err("it ended at once".to_owned()));
        let (coroner, _far) = attended();
        let late = await_begin(&coroner.0.line, Duration::from_millis(1)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::WouldBlock, "it says nothing");
    }
}
