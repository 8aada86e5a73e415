//! How a history is built, and that its file loses nothing.

use super::*;

fn change(at_ms: u64, leader: Option<&str>, epoch: u64, cause: &str) -> ChangeStatus {
    ChangeStatus {
        number: 1,
        at_ms,
        from: String::new(),
        to: String::new(),
        halting: None,
        leader: leader.map(str::to_owned),
        epoch,
        reason: String::new(),
        cause: cause.to_owned(),
        hinders: ["no_majority", "isolated"].contains(&cause),
        silent_ms: 0,
    }
}

#[test]
fn a_leadership_is_told_once_with_the_time_without_a_leader_and_why_that_was() {
    let mut known = Leaderships::new(1000, Vec::new());
    let mut begun = |at, leader, epoch, cause| {
        let new = known.change(&change(at, leader, epoch, cause));
        new.map(|new| (new.leader, new.epoch, new.cause, new.leaderless_ms))
    };
    let led = |leader: &str, epoch, cause: &str, time| {
        Some((leader.to_owned(), epoch, cause.to_owned(), time))
    };
    assert_eq!(begun(1001, None, 0, "all_connected"), None);
    assert_eq!(begun(1005, Some("c"), 1, "announced"), led("c", 1, "start", 5));
    assert_eq!(begun(1006, Some("c"), 1, "announced"), None, "the same");
    assert_eq!(begun(2000, None, 1, "leader_suspected"), None);
    assert_eq!(begun(2100, None, 1, "no_majority"), None);
    assert_eq!(begun(2300, Some("b"), 2, "highest"), led("b", 2, "leader_suspected", 300));
    assert_eq!(begun(3000, Some("a"), 3, "leader_dead"), led("a", 3, "leader_dead", 1));
}

#[test]
fn an_entry_tells_who_leads_since_when_who_led_before_and_how_that_ended() {
    let mut known = Leaderships::new(1000, Vec::new());
    let first = HistoryEntry {
        leader: "c".to_owned(),
        epoch: 3,
        since_ms: 1500,
        until_ms: None,
        lasts: true,
        before: None,
        before_epoch: None,
        cause: "start".to_owned(),
        reason: "this node started".to_owned(),
        leaderless_ms: 500,
        job_late_ms: None,
        ended: None,
    };
    let words = |words: &str, change| ChangeStatus { reason: words.to_owned(), ..change };
    let begins = known.change(&words("c leads", change(1500, Some("c"), 3, "announced")));
    assert_eq!(begins.as_ref(), Some(&first));
    let dead = words("c is dead", change(4000, None, 3, "leader_dead"));
    assert_eq!(known.change(&ChangeStatus { silent_ms: 100, ..dead }), None);
    let second = HistoryEntry {
        leader: "b".to_owned(),
        epoch: 5,
        since_ms: 4200,
        before: Some("c".to_owned()),
        before_epoch: Some(3),
        cause: "leader_dead".to_owned(),
        reason: "c is dead".to_owned(),
        leaderless_ms: 300,
        job_late_ms: None,
        ended: None,
        ..first.clone()
    };
    let begins = known.change(&words("b leads", change(4200, Some("b"), 5, "highest")));
    assert_eq!(begins.as_ref(), Some(&second));
    let first = HistoryEntry { until_ms: Some(3900), lasts: false, ..first };
    assert_eq!(*known.entries(), [first, second.clone()]);
    let again = known.change(&words("it took the next", change(4300, Some("b"), 6, "reclaimed")));
    let third = HistoryEntry {
        epoch: 6,
        since_ms: 4300,
        before: Some("b".to_owned()),
        before_epoch: Some(5),
        cause: "reclaimed".to_owned(),
        reason: "it took the next".to_owned(),
        leaderless_ms: 0,
        job_late_ms: None,
        ended: None,
        ..second
    };
    assert_eq!(again, Some(third), "another epoch is another leadership");
    let hindered = words(&"x".repeat(300), change(4400, None, 6, "no_majority"));
    known.change(&hindered);
    let told =
        Leaderless { since_ms: 4400, cause: "no_majority".to_owned(), reason: "x".repeat(200) };
    assert_eq!(known.leaderless(), Some(told));
}

/// A history of this start, and what its entries are: leader, from, until.
fn spans(history: &Leaderships) -> Vec<(String, u64, Option<u64>)> {
    let entries = history.entries();
    entries.iter().map(|entry| (entry.leader.clone(), entry.since_ms, entry.until_ms)).collect()
}

