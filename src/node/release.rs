//! Commands that end a leadership. The answer comes after the end, so the caller can rely on it that the leader's job
//! has ended too.

mod steady;

use std::time::{Duration, Instant};

use crossbeam::channel::bounded;

use super::NodeHandle;
use super::clock;
use super::command::unanswered;
use super::countdown::Countdown;
use super::failures::JobFailure;
use super::handle::CommandError;
use super::inbox::{CommandOrder, InboxEvent};
use crate::core::OperatorCommand;
use crate::core::membership::MembershipChange;
use crate::core::message::{Done, Forwarded, Refusal};
use crate::core::types::{Drain, NodeId};
use crate::net::NoAnswer;

use steady::{STEADY, Steady};

/// How long a member waits for the end of another member's leadership, as it does not know how long a hold may delay
/// that.
const LONGEST: Duration = Duration::from_secs(300);

/// The time for the end of this member's own leadership, besides the longest hold.
const AFTER_HOLD: Duration = Duration::from_secs(2);

/// For how many times `failure` the answer to a drain, or to a change of the members, is waited for: the core gives up on
/// it a little earlier.
const ANSWERED: u32 = 4;

/// What is left of the orders that end by themselves.
#[derive(Debug, Default)]
pub(super) struct TimedOrders {
    drain: Countdown,
    pause: Countdown,
    failure: Countdown,
    resigned: Steady,
}

impl NodeHandle {
    /// Has the core carry a command out, and waits for the end of a leadership that the command ends.
    pub(super) fn carry_out(
        &self,
        command: OperatorCommand,
        timeout: Duration,
    ) -> Result<Result<Done, Refusal>, CommandError> {
        // A drain may wait for the next leader, and a change for the end of promises. If nobody waited for its outcome, it
        // could be done after a refusal.
        let lasts = matches!(
            command,
            OperatorCommand::ForLeader(Forwarded::Drain(_) | Forwarded::Change(_))
        );
        let longest = self.published.timing().failure * ANSWERED;
        let timeout = if lasts { timeout.max(longest) } else { timeout };
        if let OperatorCommand::ForLeader(Forwarded::Change(MembershipChange::Remove {
            id, ..
        })) = command
        {
            return self.remove(id, command, timeout);
        }
        let led = self.leadership().map(|led| led.epoch());
        let switches = matches!(command, OperatorCommand::ForLeader(Forwarded::Switchover { .. }));
        let done = self.order(command, timeout)?;
        match done {
            Ok(Done::Resigned { epoch, successor }) if !self.await_release(epoch.0)? => {
                let chosen = successor.filter(|_| switches);
                Ok(Err(chosen.map_or(Refusal::NoSuccessor, Refusal::CannotLead)))
            }
            Ok(Done::Drained { successor: Some(_) }) if !self.release_of(led)? => {
                let what = "this node is drained, but nobody can succeed it any more: it leads on until another member \
                            may lead";
                Err(CommandError::Unanswered(what.to_owned()))
            }
            done => Ok(done),
        }
    }

    /// Waits for the end of this member's own leadership, if it led. Returns whether that ended.
    fn release_of(&self, led: Option<u64>) -> Result<bool, CommandError> {
        led.map_or(Ok(true), |epoch| self.await_release(epoch))
    }

