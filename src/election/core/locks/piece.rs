//! What is too long for one message: a table goes to a member that has an earlier one as what differs from that, and that in
//! pieces; so do the names that a member wants. Whoever receives all pieces judges the whole.
//!
//! A coordinator gives each table that it proposes a version of its own, and no other member coordinates in its epoch: so two
//! tables of one version are the same, and the version of the one that it is made of names that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::periods::PeriodRun;
use super::table::{BadTable, LockHold, LockName, LockTable, TakingNote};
use super::voter::PromiseReport;
use super::want::LockWants;
use crate::core::membership::ListVersion;
use crate::core::types::{Epoch, NodeId, Version};

/// The most names of a piece: with the longest names it has less than one frame holds.
pub const MOST_OF_PIECE: usize = 1_500;

/// Of which word a table is part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableWord {
    /// Of `LockWord::Store`.
    Store,
    /// Of `LockWord::Done`.
    Done,
    /// Of `LockWord::Table`.
    Read { epoch: Epoch, promises: PromiseReport },
}

/// The place of a piece among all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PiecePlace {
    /// The first has 0.
    pub at: u32,
    pub of: u32,
}

impl PiecePlace {
    pub fn is_first(self) -> bool {
        self.at == 0
    }

    pub fn is_last(self) -> bool {
        self.at + 1 == self.of
    }

    fn all(of: usize) -> impl Iterator<Item = PiecePlace> {
        let of = u32::try_from(of).unwrap_or(u32::MAX);
        (0..of).map(move |at| PiecePlace { at, of })
    }
}

/// A part of what makes one table out of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TablePiece {
    pub place: PiecePlace,
    /// The version of the table, and of the list that it was made for.
    pub version: Version,
    pub list: ListVersion,
    /// The version of the table that it is made of; none for an empty one.
    pub base: Option<Version>,
    /// What the other table does not have so.
    pub held: BTreeMap<LockName, LockHold>,
    /// The names that are held in the other table alone.
    pub freed: BTreeSet<LockName>,
    /// All notes and all runs, in the last piece.
    pub notes: BTreeMap<NodeId, TakingNote>,
    pub runs: BTreeMap<LockName, PeriodRun>,
}

impl TablePiece {
    /// The pieces that make this table out of another; without that, out of an empty one.
    pub fn all(table: &LockTable, base: Option<&LockTable>) -> Vec<TablePiece> {
        let nothing = LockTable::default();
        let (held, freed) = table.differing(base.unwrap_or(&nothing));
        let of = (held.len() + freed.len()).div_ceil(MOST_OF_PIECE).max(1);
        let (mut held, mut freed) = (held.into_iter(), freed.into_iter());
        let piece = |place: PiecePlace| {
            let held: BTreeMap<_, _> = held.by_ref().take(MOST_OF_PIECE).collect();
            let freed = freed.by_ref().take(MOST_OF_PIECE - held.len()).collect();
            let mut piece = TablePiece {
                place,
                version: table.version(),
                list: table.list(),
                base: base.map(LockTable::version),
                held,
                freed,
                notes: BTreeMap::new(),
                runs: BTreeMap::new(),
            };
            if place.is_last() {
                piece.notes = table.notes().collect();
                piece.runs = table.runs().map(|(name, run)| (name.clone(), *run)).collect();
            }
            piece
        };
        PiecePlace::all(of).map(piece).collect()
    }

    /// Adds the next piece of the same table.
    fn join(&mut self, next: TablePiece) -> bool {
        let follows = next.place.at == self.place.at + 1 && next.place.of == self.place.of;
        let same = next.version == self.version && next.list == self.list && next.base == self.base;
        self.place = next.place;
        self.held.extend(next.held);
        self.freed.extend(next.freed);
        (self.notes, self.runs) = (next.notes, next.runs);
        follows && same
    }

    /// The table that the joined pieces make.
    ///
    /// # Errors
    /// If no coordinator ever made it.
    pub fn made_of(self, base: &LockTable) -> Result<LockTable, BadTable> {
        let mut held: BTreeMap<LockName, LockHold> =
            base.iter().map(|(name, hold)| (name.clone(), hold)).collect();
        held.retain(|name, _| !self.freed.contains(name));
        held.extend(self.held);
        LockTable::from_parts(self.version, self.list, held, self.notes)?.with_runs(self.runs)
    }
}

/// A part of the names that a member wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WantsPiece {
    pub place: PiecePlace,
    /// Of these wants.
    pub number: u64,
    pub wants: LockWants,
}

impl WantsPiece {
    pub fn all(number: u64, wants: &LockWants) -> Vec<WantsPiece> {
        let of = wants.len().div_ceil(MOST_OF_PIECE).max(1);
        let mut wants = wants.iter().map(|(name, want)| (name.clone(), *want));
        let piece = |place| {
            let wants = wants.by_ref().take(MOST_OF_PIECE).collect();
            WantsPiece { place, number, wants }
        };
        PiecePlace::all(of).map(piece).collect()
    }
}

/// The pieces that have come from one member so far: of one table, and of the names that it wants.
#[derive(Debug, Default)]
pub struct JoinedPieces {
    table: Option<TablePiece>,
    wants: Option<WantsPiece>,
}

impl JoinedPieces {
    /// Another piece of a table. Returns all of them, once this was the last.
    pub fn table(&mut self, piece: TablePiece) -> Option<TablePiece> {
        if piece.place.is_first() {
            self.table = Some(piece);
        } else {
            // What does not follow on the last was lost in part, and comes again.
            self.table.take_if(|before| !before.join(piece));
        }
        self.table.take_if(|joined| joined.place.is_last())
    }

    /// Another piece of what the member wants.
    pub fn add_wants(&mut self, piece: WantsPiece) {
        if piece.place.is_first() {
            self.wants = Some(piece);
            return;
        }
        self.wants.take_if(|before| {
            let follows =
                piece.place.at == before.place.at + 1 && piece.place.of == before.place.of;
            let is_lost = !follows || piece.number != before.number;
            before.place = piece.place;
            before.wants.extend(piece.wants);
            is_lost
        });
    }

    /// What the member wants under this number, if all pieces of that have come.
    pub fn take_wants(&mut self, number: u64) -> Option<Arc<LockWants>> {
        let joined = self.wants.take_if(|joined| joined.place.is_last())?;
        (joined.number == number).then(|| Arc::new(joined.wants))
    }
}
