//! What the program that runs the node wants to be called for: the removal of the member, and a reload.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::node::handle::CommandError;

/// Called when this member was removed.
type Removal = Box<dyn Fn() + Send + Sync>;

/// Reads the configuration again.
type ReloadCall = Box<dyn Fn() -> Result<String, CommandError> + Send + Sync>;

#[derive(Default)]
pub struct Calls {
    removed: AtomicBool,
    removal: OnceLock<Removal>,
    reload: OnceLock<ReloadCall>,
}

impl Calls {
    /// Calls this when this member was removed, once or twice.
    pub fn on_removal(&self, call: Removal) {
        let call = self.removal.get_or_init(|| call);
        if self.is_removed() {
            call();
        }
    }

    /// Notes that this member was removed, and tells those that wait for that.
    pub fn removed(&self) {
        self.removed.store(true, Ordering::SeqCst);
        if let Some(call) = self.removal.get() {
            call();
        }
    }

    /// Whether this member was removed.
    pub fn is_removed(&self) -> bool {
        self.removed.load(Ordering::SeqCst)
    }

    /// Calls this to read the configuration again.
    pub fn on_reload(&self, call: ReloadCall) {
        let _ = self.reload.set(call); // the first stays
    }

    /// Reads the configuration again. Tells what took effect.
    ///
    /// # Errors
    /// If nobody knows how, or with what is wrong in the file: then nothing changed.
    pub fn reload(&self) -> Result<String, CommandError> {
        let what = "this node was not started from a file";
        let call = self.reload.get().ok_or_else(|| CommandError::Refused(what.to_owned()))?;
        call()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn whoever_asks_to_be_told_of_a_removal_is_told_though_that_was_before() {
        let (calls, told) = (Calls::default(), Arc::new(AtomicU32::new(0)));
        let count = told.clone();
        let tell = move || _ = count.fetch_add(1, Ordering::SeqCst);
        calls.on_removal(Box::new(tell.clone()));
        assert_eq!((calls.is_removed(), told.load(Ordering::SeqCst)), (false, 0));
        calls.removed();
        assert_eq!((calls.is_removed(), told.load(Ordering::SeqCst)), (true, 1));
        let late = Calls::default();
        late.removed();
        late.on_removal(Box::new(tell));
        assert_eq!(told.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_node_that_was_not_started_from_a_file_says_so() {
        let calls = Calls::default();
        let refused = CommandError::Refused("this node was not started from a file".to_owned());
        assert_eq!(calls.reload(), Err(refused));
        calls.on_reload(Box::new(|| Ok("timings".to_owned())));
        calls.on_reload(Box::new(|| Ok("another".to_owned())));
        assert_eq!(calls.reload().as_deref(), Ok("timings"), "the first stays");
    }
}
