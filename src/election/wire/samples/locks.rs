//! A good word of each kind about locks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::id;
use crate::core::locks::periods::{OncePer, PeriodRun, RunEnd, WallTime};
use crate::core::locks::piece::{PiecePlace, TablePiece, TableWord, WantsPiece};
use crate::core::locks::recurring::PeriodWants;
use crate::core::locks::table::{Life, LockHold, LockName, LockTable, TakingNote};
use crate::core::locks::voter::{PromiseReport, TableRead};
use crate::core::locks::word::{LockWant, LockWord};
use crate::core::membership::ListVersion;
use crate::core::message::Message;
use crate::core::types::{Epoch, Incarnation};

/// A message with each word about locks.
pub fn words() -> Message {
    let (epoch, number, length) = (Epoch(7), 9, Duration::from_millis(400));
    let version = ListVersion { epoch, counter: 5 };
    let life = Life { member: id(3), incarnation: Incarnation(2) };
    let note = TakingNote { incarnation: Incarnation(1), version };
    let notes = [(id(3), note), (id(4), TakingNote::default())].into();
    let held = [(name("backup"), LockHold { by: life, token: 4 })].into();
    let list = ListVersion { epoch, counter: 2 };
    let table = LockTable::from_parts(version, list, held, notes);
    let table = Arc::new(table.unwrap_or_else(|bad| unreachable!("{bad}")));
    let with_runs = with_runs(&table);
    let promises = PromiseReport { to_all: false, to: [life].into() };
    let read = |table| TableRead { table, promises: promises.clone() };
    let pieces = pieces(&table, &with_runs);
    let mut words = vec![
        LockWord::Read { epoch, list },
        LockWord::Table { epoch, read: read(Some(table.clone())) },
        LockWord::Table { epoch, read: read(None) },
        LockWord::Later { epoch },
        LockWord::Store { table: table.clone() },
        LockWord::Stored { version },
        LockWord::Waits { version, promises: promises.clone() },
        LockWord::Done { table: table.clone() },
        LockWord::Ask { number, life, known: version, length },
        LockWord::Promise { number, to: life.incarnation, list },
        LockWord::Lacks,
        LockWord::Gave {
            released: [(name("report"), 3)].into(),
            ended: [(name("report"), RunEnd::Code(0))].into(),
            passed: true,
        },
        LockWord::Order { number, name: name("backup"), token: Some(4) },
        LockWord::Order { number, name: name("backup"), token: None },
        LockWord::Rebalance { number },
        LockWord::Ordered { number, done: true },
        LockWord::Clock { time: None, differ: BTreeSet::new() },
        LockWord::Clock { time: Some(WallTime(9)), differ: [name("report")].into() },
        LockWord::Wall { time: WallTime(9) },
        LockWord::Forget { name: name("report") },
        LockWord::Done { table: Arc::new(with_runs) },
    ];
    words.extend(wants(life, promises));
    words.extend(pieces);
    Message::Lock(words)
}

fn name(text: &str) -> LockName {
    LockName::new(text).unwrap_or_else(|bad| unreachable!("{text}: {bad}"))
}

fn wants(life: Life, promises: PromiseReport) -> Vec<LockWord> {
    let want = LockWant { weight: 1, prefer: 2 };
    vec![
        LockWord::Want {
            rules: 7,
            life,
            number: 5,
            wants: Some(Arc::new([(name("vip-7"), want)].into())),
            released: [(name("backup"), 4)].into(),
            promises: promises.clone(),
            periods: PeriodWants::default(),
        },
        LockWord::Want {
            rules: 7,
            life,
            number: 5,
            wants: Some(Arc::new([(name("report"), want)].into())),
            released: [(name("backup"), 4), (name("books"), 5)].into(),
            promises,
            periods: PeriodWants {
                once: [(name("report"), OncePer::DAILY)].into(),
                ended: [(name("backup"), RunEnd::Code(3)), (name("books"), RunEnd::Unused)].into(),
            },
        },
        LockWord::Want {
            rules: 0,
            life,
            number: 5,
            wants: None,
            released: [].into(),
            promises: PromiseReport::default(),
            periods: PeriodWants::default(),
        },
    ]
}

/// Pieces of this table, and of what a member wants.
fn pieces(table: &LockTable, with_runs: &LockTable) -> Vec<LockWord> {
    let (version, list, epoch) = (table.version(), table.list(), table.version().epoch);
    let want = LockWant { weight: 1, prefer: 2 };
    let piece = |base| TablePiece {
        place: PiecePlace { at: 1, of: 2 },
        version,
        list,
        base,
        held: table.iter().map(|(name, hold)| (name.clone(), hold)).collect(),
        freed: [name("books")].into(),
        notes: table.notes().collect(),
        runs: with_runs.runs().map(|(name, run)| (name.clone(), *run)).collect(),
    };
    vec![
        LockWord::Piece { word: TableWord::Store, piece: Arc::new(piece(None)) },
        LockWord::Piece {
            word: TableWord::Read { epoch, promises: PromiseReport::default() },
            piece: Arc::new(piece(Some(version))),
        },
        LockWord::Wants {
            piece: WantsPiece {
                place: PiecePlace { at: 0, of: 1 },
                number: 5,
                wants: [(name("vip-7"), want)].into(),
            },
        },
    ]
}

/// The same table with the last runs of two names.
fn with_runs(table: &LockTable) -> LockTable {
    let run = |token, end| PeriodRun {
        once: OncePer::DAILY,
        until: WallTime(86_400_000),
        token,
        by: id(3),
        begun: WallTime(9),
        end,
    };
    let runs = [(name("report"), run(4, None)), (name("books"), run(3, Some(RunEnd::Code(0))))];
    table.clone().with_runs(runs.into()).unwrap_or_else(|bad| unreachable!("{bad}"))
}
