//! `electd demo`: it elects, it obeys its keys, and nothing of it is left, whatever ends it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, getpgid, kill_process};
use story::story;
use tempfile::TempDir;

use crate::jobs::terminal::Terminal;
use crate::support::{Cluster, credentials, done, ensure, eventually, patient};

/// The processes of a demo that name this folder: its nodes, and the keeper. Each with its command line.
fn processes(folder: &Path) -> Vec<(Pid, String)> {
    let found = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let line = fs::read_to_string(entry.path().join("cmdline")).ok()?.replace('\0', " ");
        let is_ours = line.starts_with("electd ") && line.contains(folder.to_str()?);
        is_ours.then_some((pid, line))
    });
    found.collect()
}

/// The node of this name.
fn node(folder: &Path, name: &str) -> Option<Pid> {
    let named = format!("--node {name} ");
    let all = processes(folder);
    all.iter().find(|(_, line)| line.contains(&named)).map(|(pid, _)| *pid)
}

/// The demo itself: the nodes name it.
fn demo(folder: &Path) -> Pid {
    eventually("a node runs", || {
        let all = processes(folder);
        let parent = all.iter().find_map(|(_, line)| line.split_once("--parent "));
        let number = parent.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        number.and_then(Pid::from_raw).ok_or_else(|| format!("{all:?}"))
    })
}

/// No process of a demo is left, nor anything in its folder.
#[track_caller]
fn until_nothing_is_left(folder: &Path) {
    eventually("nothing of the demo is left", || {
        let all = processes(folder);
        ensure(all.is_empty(), || format!("{all:?}"))?;
        let files: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
        ensure(files.is_empty(), || format!("{files:?}"))
    });
}

/// A folder of a demo. What is left of the demo when this is dropped, after a test that failed, is killed.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for (pid, _) in processes(self.path()) {
            let _ = kill_process(pid, Signal::KILL); // it may have ended
        }
    }
}

/// A demo with these arguments, whose temporary folder is in this one.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg(format!("TMPDIR={}", folder.display()));
    command.arg(env!("CARGO_BIN_EXE_electd")).arg("demo").args(args);
    command
}

/// A demo without a terminal, and what it has printed.
struct Demo {
    folder: Folder,
    child: Child,
    printed: Arc<Mutex<String>>,
}

impl Demo {
    fn start(args: &[&str]) -> Demo {
        let folder = Folder::new();
        let mut command = command(folder.path(), args);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let printed = Arc::<Mutex<String>>::default();
        read(child.stdout.take().unwrap(), printed.clone());
        Demo { folder, child, printed }
    }

    /// Waits until it has printed this so often, and returns all that it has printed.
    #[track_caller]
    fn prints(&self, words: &str, times: usize) -> String {
        eventually(&format!("the demo prints {words:?}, {times} times"), || {
            let printed = self.printed.lock().unwrap().clone();
            ensure(printed.matches(words).count() >= times, || printed.clone())?;
            Ok(printed)
        })
    }

    #[track_caller]
    fn ends_with(&mut self, code: i32) {
        let status = eventually("the demo ends", || {
            self.child.try_wait().unwrap().ok_or_else(|| self.printed.lock().unwrap().clone())
        });
        assert_eq!(status.code(), Some(code));
        until_nothing_is_left(self.folder.path());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(stdout: ChildStdout, into: Arc<Mutex<String>>) {
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            into.lock().unwrap().push_str(&(line + "\n"));
        }
    });
}

