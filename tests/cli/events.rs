//! The events of `electd simulate`, as JSON and as a page: each message once, and each event after its causes.

use std::process::Command;

use serde_json::{Value, json};

fn simulate(args: &str, output: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.arg("simulate").args(args.split_whitespace()).args(["--output", output]);
    let output = command.output().expect("electd runs");
    assert_eq!(output.status.code(), Some(0), "{args}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn shown(args: &str, output: &str) -> Value {
    serde_json::from_str(&simulate(args, output)).expect("JSON on stdout")
}

fn events(args: &str) -> Vec<Value> {
    shown(args, "events")["events"].as_array().expect("a list").clone()
}

/// Elections by all algorithms, with and without a majority, and random runs.
fn runs() -> impl Iterator<Item = String> {
    let kinds = ["bully", "halting", "ring"].into_iter().flat_map(|algorithm| {
        ["none", "majority"].map(|quorum| format!("--algorithm {algorithm} --quorum {quorum}"))
    });
    kinds.flat_map(|kind| {
        ["--nodes 5 --crash 5 --detected", "--nodes 4 --initiators 1,2", "--faults all --seed 3"]
            .map(|run| format!("{kind} {run}"))
    })
}

fn causes(event: &Value) -> impl Iterator<Item = usize> {
    let causes = event["causes"].as_array().expect("a list").clone();
    causes.into_iter().map(|cause| cause.as_u64().expect("a place") as usize)
}

fn time(event: &Value, field: &str) -> f64 {
    event[field].as_f64().expect("a time")
}

#[test]
fn a_cause_is_earlier_than_its_effect_and_has_reached_its_member() {
    for args in runs() {
        let events = events(&args);
        let mut caused = 0;
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event["event"], at, "{args}");
            for cause in causes(event) {
                assert!(cause < at, "{args}: {event}");
                let cause = &events[cause];
                assert!(time(cause, "at_ms") <= time(event, "at_ms"), "{args}: {cause} {event}");
                match cause["what"].as_str() {
                    Some("sends") => {
                        assert_eq!(cause["to"], event["member"], "{args}: {cause} {event}");
                        assert_eq!(cause["lost"], false, "{args}: {cause} {event}");
                        let arrived = time(cause, "arrives_ms");
                        assert!(arrived <= time(event, "at_ms"), "{args}: {cause} {event}");
                    }
                    Some("waited") => assert_eq!(cause["member"], event["member"], "{args}"),
                    what => assert_eq!(what, Some("dies"), "{args}: {cause} {event}"),
                }
                caused += 1;
            }
        }
        assert!(caused > 5, "{args}: {caused}");
    }
}

#[test]
fn a_message_is_caused_by_the_message_that_it_answers() {
    let pairs = [
        ("ANSWER", "ELECTION"),
        ("PRE-VOTE-REPLY", "PRE-VOTE"),
        ("VOTE-REQUEST", "PRE-VOTE-REPLY"),
        ("VOTE", "VOTE-REQUEST"),
        ("COORDINATOR", "VOTE"),
        ("PRE-VOTE", "T1"),
    ];
    let events = events("--nodes 5 --crash 5 --initiators 2 --quorum majority");
    let word = |event: &Value| {
        let label = event["label"].as_str().expect("a label");
        label.split(' ').next().unwrap_or_default().to_owned()
    };
    for (effect, cause) in pairs {
        let effects: Vec<&Value> = events.iter().filter(|event| word(event) == effect).collect();
        assert!(!effects.is_empty(), "{effect}: {events:?}");
        for event in effects {
            let found: Vec<String> = causes(event).map(|at| word(&events[at])).collect();
            assert_eq!(found, [cause], "{event}");
        }
    }
}

