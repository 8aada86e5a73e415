//! The rules of docs/protocol.md and their names: each name stands where the rule is implemented, and in what guards it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use electd::core::planted::Fault;

use super::{Source, assert_none, sources};

const PAGE: &str = "docs/protocol.md";

/// The names of all rules, each with the names in its row: the planted faults that break it, and "tests".
type Rules = BTreeMap<String, BTreeSet<String>>;

/// Where the names of rules stand, besides the page.
#[derive(Default)]
struct Places {
    /// The places in src that are no tests: `file:line`.
    code: BTreeMap<String, Vec<String>>,
    tests: BTreeMap<String, Vec<String>>,
    /// The planted faults that break each rule.
    faults: BTreeMap<String, Vec<String>>,
}

/// A letter and a number of at most two digits.
fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_uppercase())
        && (1..=2).contains(&letters.as_str().len())
        && letters.all(|c| c.is_ascii_digit())
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| is_name(word))
}

/// Reads the rows of the page. A name that has two rows is reported as broken.
fn rules(page: &str, broken: &mut Vec<String>) -> Rules {
    let mut rules = Rules::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let (name, guards) = (cells[0], cells[cells.len() - 1].trim_end_matches(" |"));
        if is_name(name) {
            // The row of an invariant does not say what guards it.
            let guards = if cells.len() < 4 { "tests" } else { guards };
            let guards = guards.split(", ").map(str::to_owned).collect();
            if rules.insert(name.to_owned(), guards).is_some() {
                broken.push(format!("{PAGE} has two rules {name}"));
            }
        }
    }
    rules
}

impl Source {
    /// The first line that belongs to its tests. The simulator tests the core.
    fn first_of_tests(&self) -> usize {
        let tests = ["tests/", "src/model/sim/"].iter().any(|room| self.path.starts_with(room));
        if tests || self.path.ends_with("/tests.rs") {
            return 0;
        }
        let first = self.lines.iter().position(|line| line.starts_with("mod tests {"));
        first.unwrap_or(self.lines.len())
    }

    fn comments(&self) -> impl Iterator<Item = (usize, &str)> {
        let comment = |(at, line): (usize, &'_ String)| line.find("//").map(|from| (at, from));
        let found = self.lines.iter().enumerate().filter_map(comment);
        found.map(|(at, from)| (at, &self.lines[at][from..]))
    }
}

impl Places {
    fn find() -> Places {
        let mut places = Places::default();
        for fault in Fault::ALL.iter().map(|fault| fault.plan()) {
            for rule in fault.rule.split_whitespace() {
                places.faults.entry(rule.to_owned()).or_default().push(fault.name.to_owned());
            }
        }
        for file in sources(&["src", "tests"]) {
            // The tests of this file give rules as examples.
            if !file.path.starts_with("tests/tidy/") {
                places.read(&file);
            }
        }
        places
    }

    fn read(&mut self, file: &Source) {
        let tests = file.first_of_tests();
        for (at, comment) in file.comments() {
            for name in names(comment) {
                let places = if at < tests { &mut self.code } else { &mut self.tests };
                let place = format!("{}:{}", file.path, at + 1);
                places.entry(name.to_owned()).or_default().push(place);
            }
        }
    }

    /// What is wrong with one rule.
    fn judge(&self, name: &str, guards: &BTreeSet<String>) -> Vec<String> {
        let mut broken = Vec::new();
        if !self.code.contains_key(name) {
            broken.push(format!("{name} stands nowhere in src"));
        }
        let faults = self.faults.get(name).into_iter().flatten().cloned();
        let tests = self.tests.contains_key(name).then(|| "tests".to_owned());
        let found: BTreeSet<String> = faults.chain(tests).collect();
        if found.is_empty() {
            broken.push(format!("{name} stands in no planted fault and in no test"));
        }
        let missing = guards.difference(&found);
        broken.extend(missing.map(|guard| format!("{name} is not guarded by: {guard}")));
        let unsaid = found.difference(guards).filter(|guard| *guard != "tests");
        broken.extend(unsaid.map(|guard| format!("{PAGE} does not say of {name}: {guard}")));
        broken
    }

    /// The places of names that have a letter of the page, and that the page does not have.
    fn strangers(&self, rules: &Rules) -> Vec<String> {
        let letters: BTreeSet<&str> = rules.keys().map(|name| &name[..1]).collect();
        let all = [&self.code, &self.tests, &self.faults].into_iter().flatten();
        let unknown = all.filter(|(name, _)| !rules.contains_key(*name));
        let ours = unknown.filter(|(name, _)| letters.contains(&name[..1]));
        ours.map(|(name, places)| format!("{}: {PAGE} has no rule {name}", places.join(", ")))
            .collect()
    }
}

/// All that is wrong with the names.
fn broken(page: &str, places: &Places) -> Vec<String> {
    let mut broken = Vec::new();
    let rules = rules(page, &mut broken);
    broken.extend(rules.iter().flat_map(|(name, guards)| places.judge(name, guards)));
    broken.extend(places.strangers(&rules));
    broken
}

#[test]
fn each_rule_of_the_protocol_is_named_in_the_code_and_in_what_guards_it() {
    let page = fs::read_to_string(PAGE).expect("the page is there");
    assert_none(
        &broken(&page, &Places::find()),
        "a rule has its name in docs/protocol.md, in a comment at the line that implements it, and in its planted fault \
         (src/election/core/planted.rs) or in a comment of the test that fails without it",
    );
}

/// The test itself: each way to break it is seen.
#[test]
fn a_name_that_is_missing_or_unknown_is_seen() {
    let source = |path: &str, text: &str| Source {
        path: path.to_owned(),
        lines: text.lines().map(str::to_owned).collect(),
    };
    let mut places = Places::default();
    let code =
        "/// D1: a rule.\nfn d() {} // D2, D9\n/// T1 and P5 are none.\nmod tests {\n// D3\n}";
    places.read(&source("src/election/core/code.rs", code));
    places.read(&source("tests/test.rs", "/// Rule D4."));
    places.faults.insert("D1".to_owned(), vec!["fault".to_owned(), "other".to_owned()]);
    let page = "| D1 | a | b | fault |\n| D2 | a | b | fault |\n| D3 | a | b | tests |\n| D3 | a | b | tests |\n\
                | D4 | an invariant |\n";
    let expected = [
        "docs/protocol.md has two rules D3",
        "docs/protocol.md does not say of D1: other",
        "D2 stands in no planted fault and in no test",
        "D2 is not guarded by: fault",
        "D3 stands nowhere in src",
        "D4 stands nowhere in src",
        "src/election/core/code.rs:2: docs/protocol.md has no rule D9",
    ];
    assert_eq!(broken(page, &places), expected);
}
