//! `electd simulate`, run as users run it.

use std::process::{Command, Output};

use serde_json::{Value, json};

fn simulate(args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.arg("simulate").args(args.split_whitespace()).output().expect("electd runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn figures(args: &str) -> Value {
    let output = simulate(&format!("{args} --output json"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

#[test]
fn the_leader_and_the_counts_as_json() {
    let figures =
        figures("--algorithm bully --nodes 5 --initiators 1,2 --crash 5 --detected --seed 7");
    assert_eq!(figures["leader"], 4);
    assert_eq!(figures["epoch"], 1);
    let messages = json!({"election": 6, "answer": 6, "coordinator": 3, "total": 15});
    assert_eq!(figures["messages"], messages);
    assert_eq!(figures["time_ms"], 30);
}

#[test]
fn every_message_and_a_summary_as_text() {
    let output = simulate("--nodes 3 --crash 3 --initiators 2");
    let text = stdout(&output);
    assert!(text.contains("node-2   sends ELECTION(round 1) to node-3\n"), "{text}");
    assert!(text.ends_with("1 ELECTION + 0 ANSWER + 1 COORDINATOR = 2 messages\n"), "{text}");
}

/// A drawing of a small election. Look at a new one before you accept it: `rsvg-convert` and
/// browsers show it.
#[test]
fn the_election_as_a_drawing() {
    let output = simulate("--nodes 3 --crash 3 --initiators 1 --output svg");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn every_message_is_an_arrow() {
    for args in ["--nodes 40 --crash 40 --initiators 33", "--nodes 6 --initiators 2,3"] {
        let total = figures(args)["messages"]["total"].as_u64().expect("a number");
        let svg = stdout(&simulate(&format!("{args} --output svg")));
        let dead = svg.matches(r#"class="arrow lost""#).count() as u64;
        let arrows = svg.matches(r#"class="arrow""#).count() as u64 + dead;
        // COORDINATOR to the dead is drawn, and not counted.
        assert_eq!(arrows, total + u64::from(args.contains("crash")), "{args}");
        assert_eq!(svg.matches("leads in epoch 1<").count(), 1, "{args}");
    }
}

#[test]
fn attributes_rank_before_numbers() {
    let figures = |args| figures(&format!("--nodes 4 --attributes -1,7,7,3 {args}"));
    assert_eq!(figures("")["leader"], 3, "ties fall to the greater number");
    let messages = json!({"election": 3, "answer": 1, "coordinator": 2, "total": 6});
    let after_its_death = figures("--crash 3 --initiators 4");
    assert_eq!(after_its_death["leader"], 2);
    assert_eq!(after_its_death["messages"], messages);
}

#[test]
fn the_same_arguments_give_the_same_run() {
    let run = |seed| stdout(&simulate(&format!("--nodes 6 --delays random --seed {seed}")));
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn a_random_life_is_replayed_by_its_seed() {
    let text = stdout(&simulate("--faults --seed 7"));
    assert!(text.contains("starts: incarnation 1"), "{text}");
    assert!(text.contains("leaders elected"), "{text}");
    assert_eq!(figures("--faults --seed 7")["seed"], 7);
    assert_eq!(figures("--faults model --seed 7"), figures("--seed 7 --faults"));
}

#[test]
fn a_random_life_with_all_faults_tells_which_fired() {
    let text = |seed| {
        let kind = "--faults all --quorum majority --algorithm ring";
        stdout(&simulate(&format!("{kind} --seed {seed}")))
    };
    let stopped = |text: &String| {
        let name = "packets and dials stopped";
        let line = text.lines().find(|line| line.starts_with(name)).expect("it is listed");
        text.contains("network: ") && line[name.len()..].trim().parse() != Ok(0)
    };
    // Most lives have a cut.
    assert!((0..20).map(text).any(|text| stopped(&text)));
}

#[test]
fn nonsense_is_an_error_of_usage_in_words() {
    let cases = [
        ("--nodes 5 --initiators 6", "--initiators 6: there is no such node"),
        ("--nodes 5 --crash 5 --initiators 5", "node 5 crashes before the election"),
        ("--nodes 0", "--nodes 0: give a number from 1 to 1000"),
        ("--nodes 5 --initiators 1,1", "node 1 is named twice"),
        ("--nodes 5 --detected", "--crash"),
        ("--nodes 5 --attributes 1,2,3", "--attributes: 3 for 5 nodes; give one for each"),
        ("--nodes 2 --attributes 1,x", "invalid value 'x' for '--attributes"),
        ("--faults --attributes 1,2", "cannot be used with"),
        ("--nodes 5 --no-hierarchy", "with --algorithm bully initiators have no hierarchy"),
        ("--algorithm halting --no-hierarchy", "give --algorithm ring"),
        ("--faults --nodes 5", "cannot be used with"),
        ("--algorithm raft", "possible values: bully"),
        ("--faults some", "possible values: model, all, storm, stay"),
        ("--faults all --quorum most", "possible values: none, majority"),
        ("--quorum majority", "--faults"),
        ("--nodes 5 --quorum majority", "cannot be used with"),
        ("--nodes 41 --output svg", "--output svg: 41 nodes do not fit a drawing; at most 40 do"),
        ("--faults --output svg", "draws one election: leave --faults out"),
    ];
    for (args, sentence) in cases {
        let output = simulate(args);
        assert_eq!(output.status.code(), Some(2), "{args}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains(sentence), "{args}: {words}");
        assert!(output.stdout.is_empty(), "{args}");
    }
}
