//! How a test waits: until what it expects is so, and never for a time.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Far longer than anything takes, even on a machine that is ten times slower and busy.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Between two looks at what a test waits for: most looks ask a node, and the tests beside this one want the processor.
const PAUSE: Duration = Duration::from_millis(25);

/// Waits until `look` gives what is expected, for which nothing says how long it may take.
#[track_caller]
pub fn eventually<T>(what: &str, look: impl FnMut() -> Result<T, String>) -> T {
    within(DEADLINE, what, look)
}

/// The one loop that polls: until `look` gives what is expected, or the bound has passed. Where the docs say how long
/// something may take, the bound is about ten times as long: the machine may be busy.
#[track_caller]
pub fn within<T>(bound: Duration, what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(last) if start.elapsed() > bound => {
                panic!("not so in {bound:?}: {what}\nlast: {last}")
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Waits until this file can be read, or has ended.
#[track_caller]
pub fn readable(what: &str, file: &impl AsFd) {
    let bound = Timespec::try_from(DEADLINE).unwrap();
    loop {
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&bound)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => panic!("nothing in {DEADLINE:?}: {what}"),
            heard => return assert_eq!(heard, Ok(1), "{what}"),
        }
    }
}

/// The next connection to this listener.
#[track_caller]
pub fn accept(listener: &TcpListener) -> TcpStream {
    readable("somebody dials", listener);
    listener.accept().unwrap().0
}

/// The pause of a process that repeats something, such as one that a test watches.
pub fn breathe() {
    thread::sleep(Duration::from_millis(1));
}

/// An error unless this holds: for the looks of `eventually`.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
