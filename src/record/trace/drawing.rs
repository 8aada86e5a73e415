//! A drawing of everything that can happen, in each of its forms.

use super::html::Html;
use super::json::json;
use super::svg::{Svg, draw};
use super::{Caption, Diagram, DrawnEvent, DrawnWhat, Unseen, gap};
use crate::core::Phase;
use crate::core::types::Time;

/// A part of an HTML document.
struct Part<'a>(&'a Diagram<'a>);

impl std::fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        draw(self.0, None, f)
    }
}

fn sends(to: usize, label: &str, arrives: u64, lost: bool, unseen: Option<Unseen>) -> DrawnWhat {
    let message = Caption { label: label.to_owned(), ..Caption::default() };
    DrawnWhat::Sends { to, message, arrives: Time(arrives), lost, unseen }
}

fn becomes(phase: Phase, label: &str, reason: &str) -> DrawnWhat {
    DrawnWhat::Becomes { phase, label: label.to_owned(), reason: reason.to_owned() }
}

/// Times are in microseconds.
fn events() -> Vec<DrawnEvent> {
    let waited = |since: u64| DrawnWhat::Waited {
        since: Time(since * 1000),
        label: format!("T1 since {since}"),
    };
    let us = 1000;
    let all = [
        (0, 2, DrawnWhat::Led, vec![]),
        (0, 2, DrawnWhat::Dies, vec![]),
        (0, 1, becomes(Phase::Electing, "electing", "leader c is dead"), vec![]),
        (0, 0, becomes(Phase::Electing, "electing", "leader c is dead: <i>"), vec![1]),
        (0, 0, sends(1, "ELECTION 4", 1000 * us, false, None), vec![1]),
        (0, 0, sends(2, "ELECTION 4", 1000 * us, true, Some(Unseen::Arrival)), vec![1]),
        (100, 2, sends(1, "HALT 4", 1000 * us, false, Some(Unseen::Departure)), vec![]),
        (1000, 1, sends(0, "ANSWER 4", 1250 * us, false, Some(Unseen::Arrival)), vec![4]),
        (1000, 3, DrawnWhat::Starts, vec![]),
        (
            1250,
            0,
            DrawnWhat::Suffers("the disk is slow, for as long as the \"fault\" lasts".to_owned()),
            vec![],
        ),
        (9000, 1, waited(1000), vec![]),
        (9000, 3, waited(1500), vec![]),
        (9000, 0, waited(0), vec![7]),
        (9000, 1, becomes(Phase::Leading, "leads in epoch 4", "won"), vec![4, 10]),
        (9000, 3, DrawnWhat::Dies, vec![]),
        (9500, 3, DrawnWhat::Starts, vec![14]),
        (9500, 9, DrawnWhat::Suffers(String::new()), vec![]),
    ];
    let event = |(at, node, what, causes)| DrawnEvent { time: Time(at * us), node, what, causes };
    all.into_iter().map(event).collect()
}

fn diagram(events: &[DrawnEvent]) -> Diagram<'_> {
    Diagram {
        title: "An election".to_owned(),
        counts: "3 ELECTION".to_owned(),
        description: "Of four members.".to_owned(),
        names: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
        events,
    }
}

/// Without the style and the script, which are the same in all.
fn only_content(document: String) -> String {
    let mut rest = &*document;
    let mut content = String::new();
    for (begin, end) in
        [("<style>", "</style>"), ("<style>", "</style>"), ("<script>", "</script>")]
    {
        let Some((before, after)) = rest.split_once(begin) else { continue };
        content += before;
        rest = after.split_once(end).unwrap().1;
    }
    content + rest
}

#[test]
fn each_event_has_its_place_and_its_shape_in_a_drawing() {
    let events = &events()[..16]; // the last is of no member that is drawn
    insta::assert_snapshot!("document", only_content(Svg(&diagram(events)).to_string()));
    let few = &events[2..8];
    let wide = Diagram { title: "M".repeat(90), ..diagram(few) };
    insta::assert_snapshot!("wide", only_content(Svg(&wide).to_string()));
    let long = Diagram { counts: "M".repeat(100), ..diagram(&events[..0]) };
    insta::assert_snapshot!("empty", only_content(Svg(&long).to_string()));
    insta::assert_snapshot!("part", only_content(Part(&diagram(few)).to_string()));
}

#[test]
fn each_event_is_told_in_words_and_for_programs() {
    let events = events();
    let told = diagram(&events);
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&json(&told)).unwrap());
    let sentences = events.iter().map(|event| event.sentence(&told.names[..2]));
    insta::assert_snapshot!("sentences", sentences.collect::<Vec<_>>().join("\n"));
    let page = Html(&diagram(&[])).to_string();
    let empty = page.split("<ol id=\"events\">").nth(1).unwrap();
    assert!(empty.starts_with("\n</ol>"), "{empty}");
}

#[test]
fn a_page_has_its_list_and_its_data() {
    let events = events();
    let some = [&events[..4], &events[5..10]].concat();
    let page = only_content(Html(&diagram(&some)).to_string());
    let (before, rest) = page.split_once("<svg ").unwrap();
    let (_, after) = rest.split_once("</svg>").unwrap();
    insta::assert_snapshot!(
        "page",
        format!("{before}{after}").replace(&super::html::policy(), "POLICY")
    );
}

#[test]
fn a_time_in_which_nothing_happens_is_longer_than_two_messages_take() {
    let of = |travels: &[u64]| {
        let event = |travel| DrawnEvent {
            time: Time(7),
            node: 0,
            what: sends(0, "", 7 + travel, false, None),
            causes: vec![],
        };
        gap(&travels.iter().map(|travel| event(*travel)).collect::<Vec<_>>())
    };
    let nanos = std::time::Duration::from_nanos;
    assert_eq!(
        [of(&[]), of(&[10]), of(&[10, 20, 60])],
        [std::time::Duration::MAX, nanos(20), nanos(60)]
    );
}
