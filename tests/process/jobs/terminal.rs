//! The input of a command: the terminal, if electd is in its foreground, and nothing otherwise. The
//! terminal is a pseudoterminal that the test types on.

use std::env;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::setsid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use signal_hook::consts::{SIGHUP, SIGINT};
use story::story;

use super::attached::exec;
use crate::support::{Cluster, ensure, eventually};

/// Says which terminal a session is to have, which command it runs, and whether in the background.
const TERMINAL: &str = "ELECTD_TEST_TERMINAL";
const COMMAND: &str = "ELECTD_TEST_SESSION";
const BACKGROUND: &str = "ELECTD_TEST_BACKGROUND";

/// A terminal, and a session on it that runs one command.
pub struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    session: Child,
}

impl Terminal {
    pub fn run(command: &Command, background: bool) -> Terminal {
        let keyboard =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&keyboard, size).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let mut session = Command::new(env::current_exe().unwrap());
        let test = "jobs::terminal::is_a_session_on_a_terminal";
        session.args([test, "--exact", "--ignored", "--nocapture"]).env(TERMINAL, name);
        session.env(COMMAND, serde_json::to_string(&words).unwrap());
        if background {
            session.env(BACKGROUND, "yes");
        }
        let session = session.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let keyboard = File::from(keyboard);
        let (screen, mut lines) = (Arc::<Mutex<String>>::default(), keyboard.try_clone().unwrap());
        let shown = screen.clone();
        thread::spawn(move || {
            let mut bytes = [0; 256];
            while let Ok(length @ 1..) = lines.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Terminal { keyboard, screen, session }
    }

    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    pub fn shows(&self, words: &str) {
        eventually(&format!("the terminal shows {words:?}"), || {
            let screen = self.screen.lock().unwrap().clone();
            ensure(screen.contains(words), || screen)
        });
    }

    /// Whether it gives whole lines, and shows what is typed.
    pub fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.keyboard).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    pub fn code(mut self) -> Option<i32> {
        eventually("electd exec ends", || {
            let ended = self.session.try_wait().unwrap();
            ended.map(|status| status.code()).ok_or_else(|| self.screen.lock().unwrap().clone())
        })
    }
}

/// The kernel hangs up when the session has ended, as it does when the window of a terminal is closed.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.session.kill();
        let _ = self.session.wait();
    }
}

/// Runs the command on its terminal, as a shell would, and ends with its code.
#[test]
#[ignore = "another test runs it"]
fn is_a_session_on_a_terminal() {
    let (Ok(terminal), Ok(words)) = (env::var(TERMINAL), env::var(COMMAND)) else { return };
    let words: Vec<String> = serde_json::from_str(&words).unwrap();
    for signal in [SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default()).unwrap(); // it is for the command
    }
    setsid().unwrap();
    // The first that a session opens is its own.
    let terminal = File::options().read(true).write(true).open(terminal).unwrap();
    let [stdout, stderr] = [(); 2].map(|()| terminal.try_clone().unwrap());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(terminal).stdout(stdout).stderr(stderr);
    if env::var_os(BACKGROUND).is_some() {
        command.process_group(0);
    }
    let status = command.status().unwrap();
    std::process::exit(status.code().unwrap_or(255));
}

#[story]
fn a_command_reads_what_is_typed() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let script = "echo ready; read line; echo \"it read $line\"; exit 5";
    let mut terminal = Terminal::run(&exec(&cluster, 1, &["--", "sh", "-c", script]), false);
    terminal.shows("ready");
    terminal.types("some words\n");
    terminal.shows("it read some words");
    assert_eq!(terminal.code(), Some(5));
}

#[story]
fn ctrl_c_reaches_the_command_and_ends_exec_with_its_code() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let script = "trap '' TERM; trap 'echo interrupted; exit 6' INT
        echo ready; while :; do sleep 0.05; done";
    let mut terminal = Terminal::run(&exec(&cluster, 1, &["--", "sh", "-c", script]), false);
    terminal.shows("ready");
    terminal.types("\x03");
    terminal.shows("interrupted");
    assert_eq!(terminal.code(), Some(6));
    cluster.agree_on(1);
}

/// The kernel stops a background process that reads from the terminal, and would stop electd, too.
#[story]
fn a_command_in_the_background_reads_nothing() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let script = "readlink /proc/$$/fd/0; read line || exit 5";
    let terminal = Terminal::run(&exec(&cluster, 1, &["--", "sh", "-c", script]), true);
    terminal.shows("/dev/null");
    assert_eq!(terminal.code(), Some(5));
}

#[story]
fn a_command_without_a_terminal_reads_nothing() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let mut exec = exec(&cluster, 1, &["--", "sh", "-c", "cat; exec readlink /proc/self/fd/0"]);
    let mut exec = exec.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    exec.stdin.as_mut().unwrap().write_all(b"this is for electd\n").unwrap();
    eventually("electd exec ends", || exec.try_wait().unwrap().ok_or_else(|| "it runs".to_owned()));
    let output = exec.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "/dev/null\n");
}

/// And a script, which may read stderr, hears of nothing but the end.
#[story]
fn exec_that_waits_to_lead_tells_a_person_who_leads() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let waits = ["--wait", "3s", "--", "true"];
    // What the command prints may go elsewhere: that is not for these words.
    let mut silent = Command::new("sh");
    let waiting = exec(&cluster, 1, &waits);
    silent.args(["-c", "exec \"$0\" \"$@\" >/dev/null"]).arg(waiting.get_program());
    silent.args(waiting.get_args());
    let terminal = Terminal::run(&silent, false);
    let mut piped = exec(&cluster, 1, &waits);
    let output = piped.stderr(Stdio::piped()).output().unwrap();
    let said = "node-1 does not lead, and did not come to within --wait\n";
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(75), said));
    terminal.shows("electd: node-2 leads: waiting until node-1 does");
    assert_eq!(terminal.code(), Some(75));
    let terminal = Terminal::run(&exec(&cluster, 2, &["--", "echo", "it runs"]), false);
    terminal.shows("it runs");
    assert_eq!(terminal.code(), Some(0));
}
