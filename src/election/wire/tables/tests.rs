//! Tables that no coordinator makes, and the largest one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::core::locks::periods::{OncePer, PeriodRun, RunEnd, WallTime};
use crate::core::locks::piece::TableWord;
use crate::core::locks::recurring::{MOST_ONCE, PeriodWants};
use crate::core::locks::voter::PromiseReport;
use crate::core::locks::word::{LockWord, MOST_RELEASED};
use crate::core::message::Message;
use crate::core::types::Epoch;
use crate::limits::GREATEST;
use crate::wire::frame::MAX_FRAME;
use crate::wire::samples::{envelope, id};
use crate::wire::{decode_message, encode_message};

const VERSION: Version = Version { epoch: Epoch(GREATEST), counter: GREATEST };

fn name(number: usize) -> LockName {
    LockName::new(&format!("{number:0>63}")).expect("it is one")
}

/// Of all members that a table notes.
fn notes() -> BTreeMap<NodeId, TakingNote> {
    let note = TakingNote { incarnation: Incarnation(GREATEST), version: VERSION };
    (0..MOST_NOTED as u128).map(|number| (id(number), note)).collect()
}

fn comes_back(word: LockWord) {
    let message = Message::Lock(vec![word]);
    let frame = encode_message(&envelope(message.clone()));
    assert!(frame.len() < MAX_FRAME, "{}", frame.len());
    assert_eq!(decode_message(&frame[4..]).expect("it is read").message, message);
}

#[test]
fn all_pieces_of_the_largest_table_fit_into_frames() {
    let notes = notes();
    let last = *notes.last_key_value().expect("there are many").0;
    let by = Life { member: last, incarnation: Incarnation(GREATEST) };
    let held = (0..MOST_NAMES).map(|number| (name(number), LockHold { by, token: GREATEST }));
    let run = PeriodRun {
        once: OncePer::DAILY,
        until: WallTime::LATEST,
        token: GREATEST,
        by: last,
        begun: WallTime::LATEST,
        end: Some(RunEnd::Unused),
    };
    let runs = (0..MOST_RUNS).map(|number| (name(number), run)).collect();
    let table = LockTable::from_parts(VERSION, VERSION, held.collect(), notes).expect("it is one");
    let table = table.with_runs(runs).expect("it is one");
    let pieces = TablePiece::all(&table, None);
    assert_eq!(pieces.len(), MOST_NAMES.div_ceil(MOST_OF_PIECE));
    for piece in pieces {
        comes_back(LockWord::Piece { word: TableWord::Done, piece: Arc::new(piece) });
    }
}

#[test]
fn the_most_that_a_member_says_of_what_it_wants_fits_into_frames() {
    let want = LockWant { weight: u32::MAX, prefer: u32::MAX };
    let wants: LockWants = (0..MOST_NAMES).map(|number| (name(number), want)).collect();
    for piece in WantsPiece::all(GREATEST, &wants) {
        comes_back(LockWord::Wants { piece });
    }
    let life = Life { member: id(1), incarnation: Incarnation(GREATEST) };
    comes_back(LockWord::Want {
        life,
        number: GREATEST,
        wants: Some(Arc::new((0..100).map(|number| (name(number), want)).collect())),
        released: (0..MOST_RELEASED).map(|number| (name(number), GREATEST)).collect(),
        promises: PromiseReport {
            to_all: true,
            to: (0..256).map(|number| Life { member: id(number), ..life }).collect(),
        },
        periods: PeriodWants {
            once: (0..MOST_ONCE).map(|number| (name(number), OncePer::DAILY)).collect(),
            ended: (0..MOST_RUNS).map(|number| (name(number), RunEnd::Code(255))).collect(),
        },
        rules: GREATEST,
    });
}

#[test]
fn a_piece_that_is_none_is_read_by_nobody() {
    let good = json!({
        "place": [0, 14], "version": [7, 5], "list": [7, 2], "base": [7, 4], "noted": [id(3)],
        "held": [["backup", 0, 2, 4]], "freed": ["books"], "notes": [[0, 1, [7, 5]]],
    });
    let read = |piece: &Value| serde_json::from_value::<TablePiece>(piece.clone()).is_ok();
    assert!(read(&good));
    for (key, odd) in [
        ("place", json!([1, 1])),
        ("place", json!([0, 0])),
        ("place", json!([0, 15])),
        ("noted", json!([])),
        ("held", json!([["backup", 0, 2, 4], ["backup", 0, 2, 5]])),
        ("freed", json!(["Books"])),
        ("freed", json!(vec!["x"; MOST_OF_PIECE + 1])),
        ("notes", json!([[1, 1, [7, 5]]])),
    ] {
        let mut piece = good.clone();
        piece[key] = odd;
        assert!(!read(&piece), "{piece}");
    }
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
