//! The coroner at work, in a single thread.

use std::io::{self, ErrorKind, Read};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::setsid;
use rustix::time::Timespec;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::answers::AnsweredConnections;
use super::estate::Heirs;
use super::guards::Guards;
use super::words::{Charge, CoronerOrder};
use crate::cgroup::ROUND;
use crate::local::pair;

/// For so many leases after the death, a peer that was cut off may still ask.
const LEASES: u32 = 16;

/// Signals that do not end a coroner: each may be meant for the node, or for a whole group or unit.
const SURVIVED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2];

/// What this process was started for.
struct CoronerWork {
    node: OwnedFd,
    /// Something is to be read after a TERM.
    terms: UnixStream,
    charge: Charge,
    /// The sockets of the node.
    listeners: Vec<TcpListener>,
    guards: Guards,
    heirs: Heirs,
    answers: AnsweredConnections,
    /// The question of the node that is to be answered.
    question: Option<u64>,
    /// Whether a TERM came: a service manager waits for the end of this process once the node has ended.
    is_termed: bool,
    /// When the node died, as this process saw it.
    death: Option<Instant>,
    /// Whether the death is certified.
    is_certified: bool,
}

/// Attends the node that started this process, until nothing is left to do.
///
/// # Errors
/// If it could not begin, or can go on no longer: then it certifies nothing.
pub fn attend() -> io::Result<()> {
    let _ = setsid(); // no terminal's signals reach it
    for signal in SURVIVED {
        signal_hook::flag::register(signal, std::sync::Arc::default())?;
    }
    let node = io::stdin().as_fd().try_clone_to_owned()?;
    let (order, given) = pair::hear(&node, None)?.ok_or_else(unasked)?;
    let begun = CoronerWork::begin(node.try_clone()?, order, given);
    let answer = begun.as_ref().map(drop).map_err(ToString::to_string);
    pair::say(&node, &answer, &[])?;
    drop(node);
    begun?.work()
}

impl CoronerWork {
    fn begin(node: OwnedFd, order: CoronerOrder, given: Vec<OwnedFd>) -> io::Result<CoronerWork> {
        let CoronerOrder::Attend(charge) = order else { return Err(unasked()) };
        if given.is_empty() {
            return Err(unasked());
        }
        let (terms, tell) = UnixStream::pair()?;
        terms.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGTERM, tell)?;
        Ok(CoronerWork {
            node,
            terms,
            guards: Guards::default(),
            heirs: Heirs::listen()?,
            charge,
            listeners: given.into_iter().map(TcpListener::from).collect(),
            answers: AnsweredConnections::default(),
            question: None,
            is_termed: false,
            death: None,
            is_certified: false,
        })
    }

    fn work(mut self) -> io::Result<()> {
        loop {
            self.wait()?;
            self.is_termed |= self.terms.read(&mut [0; 64]).is_ok_and(|count| count > 0);
            if self.death.is_none() && self.hear_node()? {
                return Ok(()); // dismissed
            }
            // What asks next came after the last words of guards: the locks of their jobs are free.
            let is_asked = self.heirs.have_asked();
            self.guards.hear();
            if self.guards.is_unclean() {
                return Ok(()); // for ever silent
            }
            if let Some(question) = self.question.take_if(|_| self.guards.are_clean()) {
                let _ = pair::say(&self.node, &question, &[]);
            }
            if self.death.is_some() {
                if self.guards.are_clean() {
                    self.certify()?;
                }
                if self.is_certified && !is_asked {
                    self.heirs.hear_others();
                }
                if self.heirs.are_waiting() && !self.guards.are_ending() {
                    let frame = self.is_certified.then_some(&self.charge.dead[..]);
                    return self.heirs.leave(self.listeners, frame);
                }
                let is_over = self.end().is_some_and(|end| end <= Instant::now());
                if is_over || self.heirs.are_lost() {
                    return Ok(());
                }
            }
        }
    }

    /// Takes the orders of the node, or notes its death. Tells whether this coroner is dismissed.
    fn hear_node(&mut self) -> io::Result<bool> {
        loop {
            match pair::hear(&self.node, Some(Duration::ZERO)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
                Ok(None) => {
                    self.death = Some(Instant::now());
                    self.heirs.await_others(&self.listeners);
                    return Ok(false);
                }
                Ok(Some((CoronerOrder::Listen, given))) => {
                    self.listeners = given.into_iter().map(TcpListener::from).collect();
                }
                Ok(Some((CoronerOrder::Guard, given))) => {
                    given.into_iter().try_for_each(|line| self.guards.take(line))?;
                }
                Ok(Some((CoronerOrder::Attest(number), _))) => self.question = Some(number),
                Ok(Some((CoronerOrder::Attend(_) | CoronerOrder::Dismiss, _))) => return Ok(true),
            }
        }
    }

    /// Nothing of the node is left: answers all that ask.
    fn certify(&mut self) -> io::Result<()> {
        if !self.is_certified {
            for listener in &self.listeners {
                listener.set_nonblocking(true)?; // the node, which shared it, is gone
            }
            self.is_certified = true;
        }
        self.answers.tend();
        for listener in &self.listeners {
            self.answers.give(listener, &self.charge.dead)?;
        }
        Ok(())
    }

    /// When this process ends, as nobody needs it any more.
    fn end(&self) -> Option<Instant> {
        self.death.map(|death| death + time_to_answer(&self.charge, self.is_termed))
    }

    /// Until there is news, or something is due.
    fn wait(&self) -> io::Result<()> {
        let mut fds = vec![
            PollFd::new(&self.terms, PollFlags::IN),
            PollFd::from_borrowed_fd(self.heirs.fd(), PollFlags::IN),
        ];
        if self.death.is_none() {
            fds.push(PollFd::new(&self.node, PollFlags::IN));
        } else if let Some(changes) = self.heirs.changes() {
            fds.push(PollFd::from_borrowed_fd(changes, PollFlags::IN));
        }
        fds.extend(self.guards.fds());
        if self.is_certified {
            fds.extend(self.listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
            fds.extend(
                self.heirs.others().map(|others| PollFd::from_borrowed_fd(others, PollFlags::IN)),
            );
            fds.extend(self.answers.streams().map(|stream| PollFd::new(stream, PollFlags::IN)));
        }
        let left = self.end().map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.into_iter().chain(self.guards.are_ending().then_some(ROUND)).min();
        let limit = left.map(|left| Timespec::try_from(left.max(Duration::from_millis(1))));
        let limit = limit.transpose().map_err(io::Error::other)?;
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The first order was another one, or came without a socket.
fn unasked() -> io::Error {
    io::Error::other("the first order is to attend")
}

/// For how long after the death somebody may ask.
fn time_to_answer(charge: &Charge, is_termed: bool) -> Duration {
    let most = charge.lease * LEASES;
    if is_termed { charge.failure.min(most) } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_for_sixteen_leases_and_after_term_for_the_failure_time_if_that_is_less() {
        let time = |failure, lease, is_termed| {
            let [failure, lease] = [failure, lease].map(Duration::from_millis);
            let charge = Charge { dead: Vec::new(), failure, lease };
            time_to_answer(&charge, is_termed).as_millis()
        };
        assert_eq!((time(9000, 1000, false), time(9000, 1000, true)), (16_000, 9000));
        assert_eq!((time(17_000, 1000, false), time(17_000, 1000, true)), (16_000, 16_000));
    }
}
