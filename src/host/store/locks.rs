//! What a voter must not forget of the locks, in a file of its own: earlier versions of electd leave it alone.
//!
//! It is read and replaced like the state beside it, whose lock also holds for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::record::{AnyFormat, END, REASON, Unfit, sealed, unsealed};
use super::{LOCKS, RecordFile, StoreError, file, read_as};
use crate::core::locks::table::LockTable;
use crate::core::locks::voter::KeptTable;
use crate::core::settings::Timing;
use crate::core::types::{Epoch, NodeId};
use crate::limits::{GREATEST, shown};

/// The newest format that this electd reads.
const FORMAT: u64 = 1;

/// The table that a voter has stored, and its longest promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocksRecord {
    pub kept: KeptTable,
    /// No promise to a holder was longer.
    pub longest: Duration,
}

/// The file of one member.
#[derive(Debug)]
pub struct LocksFile {
    path: PathBuf,
    id: NodeId,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LocksForm {
    format: u64,
    id: Uuid,
    promised: u64,
    longest_ns: u64,
    table: Option<Arc<LockTable>>,
}

impl LocksFile {
    /// Reads the file in the folder of this member, which the caller has locked; no record without a file.
    ///
    /// # Errors
    /// When there is a file that cannot be trusted. It is never changed here.
    pub fn open(dir: &Path, id: NodeId) -> Result<(LocksFile, Option<LocksRecord>), StoreError> {
        let path = dir.join(LOCKS);
        let record = read_as(&path, id, FORMAT, from_json)?;
        Ok((LocksFile { path, id }, record))
    }

    /// Makes durable that this member never stored a table, before it has any other state: beside a state without this file
    /// a table may have been lost.
    ///
    /// # Errors
    /// As [`LocksFile::open`], and when the disk cannot be written.
    pub fn begin(dir: &Path, id: NodeId) -> Result<(), StoreError> {
        match LocksFile::open(dir, id)? {
            (file, None) => file.save(&LocksRecord::default()),
            (_, Some(_)) => Ok(()),
        }
    }

    fn to_json(&self, record: &LocksRecord) -> Result<Vec<u8>, serde_json::Error> {
        let form = LocksForm {
            format: FORMAT,
            id: self.id.0,
            promised: record.kept.promised.0,
            longest_ns: u64::try_from(record.longest.as_nanos()).unwrap_or(u64::MAX),
            table: record.kept.table.clone(),
        };
        // On one line: there may be thousands of names.
        let mut json = serde_json::to_vec(&form)?;
        json.truncate(json.len() - 1);
        json.extend(END);
        Ok(sealed(json))
    }
}

impl RecordFile for LocksFile {
    type Record = LocksRecord;

    const THREAD: &'static str = "store-locks";

    fn save(&self, record: &LocksRecord) -> Result<(), StoreError> {
        let json = self.to_json(record).map_err(std::io::Error::from);
        let replaced = json.and_then(|json| file::replace(&self.path, &json));
        replaced.map_err(|source| StoreError::Unwritable { path: self.path.clone(), source })
    }
}

/// Believes the content of a file only if all of it makes sense. Returns whose it is, too.
fn from_json(bytes: &[u8]) -> Result<(NodeId, LocksRecord), Unfit> {
    let damaged = |error: serde_json::Error| Unfit::Damaged(shown(&error.to_string(), REASON));
    // The format first: the rest of a newer one may look like damage.
    let AnyFormat { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format > FORMAT {
        return Err(Unfit::Newer(format));
    }
    let json = unsealed(bytes)?;
    let form: LocksForm = serde_json::from_slice(&json).map_err(damaged)?;
    let longest = Duration::from_nanos(form.longest_ns);
    if form.format == 0 || form.promised > GREATEST || longest > Timing::LONGEST {
        let what = "a number in it is beyond what can have come about";
        return Err(Unfit::Damaged(what.to_owned()));
    }
    let kept = KeptTable { table: form.table, promised: Epoch(form.promised) };
    Ok((NodeId(form.id), LocksRecord { kept, longest }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::locks::table::{Life, LockHold, LockName, MOST_NAMES, TakingNote};
    use crate::core::membership::ListVersion;
    use crate::core::types::{Incarnation, Version};

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn record() -> LocksRecord {
        let version = Version { epoch: Epoch(7), counter: 5 };
        let by = Life { member: id(1), incarnation: Incarnation(3) };
        let held = [(LockName::new("backup").unwrap(), LockHold { by, token: 4 })].into();
        let notes = [(id(1), TakingNote::default())].into();
        let table = LockTable::from_parts(version, ListVersion::default(), held, notes).unwrap();
        let kept = KeptTable { table: Some(table.into()), promised: Epoch(8) };
        LocksRecord { kept, longest: Duration::from_secs(2) }
    }

    #[test]
    fn what_was_stored_is_read_again_and_without_a_file_nothing_is() {
        let dir = tempfile::tempdir().unwrap();
        let (file, empty) = LocksFile::open(dir.path(), id(1)).unwrap();
        assert_eq!(empty, None);
        for stored in [record(), LocksRecord::default(), record()] {
            file.save(&stored).unwrap();
            assert_eq!(LocksFile::open(dir.path(), id(1)).unwrap().1, Some(stored.clone()));
            LocksFile::begin(dir.path(), id(1)).unwrap();
            assert_eq!(LocksFile::open(dir.path(), id(1)).unwrap().1, Some(stored));
        }
        let foreign = LocksFile::open(dir.path(), id(2)).unwrap_err();
        assert!(matches!(foreign, StoreError::Foreign { found, .. } if found == id(1)));
    }

    #[test]
    fn the_largest_table_is_read_again() {
        let version = Version { epoch: Epoch(GREATEST), counter: GREATEST };
        let by = Life { member: id(1), incarnation: Incarnation(GREATEST) };
        let hold = |number| {
            let name = LockName::new(&format!("{number:0>63}")).unwrap();
            (name, LockHold { by, token: GREATEST })
        };
        let held = (0..MOST_NAMES).map(hold).collect();
        let notes = [(id(1), TakingNote::default())].into();
        let table = LockTable::from_parts(version, ListVersion::default(), held, notes).unwrap();
        let kept = KeptTable { table: Some(table.into()), promised: Epoch(8) };
        let stored = LocksRecord { kept, longest: Duration::from_secs(2) };
        let dir = tempfile::tempdir().unwrap();
        let (file, _) = LocksFile::open(dir.path(), id(1)).unwrap();
        file.save(&stored).unwrap();
        let bytes = fs::metadata(dir.path().join(LOCKS)).unwrap().len();
        assert!(bytes * 3 < super::super::file::LARGEST * 2, "{bytes}");
        assert_eq!(LocksFile::open(dir.path(), id(1)).unwrap().1, Some(stored));
    }

    /// A voter that takes damage for an empty file forgets which names are held.
    #[test]
    fn a_file_with_another_byte_anywhere_is_refused_and_left() {
        let dir = tempfile::tempdir().unwrap();
        let (file, _) = LocksFile::open(dir.path(), id(1)).unwrap();
        file.save(&record()).unwrap();
        let path = dir.path().join(LOCKS);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(LocksFile::open(dir.path(), id(1)).is_err(), "byte {at}");
            assert_eq!(fs::read(&path).unwrap(), bad);
        }
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        let error = LocksFile::open(dir.path(), id(1)).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        let newer = String::from_utf8(good).unwrap().replacen("\"format\":1", "\"format\":2", 1);
        fs::write(&path, newer).unwrap();
        let error = LocksFile::open(dir.path(), id(1)).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
    }
}
