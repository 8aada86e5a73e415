//! The place of a member's state: the folder of its name, and no other folder.
//!
//! The id identifies a member, but the folder has its name. If the name was changed in the
//! configuration and the folder was not renamed, a start would find no state: the member would forget
//! its votes, and its epochs would go backwards. So a start looks at all folders of the data directory. (W4)

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{LOCK, STATE, Store, StoreError, read};
use crate::core::types::NodeId;

impl Store {
    /// Makes sure that the folder of this name is the only one with state of this member. `known` says
    /// which names other members have: each start judges its own folder.
    ///
    /// # Errors When another folder has state of this member; or has state that cannot be read, so that
    /// its owner is unknown, while the folder of this name has none.
    pub fn find(
        data_dir: &Path,
        name: &str,
        id: NodeId,
        known: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let own = data_dir.join(name);
        let empty = !own.join(STATE).exists() && !own.join(STATE).is_symlink();
        let entries = match fs::read_dir(data_dir) {
            Ok(entries) => entries,
            // There is nothing yet; or the member's own folder says enough.
            Err(error) if error.kind() == io::ErrorKind::NotFound || !empty => return Ok(()),
            Err(source) => return Err(StoreError::Folder { dir: data_dir.to_path_buf(), source }),
        };
        for entry in entries {
            let unusable = |source| StoreError::Folder { dir: data_dir.to_path_buf(), source };
            let dir = entry.map_err(unusable)?.path();
            if dir == own || is_same(&dir, &own) {
                continue;
            }
            let others = || dir.file_name().is_some_and(|name| known(&name.to_string_lossy()));
            match read(&dir.join(STATE), id) {
                Ok(Some(_)) if empty => {
                    return Err(StoreError::Renamed { id, found: dir, expected: own });
                }
                Ok(Some(_)) => return Err(StoreError::Twice { id, one: own, other: dir }),
                Ok(None) | Err(StoreError::Foreign { .. }) => {}
                Err(why) if empty && dir.join(LOCK).exists() && !others() => {
                    return Err(StoreError::Unclear { dir, expected: own, why: Box::new(why) });
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether two paths lead to one folder: a link may keep an old name alive.
fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    place(one).is_some_and(|one| Some(one) == place(other))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::super::StoreTrouble;
    use super::super::record::samples::{id, record};
    use super::*;

    /// A data directory in which the state of member 1 lies under this name.
    fn with_state_of_one(name: &str) -> TempDir {
        let dir = TempDir::new().unwrap();
        add_state_of_one(&dir, name);
        dir
    }

    fn add_state_of_one(dir: &TempDir, name: &str) {
        let (store, _) = Store::open(&dir.path().join(name), id(1)).unwrap();
        store.save(&record(7)).unwrap();
    }

    /// Looks for the state of a member of this name, where member "b" is known too.
    fn find(dir: &TempDir, name: &str, number: u128) -> Result<(), StoreError> {
        Store::find(dir.path(), name, id(number), |name| ["a", "b"].contains(&name))
    }

    #[test]
    fn state_under_its_own_name_is_found_and_that_of_others_is_let_alone() {
        let dir = with_state_of_one("a");
        find(&dir, "a", 1).unwrap();
        find(&dir, "b", 2).unwrap();
        fs::write(dir.path().join("file"), b"").unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        find(&dir, "b", 2).unwrap();
        find(&TempDir::new().unwrap(), "a", 1).unwrap();
        Store::find(&dir.path().join("new"), "a", id(1), |_| false).unwrap();
    }

    /// Rule W4.
    #[test]
    fn state_under_another_name_is_named_and_not_forgotten() {
        let dir = with_state_of_one("old");
        let error = find(&dir, "a", 1).unwrap_err();
        assert_eq!(error.trouble(), StoreTrouble::State);
        let words = error.to_string();
        let [old, own] = ["old", "a"].map(|name| dir.path().join(name));
        let remedy = format!(
            "is in {}: if its name was changed, rename that folder to {};",
            old.display(),
            own.display()
        );
        assert!(words.contains(&remedy), "{words}");
        fs::rename(old, own).unwrap();
        find(&dir, "a", 1).unwrap();
    }

    /// Rule W4.
    #[test]
    fn two_folders_of_one_id_are_refused_unless_one_is_a_link_to_the_other() {
        let dir = with_state_of_one("a");
        symlink(dir.path().join("a"), dir.path().join("old")).unwrap();
        find(&dir, "a", 1).unwrap();
        fs::remove_file(dir.path().join("old")).unwrap();
        add_state_of_one(&dir, "old");
        let error = find(&dir, "a", 1).unwrap_err();
        assert_eq!(error.trouble(), StoreTrouble::State);
        assert!(
            matches!(&error, StoreError::Twice { one, other, .. }
            if *one == dir.path().join("a") && *other == dir.path().join("old")),
            "{error}"
        );
        // A link that leads nowhere is no first start.
        fs::remove_file(dir.path().join("a").join(STATE)).unwrap();
        symlink(dir.path().join("nothing"), dir.path().join("a").join(STATE)).unwrap();
        assert!(matches!(find(&dir, "a", 1), Err(StoreError::Twice { .. })));
    }

    #[test]
    fn state_that_cannot_be_read_may_be_of_anybody_but_a_member_with_that_name() {
        let dir = with_state_of_one("old");
        fs::write(dir.path().join("old").join(STATE), b"{").unwrap();
        let error = find(&dir, "a", 1).unwrap_err();
        assert!(
            matches!(&error, StoreError::Unclear { dir: found, expected, why }
            if *found == dir.path().join("old") && *expected == dir.path().join("a")
            && matches!(**why, StoreError::Damaged { .. })),
            "{error}"
        );
        fs::remove_file(dir.path().join("old").join(LOCK)).unwrap();
        find(&dir, "a", 1).unwrap(); // electd has no folder without a lock
        let dir = with_state_of_one("b");
        fs::write(dir.path().join("b").join(STATE), b"{").unwrap();
        find(&dir, "a", 1).unwrap();
        add_state_of_one(&dir, "a");
        fs::rename(dir.path().join("b"), dir.path().join("old")).unwrap();
        find(&dir, "a", 1).unwrap(); // it has state of its own
    }

    /// Otherwise a member would start without what it may have promised.
    #[test]
    fn a_data_directory_that_cannot_be_looked_at_is_told_if_the_member_has_no_state() {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("data");
        fs::write(&file, b"").unwrap();
        let error = Store::find(&file, "a", id(1), |_| false).unwrap_err();
        assert_eq!(error.trouble(), StoreTrouble::Folder);
        let words = error.to_string();
        assert!(words.contains("a file is in the way"), "{words}");
    }
}
