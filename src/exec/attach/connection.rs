//! One process that is attached to the node: what the two say to each other over its connection.

use std::fs::{File, Permissions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, fchown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded, never};
use crossbeam::select;
use log::warn;

use super::super::equipment::Equipment;
use super::super::mandate::{Mandate, MandateHold};
use super::super::period::PeriodWish;
use super::super::turns::LockTurns;
use super::super::words::{FromExec, FromNode, NoLockCause, PROTOCOL, Welcome};
use super::super::{clock, lock};
use super::attention::Attention;
use crate::calls::{Named, THREAD};
use crate::core::locks::table::LockName;
use crate::limits::is_url;
use crate::local::lines;
use crate::node::NodeHandle;
use crate::node::attendance::{Attendance, JobRecord};
use crate::node::leadership::{Change, Leadership};
use crate::node::locks::{GivenUrl, LockRefused, PeriodHindrance};

/// Lines that wait to be parsed.
const LINES: usize = 4;

/// Between two looks whether the node has given a lock back for the process before.
const AGAIN: Duration = Duration::from_millis(20);

/// The size of the stack of a thread of a connection.
pub(super) const STACK: usize = 256 * 1024;

/// The node that processes are attached to, and what it gives them. Cheap to clone.
#[derive(Clone)]
pub(super) struct AttachedTo {
    pub node: NodeHandle,
    /// The group whose users may use the control socket.
    pub group: Option<u32>,
    /// The addresses that the node itself holds while it leads.
    pub addresses: Arc<[String]>,
    pub attendance: Attendance,
    /// Of the processes that want locks.
    pub turns: LockTurns,
}

impl AttachedTo {
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
}

/// A command that may run: what it runs by waits for it, and the coroner of this node knows of it.
pub(super) struct AttachedJob {
    record: JobRecord,
    hold: MandateHold,
    /// The file that is locked while anything of it runs.
    pub watch: File,
}

/// One connection.
pub(super) struct AttachedConnection<'a> {
    attached: &'a AttachedTo,
    stream: &'a UnixStream,
    number: u64,
    /// The path of the file that is locked while its command runs.
    lock: &'a Path,
    /// By what its command runs. It outlives the command.
    mandate: Mandate,
    /// The command that may run.
    pub job: Option<AttachedJob>,
    /// The last reported epoch and end of the leadership; (0, 0) for none.
    reported: Option<(u64, u64)>,
    /// The last reported time for which a renewal is valid.
    renewal: Option<u64>,
    /// Where the command is reached, and since it runs by something, what shows that.
    url: Option<String>,
    shown: Option<GivenUrl>,
    attention: Attention,
}

