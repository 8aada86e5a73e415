//! What electd inherited from whoever started it counts for nothing in its job.

use story::story;

use super::worker::ASTRAY;
use super::{Fault, Jobs};

/// The nodes inherit the mark of another electd's helpers, and so do their jobs. Nothing of a job is spared for it when
/// its guard is killed.
fn guards_are_killed(times: usize) {
    let jobs = Jobs::start();
    jobs.lines.draw(ASTRAY);
    jobs.cluster.agree();
    let mut leader = jobs.lines.runs_next(None);
    for _ in 0..times {
        leader = jobs.suffer(Fault::KillGuard, &leader).0;
        jobs.lines.assert_never_two();
    }
    jobs.end();
}

#[story]
fn the_mark_of_a_helper_that_electd_inherited_spares_nothing_of_its_job() {
    guards_are_killed(2);
}

#[story]
#[ignore = "long"]
fn the_mark_of_a_helper_that_electd_inherited_spares_nothing_for_long() {
    guards_are_killed(20);
}
