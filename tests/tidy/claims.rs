//! The claims of docs/claims.md: each names tests that would notice, and these tests name the claim.

use std::collections::BTreeSet;
use std::fs;

use super::{Source, assert_none, sources};

const PAGE: &str = "docs/claims.md";

/// How the comment of a test names its claims.
const MARKS: [&str; 2] = ["/// Claim: ", "/// Claims: "];

/// A claim and the name of a test that would notice that it does not hold.
type Guard = (String, String);

/// All that the page says.
fn told(page: &str) -> BTreeSet<Guard> {
    let mut guards = BTreeSet::new();
    let claims = page.split("\n**`").skip(1).filter_map(|claim| claim.split_once("`**"));
    for (claim, rest) in claims {
        let tests = rest.split_once("- Tests: ").map_or("", |(_, tests)| tests);
        let tests = tests.split("\n\n").next().unwrap_or_default();
        let tests = tests.split('`').skip(1).step_by(2);
        guards.extend(tests.map(|test| (claim.to_owned(), test.to_owned())));
    }
    guards
}

/// The claims of the page.
fn claims(page: &str) -> BTreeSet<&str> {
    page.split("\n**`").skip(1).filter_map(|claim| Some(claim.split_once("`**")?.0)).collect()
}

/// All that the comments of tests say.
fn carried(files: &[Source]) -> BTreeSet<Guard> {
    let mut guards = BTreeSet::new();
    for file in files {
        for (at, line) in file.lines.iter().enumerate() {
            let names = MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark));
            let Some(names) = names else { continue };
            let below =
                file.lines[at..].iter().find_map(|line| line.trim_start().strip_prefix("fn "));
            let test = below.and_then(|line| line.split('(').next()).unwrap_or_default();
            let names = names.trim_end_matches('.').split(", ");
            guards.extend(names.map(|name| (name.to_owned(), test.to_owned())));
        }
    }
    guards
}

fn broken(page: &str, files: &[Source]) -> Vec<String> {
    let (told, carried) = (told(page), carried(files));
    let bare = claims(page).into_iter().filter(|claim| told.iter().all(|(one, _)| one != claim));
    let bare = bare.map(|claim| format!("{claim} has no test"));
    let missing =
        told.difference(&carried).map(|(claim, test)| format!("{test} does not carry {claim}"));
    let unsaid = carried.difference(&told);
    let unsaid =
        unsaid.map(|(claim, test)| format!("{PAGE} does not say that {test} guards {claim}"));
    bare.chain(missing).chain(unsaid).collect()
}

#[test]
fn each_claim_has_tests_and_they_carry_its_name() {
    let page = fs::read_to_string(PAGE).expect("the page is there");
    assert_none(
        &broken(&page, &sources(&["tests"])),
        "a claim of docs/claims.md names its tests, and the comment of each says `/// Claim: NAME.` or `/// Claims: ONE, TWO.`",
    );
}

/// The test itself: each way to break it is seen.
#[test]
fn a_claim_without_a_test_and_a_test_without_its_claim_are_seen() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    let text = "/// Told.\n/// Claims: alone, moved.\n#[test]\nfn first() {\n}\n/// Claim: moved.\nfn second() {}";
    let files = [Source { path: "tests/test.rs".to_owned(), lines: lines(text) }];
    let page = "# Page\n\n**`alone`** One.\n\n- Tests: `first`,\n  `third`.\n\n**`moved`** Two.\n\n- Tests: `first`.\n\n\
                **`bare`** Three, as `first`.\n";
    let expected = [
        "bare has no test",
        "third does not carry alone",
        "docs/claims.md does not say that second guards moved",
    ];
    assert_eq!(broken(page, &files), expected);
}
