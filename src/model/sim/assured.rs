//! What the operators of a member were told, and what has to hold from then on: who is drained does not lead, a pause
//! is not forgotten, and a chosen leader stays.

use crate::core::types::Pause;
use crate::core::{CommandId, Core, Phase, Reason, Transition};

/// The first order to drain or undrain has this number, and each member counts its own on.
const DRAIN: u64 = 1 << 32;

/// What the operators of one member know.
#[derive(Debug, Default)]
pub(super) struct Assured {
    /// A drain was asked for last, and not its end.
    wanted: bool,
    /// Since then its operator has the answer.
    drained: bool,
    /// It has not led at some time since then: it does not lead before it is undrained.
    barred: bool,
    /// How often it was to be drained or undrained.
    orders: u64,
    /// The last pause, or the end of one, that it told an operator of as the leader.
    pause: Pause,
    /// It led by a switchover when its last turn ended.
    chosen: bool,
}

impl Assured {
    /// An operator drains the member, or undrains it, by a command of this number.
    pub fn drain(&mut self, drained: bool) -> CommandId {
        self.wanted = drained;
        self.drained &= drained; // it may lead as soon as it is undrained
        self.barred &= drained;
        self.orders += 1;
        CommandId(DRAIN + self.orders)
    }

    /// The operator gets the answer that the member is drained. A slow disk may answer an order after a
    /// later order was given.
    pub fn note_drain(&mut self, id: CommandId) {
        self.drained |= self.wanted && id == CommandId(DRAIN + self.orders);
    }

    pub fn is_drained(&self) -> bool {
        self.drained
    }

    /// The operator gets the answer that the cluster is paused or resumed: a leader that says so has
    /// stored that.
    pub fn note_pause(&mut self, core: &Core, stored: Pause) {
        if core.phase() == Phase::Leading {
            self.pause = self.pause.max(stored);
        }
    }

    /// A process starts.
    pub fn starts(&mut self) {
        self.barred = self.drained; // even if it leads from its first turn on
    }

    /// No leader that knows that its cluster is paused hands over to a higher member, or for its health; and none that
    /// an operator chose hands over to a higher member.
    pub fn changed(&self, core: &Core, change: &Transition) -> Result<(), &'static str> {
        if change.from != Phase::Leading {
            return Ok(());
        }
        let preempted = matches!(change.reason, Reason::Preempted(_));
        if core.pause().paused && (preempted || matches!(change.reason, Reason::Unhealthy)) {
            return Err("hands over, and its cluster is paused");
        }
        if preempted && self.chosen {
            return Err("was chosen to lead, and is preempted");
        }
        Ok(())
    }

    /// After a turn: no drained member comes to lead before it is undrained; and a member that reported a pause, or its
    /// end, never goes back to an older one, restarts included.
    pub fn look(&mut self, core: Option<&Core>) -> Result<(), String> {
        let leads = core.is_some_and(|core| core.phase() == Phase::Leading);
        self.barred |= self.drained && !leads;
        self.chosen = leads && core.is_some_and(Core::is_chosen);
        if self.barred && leads {
            return Err("leads, and is drained".to_owned());
        }
        if core.is_some_and(|core| *core.pause() < self.pause) {
            return Err(format!("forgot the pause {}", self.pause.version));
        }
        Ok(())
    }
}
