//! Each kind of problem has its row in the docs, and its alert.

mod alerts;

use super::*;

/// The table of docs/operations.md has a row for each kind, and in it the remedy that the page shows.
#[test]
fn the_docs_have_each_kind_with_its_remedy() {
    let text = include_str!("../../../docs/operations.md");
    for kind in ProblemKind::ALL {
        let begin = format!("| `{}` |", kind.name());
        let row = text.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("docs/operations.md has no row for {begin}"));
        let remedy = kind.remedy(Subject::default(), &ClusterFlags::default());
        let pieces = remedy.split(": docs/").next().unwrap_or_default();
        assert!(row.contains(pieces), "{begin}: the docs do not say {pieces:?}: {row}");
    }
}

#[test]
fn a_kind_is_found_by_its_name() {
    for kind in ProblemKind::ALL {
        assert_eq!(ProblemKind::of(kind.name()), Some(*kind));
    }
    assert_eq!(ProblemKind::of("of_a_later_version"), None);
}
