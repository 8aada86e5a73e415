//! What a file may say of locks.

use super::files::*;

/// The one problem of a file whose `locks` are these.
#[track_caller]
fn locks(value: &str, expected: &str) {
    let quorum = "\"quorum\": \"none\",";
    let majority = format!("\"quorum\": \"majority\", \"locks\": {value},");
    one_problem(quorum, &majority, expected);
}

#[test]
fn where_locks_are_held() {
    let good = r#"{"names": "declared", "most": 3, "spread": {"rebalance": {"after": "5m", "at_once": 2}},
        "vip.7": {"prefer": ["node-2", "node-1"], "only": ["node-1", "node-2"], "weight": 3},
        "job": {"with": "vip.7"}}"#;
    let quorum = "\"quorum\": \"none\",";
    let file = with(quorum, &format!("\"quorum\": \"majority\", \"locks\": {good},"));
    assert_eq!(file.check(&[]).status.code(), Some(0), "{:?}", file.problems());

    one_problem_of(
        "locks",
        "{}",
        "3:30: locks: has no meaning with quorum \"none\" (value {}): locks need \"majority\"",
    );
    locks(
        "{\"A\": {}}",
        "3:40: locks.A: is of no name of a lock (value {}): use 1 to 63 of the characters a-z 0-9 . _ -, the \
         first of them a letter or a digit",
    );
    locks(
        "{\"a\": {\"only\": []}}",
        "3:49: locks.a.only: names nobody (value []): name members, or remove the key",
    );
    locks(
        "{\"a\": {\"only\": [\"node-3\"]}}",
        "3:50: locks.a.only[0]: is the name of no member (value \"node-3\"): did you mean \"node-1\"?",
    );
    locks(
        "{\"a\": {\"prefer\": [\"node-1\"], \"only\": [\"node-2\"]}}",
        "3:51: locks.a.prefer: names \"node-1\", which `only` does not (value [\"node-1\"]): name it in both, or in \
         neither",
    );
    locks(
        "{\"a\": {\"prefer\": [\"node-1\", \"node-1\"]}}",
        "3:51: locks.a.prefer: names a member twice (value [\"node-1\", \"node-1\"]): name each once",
    );
}

#[test]
fn what_all_locks_share_and_which_are_held_together() {
    locks(
        "{\"a\": {\"with\": \"a\"}}",
        "3:49: locks.a.with: leads back to where it is (value \"a\"): remove one `with` of the circle",
    );
    locks(
        "{\"names\": \"declared\", \"a\": {\"with\": \"b\"}}",
        "3:70: locks.a.with: is no declared name (value \"b\"): declare it, or remove the key",
    );
    locks(
        "{\"most\": 10001}",
        "3:43: locks.most: is no number that this can be (value 10001): give 1 to 10000",
    );
    locks(
        "{\"most\": 1, \"a\": {}, \"b\": {}}",
        "3:43: locks.most: is less than the declared names (value 1): raise `most`, or declare fewer",
    );
    locks(
        "{\"a\": {\"weight\": 0}}",
        "3:51: locks.a.weight: is no weight (value 0): give 1 to 1000000",
    );
    locks(
        "{\"spread\": {\"rebalance\": \"always\"}}",
        "3:59: locks.spread.rebalance: is no way to spread work anew (value \"always\"): say \"never\", or \
         {\"after\": \"5m\", \"at_once\": 1}",
    );
}
