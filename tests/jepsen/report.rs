//! A round that failed: what was broken, with the events around it, and the files that are kept.

use std::fs;
use std::path::Path;

use crate::cluster::{Broken, Cluster};

/// How many broken rules are shown with the events around them; the folder of the round has all.
const SHOWN: usize = 3;

/// Says what was broken, and keeps the files of the round.
pub fn failure_report(cluster: &Cluster<'_>, broken: &[Broken]) -> String {
    let plan = cluster.plan;
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("jepsen");
    let kept = kept.join(format!("seed-{}-round-{}", plan.seed, plan.round));
    let mut text = format!("FAILED: SEED={} ROUND={}: {plan}\n", plan.seed, plan.round);
    for Broken { at, what } in broken.iter().take(SHOWN) {
        text += &format!("{what}\n{}", cluster.events.around(*at));
    }
    if let Some(more) = broken.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("and {more} more\n");
    }
    let all: Vec<&str> = broken.iter().map(|broken| broken.what.as_str()).collect();
    let report = format!("{}\n\n{}", all.join("\n"), cluster.events.all());
    let _ = fs::remove_dir_all(&kept); // that of an earlier run
    copy(cluster.folder(), &kept);
    fs::write(kept.join("report"), report).expect("a file can be written");
    text + &format!("kept in {}", kept.display())
}

/// Copies the regular files of a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a file can be copied");
        }
    }
}
