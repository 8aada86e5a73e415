//! The coroner alone: the test is the node that it attends, the guards of its jobs, those who dial, and the next node.

mod left;

use std::fs::{self, Permissions};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};

/// Far longer than anything takes here.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Longer than a test waits. A coroner whose test was killed ends after sixteen times that.
const LONG: Duration = Duration::from_secs(60);
const NONE: Duration = Duration::ZERO;

/// What it says to all who dial, whatever that means.
const FRAME: &[u8] = b"\0\0\0\x04dead";

/// A coroner, and what its node has of it.
struct Coroner {
    process: Child,
    node: Option<OwnedFd>,
    folder: tempfile::TempDir,
}

/// The first order to a coroner.
fn attend(lease: Duration, failure: Duration) -> Value {
    let (dead, time) =
        (FRAME, |time: Duration| json!({"secs": time.as_secs(), "nanos": time.subsec_nanos()}));
    let charge = json!({
        "dead": dead, "lease": time(lease), "failure": time(failure),
    });
    json!({"Attend": charge})
}

/// A socket that is dialed, and where.
fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

impl Coroner {
    /// Gives it this order first, and this socket; and its answer.
    fn begin(
        folder: tempfile::TempDir,
        order: &Value,
        given: Option<&dyn AsFd>,
    ) -> (Coroner, Value) {
        let (node, far) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .unwrap();
        set_socket_timeout(&node, Timeout::Recv, Some(TIMEOUT)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["coroner", "a"]).current_dir(folder.path()).stdin(Stdio::from(far));
        let process = command.spawn().unwrap();
        drop(command); // and with it the far end
        let coroner = Coroner { process, node: Some(node), folder };
        coroner.order(order, given);
        let (answer, _) = receive(coroner.node.as_ref().unwrap());
        (coroner, serde_json::from_slice(&answer).unwrap())
    }

    /// One that attends, and where its node is dialed.
    fn start(lease: Duration, failure: Duration) -> (Coroner, SocketAddr) {
        let (listener, address) = listener();
        let folder = tempfile::tempdir().unwrap();
        let (coroner, answer) = Coroner::begin(folder, &attend(lease, failure), Some(&listener));
        assert_eq!(answer, json!({"Ok": null}));
        (coroner, address)
    }

    fn order(&self, order: &Value, given: Option<&dyn AsFd>) {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let given: Vec<_> = given.iter().map(|given| given.as_fd()).collect();
        if !given.is_empty() {
            assert!(beside.push(SendAncillaryMessage::ScmRights(&given)));
        }
        let bytes = serde_json::to_vec(order).unwrap();
        let node = self.node.as_ref().unwrap();
        sendmsg(node, &[IoSlice::new(&bytes)], &mut beside, SendFlags::NOSIGNAL).unwrap();
    }

    /// The node has ended.
    fn orphan(&mut self) {
        self.node = None;
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    fn end(&mut self) -> ExitStatus {
        let process = pidfd_open(Pid::from_child(&self.process), PidfdFlags::empty()).unwrap();
        let limit = Timespec::try_from(TIMEOUT).unwrap();
        let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).unwrap();
        assert_eq!(ended, 1, "it goes on");
        self.process.wait().unwrap()
    }

    fn connect(&self, file: &str) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path().join(file)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// The line of a guard that gets it now.
    fn line(&self) -> UnixStream {
        let (line, far) = UnixStream::pair().unwrap();
        self.order(&json!("Guard"), Some(&far));
        line
    }

    /// A guard whose job has begun.
    fn guard(&self) -> UnixStream {
        let mut line = self.line();
        line.write_all(b"b").unwrap();
        line
    }

    /// Waits until it waits for news: what has been told, and is of no concern now, does not keep it awake.
    fn until_it_sleeps(&self) {
        let (file, begun) = (format!("/proc/{}/stat", self.process.id()), Instant::now());
        while !fs::read_to_string(&file).unwrap().contains(") S ") {
            assert!(begun.elapsed() < TIMEOUT, "it takes the time of a processor");
        }
    }

