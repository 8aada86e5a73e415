//! What is wrong with the disk of a node.

use std::io;

use super::StoreError;

/// Why the state cannot be made durable, or soon cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFault {
    /// What is wrong.
    pub kind: DiskFaultKind,
    /// The same in words, with what to do.
    pub text: String,
}

/// What is wrong with a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFaultKind {
    /// It has no room.
    Full,
    /// It is read-only.
    ReadOnly,
    /// A write hangs.
    Stuck,
    /// A write failed for another reason.
    Failing,
}

impl DiskFault {
    /// Of a write that failed.
    pub(super) fn of(error: &StoreError) -> DiskFault {
        let kind = match error {
            StoreError::Unwritable { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskFaultKind::Full,
                io::ErrorKind::ReadOnlyFilesystem => DiskFaultKind::ReadOnly,
                _ => DiskFaultKind::Failing,
            },
            _ => DiskFaultKind::Failing,
        };
        DiskFault { kind, text: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_failed_is_of_the_kind_of_its_error() {
        for (error, kind) in [
            (io::ErrorKind::StorageFull, DiskFaultKind::Full),
            (io::ErrorKind::QuotaExceeded, DiskFaultKind::Full),
            (io::ErrorKind::ReadOnlyFilesystem, DiskFaultKind::ReadOnly),
            (io::ErrorKind::PermissionDenied, DiskFaultKind::Failing),
        ] {
            let error = StoreError::Unwritable { path: "/d".into(), source: error.into() };
            assert_eq!(DiskFault::of(&error), DiskFault { kind, text: error.to_string() });
        }
    }
}
