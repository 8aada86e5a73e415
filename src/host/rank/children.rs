//! The programs that this process has started and waits for.
//!
//! A process may also get children that it never started (`exec/orphans.rs`), and has to reap them, but not these: the
//! exit code of each is for the thread that waits for it.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{LazyLock, OnceLock};

use parking_lot::{Mutex, RwLock};
use rustix::io::Errno;
use uuid::Uuid;

use crate::calls;
use crate::limits::MOUNT_PROC;

/// The environment variable that marks the programs which electd runs for itself, and all that these start: they are no
/// part of the job of the leader.
pub const HELPER: &str = "ELECTD_HELPER";

/// Its value. Another process drew another one: what inherited that, such as an electd that a hook started and the job
/// of that electd, is no helper of this process.
static MARK: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());

/// The variables by which a service manager speaks with the one process that it started: a program that inherited them
/// could speak in its place.
const OF_MANAGER: [&str; 7] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "LISTEN_PID",
    "LISTEN_PIDFDID",
];

/// Shared by all that start a program, from before it runs until its number is noted. Nobody waits for this lock: the
/// start of a program may hang, on a file system that does not answer.
static STARTING: RwLock<()> = RwLock::new(());

/// The processes that were started and not reaped yet.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Called after each of them was reaped.
static THEN: OnceLock<fn()> = OnceLock::new();

/// The program that this process runs, also if its file was replaced meanwhile.
const OWN: &str = "/proc/self/exe";

/// That program, for a process beside this one. In a list of processes it has the program's name.
///
/// # Errors
/// Where there is no /proc, with the remedy.
pub fn this_program() -> io::Result<Command> {
    named(OWN)
}

fn named(own: &str) -> io::Result<Command> {
    if let Err(error) = std::fs::read_link(own) {
        let what = format!("{own}, this program, cannot be read: {error}; {MOUNT_PROC}");
        return Err(io::Error::new(error.kind(), what));
    }
    let mut command = Command::new(own);
    command.arg0("electd");
    Ok(command)
}

/// The variable that marks a program as a helper of this process, with its value.
#[must_use]
pub fn mark() -> (&'static str, &'static str) {
    (HELPER, &MARK)
}

/// Starts a program, without the variables that are for this process alone. It has to be waited for by [`wait`].
///
/// # Errors
/// When it cannot be started.
pub fn start(command: &mut Command) -> io::Result<Child> {
    OF_MANAGER.into_iter().for_each(|variable| _ = command.env_remove(variable));
    let _starting = STARTING.read();
    let child = command.spawn()?;
    STARTED.lock().insert(child.id());
    Ok(child)
}

/// The same for a program that nobody waits for: whoever reaps orphans reaps it.
///
/// # Errors
/// When it cannot be started.
pub fn start_unwatched(command: &mut Command) -> io::Result<Child> {
    let _starting = STARTING.read(); // the start itself may wait for the process
    command.spawn()
}

/// Whether this failure to start a program or a thread, or to open a descriptor, passes by itself: the host or this process
/// lacks memory, processes or descriptors now. Any other stays until somebody mends it.
#[must_use]
pub fn is_passing(error: &io::Error) -> bool {
    let lacks = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::NOBUFS];
    lacks.map(|errno| Some(errno.raw_os_error())).contains(&calls::errno(error))
}

/// Waits for the end of a program, and reaps it. That may take for ever, also after KILL: [`super::aside`].
///
/// # Errors
/// When the system cannot wait for it, which is a defect.
pub fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let status = child.wait();
    STARTED.lock().remove(&child.id());
    if let Some(then) = THEN.get() {
        then();
    }
    status
}

/// Calls this from now on after each program that was reaped.
pub fn after_each(then: fn()) {
    let _ = THEN.set(then); // it is set by one command of the program, once
}

/// Whether this process started that one, and still has to reap it.
pub fn has_started(pid: i32) -> bool {
    u32::try_from(pid).is_ok_and(|pid| STARTED.lock().contains(&pid))
}