#[test]
fn a_leadership_lasts_until_it_is_known_no_more_and_goes_on_if_it_was_only_out_of_sight() {
    let mut known = Leaderships::new(0, Vec::new());
    known.change(&change(5, Some("c"), 1, "announced"));
    known.change(&change(20, None, 1, "leader_disconnected"));
    assert_eq!(spans(&known), [("c".into(), 5, Some(20))]);
    known.change(&change(30, Some("c"), 1, "announced"));
    assert_eq!(spans(&known), [("c".into(), 5, None)]);
    assert!(known.entries()[0].lasts);
    known.change(&change(40, Some("b"), 2, "announced"));
    assert_eq!(spans(&known), [("c".into(), 5, Some(40)), ("b".into(), 40, None)]);
    let entries = known.entries();
    assert_eq!((entries[0].lasts, entries[1].lasts), (false, true));
    let restarted = Leaderships::new(50, entries.to_vec());
    assert!(restarted.entries().iter().all(|entry| !entry.lasts), "nobody saw the end");
}

/// By its own end, or by an order: what befell it, the others see.
#[test]
fn a_leader_notes_why_it_gave_up() {
    let ended = |from: &str, cause: &str| {
        let mut known = Leaderships::new(0, Vec::new());
        known.change(&change(5, Some("c"), 1, "highest"));
        known.change(&ChangeStatus { from: from.to_owned(), ..change(9, None, 1, cause) });
        known.entries()[0].ended.as_ref().map(|end| end.cause.clone())
    };
    assert_eq!(ended("leading", "job_failed").as_deref(), Some("job_failed"));
    assert_eq!(ended("following", "stopped"), None, "it did not lead");
    assert_eq!(ended("leading", "lease_ended"), None, "it did not give up");
}

#[test]
fn a_history_is_bounded() {
    let mut known = Leaderships::new(0, Vec::new());
    for epoch in 0..=1000 {
        known.change(&change(epoch, Some("c"), epoch, "announced"));
    }
    let entries = known.entries();
    assert_eq!((entries.len(), entries[0].epoch, entries[999].epoch), (1000, 1, 1000));
}

#[test]
fn what_was_kept_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = Leaderships::new(0, load(folder.path()));
    let keeper = HistoryKeeper::start(folder.path()).unwrap();
    for epoch in 1..50 {
        known.change(&change(epoch, Some("c"), epoch, "announced"));
        keeper.keep(known.entries());
    }
    keeper.stop();
    assert_eq!(load(folder.path()), *known.entries());
}

#[test]
fn a_damaged_history_is_put_aside_and_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("history.json");
    for damage in ["", "{", "[]", "{\"format\": 9, \"leaderships\": []}"] {
        std::fs::write(&file, damage).unwrap();
        assert_eq!(load(folder.path()), []);
        let aside = std::fs::read_to_string(folder.path().join("history.json.damaged")).unwrap();
        assert_eq!((aside.as_str(), file.exists()), (damage, false));
    }
    assert_eq!(load(folder.path()), [], "and no file is no damage");
}

#[test]
fn a_leader_led_until_it_was_heard_last() {
    let mut known = Leaderships::new(0, Vec::new());
    known.change(&change(1000, Some("c"), 1, "announced"));
    let silent = ChangeStatus { silent_ms: 480, ..change(3000, None, 1, "joined") };
    known.change(&silent);
    assert_eq!(spans(&known), [("c".into(), 1000, Some(2520))]);
    assert_eq!(known.leaderless().map(|it| it.since_ms), Some(2520));
    let next = known.change(&change(3005, Some("b"), 2, "highest")).unwrap();
    assert_eq!((next.leaderless_ms, next.before_epoch), (485, Some(1)));
    let stood = ChangeStatus { silent_ms: 9000, ..change(3100, Some("a"), 3, "announced") };
    assert_eq!(known.change(&stood).unwrap().leaderless_ms, 95);
    assert_eq!(spans(&known)[1], ("b".into(), 3005, Some(3005)), "not before its begin");
}

#[test]
fn a_job_that_was_ended_as_no_renewal_came_in_time_is_noted_at_its_leadership() {
    let mut known = Leaderships::new(0, Vec::new());
    known.change(&change(1000, Some("c"), 1, "announced"));
    known.change(&change(2000, Some("b"), 2, "leader_dead"));
    assert!(!known.note_late("b", 1, 5), "another leadership");
    assert!(known.note_late("c", 1, 1500) && !known.note_late("c", 1, 1500));
    let noted: Vec<_> = known.entries().iter().map(|entry| entry.job_late_ms).collect();
    assert_eq!(noted, [Some(1500), None]);
    let text = serde_json::json!(*known.entries());
    assert!(text[0]["job_late_ms"] == 1500 && text[1].get("job_late_ms").is_none(), "{text}");
}

