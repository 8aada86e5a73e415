//! Which guards a coroner takes, and what it makes of their ends.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::{env, thread};

use rustix::process::Signal;
use socket2::{Domain, SockAddr, Socket, Type};

use super::*;

const INCARNATION: u64 = 7;

/// Registers in this folder.
fn register(folder: &Path) -> io::Result<Option<Registered>> {
    let at = Register { socket: path(folder), incarnation: INCARNATION };
    Registered::new(&at, Duration::from_secs(100))
}

/// Registers with whoever answers this, and ends.
fn answered(answer: &[u8]) -> io::Result<Option<Registered>> {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(path(folder.path())).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut said = [0; 8];
            stream.read_exact(&mut said).unwrap();
            assert_eq!(u64::from_le_bytes(said), INCARNATION);
            stream.write_all(answer).unwrap();
        });
        register(folder.path())
    })
}

/// A job whose guard nobody knows would still run when the death of its node has been certified.
#[test]
fn a_guard_begins_if_it_is_known_or_if_nobody_will_ever_certify() {
    assert!(answered(&[REGISTERED]).unwrap().is_some());
    for refusal in [&[REFUSED][..], b"?", b""] {
        assert!(answered(refusal).is_err(), "{refusal:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(register(folder.path()).is_err(), "it has certified: the file is gone");
    drop(UnixListener::bind(path(folder.path())).unwrap());
    assert!(register(folder.path()).unwrap().is_none(), "it was killed: the file is there");
}

/// Says to a test that it is the process that a coroner would be.
const LISTENS: &str = "ELECTD_TEST_LISTENS";

/// It accepts nobody, and ends with its stderr. It does nothing where nobody wants that.
#[test]
fn a_process_listens_at_its_stdin() {
    if env::var_os(LISTENS).is_some() {
        rustix::net::listen(io::stdin(), 8).unwrap();
        rustix::io::write(io::stderr(), b"l").unwrap();
        rustix::io::read(io::stderr(), &mut [0; 1]).unwrap();
    }
}

/// Such a process, what it waits for the end of, and the socket where guards dial.
fn listening(folder: &Path) -> (Child, UnixStream, Socket) {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(path(folder)).unwrap()).unwrap();
    let (mut line, far) = UnixStream::pair().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["coroner::guards::tests::a_process_listens_at_its_stdin", "--exact"])
        .env(LISTENS, "yes")
        .stdin(OwnedFd::from(socket.try_clone().unwrap()))
        .stdout(Stdio::null())
        .stderr(OwnedFd::from(far));
    let child = command.spawn().unwrap();
    line.read_exact(&mut [0; 1]).unwrap();
    (child, line, socket)
}

/// Registers in this folder, where nobody answers.
fn register_in_vain(folder: &Path) -> io::Result<Option<Registered>> {
    let at = Register { socket: path(folder), incarnation: INCARNATION };
    Registered::new(&at, Duration::from_millis(200))
}

/// A job waits for none, and a killed one certifies nothing.
#[test]
fn a_coroner_that_stands_still_is_killed_by_a_guard_that_begins() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, line, socket) = listening(folder.path());
    drop(socket);
    assert!(register_in_vain(folder.path()).unwrap().is_none(), "it begins");
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    drop(line);
}

/// Otherwise the death of its node would not be certified, although it begins nothing.
#[test]
fn a_guard_that_gives_up_says_so_to_a_coroner_that_goes_on_nevertheless() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, line, socket) = listening(folder.path());
    drop(line);
    assert!(child.wait().unwrap().success());
    // The process that began to listen there is gone, and cannot be killed; and another listens.
    let error = register_in_vain(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let (mut line, _) = UnixListener::from(OwnedFd::from(socket)).accept().unwrap();
    let mut said = Vec::new();
    line.read_to_end(&mut said).unwrap();
    assert_eq!(said, [&INCARNATION.to_le_bytes()[..], &[CLEAN]].concat());
}

