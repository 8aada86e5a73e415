//! A node that leads, and what the processes attached to it hear and obtain.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Instant;

use super::*;
use crate::coroner::attending::Coroner;
use crate::exec::clock;
use crate::exec::leader::{Leader, OwnNode};
use crate::exec::words::Welcome;
use crate::exec::words::{FromExec, FromNode};
use crate::local::lines;
use crate::local::pair;
use crate::local::passing::{self, Received};
use crate::node::example::{Example, leader};
use crate::node::handle::{Command, Handle};
use crate::node::leadership::Change;
use crate::node::logged::logged;
use crate::testing::within::within;

mod locks;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

/// Nobody yet, and a state folder.
fn attached(node: &Example) -> (Attached, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let addresses = ["10.0.0.9/24%eth0".parse().unwrap()];
    let state = folder.path().to_owned();
    (Attached::new(node.handle(), state, None, &addresses, Attendance::Unasked), folder)
}

/// One that has asked to be attached.
struct Exec {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Exec {
    fn of(attached: &Attached) -> Exec {
        let (stream, far) = UnixStream::pair().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        attached.take(far);
        let lines = BufReader::new(stream.try_clone().unwrap());
        Exec { stream, lines }
    }

    /// The first lines of an answer, up to the empty one.
    fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        head
    }

    /// Its number, if it is taken in.
    fn number(&mut self) -> Option<String> {
        self.head().starts_with("HTTP/1.1 101 ").then(|| match self.hears() {
            FromNode::Welcome(welcome) => welcome.lock,
            other => panic!("{other:?}"),
        })
    }

    fn hears(&mut self) -> FromNode {
        lines::read(&mut self.lines).unwrap().expect("the connection lasts")
    }

    /// The answer to this. The leadership is renewed meanwhile.
    fn asks(&mut self, word: &FromExec) -> FromNode {
        lines::write(&self.stream, word).unwrap();
        loop {
            match self.hears() {
                FromNode::Leads { .. } => {}
                answer => return answer,
            }
        }
    }

    /// The descriptors that come with the leave to begin a command, or what is said instead. It was told the leadership.
    fn takes(&mut self) -> Result<Vec<OwnedFd>, FromNode> {
        // The leadership may have been renewed by now.
        let (mut text, mut all) = (self.lines.buffer().to_vec(), Vec::new());
        self.lines.consume(text.len());
        lines::write(&self.stream, &FromExec::Hold { most_ms: 1000, takes: true }).unwrap();
        loop {
            let mut bytes = [0; 4096];
            let Received { count, given } = passing::receive_all(&self.stream, &mut bytes).unwrap();
            text.extend_from_slice(&bytes[..count]);
            all.extend(given.unwrap());
            let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { continue };
            let lines = text.drain(..=end).collect::<Vec<u8>>();
            let mut lines = &lines[..];
            while let Some(word) = lines::read(&mut lines).unwrap() {
                match word {
                    FromNode::Leads { .. } => {}
                    FromNode::Held(true) => return Ok(all),
                    other => return Err(other),
                }
            }
        }
    }

    fn holds(&mut self) {
        let hold = FromExec::Hold { most_ms: 1000, takes: false };
        assert_eq!(self.asks(&hold), FromNode::Held(true));
    }
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    within(LONG, what, is_so);
}

/// How many commands hold the leadership of this node.
fn holding(node: &Example) -> i64 {
    node.handle().tally().exec_running.get()
}

#[test]
fn a_process_is_told_the_leadership_and_what_became_of_its_words() {
    let node = leader().unwrap();
    let (attached, folder) = attached(&node);
    let mut exec = Exec::of(&attached);
    let head =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: electd-exec\r\n\r\n";
    assert_eq!(exec.head(), head);
    let (lock, addresses) = ("exec-1.lock".to_owned(), vec!["10.0.0.9/24%eth0".to_owned()]);
    let file = folder.path().join(&lock);
    let welcome = Welcome {
        lock,
        addresses,
        clock: Some(clock::own()),
        takes_failures: true,
        gives: true,
        takes_clean: true,
        takes_late: true,
        takes_locks: true,
        takes_urls: true,
        takes_periods: true,
        takes_seen: true,
    };
    assert_eq!(exec.hears(), FromNode::Welcome(welcome));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let leadership = node.handle().leadership().unwrap();
    for _ in 0..2 {
        let FromNode::Leads { epoch, until, renewal } = exec.hears() else { panic!("it leads") };
        assert_eq!(epoch, leadership.epoch());
        assert!(until > crate::node::now().0.saturating_sub(LONG.as_nanos() as u64));
        assert_eq!(renewal.map(Duration::from_nanos), leadership.renewal());
    }
    exec.holds();
    until("it holds the leadership", || holding(&node) == 1);
    lines::write(&exec.stream, &FromExec::Ended).unwrap();
    until("nothing of the command is left", || holding(&node) == 0);
    let alone = node.handle().command(Command::Resign { to: None }, LONG).unwrap_err().to_string();
    assert_eq!(exec.asks(&FromExec::Resign), FromNode::Resigned(Some(alone)));
    let failed = FromExec::Failed { reason: "code 3".to_owned() };
    assert_eq!(exec.asks(&failed), FromNode::Resigned(None));
    let handle = node.handle();
    until("the node stands back", || {
        handle.status().failure.is_some_and(|failure| failure.reason == "code 3")
    });
    drop(exec);
    until("its number is free", || !file.exists());
}