    /// What the next node of this member is left, when the coroner has ended: its socket as well.
    fn leaves(&mut self) -> Vec<u8> {
        let (left, given) = receive(self.connect("coroner.sock"));
        let given = given.expect("the socket is left");
        assert!(!fcntl_getfl(&given).unwrap().contains(OFlags::NONBLOCK), "as a node takes it");
        assert!(self.end().success());
        let next = TcpListener::from(given);
        let _dial = TcpStream::connect(next.local_addr().unwrap()).unwrap();
        left
    }
}

impl Drop for Coroner {
    fn drop(&mut self) {
        let _ = self.process.kill(); // only a failed test leaves one
        let _ = self.process.wait();
    }
}

/// A message, and the descriptor that came with it.
fn receive(from: impl AsFd) -> (Vec<u8>, Option<OwnedFd>) {
    let mut bytes = [0; 4096];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let into = &mut [IoSliceMut::new(&mut bytes)];
    let count = recvmsg(&from, into, &mut beside, RecvFlags::CMSG_CLOEXEC).unwrap().bytes;
    let given = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut given) => given.next(),
        _ => None,
    });
    (bytes[..count].to_vec(), given)
}

fn dial(address: SocketAddr) -> TcpStream {
    let dial = TcpStream::connect(address).unwrap();
    dial.set_read_timeout(Some(TIMEOUT)).unwrap();
    dial.set_write_timeout(Some(TIMEOUT)).unwrap();
    dial
}

/// All that a dial is told until its end.
fn told(mut dial: &TcpStream) -> Vec<u8> {
    let mut told = Vec::new();
    match dial.read_to_end(&mut told) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("it hears nothing"),
        _ => told,
    }
}