#[test]
fn a_guard_has_half_of_its_time_left_when_its_coroner_does_not_answer() {
    assert_eq!(half(Duration::from_secs(9)), Duration::from_millis(4500));
    assert_eq!(half(Duration::from_nanos(1)), Duration::from_nanos(1), "0 would be no limit");
}

/// The coroner's side, with nobody connected.
fn guards() -> Guards {
    Guards { listener: None, incarnation: INCARNATION, lines: Vec::new(), is_unclean: false }
}

/// Somebody who connects and says this.
fn says(guards: &mut Guards, said: &[u8], node_lives: bool) -> UnixStream {
    let (mut stream, far) = UnixStream::pair().unwrap();
    stream.set_nonblocking(true).unwrap();
    stream.write_all(said).unwrap();
    guards.take(far);
    guards.hear(node_lives);
    stream
}

fn guard(guards: &mut Guards) -> UnixStream {
    says(guards, &INCARNATION.to_le_bytes(), true)
}

/// What somebody has heard; nothing if the connection has ended.
fn heard(mut stream: &UnixStream) -> Option<u8> {
    let mut answer = [0];
    stream.read_exact(&mut answer).ok().map(|()| answer[0])
}

#[test]
fn only_a_guard_of_this_life_of_a_node_that_lives_is_taken() {
    let (own, other) = (INCARNATION.to_le_bytes(), (INCARNATION - 1).to_le_bytes());
    for (said, node_lives, answer) in [
        (&own[..], true, REGISTERED),
        (&own[..], false, REFUSED),
        (&other[..], true, REFUSED),
        (&b"GET /"[..], true, REFUSED),
    ] {
        let mut guards = guards();
        let stream = says(&mut guards, said, node_lives);
        assert_eq!(heard(&stream), Some(answer), "{said:?}");
        assert_eq!(guards.are_clean(), answer == REFUSED, "{said:?}");
    }
}

#[test]
fn all_is_clean_once_each_guard_has_said_so() {
    let mut guards = guards();
    let all = [(); 2].map(|()| guard(&mut guards));
    drop(says(&mut guards, b"", true));
    for guard in all {
        assert!(!guards.are_clean());
        Registered(guard).leave_clean();
        guards.hear(false);
    }
    assert!(guards.are_clean() && !guards.is_unclean());
}

/// What is left of its job, nobody knows.
#[test]
fn a_guard_that_ends_without_its_last_word_is_never_forgotten() {
    for last in [&b""[..], b"?", b"cc"] {
        let mut guards = guards();
        let (mut ends, clean) = (guard(&mut guards), guard(&mut guards));
        ends.write_all(last).unwrap();
        drop(ends);
        Registered(clean).leave_clean();
        guards.hear(true);
        guards.hear(true);
        assert!(guards.is_unclean() && !guards.are_clean(), "{last:?}");
    }
}

/// 64 of `exec` and the node's own, beside strangers who say nothing.
#[test]
fn all_guards_of_a_node_are_taken_however_many_strangers_connect() {
    let mut guards = guards();
    let strangers: Vec<_> = (0..MOST).map(|_| says(&mut guards, b"", true)).collect();
    let all: Vec<_> = (0..65).map(|_| guard(&mut guards)).collect();
    assert!(all.iter().all(|guard| heard(guard) == Some(REGISTERED)));
    let more: Vec<_> = (0..MOST).map(|_| says(&mut guards, b"", true)).collect();
    let registered = guards.lines.iter().filter(|line| line.is_registered).count();
    assert_eq!((registered, guards.lines.len()), (65, MOST));
    assert!(!guards.is_unclean());
    drop((strangers, more));
    guards.hear(true);
    let late: Vec<_> = (65..MOST).map(|_| guard(&mut guards)).collect();
    assert_eq!(heard(&guard(&mut guards)), None, "there is no room");
    drop(late);
}

#[test]
fn a_guard_registers_in_the_folder_of_the_state() {
    assert_eq!(path(Path::new("/var/lib/a")), Path::new("/var/lib/a/guards.sock"));
}