#[test]
fn so_many_are_attached_and_a_number_that_is_free_again_is_given_to_the_next() {
    let node = leader().unwrap();
    let (attached, _folder) = attached(&node);
    let mut all: Vec<Exec> = (0..MOST).map(|_| Exec::of(&attached)).collect();
    assert_eq!(all[255].number().as_deref(), Some("exec-256.lock"));
    let mut refused = String::new();
    Exec::of(&attached).lines.read_to_string(&mut refused).unwrap();
    let sentence = "{\"error\":\"256 commands are attached to this node, which is the most\"}";
    assert_eq!(
        refused,
        format!(
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{sentence}",
            sentence.len()
        )
    );
    all.remove(6);
    let begun = Instant::now();
    let number = loop {
        assert!(begun.elapsed() < LONG);
        if let Some(number) = Exec::of(&attached).number() {
            break number;
        }
    };
    assert_eq!(number, "exec-7.lock");
}

#[test]
fn a_node_that_stops_ends_all_connections_and_takes_nobody_in() {
    let node = leader().unwrap();
    let (attached, folder) = attached(&node);
    let mut exec = Exec::of(&attached);
    assert!(exec.number().is_some());
    let later = attached.clone();
    attached.stop();
    exec.lines.read_to_string(&mut String::new()).unwrap();
    assert!(later.lines.lock().is_empty(), "nobody is attached");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "its lock is gone");
    let mut refused = String::new();
    Exec::of(&later).lines.read_to_string(&mut refused).unwrap();
    assert!(refused.ends_with("\r\n\r\n{\"error\":\"this node is stopping\"}"), "{refused}");
}

/// Its guard ends the command, and holds a lock until nothing of it is left.
#[test]
fn a_leadership_waits_for_the_guard_of_a_process_that_died() {
    let node = leader().unwrap();
    let (attached, folder) = attached(&node);
    let mut exec = Exec::of(&attached);
    assert_eq!(exec.number().as_deref(), Some("exec-1.lock"));
    let file = lock::of_exec(folder.path(), 1);
    let guard = exec.takes().unwrap();
    fs::remove_file(&file).unwrap(); // as a cleaner may
    let other = lock::take(&file).unwrap();
    drop(exec);
    let mut next = Exec::of(&attached);
    assert_eq!(next.number().as_deref(), Some("exec-2.lock"));
    next.holds();
    lines::write(&next.stream, &FromExec::Ended).unwrap();
    until("one of them holds it", || holding(&node) == 1);
    assert!(file.exists());
    drop(other); // whoever has the lock of a file of that name has nothing to do with it
    let took = Exec::of(&attached).number();
    assert_eq!((took.as_deref(), holding(&node)), (Some("exec-3.lock"), 1));
    drop(guard);
    until("nothing of the command is left", || holding(&node) == 0);
    until("its number is free", || !file.exists());
}

/// As a runner in the process of the node sees it.
#[test]
fn a_node_is_asked_in_its_own_process() {
    let node = leader().unwrap();
    let (handle, folder) = (node.handle(), tempfile::tempdir().unwrap());
    let own = OwnNode::new(handle.clone(), Attendance::Unasked, folder.path());
    let leadership = own.leadership().expect("it leads");
    let changes = own.changes();
    assert!(leadership.is_valid() && !own.is_gone());
    for is_clean in [true, false] {
        let mut hold = own.hold(LONG).expect("it leads on");
        until("the leadership is held", || holding(&node) == 1);
        let equipment = own.equip(&mut hold).unwrap();
        let held = own.equip(&mut hold).unwrap_err().to_string();
        assert!(held.ends_with("job.lock is held: another job has not ended"), "{held}");
        drop(equipment);
        own.release(hold, is_clean);
        until("the leadership is not held", || holding(&node) == 0);
    }
    let told = logged(|| own.hand_over()).join("; ");
    let alone = handle.command(Command::Resign { to: None }, LONG).unwrap_err();
    assert_eq!(told, format!("WARN : this node leads on: {alone}"));
    own.stand_back("code 3");
    let failure = handle.status().failure.expect("it stands back");
    assert_eq!((failure.count, failure.reason.as_str()), (1, "code 3"));
    drop(node);
    assert!(changes.try_iter().any(|change| change == Change::NotLeading));
}

