//! What a thread of a node may be given, as far as the host of the tests allows it.

use std::fs;
use std::process::Command;
use std::thread;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::*;
use crate::testing::alone::alone;

/// The policy (0: ordinary, 1: SCHED_FIFO) and the real-time priority of a thread, as the kernel shows them.
fn scheduling(stat: &str) -> (u32, u8) {
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let field = |number: usize| fields.split_whitespace().nth(number - 3).unwrap();
    (field(41).parse().unwrap(), field(40).parse().unwrap())
}

fn own_scheduling() -> (u32, u8) {
    scheduling(&fs::read_to_string("/proc/thread-self/stat").unwrap())
}

/// Whether this host lets a process run in real time, by the word of another program.
fn host_allows() -> bool {
    let mut tries = Command::new("chrt");
    tries.args(["--fifo", &PRIORITY.to_string(), "true"]);
    tries.output().is_ok_and(|output| output.status.success())
}

#[test]
fn what_a_thread_in_real_time_starts_is_scheduled_ordinarily() {
    let wanted = Realtime(Some(Arc::default()));
    thread::spawn(move || {
        wanted.enter();
        let status = wanted.status().unwrap();
        if let Some(refused) = &status.refused {
            assert!(!host_allows() && refused.contains("RLIMIT_RTPRIO"), "{refused}");
            println!("skipped: {refused}");
            return;
        }
        assert_eq!((own_scheduling(), status.holds), ((1, 10), true));
        assert_eq!(thread::spawn(own_scheduling).join().unwrap(), (0, 0));
        let child = Command::new("cat").arg("/proc/self/stat").output().unwrap();
        assert_eq!(scheduling(&String::from_utf8(child.stdout).unwrap()), (0, 0));
    })
    .join()
    .unwrap();
}

#[test]
fn a_node_that_does_not_want_it_gets_nothing() {
    let ordinary = Realtime::begin(false);
    thread::spawn(move || {
        ordinary.enter();
        assert_eq!((own_scheduling(), ordinary.status()), ((0, 0), None));
    })
    .join()
    .unwrap();
}

/// What a status says of a node that was refused its memory, and its threads under this limit.
fn sentence(highest: Option<u64>) -> String {
    let refused = RealtimeRefusals {
        memory: Some("its memory is not locked".to_owned()),
        scheduling: Mutex::new(Some(refused::scheduling("not permitted", PRIORITY, highest))),
    };
    let status = Realtime(Some(Arc::new(refused))).status().unwrap();
    assert!(!status.holds);
    status.refused.unwrap()
}

#[test]
fn the_words_of_a_refusal_name_what_forbids_it() {
    let limit = "its threads have ordinary scheduling: not permitted: RLIMIT_RTPRIO is 9 and has to be 10 or more";
    assert!(sentence(Some(9)).starts_with(limit), "{}", sentence(Some(9)));
    let remedy =
        " (in a unit LimitRTPRIO=10 and RestrictRealtime=no, for a container --ulimit rtprio=10)";
    assert_eq!(sentence(Some(9)), format!("{limit}{remedy}; its memory is not locked"));
    let forbidden = "its threads have ordinary scheduling: not permitted: RLIMIT_RTPRIO allows it, so a filter or the \
                     control group forbids it (in a unit RestrictRealtime=no and \
                     SystemCallFilter=sched_setscheduler; where the kernel schedules groups in real time, \
                     cpu.rt_runtime_us); its memory is not locked";
    for enough in [Some(10), None] {
        assert_eq!(sentence(enough), forbidden);
    }
}

#[test]
fn a_thread_that_wakes_the_election_runs_in_real_time_meanwhile() {
    let wanted = Realtime(Some(Arc::default()));
    thread::spawn(move || {
        let meanwhile = wanted.meanwhile(own_scheduling);
        if meanwhile == (0, 0) && !host_allows() {
            println!("skipped: this host refuses it");
            return;
        }
        assert_eq!((meanwhile, own_scheduling()), ((1, 10), (0, 0)));
        assert_eq!(Realtime::default().meanwhile(own_scheduling), (0, 0));
    })
    .join()
    .unwrap();
}

