//! A program that electd runs, as the file lists it.

use std::path::{Path, PathBuf};

use super::report::{Report, Spot};

/// A program and its arguments. A program with a slash in it is a path, and relative to the file
/// like all paths; one without is looked for in PATH.
pub(super) fn read<'t>(
    spot: &Spot<'t>,
    folder: &Path,
    report: &mut Report<'t>,
) -> Option<(PathBuf, Vec<String>)> {
    let words = report.list(spot)?;
    if words.is_empty() {
        report.wrong(spot, "is empty", "list a program and its arguments, such as [\"nproc\"]");
        return None;
    }
    let words: Vec<_> = words.iter().map(|word| self::word(word, report)).collect();
    let mut words = words.into_iter().collect::<Option<Vec<String>>>()?.into_iter();
    let program = words.next().filter(|program| !program.is_empty());
    let Some(program) = program else {
        report.wrong(spot, "names no program", "put the program first, such as [\"nproc\"]");
        return None;
    };
    let program = if program.contains('/') { folder.join(program) } else { PathBuf::from(program) };
    Some((program, words.collect()))
}

fn word<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<String> {
    let word = report.string(spot)?;
    if word.contains('\0') {
        report.wrong(spot, "holds a zero character", "remove it; no program can be given one");
        return None;
    }
    Some(word)
}
