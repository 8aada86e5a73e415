//! Plants faults in a copy of the sources and has the simulator find them: `make mutants`.
//!
//! Each file of tests/mutants is a patch of src. Its first line names the algorithm, the seed of a
//! schedule that breaks the patched electd, and what the patch breaks:
//!
//! ```text
//! # halting 2369: ELECTED is accepted from anybody
//! ```
//!
//! Without an argument each recorded seed is lived through. `search COUNT` looks for the first
//! seed that finds each mutant. Names may follow, to try only these. Ends with 1 if a mutant is
//! not found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A planted fault.
struct Mutant {
    patch: PathBuf,
    name: String,
    algorithm: String,
    seed: u64,
    what: String,
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut search = None;
    if arguments.first().is_some_and(|word| word == "search") {
        let count = arguments.get(1).and_then(|count| count.parse::<u64>().ok());
        let Some(count) = count else { return usage() };
        search = Some(count);
        arguments.drain(..2);
    }
    match all(search, &arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            println!("{missed} not found");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: mutants [search COUNT] [NAME ...]");
    ExitCode::from(2)
}

/// Tries all mutants, or those named. Tells how many were not found.
fn all(search: Option<u64>, names: &[String]) -> io::Result<usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missed = 0;
    for mutant in mutants(&root.join("tests/mutants"))? {
        if !names.is_empty() && !names.contains(&mutant.name) {
            continue;
        }
        let copy = plant(root, &mutant)?;
        let seeds = match search {
            Some(count) => format!("0..{count}"),
            None => format!("{}..{}", mutant.seed, mutant.seed + 1),
        };
        let found = sweep(&copy, &seeds, &mutant.algorithm)?;
        fs::remove_dir_all(&copy)?;
        let result = found.as_deref().unwrap_or("NOT FOUND");
        println!("{:<28} {}\n    {result}", mutant.name, mutant.what);
        missed += usize::from(found.is_none());
    }
    Ok(missed)
}

fn mutants(folder: &Path) -> io::Result<Vec<Mutant>> {
    let mut patches = Vec::new();
    for entry in fs::read_dir(folder)? {
        patches.push(entry?.path());
    }
    patches.sort();
    patches.into_iter().map(read).collect()
}

fn read(patch: PathBuf) -> io::Result<Mutant> {
    let text = fs::read_to_string(&patch)?;
    let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let head = text.lines().next().unwrap_or_default();
    let parsed = head.strip_prefix("# ").and_then(|head| {
        let (place, what) = head.split_once(": ")?;
        let (algorithm, seed) = place.split_once(' ')?;
        Some((algorithm.to_owned(), seed.parse().ok()?, what.to_owned()))
    });
    let Some((algorithm, seed, what)) = parsed else {
        let what = format!("{}: the first line is not \"# ALGORITHM SEED: WHAT\"", patch.display());
        return Err(io::Error::other(what));
    };
    Ok(Mutant { patch, name, algorithm, seed, what })
}

/// Copies what a build needs to a folder, always the same one so that most is compiled already,
/// and applies the patch there.
fn plant(root: &Path, mutant: &Mutant) -> io::Result<PathBuf> {
    let copy = root.join("target/mutants/source");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    for name in ["src", "examples", "benches", "Cargo.toml", "Cargo.lock"] {
        copy_all(&root.join(name), &copy.join(name))?;
    }
    let mut patch = Command::new("patch");
    patch.args(["-p1", "--quiet", "-i"]).arg(&mutant.patch).current_dir(&copy);
    if !patch.status()?.success() {
        let what = format!("{} does not apply", mutant.patch.display());
        return Err(io::Error::other(what));
    }
    Ok(copy)
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        return fs::copy(from, to).map(drop);
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Builds the patched electd and lives through these seeds. Tells of the first that failed.
fn sweep(copy: &Path, seeds: &str, algorithm: &str) -> io::Result<Option<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--example", "sweep"]);
    cargo.args(["--config", "profile.release.lto=false"]);
    cargo.args(["--config", "profile.release.codegen-units=16"]);
    cargo.env("CARGO_TARGET_DIR", copy.with_file_name("target")).current_dir(copy);
    if !cargo.status()?.success() {
        return Err(io::Error::other("the patched sources do not build"));
    }
    let program = copy.with_file_name("target").join("release/examples/sweep");
    let output = Command::new(program).args([seeds, algorithm]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let panicked = (!output.status.success() && text.lines().count() <= 1).then_some("a panic");
    let failure = text.lines().find_map(|line| line.strip_prefix("FAILED "));
    Ok(failure.or(panicked).map(str::to_owned))
}
