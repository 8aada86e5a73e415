//! Tables that no coordinator makes, and the largest one.

use serde_json::{Value, json};

use super::*;
use crate::core::locks::periods::{OncePer, PeriodRun, RunEnd};
use crate::core::message::Message;
use crate::limits::GREATEST;
use crate::wire::frame::MAX_FRAME;
use crate::wire::samples::{envelope, id};
use crate::wire::{decode_message, encode_message};

#[test]
fn the_largest_table_fits_into_a_frame() {
    let version = Version { epoch: Epoch(GREATEST), counter: GREATEST };
    let members = (0..(MOST_MEMBERS + MOST_REMOVED) as u128).map(id);
    let note = TakingNote { incarnation: Incarnation(GREATEST), version };
    let notes: BTreeMap<NodeId, TakingNote> = members.map(|id| (id, note)).collect();
    let last = *notes.last_key_value().expect("there are many").0;
    let by = Life { member: last, incarnation: Incarnation(1 << 32) };
    let hold = |number| {
        let name = LockName::new(&format!("{number:0>63}")).expect("it is one");
        (name, LockHold { by, token: GREATEST })
    };
    let held = (0..MOST_NAMES).map(hold).collect();
    let run = PeriodRun {
        once: OncePer::DAILY,
        until: WallTime::LATEST,
        token: GREATEST,
        by: last,
        begun: WallTime::LATEST,
        end: Some(RunEnd::Unused),
    };
    let runs = (0..MOST_RUNS).map(|number| (hold(number).0, run)).collect();
    let table = LockTable::from_parts(version, version, held, notes).expect("it is one");
    let table = table.with_runs(runs).expect("it is one");
    let message = Message::Lock(vec![LockWord::Done { table: Arc::new(table) }]);
    let frame = encode_message(&envelope(message.clone()));
    assert!(frame.len() < MAX_FRAME, "{}", frame.len());
    assert_eq!(decode_message(&frame[4..]).expect("it is read").message, message);
}

#[test]
fn a_table_that_no_coordinator_makes_is_read_by_nobody() {
    let once = json!({ "length_ms": 1000, "begin_ms": 0, "retry": true });
    let run = json!({
        "name": "report", "once": once, "until_ms": 3, "token": 5, "by": id(4), "begun_ms": 2,
        "end": { "code": 0 },
    });
    let late = {
        let mut late = run.clone();
        late["token"] = json!(6);
        late
    };
    let good = json!({
        "version": [7, 5],
        "list": [7, 2],
        "noted": [id(3)],
        "held": [["backup", 0, 2, 4]],
        "notes": [[0, 1, [7, 5]]],
        "runs": [run.clone()],
    });
    let read = |table: &Value| serde_json::from_value::<LockTable>(table.clone()).is_ok();
    assert!(read(&good));
    for (key, odd) in [
        ("version", json!([7, 3])),
        ("noted", json!([])),
        ("held", json!([["Backup", 0, 2, 4]])),
        ("held", json!([["backup", 1, 2, 4]])),
        ("held", json!([["backup", 0, 2, 6]])),
        ("held", json!([["backup", 0, 2, 4], ["backup", 0, 2, 5]])),
        ("held", json!([["backup", 0, u64::MAX, 4]])),
        ("runs", json!([late])),
        ("runs", json!([run.clone(), run])),
        ("notes", json!([])),
        ("notes", json!([[0, 1, [7, 6]]])),
        ("notes", json!([[0, 1, [7, 5]], [0, 1, [7, 4]]])),
    ] {
        let mut table = good.clone();
        table[key] = odd;
        assert!(!read(&table), "{table}");
    }
}
