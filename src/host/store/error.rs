//! Errors of the durable state: which file, what is wrong with it, what to do.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::core::types::NodeId;

/// Why state could not be read or written. None of these changes what was stored before.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process works with this folder.
    #[error(
        "the data directory {} is in use by {holder}: stop that process, or check that every \
         node has a name and a data_dir of its own",
        .dir.display()
    )]
    Locked {
        /// The node's folder.
        dir: PathBuf,
        /// The other process, in words.
        holder: String,
    },
    /// The folder cannot be created, or the lock file in it not be opened, locked or written.
    #[error("the data directory {} cannot be used: {source}; {}", .dir.display(), remedy(.source))]
    Folder {
        /// The node's folder.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The state file is there and cannot be read.
    #[error("the state file {} cannot be read: {source}; {}", .path.display(), remedy(.source))]
    Unreadable {
        /// The state file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A record could not be made durable.
    #[error(
        "the state file {} cannot be written: {source}; what it held before is kept; {}",
        .path.display(),
        remedy(.source)
    )]
    Unwritable {
        /// The state file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The state file does not hold what electd once wrote.
    #[error(
        "the state file {} is damaged: {reason}. It was left as it is. Remove this member from the \
         cluster (`member remove`), move the file away, and add it under a fresh id \
         (`member add`): under its old id it could repeat an epoch that it has forgotten",
        .path.display()
    )]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// What is wrong with its content, in words.
        reason: String,
    },
    /// The state file was written by a newer electd.
    #[error(
        "the state file {} has format {found}, and this electd reads formats up to {known}: run \
         the electd that wrote it, or a later one",
        .path.display()
    )]
    Newer {
        /// The state file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest that this electd reads.
        known: u64,
    },
    /// The state file belongs to another member.
    #[error(
        "the state file {} belongs to member {found}, and this node is {expected}: check the \
         node's name, its id and data_dir in the configuration; if the id was changed on purpose, \
         move the file away",
        .path.display()
    )]
    Foreign {
        /// The state file.
        path: PathBuf,
        /// The member that it belongs to.
        found: NodeId,
        /// This member.
        expected: NodeId,
    },
    /// The state of this member lies under another name.
    #[error(
        "the state of this member, {id}, is in {}: if its name was changed, rename that folder to {}; \
         without it the member would repeat epochs that it has forgotten",
        .found.display(),
        .expected.display()
    )]
    Renamed {
        /// This member.
        id: NodeId,
        /// Where its state is.
        found: PathBuf,
        /// Where it should be.
        expected: PathBuf,
    },
    /// Two folders have state of this member.
    #[error(
        "both {} and {} hold state of this member, {id}: move the one away that was used less \
         lately, and keep the one with the greater \"incarnation\" in its state.json",
        .one.display(),
        .other.display()
    )]
    Twice {
        /// This member.
        id: NodeId,
        /// The folder of its name.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// Nobody knows whose state it is.
    #[error(
        "{} holds no state, and that in {} may be of this member under an earlier name: {why}. \
         If it is of another member, move that folder out of the data directory",
        .expected.display(),
        .dir.display()
    )]
    Unclear {
        /// The folder with the other state.
        dir: PathBuf,
        /// The folder of this member.
        expected: PathBuf,
        /// Why the owner of the state is unknown, in words.
        why: Box<StoreError>,
    },
}

/// The kind of a [`StoreError`], to be mapped to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTrouble {
    /// The stored state is damaged, of a newer format, or another member's.
    State,
    /// The data directory is locked, or the system refuses to read or write in it.
    Folder,
}

impl StoreError {
    /// The kind of this error.
    #[must_use]
    pub fn trouble(&self) -> StoreTrouble {
        match self {
            StoreError::Damaged { .. }
            | StoreError::Newer { .. }
            | StoreError::Foreign { .. }
            | StoreError::Renamed { .. }
            | StoreError::Twice { .. } => StoreTrouble::State,
            StoreError::Unclear { why, .. } => why.trouble(),
            StoreError::Locked { .. }
            | StoreError::Folder { .. }
            | StoreError::Unreadable { .. }
            | StoreError::Unwritable { .. } => StoreTrouble::Folder,
        }
    }
}

/// The remedy for an error of the system.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space there",
        io::ErrorKind::ReadOnlyFilesystem => {
            "mount it read-write, or choose another data_dir in the configuration"
        }
        io::ErrorKind::PermissionDenied => {
            "give it to the user that electd runs as, or choose another data_dir in the configuration"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file is in the way: move it, or choose another data_dir in the configuration"
        }
        io::ErrorKind::InvalidInput => {
            "electd opens only what it wrote itself, and follows no link there: look who put that \
             there, and move it away"
        }
        _ => "check the folder and its disk",
    }
}