/// Calls this unless a program is about to start: then its end is another occasion.
pub fn while_none_starts(work: impl FnOnce()) {
    if let Some(_none_starts) = STARTING.try_write() {
        work();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Stdio;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    static REAPED: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn a_program_is_known_until_it_was_reaped_and_that_is_told_to_whoever_asked() {
        after_each(|| _ = REAPED.fetch_add(1, Ordering::SeqCst));
        let mut child = start(Command::new("cat").stdin(Stdio::piped())).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(has_started(pid) && !has_started(-pid) && !has_started(0));
        drop(child.stdin.take());
        let before = REAPED.load(Ordering::SeqCst);
        assert!(wait(&mut child).unwrap().success());
        assert!(!has_started(pid), "its number may be another's now");
        assert!(REAPED.load(Ordering::SeqCst) > before);
    }

    #[test]
    fn a_program_cannot_speak_with_the_service_manager_of_this_process() {
        let mut command = Command::new("env");
        let of_manager = [
            "NOTIFY_SOCKET",
            "WATCHDOG_USEC",
            "WATCHDOG_PID",
            "LISTEN_FDS",
            "LISTEN_FDNAMES",
            "LISTEN_PID",
            "LISTEN_PIDFDID",
        ];
        of_manager.iter().for_each(|variable| _ = command.env(variable, "1"));
        let mut child = start(command.env("OTHER", "1").stdout(Stdio::piped())).unwrap();
        let mut all = String::new();
        child.stdout.take().unwrap().read_to_string(&mut all).unwrap();
        wait(&mut child).unwrap();
        assert!(all.lines().any(|line| line == "OTHER=1"), "{all}");
        for variable in of_manager {
            assert!(!all.contains(&format!("{variable}=")), "{all}");
        }
    }

    /// The number of a program that is about to start is not noted yet.
    #[test]
    fn nobody_reaps_while_a_program_is_about_to_start() {
        let starting = STARTING.read();
        while_none_starts(|| panic!("one is about to start"));
        drop(starting);
        let (begun, mut is_called) = (Instant::now(), false);
        while !is_called {
            // Tests beside this one start programs.
            while_none_starts(|| is_called = true);
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
    }

    /// Else its end could be taken for that of a process that nobody started.
    #[test]
    fn no_program_starts_while_somebody_reaps() {
        for begin in [start, start_unwatched] {
            let (sender, started) = std::sync::mpsc::channel();
            let reaping = STARTING.write();
            let thread = std::thread::spawn(move || sender.send(begin(&mut Command::new("true"))));
            let early = started.recv_timeout(Duration::from_millis(50));
            drop(reaping);
            assert!(early.is_err(), "it has started");
            let mut child = started.recv_timeout(Duration::from_secs(20)).unwrap().unwrap();
            assert!(wait(&mut child).unwrap().success());
            thread.join().unwrap().unwrap();
        }
    }

    #[test]
    fn a_lack_of_something_passes_and_any_other_failure_stays() {
        let passes = |errno: Errno| is_passing(&errno.into());
        assert!([Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE].into_iter().all(passes));
        assert!(![Errno::NOENT, Errno::PERM, Errno::ACCESS, Errno::NOSYS].into_iter().any(passes));
        assert!(!is_passing(&io::Error::other("so")));
    }

    #[test]
    fn a_process_beside_this_one_is_this_program_by_its_name() {
        let command = this_program().unwrap();
        assert_eq!(command.get_program(), "/proc/self/exe");
        assert!(format!("{command:?}").ends_with("\"electd\""), "{command:?}");
        let words = "/no/proc/exe, this program, cannot be read: No such file or directory (os error 2); mount the file \
                     system of processes: mount -t proc proc /proc";
        assert_eq!(named("/no/proc/exe").unwrap_err().to_string(), words);
    }
}
