//! When a coroner takes the place of one that has ended, and when none does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::local::pair;
use crate::testing::within::within;

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

/// What a node tells of this reason, with this remedy.
fn words(why: &str, remedy: &str) -> Option<String> {
    Some(format!(
        "no coroner would certify a crash of this node ({why}), so that the others would have to wait for the silence of \
         this node, and for its lease: {remedy}"
    ))
}

const TRIED: &str =
    "it is tried again, once a minute at least; remove the cause, or restart this node";
const RUNS: &str = "another one begins once the job of this node has ended";
const LEFT: &str =
    "nobody knows what the last job of this node left, so end that, and restart this node";

/// A node whose coroners are the test: the other side of each that has begun.
struct Node {
    attendance: Attendance,
    far: Arc<Mutex<Vec<Option<OwnedFd>>>>,
}

impl Node {
    fn new() -> Node {
        let far = Arc::new(Mutex::new(Vec::new()));
        let all = far.clone();
        let attendance = Attendance::begin(move || {
            let (line, far) = pair::new().unwrap();
            all.lock().push(Some(far));
            Ok(Coroner::at(line))
        });
        Node { attendance, far }
    }

    fn begun(&self) -> usize {
        self.far.lock().len()
    }

    /// The last coroner ends, without a word.
    fn coroner_ends(&self) {
        drop(self.far.lock().last_mut().unwrap().take());
        // A process that another test just forks has a copy, until it becomes its program.
        within(LONG, "it has ended", || !self.with(|state| state.has_coroner()));
    }

    fn with<T>(&self, call: impl FnOnce(&mut AttendanceState) -> T) -> T {
        let Attendance::Asked(coroners) = &self.attendance else { panic!("nobody was asked") };
        call(&mut coroners.state.lock())
    }

    /// What is wrong, once the pause until the next start is over.
    fn look(&self) -> Option<String> {
        self.with(|state| state.pause = Duration::ZERO);
        self.attendance.look()
    }

    fn job(&self) -> JobRecord {
        self.attendance.begins(true).expect("the guard registers")
    }

