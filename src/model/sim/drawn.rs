//! What the world adds to its trace and its drawing.

use super::world::World;
use crate::core::settings::AlgorithmKind;
use crate::core::{Core, Input};
use crate::trace::{Detail, DrawnWhat, Narrator, TraceLine};

impl World {
    /// Adds to what is drawn, if anything is.
    pub(super) fn draw(&mut self, node: usize, what: impl FnOnce(&Narrator) -> Option<DrawnWhat>) {
        let Some(drawing) = &mut self.drawing else { return };
        // Heartbeats would hide the rest.
        let narrator = Narrator { members: &self.members, detail: Detail::Election };
        if let Some(what) = what(&narrator) {
            drawing.add(self.now, node, what);
        }
    }

    /// Adds a line to the trace, if there is one.
    pub(super) fn say(&mut self, node: usize, what: impl FnOnce() -> String) {
        if self.setup.detail.is_some() {
            let node = self.members.name(self.nodes[node].settings.id);
            self.lines.push(TraceLine { time: self.now, node, what: what() });
        }
    }

    /// Something happens to a member that is worth a line and a place in a drawing.
    pub(super) fn suffers(&mut self, node: usize, what: impl FnOnce() -> String) {
        if self.setup.detail.is_some() {
            let what = what();
            self.say(node, || what.clone());
            self.draw(node, |_| Some(DrawnWhat::Suffers(what)));
        }
    }

    /// A member begins a turn: draws the message that it takes and the waits that are over, and notes what the turn
    /// is about.
    pub(super) fn draw_turn(&mut self, node: usize, input: &Input) {
        let (now, clock) = (self.now, self.nodes[node].local(self.now));
        let peer = match input {
            Input::Message { from: id, .. }
            | Input::Ended { peer: id, .. }
            | Input::Lost { peer: id }
            | Input::Refused { peer: id } => self.place(*id),
            _ => None,
        };
        let narrator = Narrator { members: &self.members, detail: Detail::Election };
        let Some(drawing) = &mut self.drawing else { return };
        let causes = match (input, peer) {
            (Input::Message { envelope, .. }, Some(from)) => {
                let taken = narrator.caption(&envelope.message);
                let sent = taken.and_then(|message| drawing.arrive(now, from, node, &message));
                sent.into_iter().collect()
            }
            (_, Some(peer)) => drawing.death(peer).into_iter().collect(),
            (Input::Persisted { number }, _) => drawing.written(node, *number),
            (Input::Tick, _) => {
                let names = match self.setup.algorithm {
                    AlgorithmKind::Bully => ["T1", "T2"],
                    AlgorithmKind::Halting | AlgorithmKind::Ring => ["T1", "timeout"],
                };
                drawing.end_waits(now, node, clock, names)
            }
            _ => Vec::new(),
        };
        drawing.begin_turn(node, causes);
    }

    /// A member orders a record, which may bring something about once it is durable.
    pub(super) fn draw_record(&mut self, node: usize, number: u64) {
        if let Some(drawing) = &mut self.drawing {
            drawing.order_record(node, number);
        }
    }

    /// Records for what a member waits after its turn.
    pub(super) fn record_waits(&mut self, node: usize) {
        let Some(drawing) = &mut self.drawing else { return };
        let due = self.nodes[node].core.as_ref().map(Core::waits).unwrap_or_default();
        drawing.record_waits(self.now, node, due);
    }

    pub(super) fn trace(&mut self, node: usize, what: impl FnOnce(&Narrator) -> Option<String>) {
        let Some(detail) = self.setup.detail else { return };
        let narrator = Narrator { members: &self.members, detail };
        if let Some(what) = what(&narrator) {
            self.say(node, || what);
        }
    }
}