#[test]
fn each_message_is_an_event_once() {
    for args in runs().filter(|args| !args.contains("--faults")) {
        let figures = shown(&args, "json");
        let total = figures["messages"].as_object().expect("counts");
        for (kind, count) in total.iter().filter(|(kind, _)| *kind != "total") {
            let kind = kind.to_uppercase().replace('_', "-");
            let sent = events(&args).into_iter().filter(|event| {
                let to_the_dead = kind == "COORDINATOR" && event["lost"] == true; // not counted
                let label = event["label"].as_str().expect("a label");
                event["what"] == "sends" && label.split(' ').next() == Some(&kind) && !to_the_dead
            });
            assert_eq!(sent.count() as u64, count.as_u64().expect("a count"), "{args}: {kind}");
        }
    }
}

#[test]
fn the_page_has_each_event_in_the_list_and_in_the_drawing_and_asks_for_nothing() {
    for args in runs() {
        let (page, events) = (simulate(&args, "html"), events(&args));
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{args}");
        assert_eq!(page.matches("><button type=\"button\"><time>").count(), events.len(), "{args}");
        for at in 0..events.len() {
            assert!(page.contains(&format!("<g data-event=\"{at}\">")), "{args}: event {at}");
        }
        let sent = events.iter().filter(|event| event["what"] == "sends").count();
        assert_eq!(page.matches("<line class=\"arrow").count(), sent, "{args}");
        for request in ["http:", "https:", "//\"", "src=", "href=", "@import", "url(", "fetch("] {
            assert!(!page.contains(request), "{args}: {request}");
        }
        assert!(page.contains("content=\"default-src 'none';"), "{args}");
        for part in ["<svg ", "</svg>", "<ol ", "role=\"status\"", "role=\"img\"", "lang=\"en\""] {
            assert_eq!(page.matches(part).count(), 1, "{args}: {part}");
        }
    }
}

/// What a member of a cluster of this many recorded of its election.
fn record(members: usize) -> tempfile::NamedTempFile {
    let names: Vec<String> = (1..=members).map(|number| format!("node-{number}")).collect();
    let became = |n: u64, phase: &str| {
        json!({
            "n": n, "at_ns": n * 1_000_000, "what": "became", "label": phase, "phase": phase, "number": 7,
            "leader": "node-1", "reason": "so",
        })
    };
    let record = json!({
        "cluster": "demo", "node": "node-1", "incarnation": 1, "algorithm": "bully", "now_ns": 5_000_000,
        "wall_ms": 1_700_000_000_123_u64, "members": names, "entries": [became(1, "electing"), became(3, "leading")],
    });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), record.to_string()).expect("it is written");
    file
}

#[test]
fn an_election_of_too_many_members_for_a_drawing_is_told_all_the_same() {
    let trace = |members: usize, args: &[&str]| {
        let file = record(members);
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        let output = command.arg("trace").arg("--file").arg(file.path()).args(args).output();
        let output = output.expect("electd runs");
        let [told, said] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.code(), told, said)
    };
    let (code, told, _) = trace(41, &[]);
    assert_eq!(code, Some(0), "{told}");
    let first = "Election of epoch 7 in demo, algorithm bully, 2023-11-14T22:13:20.";
    assert!(told.starts_with(first), "{told}");
    assert!(
        told.contains("Z\n\n    0.000 ms  node-1   electing: so\n    2.000 ms  node-1   "),
        "{told}"
    );
    assert!(told.contains("node-1 leads in epoch 7, 2 ms after the election began\n"), "{told}");
    for form in ["svg", "html"] {
        assert_eq!(trace(40, &["--output", form]).0, Some(0), "{form}");
        let (code, told, said) = trace(41, &["--output", form]);
        assert_eq!((code, told.as_str()), (Some(2), ""), "{said}");
        assert!(said.starts_with("41 members do not fit a drawing; at most 40 do"), "{said}");
    }
    let (code, _, said) = trace(3, &["--epoch", "9"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("has recorded the election of epoch 9: `electd history` lists"),
        "{said}"
    );
}
