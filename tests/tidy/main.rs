//! Keeps the code tidy: the rooms and their arrows, a pure core, short files and functions, tests that wait
//! on conditions, names of the rules of the protocol, and figures of docs/. Each check says what to do when it fails.

mod circles;
mod claims;
mod figures;
mod floors;
mod ratchets;
mod recipes;
mod rules;

use std::fs;
use std::path::PathBuf;

/// The folders of src/ that are crates of several rooms, below the daemon's. Their manifests say which crates each may use.
/// src/facts, src/engine and src/testing are crates of one room.
const CRATES: &[&str] = &["election", "record", "model", "host"];

/// The rooms of src/ and those that each may use directly; what these use, it may use too.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("testing", &[]), // for tests alone
    ("limits", &["core"]),
    ("calls", &["limits"]),
    ("wire", &["limits"]),
    ("tls", &["limits"]),
    ("realtime", &["testing"]),
    ("local", &["calls"]),
    ("net", &["wire", "tls", "realtime", "local", "testing"]),
    ("store", &["calls"]),
    ("rank", &["calls", "testing"]),
    ("config", &["limits", "tls"]),
    ("trace", &["core"]),
    ("flight", &["trace", "limits"]),
    ("behaviour", &["flight"]),
    ("recorder", &["trace"]),
    ("delays", &["core"]),
    ("sim", &["trace", "flight", "recorder"]),
    ("facts", &["core", "trace"]),
    ("cgroup", &["calls", "testing"]),
    ("coroner", &["net", "rank", "cgroup"]),
    ("node", &["core", "coroner", "store", "rank", "config", "trace", "flight", "recorder"]),
    ("engine", &["net", "core"]),
    ("exec", &["node", "engine"]),
    ("admin", &["node", "trace"]),
    ("lab", &["admin", "sim"]),
    ("cli", &["admin", "sim", "exec", "lab"]),
    ("fuzzing", &["wire", "store", "config", "admin"]),
];

/// Names that would make the core depend on more than its inputs: the outside, the clock, chance, or an
/// order that differs from run to run. Its data may derive serde, which reads and writes nothing by itself.
const IMPURE: &str = "std::net std::thread std::fs Instant SystemTime crossbeam parking_lot log:: \
                      serde_json postcard new_v4 HashMap HashSet rand::";

const MAX_FILE_LINES: usize = 400;
const MAX_FUNCTION_LINES: usize = 70;

/// A Rust file of this repository.
struct Source {
    /// Relative to the repository, with forward slashes.
    path: String,
    lines: Vec<String>,
}

impl Source {
    /// The path of a file of src/ in its crate.
    fn path_in_crate(&self) -> Option<&str> {
        let path = self.path.strip_prefix("src/")?;
        let in_crate = |name: &&str| path.strip_prefix(*name)?.strip_prefix('/');
        Some(CRATES.iter().find_map(in_crate).unwrap_or(path))
    }

    /// The room that a file of src/ is in, or the file's own name for those above the rooms.
    fn room(&self) -> Option<&str> {
        self.path_in_crate()?.split(['/', '.']).next()
    }

    /// The lines with their numbers, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().enumerate().map(|(at, line)| {
            let comment = line.starts_with("//").then_some(0).or_else(|| line.find(" //"));
            (at + 1, &line[..comment.unwrap_or(line.len())])
        })
    }
}

