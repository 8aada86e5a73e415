//! `electd simulate --config F`, run as users run it. That real nodes do what it foretells is tested in
//! tests/process/what_if.rs.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A file with members a to e, which are ranked by a number.
fn file(quorum: &str) -> TempDir {
    ranked(quorum, "priority", ["a", "b", "c", "d", "e"])
}

/// A file with these members, of which c is a witness.
fn ranked(quorum: &str, by: &str, names: [&str; 5]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let member = |(number, name): (usize, &str)| {
        let role = if name == "c" { "witness" } else { "member" };
        let mut member = json!({
            "name": name, "id": format!("00000000-0000-4000-8000-00000000000{number}"), "role": role,
            "address": format!("127.0.0.1:710{number}"),
        });
        if by == "priority" {
            member["rank"] = json!({"priority": 10 - number});
        }
        member
    };
    let members: Vec<Value> = names.into_iter().enumerate().map(member).collect();
    let config = json!({
        "cluster": "c", "quorum": quorum, "data_dir": "data", "rank": {"by": by}, "members": members,
    });
    fs::write(folder.path().join("c.json"), config.to_string()).unwrap();
    folder
}

fn simulate(folder: &TempDir, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.env_remove("ELECTD_CONFIG").arg("simulate").arg("--config");
    command.arg(folder.path().join("c.json")).args(args.split_whitespace());
    command.output().expect("electd runs")
}

