//! What is wrong with the disk of a node.

use std::io;

use electd_facts::status::DiskTrouble;

use super::StoreError;

/// Why the state cannot be made durable, or soon cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFault {
    /// What is wrong.
    pub kind: DiskTrouble,
    /// The same in words, with what to do.
    pub text: String,
}

impl DiskFault {
    /// Of a write that failed.
    pub(super) fn of(error: &StoreError) -> DiskFault {
        let kind = match error {
            StoreError::Unwritable { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskTrouble::Full,
                io::ErrorKind::ReadOnlyFilesystem => DiskTrouble::ReadOnly,
                _ => DiskTrouble::Failing,
            },
            _ => DiskTrouble::Failing,
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
            (io::ErrorKind::StorageFull, DiskTrouble::Full),
            (io::ErrorKind::QuotaExceeded, DiskTrouble::Full),
            (io::ErrorKind::ReadOnlyFilesystem, DiskTrouble::ReadOnly),
            (io::ErrorKind::PermissionDenied, DiskTrouble::Failing),
        ] {
            let error = StoreError::Unwritable { path: "/d".into(), source: error.into() };
            assert_eq!(DiskFault::of(&error), DiskFault { kind, text: error.to_string() });
        }
    }
}
