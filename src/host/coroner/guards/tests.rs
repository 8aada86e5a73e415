//! What a coroner makes of the words of guards, and of their ends.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::cgroup::MadeCgroup;
use crate::testing::alone::alone;
use crate::testing::within::within;

/// A line that the coroner has taken, and its guard's end.
fn line(guards: &mut Guards) -> UnixStream {
    let (near, far) = UnixStream::pair().unwrap();
    guards.take(far.into()).unwrap();
    near
}

/// A guard whose job has begun.
fn guard(guards: &mut Guards) -> UnixStream {
    let mut line = line(guards);
    line.write_all(&[BEGINS]).unwrap();
    guards.hear();
    line
}

/// Hears the guards until it is so: a program that another test just starts holds each line, too, until its exec.
#[track_caller]
fn hear_until(guards: &mut Guards, is_so: impl Fn(&Guards) -> bool) {
    let guards = RefCell::new(guards);
    within(Duration::from_secs(20), "the guards are heard", || {
        let mut guards = guards.borrow_mut();
        guards.hear();
        is_so(&guards)
    });
}

#[test]
fn all_is_clean_once_each_guard_has_said_so() {
    let mut guards = Guards::default();
    assert!(guards.are_clean(), "there is none");
    let all = [(); 2].map(|()| guard(&mut guards));
    for guard in all {
        assert!(!guards.are_clean());
        Registered::by(guard.into()).leave_clean();
        guards.hear();
    }
    assert!(guards.are_clean() && !guards.is_unclean());
}

/// Its guard may be about to begin, or have been killed while it waited.
#[test]
fn a_line_whose_guard_never_began_is_waited_for_and_leaves_nothing() {
    let mut guards = Guards::default();
    let (waits, gives_up) = (line(&mut guards), line(&mut guards));
    guards.hear();
    assert!(!guards.are_clean());
    Registered::by(gives_up.into()).leave_clean();
    drop(waits);
    hear_until(&mut guards, Guards::are_clean);
}

/// What is left of its job, nobody knows.
#[test]
fn a_guard_that_ends_without_its_last_word_is_never_forgotten() {
    for last in [&b""[..], b"?", b"cc", b"b?"] {
        let mut guards = Guards::default();
        let (mut ends, clean) = (guard(&mut guards), guard(&mut guards));
        ends.write_all(last).unwrap();
        drop(ends);
        Registered::by(clean.into()).leave_clean();
        hear_until(&mut guards, Guards::is_unclean);
        guards.hear();
        assert!(guards.is_unclean() && !guards.are_clean(), "{last:?}");
    }
}

/// They come in one piece if the coroner was slow, and after the end of the guard.
#[test]
fn all_words_of_a_guard_count_however_late_they_are_heard() {
    for (words, is_unclean) in [(&b""[..], false), (b"b", true), (b"bc", false), (b"c", false)] {
        let mut guards = Guards::default();
        line(&mut guards).write_all(words).unwrap();
        hear_until(&mut guards, |guards| guards.is_unclean() || guards.are_clean());
        assert_eq!(guards.is_unclean(), is_unclean, "{words:?}");
    }
}

/// It ends what is left of the job in the cgroup, and knows no more.
#[test]
fn the_job_of_a_killed_guard_is_ended_where_more_than_processes_has_to_end() {
    let mut guards = Guards::default();
    let line = line(&mut guards);
    let (mut killing_file, mark) = (tempfile::tempfile().unwrap(), std::io::pipe().unwrap().0);
    passing::send(&line, &[BEGINS], &[killing_file.as_fd(), mark.as_fd()]).unwrap();
    guards.hear();
    assert!(!guards.are_clean() && !guards.is_unclean());
    let mut written = String::new();
    killing_file.read_to_string(&mut written).unwrap();
    assert_eq!(written, "", "the guard lives");
    drop(line);
    hear_until(&mut guards, Guards::is_unclean);
    killing_file.rewind().unwrap();
    killing_file.read_to_string(&mut written).unwrap();
    assert_eq!(written, "1");
    assert!(guards.is_unclean() && !guards.are_ending());
}

/// How the line of a guard ends that has passed its cgroup on, in which a process runs: after this word, and with the
/// mark held by something elsewhere or not. Tells whether the coroner knows then that nothing is left.
fn ends(word: &[u8], is_marked: bool) -> Option<bool> {
    let made = MadeCgroup::make().map_err(|error| println!("skipped: no cgroup: {error}")).ok()?;
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    made.cgroup.enter(rustix::process::Pid::from_child(&child)).unwrap();
    let (mark, held) = std::io::pipe().unwrap();
    let held = Some(File::from(OwnedFd::from(held))).filter(|_| is_marked);
    let (mut guards, passed) = (
        Guards::default(),
        PassedCgroup { cgroup: &made.cgroup, mark: mark.as_fd(), is_all: true },
    );
    let mut registered = Registered::by(line(&mut guards).into());
    registered.begin(Some(passed));
    guards.hear();
    assert!(child.try_wait().unwrap().is_none(), "the guard lives");
    registered.line.write_all(word).unwrap();
    drop(registered);
    hear_until(&mut guards, |guards| guards.is_unclean() || guards.are_clean());
    let is_killed = made.cgroup.processes().is_empty();
    assert_eq!(is_killed, word.is_empty(), "only a killed guard has not ended its job itself");
    drop((held, made));
    child.wait().unwrap();
    Some(guards.are_clean())
}

/// In a process of its own: no program that a test beside starts holds the mark.
#[test]
fn a_killed_guard_leaves_nothing_if_its_cgroup_could_be_removed() {
    let this =
        "coroner::guards::tests::a_killed_guard_leaves_nothing_if_its_cgroup_could_be_removed";
    if let Some(output) = alone(this) {
        return print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    for (word, is_marked, is_clean) in
        [(&b""[..], false, true), (b"", true, false), (b"u", false, false), (b"c", false, true)]
    {
        let Some(ended) = ends(word, is_marked) else { return };
        assert_eq!(ended, is_clean, "{word:?}, marked: {is_marked}");
    }
}
