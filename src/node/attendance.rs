//! Whether the death of this node would be certified, and by whom.
//!
//! A coroner that has ended while its node lives has certified nothing, and never will: the next one gets the same secret,
//! and no peer has to learn anything. It begins while no job of this node runs, as it would not know of that one, and only
//! if nothing is left of an earlier one. (Z7)

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use log::info;
use parking_lot::Mutex;

use crate::coroner::attending::Coroner;

/// The shortest and the longest pause between two starts of a coroner: each is twice as long as the last, until one has
/// lived for longer than the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Whether a node gets a coroner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attended {
    /// It does not: this process may have given work of its leaderships to processes that no coroner knows.
    No,
    /// It does: all such work ends with this process, or is done by guards, which the coroner knows.
    Yes,
}

impl Attended {
    /// What the program said of itself, by [`certify_death`].
    pub fn by_program() -> Attended {
        if IS_CERTIFIED.load(Ordering::Relaxed) { Attended::Yes } else { Attended::No }
    }
}

/// Whether this program called [`certify_death`]: it is a property of the program, and no coroner can begin without.
static IS_CERTIFIED: AtomicBool = AtomicBool::new(false);

/// Has the death of this process certified, so that another member leads within milliseconds of a crash, instead of after a
/// lease. Call it first in `main`, and return the code if there is one: this process is the coroner of another one
/// then, which waits beside each node for the end of its process.
///
/// Only for a program whose work as a leader or holder of locks *ends with its process*: threads, and connections that no other
/// process has. What a child process or another service goes on to do would not have ended.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = electd::node::certify_death() {
///         return code;
///     }
///     // `Node::start`, `while_leading` or `while_holding`, as without it.
///     ExitCode::SUCCESS
/// }
/// ```
#[must_use]
pub fn certify_death() -> Option<ExitCode> {
    let code = crate::coroner::if_asked();
    IS_CERTIFIED.store(code.is_none(), Ordering::Relaxed);
    code
}

/// The coroner of this node, or why it has none. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Attendance {
    /// Nobody, and nobody was asked for.
    Unasked,
    /// One after another.
    Asked(Arc<Coroners>),
}

/// Starts a coroner.
type StartCoroner = Box<dyn Fn() -> io::Result<Coroner> + Send + Sync>;

/// The coroners of a node, of which one lives at a time.
pub struct Coroners {
    begin: StartCoroner,
    state: Mutex<AttendanceState>,
}

struct AttendanceState {
    /// The last one, or why it could not be started.
    coroner: Result<Coroner, Arc<str>>,
    /// How many jobs may run, and how many have ever begun.
    jobs: usize,
    begun: u64,
    /// Whether an earlier job may have left something.
    is_in_doubt: bool,
    /// The coroner was asked about all jobs that had begun by then.
    asked: Option<u64>,
    /// When the last one was started, and the pause until the next start.
    started: Instant,
    pause: Duration,
    /// Whether this node ends.
    is_over: bool,
}

impl fmt::Debug for Coroners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Coroners").field(&self.state.lock().coroner).finish()
    }
}

impl Attendance {
    /// By a coroner that is started like this, now and whenever the last one has ended.
    pub fn begin(begin: impl Fn() -> io::Result<Coroner> + Send + Sync + 'static) -> Attendance {
        let state = AttendanceState {
            coroner: started(&begin),
            jobs: 0,
            begun: 0,
            is_in_doubt: false,
            asked: None,
            started: Instant::now(),
            pause: PAUSES.0,
            is_over: false,
        };
        let begin = Box::new(begin);
        Attendance::Asked(Arc::new(Coroners { begin, state: Mutex::new(state) }))
    }

    /// What passes new listening sockets of the node on to its coroner.
    pub fn on_move(&self) -> impl Fn(&[Arc<TcpListener>]) + Send + Sync + 'static {
        let coroners = match self {
            Attendance::Unasked => Weak::new(),
            Attendance::Asked(coroners) => Arc::downgrade(coroners), // which have the sockets themselves
        };
        move |listeners: &[Arc<TcpListener>]| {
            if let Some(coroners) = coroners.upgrade()
                && let Ok(coroner) = &coroners.state.lock().coroner
            {
                coroner.listens(listeners);
            }
        }
    }

    /// Starts another coroner if the last one has ended and it may. Tells what is wrong then, in words, and what to do.
    pub fn look(&self) -> Option<String> {
        let Attendance::Asked(coroners) = self else { return None };
        let mut state = coroners.state.lock();
        state.resolve_doubt();
        state.replace(&coroners.begin);
        state.problem()
    }

    /// This node ends, and the others know what they have to know: nothing is to be certified.
    pub fn dismiss(&self) {
        let Attendance::Asked(coroners) = self else { return };
        let mut state = coroners.state.lock();
        state.is_over = true;
        if let Ok(coroner) = &state.coroner
            && coroner.dismiss().is_ok()
        {
            coroner.await_end();
        }
    }

    /// A job of this node begins; `registers` says whether its guard gets a line to the coroner. If not, this node's death is
    /// not certified from now on, even if it dies at once; none if that is not certain, and then the job must not begin.
    #[must_use]
    pub fn begins(&self, registers: bool) -> Option<JobRecord> {
        let Attendance::Asked(coroners) = self else { return Some(JobRecord(None)) };
        let mut state = coroners.state.lock();
        state.replace(&coroners.begin); // a job may run for long
        if let Ok(coroner) = &state.coroner
            && !registers
            && coroner.dismiss().is_err()
        {
            return None;
        }
        (state.jobs, state.begun) = (state.jobs + 1, state.begun + 1);
        Some(JobRecord(Some(coroners.clone())))
    }

    /// The line to the coroner for the guard of a job that is about to begin; none where nobody will certify the death of
    /// this node.
    ///
    /// # Errors
    /// If the coroner cannot know of the guard. The job must not begin then.
    pub fn register(&self) -> io::Result<Option<OwnedFd>> {
        match self {
            Attendance::Asked(coroners) => match &coroners.state.lock().coroner {
                Ok(coroner) => coroner.register(),
                Err(_) => Ok(None),
            },
            Attendance::Unasked => Ok(None),
        }
    }
}

