//! Keeps the code tidy: the rooms and their arrows, a pure core, short files and functions, tests that wait
//! on conditions, names of the rules of the protocol, and figures of docs/. Each check says what to do when it fails.

mod figures;
mod floors;
mod ratchets;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The rooms of src/ and those that each may use directly; what these use, it may use too.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("testing", &[]), // for tests alone
    ("limits", &["core"]),
    ("calls", &["limits"]),
    ("wire", &["limits"]),
    ("tls", &["limits"]),
    ("realtime", &["testing"]),
    ("net", &["wire", "tls", "realtime", "calls", "testing"]),
    ("store", &["calls"]),
    ("rank", &["calls", "testing"]),
    ("config", &["limits", "tls"]),
    ("trace", &["core"]),
    ("flight", &["trace", "store"]),
    ("sim", &["trace", "flight"]),
    ("coroner", &["net", "rank"]),
    ("node", &["core", "coroner", "store", "rank", "config", "trace", "flight"]),
    ("exec", &["node"]),
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
    /// The room that a file of src/ is in, or the file's own name for those above the rooms.
    fn room(&self) -> Option<&str> {
        self.path.strip_prefix("src/")?.split(['/', '.']).next()
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
    for file in sources(&["src/core"]) {
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

/// The files of one room, by the path of their module, and what each imports.
struct Room {
    files: BTreeMap<Vec<String>, Source>,
}

impl Room {
    fn of(folder: &str) -> Room {
        let tests = |file: &Source| file.path.ends_with("/tests.rs");
        let files = sources(&[folder]).into_iter().filter(|file| !tests(file));
        Room { files: files.map(|file| (file.module(), file)).collect() }
    }

    /// The file that a path leads to. A name that a file only hands on is that of the file it comes from.
    fn find(&self, from: &[String], path: &[String]) -> Option<&Vec<String>> {
        let mut at = from.to_vec();
        let mut rest = path.iter();
        let mut next = rest.next()?;
        match next.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => _ = at.pop(),
            child if self.files.contains_key(&[from, &[child.to_owned()]].concat()) => {
                at.push(child.to_owned());
            }
            _ => return None,
        }
        for word in rest {
            next = word;
            if word == "super" {
                at.pop();
            } else if self.leads_below(&at, word) {
                at.push(word.clone());
            } else {
                break;
            }
        }
        let (module, file) = self.files.get_key_value(&at)?;
        let handed_on = file.imports().into_iter().find(|(hands_on, path)| {
            *hands_on && path.last() == Some(next) && path.as_slice() != [next.clone()]
        });
        match handed_on {
            Some((_, path)) => self.find(module, &path),
            None => Some(module),
        }
    }

    fn leads_below(&self, at: &[String], word: &str) -> bool {
        let below = [at, &[word.to_owned()]].concat();
        self.files.keys().any(|module| module.starts_with(&below))
    }

    /// The files of this room that each one imports.
    fn arrows(&self) -> BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> {
        let arrows = self.files.iter().map(|(module, file)| {
            let used = file.imports().into_iter().filter(|(hands_on, _)| !hands_on);
            let to = used.filter_map(|(_, path)| self.find(module, &path));
            (module, to.filter(|to| *to != module).collect())
        });
        arrows.collect()
    }
}

impl Source {
    /// The path of its module in its crate.
    fn module(&self) -> Vec<String> {
        let path = self.path.trim_end_matches(".rs");
        let below = ["src/", "benches/failover/"].iter().find_map(|root| path.strip_prefix(root));
        let parts = below.unwrap_or(path).split('/');
        parts.filter(|part| *part != "mod").map(str::to_owned).collect()
    }

    /// All paths that it names outside its tests, and whether it only hands them on.
    fn imports(&self) -> Vec<(bool, Vec<String>)> {
        let code: Vec<&str> = self.code().map(|(_, line)| line).collect();
        let text = code.join("\n").replace("(in crate::", "(in ");
        let text = text.split("mod tests {").next().unwrap_or_default();
        let mut found = Vec::new();
        for statement in text.split(';') {
            let plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
            let used = statement.split_once("use ").filter(|(head, tree)| {
                let line = head.rsplit('\n').next().unwrap_or_default().trim_start();
                (line.is_empty() || line.starts_with("pub")) && tree.chars().all(plain)
            });
            if let Some((head, tree)) = used {
                let hands_on = head.rsplit('\n').next().is_some_and(|line| line.contains("pub"));
                let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
                found.extend(leaves(&tree).into_iter().map(|path| (hands_on, path)));
            } else {
                let part_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
                let words = statement.split(|c: char| !part_of_path(c));
                let paths = words.filter(|word| {
                    ["super::", "crate::"].iter().any(|start| word.starts_with(start))
                });
                found.extend(paths.map(|path| (false, segments(path))));
            }
        }
        found
    }
}

fn segments(path: &str) -> Vec<String> {
    let parts = path.split("::").map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The single paths of the tree of a `use`.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let Some((stem, rest)) = tree.split_once('{') else {
        return vec![segments(tree.split(" as ").next().unwrap_or_default())];
    };
    let (mut depth, mut start, mut found) = (0_u32, 0, Vec::new());
    let branches = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    for (at, c) in branches.char_indices().chain([(branches.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                for leaf in leaves(&branches[start..at]) {
                    found.push([segments(stem), leaf].concat());
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let mut broken = Vec::new();
    let rooms = ARROWS.iter().map(|(room, _)| format!("src/{room}"));
    for folder in rooms.chain(["benches/failover".to_owned()]) {
        let room = Room::of(&folder);
        let mut arrows = room.arrows();
        // A file that imports nothing, or that nothing imports, is in no circle.
        loop {
            let left: BTreeSet<_> = arrows.keys().copied().collect();
            let used: BTreeSet<_> = arrows.values().flatten().copied().collect();
            for to in arrows.values_mut() {
                to.retain(|file| left.contains(file));
            }
            arrows.retain(|file, to| !to.is_empty() && used.contains(file));
            if arrows.len() == left.len() {
                break;
            }
        }
        for (file, to) in arrows {
            let to: Vec<String> = to.into_iter().map(|file| file.join("/")).collect();
            broken.push(format!("{} imports {}", file.join("/"), to.join(", ")));
        }
    }
    assert_none(
        &broken,
        "files that import each other cannot be read one after the other: move what both need into a \
         third file below them",
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