/// What is refused is known from the begin on, before a thread has asked for it.
#[test]
fn a_trial_finds_what_a_thread_would_find_and_leaves_the_thread_that_asks_alone() {
    let thread = || thread::spawn(|| promote().map(|_| ())).join().unwrap();
    let tried = thread::spawn(|| (try_scheduling(), own_scheduling())).join().unwrap();
    assert_eq!(tried, (thread(), (0, 0)));
}

#[test]
fn the_greatest_priority_is_what_the_system_tells_of_this_process() {
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime priority")).unwrap();
    let told = line.split_whitespace().next().unwrap().parse().ok();
    assert_eq!(refused::highest_priority(), told, "{line}");
}

#[test]
fn memory_that_the_system_does_not_lock_is_told_with_the_remedy() {
    assert_eq!(
        refused::lock(&rustix::io::Errno::NOMEM),
        "its memory is not locked: mlockall: Cannot allocate memory (os error 12): give this host more memory, or the \
         node a unit that may lock it"
    );
    let limit = "its memory is not locked: RLIMIT_MEMLOCK is ";
    assert!(
        refused::memory().is_none_or(|why| why.starts_with(limit) && why.ends_with("memlock=-1)"))
    );
}

#[test]
fn all_that_is_refused_is_one_sentence() {
    let words = |refused: [Option<&str>; 2]| in_words(refused.map(|one| one.map(str::to_owned)));
    assert_eq!(words([None, None]), None);
    assert_eq!(words([Some("a"), None]).as_deref(), Some("a"));
    assert_eq!(words([Some("a"), Some("b")]).as_deref(), Some("a; b"));
    let holds = Realtime(Some(Arc::default())).status();
    assert_eq!(holds, Some(RealtimeStatus { holds: true, refused: None }));
}

/// Neither capability, and these limits for all of this process.
fn limited(realtime: u64, memory: u64) {
    let mut own = capabilities(None).unwrap();
    own.effective -= CapabilitySet::SYS_NICE | CapabilitySet::IPC_LOCK;
    set_capabilities(None, own).unwrap();
    for (resource, limit) in [(Resource::Rtprio, realtime), (Resource::Memlock, memory)] {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        setrlimit(resource, limit).unwrap();
    }
}

/// And not only when the first thread of the node has tried.
#[test]
fn a_process_that_may_neither_is_told_both_with_the_limits_that_it_has() {
    let this = "a_process_that_may_neither_is_told_both_with_the_limits_that_it_has";
    if alone(&format!("realtime::tests::{this}")).is_some() {
        return;
    }
    limited(0, 65_536);
    let words = "its threads have ordinary scheduling: Operation not permitted (os error 1): RLIMIT_RTPRIO is 0 and \
                 has to be 10 or more (in a unit LimitRTPRIO=10 and RestrictRealtime=no, for a container --ulimit \
                 rtprio=10); its memory is not locked: RLIMIT_MEMLOCK is 65536 bytes and has to be unlimited (in a \
                 unit LimitMEMLOCK=infinity, for a container --ulimit memlock=-1)";
    let status = Realtime::begin(true).status().unwrap();
    assert_eq!(status, RealtimeStatus { holds: false, refused: Some(words.to_owned()) });
    assert_eq!(refusal().as_deref(), Some(words));
    assert_eq!(Realtime::begin(false).status(), None);
    let wanted = Realtime(Some(Arc::default()));
    assert_eq!(wanted.meanwhile(own_scheduling), (0, 0));
    assert!(wanted.status().unwrap().holds, "nobody was refused yet");
    wanted.enter();
    let (scheduling, _) = words.split_once("; ").unwrap();
    assert_eq!(wanted.status().unwrap().refused.as_deref(), Some(scheduling));
}

/// What is mapped later, too, as far as it is used.
#[test]
fn a_node_that_wants_it_has_the_memory_of_its_process_locked() {
    if alone("realtime::tests::a_node_that_wants_it_has_the_memory_of_its_process_locked").is_some()
    {
        return;
    }
    let locked = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    assert_eq!(locked(), 0);
    if let Some(why) = refused::memory() {
        return println!("skipped: {why}");
    }
    let realtime = Realtime::begin(true);
    let before = locked();
    assert!(before > 0);
    let later = vec![1_u8; 64 << 20];
    assert!(locked() >= before + (60 << 10), "{} kB of {before}", locked());
    drop(later);
    let refused = realtime.status().unwrap().refused;
    assert!(refused.is_none_or(|why| !why.contains("memory")));
}