impl<'a> AttachedConnection<'a> {
    /// One of this number, whose command runs by the leadership of the node unless it asks for a lock.
    pub fn new(
        attached: &'a AttachedTo,
        stream: &'a UnixStream,
        number: u64,
        lock: &'a Path,
    ) -> AttachedConnection<'a> {
        let mandate = Mandate::Leadership(attached.node.clone());
        let (job, reported, renewal) = (None, None, None);
        let (url, shown) = (None, None);
        AttachedConnection {
            attached,
            stream,
            number,
            lock,
            mandate,
            job,
            reported,
            renewal,
            url,
            shown,
            attention: Attention::default(),
        }
    }

    /// Until it ends.
    pub fn run(&mut self, input: Arc<UnixStream>) -> io::Result<()> {
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ";
        let mut stream = self.stream;
        stream.write_all(format!("{head}{PROTOCOL}\r\n\r\n").as_bytes())?;
        let name = self.lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let addresses = self.attached.addresses.to_vec();
        let clock = Some(clock::own());
        let welcome = Welcome {
            lock: name,
            addresses,
            clock,
            takes_failures: true,
            gives: true,
            takes_clean: true,
            takes_late: true,
            takes_locks: true,
            takes_urls: true,
            takes_periods: true,
            takes_seen: true,
        };
        lines::write(self.stream, &FromNode::Welcome(welcome))?;
        let (sender, lines) = bounded(LINES);
        let name = format!("exec-{}-in", self.number);
        let builder = thread::Builder::new().name(name).stack_size(STACK);
        builder.spawn(move || hear(&input, &sender)).named(THREAD)?; // it ends with the connection
        while self.watch(&lines)? {}
        Ok(())
    }

    /// Takes words, and tells what changes, as long as the command runs by the same. Returns false once the process has
    /// ended.
    fn watch(&mut self, lines: &Receiver<FromExec>) -> io::Result<bool> {
        let (changes, nothing) = (self.mandate.changes(), never());
        let changes = changes.as_deref().unwrap_or(&nothing);
        let turn = self.mandate.turn().cloned().unwrap_or_else(never);
        loop {
            self.tell()?;
            self.look_at_period()?;
            self.look_for_attention()?;
            let leads = self.reported != Some((0, 0));
            // It is renewed with each heartbeat.
            let heartbeat = self.attached.node.timing().heartbeat;
            let pause = match self.mandate.is_overdue() {
                true => AGAIN,
                false if leads => heartbeat / 2,
                false if self.mandate.is_of_periods() => heartbeat,
                false => Duration::from_secs(60),
            };
            select! {
                recv(changes) -> change => {
                    if let Ok(Change::Ending { .. }) = change {
                        lines::write(self.stream, &FromNode::Ending)?;
                    }
                }
                recv(turn) -> _ => {
                    self.take_turn()?;
                    return Ok(true);
                }
                recv(lines) -> word => match word {
                    Ok(FromExec::Lock { name, period }) => {
                        self.want(&name, period)?;
                        return Ok(true);
                    }
                    Ok(word) => self.obey(&word)?,
                    Err(_) => return Ok(false),
                },
                default(pause) => {
                    if self.mandate.is_overdue() {
                        self.take_turn()?;
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// The command runs by the lock of this name, once it is its turn.
    fn want(&mut self, name: &str, period: Option<PeriodWish>) -> io::Result<()> {
        if !matches!(self.mandate, Mandate::Leadership(_)) || self.job.is_some() {
            return Err(io::Error::other("it has asked for something else already"));
        }
        let name = match LockName::new(name) {
            Ok(name) => name,
            Err(why) => return self.refuse(NoLockCause::Name, &why),
        };
        let once = match period.map(PeriodWish::once).transpose() {
            Ok(once) => once,
            Err(why) => return self.refuse(NoLockCause::Name, &why),
        };
        let period = once.zip(period.map(|period| period.stays));
        let turn = self.attached.turns.wait(name, self.number);
        let is_first = turn.comes.try_recv().is_ok();
        self.mandate = Mandate::Lock { wanted: None, turn, has_come: false, period };
        if is_first {
            self.take_turn()?;
        }
        self.reported = None;
        lines::write(self.stream, &FromNode::WantsLock)
    }

    fn take_turn(&mut self) -> io::Result<()> {
        self.mandate.take_turn(&self.attached.node).or_else(|why| match why {
            LockRefused::QuorumNone => self.refuse(NoLockCause::QuorumNone, &why),
            LockRefused::Undeclared | LockRefused::NotAllowed => {
                self.refuse(NoLockCause::NotAllowed, &why)
            }
            _ => self.refuse(NoLockCause::Other, &why),
        })?;
        self.show_url();
        Ok(())
    }

    /// The node shows where the command is reached: of a lock, once it is the turn of this process.
    fn show_url(&mut self) {
        if let (Some(url), Some(of), None) = (&self.url, self.mandate.url_of(), &self.shown) {
            self.shown = Some(self.attached.node.reached_at(of, url.clone()));
        }
    }

    /// A command that runs once in each period has no more to wait for if this one has its run.
    fn look_at_period(&self) -> io::Result<()> {
        if self.job.is_some() {
            return Ok(());
        }
        match self.mandate.hindrance(&self.attached.node) {
            None => Ok(()),
            Some(PeriodHindrance::HasRun(run)) => self.refuse(NoLockCause::HasRun, &run.rest()),
            Some(PeriodHindrance::Differs) => {
                let why = "another host wants other periods for this lock: give --once-per, --at and --retry alike \
                           on all hosts";
                self.refuse(NoLockCause::Differs, &why)
            }
        }
    }

    /// The process is told why the node does not want its lock, and the connection ends.
    fn refuse(&self, cause: NoLockCause, why: &impl ToString) -> io::Result<()> {
        let why = why.to_string();
        lines::write(self.stream, &FromNode::NoLock { cause, why: why.clone() })?;
        Err(io::Error::other(why))
    }

    /// Tells the leadership, if it changed or was renewed.
    fn tell(&mut self) -> io::Result<()> {
        let leadership = self.mandate.leadership();
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
        self.attention.told();
        lines::write(self.stream, &word)
    }

    /// If the process takes note of nothing, and nothing of its command is left, another host is to run it.
    fn look_for_attention(&mut self) -> io::Result<()> {
        let epoch = self.reported.map_or(0, |(epoch, _)| epoch);
        let patience = self.attached.node.timing().failure;
        if epoch == 0 || !self.attention.is_lost(epoch, patience) {
            return Ok(());
        }
        if let Some(job) = &self.job
            && !lock::check_free(&job.watch)?
        {
            return Ok(()); // its guard has yet to end it
        }
        self.job = None;
        self.attention.gives_up(epoch);
        self.mandate.stand_back("electd exec does not answer the node");
        Ok(())
    }

    /// Holds what a command runs by, if that can begin, and passes on what its guard needs.
    fn hold(&mut self, most: Duration, takes: bool) -> io::Result<()> {
        let (attached, stream) = (self.attached, self.stream);
        let held = |is_held| lines::write(stream, &FromNode::Held(is_held));
        let Some(record) = attached.attendance.begins(takes) else {
            return held(false); // nobody would wait for its guard
        };
        let Some(hold) = self.mandate.hold_for(most) else {
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
        match word {
            FromExec::Lock { .. } => Ok(()), // taken before
            FromExec::Url { url } => {
                self.url = Some(url.clone()).filter(|url| is_url(url));
                self.show_url();
                Ok(())
            }
            FromExec::Hold { most_ms, takes } => self.hold(Duration::from_millis(*most_ms), *takes),
            FromExec::Clean => {
                if let Some(job) = self.job.take() {
                    job.record.ends_clean();
                    drop(job.hold);
                }
                Ok(())
            }
            FromExec::Seen => {
                self.attention.saw();
                Ok(())
            }
            FromExec::Late { epoch } => {
                self.mandate.note_late_renewal(&self.attached.node, *epoch);
                Ok(())
            }
            FromExec::Ended => {
                self.job = None;
                Ok(())
            }
            FromExec::Failed { reason } => {
                self.mandate.stand_back(reason);
                lines::write(self.stream, &FromNode::Resigned(None))
            }
            FromExec::Ran { code } => {
                self.mandate.end_run(*code);
                Ok(())
            }
            FromExec::Resign => {
                lines::write(self.stream, &FromNode::Resigned(self.mandate.hand_over()))
            }
        }
    }
}

/// Reads what the process says, until the connection ends.
fn hear(input: &UnixStream, words: &Sender<FromExec>) {
    let mut input = BufReader::new(input);
    while let Ok(Some(word)) = lines::read(&mut input) {
        if words.send(word).is_err() {
            return;
        }
    }
}