#[cfg(test)]
mod tests {
    use io::ErrorKind as Kind;

    use super::*;

    #[test]
    fn each_refusal_of_the_system_has_its_remedy() {
        let room = "free some space there";
        let writable = "mount it read-write, or choose another data_dir in the configuration";
        let owned = "give it to the user that electd runs as, or choose another data_dir in the configuration";
        let in_the_way =
            "a file is in the way: move it, or choose another data_dir in the configuration";
        let odd = "electd opens only what it wrote itself, and follows no link there: look who put that there, and move \
                   it away";
        for (kind, remedy) in [
            (Kind::StorageFull, room),
            (Kind::QuotaExceeded, room),
            (Kind::ReadOnlyFilesystem, writable),
            (Kind::PermissionDenied, owned),
            (Kind::NotADirectory, in_the_way),
            (Kind::AlreadyExists, in_the_way),
            (Kind::InvalidInput, odd),
            (Kind::Other, "check the folder and its disk"),
        ] {
            let path = || PathBuf::from("/data/a");
            let why = io::Error::from(kind).to_string();
            for (error, words) in [
                (
                    StoreError::Folder { dir: path(), source: kind.into() },
                    format!("the data directory /data/a cannot be used: {why}; {remedy}"),
                ),
                (
                    StoreError::Unreadable { path: path(), source: kind.into() },
                    format!("the state file /data/a cannot be read: {why}; {remedy}"),
                ),
                (
                    StoreError::Unwritable { path: path(), source: kind.into() },
                    format!(
                        "the state file /data/a cannot be written: {why}; what it held before is kept; {remedy}"
                    ),
                ),
            ] {
                assert_eq!((error.to_string(), error.trouble()), (words, StoreTrouble::Folder));
            }
        }
        let locked = StoreError::Locked { dir: "/data/a".into(), holder: "process 7".to_owned() };
        let words = "the data directory /data/a is in use by process 7: stop that process, or check that every node has \
                     a name and a data_dir of its own";
        assert_eq!((&*locked.to_string(), locked.trouble()), (words, StoreTrouble::Folder));
    }

    /// An operator moves what is named, so nothing may be named in the place of another.
    #[test]
    fn each_state_that_a_member_may_not_use_is_told_with_whose_it_is_and_where() {
        let [own, other] = [1, 2].map(|number| NodeId(uuid::Uuid::from_u128(number)));
        let [a, b] = ["/data/a", "/data/b"].map(PathBuf::from);
        let damaged =
            || StoreError::Damaged { path: "/data/b/state.json".into(), reason: "so".to_owned() };
        let is_damaged = "the state file /data/b/state.json is damaged: so. It was left as it is. Remove this member from the \
                          cluster (`member remove`), move the file away, and add it under a fresh id (`member \
                          add`): under its old id it could repeat an epoch that it has forgotten";
        for (error, words) in [
            (
                StoreError::Foreign { path: a.join("state.json"), found: other, expected: own },
                format!(
                    "the state file /data/a/state.json belongs to member {other}, and this node is {own}: check the \
                     node's name, its id and data_dir in the configuration; if the id was changed on purpose, move the \
                     file away"
                ),
            ),
            (
                StoreError::Renamed { id: own, found: b.clone(), expected: a.clone() },
                format!(
                    "the state of this member, {own}, is in /data/b: if its name was changed, rename that folder to \
                     /data/a; without it the member would repeat epochs that it has forgotten"
                ),
            ),
            (
                StoreError::Twice { id: own, one: a.clone(), other: b.clone() },
                format!(
                    "both /data/a and /data/b hold state of this member, {own}: move the one away that was used less \
                     lately, and keep the one with the greater \"incarnation\" in its state.json"
                ),
            ),
            (
                StoreError::Unclear { dir: b, expected: a.clone(), why: Box::new(damaged()) },
                format!(
                    "/data/a holds no state, and that in /data/b may be of this member under an earlier name: \
                     {is_damaged}. If it is of another member, move that folder out of the data directory"
                ),
            ),
            (damaged(), is_damaged.to_owned()),
            (
                StoreError::Newer { path: a.join("state.json"), found: 9, known: 8 },
                "the state file /data/a/state.json has format 9, and this electd reads formats up to 8: run the electd \
                 that wrote it, or a later one"
                    .to_owned(),
            ),
        ] {
            assert_eq!((error.to_string(), error.trouble()), (words, StoreTrouble::State));
        }
        let locked = StoreError::Locked { dir: "/data/b".into(), holder: String::new() };
        let unclear =
            StoreError::Unclear { dir: "/data/b".into(), expected: a, why: Box::new(locked) };
        assert_eq!(unclear.trouble(), StoreTrouble::Folder, "as why it is unclear");
    }
}
