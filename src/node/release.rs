//! Commands that end a leadership. The answer comes after the end, so the caller can rely on it that the leader's job
//! has ended too.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::bounded;

use super::NodeHandle;
use super::clock::wall_clock_ms;
use super::handle::CommandError;
use super::inbox::{Event, Order};
use super::running::unanswered;
use crate::core::Command;
use crate::core::membership::Change;
use crate::core::message::{Done, Forwarded, Refusal};
use crate::core::types::NodeId;
use crate::net::NoAnswer;

/// How long a member waits for the end of another member's leadership, as it does not know how long a hold may delay
/// that.
const LONGEST: Duration = Duration::from_secs(300);

/// The time for the end of this member's own leadership, besides the longest hold.
const AFTER_HOLD: Duration = Duration::from_secs(2);

/// The interval of looking who leads.
const LOOK: Duration = Duration::from_millis(5);

impl NodeHandle {
    /// Has the core carry a command out, and waits for the end of a leadership that the command ends.
    pub(super) fn carry_out(
        &self,
        command: Command,
        timeout: Duration,
    ) -> Result<Result<Done, Refusal>, CommandError> {
        if let Command::ForLeader(Forwarded::Change(Change::Remove { id, .. })) = command {
            return self.remove(id, command, timeout);
        }
        let led = self.leadership().map(|led| led.epoch());
        let done = self.order(command, timeout)?;
        let ends = match done {
            Ok(Done::Resigned { epoch, .. }) => Some(epoch.0),
            Ok(Done::Drained { successor: Some(_) }) => led,
            _ => None,
        };
        ends.map_or(Ok(()), |epoch| self.await_release(epoch))?;
        Ok(done)
    }

    /// Lets this member lead again if its drain is over by now. Does not wait: the caller tries again.
    pub(super) fn end_drain(&self) {
        let until = self.published.drain().and_then(|drain| drain.until);
        if until.is_some_and(|until| until <= wall_clock_ms()) {
            self.try_order(Command::Undrain);
        }
    }

    /// Resumes the cluster if this node leads it and its pause is over by now. Does not wait: the caller tries again.
    pub(super) fn end_pause(&self) {
        let pause = self.published.pause();
        let is_over = pause.until.is_some_and(|until| until <= wall_clock_ms());
        if pause.paused && is_over && self.leadership().is_some() {
            self.try_order(Command::EndPause { version: pause.version });
        }
    }

    fn try_order(&self, command: Command) {
        let (answer, _) = bounded(1);
        let _ = self.events.try_send(Event::Order(Order { command, answer }));
    }

    /// Has the leader remove a member. To remove itself, a leader hands over first, which takes until its commands
    /// have ended.
    fn remove(
        &self,
        id: NodeId,
        command: Command,
        timeout: Duration,
    ) -> Result<Result<Done, Refusal>, CommandError> {
        let (epoch, leads) = (self.published.led_epoch(), self.published.leader() == Some(id));
        let done = self.order(command.clone(), timeout);
        let late = matches!(done, Err(_) | Ok(Err(Refusal::NoReply)));
        let Some(epoch) = epoch.filter(|_| leads && late) else { return done };
        self.await_release(epoch)?;
        let done = self.order(command, timeout);
        if self.published.members().get(id).is_none() {
            return Ok(Ok(Done::Removed { id, stored: true, handed_over: true })); // by the first order
        }
        done
    }

    /// Waits until this member knows no leader in this epoch any more.
    fn await_release(&self, epoch: u64) -> Result<(), CommandError> {
        let own = self.leadership().is_some_and(|own| own.epoch() == epoch);
        let most = if own { self.published.longest_hold() + AFTER_HOLD } else { LONGEST };
        let begin = Instant::now();
        while self.published.led_epoch() == Some(epoch) {
            if self.end.has_come() {
                return Err(unanswered(NoAnswer::Never)); // this member hears nothing more
            }
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
