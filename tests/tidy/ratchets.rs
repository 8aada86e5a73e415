//! What there is too much of, counted: each figure may only fall. Whoever makes it fall writes the new one here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use syn::visit::{self, Visit};
use syn::{FnArg, Ident, Item, ReceiverKind, ReturnType, Signature, Type};

use super::{Source, sources};

/// What is counted, how many there are, and what to do instead of adding one.
type Ratchet = (&'static str, fn() -> Vec<String>, usize, &'static str);

const RATCHETS: &[Ratchet] = &[
    (
        "comparisons with words that the program itself wrote",
        own_words,
        0,
        "compare the enum: a fact becomes a word when it leaves the process",
    ),
    ("verdicts on a cluster", verdicts, 1, "ask the verdict that is there"),
    ("formulas of a majority", majorities, 3, "ask the member list, or the facts"),
    (
        "type names that stand for several types",
        shared_names,
        29,
        "give the type a name of its own: a reader meets it without its module",
    ),
    (
        "functions that are named as questions and are none",
        acting_questions,
        0,
        "is_, has_, was_, may_ and does_ take &self, return a bool and change nothing",
    ),
    ("lines about a feature of Cargo.toml", features, 31, "cut at one seam: a room, not a line"),
    (
        "thousands of lines of code in the largest crate",
        largest_crate,
        28,
        "see what can go, or which rooms are a crate",
    ),
    (
        "derives that let another room write the impl",
        remotes,
        29,
        "such a derive is an arrow to the room above",
    ),
    (
        "threads whose start may panic",
        rash_threads,
        0,
        "start it by thread::Builder, and handle that the system has none left",
    ),
];

/// The words of a status: states, roles, what is seen of a member, kinds of quorum and of preemption, causes.
const OWN_WORDS: &str = "leading following electing waiting starting stopping alive suspected dead member witness \
                         observer majority none never always start stalled removed leader_released may_not_lead \
                         disk_lags";

