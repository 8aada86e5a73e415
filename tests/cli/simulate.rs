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
    let many = self::figures("--nodes 41 --initiators 41");
    assert_eq!((&many["leader"], &many["nodes"]), (&json!(41), &json!(41)), "none is drawn");
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

/// The values of an attribute in the elements of a drawing that begin like this, in their order.
fn values(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    let elements = svg.split('\n').filter(|line| line.starts_with(element));
    let value = |line: &str| {
        let (_, rest) = line.split_once(&format!(" {attribute}=\"")).expect("it has the attribute");
        rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    elements.map(value).collect()
}

/// Where a text of a drawing is.
fn height(svg: &str, text: &str) -> f64 {
    let line = svg.lines().find(|line| line.ends_with(&format!(">{text}</text>")));
    let line = line.unwrap_or_else(|| panic!("{text}: {svg}"));
    let text = &line[line.rfind("<text").expect("a text")..];
    values(text, "<text", "y")[0]
}

#[test]
fn the_old_leader_is_marked_and_dies_before_the_election() {
    for detected in ["", "--detected"] {
        let args = format!("--nodes 4 --crash 3,4 --initiators 1 {detected}");
        let svg = stdout(&simulate(&format!("{args} --output svg")));
        assert_eq!(svg.matches(">old leader<").count(), 1, "{svg}");
        let order = ["before", "old leader", "dies", "0 ms", "electing", "leads in epoch 1"];
        let places = order.map(|text| height(&svg, text));
        // What is on a line is four pixels above the foot of its letters.
        assert!(places.is_sorted(), "{places:?}: {svg}");
        let text = stdout(&simulate(&args));
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(place("node-4   led until now") < place("node-1   is asked"), "{text}");
        assert_eq!(figures(&args)["old_leader"], 4);
    }
    assert_eq!(figures("--nodes 4")["old_leader"], Value::Null);
}

#[test]
fn an_arrow_ends_at_the_line_of_the_instant_of_its_arrival() {
    for algorithm in ["bully", "halting", "ring"] {
        let args = "--nodes 5 --crash 5 --detected --initiators 3 --output svg --algorithm";
        let svg = stdout(&simulate(&format!("{args} {algorithm}")));
        let instants = values(&svg, "<line class=\"instant\"", "y1");
        let sent = values(&svg, "<line class=\"arrow", "y1");
        let landed = values(&svg, "<line class=\"arrow", "y2");
        assert!(!sent.is_empty());
        for (sent, landed) in sent.into_iter().zip(landed) {
            // All messages take as long as the next instant is away.
            let next = instants.iter().find(|line| **line > sent).expect("a later instant");
            let below = (landed - next) / 7.0;
            assert!((0.0..4.0).contains(&below) && below.fract() == 0.0, "{sent} {landed}: {svg}");
        }
    }
}

#[test]
fn a_wait_is_drawn_and_a_time_without_events_has_a_break() {
    let args = "--nodes 5 --crash 5 --initiators 4";
    let svg = stdout(&simulate(&format!("{args} --output svg")));
    assert!(svg.contains(">T1 100 ms<") && svg.contains(">+ 90 ms<"), "{svg}");
    assert_eq!(svg.matches(r#"class="wait""#).count(), 1, "{svg}");
    assert_eq!(svg.matches(r#"class="break""#).count(), 1, "{svg}");
    let text = stdout(&simulate(args));
    let told = "    + 100 ms\n  100.000 ms  node-4   has waited for T1 100 ms\n";
    assert!(text.contains(told), "{text}");
    let known = stdout(&simulate("--nodes 5 --crash 5 --initiators 4 --detected --output svg"));
    assert!(!known.contains(r#"class="wait""#) && !known.contains(r#"class="break""#), "{known}");
}

#[test]
fn an_election_by_a_majority_can_be_shown_and_drawn() {
    for algorithm in ["bully", "halting", "ring"] {
        let args = format!(
            "--nodes 5 --crash 5 --detected --initiators 3 --quorum majority --algorithm {algorithm}"
        );
        assert_eq!(figures(&args)["leader"], 4, "{algorithm}");
        let svg = stdout(&simulate(&format!("{args} --output svg")));
        for message in ["PRE-VOTE", "PRE-VOTE-REPLY", "VOTE-REQUEST", "VOTE"] {
            assert!(svg.contains(&format!(">{message}<")), "{algorithm}, {message}: {svg}");
        }
        assert!(svg.contains("by a majority"), "{svg}");
    }
}

#[test]
fn a_random_life_can_be_drawn() {
    for (faults, seed) in [("model", 1), ("all", 7), ("stay", 7), ("storm", 7), ("jobs", 7)] {
        let args = format!("--faults {faults} --quorum majority --seed {seed} --output svg");
        let svg = stdout(&simulate(&args));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{args}");
        for word in [">starts<", ">dies<", ">before<"] {
            let count = svg.matches(word).count();
            assert_eq!(count > 0, word != ">before<", "{args}, {word}: {count}");
        }
        assert!(svg.contains(&format!("faults {faults}, seed {seed}")), "{args}");
        assert!(!svg.contains("HEARTBEAT"), "{args}");
        // Every message that is drawn was sent before it arrived.
        let sent = values(&svg, "<line class=\"arrow", "y1");
        let landed = values(&svg, "<line class=\"arrow", "y2");
        assert!(sent.iter().zip(&landed).all(|(sent, landed)| sent < landed), "{args}");
    }
}

#[test]
fn the_drawings_of_the_documentation_are_those_of_today() {
    let page = include_str!("../../docs/algorithms.md");
    let commands = page.lines().filter_map(|line| line.trim().strip_prefix("electd simulate "));
    let drawn = commands.filter(|command| command.ends_with("--output svg"));
    let pictures = page.split("](").skip(1).filter_map(|link| link.split(')').next());
    let pictures = pictures.filter(|file| file.ends_with(".svg"));
    let pairs: Vec<_> = pictures.zip(drawn).collect();
    assert!(pairs.len() >= 3, "{pairs:?}");
    for (file, command) in pairs {
        let path = format!("{}/docs/{file}", env!("CARGO_MANIFEST_DIR"));
        let there = std::fs::read_to_string(path).expect("the picture is there");
        assert!(
            there == stdout(&simulate(command)),
            "{file}: electd simulate {command} > docs/{file}"
        );
    }
}

#[test]
fn each_algorithm_has_its_own_messages_and_the_ring_needs_no_hierarchy() {
    let kinds = |algorithm: &str| {
        let figures = figures(&format!("--algorithm {algorithm}"));
        assert_eq!(figures["algorithm"], algorithm);
        let messages = figures["messages"].as_object().expect("counts");
        messages.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(kinds("bully"), "answer coordinator election total");
    assert_eq!(figures("")["algorithm"], "bully", "the default");
    let (halting, ring) = (kinds("halting"), kinds("ring"));
    assert!(halting.contains("halt") && !ring.contains("halt"), "{halting}; {ring}");
    let total = |more: &str| {
        let args = format!(
            "--algorithm ring --nodes 6 --attributes 6,5,4,3,2,1 --initiators 1,2,3,4,5,6 {more}"
        );
        figures(&args)["messages"]["total"].as_u64()
    };
    assert!(total("--no-hierarchy") > total(""), "all their ballots compete");
    let run = |args: &str| figures(&format!("--delays random {args}"));
    assert_eq!(run(""), run("--seed 0"), "the default");
    assert_eq!(figures(""), figures("--nodes 5 --delays lockstep --quorum none"), "the defaults");
}

#[test]
fn a_random_run_goes_with_no_argument_of_an_election() {
    for args in [
        "--nodes 3",
        "--attributes 1,2,3,4,5",
        "--initiators 1",
        "--crash 5",
        "--crash 5 --detected",
        "--no-hierarchy",
        "--delays random",
    ] {
        let output = simulate(&format!("{args} --faults all"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains("cannot be used with"), "{args}: {said}");
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
    assert!(
        !text.lines().any(|line| line.trim_start().starts_with("+ ")),
        "no gap is told: {text}"
    );
    assert_eq!(figures("--faults --seed 7")["seed"], 7);
    assert_eq!(figures("--faults model --seed 7"), figures("--seed 7 --faults"));
    for seed in [2, 4] {
        let args = format!("--faults --seed {seed}");
        let (text, figures) = (stdout(&simulate(&args)), figures(&args));
        for (key, words) in [
            ("starts", "starts and restarts"),
            ("kills", "processes killed"),
            ("vanished", "hosts vanished"),
            ("stops", "processes stopped"),
            ("elected", "leaders elected"),
        ] {
            let line = text.lines().find(|line| line.starts_with(words)).expect(words);
            assert_eq!(figures[key].to_string(), line[words.len()..].trim(), "{args}: {key}");
        }
    }
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
        ("--nodes 5 --quorum most", "possible values: none, majority"),
        ("--nodes 41 --output svg", "--output svg: 41 nodes do not fit a drawing; at most 40 do"),
        ("--nodes 41 --output html", "--output html: 41 nodes do not fit a drawing"),
    ];
    for (args, sentence) in cases {
        let output = simulate(args);
        assert_eq!(output.status.code(), Some(2), "{args}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains(sentence), "{args}: {words}");
        assert!(output.stdout.is_empty(), "{args}");
    }
}