/// It has to tell the others something, and its lines wait in the socket.
#[test]
fn a_process_that_does_not_read_is_waited_for_a_second() {
    let node = leader().unwrap();
    let (attached, _folder) = attached(&node);
    let mut exec = Exec::of(&attached);
    assert!(exec.number().is_some());
    let timeout = attached.lines.lock()[&1].stream.write_timeout().unwrap();
    assert_eq!(timeout, Some(Duration::from_secs(1)));
}

/// The users of the group open the lock, and may not write to it.
#[test]
fn a_process_is_told_not_too_many_addresses_and_a_group_may_read_its_lock_if_it_takes_none() {
    let node = leader().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let group = if is_root { 65533 } else { rustix::process::getegid().as_raw() };
    let all: Vec<Address> =
        (1..=33).map(|host| format!("10.0.0.{host}/24%eth0").parse().unwrap()).collect();
    let state = folder.path().to_owned();
    let attached = Attached::new(node.handle(), state, Some(group), &all, Attendance::Unasked);
    let mut exec = Exec::of(&attached);
    exec.head();
    let FromNode::Welcome(Welcome { lock, addresses, .. }) = exec.hears() else {
        panic!("no welcome")
    };
    let shown: Vec<String> = all[..32].iter().map(Address::to_string).collect();
    assert_eq!(addresses, shown);
    exec.hears(); // the leadership
    let found = || fs::metadata(folder.path().join(&lock)).unwrap();
    let given = exec.takes().unwrap();
    assert_eq!(found().permissions().mode() & 0o777, 0o600, "nobody else can lock it");
    drop(given);
    lines::write(&exec.stream, &FromExec::Ended).unwrap();
    exec.holds();
    assert_eq!((found().permissions().mode() & 0o777, found().gid()), (0o640, group));
}

/// A job that does not begin is told, and its process has the node hand over.
#[test]
fn a_process_is_told_why_its_command_cannot_begin() {
    let node = leader().unwrap();
    let (attached, folder) = attached(&node);
    fs::create_dir(folder.path().join("exec-1.lock")).unwrap();
    let mut exec = Exec::of(&attached);
    exec.number().unwrap();
    let FromNode::Leads { .. } = exec.hears() else { panic!("it leads") };
    let why = format!(
        "cannot lock {}: it is a folder, not a regular file",
        folder.path().join("exec-1.lock").display()
    );
    assert_eq!(exec.takes().unwrap_err(), FromNode::Unable(why));
    until("nothing is held", || holding(&node) == 0);
}

/// Before the leadership goes, and where it has gone.
#[test]
fn a_process_is_told_that_a_leadership_ends() {
    let node = leader().unwrap();
    let (attached, _folder) = attached(&node);
    let mut exec = Exec::of(&attached);
    assert!(exec.number().is_some());
    exec.holds();
    let stops = thread::spawn(move || drop(node));
    let told = |exec: &mut Exec| loop {
        match exec.hears() {
            FromNode::Leads { .. } => {}
            word => break word,
        }
    };
    assert_eq!(told(&mut exec), FromNode::Ending);
    lines::write(&exec.stream, &FromExec::Ended).unwrap();
    assert_eq!(told(&mut exec), FromNode::DoesNotLead);
    stops.join().unwrap();
    let hold = FromExec::Hold { most_ms: 1000, takes: true };
    assert_eq!(exec.asks(&hold), FromNode::Held(false), "there is nothing to hold");
}

/// Nobody would wait for the end of its job.
#[test]
fn the_leadership_is_held_for_a_guard_that_the_coroner_cannot_know_only_if_nobody_certifies_a_death()
 {
    let node = leader().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (line, far) = pair::new().unwrap();
    let coroner = Coroner::at(line);
    let ordered = || pair::hear::<String>(&far, Some(LONG)).unwrap().unwrap();
    let (state, attendance) = (folder.path().to_owned(), Attendance::by(coroner.clone()));
    let attached = Attached::new(node.handle(), state, None, &[], attendance);
    let mut exec = Exec::of(&attached);
    exec.number().unwrap();
    exec.hears(); // the leadership
    let mut given = exec.takes().unwrap();
    let (order, mut line) = ordered();
    assert_eq!(order, "Guard", "before the process has the other end");
    File::from(given.remove(1)).write_all(b"b").unwrap();
    let mut said = String::new();
    File::from(line.remove(0)).read_to_string(&mut said).unwrap();
    assert_eq!(said, "b");
    drop(given);
    lines::write(&exec.stream, &FromExec::Ended).unwrap();
    assert_eq!(exec.asks(&FromExec::Hold { most_ms: 1000, takes: false }), FromNode::Held(true));
    assert_eq!(ordered().0, "Dismiss");
    while coroner.dismiss().is_ok() {} // it stands still, and may certify the death later
    assert_eq!(exec.asks(&FromExec::Hold { most_ms: 1000, takes: false }), FromNode::Held(false));
    let own = std::process::id();
    let remedy = format!("have the process {own} go on (kill -CONT {own}), or restart this node");
    let why = format!("the coroner of this node stands still: {remedy}");
    assert_eq!(exec.takes().unwrap_err(), FromNode::Unable(why));
}
