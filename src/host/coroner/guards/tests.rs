//! What a coroner makes of the words of guards, and of their ends.

use super::*;

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

#[test]
fn all_is_clean_once_each_guard_has_said_so() {
    let mut guards = Guards::default();
    assert!(guards.are_clean(), "there is none");
    let all = [(); 2].map(|()| guard(&mut guards));
    for guard in all {
        assert!(!guards.are_clean());
        Registered(guard).leave_clean();
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
    Registered(gives_up).leave_clean();
    drop(waits);
    guards.hear();
    assert!(guards.are_clean());
}

/// What is left of its job, nobody knows.
#[test]
fn a_guard_that_ends_without_its_last_word_is_never_forgotten() {
    for last in [&b""[..], b"?", b"cc", b"b?"] {
        let mut guards = Guards::default();
        let (mut ends, clean) = (guard(&mut guards), guard(&mut guards));
        ends.write_all(last).unwrap();
        drop(ends);
        Registered(clean).leave_clean();
        guards.hear();
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
        guards.hear();
        assert_eq!(
            (guards.is_unclean(), guards.are_clean()),
            (is_unclean, !is_unclean),
            "{words:?}"
        );
    }
}
