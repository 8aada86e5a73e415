//! epoll and a bell: which sockets are ready to read or write, and a way to wake the waiting thread.
//!
//! There are two lines. The slow clients have their own, of which a small batch is taken each time: so however many
//! they are, a client that sends its request in one go does not wait behind them.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io;

/// The most events taken in one turn. Few, so that a newcomer is accepted between two batches.
const LOT: usize = 128;

/// The most events of slow clients taken in one turn, besides the others.
const SLOW_LOT: usize = 64;

/// After a full batch of slow clients, none is taken for this long: so several bytes at a time are read from
/// thousands of clients that send byte by byte, and they do not keep a processor busy.
const SLOW_PAUSE: Duration = Duration::from_millis(2);

/// The bell's own number; no connection ever gets it.
const BELL: u64 = u64::MAX;

/// The number of all slow clients together; no connection ever gets it.
const SLOW: u64 = u64::MAX - 1;

/// The events of a socket that are watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read.
    Read,
    /// More bytes to read, from a slow client.
    More,
    /// Room to write, for a slow client.
    Write,
    /// Nothing, not even its end.
    Nothing,
}

/// Wakes the waiting thread.
pub struct Bell(OwnedFd);

impl Bell {
    /// Rings. A bell that rings already keeps ringing, so no failure matters.
    pub fn ring(&self) {
        let _ = io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Sockets by their numbers.
pub struct Poller {
    epoll: OwnedFd,
    /// The other epoll watches this one like a socket: it is ready while any of its own sockets is.
    slow: OwnedFd,
    /// While set, no slow client is taken.
    paused: Option<Instant>,
    bell: Arc<Bell>,
}

impl Poller {
    /// A poller that watches only its bell.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn new() -> io::Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let slow = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &slow, EventData::new_u64(SLOW), EventFlags::IN)?;
        let bell = Bell(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        epoll::add(&epoll, &bell.0, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Poller { epoll, slow, paused: None, bell: Arc::new(bell) })
    }

    /// The bell.
    pub fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Watches a socket for something else from now on. A socket that is closed drops out by itself.
    ///
    /// # Errors
    /// If the kernel has no memory for it.
    pub fn change(
        &self,
        socket: impl AsFd,
        number: u64,
        from: Interest,
        to: Interest,
    ) -> io::Result<()> {
        let data = EventData::new_u64(number);
        match (self.line(from), self.line(to)) {
            _ if from == to => Ok(()),
            (None, None) => Ok(()),
            (None, Some((line, flags))) => epoll::add(line, socket, data, flags),
            (Some((line, _)), None) => epoll::delete(line, socket),
            (Some((before, _)), Some((line, flags))) if ptr::eq(before, line) => {
                epoll::modify(line, socket, data, flags)
            }
            (Some((before, _)), Some((line, flags))) => {
                epoll::delete(before, &socket)?;
                epoll::add(line, &socket, data, flags)
            }
        }
    }

    /// The line that watches a socket, and the events.
    fn line(&self, interest: Interest) -> Option<(&OwnedFd, EventFlags)> {
        match interest {
            Interest::Read => Some((&self.epoll, EventFlags::IN)),
            Interest::More => Some((&self.slow, EventFlags::IN)),
            Interest::Write => Some((&self.slow, EventFlags::OUT)),
            Interest::Nothing => None,
        }
    }

    /// Waits until a socket is ready, the bell rings, or this instant has come; none is for ever. Returns the numbers
    /// of the sockets that are ready.
    pub fn wait(&mut self, until: Option<Instant>) -> Vec<u64> {
        let now = Instant::now();
        if self.paused.is_some_and(|end| end <= now) {
            self.pause(None);
        }
        let next = [until, self.paused].into_iter().flatten().min();
        let left = next.map(|next| next.saturating_duration_since(now));
        let mut ready = take::<LOT>(&self.epoll, left);
        if let Some(at) = ready.iter().position(|number| *number == BELL) {
            ready.swap_remove(at);
            // The bell rings, so the read cannot fail.
            let _ = io::read(&self.bell.0, &mut [0_u8; 8]);
        }
        if let Some(at) = ready.iter().position(|number| *number == SLOW) {
            ready.swap_remove(at);
            let slow = take::<SLOW_LOT>(&self.slow, Some(Duration::ZERO));
            if slow.len() == SLOW_LOT {
                self.pause(Some(Instant::now() + SLOW_PAUSE));
            }
            ready.extend(slow);
        }
        ready
    }

    /// Takes no slow clients until this instant, or takes them again.
    fn pause(&mut self, until: Option<Instant>) {
        let flags = if until.is_some() { EventFlags::empty() } else { EventFlags::IN };
        if epoll::modify(&self.epoll, &self.slow, EventData::new_u64(SLOW), flags).is_ok() {
            self.paused = until;
        }
    }
}

/// Takes a batch of the sockets that are ready, the longest waiting first, and waits this long for one.
fn take<const MOST: usize>(line: &OwnedFd, left: Option<Duration>) -> Vec<u64> {
    let mut space = [const { MaybeUninit::<Event>::uninit() }; MOST];
    let Ok((events, _)) = epoll::wait(line, &mut space, left.map(timespec).as_ref()) else {
        return Vec::new(); // a signal interrupted it
    };
    events.iter().map(|event| event.data.u64()).collect()
}

fn timespec(time: Duration) -> Timespec {
    // No wait here is longer than half a minute, so all seconds fit.
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const NEWCOMER: u64 = 7777;
    const CROWD: usize = 3 * SLOW_LOT;

    #[test]
    fn nobody_waits_behind_a_crowd_of_slow_ones() {
        let mut poller = Poller::new().unwrap();
        let crowd: Vec<_> = (0..CROWD).map(|_| UnixStream::pair().unwrap()).collect();
        for (number, (near, far)) in (0..).zip(&crowd) {
            poller.change(near, number, Interest::Nothing, Interest::Read).unwrap();
            poller.change(near, number, Interest::Read, Interest::More).unwrap();
            (&mut &*far).write_all(b"x").unwrap();
        }
        let (near, mut far) = UnixStream::pair().unwrap();
        poller.change(&near, NEWCOMER, Interest::Nothing, Interest::Read).unwrap();
        far.write_all(b"x").unwrap();
        let (mut served, mut lots) = (Vec::new(), Vec::new());
        while served.len() < CROWD {
            let begun = Instant::now();
            let lot = poller.wait(None).into_iter();
            let (newcomer, slow): (Vec<u64>, Vec<u64>) = lot.partition(|n| *n == NEWCOMER);
            assert_eq!(newcomer.len(), 1, "beside {slow:?}");
            assert!(slow.is_empty() || slow.len() == SLOW_LOT, "{slow:?}");
            lots.extend((!slow.is_empty()).then(|| (begun, Instant::now())));
            served.extend(slow);
        }
        for pair in lots.windows(2) {
            assert!(pair[1].1 - pair[0].0 >= SLOW_PAUSE, "{pair:?}");
        }
        served.sort_unstable();
        assert_eq!(served, Vec::from_iter(0..CROWD as u64), "each slow one has its turn");
    }
}
