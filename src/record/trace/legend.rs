//! What stands beside a drawing: the names of its messages, and what they mean.

use std::collections::BTreeSet;

use super::event::{DrawnEvent, DrawnWhat};

/// The names of the messages among these events, and what each means, in the order of an election.
pub fn messages(events: &[DrawnEvent]) -> Vec<(String, &'static str)> {
    let kinds: BTreeSet<_> = events.iter().filter_map(|event| event.what.kind()).collect();
    kinds.into_iter().map(|kind| (kind.title(), kind.meaning())).collect()
}

/// The shapes in a drawing of these events, and what each means.
pub fn shapes(events: &[DrawnEvent]) -> Vec<(&'static str, &'static str)> {
    let has = |is_one: fn(&DrawnWhat) -> bool| events.iter().any(|event| is_one(&event.what));
    let all = [
        ("arrow", "a message; time runs downward", true),
        ("cross on a member", "its process is gone", has(|what| *what == DrawnWhat::Dies)),
        (
            "cross at an arrow",
            "nobody took the message",
            has(|what| matches!(what, DrawnWhat::Sends { lost: true, .. })),
        ),
        (
            "dotted arrow",
            "nobody recorded one end of the message",
            has(|what| matches!(what, DrawnWhat::Sends { unseen: Some(_), .. })),
        ),
        ("two strokes", "a time in which nothing happens", true),
    ];
    let shown = all.into_iter().filter(|(.., is_shown)| *is_shown);
    shown.map(|(shape, meaning, _)| (shape, meaning)).collect()
}