#[test]
fn what_there_is_too_much_of_grows_less() {
    let mut broken = Vec::new();
    for (what, count, most, remedy) in RATCHETS {
        let found = count();
        if found.len() > *most {
            let all = found.join("\n  ");
            broken
                .push(format!("{} {what}, and {most} before:\n  {all}\n=> {remedy}", found.len()));
        } else if found.len() < *most {
            broken.push(format!("{} {what}, and {most} before: write {0} here", found.len()));
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The code of src without tests.
fn shipped() -> impl Iterator<Item = Source> {
    let tests = |path: &str| {
        ["/tests.rs", "/tests/", "/fuzz.rs"].iter().any(|of_tests| path.contains(of_tests))
    };
    sources(&["src"]).into_iter().filter(move |file| !tests(&file.path)).map(|mut file| {
        let end = file.lines.iter().position(|line| line.trim() == "mod tests {");
        file.lines.truncate(end.unwrap_or(file.lines.len()));
        file
    })
}

/// All lines of which this holds.
fn lines(found: impl Fn(&str) -> bool) -> Vec<String> {
    let of = |file: Source| {
        let hits: Vec<String> = (file.code().filter(|(_, line)| found(line)))
            .map(|(number, line)| format!("{}:{number} {}", file.path, line.trim()))
            .collect();
        hits
    };
    shipped().flat_map(of).collect()
}

fn own_words() -> Vec<String> {
    let compared = |line: &str, word: &str| {
        ["==", "!="].iter().any(|compares| line.contains(&format!("{compares} \"{word}\"")))
    };
    lines(|line| OWN_WORDS.split_whitespace().any(|word| compared(line, word)))
}

fn majorities() -> Vec<String> {
    lines(|line| {
        ["/ 2 + 1", " * 2 >", "> all / 2", ".div_ceil(2)"]
            .iter()
            .any(|formula| line.contains(formula))
    })
}

fn features() -> Vec<String> {
    lines(|line| line.contains("cfg") && line.contains("feature = "))
}

/// The thousands of the crate that has most code, the last one begun.
fn largest_crate() -> Vec<String> {
    let mut crates: BTreeMap<String, usize> = BTreeMap::new();
    for file in shipped() {
        let folder = file.path.split('/').take(2).collect::<Vec<_>>().join("/");
        let is_crate = Path::new(&folder).join("Cargo.toml").is_file();
        let lines = file.code().filter(|(_, line)| !line.trim().is_empty()).count();
        *crates.entry(if is_crate { folder } else { "src".to_owned() }).or_default() += lines;
    }
    let (folder, lines) = crates.into_iter().max_by_key(|(_, lines)| *lines).expect("one is");
    let thousand = |at: usize| format!("{folder}: {lines} lines, thousand {at}");
    (1..=lines.div_ceil(1000)).map(thousand).collect()
}

fn rash_threads() -> Vec<String> {
    let starts = |line: &str| ["thread::spawn(", "scope.spawn("].iter().any(|it| line.contains(it));
    let is_of_tests = |place: &String| {
        ["src/testing/", "/stage.rs:", "/suite.rs:"].iter().any(|path| place.contains(path))
    };
    lines(starts).into_iter().filter(|place| !is_of_tests(place)).collect()
}

fn remotes() -> Vec<String> {
    lines(|line| line.contains("remote = \"Self\""))
}

/// The places that judge a cluster: in Rust, on the page, in the rules for alerts, unless these are made of the kinds.
fn verdicts() -> Vec<String> {
    let has =
        |path: &str, words: &str| fs::read_to_string(path).is_ok_and(|text| text.contains(words));
    let (page, rules) = ("src/admin/page/page.js", "examples/prometheus/electd-rules.yml");
    let places = [
        ("src/facts/judge.rs", has("src/facts/judge.rs", "fn judge(")),
        (page, has(page, "function verdict(") || has(page, "failures_tolerated")),
        (rules, has(rules, "expr:") && !has(rules, "# Made by the tests of src/facts")),
    ];
    places.iter().filter(|(_, judges)| *judges).map(|(path, _)| (*path).to_owned()).collect()
}

#[derive(Default)]
struct Named {
    types: BTreeSet<String>,
    acting: Vec<String>,
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item(&mut self, item: &'ast Item) {
        let name: Option<&Ident> = match item {
            Item::Struct(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Mod(item) if item.ident == "tests" => return,
            _ => None,
        };
        self.types.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let name = signature.ident.to_string();
        let asks =
            ["is_", "has_", "was_", "may_", "does_"].iter().any(|word| name.starts_with(word));
        let changes = signature.inputs.iter().any(|input| match input {
            FnArg::Receiver(own) => matches!(own.kind, ReceiverKind::Reference(_, _, Some(_))),
            FnArg::Typed(_) => false,
        });
        let answers = match &signature.output {
            ReturnType::Type(_, kind) => {
                matches!(&**kind, Type::Path(path) if path.path.is_ident("bool"))
            }
            ReturnType::Default => false,
        };
        if asks && (changes || !answers) {
            self.acting.push(name);
        }
    }
}

/// What the files of src name, with the path of each.
fn named() -> &'static [(String, Named)] {
    static NAMED: OnceLock<Vec<(String, Named)>> = OnceLock::new();
    let of = |file: Source| {
        let text = fs::read_to_string(&file.path).expect("it was read");
        let mut named = Named::default();
        named.visit_file(&syn::parse_file(&text).expect("it is Rust"));
        (file.path, named)
    };
    NAMED.get_or_init(|| shipped().map(of).collect())
}

fn shared_names() -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, named) in named() {
        for name in &named.types {
            places.entry(name.clone()).or_default().push(path.clone());
        }
    }
    places.retain(|_, places| places.len() > 1);
    places.into_iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

fn acting_questions() -> Vec<String> {
    let of = |(path, named): &(String, Named)| {
        named.acting.iter().map(|name| format!("{path} {name}")).collect::<Vec<_>>()
    };
    named().iter().flat_map(of).collect()
}
