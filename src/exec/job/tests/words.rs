//! What the log has of the end of a job.

use super::*;
use crate::node::logged::whole;

/// A program that reads the log gets the epoch, the means and the reason of each end.
#[test]
fn the_end_of_a_job_is_told_with_its_epoch_its_means_and_its_reason() {
    let (leadership, plan) = (leadership(true), plan());
    for (means, status, line) in [
        (None, 3 << 8, "how=by itself why=leadership_ended every=true"),
        (Some(Means::Term), BY_DEADLINE.as_raw(), "how=TERM why=renewal_late every=true"),
        (Some(Means::Kill), BY_DEADLINE.as_raw(), "how=KILL why=renewal_late every=true"),
        (None, NO_ADDRESS.as_raw(), "how=by itself why=no_address every=true"),
        (None, FAILED.as_raw(), "how=by itself why=failed every=true"),
    ] {
        let (mut job, guard) = job(&LIVES, &plan, &leadership, getpid());
        let word = means.map_or(GuardWord::Lives, GuardWord::Ended);
        pair::say(&guard, &word, &[]).unwrap();
        let told = whole(|| _ = job.end(ExitStatus::from_raw(status)));
        assert_eq!(told[0][1], format!("event=job_ended epoch=1 {line}"));
        let is_late = status == BY_DEADLINE.as_raw();
        let late = "WARN job_ended: the job was ended, since no renewal of the leadership came in time (epoch 1, ";
        assert_eq!(told[0][0].starts_with(late), is_late, "{told:?}");
    }
}
