//! What readers and subscribers get of the events, and the words of the interface.

use super::*;

/// An event that says only this.
pub fn event(reason: &str) -> Event {
    Event {
        id: String::new(),
        at_ms: 1_700_000_000_123,
        event: EventKind::NoLeader,
        node: "a".to_owned(),
        from: None,
        state: "electing".to_owned(),
        halting: None,
        leader: None,
        epoch: 7,
        leaderless: None,
        leaderless_ms: None,
        leadership: None,
        member: None,
        reason: reason.to_owned(),
    }
}

fn ids(events: &[Arc<Event>]) -> Vec<&str> {
    events.iter().map(|event| event.id.as_str()).collect()
}

#[test]
fn a_reader_that_comes_back_misses_nothing_that_is_kept() {
    let log = EventLog::new(3);
    log.push((0..5).map(|_| event("")));
    let after = |id: &str, most| log.after(id.parse().unwrap(), most);
    assert_eq!(ids(&after("3-3", 9)), ["3-4", "3-5"]);
    assert_eq!(ids(&after("3-5", 9)), [""; 0]);
    assert_eq!(ids(&after("3-999", 9)), [""; 0]);
    assert_eq!(ids(&after("2-999", 2)), ["3-1", "3-2"], "the node was restarted");
    log.push((0..1024).map(|_| event("")));
    assert_eq!(ids(&after("3-5", 1)), ["3-6"]);
    assert_eq!(ids(&after("3-1", 1)), ["3-6"], "the oldest that is kept");
    assert_eq!(after("2-1", usize::MAX).len(), 1024);
    assert_eq!(log.last(), EventId { start: 3, number: 1029 });
}

#[test]
fn whoever_waits_for_news_is_called_once_for_all_that_come_at_once() {
    let (log, calls) = (EventLog::new(1), Arc::new(AtomicU64::new(0)));
    let (first, second) = (calls.clone(), calls.clone());
    log.on_news(move || _ = first.fetch_add(1, Ordering::SeqCst));
    log.on_news(move || _ = second.fetch_add(10, Ordering::SeqCst));
    log.push([]);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    log.push([event(""), event("")]);
    assert_eq!(calls.load(Ordering::SeqCst), 11);
}

#[test]
fn a_subscriber_that_does_not_read_loses_events_and_holds_nobody_up() {
    let log = EventLog::new(1);
    let (idle, gone) = (log.subscribe(), log.subscribe());
    drop(gone);
    assert_eq!(log.subscribers.receivers(), 1, "it is forgotten at once");
    log.push((0..258).map(|number| event(&number.to_string())));
    assert_eq!((idle.len(), log.dropped()), (256, 2));
    assert_eq!(log.subscribers.receivers(), 1);
    let first = idle.recv().unwrap();
    assert_eq!((first.id.as_str(), first.reason.as_str()), ("1-1", "0"));
    #[cfg(feature = "http")]
    {
        log.count_cut();
        assert_eq!(log.dropped(), 3, "and one that came by a connection");
    }
}

/// Programs that embed a node or read its events compare these words.
#[test]
fn each_kind_has_its_word_in_code_and_on_the_wire() {
    use EventKind::{
        Following, Leading, MemberDown, MemberUp, NoLeader, Problem, ProblemOver, Removed,
        Stopping, Takeover,
    };
    for (kind, word) in [
        (Leading, "leading"),
        (Following, "following"),
        (NoLeader, "no_leader"),
        (MemberUp, "member_up"),
        (MemberDown, "member_down"),
        (Problem, "problem"),
        (ProblemOver, "problem_over"),
        (Takeover, "takeover"),
        (Removed, "removed"),
        (Stopping, "stopping"),
    ] {
        assert_eq!((kind.name(), serde_json::json!(kind)), (word, word.into()));
        assert_eq!(serde_json::from_value::<EventKind>(word.into()).unwrap(), kind);
    }
}

#[test]
fn an_event_is_told_whole_and_read_without_what_came_later() {
    let leaderless = LeaderlessStatus {
        since: "then".to_owned(),
        lasts_ms: 3,
        cause: "isolated".to_owned(),
        reason: "it reaches nobody".to_owned(),
    };
    let whole = Event {
        id: "3-17".to_owned(),
        at_ms: 1,
        event: EventKind::MemberDown,
        node: "a".to_owned(),
        from: Some("following".to_owned()),
        state: "electing".to_owned(),
        halting: Some("election".to_owned()),
        leader: Some("b".to_owned()),
        epoch: 2,
        leaderless: Some(leaderless),
        leaderless_ms: Some(4),
        leadership: Some(HistoryEntry::of_a(2)),
        member: Some("c".to_owned()),
        reason: "silent".to_owned(),
    };
    let mut told = serde_json::json!({
        "id": "3-17", "at_ms": 1, "event": "member_down", "node": "a", "from": "following", "state": "electing",
        "halting": "election", "leader": "b", "epoch": 2,
        "leaderless": {"since": "then", "lasts_ms": 3, "cause": "isolated", "reason": "it reaches nobody"},
        "leaderless_ms": 4, "member": "c", "reason": "silent",
        "leadership": {
            "leader": "a", "epoch": 2, "since_ms": 1, "until_ms": null, "lasts": true, "before": null,
            "before_epoch": null, "cause": "start", "reason": "this node started", "leaderless_ms": 0
        }
    });
    assert_eq!(serde_json::json!(whole), told);
    assert_eq!(serde_json::from_value::<Event>(told.clone()).unwrap(), whole);
    let fields = told.as_object_mut().unwrap();
    fields.retain(|key, _| !key.starts_with("leaderless") && key != "leadership");
    let early = Event { leaderless: None, leaderless_ms: None, leadership: None, ..whole };
    assert_eq!(serde_json::from_value::<Event>(told).unwrap(), early);
}

#[test]
fn an_id_is_read_as_it_is_written() {
    for id in ["3-17", "0-0", "18446744073709551615-1"] {
        assert_eq!(id.parse::<EventId>().unwrap().to_string(), id);
    }
    assert_eq!(" 3-17\n".parse(), Ok(EventId { start: 3, number: 17 }));
    for text in ["", "3", "3-", "-1", "3-x", "3--1", "99999999999999999999-1"] {
        let words = format!("\"{text}\" is no id of an event; write one such as 3-17");
        assert_eq!(text.parse::<EventId>(), Err(words));
    }
}