    /// What the node has said to its last coroner.
    fn heard(&self) -> String {
        let far = self.far.lock();
        let far = far.last().unwrap().as_ref().unwrap();
        rustix::io::ioctl_fionbio(far, true).unwrap();
        let mut bytes = [0; 64];
        let count = rustix::io::read(far, &mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    fn answer(&self, answer: &str) {
        let far = self.far.lock();
        rustix::io::write(far.last().unwrap().as_ref().unwrap(), answer.as_bytes()).unwrap();
    }
}

/// Rule Z7.
#[test]
fn a_coroner_that_has_ended_is_replaced_while_no_job_runs_and_nothing_is_left_of_one() {
    let node = Node::new();
    assert_eq!((node.look(), node.begun()), (None, 1));
    node.coroner_ends();
    assert_eq!((node.look(), node.begun()), (None, 2), "no job ran");

    let [one, other] = [node.job(), node.job()];
    node.coroner_ends();
    assert_eq!((node.look(), node.begun()), (words("it has ended", RUNS), 2));
    one.ends_clean();
    assert_eq!((node.look(), node.begun()), (words("it has ended", RUNS), 2), "one of two");
    other.ends_clean();
    assert_eq!((node.look(), node.begun()), (None, 3));

    let job = node.job();
    node.coroner_ends();
    drop(job);
    assert_eq!((node.look(), node.begun()), (words("it has ended", LEFT), 3), "who knows?");
    node.job().ends_clean();
    assert_eq!(
        (node.look(), node.begun()),
        (words("it has ended", LEFT), 3),
        "another one knows nothing of that"
    );
}

/// Rule Z7: a coroner that lives has heard the last word of each guard, also where the process that ran the job was killed.
#[test]
fn a_coroner_that_lives_knows_whether_a_job_left_something() {
    let node = Node::new();
    drop(node.job());
    assert_eq!((node.look(), node.heard().as_str()), (None, "{\"Attest\":1}"));
    assert_eq!((node.look(), node.heard().as_str()), (None, ""), "it is asked once");
    drop(node.job());
    assert_eq!((node.look(), node.heard().as_str()), (None, "{\"Attest\":2}"));
    node.answer("1");
    node.look();
    assert!(node.with(|state| state.is_in_doubt), "the answer is older than the second job");
    let runs = node.job();
    node.answer("3");
    node.look();
    assert!(node.with(|state| state.is_in_doubt), "a job runs");
    drop(runs);
    node.look();
    assert!(!node.with(|state| state.is_in_doubt));
    node.coroner_ends();
    assert_eq!((node.look(), node.begun()), (None, 2));
}

/// Nobody would wait for the end of such a job.
#[test]
fn a_coroner_is_dismissed_for_a_job_whose_guard_does_not_register_and_replaced_after_that() {
    let node = Node::new();
    let job = node.attendance.begins(false).unwrap();
    assert_eq!(node.heard(), "\"Dismiss\"");
    node.coroner_ends();
    assert_eq!((node.look(), node.begun()), (words("it has ended", RUNS), 1));
    job.ends_clean();
    assert_eq!((node.look(), node.begun()), (None, 2));
    let mut jobs = std::iter::repeat_with(|| node.attendance.begins(false)).take(10_000);
    assert!(jobs.any(|job| job.is_none()), "it stands still, and would certify the death");
    assert!(Attendance::Unasked.begins(false).is_some(), "nobody certifies it");
}

#[test]
fn one_that_cannot_be_started_is_tried_again_after_longer_and_longer_pauses() {
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    let attendance = Attendance::begin(|| {
        TRIES.fetch_add(1, Ordering::SeqCst);
        Err(io::Error::other("no process is left"))
    });
    let problem = words("no process is left", TRIED);
    assert_eq!((attendance.look(), TRIES.load(Ordering::SeqCst)), (problem.clone(), 1), "so soon");
    let Attendance::Asked(coroners) = &attendance else { panic!("nobody was asked") };
    let mut pauses = Vec::new();
    for _ in 0..8 {
        pauses.push(coroners.state.lock().pause.as_secs());
        coroners.state.lock().restart(&coroners.begin);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!((attendance.look(), TRIES.load(Ordering::SeqCst)), (problem, 9));
    assert!(attendance.register().unwrap().is_none());
    assert_eq!(Attendance::Unasked.look(), None);
    assert!(Attendance::Unasked.register().unwrap().is_none());
}

/// What it hears last is that it has nothing to certify, and the node waits for its end, but not for long.
#[test]
fn a_node_that_ends_dismisses_its_coroner_and_starts_no_other() {
    let node = Node::new();
    let begun = Instant::now();
    node.attendance.dismiss();
    assert!(begun.elapsed() >= Duration::from_millis(500), "it has not ended");
    assert_eq!(node.heard(), "\"Dismiss\"");
    node.coroner_ends();
    node.attendance.dismiss();
    assert_eq!((node.look(), node.begun()), (words("it has ended", TRIED), 1));
    Attendance::Unasked.dismiss();
}

#[test]
fn each_new_socket_of_the_node_is_for_the_coroner_that_lives() {
    let node = Node::new();
    let moved = node.attendance.on_move();
    node.coroner_ends();
    assert_eq!(node.look(), None);
    moved(&[Arc::new(TcpListener::bind("127.0.0.1:0").unwrap())]);
    assert_eq!(node.heard(), "\"Listen\"");
    drop(node);
    moved(&[Arc::new(TcpListener::bind("127.0.0.1:0").unwrap())]); // to nobody
    Attendance::Unasked.on_move()(&[Arc::new(TcpListener::bind("127.0.0.1:0").unwrap())]);
}
