//! The node's side of `electd exec`: each such process is attached by a connection over the control socket.
//!
//! | thread | does | ends with |
//! |---|---|---|
//! | `exec-N` | tells the leadership and each renewal, holds the leadership while a command runs | the connection, and the guard of the command |
//! | `exec-N-in` | reads what the other says | the connection |
//!
//! A process that dies while its command runs is not the end of the command. Its guard then kills the command, and
//! holds a lock on `exec-N.lock` until nothing of the command is left. Only after that the leadership may go. The node opens
//! that file and passes the descriptor on, with one of the line to its coroner.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Sender, bounded};
use crossbeam::select;
use log::warn;
use parking_lot::Mutex;

use super::address::spec::Address;
use super::equipment::Equipment;
use super::words::{FromExec, FromNode, PROTOCOL};
use super::{clock, lock};
use crate::calls::{Named, THREAD};
use crate::local::lines;
use crate::node::NodeHandle;
use crate::node::attendance::{Attendance, JobRecord};
use crate::node::handle::{Command, Handle};
use crate::node::leadership::{Change, Hold, Leadership};
use crate::store::folder::Folder;

/// How many processes may be attached simultaneously.
const MOST: u64 = 64;
/// A process that reads nothing for this long is disconnected; its guard ends its command.
const WRITE: Duration = Duration::from_secs(1);
/// So many addresses fit into the first line for certain.
const MOST_SHOWN: usize = 32;
/// Lines that wait to be parsed.
const LINES: usize = 4;
/// Between two looks whether a dead process's guard has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long the node may take to hand over.
const RESIGN: Duration = Duration::from_secs(5);
const STACK: usize = 256 * 1024;

/// The processes that are attached to this node. Cheap to clone.
#[derive(Clone)]
pub struct Attached {
    node: NodeHandle,
    /// The state folder.
    state: PathBuf,
    /// The group whose users may use the control socket.
    group: Option<u32>,
    /// The addresses that the node itself holds while it leads.
    addresses: Arc<[String]>,
    attendance: Attendance,
    closing: Arc<AtomicBool>,
    lines: Arc<Mutex<BTreeMap<u64, AttachedLine>>>,
}