/// The state of a process, by its letter.
fn is_frozen(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

#[story]
fn it_elects_and_obeys_its_keys_and_q_leaves_nothing() {
    let cluster = Cluster::prepare(3, patient);
    let file = cluster.file();
    let (folder, file) = (file.parent().unwrap(), file.to_str().unwrap());
    let mut terminal = Terminal::run(&command(folder, &["--config", file]), false);
    terminal.shows("node-3 leads in epoch ");
    eventually("the demo takes single keys", || {
        ensure(!terminal.is_cooked(), || "it takes lines".to_owned())
    });
    // A node that has not heard of the leader could not say how its leadership ended.
    eventually("all name it", || {
        (1..=3).try_for_each(|number| {
            let leader = cluster.node(number).status()?.leader;
            ensure(leader.as_ref().is_some_and(|it| it.name == "node-3"), || format!("{leader:?}"))
        })
    });
    terminal.shows("k kill   f freeze, thaw   r restart   s the leader resigns   q quit");
    terminal.types("k");
    terminal.shows("node-3 was killed");
    terminal.shows("node-2 leads in epoch ");
    terminal.shows("nobody led for ");
    terminal.types("r");
    terminal.shows("node-3 starts again");
    terminal.types("1f");
    terminal.shows("keys for node-1 ");
    terminal.shows("node-1 is frozen");
    let pid = node(folder, "node-1").unwrap();
    eventually("node-1 is frozen", || ensure(is_frozen(pid), || "it runs".to_owned()));
    terminal.types("f");
    terminal.shows("node-1 is thawed");
    eventually("node-1 runs", || ensure(!is_frozen(pid), || "it is frozen".to_owned()));
    terminal.types("r");
    terminal.shows("node-1 starts again");
    assert_ne!(node(folder, "node-1"), Some(pid));
    // Before it does, TERM ends it at once.
    eventually("node-1 answers again", || cluster.node(1).status());
    let log = folder.join("data").join("node-1.log");
    let ends = || fs::read_to_string(&log).unwrap().matches(" stopping\n").count();
    let before = ends();
    terminal.types("fr");
    eventually("a frozen node ends in order, too", || {
        ensure(ends() > before, || fs::read_to_string(&log).unwrap())
    });
    terminal.types("s");
    terminal.shows("handed over to ");
    terminal.types("q");
    terminal.shows("all nodes have ended");
    eventually("no node is left", || {
        let all = processes(folder);
        ensure(all.is_empty(), || format!("{all:?}"))
    });
    assert!(terminal.is_cooked());
    assert_eq!(terminal.code(), Some(0));
}

/// Without keys it prints lines, on a terminal, too.
#[story]
fn nothing_is_left_when_its_terminal_is_closed() {
    for input in ["/dev/tty", "/dev/null"] {
        let folder = Folder::new();
        let script = format!("exec \"$@\" <{input}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, "sh"]);
        let demo = command(folder.path(), &["--nodes", "2"]);
        shell.arg(demo.get_program()).args(demo.get_args());
        let terminal = Terminal::run(&shell, false);
        terminal.shows("leads in epoch ");
        eventually("it takes keys if it has them", || {
            ensure(terminal.is_cooked() == (input == "/dev/null"), || input.to_owned())
        });
        drop(terminal);
        until_nothing_is_left(folder.path());
    }
}

#[story]
fn nothing_is_left_when_it_is_killed_and_the_terminal_takes_lines_again() {
    let folder = Folder::new();
    let mut terminal = Terminal::run(&command(folder.path(), &["--nodes", "3"]), false);
    terminal.shows("leads in epoch ");
    terminal.types("3f");
    terminal.shows("node-3 is frozen"); // TERM alone would not end it
    // The signals of the terminal are for the demo alone, and neither for a node nor for the keeper.
    let all = processes(folder.path());
    assert_eq!(all.len(), 4, "{all:?}");
    for (process, line) in all {
        assert_eq!(getpgid(Some(process)).unwrap(), process, "{line}");
    }
    assert!(!terminal.is_cooked());
    kill_process(demo(folder.path()), Signal::KILL).unwrap();
    until_nothing_is_left(folder.path());
    assert!(terminal.is_cooked());
}

#[story]
fn without_a_terminal_it_prints_lines_until_term() {
    let mut demo = Demo::start(&["--nodes", "3", "--algorithm", "ring", "--quorum", "none"]);
    let printed = demo.prints("leads in epoch ", 1);
    assert!(printed.contains("3 nodes on this machine, algorithm ring, quorum none"), "{printed}");
    assert_eq!(printed.matches("\nconfig  ").count(), 1, "{printed}");
    assert!(printed.contains("http://127.0.0.1:"), "{printed}");
    assert!(!printed.contains('\u{1b}'), "{printed}");
    kill_process(Pid::from_child(&demo.child), Signal::TERM).unwrap();
    demo.ends_with(0);
    demo.prints("ending all nodes ...\nall nodes have ended\n", 1);
}

#[story]
fn each_signal_ends_a_demo_and_leaves_nothing() {
    for signal in [Signal::QUIT, Signal::HUP] {
        let mut demo = Demo::start(&["--nodes", "1"]);
        demo.prints("leads in epoch ", 1);
        kill_process(Pid::from_child(&demo.child), signal).unwrap();
        demo.ends_with(0);
    }
}

#[story]
fn a_job_runs_on_the_leader_and_moves() {
    let job = "echo works on $ELECTD_NODE; exec sleep 1000";
    let mut demo = Demo::start(&["--nodes", "3", "--", "sh", "-c", job]);
    let printed = demo.prints(" prints: works on ", 1);
    let (_, rest) = printed.split_once(" prints: works on ").unwrap();
    let leader = rest.lines().next().unwrap();
    kill_process(node(demo.folder.path(), leader).unwrap(), Signal::KILL).unwrap();
    demo.prints(&format!("{leader} was killed"), 1);
    eventually("the job works on another node", || {
        let printed = demo.printed.lock().unwrap().clone();
        let others = ["node-1", "node-2", "node-3"].into_iter().filter(|name| *name != leader);
        let moved = others.map(|name| format!("{name} prints: works on {name}\n"));
        ensure(moved.into_iter().any(|words| printed.contains(&words)), || printed)
    });
    kill_process(Pid::from_child(&demo.child), Signal::INT).unwrap();
    demo.ends_with(0);
}

/// The outcome of a demo that does not start, in words.
fn refused(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command(folder, args).output().unwrap();
    assert!(stdout.is_empty(), "{stdout:?}");
    assert!(fs::read_dir(folder).unwrap().flatten().all(|entry| entry.path().is_file()));
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_count_of_nodes_that_no_digit_could_choose_is_refused() {
    let folder = Folder::new();
    for nodes in ["0", "10", "-1", "many"] {
        let (code, words) = refused(folder.path(), &[&format!("--nodes={nodes}")]);
        assert_eq!(code, Some(2), "{words}");
        assert!(words.contains(nodes) && words.contains("--nodes"), "{words}");
    }
    let (code, words) = refused(folder.path(), &["--algorithm", "bull"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("bully, halting, ring"), "{words}");
}

#[story]
fn nodes_that_run_already_are_named() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let (file, folder) = (cluster.file(), Folder::new());
    let (code, words) = refused(folder.path(), &["--config", file.to_str().unwrap()]);
    assert_eq!(code, Some(73), "{words}");
    assert!(words.contains("node-1 is in use by process "), "{words}");
    let mut config = cluster.config().clone();
    config["data_dir"] = "other".into(); // the ports are the same
    let busy = folder.path().join("busy.json");
    fs::write(&busy, config.to_string()).unwrap();
    let (code, words) = refused(folder.path(), &["--config", busy.to_str().unwrap()]);
    assert_eq!(code, Some(71), "{words}");
    let address = cluster.node(1).address.to_string();
    assert!(words.contains(&address) && words.contains("node-1"), "{words}");
}

/// The same file with another algorithm has its state elsewhere, and its paths stay what they are.
#[story]
fn a_file_runs_with_another_algorithm_apart_from_its_own_state() {
    let cluster = Cluster::prepare(2, patient);
    let file = cluster.file();
    let mut demo = Demo::start(&["--config", file.to_str().unwrap(), "--algorithm", "ring"]);
    demo.prints("leads in epoch ", 1);
    let apart = file.with_file_name("data").join("ring");
    assert!(apart.join("node-1").is_dir() && !cluster.state_file(1).exists());
    let mut status = Command::new(env!("CARGO_BIN_EXE_electd"));
    status.args(["status", "--output", "json", "--config"]).arg(apart.join("cluster.json"));
    let output = eventually("all is well", || {
        let output = status.output().unwrap();
        ensure(output.status.success(), || format!("{output:?}"))?;
        Ok(output)
    });
    assert!(done(&output).contains("\"algorithm\": \"ring\""));
    kill_process(Pid::from_child(&demo.child), Signal::TERM).unwrap();
    demo.ends_with(0);
}

#[story]
fn the_page_of_a_demo_over_https_is_named_so() {
    let cluster = Cluster::prepare(2, |config| {
        patient(config);
        credentials::secure(config);
        config["admin_tls"] = true.into();
    });
    let mut demo = Demo::start(&["--config", cluster.file().to_str().unwrap()]);
    demo.prints("leads in epoch ", 1);
    let page = format!("page    https://{}/\n", cluster.node(1).admin);
    assert!(demo.prints("page ", 1).contains(&page), "{page}");
    kill_process(Pid::from_child(&demo.child), Signal::TERM).unwrap();
    demo.ends_with(0);
}
