//! What the commands of a test write: who ran when, and that no two ran at one instant.

use std::fs;
use std::path::PathBuf;

use crate::support::{Cluster, ensure, eventually};

/// One reading of the file: which node wrote when, in which epoch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub nanos: u64,
    pub node: String,
    pub epoch: u64,
}

/// The one file that all commands write to.
pub struct Lines(PathBuf);

impl Lines {
    /// An empty file beside that of the cluster.
    pub fn beside(cluster: &Cluster) -> Lines {
        let file = cluster.file().with_file_name("lines");
        fs::write(&file, "").unwrap();
        Lines(file)
    }

    /// Its path.
    pub fn file(&self) -> String {
        self.0.display().to_string()
    }

    /// All lines so far, by time.
    pub fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(&self.0).unwrap();
        let line = |line: &str| {
            let mut words = line.split(' ');
            let nanos = words.next()?.parse().ok()?;
            let node = words.next()?.to_owned();
            Some(Line { nanos, node, epoch: words.next()?.parse().ok()? })
        };
        // The last line may be half written.
        let mut lines: Vec<Line> = text.lines().filter_map(line).collect();
        lines.sort();
        lines
    }

    /// The node whose command runs, once one runs that is not this run.
    pub fn runs_next(&self, last: Option<&Line>) -> Line {
        eventually("a command begins to run", || {
            let now = self.lines().pop().ok_or("no line yet")?;
            let same = last.is_some_and(|last| (&last.node, last.epoch) == (&now.node, now.epoch));
            ensure(!same, || format!("still {now:?}"))?;
            Ok::<_, String>(now)
        })
    }

    /// "At no instant do two members' jobs run": who wrote once after another never writes again.
    pub fn assert_never_two(&self) -> usize {
        let mut runs: Vec<Line> = Vec::new();
        for line in self.lines() {
            let run = (&line.node, line.epoch);
            if runs.last().is_none_or(|last| (&last.node, last.epoch) != run) {
                let again = runs.iter().any(|other| (&other.node, other.epoch) == run);
                assert!(!again, "{line:?} wrote after {:?} had begun", runs.last());
                runs.push(line);
            }
        }
        runs.len()
    }

    /// Nothing of any command is left, or soon will be.
    #[track_caller]
    pub fn assert_nobody_writes(&self) {
        let file = self.file();
        eventually("no command is left", || {
            let left = processes_with(&file);
            ensure(left.is_empty(), || format!("{left:?}"))
        });
    }
}

/// The processes that have this in their environment.
fn processes_with(value: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(value)
    };
    entries.filter(has).map(|path| path.display().to_string()).collect()
}
