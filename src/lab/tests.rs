//! What the lab answers.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::Lab;
use crate::admin::Response;

fn ask(query: &str) -> Response {
    Lab::default().run(query)
}

fn answer(query: &str) -> Value {
    let response = ask(query);
    let text = String::from_utf8_lossy(&response.body).into_owned();
    assert_eq!(response.code, 200, "{query}: {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// The count of the first election of a run, and what the formula makes of it.
fn counted(query: &str) -> (u64, u64) {
    let answer = answer(query);
    let first = &answer["elections"][0];
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{query}: {first}"));
    let kinds = first["messages"].as_object().unwrap().iter().filter(|(kind, _)| *kind != "total");
    let sum: u64 = kinds.map(|(_, count)| number(count)).sum();
    assert_eq!(sum, number(&first["messages"]["total"]), "{query}: {first}");
    (number(&first["messages"]["total"]), number(&first["formula"]["exact"]))
}

#[test]
fn counts_are_those_of_the_formulas() {
    for n in 3..=9_u64 {
        let m = n - 1;
        // All survivors notice a death that they know of.
        for (algorithm, expected) in
            [("bully", m * m - 1), ("halting", 8 * (m - 1)), ("ring", 3 * m - 1)]
        {
            let query = format!("algorithm={algorithm}&nodes={n}&do=kill{n}@100");
            assert_eq!(counted(&query), (expected, expected), "{query}");
        }
        // One calls an election, and nobody knows of the death.
        for i in 1..n {
            let query = format!("algorithm=bully&nodes={n}&do=vanish{n}@100,elect{i}@100");
            let k = n - i;
            assert_eq!(counted(&query), (k * k + n - 2, k * k + n - 2), "{query}");
        }
        let query = format!("algorithm=halting&nodes={n}&do=vanish{n}@100");
        assert_eq!(counted(&query), (9 * n - 16, 9 * n - 16), "{query}");
        let query = format!("algorithm=halting&nodes={n}&do=vanish{n}@100,elect{m}@100");
        assert_eq!(counted(&query), (6 * n - 11, 6 * n - 11), "{query}");
    }
}

#[test]
fn each_event_comes_after_its_causes_and_each_message_has_its_place() {
    for algorithm in ["bully", "halting", "ring"] {
        let answer =
            answer(&format!("algorithm={algorithm}&quorum=majority&do=freeze5@100,thaw5@1200"));
        let events = answer["events"].as_array().expect("a list");
        for (at, event) in events.iter().enumerate() {
            let causes = event["causes"].as_array().expect("a list");
            assert!(causes.iter().all(|cause| cause.as_u64() < Some(at as u64)), "{event}");
            assert_eq!(event["place"].is_u64(), event["what"] == "sends", "{event}");
        }
        let drawn = answer["svg"].as_str().expect("text");
        assert!(drawn.starts_with("<svg ") && drawn.contains("data-event"));
    }
}

#[test]
fn a_place_that_is_shown_is_the_one_that_is_dropped() {
    for algorithm in ["bully", "halting", "ring"] {
        let query = format!("algorithm={algorithm}&until=1200&do=kill5@600");
        let before = answer(&query);
        let sends = |answer: &Value| -> Vec<Value> {
            let events = answer["events"].as_array().expect("a list");
            events.iter().filter(|event| event["what"] == "sends").cloned().collect()
        };
        let first = sends(&before)[0].clone();
        let number = |name: &Value| name.as_str().unwrap_or_default().replace("node-", "");
        let (from, to) = (number(&first["member"]), number(&first["to"]));
        let answer = answer(&format!("{query},drop{from}-{to}.{}", first["place"]));
        let dropped = sends(&answer)[0].clone();
        assert_eq!((&dropped["label"], &dropped["to"]), (&first["label"], &first["to"]));
        assert_eq!(
            (&first["lost"], &dropped["lost"]),
            (&false.into(), &true.into()),
            "{algorithm}"
        );
    }
}

#[test]
fn who_leads_and_whether_two_did_is_told() {
    let cut = "do=cut1.2-3.4.5@100&until=3000";
    let two = answer(cut);
    assert_eq!(two["leader"], Value::Null);
    assert!(two["rivalled_ms"].as_f64() > Some(1000.0), "{}", two["rivalled_ms"]);
    let one = answer(&format!("{cut}&quorum=majority"));
    assert_eq!(one["rivalled_ms"], 0.0);
    assert_eq!(one["states"][4]["state"], "leading");
    let killed = answer("do=kill5@100");
    assert_eq!(
        (&killed["leader"], &killed["states"][4]["state"]),
        (&"node-4".into(), &"down".into())
    );
    assert!(killed["leaderless_ms"].as_f64() > Some(0.0));
}

#[test]
fn what_cannot_be_done_is_refused_by_its_word() {
    let numbers = |range: std::ops::RangeInclusive<u32>| {
        range.map(|number| number.to_string()).collect::<Vec<_>>().join(".")
    };
    let cut = format!("cut{}-{}@100", numbers(1..=12), numbers(13..=25));
    let endless = format!("nodes=25&delays=random&quorum=majority&until=20000&do={cut}");
    for (query, expected) in [
        ("do=kill5@100,kill5@200", "do: \"kill5@200\": the member does not run then"),
        ("do=heal@100", "do: \"heal@100\": nothing is cut then"),
        ("algorithm=paxos", "algorithm: \"paxos\": give one of bully, halting, ring"),
    ] {
        assert_eq!(ask(query), Response::error(400, expected), "{query}");
    }
    let response = ask(&endless);
    let text = String::from_utf8_lossy(&response.body);
    assert!(response.code == 400 && text.contains("too much happens until "), "{text}");
}

#[test]
fn only_so_many_runs_are_under_way_at_one_time() {
    let lab = Lab::default();
    lab.running.store(6 - 1, Ordering::Relaxed);
    assert_eq!(lab.run("until=1").code, 200);
    assert_eq!(lab.running.load(Ordering::Relaxed), 5, "it gives its place back");
    assert_eq!(lab.run("until=x").code, 400);
    lab.running.store(6, Ordering::Relaxed);
    let busy = Response::error(503, "too many runs are under way; try again in a moment");
    assert_eq!(lab.run("until=1"), busy);
    assert_eq!(lab.running.load(Ordering::Relaxed), 6, "a refused one takes no place");
}

#[test]
fn each_event_is_told_in_a_sentence() {
    let answer = answer("do=kill5@100");
    let events = answer["events"].as_array().expect("a list");
    let told = |what: &str| {
        let found = events.iter().find(|event| event["what"] == what);
        found.and_then(|event| event["sentence"].as_str()).unwrap_or_default()
    };
    assert_eq!(told("dies"), "dies");
    let sends = told("sends");
    assert!(sends.starts_with("sends ") && sends.contains(" to node-"), "{sends}");
    assert!(events.iter().all(|event| event["sentence"].is_string()), "{events:#?}");
}

/// An election that was over is no part of the next, and whoever changes its phase twice is one.
#[test]
fn each_election_has_initiators_of_its_own() {
    let initiators = |query: &str, place: usize| {
        answer(query)["elections"][place]["formula"]["initiators"].clone()
    };
    assert_eq!(initiators("do=kill5@100,kill4@1000", 0), serde_json::json!([1, 2, 3, 4]));
    assert_eq!(initiators("do=kill5@100,kill4@1000", 1), serde_json::json!([1, 2, 3]));
    assert_eq!(initiators("do=vanish5@100,elect4@100", 0), serde_json::json!([4]));
}

#[test]
fn there_is_a_page_and_a_list_of_paths_elsewhere() {
    let ask = |path: &str| {
        let text = format!("GET {path} HTTP/1.1\r\nHost: n\r\n\r\n");
        let (request, _) = crate::admin::Request::parse(text.as_bytes()).unwrap().unwrap();
        Lab::default().answer(&request)
    };
    let page = String::from_utf8(ask("/").body).unwrap();
    assert!(page.starts_with("<!doctype html>"), "{page}");
    assert_eq!(ask("/run?until=7"), Lab::default().run("until=7"), "and not by default");
    let expected = serde_json::json!({
        "error": "there is no /x here; ask for one of the paths listed",
        "paths": ["GET /", "GET /run"],
    });
    assert_eq!(ask("/x"), Response::json(404, &expected));
}

/// Everything but the drawing. The page and other programs read each of these names.
#[test]
fn an_answer_has_all_that_was_seen() {
    let seen = |query: &str| {
        let mut answer = answer(query);
        answer.as_object_mut().unwrap().remove("svg");
        serde_json::to_string_pretty(&answer).unwrap()
    };
    insta::assert_snapshot!("ring", seen("algorithm=ring&nodes=3&seed=4&do=kill3@100&until=400"));
    let query = "algorithm=halting&nodes=2&quorum=majority&delays=random&do=freeze2@150&until=300";
    insta::assert_snapshot!("halting", seen(query));
}

/// A coordinator that asks its members again and again would hide the rest.
#[test]
fn regular_questions_of_a_coordinator_are_left_out_unless_something_comes_of_them() {
    let labels = |query: &str| -> Vec<String> {
        let answer = answer(query);
        let events = answer["events"].as_array().unwrap();
        let label = |event: &Value| event["label"].as_str().unwrap_or_default().to_owned();
        events.iter().map(label).collect()
    };
    let quiet = labels("algorithm=halting&nodes=3&until=2000");
    assert!(!quiet.iter().any(|label| label.starts_with("ARE-YOU-NORMAL")), "{quiet:?}");
    assert!(!quiet.iter().any(|label| label.starts_with("REPLY")), "{quiet:?}");
    let joined = labels("algorithm=halting&nodes=3&until=2000&do=freeze1@100,thaw1@1500");
    insta::assert_snapshot!("joined", joined.join("\n"));
}

/// docs/algorithms.md has each of these formulas.
#[test]
fn each_formula_is_told_with_its_numbers() {
    let queries = [
        "algorithm=bully&do=kill5@100",
        "algorithm=bully&do=vanish5@100,elect2@100",
        "algorithm=bully&do=elect2@100",
        "algorithm=bully&do=kill5@100,kill4@100",
        "algorithm=bully&do=vanish5@100,vanish4@100,elect1@100",
        "algorithm=bully&do=kill5@100&quorum=majority",
        "algorithm=halting&do=kill5@100",
        "algorithm=halting&do=vanish5@100",
        "algorithm=halting&do=vanish5@100,elect4@100",
        "algorithm=halting&do=vanish5@100,elect2@100",
        "algorithm=halting&do=elect2@100",
        "algorithm=halting&do=elect5@100",
        "algorithm=halting&do=kill5@100,kill2@100",
        "algorithm=halting&do=vanish5@100,vanish3@100",
        "algorithm=halting&do=vanish5@100,vanish3@100,elect4@100",
        "algorithm=ring&do=kill5@100",
        "algorithm=ring&do=freeze4@90,kill5@100,thaw4@150",
        "algorithm=ring&do=slow4@50,kill5@100",
        "algorithm=ring&nodes=4&do=freeze3@90,freeze1@90,kill4@100,thaw3@145,thaw1@145",
        "algorithm=ring&do=vanish5@100",
        "algorithm=ring&do=vanish5@100,elect2@100",
        "algorithm=ring&do=elect2@100",
        "algorithm=ring&do=elect2@100,elect4@100",
        "algorithm=ring&do=kill5@100,vanish2@185",
        "algorithm=ring&do=kill5@100,kill2@100",
        "algorithm=ring&do=kill5@100,restart5@300",
    ];
    let told = queries.map(|query| {
        let answer = answer(query);
        let lines = answer["elections"].as_array().unwrap().iter().map(|election| {
            let mut formula = election["formula"].clone();
            let words = formula["words"].take();
            let words = words.as_str().unwrap_or("-");
            let [at, leader, epoch, alive] =
                ["at_ms", "leader", "epoch", "alive"].map(|key| &election[key]);
            format!(
                "  {at} ms: {leader} {epoch}, {alive}: {words} {formula} {}",
                election["messages"]
            )
        });
        let lines: Vec<_> = lines.collect();
        format!("{query}\n{}", lines.join("\n"))
    });
    insta::assert_snapshot!("formulas", told.join("\n"));
}

#[test]
fn a_run_that_panics_gives_its_place_back() {
    let lab = Lab::default();
    let run = std::panic::catch_unwind(|| {
        let _place = lab.place();
        panic!("as a run might");
    });
    assert!(run.is_err());
    assert_eq!(lab.running.load(Ordering::Relaxed), 0);
}
