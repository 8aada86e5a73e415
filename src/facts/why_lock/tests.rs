//! Why somebody, or nobody, holds a lock: each situation, from the sides of several nodes.

use super::super::hold::HoldEnd;
use super::super::samples::status;
use super::*;

fn entry(holder: Option<&str>, candidates: &[&str]) -> LockEntry {
    LockEntry {
        name: "x".to_owned(),
        holder: holder.map(str::to_owned),
        token: holder.map(|_| 7),
        since_ms: holder.map(|_| 0),
        candidates: candidates.iter().map(|name| (*name).to_owned()).collect(),
        ..LockEntry::default()
    }
}

fn view(entry: LockEntry) -> LocksView {
    LocksView { coordinator: Some("c".to_owned()), locks: vec![entry], ..LocksView::default() }
}

/// What is told if the leader c knows this, b this, and a does not answer if so.
fn told(
    at_c: LocksView,
    at_b: LocksView,
    a_is_silent: bool,
) -> Vec<(&'static str, String, Option<String>)> {
    let mut leads = status("c", Some(("c", 7)));
    leads.state = "leading".to_owned();
    leads.members = ["a", "b", "c"]
        .map(|name| super::super::status::MemberStatus {
            name: name.to_owned(),
            role: "member".to_owned(),
            ..Default::default()
        })
        .into();
    let follows = ["a", "b"].map(|name| status(name, Some(("c", 7))));
    let none = LocksView::default();
    let answers = [
        WhyLockAnswer {
            name: "a",
            status: Some(&follows[0]).filter(|_| !a_is_silent),
            locks: Some(&none).filter(|_| !a_is_silent),
        },
        WhyLockAnswer { name: "b", status: Some(&follows[1]), locks: Some(&at_b) },
        WhyLockAnswer { name: "c", status: Some(&leads), locks: Some(&at_c) },
    ];
    let (why, flags) = (WhyLock::of("x", &answers), ClusterFlags::default());
    let shown = |cause: &LockCause| (cause.name(), cause.words(), cause.remedy("x", &flags));
    why.causes.iter().map(shown).collect()
}

/// The words of each cause and its remedy, joined.
fn lines(told: Vec<(&'static str, String, Option<String>)>) -> Vec<String> {
    let line = |(name, words, remedy): (&str, String, Option<String>)| {
        format!("{name}: {words}{}", remedy.map(|it| format!(" => {it}")).unwrap_or_default())
    };
    told.into_iter().map(line).collect()
}

#[test]
fn a_lock_that_is_held_stays_with_its_holder_and_the_others_are_named() {
    let mut held = entry(Some("b"), &["a", "b"]);
    held.before = Some(HolderBefore::new("a".to_owned(), 5, 0, HoldEnd::GaveBack));
    let expected = "stays: it stays with b until b gives it back or is gone; a held it before, until \
                    1970-01-01T00:00:00.000Z: a gave it back => to have a hold it: `electd lock move x --to a`";
    assert_eq!(lines(told(view(held.clone()), view(held.clone()), false)), [expected]);
    let alone = view(entry(Some("b"), &["b"]));
    let expected = ["stays: it stays with b until b gives it back or is gone"];
    assert_eq!(lines(told(alone.clone(), alone.clone(), false)), expected);
    let doubts = LockEntry { reason: Some("so it is".to_owned()), ..held };
    let expected = "unsupported: b may not act by it now: so it is => see which members answer: `electd status`";
    assert_eq!(lines(told(alone, view(doubts), false)), [expected]);
    let silent = view(entry(Some("a"), &["b"]));
    let all = lines(told(silent.clone(), silent, true));
    assert!(all[0].starts_with("holder_silent: a does not answer; "), "{all:?}");
    assert_eq!(all.len(), 1, "{all:?}");
}

#[test]
fn a_lock_that_nobody_holds_has_the_reasons_why_with_what_to_do() {
    let free = |candidates: &[&str]| view(entry(None, candidates));
    let nobody = "nobody_wants: no program of a member that answers waits for it => on each host that may hold it: \
                  `electd exec --lock x -- CMD`";
    assert_eq!(lines(told(free(&[]), free(&[]), false)), [nobody]);
    let way = "on_its_way: the coordinator has yet to give it to a or b";
    assert_eq!(lines(told(free(&["a", "b"]), free(&[]), false)), [way]);
    let hindered = |by| view(LockEntry { hindered: Some(by), ..entry(None, &[]) });
    let drained =
        "hindered: a program waits for it at b, but b is drained => `electd undrain --node b`";
    assert_eq!(lines(told(free(&[]), hindered(LockHindrance::Drained), false)), [nobody, drained]);
    let unhealthy = "hindered: a program waits for it at b, but b fails its health check => `electd status --node b`";
    assert_eq!(lines(told(free(&[]), hindered(LockHindrance::Unhealthy), false))[1], unhealthy);
    let behind = view(LockEntry { behind: vec!["b".to_owned()], ..entry(None, &["b"]) });
    assert!(lines(told(behind, free(&[]), false))[1].starts_with("behind: b comes after"));
    let unasked = "unasked: a does not answer: whether a program there waits for it is not known => `electd run --node a`";
    assert!(lines(told(free(&[]), free(&[]), true))[1].starts_with(&unasked[..70]));
}

#[test]
fn if_no_lock_can_be_had_that_is_why() {
    let because = |why: LocksUnavailable, silent| {
        let view = LocksView { unavailable: Some(why), ..view(entry(None, &["b"])) };
        lines(told(view.clone(), view, silent))
    };
    let name = "d".to_owned();
    let older = "unavailable: the voter d runs a version of electd without locks: upgrade it";
    assert_eq!(because(LocksUnavailable::OlderVoter { name }, false), [older]);
    let unled = "unavailable: no leader is known, who would coordinate the locks => `electd why`";
    assert_eq!(because(LocksUnavailable::NoLeader, false), [unled]);
    let [unread] = &because(LocksUnavailable::NoTable, true)[..] else { panic!("one cause") };
    assert!(unread.contains("; a does not answer => "), "{unread}");
}