#[test]
fn changes_of_the_leader_that_nobody_ordered_are_counted() {
    let mut known = Leaderships::new(0, Vec::new());
    known.change(&change(1000, Some("c"), 1, "announced"));
    for (at, epoch, cause) in
        [(2000, 2, "leader_dead"), (3000, 3, "drained"), (4000, 4, "lease_ended")]
    {
        known.change(&change(at, None, epoch - 1, cause));
        known.change(&change(at + 5, Some("b"), epoch, "highest"));
    }
    let unplanned = |since| known.unplanned(since);
    assert_eq!(unplanned(0).times, 2);
    let last = unplanned(2006);
    assert_eq!((last.times, &last.why), (1, &known.entries()[3].reason));
    assert_eq!(unplanned(4006), UnplannedChanges::default());
}

/// Whoever flaps is to be looked at first.
#[test]
fn the_nodes_that_lost_the_leadership_are_named_the_one_that_did_so_most_often_first() {
    let mut known = Leaderships::new(0, Vec::new());
    let leaders = ["a", "c", "b", "c", "a", "c", "d", "e", "f"];
    for (epoch, leader) in (1..).zip(leaders) {
        known.change(&change(epoch * 1000, Some(leader), epoch, "leader_dead"));
    }
    assert_eq!(known.unplanned(0).losers(), "c 3 times, a 2 times and 3 others");
    assert_eq!(known.unplanned(6500).losers(), "c once, d once, e once");
}

/// An election on one machine takes less than a millisecond.
#[test]
fn nobody_led_for_a_time_after_the_process_of_a_leader_died() {
    for (cause, time) in [
        ("leader_certified", 1),
        ("leader_dead", 1),
        ("leader_restarted", 1),
        ("leader_released", 0),
        ("preempted", 0),
    ] {
        let mut known = Leaderships::new(0, Vec::new());
        known.change(&change(1000, Some("c"), 1, "announced"));
        known.change(&change(3000, None, 1, cause));
        let next = known.change(&change(3000, Some("b"), 2, "majority_agrees")).unwrap();
        assert_eq!((next.cause.as_str(), next.leaderless_ms), (cause, time));
    }
}

#[test]
fn why_no_leader_is_known_is_what_hinders_the_members_or_else_how_the_last_leadership_ended() {
    let mut known = Leaderships::new(0, Vec::new());
    let why = |known: &Leaderships| known.leaderless().map(|it| (it.since_ms, it.cause));
    assert_eq!(why(&known), Some((0, "start".into())));
    known.change(&change(1000, Some("c"), 1, "announced"));
    assert_eq!(why(&known), None);
    known.change(&change(3000, None, 1, "leader_dead"));
    known.change(&change(3001, None, 1, "joined"));
    assert_eq!(why(&known), Some((3000, "leader_dead".into())));
    known.change(&change(3500, None, 1, "isolated"));
    known.change(&change(4000, None, 1, "nobody_leads"));
    assert_eq!(why(&known), Some((3000, "isolated".into())), "the next try explains nothing");
    let shown = known.leaderless().unwrap().at(5000);
    assert_eq!((shown.lasts_ms, shown.since.as_str()), (2000, "1970-01-01T00:00:03.000Z"));
    known.change(&change(5000, Some("b"), 2, "announced"));
    known.change(&change(6000, None, 2, "leader_dead"));
    assert_eq!(why(&known), Some((6000, "leader_dead".into())), "the next time is another");
}

/// The file is written once a second at most, and a node ends sooner.
#[test]
fn what_changed_just_before_the_end_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut known = Leaderships::new(1, Vec::new());
    let keeper = HistoryKeeper::start(folder.path()).unwrap();
    known.change(&change(2, Some("c"), 1, "announced"));
    keeper.keep(known.entries());
    while load(folder.path()).is_empty() {
        std::thread::yield_now();
    }
    known.change(&change(3, Some("b"), 2, "leader_dead"));
    keeper.keep(known.entries());
    keeper.stop();
    assert_eq!(load(folder.path()), *known.entries());
}

/// A file that is longer than one that is read would be put aside at the next start.
#[test]
fn as_many_leaderships_as_are_kept_are_read_however_long_their_words_are() {
    let folder = tempfile::tempdir().unwrap();
    let (name, reason) = ("n".repeat(63), "\u{1}".repeat(2 * LONGEST));
    let mut known = Leaderships::new(0, Vec::new());
    for epoch in 1..=KEPT as u64 {
        let change = change(epoch, Some(&name), u64::MAX - epoch, "leader_disconnected");
        known.change(&ChangeStatus { reason: reason.clone(), ..change });
    }
    let keeper = HistoryKeeper::start(folder.path()).unwrap();
    keeper.keep(known.entries());
    keeper.stop();
    let kept = load(folder.path());
    assert_eq!(kept, *known.entries());
    assert_eq!((kept.len(), kept[1].reason.len()), (1000, 200));
}
