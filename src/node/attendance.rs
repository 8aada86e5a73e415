//! Whether the death of this node would be certified, and by whom.

#[cfg(feature = "cli")]
use std::io;
#[cfg(feature = "cli")]
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::coroner::attending::Coroner;

/// Whether a node gets a coroner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attended {
    /// It does not: this process may have given work of its leaderships to processes that no coroner knows.
    No,
    /// It does: the coroner knows all guards, which do such work.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the program has a coroner"))]
    Yes,
}

/// The coroner of this node, or why it has none. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Attendance {
    /// Nobody, and nobody was asked for.
    Unasked,
    /// Nobody, for this reason.
    Failed(Arc<str>),
    /// This coroner.
    By(Coroner),
}

impl Attendance {
    /// What is wrong, in words, and what to do.
    pub fn problem(&self) -> Option<String> {
        let why = match self {
            Attendance::Unasked => return None,
            Attendance::By(coroner) if !coroner.is_gone() => return None,
            Attendance::By(_) => "it has ended",
            Attendance::Failed(why) => why,
        };
        Some(format!(
            "no coroner would certify a crash of this node ({why}), so that the others would have to wait for the \
             silence of this node, and for its lease: restart this node"
        ))
    }

    /// This node ends, and the others know what they have to know: nothing is to be certified.
    pub fn dismiss(&self) {
        if let Attendance::By(coroner) = self
            && coroner.dismiss().is_ok()
        {
            coroner.await_end();
        }
    }

    /// From now on this node's death is not certified, even if it dies at once: a job of it begins whose guard the coroner
    /// does not know.
    /// Tells whether that is certain.
    #[cfg(feature = "cli")]
    #[must_use]
    pub fn waive(&self) -> bool {
        match self {
            Attendance::By(coroner) => coroner.dismiss().is_ok(),
            Attendance::Unasked | Attendance::Failed(_) => true,
        }
    }

    /// The line to the coroner for the guard of a job that is about to begin; none where nobody will certify the death of
    /// this node.
    ///
    /// # Errors
    /// If the coroner cannot know of the guard. The job must not begin then.
    #[cfg(feature = "cli")]
    pub fn register(&self) -> io::Result<Option<OwnedFd>> {
        match self {
            Attendance::By(coroner) => coroner.register(),
            Attendance::Unasked | Attendance::Failed(_) => Ok(None),
        }
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use std::io::Read as _;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::coroner::attending::tests::pair;

    /// The words about a node whose death nobody would certify.
    fn words(why: &str) -> Option<String> {
        Some(format!(
            "no coroner would certify a crash of this node ({why}), so that the others would have to wait for the \
             silence of this node, and for its lease: restart this node"
        ))
    }

    #[test]
    fn only_a_coroner_that_was_asked_for_and_is_missing_is_a_problem() {
        assert_eq!(Attendance::Unasked.problem(), None);
        let failed = Attendance::Failed("no process is left".into());
        assert_eq!(failed.problem(), words("no process is left"));
        for nobody in [Attendance::Unasked, failed] {
            assert!(nobody.waive(), "nobody certifies its death");
            assert!(nobody.register().unwrap().is_none());
            nobody.dismiss();
        }
    }

    /// What it hears last is that it has nothing to certify, and the node waits for its end, but not for long.
    #[test]
    fn a_coroner_that_runs_is_no_problem_until_it_has_ended() {
        let (coroner, far) = pair();
        let attendance = Attendance::By(coroner.clone());
        let heard = || {
            let mut bytes = [0; 64];
            let count = (&far).read(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        };
        assert_eq!(attendance.problem(), None);
        assert!(attendance.register().unwrap().is_some());
        assert_eq!(heard(), "\"Guard\"");
        assert!(attendance.waive(), "it is told");
        assert_eq!(heard(), "\"Dismiss\"");
        let begun = Instant::now();
        attendance.dismiss();
        assert!(begun.elapsed() >= Duration::from_millis(500), "it has not ended");
        assert_eq!(heard(), "\"Dismiss\"");
        let is_full = (0..1_000_000).any(|_| !attendance.waive());
        assert!(is_full, "its queue is full at some time, as it stands still");
        let begun = Instant::now();
        attendance.dismiss();
        assert!(begun.elapsed() < Duration::from_secs(60) && !coroner.is_gone());
        drop(far);
        coroner.await_end(); // a process that another test just forks has a copy, until it becomes its program
        assert_eq!(attendance.problem(), words("it has ended"));
        assert!(attendance.waive(), "it certifies nothing any more");
        assert!(attendance.register().unwrap().is_none(), "and needs to know of no guard");
    }
}