/// Nobody hears from it while the node lives, however long that has been dialing.
/// Claim: certificate.
#[test]
fn a_death_is_certified_once_each_guard_has_said_that_nothing_of_its_job_is_left() {
    let (mut coroner, address) = Coroner::start(LONG, NONE);
    let files = fs::read_dir(coroner.folder.path()).unwrap().flatten();
    let files = files.map(|file| (file.file_name(), file.metadata().unwrap().mode() & 0o777));
    assert_eq!(files.collect::<Vec<_>>(), [("coroner.sock".into(), 0o600)], "for the next node");
    let early = dial(address);
    let guards = [(); 2].map(|()| coroner.guard());
    let waits = coroner.line();
    coroner.until_it_sleeps();
    early.set_nonblocking(true).unwrap();
    assert_eq!((&early).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    early.set_nonblocking(false).unwrap();
    coroner.orphan();
    coroner.until_it_sleeps();
    for mut guard in guards {
        guard.write_all(b"c").unwrap();
    }
    coroner.until_it_sleeps();
    early.set_nonblocking(true).unwrap();
    assert_eq!((&early).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "one may begin");
    early.set_nonblocking(false).unwrap();
    drop(waits); // it never began
    for dial in [early, dial(address), dial(address)] {
        assert_eq!(told(&dial), FRAME);
    }
    let open = dial(address);
    assert_eq!(told(&open), FRAME);
    coroner.until_it_sleeps();
    assert_eq!(coroner.leaves(), [b"\x01", FRAME].concat());
}

#[test]
fn what_is_left_before_all_is_clean_is_the_socket_alone() {
    let (mut coroner, address) = Coroner::start(LONG, NONE);
    let _guard = coroner.guard();
    let early = dial(address);
    coroner.orphan();
    assert_eq!(coroner.leaves(), [1]);
    drop(early);
}

/// What is left of its job, nobody knows.
#[test]
fn a_guard_that_ends_without_its_last_word_ends_the_coroner_in_silence() {
    let (mut coroner, address) = Coroner::start(LONG, LONG);
    let (guard, early) = (coroner.guard(), dial(address));
    coroner.orphan();
    drop(guard);
    assert!(coroner.end().success());
    assert_eq!(told(&early), b"");
}

#[test]
fn a_coroner_that_is_dismissed_certifies_nothing() {
    let (mut coroner, address) = Coroner::start(LONG, LONG);
    let early = dial(address);
    coroner.order(&json!("Dismiss"), None);
    assert!(coroner.end().success());
    assert_eq!(told(&early), b"");
}

/// The address of a node may change while it runs. What a whole group or unit is sent, is not meant for its coroner.
#[test]
fn dials_to_the_last_address_of_a_node_are_answered_whatever_signals_came_meanwhile() {
    let (mut coroner, _) = Coroner::start(LONG, LONG);
    let (listener, address) = listener();
    coroner.order(&json!("Listen"), Some(&listener));
    drop(listener);
    for signal in
        [Signal::HUP, Signal::INT, Signal::QUIT, Signal::ALARM, Signal::USR1, Signal::USR2]
    {
        coroner.signal(signal);
    }
    coroner.signal(Signal::TERM); // the death is yet to come
    coroner.guard().write_all(b"c").unwrap();
    coroner.orphan();
    assert_eq!(told(&dial(address)), FRAME);
    assert_eq!(coroner.leaves(), [b"\x01", FRAME].concat());
}

/// Otherwise it would read for ever.
#[test]
fn a_dialer_that_says_too_much_is_cut_off() {
    let (mut coroner, address) = Coroner::start(LONG, LONG);
    coroner.orphan();
    let floods = dial(address);
    assert_eq!(told(&floods), FRAME);
    let bytes = vec![0; 64 * 1024];
    let error = (0..10_000).find_map(|_| (&floods).write(&bytes).err()).expect("it is cut off");
    assert!([ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind()), "{error}");
}

/// A service manager waits for its end after it has sent TERM.
#[test]
fn a_coroner_ends_after_sixteen_leases_and_after_term_already_after_the_failure_time() {
    for (lease, failure, is_termed) in [
        (Duration::from_millis(5), LONG, false),
        (Duration::from_millis(5), LONG, true),
        (LONG, Duration::from_millis(80), true),
    ] {
        let (mut coroner, _) = Coroner::start(lease, failure);
        if is_termed {
            coroner.signal(Signal::TERM);
        }
        coroner.orphan();
        assert!(coroner.end().success(), "{lease:?} {failure:?}");
    }
}

/// All that it does not need is gone, and what it could write to besides: somebody may have removed it, or made it read-only.
#[test]
fn a_death_is_certified_though_the_folder_of_the_state_takes_no_file() {
    let (mut coroner, address) = Coroner::start(LONG, LONG);
    let guard = coroner.guard();
    fs::set_permissions(coroner.folder.path(), Permissions::from_mode(0o500)).unwrap();
    coroner.orphan();
    (&guard).write_all(b"c").unwrap();
    assert_eq!(told(&dial(address)), FRAME);
    assert_eq!(coroner.leaves(), [b"\x01", FRAME].concat());
    fs::set_permissions(coroner.folder.path(), Permissions::from_mode(0o700)).unwrap();
}

/// The port would be held for nobody.
#[test]
fn a_coroner_ends_when_the_state_of_its_member_is_removed() {
    let (mut coroner, address) = Coroner::start(LONG, LONG);
    coroner.orphan();
    let open = dial(address); // so that nothing else wakes it
    assert_eq!(told(&open), FRAME);
    let removed = Command::new("rm").arg(coroner.folder.path().join("coroner.sock")).status();
    assert!(removed.unwrap().success());
    assert!(coroner.end().success());
}

#[test]
fn a_coroner_that_cannot_begin_says_why() {
    let refused = |folder, order: &Value, given: Option<&dyn AsFd>| {
        let (mut coroner, answer) = Coroner::begin(folder, order, given);
        assert_eq!(coroner.end().code(), Some(1));
        answer
    };
    let order = attend(LONG, LONG);
    let (listener, _) = listener();
    let first = json!({"Err": "the first order is to attend"});
    assert_eq!(refused(tempfile::tempdir().unwrap(), &json!("Listen"), Some(&listener)), first);
    assert_eq!(refused(tempfile::tempdir().unwrap(), &order, None), first);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("coroner.new")).unwrap();
    let answer = refused(folder, &order, Some(&listener));
    assert!(answer["Err"].as_str().is_some_and(|why| why.contains("Is a directory")), "{answer}");
    // What one left that was killed while it began is in nobody's way.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("coroner.new"), "").unwrap();
    let (coroner, answer) = Coroner::begin(folder, &order, Some(&listener));
    assert_eq!(answer, json!({"Ok": null}));
    coroner.guard();
}