fn started(begin: &dyn Fn() -> io::Result<Coroner>) -> Result<Coroner, Arc<str>> {
    begin().map_err(|error| error.to_string().into())
}

impl AttendanceState {
    fn has_coroner(&self) -> bool {
        self.coroner.as_ref().is_ok_and(|coroner| !coroner.is_gone())
    }

    /// A coroner that lives knows whether all guards left nothing. Its answer comes by a later look, and counts if no job
    /// has begun since the question.
    fn resolve_doubt(&mut self) {
        let Ok(coroner) = &self.coroner else { return };
        if !self.is_in_doubt || self.jobs > 0 {
            return;
        }
        if coroner.attests(self.begun) {
            self.is_in_doubt = false;
        } else if self.asked != Some(self.begun) {
            coroner.ask(self.begun);
            self.asked = Some(self.begun);
        }
    }

    /// Whether another coroner is to begin now.
    fn is_due(&self) -> bool {
        !self.is_over
            && self.jobs == 0
            && !self.is_in_doubt
            && !self.has_coroner()
            && self.started.elapsed() >= self.pause
    }

    /// Starts another coroner if that is due.
    fn replace(&mut self, begin: &StartCoroner) {
        if self.is_due() {
            let had_begun = self.coroner.is_ok();
            self.restart(begin);
            if had_begun && self.coroner.is_ok() {
                info!(event = "coroner"; "the coroner of this node had ended: another one has begun");
            }
        }
    }

    fn restart(&mut self, begin: &StartCoroner) {
        let has_lived = self.started.elapsed() > PAUSES.1;
        self.pause = if has_lived { PAUSES.0 } else { (self.pause * 2).min(PAUSES.1) };
        self.coroner = started(begin);
        (self.started, self.asked) = (Instant::now(), None);
    }

    /// When another one begins, and what to do.
    fn remedy(&self) -> String {
        let remedy = if self.jobs > 0 {
            "another one begins once the job of this node has ended"
        } else if self.is_in_doubt {
            "nobody knows what the last job of this node left, so end that, and restart this node"
        } else {
            "it is tried again, once a minute at least; remove the cause, or restart this node"
        };
        remedy.to_owned()
    }

    /// What is wrong, in words, and what to do.
    fn problem(&self) -> Option<String> {
        let (why, remedy) = match &self.coroner {
            Ok(coroner) if coroner.is_stopped() => ("it is stopped", coroner.remedy()),
            Ok(coroner) if !coroner.is_gone() => return None,
            Ok(_) => ("it has ended", self.remedy()),
            Err(why) => (&**why, self.remedy()),
        };
        Some(format!(
            "no coroner would certify a crash of this node ({why}), so that the others would have to wait for the \
             silence of this node, and for its lease: {remedy}"
        ))
    }
}

/// A job of this node that may run.
#[derive(Debug)]
pub struct JobRecord(Option<Arc<Coroners>>);

impl JobRecord {
    /// The job has ended, and nothing of it is left.
    pub fn ends_clean(mut self) {
        self.end(true);
    }

    fn end(&mut self, is_clean: bool) {
        if let Some(coroners) = self.0.take() {
            let mut state = coroners.state.lock();
            state.jobs -= 1;
            state.is_in_doubt |= !is_clean;
        }
    }
}

/// The job has ended, and it is not known what it left.
impl Drop for JobRecord {
    fn drop(&mut self) {
        self.end(false);
    }
}

#[cfg(test)]
impl Attendance {
    /// By nobody, for this reason, and no other is tried soon.
    pub fn failed(why: &'static str) -> Attendance {
        Attendance::begin(move || Err(io::Error::other(why)))
    }

    /// By this coroner, and then by nobody.
    pub fn by(coroner: Coroner) -> Attendance {
        let first = Mutex::new(Some(coroner));
        Attendance::begin(move || first.lock().take().ok_or(io::ErrorKind::NotFound.into()))
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests;