/// All Rust files below these folders. Cargo runs tests in the root of the package.
fn sources(folders: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("the file is UTF-8");
                found.push(Source {
                    path: path.display().to_string(),
                    lines: text.lines().map(str::to_string).collect(),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Fails with all places where a rule is broken, and what to do there.
fn assert_none(broken: &[String], remedy: &str) {
    assert!(broken.is_empty(), "\n{}\n=> {remedy}\n", broken.join("\n"));
}

/// Whether a line of code has this word, not just as the end of a longer one.
fn mentions(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Whether a room may use another: itself, what its arrows lead to, and so on.
fn may_use(room: &str, other: &str) -> bool {
    let arrows = ARROWS.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, to)| to);
    room == other || arrows.iter().any(|next| may_use(next, other))
}

#[test]
fn the_core_is_pure() {
    let mut broken = Vec::new();
    for file in sources(&["src/election/core"]) {
        for (number, line) in file.code() {
            for word in IMPURE.split_whitespace().filter(|word| mentions(line, word)) {
                broken.push(format!("{}:{number} mentions {word}", file.path));
            }
        }
    }
    assert_none(
        &broken,
        "the core is a pure state machine: pass time and chance in as arguments, keep sets in a \
         BTreeMap or in id order, and leave the outside to src/node",
    );
}

#[test]
fn the_arrows_between_the_rooms_point_one_way() {
    let mut broken = Vec::new();
    for file in sources(&["src"]) {
        let room = file.room().expect("it is in src");
        if ["lib", "main"].contains(&room) {
            continue;
        }
        if !ARROWS.iter().any(|(name, _)| *name == room) {
            broken.push(format!("{}: the room {room} is not in ARROWS", file.path));
            continue;
        }
        for (number, line) in file.code() {
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_alphanumeric() && c != '_');
                let used = &used[..end.unwrap_or(used.len())];
                if !may_use(room, used) {
                    broken.push(format!("{}:{number} uses crate::{used}", file.path));
                }
            }
        }
    }
    assert_none(
        &broken,
        "a room uses only those that ARROWS leads it to: hand the value in from a room above, or \
         move the type down; one `use crate::room::..` a line; a new room gets its arrows first",
    );
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent = |file: &Source| !file.lines.first().is_some_and(|line| line.starts_with("//! "));
    let broken: Vec<String> =
        sources(&["src"]).into_iter().filter(silent).map(|file| file.path).collect();
    assert_none(&broken, "open the file with `//! ` and a sentence on what it is for");
}

#[test]
fn files_are_short() {
    let mut broken = Vec::new();
    for file in sources(&["src", "tests"]) {
        if file.lines.len() > MAX_FILE_LINES {
            broken.push(format!("{} has {} lines", file.path, file.lines.len()));
        }
    }
    assert_none(&broken, &format!("split it by nouns: {MAX_FILE_LINES} lines are enough for one"));
}

#[test]
fn functions_fit_a_screen() {
    let mut broken = Vec::new();
    for file in sources(&["src", "tests"]) {
        for (at, line) in file.lines.iter().enumerate() {
            let length = function_length(&file.lines[at..]);
            if length > MAX_FUNCTION_LINES {
                let name = line.trim();
                broken.push(format!("{}:{} {name} has {length} lines", file.path, at + 1));
            }
        }
    }
    assert_none(
        &broken,
        &format!("give its steps names of their own: at most {MAX_FUNCTION_LINES} lines"),
    );
}

/// How many lines the function has that starts on the first of these; 0 if none does. Relies on
/// rustfmt: the end is below the start.
fn function_length(lines: &[String]) -> usize {
    let first = &lines[0];
    let qualifier = |word: &str| word == "const" || word == "unsafe" || word.starts_with("pub");
    let head = first.split_once("fn ").map(|(head, _)| head);
    if !head.is_some_and(|head| head.split_whitespace().all(qualifier)) {
        return 0;
    }
    let indent = first.len() - first.trim_start().len();
    let ends = |(at, line): (usize, &String)| {
        let below = line.get(indent..).is_some_and(|rest| rest.starts_with(['}', ')']));
        (at == 0 || below) && line.ends_with(['}', ';'])
    };
    lines.iter().enumerate().position(ends).map_or(lines.len(), |at| at + 1)
}

#[test]
fn tests_wait_on_conditions() {
    // In two parts, or this file would break the rule.
    let sleep = concat!("sleep", "(");
    let mut broken = Vec::new();
    for file in sources(&["tests"]) {
        // The faults of tests/jepsen last for times that are drawn.
        if ["tests/process/support/", "tests/cli/admin/pace.rs", "tests/jepsen/"]
            .iter()
            .any(|at| file.path.starts_with(at))
        {
            continue;
        }
        for (number, _) in file.code().filter(|(_, line)| line.contains(sleep)) {
            broken.push(format!("{}:{number} sleeps", file.path));
        }
    }
    assert_none(
        &broken,
        "wait until what you expect is so: a sleep is too long on a fast machine and too short on \
         a busy one; tests/process/support has the one loop that polls",
    );
}