fn forecast(folder: &TempDir, args: &str) -> Value {
    let output = simulate(folder, &format!("{args} --output json"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

fn text(folder: &TempDir, args: &str) -> String {
    let output = simulate(folder, args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_sides_of_a_cut_are_told_one_by_one() {
    let folder = file("majority");
    let json = forecast(&folder, "--cut a,b/c,d");
    assert_eq!(json["leaders_before"], json!(["a"]));
    assert_eq!(json["voters_needed"], 3);
    let members: Vec<&Value> =
        json["sides"].as_array().unwrap().iter().map(|side| &side["members"]).collect();
    assert_eq!(members, [&json!(["a", "b"]), &json!(["c", "d"]), &json!(["e"])]);
    assert!(
        json["sides"].as_array().unwrap().iter().all(|side| side["leaders"] == json!([])),
        "{json:#}"
    );
    assert!(json["sides"][0]["leader_stops_within_ms"].as_u64() > Some(0), "{json:#}");
    for side in json["sides"].as_array().unwrap() {
        let never = (&side["stays"], &side["within_ms"], &side["failures_tolerated"]);
        assert_eq!(never, (&json!(false), &json!(null), &json!(0)), "{json:#}");
    }

    let words = text(&folder, "--cut a,b --down e");
    for sentence in [
        "a leads now, as it ranks highest by priority",
        "a, b: nobody leads. 2 voters live, 3 are needed: 1 must come back. A leader there stops leading within 400ms.",
        "c, d: nobody leads. 2 voters live, 3 are needed: 1 must come back.\n",
        "At most one leader at any instant",
    ] {
        assert!(words.contains(sentence), "{sentence}: {words}");
    }
}

#[test]
fn who_goes_down_and_who_is_added_decide_who_leads_and_what_is_left() {
    let folder = file("majority");
    let json = forecast(&folder, "--down a,c");
    let side = &json["sides"][0];
    assert_eq!((&side["leaders"], &side["stays"]), (&json!(["b"]), &json!(false)));
    assert_eq!(side["within_ms"], json["worst_failover_ms"]);
    assert_eq!(side["failures_tolerated"], 0);
    let words = text(&folder, "--down a,c");
    assert!(
        words.contains("b, d, e: b leads, within 900ms. 3 voters live, 3 are needed."),
        "{words}"
    );
    assert!(words.contains("After one more failure nobody may lead."), "{words}");
    let words = text(&folder, "--down a,c --leader d");
    assert!(words.contains("d leads now\n") && words.contains("d goes on leading."), "{words}");
    let json = forecast(&folder, "--add 2");
    assert_eq!(
        (&json["voters_needed"], &json["sides"][0]["failures_tolerated"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(json["sides"][0]["leaders"], json!(["a", "new-1", "new-2"]));
    let words = text(&folder, "--add 2");
    assert!(words.contains("the highest of a, new-1, new-2 leads, within 900ms."), "{words}");
    let words = text(&folder, "--down a,b,c,d,e");
    let nobody = "no member lives: nobody leads, as no member may lead there. 0 voters live, 3 are needed: 3 must";
    assert!(words.contains(nobody), "{words}");

    let words = text(&file("none"), "--cut a,b/c,d,e");
    assert!(words.contains("a, b: a goes on leading. One more may fail."), "{words}");
    assert!(words.contains("c, d, e: d leads, within 800ms."), "{words}");
    assert!(
        words.contains("2 leaders at the same time, one on each side; after the heal"),
        "{words}"
    );
}

#[test]
fn a_forecast_is_told_whole() {
    let first = |quorum: &str, leads: &str| {
        format!("cluster c: 5 members, quorum {quorum}, algorithm bully; {leads}: ")
            + if leads.contains("known") {
                "say --leader NAME"
            } else {
                "if another does, say --leader NAME"
            }
    };
    let highest = "a leads now, as it ranks highest by priority";
    let certain = "  At most one leader at any instant, as before.\n";
    let next =
        |ms: &str| format!("  The next leader that dies silently is replaced within {ms}.\n");
    let unsteady = "  Each takes up to 2.1s more while a member comes and goes.\n";
    let names = ["a", "b", "c", "d", "e"];
    for (folder, args, (quorum, leads), sides, guarantee) in [
        (
            file("majority"),
            "--down a,c",
            ("majority", highest),
            "b, d, e: b leads, within 900ms. 3 voters live, 3 are needed. After one more failure nobody may lead.\n",
            format!("{certain}{unsteady}"),
        ),
        (
            file("majority"),
            "--down a",
            ("majority", highest),
            "b, c, d, e: b leads, within 900ms. 4 voters live, 3 are needed. One more may fail.\n",
            format!("{certain}{}{unsteady}", next("900ms")),
        ),
        (
            file("none"),
            "--down a",
            ("none", highest),
            "b, c, d, e: b leads, within 800ms. 2 more may fail.\n",
            format!("  At most one live member leads.\n{}", next("800ms")),
        ),
        (
            ranked("majority", "address", names),
            "--down a",
            ("majority", "e leads now, as it ranks highest by address"),
            "b, c, d, e: e goes on leading. 4 voters live, 3 are needed. One more may fail.\n",
            format!("{certain}{}{unsteady}", next("900ms")),
        ),
        (
            ranked("majority", "cpu", names),
            "--down a",
            ("majority", "who leads now is not known, as cpu is measured"),
            "b, c, d, e: the highest of b, d, e leads, within 900ms. 4 voters live, 3 are needed. One more may fail.\n",
            format!("{certain}{}{unsteady}", next("900ms")),
        ),
    ] {
        let whole = format!("{}\n\n{sides}\nGUARANTEE\n{guarantee}", first(quorum, leads));
        assert_eq!(text(&folder, args), whole, "{args}");
    }
}

/// The file decides by which algorithm, by what ranks, and whether a higher member preempts.
#[test]
fn a_forecast_goes_by_the_keys_of_the_file() {
    let folder = ranked("majority", "id", ["a", "b", "c", "d", "e"]);
    let path = folder.path().join("c.json");
    let text_of = fs::read_to_string(&path).unwrap();
    let with = |keys: &str, args: &str| {
        fs::write(&path, text_of.replacen('{', &format!("{{{keys}"), 1)).unwrap();
        text(&folder, args).lines().take(3).map(|line| format!("{line}\n")).collect::<String>()
    };
    let first = |algorithm: &str| {
        format!(
            "cluster c: 5 members, quorum majority, algorithm {algorithm}; e leads now, as it ranks highest by id: if \
             another does, say --leader NAME\n\n"
        )
    };
    let down = "a, b, c, d: d leads, within";
    let rest = "4 voters live, 3 are needed. One more may fail.\n";
    assert_eq!(with("", "--down e"), format!("{}{down} 900ms. {rest}", first("bully")));
    let slow = "\"timing\": {\"failure\": \"1s\"}, \"algorithm\": \"ring\", ";
    assert_eq!(with(slow, "--down e"), format!("{}{down} 2.6s. {rest}", first("ring")));
    let never = with("\"preempt\": \"never\", ", "--add 1");
    assert!(never.ends_with("\na, b, c, d, e, new-1: e goes on leading. 6 voters live, 4 are needed. 2 more may fail.\n"), "{never}");
}

/// An added member has a name that no other has.
#[test]
fn a_member_to_come_is_not_taken_for_one_of_its_name() {
    let folder = ranked("majority", "priority", ["new-1", "b", "c", "d", "e"]);
    let json = forecast(&folder, "--add 2");
    assert_eq!(json["members"], json!(["new-1", "b", "c", "d", "e", "new-1'", "new-2"]));
}

#[test]
fn nonsense_is_an_error_of_usage_in_words() {
    let folder = file("majority");
    let known = "there are a, b, c, d, e\n";
    let apart = "separate the sides with /, such as a,b/c\n";
    let forms = "what would happen to a cluster is told as --output text or json\n".to_owned();
    let cases = [
        ("", "say what happens to the cluster: --down NAMES, --cut SIDES or --add N\n".to_owned()),
        (
            "--leader a",
            "say what happens to the cluster: --down NAMES, --cut SIDES or --add N\n".to_owned(),
        ),
        ("--down a,x", format!("--down: there is no member \"x\"; {known}")),
        ("--down a,a", "--down: a is named twice\n".to_owned()),
        ("--down a --cut a,b", "a is in --down and in --cut: name it in one\n".to_owned()),
        ("--cut a,b/b,c", "--cut: b is on two sides\n".to_owned()),
        ("--cut a,b,c,d,e", format!("--cut: all members are on one side; {apart}")),
        ("--cut a,b --down c,d,e", format!("--cut: all members are on one side; {apart}")),
        ("--cut a//b", format!("--cut: there is no member \"\"; {known}")),
        ("--cut a/c,c", "--cut: c is named twice\n".to_owned()),
        ("--add 60", "--add 60: a cluster has at most 64 members\n".to_owned()),
        ("--down a --leader c", "--leader c: a member of role witness never leads\n".to_owned()),
        ("--down a --leader x", format!("--leader: there is no member \"x\"; {known}")),
        ("--down a --output svg", forms.clone()),
        ("--down a --output html", forms.clone()),
        ("--down a --output events", forms),
    ];
    for (args, sentence) in cases {
        let output = simulate(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), sentence, "{args}");
        assert!(output.stdout.is_empty(), "{args}");
    }
    assert_eq!(
        simulate(&folder, "--add 59").status.code(),
        Some(0),
        "64 are as many as there may be"
    );
    fs::write(folder.path().join("c.json"), "{}").unwrap();
    assert_eq!(simulate(&folder, "--down a").status.code(), Some(78));
}

/// What a declared lock would do, by the rules of the coordinator itself.
#[test]
fn where_the_declared_locks_would_be_held() {
    let folder = file("majority");
    let path = folder.path().join("c.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["locks"] = json!({
        "vip": {"prefer": ["b", "d"]}, "job": {"with": "vip"}, "only-b": {"only": ["b"]}, "other": {"only": ["a", "b"]},
    });
    fs::write(&path, config.to_string()).unwrap();
    let locks = |args: &str| {
        let locks = forecast(&folder, args)["locks"].clone();
        let holder = |lock: &Value| {
            let held = [&lock["holder_before"], &lock["holder"]];
            (
                lock["name"].as_str().unwrap().to_owned(),
                held.map(|it| it.as_str().map(str::to_owned)),
            )
        };
        let all = locks.as_array().unwrap().iter().map(holder);
        all.collect::<std::collections::BTreeMap<_, _>>()
    };
    let some = |name: &str| Some(name.to_owned());
    let down = locks("--down b");
    assert_eq!((&down["vip"], &down["job"]), (&[some("b"), some("d")], &[some("b"), some("d")]));
    assert_eq!(down["only-b"], [some("b"), None]);
    assert_eq!(down["other"], [some("a"), some("a")], "b has three already");
    assert_eq!(locks("--down c,d,e")["other"], [some("a"), None], "no majority");
    assert!(text(&folder, "--down b").contains("\n  vip moves from b to d\n"));
}
