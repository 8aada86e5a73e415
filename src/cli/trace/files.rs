//! Records that were written to files, by `electd record` or by somebody who asked `GET /trace`.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::transition;
use crate::flight::document::LARGEST;
use crate::limits::plain_json;
use crate::node;
use crate::trace::merge::TimedRecord;
use crate::trace::record::Record;

/// The records in these files, which have to be of one cluster. Their clocks are taken to show what the wall clocks of
/// their hosts showed.
///
/// # Errors
/// 66 if a file cannot be read; 65 if it is no record, or of another cluster than the first.
pub fn read(files: &[impl AsRef<Path>]) -> Result<Vec<TimedRecord>, CliError> {
    let (now, wall) = (i128::from(node::now().0), i128::from(transition::now()) * 1_000_000);
    let mut records: Vec<TimedRecord> = Vec::new();
    for file in files.iter().map(AsRef::as_ref) {
        let is_none = |why: String| refused(file, why);
        let broken =
            |why: String| is_none(format!("is no record of a node, or not all of it: {why}"));
        let text = String::from_utf8(whole(file)?).map_err(|error| broken(error.to_string()))?;
        let record: Record =
            serde_json::from_str(&plain_json(&text)).map_err(|error| broken(error.to_string()))?;
        if record.node.is_empty() || record.algorithm.is_empty() {
            return Err(is_none("is no record of a node: it names none".to_owned()));
        }
        if let Some(TimedRecord { record: first, .. }) = records.first()
            && first.cluster != record.cluster
        {
            let (ours, theirs) = (&first.cluster, &record.cluster);
            return Err(is_none(format!("is of cluster {theirs}, and the first of {ours}")));
        }
        let ahead_ns =
            i128::from(record.wall_ms) * 1_000_000 - i128::from(record.now_ns) - (wall - now);
        records.push(TimedRecord { record, ahead_ns });
    }
    Ok(records)
}

/// All of a file that is to be a recording, or the record in one.
///
/// # Errors
/// 66 if it cannot be read; 65 if it is larger than any recording.
pub fn whole(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    let opened = File::open(file);
    opened.and_then(|opened| opened.take(LARGEST + 1).read_to_end(&mut text)).map_err(|error| {
        CliError::new(Exit::Unread, format!("{} cannot be read: {error}", file.display()))
    })?;
    if text.len() as u64 > LARGEST {
        return Err(refused(file, "is larger than any recording of a node"));
    }
    Ok(text)
}

/// The file is not what it is to be, for this reason.
pub fn refused(file: &Path, why: impl Display) -> CliError {
    CliError::new(Exit::State, format!("{} {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> CliError {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        std::fs::write(&file, text).unwrap();
        read(&[&file]).unwrap_err()
    }

    #[test]
    fn what_is_no_record_is_said() {
        let broken = "is no record of a node, or not all of it: ";
        let nameless = "is no record of a node: it names none";
        for (text, words, is_whole) in [
            ("", broken, false),
            (r#"{"node": "a", "algorithm": "bully", "entries": [{"n": 1"#, broken, false),
            (r#"{"node": "a", "entries": [{"n": -1}]}"#, broken, false),
            ("{}", nameless, true),
            (r#"{"node": "a"}"#, nameless, true),
            (r#"{"algorithm": "bully"}"#, nameless, true),
            (r#"{"leaderships": []}"#, nameless, true),
        ] {
            let CliError { exit, message } = failed(text);
            assert_eq!(exit, Exit::State, "{text}");
            let (file, why) = message.split_once(' ').unwrap();
            assert!(file.ends_with("/a.json") && why.starts_with(words), "{text}: {message}");
            assert!(!is_whole || why == words, "{text}: {message}");
        }
        let error = read(&["/there/is/none"]).unwrap_err();
        let words = "/there/is/none cannot be read: No such file or directory (os error 2)";
        assert_eq!((error.exit, error.message.as_str()), (Exit::Unread, words));
    }

    #[test]
    fn a_file_is_no_larger_than_a_recording_may_be() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(LARGEST).unwrap();
        assert_eq!(whole(file.path()).unwrap().len() as u64, LARGEST);
        file.as_file().set_len(LARGEST + 1).unwrap();
        let CliError { exit, message } = whole(file.path()).unwrap_err();
        let words = format!("{} is larger than any recording of a node", file.path().display());
        assert_eq!((exit, message), (Exit::State, words));
    }

    #[test]
    fn clocks_are_aligned_by_the_wall_clocks() {
        let folder = tempfile::tempdir().unwrap();
        let write = |node: &str, cluster: &str, now_ns: u64, wall_ms: u64| {
            let (node, cluster, algorithm) = (node.into(), cluster.into(), "bully".into());
            let record = Record { node, cluster, algorithm, now_ns, wall_ms, ..Record::default() };
            let file = folder.path().join(format!("{}.json", record.node));
            std::fs::write(&file, serde_json::to_string(&record).unwrap()).unwrap();
            file
        };
        let a = write("a", "one", 5_000_000_000, 1_000_000);
        let b = write("b", "one", 7_000_000_000, 1_000_500);
        let records = read(&[&a, &b]).unwrap();
        assert_eq!(records[0].ahead_ns - records[1].ahead_ns, 2_000_000_000 - 500_000_000);
        let other = write("c", "another", 1, 1);
        let CliError { exit, message } = read(&[&a, &other]).unwrap_err();
        let words = format!("{} is of cluster another, and the first of one", other.display());
        assert_eq!((exit, message), (Exit::State, words));
        let present = write("d", "one", node::now().0, transition::now());
        let ahead = read(&[&present]).unwrap()[0].ahead_ns;
        assert!(
            ahead.abs() < 600_000_000_000,
            "a record of this host and of now is not ahead: {ahead}"
        );
    }
}
