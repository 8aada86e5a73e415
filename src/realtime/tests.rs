//! What a thread of a node may be given, as far as the host of the tests allows it.

use std::fs;
use std::process::Command;
use std::thread;

use super::*;

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
        assert_eq!((own_scheduling(), status.holds), ((1, PRIORITY), true));
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
    let refused = Refused {
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
    for enough in [Some(10), None] {
        assert!(sentence(enough).contains("RLIMIT_RTPRIO allows it"), "{}", sentence(enough));
    }
    assert!(sentence(Some(9)).ends_with("; its memory is not locked"));
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
        assert_eq!((meanwhile, own_scheduling()), ((1, PRIORITY), (0, 0)));
        assert_eq!(Realtime::default().meanwhile(own_scheduling), (0, 0));
    })
    .join()
    .unwrap();
}