/// One that is attached.
struct AttachedLine {
    stream: UnixStream,
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
        let (closing, lines) = (Arc::default(), Arc::default());
        Attached { node, state, group, addresses, attendance, closing, lines }
    }

    /// Takes a process in that asked for it on this connection. Does not wait for it.
    pub fn take(&self, stream: UnixStream) {
        if let Err(error) = self.try_take(&stream) {
            let sentence = serde_json::json!({ "error": error.to_string() }).to_string();
            let length = sentence.len();
            let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json";
            let answer = format!(
                "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{sentence}"
            );
            let _ = (&stream).write_all(answer.as_bytes()); // it fits into the socket
        }
    }

    fn try_take(&self, stream: &UnixStream) -> io::Result<()> {
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
        let (own, input) = (self.clone(), stream.try_clone()?);
        let output = stream.try_clone()?;
        let builder = thread::Builder::new().name(format!("exec-{number}")).stack_size(STACK);
        let thread =
            builder.spawn(move || own.serve(number, &output, input, &lock)).named(THREAD)?;
        lines.insert(number, AttachedLine { stream: stream.try_clone()?, thread });
        Ok(())
    }

    /// What the guard of a command needs that is about to begin. An older `exec` takes no descriptors, so that its guard
    /// opens the file: the users of the control group may read that, and nobody certifies the death of this node.
    fn equip(&self, lock: &Path, takes: bool) -> io::Result<(Option<Equipment>, File)> {
        if takes {
            let equipment = Equipment::new(lock, &self.attendance)?;
            let watch = lock::watch(&equipment.lock)?;
            return Ok((Some(equipment), watch));
        }
        let file = lock::take(lock)?;
        if let Some(group) = self.group {
            fchown(&file, None, Some(group))?;
            file.set_permissions(Permissions::from_mode(0o640))?;
        }
        Ok((None, lock::watch(&file)?))
    }

    /// The life of one connection.
    fn serve(&self, number: u64, stream: &UnixStream, input: UnixStream, lock: &Path) {
        let (job, reported, renewal) = (None, None, None);
        let mut line = AttachedConnection { attached: self, stream, lock, job, reported, renewal };
        if let Err(error) = line.run(number, input) {
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

/// A command that may run: the leadership waits for it, and the coroner of this node knows of it.
struct AttachedJob {
    record: JobRecord,
    hold: Hold,
    /// The file that is locked while anything of it runs.
    watch: File,
}

/// One connection.
struct AttachedConnection<'a> {
    attached: &'a Attached,
    stream: &'a UnixStream,
    /// The path of the file that is locked while its command runs.
    lock: &'a Path,
    /// The command that may run.
    job: Option<AttachedJob>,
    /// The last reported epoch and end of the leadership; (0, 0) for none.
    reported: Option<(u64, u64)>,
    /// The last reported time for which a renewal is valid.
    renewal: Option<u64>,
}

impl AttachedConnection<'_> {
    fn run(&mut self, number: u64, input: UnixStream) -> io::Result<()> {
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ";
        let mut stream = self.stream;
        stream.write_all(format!("{head}{PROTOCOL}\r\n\r\n").as_bytes())?;
        let name = self.lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let addresses = self.attached.addresses.to_vec();
        let clock = Some(clock::own());
        let (takes_failures, takes_clean, takes_late, gives) = (true, true, true, true);
        let welcome = FromNode::Welcome {
            lock: name,
            addresses,
            clock,
            takes_failures,
            takes_clean,
            takes_late,
            gives,
        };
        lines::write(self.stream, &welcome)?;
        let node = &self.attached.node;
        let changes = node.leadership_changes();
        let (sender, lines) = bounded(LINES);
        let builder = thread::Builder::new().name(format!("exec-{number}-in")).stack_size(STACK);
        builder.spawn(move || hear(input, &sender)).named(THREAD)?; // it ends with the connection
        loop {
            self.tell()?;
            let leads = self.reported != Some((0, 0));
            // It is renewed with each heartbeat.
            let pause = if leads { node.timing().heartbeat / 2 } else { Duration::from_secs(60) };
            select! {
                recv(changes) -> change => {
                    if let Ok(Change::Ending { .. }) = change {
                        lines::write(self.stream, &FromNode::Ending)?;
                    }
                }
                recv(lines) -> word => match word {
                    Ok(word) => self.obey(&word)?,
                    Err(_) => return Ok(()),
                },
                default(pause) => {}
            }
        }
    }

    /// Tells the leadership, if it changed or was renewed.
    fn tell(&mut self) -> io::Result<()> {
        let leadership = self.attached.node.leadership();
        let renewal = leadership.as_ref().and_then(Leadership::renewal);
        let renewal = renewal.and_then(|time| u64::try_from(time.as_nanos()).ok());
        let now = leadership.map_or((0, 0), |leads| (leads.epoch(), leads.until().0));
        if self.reported == Some(now) && self.renewal == renewal {
            return Ok(());
        }
        (self.reported, self.renewal) = (Some(now), renewal);
        let word = match now {
            (0, 0) => FromNode::DoesNotLead,
            (epoch, until) => FromNode::Leads { epoch, until, renewal },
        };
        lines::write(self.stream, &word)
    }

    /// Holds the leadership for a command, if that can begin, and passes on what its guard needs.
    fn hold(&mut self, most: Duration, takes: bool) -> io::Result<()> {
        let (attached, stream) = (self.attached, self.stream);
        let held = |is_held| lines::write(stream, &FromNode::Held(is_held));
        let Some(record) = attached.attendance.begins(takes) else {
            return held(false); // nobody would wait for its guard
        };
        let Ok(hold) = attached.node.hold_for(most) else {
            record.ends_clean();
            return held(false);
        };
        match attached.equip(self.lock, takes) {
            Ok((equipment, watch)) => {
                self.job = Some(AttachedJob { record, hold, watch });
                self.tell()?; // as it stands now that it is held
                let given: Vec<_> = equipment.iter().flat_map(Equipment::fds).collect();
                lines::pass(stream, &FromNode::Held(true), &given)
            }
            Err(error) => {
                record.ends_clean();
                let why = error.to_string();
                warn!("no command of electd exec can begin: {why}");
                let answer = if takes { FromNode::Unable(why) } else { FromNode::Held(false) };
                lines::write(stream, &answer)
            }
        }
    }

    fn obey(&mut self, word: &FromExec) -> io::Result<()> {
        let node = &self.attached.node;
        match word {
            FromExec::Hold { most_ms, takes } => self.hold(Duration::from_millis(*most_ms), *takes),
            FromExec::Clean => {
                if let Some(job) = self.job.take() {
                    job.record.ends_clean();
                    drop(job.hold);
                }
                Ok(())
            }
            FromExec::Late { epoch } => {
                node.note_late_renewal(*epoch);
                Ok(())
            }
            FromExec::Ended => {
                self.job = None;
                Ok(())
            }
            FromExec::Failed { reason } => {
                node.stand_back(reason);
                lines::write(self.stream, &FromNode::Resigned(None))
            }
            FromExec::Resign => {
                let done = node.command(Command::Resign { to: None }, RESIGN);
                lines::write(
                    self.stream,
                    &FromNode::Resigned(done.err().map(|why| why.to_string())),
                )
            }
        }
    }
}

/// Reads what the process says, until the connection ends.
fn hear(input: UnixStream, words: &Sender<FromExec>) {
    let mut input = BufReader::new(input);
    while let Ok(Some(word)) = lines::read(&mut input) {
        if words.send(word).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
