//! The JSON of a table of locks, which a voter's disk holds in the same form, and of the pieces of what is too long for one
//! message.
//!
//! A table is judged whole as it is read: its names, their number, and whether a coordinator can have made it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::{at_most, bounded};
use super::runs::{RunForm, runs_of};
use crate::core::locks::piece::{MOST_OF_PIECE, PiecePlace, TablePiece, WantsPiece};
use crate::core::locks::table::{
    Life, LockHold, LockName, LockTable, MOST_NAMES, MOST_RUNS, TakingNote,
};
use crate::core::locks::word::{LockWant, LockWants};
use crate::core::membership::{ListVersion, MOST_MEMBERS, MOST_REMOVED};
use crate::core::types::{Incarnation, NodeId, Version};

/// The most members that a table notes: all of a list, and all that it remembers as removed.
pub(super) const MOST_NOTED: usize = MOST_MEMBERS + MOST_REMOVED;

/// The most pieces of anything: those of a table that has no name of the one before.
const MOST_PIECES: usize = (2 * MOST_NAMES).div_ceil(MOST_OF_PIECE);

impl Serialize for LockName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(to)
    }
}

impl<'de> Deserialize<'de> for LockName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LockName, D::Error> {
        LockName::new(&Cow::<str>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A number that is never above the greatest.
#[derive(Serialize, Deserialize)]
pub(super) struct NumberForm(#[serde(deserialize_with = "bounded")] pub u64);

/// A name, the place of its holder among the members, the incarnation of that, and the token.
type HoldForm = (LockName, u32, Incarnation, NumberForm);

/// The place of a member, and what is noted of it.
type NoteForm = (u32, Incarnation, Version);

/// Members, each named once: holds and notes say its place among these.
struct NotedMembers(Vec<NodeId>);

impl NotedMembers {
    fn place(&self, member: NodeId) -> u32 {
        // All are there; were one not, its place would be none, and the table refused.
        self.0.binary_search(&member).unwrap_or(self.0.len()) as u32
    }

    fn at(&self, place: u32) -> Result<NodeId, &'static str> {
        self.0.get(place as usize).copied().ok_or("no such member")
    }

    fn hold_form(&self, name: &LockName, LockHold { by, token }: LockHold) -> HoldForm {
        (name.clone(), self.place(by.member), by.incarnation, NumberForm(token))
    }

    fn note_form(&self, member: NodeId, note: TakingNote) -> NoteForm {
        (self.place(member), note.incarnation, note.version)
    }

    fn held<E: Error>(&self, forms: Vec<HoldForm>) -> Result<BTreeMap<LockName, LockHold>, E> {
        let count = forms.len();
        let hold = |(name, place, incarnation, token): HoldForm| {
            let by = Life { member: self.at(place)?, incarnation };
            Ok((name, LockHold { by, token: token.0 }))
        };
        once_each(count, forms.into_iter().map(hold).collect())
    }

    fn notes<E: Error>(&self, forms: Vec<NoteForm>) -> Result<BTreeMap<NodeId, TakingNote>, E> {
        let count = forms.len();
        let note = |(place, incarnation, version): NoteForm| {
            Ok((self.at(place)?, TakingNote { incarnation, version }))
        };
        once_each(count, forms.into_iter().map(note).collect())
    }
}

/// All of these, if each is there once.
fn once_each<K: Ord, V, E: Error>(
    count: usize,
    all: Result<BTreeMap<K, V>, &'static str>,
) -> Result<BTreeMap<K, V>, E> {
    let all = all.map_err(E::custom)?;
    let is_once = all.len() == count;
    is_once.then_some(all).ok_or_else(|| E::custom("a name or a note is there twice"))
}

/// The form of a table.
#[derive(Serialize, Deserialize)]
struct TableForm {
    version: Version,
    list: ListVersion,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NOTED>")]
    noted: Vec<NodeId>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
    held: Vec<HoldForm>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NOTED>")]
    notes: Vec<NoteForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_RUNS>")]
    runs: Vec<RunForm>,
}

impl Serialize for LockTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let members = NotedMembers(self.notes().map(|(member, _)| member).collect());
        let held = self.iter().map(|(name, hold)| members.hold_form(name, hold)).collect();
        let notes = self.notes().map(|(member, note)| members.note_form(member, note)).collect();
        let runs = self.runs().map(RunForm::from).collect();
        let (version, list, noted) = (self.version(), self.list(), members.0);
        TableForm { version, list, noted, held, notes, runs }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for LockTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LockTable, D::Error> {
        let TableForm { version, list, noted, held, notes, runs } = TableForm::deserialize(from)?;
        let members = NotedMembers(noted);
        let (held, notes, runs) =
            (members.held::<D::Error>(held)?, members.notes::<D::Error>(notes)?, runs_of(runs)?);
        let table = LockTable::from_parts(version, list, held, notes);
        table.and_then(|table| table.with_runs(runs)).map_err(D::Error::custom)
    }
}

/// The form of a piece of a table.
#[derive(Serialize, Deserialize)]
struct TablePieceForm {
    place: PlaceForm,
    version: Version,
    list: ListVersion,
    base: Option<Version>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NOTED>")]
    noted: Vec<NodeId>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_OF_PIECE>")]
    held: Vec<HoldForm>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_OF_PIECE>")]
    freed: Vec<LockName>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NOTED>")]
    notes: Vec<NoteForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_RUNS>")]
    runs: Vec<RunForm>,
}

/// Which of how many it is.
#[derive(Serialize, Deserialize)]
struct PlaceForm(u32, u32);

impl From<PiecePlace> for PlaceForm {
    fn from(PiecePlace { at, of }: PiecePlace) -> PlaceForm {
        PlaceForm(at, of)
    }
}

impl PlaceForm {
    fn place<E: Error>(self) -> Result<PiecePlace, E> {
        let PlaceForm(at, of) = self;
        let is_one = at < of && of as usize <= MOST_PIECES;
        is_one.then_some(PiecePlace { at, of }).ok_or_else(|| E::custom("no such piece"))
    }
}

impl Serialize for TablePiece {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let holders = self.held.values().map(|hold| hold.by.member);
        let noted: BTreeSet<NodeId> = holders.chain(self.notes.keys().copied()).collect();
        let members = NotedMembers(noted.into_iter().collect());
        let held = self.held.iter().map(|(name, hold)| members.hold_form(name, *hold)).collect();
        let notes = self.notes.iter().map(|(id, note)| members.note_form(*id, *note)).collect();
        let form = TablePieceForm {
            place: self.place.into(),
            version: self.version,
            list: self.list,
            base: self.base,
            noted: members.0,
            held,
            freed: self.freed.iter().cloned().collect(),
            notes,
            runs: self.runs.iter().map(RunForm::from).collect(),
        };
        form.serialize(to)
    }
}