    /// Ends the orders that are over by now: a drain of this node, a pause of the cluster if this node leads it, the time
    /// in which this node stands back, and its resignation once the next leader is steady. Does not wait: the caller tries again.
    pub(super) fn end_orders(&self, left: &mut TimedOrders) {
        let drain = self.published.drain();
        let drained = drain.as_ref().and_then(|drain| Some((drain.since, drain.until?)));
        if drained.is_some_and(|(since, until)| left.drain.count_down(since, until)) {
            self.try_order(OperatorCommand::Undrain);
        } else if let Some((since, until)) = drained.and_then(|_| left.drain.moved()) {
            // The clock of the host was set: a restart is to know what is left.
            let reason = drain.as_ref().map(|drain| drain.reason.clone()).unwrap_or_default();
            self.try_order(OperatorCommand::Drain(Drain { since, until: Some(until), reason }));
        }
        let pause = self.published.pause();
        let until = pause.until.filter(|_| pause.paused);
        let is_over = until.is_some_and(|until| left.pause.count_down(pause.since, until));
        if is_over && self.leadership().is_some() {
            self.try_order(OperatorCommand::EndPause { version: pause.version });
        }
        if let Some(failure) = self.published.failures.present() {
            self.stand_back_until(&failure, drain.is_some(), left);
        }
        // Where members preempt, this one would only take over again: there an operator ends its resignation.
        let led = self.published.led_since_resigned();
        if left.resigned.observe(led, self.published.timing().failure * STEADY, clock::now()) {
            self.try_order(OperatorCommand::Undrain);
        }
    }

    /// Until the time is over, a member that was needed meanwhile stands back again, unless it leads. A drained member
    /// is not eligible anyway, and undraining it ends both.
    fn stand_back_until(&self, failure: &JobFailure, is_drained: bool, left: &mut TimedOrders) {
        if left.failure.count_down(failure.since_ms, failure.until_ms) {
            self.published.failures.end();
            if !is_drained {
                self.try_order(OperatorCommand::Undrain);
            }
        } else if self.published.could_stand_back() {
            let _ = self.events.try_send(InboxEvent::StandBack);
        }
    }

    fn try_order(&self, command: OperatorCommand) {
        let (answer, _) = bounded(1);
        let _ = self.events.try_send(InboxEvent::Order(CommandOrder { command, answer }));
    }

    /// Has the leader remove a member. To remove itself, a leader hands over first, which takes until its commands
    /// have ended.
    fn remove(
        &self,
        id: NodeId,
        command: OperatorCommand,
        timeout: Duration,
    ) -> Result<Result<Done, Refusal>, CommandError> {
        let (epoch, leads) = (self.published.led_epoch(), self.published.leader() == Some(id));
        let done = self.order(command.clone(), timeout);
        let late = matches!(done, Err(_) | Ok(Err(Refusal::NoReply)));
        let Some(epoch) = epoch.filter(|_| leads && late) else { return done };
        if !self.await_release(epoch)? {
            return Ok(Err(Refusal::NoSuccessor));
        }
        let done = self.order(command, timeout);
        if self.published.members().get(id).is_none() {
            return Ok(Ok(Done::Removed { id, stored: true, handed_over: true })); // by the first order
        }
        done
    }

    /// Waits until this member knows no leader in this epoch any more. Returns whether it waited for that: not if the
    /// leader leads on, as nobody can succeed it any more.
    fn await_release(&self, epoch: u64) -> Result<bool, CommandError> {
        self.await_release_for(epoch, self.longest_release(epoch))
    }

    /// How long the end of the leadership of this epoch may take.
    fn longest_release(&self, epoch: u64) -> Duration {
        let own = self.leadership().is_some_and(|own| own.epoch() == epoch);
        if own { self.published.longest_hold() + AFTER_HOLD } else { LONGEST }
    }

    fn await_release_for(&self, epoch: u64, most: Duration) -> Result<bool, CommandError> {
        let (begin, turns) = (Instant::now(), self.published.turns.subscribe());
        while self.published.led_epoch() == Some(epoch) {
            if self.published.leads_on() {
                return Ok(false);
            }
            let left = most.saturating_sub(begin.elapsed());
            self.end.answer(&turns, Some(left)).map_err(|none| match none {
                NoAnswer::Late => CommandError::Unanswered(format!(
                    "the leader of epoch {epoch} leads on after {most:?}: what it runs has not ended, or nobody can \
                     succeed it any more"
                )),
                NoAnswer::Never => unanswered(none), // this member hears nothing more
            })?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
