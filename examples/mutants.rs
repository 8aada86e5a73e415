//! Plants faults in a copy of the sources and has the simulator find them: `make mutants`.
//!
//! Each file of tests/mutants is a patch of src. Its first line names the algorithm, the quorum, the
//! set of faults and the seed of a schedule that breaks the patched electd, and what the patch
//! breaks:
//!
//! ```text
//! # bully none model 11: an older COORDINATOR is accepted
//! ```
//!
//! The recorded seed is lived through first. If it finds nothing, as everything that draws from the
//! seed may have changed, the seeds from 0 on are tried, and the first that does is told, to be
//! recorded. Arguments are the names of the mutants to try, or the beginnings of names; all are
//! tried without one. Ends with 1 if a mutant is not found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A planted fault.
struct Mutant {
    patch: PathBuf,
    name: String,
    /// What its schedules are made of: algorithm, quorum and faults.
    kind: [String; 3],
    seed: u64,
    what: String,
}

/// How far the search goes, in steps: most mutants are found early, and runs that fail take long.
const SEARCH: [u64; 5] = [0, 100, 1000, 5000, 20_000];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    match all(&names) {
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

/// Tries all mutants, or those named. Tells how many were not found.
fn all(names: &[String]) -> io::Result<usize> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = |mutant: &Mutant| {
        names.is_empty() || names.iter().any(|name| mutant.name.starts_with(name))
    };
    let mut missed = 0;
    for mutant in mutants(&root.join("tests/mutants"))?.into_iter().filter(wanted) {
        println!("{:<26} {}", mutant.name, mutant.what);
        let copy = plant(root, &mutant)?;
        let found = find(&copy, &mutant)?;
        fs::remove_dir_all(&copy)?;
        println!("{:<26} {}", "", found.as_deref().unwrap_or("NOT FOUND"));
        missed += usize::from(found.is_none());
    }
    Ok(missed)
}

/// The first failure that a mutant causes.
fn find(copy: &Path, mutant: &Mutant) -> io::Result<Option<String>> {
    let program = build(copy, "dev", 0)?; // soon built, and good for one life
    let recorded = sweep(&program, mutant.seed, mutant.seed + 1, &mutant.kind)?;
    if recorded.is_some() {
        return Ok(recorded);
    }
    let program = build(copy, "release", 1)?;
    for range in SEARCH.windows(2) {
        if let Some(failure) = sweep(&program, range[0], range[1], &mutant.kind)? {
            return Ok(Some(format!("{failure} - not in seed {}: record it", mutant.seed)));
        }
    }
    Ok(None)
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
        let words: Vec<String> = place.split(' ').map(str::to_owned).collect();
        let [algorithm, quorum, faults, seed] = <[String; 4]>::try_from(words).ok()?;
        Some(([algorithm, quorum, faults], seed.parse().ok()?, what.to_owned()))
    });
    let Some((kind, seed, what)) = parsed else {
        let form = "# ALGORITHM QUORUM FAULTS SEED: WHAT";
        let what = format!("{}: the first line is not \"{form}\"", patch.display());
        return Err(io::Error::other(what));
    };
    Ok(Mutant { patch, name, kind, seed, what })
}

/// The rooms that the simulator needs, which are all that is built.
const LIBRARY: &str = "pub mod core;\npub mod sim;\npub mod trace;\n";

/// Copies what the simulator needs to a folder, always the same one so that most is compiled
/// already, and applies the patch there.
fn plant(root: &Path, mutant: &Mutant) -> io::Result<PathBuf> {
    let copy = root.join("target/mutants/source");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    let rooms = ["src/core", "src/sim", "src/trace"];
    let rest = ["examples/sweep.rs", "benches", "Cargo.toml", "Cargo.lock"];
    for name in rooms.into_iter().chain(rest) {
        copy_all(&root.join(name), &copy.join(name))?;
    }
    fs::write(copy.join("src/lib.rs"), LIBRARY)?;
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

/// Builds the patched simulator. Only what the patch touches is compiled anew. The core's own
/// assertions are left out: the simulator is to see what goes wrong.
fn build(copy: &Path, profile: &str, level: u8) -> io::Result<PathBuf> {
    let target = copy.with_file_name("target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--example", "sweep", "--profile", profile]);
    let level = format!("opt-level={level}");
    let settings = ["lto=false", "codegen-units=64", "incremental=true", "debug-assertions=false"];
    for setting in settings.into_iter().chain([level.as_str()]) {
        cargo.args(["--config", &format!("profile.{profile}.{setting}")]);
    }
    cargo.env("RUSTFLAGS", "--cap-lints=allow").env("CARGO_TARGET_DIR", &target);
    if !cargo.current_dir(copy).status()?.success() {
        return Err(io::Error::other("the patched sources do not build"));
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(folder).join("examples/sweep"))
}

/// Lives through these seeds. Tells of the first that failed.
fn sweep(program: &Path, from: u64, to: u64, kind: &[String; 3]) -> io::Result<Option<String>> {
    let [algorithm, quorum, faults] = kind;
    let mut command = Command::new(program);
    command.arg(format!("{from}..{to}"));
    command.args(["--algorithm", algorithm, "--quorum", quorum, "--faults", faults]);
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let failure = text.lines().find_map(|line| line.strip_prefix("FAILED ")).map(str::to_owned);
    if failure.is_none() && !output.status.success() {
        return Ok(Some(format!("a panic in seeds {from}..{to}")));
    }
    Ok(failure)
}
