//! What the world adds to its trace and its drawing.

use super::world::World;
use crate::core::Core;
use crate::core::message::Message;
use crate::core::settings::AlgorithmKind;
use crate::trace::{Detail, Event, Line, Narrator, What, length};

impl World {
    /// Adds to what is drawn, if anything is.
    pub(super) fn draw(&mut self, node: usize, what: impl FnOnce(&Narrator) -> Option<What>) {
        let Some(drawing) = &mut self.drawing else { return };
        // Heartbeats would hide the rest.
        let narrator = Narrator { members: &self.members, detail: Detail::Election };
        if let Some(what) = what(&narrator) {
            drawing.add(Event { time: self.now, node, what });
        }
    }

    /// Adds a line to the trace, if there is one.
    pub(super) fn say(&mut self, node: usize, what: impl FnOnce() -> String) {
        if self.setup.detail.is_some() {
            let node = self.members.name(self.nodes[node].settings.id);
            self.lines.push(Line { time: self.now, node, what: what() });
        }
    }

    /// Something happens to a member that is worth a line and a place in a drawing.
    pub(super) fn suffers(&mut self, node: usize, what: impl FnOnce() -> String) {
        if self.setup.detail.is_some() {
            let what = what();
            self.say(node, || what.clone());
            self.draw(node, |_| Some(What::Suffers(what)));
        }
    }

    /// A member takes a message.
    pub(super) fn draw_arrival(&mut self, from: usize, to: usize, message: &Message) {
        let Some(drawing) = &mut self.drawing else { return };
        let narrator = Narrator { members: &self.members, detail: Detail::Election };
        if let Some(label) = narrator.label(message) {
            drawing.arrive(self.now, from, to, &label);
        }
    }

    /// A member is called at its deadline: draws the waits that are over.
    pub(super) fn draw_ended_waits(&mut self, node: usize) {
        let Some(drawing) = &self.drawing else { return };
        let ended = drawing.ended(node, self.nodes[node].local(self.now));
        let names = match self.setup.algorithm {
            AlgorithmKind::Bully => ["T1", "T2"],
            AlgorithmKind::Halting | AlgorithmKind::Ring => ["T1", "timeout"],
        };
        for (name, since) in names.into_iter().zip(ended) {
            let Some(since) = since else { continue };
            let label = format!("{name} {}", length(self.now.since(since)));
            self.draw(node, |_| Some(What::Waited { since, label }));
        }
    }

    /// Notes for what a member waits after its turn.
    pub(super) fn note_waits(&mut self, node: usize) {
        let Some(drawing) = &mut self.drawing else { return };
        let due = self.nodes[node].core.as_ref().map(Core::waits).unwrap_or_default();
        drawing.note_waits(self.now, node, due);
    }

    pub(super) fn trace(&mut self, node: usize, what: impl FnOnce(&Narrator) -> Option<String>) {
        let Some(detail) = self.setup.detail else { return };
        let narrator = Narrator { members: &self.members, detail };
        if let Some(what) = what(&narrator) {
            self.say(node, || what);
        }
    }
}
