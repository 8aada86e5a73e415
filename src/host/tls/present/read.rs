//! Reads one of the files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::tls::files::BadFile;

/// The largest file that is read: a hundred certificates fit, a device does not.
const LARGEST: u64 = 1 << 20;

/// Reads a file.
pub(super) fn read(key: &'static str, file: &Path) -> Result<Vec<u8>, BadFile> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| {
        let what =
            format!("cannot be read: {error}; name a file that the user of the node may read");
        BadFile { is_unread: true, ..BadFile::new(key, file, what) }
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(BadFile::new(key, file, "is larger than 1 MiB: name a file in PEM"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule X1.
    #[test]
    fn a_file_of_a_mebibyte_is_read_and_a_larger_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca");
        let of = |length: u64| {
            File::create(&path).unwrap().set_len(length).unwrap();
            read("tls.ca", &path).map(|bytes| bytes.len() as u64)
        };
        assert_eq!(of(1 << 20), Ok(1 << 20));
        let told = format!("tls.ca {}: is larger than 1 MiB: name a file in PEM", path.display());
        assert_eq!(of((1 << 20) + 1).unwrap_err().to_string(), told);
    }
}