impl<'de> Deserialize<'de> for TablePiece {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TablePiece, D::Error> {
        let form = TablePieceForm::deserialize(from)?;
        let members = NotedMembers(form.noted);
        Ok(TablePiece {
            place: form.place.place::<D::Error>()?,
            version: form.version,
            list: form.list,
            base: form.base,
            held: members.held::<D::Error>(form.held)?,
            freed: form.freed.into_iter().collect(),
            notes: members.notes::<D::Error>(form.notes)?,
            runs: runs_of(form.runs)?,
        })
    }
}

/// What a member wants: names, each with its weight and its preference.
#[derive(Serialize, Deserialize)]
pub(super) struct WantsForm(
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_OF_PIECE>")] Vec<(LockName, u32, u32)>,
);

impl From<&LockWants> for WantsForm {
    fn from(wants: &LockWants) -> WantsForm {
        let form = |(name, want): (&LockName, &LockWant)| (name.clone(), want.weight, want.prefer);
        WantsForm(wants.iter().map(form).collect())
    }
}

impl From<WantsForm> for LockWants {
    fn from(WantsForm(wants): WantsForm) -> LockWants {
        let want = |(name, weight, prefer)| (name, LockWant { weight, prefer });
        wants.into_iter().map(want).collect()
    }
}

/// The form of a piece of them.
#[derive(Serialize, Deserialize)]
struct WantsPieceForm {
    place: PlaceForm,
    #[serde(deserialize_with = "bounded")]
    number: u64,
    wants: WantsForm,
}

impl Serialize for WantsPiece {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (place, wants) = (self.place.into(), (&self.wants).into());
        WantsPieceForm { place, number: self.number, wants }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for WantsPiece {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<WantsPiece, D::Error> {
        let WantsPieceForm { place, number, wants } = WantsPieceForm::deserialize(from)?;
        Ok(WantsPiece { place: place.place::<D::Error>()?, number, wants: wants.into() })
    }
}

#[cfg(test)]
mod tests;
