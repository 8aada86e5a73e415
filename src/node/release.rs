//! Commands that end a leadership, answered when that has ended: whoever asked may then rely on it that what ran
//! for the leader has ended too.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::bounded;

use super::NodeHandle;
use super::clock::{after, wall_clock_ms};
use super::handle::{CommandError, Outcome};
use super::inbox::{Event, Order};
use super::words;
use crate::core::Command;
use crate::core::limits::disguises;
use crate::core::membership::Change;
use crate::core::message::{Done, Refusal};
use crate::core::types::{Drain, NodeId};

/// How long a member waits for the end of another's leadership: it does not know how long that may be held.
const LONGEST: Duration = Duration::from_secs(300);

/// The time that the end of the own leadership gets besides the longest hold.
const AFTER_HOLD: Duration = Duration::from_secs(2);

/// Between two looks at who leads.
const LOOK: Duration = Duration::from_millis(5);

impl NodeHandle {
    /// Has the leader hand over by this command, and waits until it has.
    pub(super) fn end_leadership(
        &self,
        command: Command,
        timeout: Duration,
    ) -> Result<Outcome, CommandError> {
        let members = self.published.members();
        let done = self.order(command, timeout)?;
        let done = done.map_err(|reason| words::refusal(&reason, &members))?;
        if let Done::Resigned { epoch, .. } = done {
            self.await_release(epoch.0)?;
        }
        Ok(words::outcome(&done, &members))
    }

    /// Keeps this member from leading from now on, and waits until it does not lead.
    pub(super) fn drain(
        &self,
        length: Option<Duration>,
        reason: String,
        timeout: Duration,
    ) -> Result<Outcome, CommandError> {
        let most = Drain::LONGEST;
        if reason.len() > most || reason.contains(disguises) {
            let what = format!(
                "the reason has {} bytes: give it at most {most}, and no line breaks, other control characters or marks that turn the direction of text",
                reason.len()
            );
            return Err(CommandError::Invalid(what));
        }
        let since = wall_clock_ms();
        let until = length.map(|length| after(since, length));
        let drain = Drain { since, until, reason };
        let (members, led) = (self.published.members(), self.leadership());
        let done = self.order(Command::Drain(drain), timeout)?;
        let done = done.map_err(|reason| words::refusal(&reason, &members))?;
        if let (Done::Drained { successor: Some(_) }, Some(led)) = (&done, led) {
            self.await_release(led.epoch())?;
        }
        Ok(words::outcome(&done, &members))
    }

    /// Lets this member lead again if its drain is over by now. Waits for nothing: it is tried again.
    pub(super) fn end_drain(&self) {
        let until = self.published.snapshot().drain.and_then(|drain| drain.until);
        if until.is_some_and(|until| until <= wall_clock_ms()) {
            self.try_order(Command::Undrain);
        }
    }

    /// Resumes the cluster if this node leads it and its pause is over by now. Waits for nothing: it is tried again.
    pub(super) fn end_pause(&self) {
        let pause = self.published.snapshot().pause;
        let is_over = pause.until.is_some_and(|until| until <= wall_clock_ms());
        if pause.paused && is_over && self.leadership().is_some() {
            self.try_order(Command::Resume { only: Some(pause.version) });
        }
    }

    fn try_order(&self, command: Command) {
        let (answer, _) = bounded(1);
        let _ = self.events.try_send(Event::Order(Order { command, answer }));
    }

    /// Has a member removed. A leader hands over first, which takes until its commands have ended.
    pub(super) fn remove(
        &self,
        id: NodeId,
        force: bool,
        timeout: Duration,
    ) -> Result<Outcome, CommandError> {
        let (members, epoch) = (self.published.members(), self.published.led_epoch());
        let leads = self.published.leader() == Some(id);
        let order = || self.order(Command::Change(Change::Remove { id, force }), timeout);
        let mut done = order();
        let late = matches!(done, Err(_) | Ok(Err(Refusal::NoReply)));
        if let Some(epoch) = epoch.filter(|_| leads && late) {
            self.await_release(epoch)?;
            done = order();
            if self.published.members().get(id).is_none() {
                done = Ok(Ok(Done::Removed { id, stored: true, handed_over: true })); // by the first order
            }
        }
        done?
            .map(|done| words::outcome(&done, &members))
            .map_err(|reason| words::refusal(&reason, &members))
    }

    /// Waits until this member sees nobody lead in this epoch any more.
    fn await_release(&self, epoch: u64) -> Result<(), CommandError> {
        let own = self.leadership().is_some_and(|own| own.epoch() == epoch);
        let most = if own { self.published.longest_hold() + AFTER_HOLD } else { LONGEST };
        let begin = Instant::now();
        while self.published.led_epoch() == Some(epoch) {
            if begin.elapsed() > most {
                let what = format!(
                    "the leader of epoch {epoch} leads on after {most:?}: what it runs has not ended, or nobody can \
                     succeed it any more"
                );
                return Err(CommandError::Unanswered(what));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}
