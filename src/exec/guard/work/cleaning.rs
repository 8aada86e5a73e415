//! The cleanup of a guard: the program that ends what the command began elsewhere.

use rustix::process::{Signal, kill_process_group};

use super::super::super::address::held::Held;
use super::super::super::cleanup;
use super::super::super::stderr::say;
use super::Guard;
use crate::core::types::Time;
use crate::node::now;

impl Guard<'_> {
    /// Runs the program that ends what the command began elsewhere, until it has ended or KILL has come.
    pub(super) fn clean_up(&mut self) {
        let (begin, program) = (now(), self.task.cleanup.display().to_string());
        match cleanup::start(&self.task.cleanup, self.epoch) {
            Ok(pid) => self.cleanup = Some(pid),
            Err(error) => return say(&format!("cannot run the cleanup {program}: {error}")),
        }
        let in_time = self.await_cleanup(begin);
        if let (false, Some(pid)) = (in_time, self.cleanup.filter(|_| self.cleaned.is_none())) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        match self.cleaned {
            Some(0) => {}
            Some(code) => say(&format!("the cleanup {program} failed, with code {code}")),
            None => {
                let after = now().since(begin);
                say(&format!("the cleanup {program} did not end in time: killed after {after:?}"));
            }
        }
    }

    /// Whether the cleanup has ended before it is to be killed.
    fn await_cleanup(&mut self, begin: Time) -> bool {
        let (mut longest, mut awaits_kill) = (begin + self.task.limit, true);
        loop {
            self.take_orders();
            // An alarm that has gone off does not tell when it did.
            if awaits_kill && self.kill.check_due().unwrap_or(true) {
                (longest, awaits_kill) = (longest.min(now()), false);
            }
            let limit = self.limit().map_or(begin, |limit| limit.min(longest)) + self.grace;
            while !self.reap() {}
            if self.cleaned.is_some() || limit <= now() {
                return self.cleaned.is_some();
            }
            if let Some(Err(error)) = self.addresses.as_mut().map(Held::tend) {
                say(&error.to_string());
                self.release();
            }
            if self.wait(Some(limit), awaits_kill).is_err() {
                return false;
            }
        }
    }
}
