//! The node's side of `electd exec`: each such process is attached by a connection over the control socket.
//!
//! | thread | does | ends with |
//! |---|---|---|
//! | `exec-N` | tells the leadership, or of a lock, and each renewal; holds that while a command runs | the connection, and the guard of the command |
//! | `exec-N-in` | reads what the other says | the connection |
//!
//! A process that dies while its command runs is not the end of the command. Its guard then kills the command, and
//! holds a lock on `exec-N.lock` until nothing of the command is left. Only after that the leadership may go. The node opens
//! that file and passes the descriptor on, with one of the line to its coroner.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use log::warn;
use parking_lot::Mutex;

use super::address::spec::Address;
use super::lock;
use super::turns::LockTurns;
use crate::calls::{Named, THREAD};
use crate::node::NodeHandle;
use crate::node::attendance::Attendance;
use crate::store::folder::Folder;

/// How many processes may be attached simultaneously: with three descriptors for each, a process has enough of them by the usual
/// limit of 1024.
const MOST: u64 = 256;
/// A process that reads nothing for this long is disconnected; its guard ends its command.
const WRITE: Duration = Duration::from_secs(1);
/// So many addresses fit into the first line for certain.
const MOST_SHOWN: usize = 32;
/// Between two looks whether a dead process's guard has ended.
const LOOK: Duration = Duration::from_millis(10);

mod attention;
mod connection;

use connection::{AttachedConnection, AttachedTo, STACK};

/// The processes that are attached to this node. Cheap to clone.
#[derive(Clone)]
pub struct Attached {
    to: AttachedTo,
    /// The state folder.
    state: PathBuf,
    closing: Arc<AtomicBool>,
    lines: Arc<Mutex<BTreeMap<u64, AttachedLine>>>,
}

/// One that is attached.
struct AttachedLine {
    stream: Arc<UnixStream>,
    thread: JoinHandle<()>,
}

impl Attached {
    /// Nobody yet.
    pub(crate) fn new(
        node: NodeHandle,
        state: PathBuf,
        group: Option<u32>,
        addresses: &[Address],
        attendance: Attendance,
    ) -> Attached {
        let addresses = addresses.iter().take(MOST_SHOWN).map(Address::to_string).collect();
        let to = AttachedTo { node, group, addresses, attendance, turns: LockTurns::default() };
        Attached { to, state, closing: Arc::default(), lines: Arc::default() }
    }

    /// Takes a process in that asked for it on this connection. Does not wait for it.
    pub fn take(&self, stream: UnixStream) {
        let stream = Arc::new(stream);
        if let Err(error) = self.try_take(&stream) {
            let sentence = serde_json::json!({ "error": error.to_string() }).to_string();
            let length = sentence.len();
            let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json";
            let answer = format!(
                "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{sentence}"
            );
            let _ = (&*stream).write_all(answer.as_bytes()); // it fits into the socket
        }
    }

    fn try_take(&self, stream: &Arc<UnixStream>) -> io::Result<()> {
        let mut lines = self.lines.lock();
        let ended: Vec<u64> = lines
            .iter()
            .filter(|(_, line)| line.thread.is_finished())
            .map(|(number, _)| *number)
            .collect();
        ended.into_iter().filter_map(|number| lines.remove(&number)).for_each(join);
        if self.closing.load(Ordering::SeqCst) {
            return Err(io::Error::other("this node is stopping"));
        }
        let number = (1..=MOST).find(|number| !lines.contains_key(number)).ok_or_else(|| {
            io::Error::other(format!(
                "{MOST} commands are attached to this node, which is the most"
            ))
        })?;
        stream.set_write_timeout(Some(WRITE))?;
        let lock = lock::of_exec(&self.state, number);
        // What a killed node left is not needed any more. Where the folder is another user's, it may be a link.
        let name = lock.file_name().unwrap_or_default().to_string_lossy();
        let _ = Folder::open(&self.state).and_then(|folder| folder.remove(&name));
        drop(lock::take(&lock)); // it shows that the number is taken; an error is told when a command is about to begin
        let (own, attached) = (self.clone(), stream.clone());
        let builder = thread::Builder::new().name(format!("exec-{number}")).stack_size(STACK);
        let thread = builder.spawn(move || own.serve(number, &attached, &lock)).named(THREAD)?;
        lines.insert(number, AttachedLine { stream: stream.clone(), thread });
        Ok(())
    }

    /// The life of one connection.
    fn serve(&self, number: u64, stream: &Arc<UnixStream>, lock: &Path) {
        let mut line = AttachedConnection::new(&self.to, stream, number, lock);
        if let Err(error) = line.run(stream.clone()) {
            log::debug!("the connection of exec-{number} ended: {error}");
        }
        let _ = stream.shutdown(Shutdown::Both);
        if let Some(job) = line.job.take() {
            self.await_guard(&job.watch);
            drop(job);
        }
        let _ = fs::remove_file(lock); // no other connection gets this number before this thread has ended
    }

    /// Until nothing of the command of a dead process is left.
    fn await_guard(&self, lock: &File) {
        warn!("electd exec ended while its command ran: its guard ends that first");
        while !self.closing.load(Ordering::SeqCst) {
            match lock::check_free(lock) {
                Ok(true) => return,
                Ok(false) => thread::sleep(LOOK),
                Err(error) => {
                    warn!("cannot look whether the command has ended: {error}");
                    return;
                }
            }
        }
    }

    /// After the node has stopped: ends all connections, and joins their threads.
    pub fn stop(self) {
        self.closing.store(true, Ordering::SeqCst);
        let lines = std::mem::take(&mut *self.lines.lock());
        for line in lines.values() {
            let _ = line.stream.shutdown(Shutdown::Both); // it may be closed
        }
        lines.into_values().for_each(join);
    }
}

fn join(line: AttachedLine) {
    if line.thread.join().is_err() {
        log::error!("the thread of an attached command panicked; this is a defect");
    }
}

#[cfg(test)]
mod tests;
