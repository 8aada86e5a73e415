//! All members connected, and known to each other as alive, before an election with chosen
//! initiators begins.

use super::links::{LinkState, id};
use super::world::World;
use crate::core::detector::ConnectionId;
use crate::core::message::Hello;
use crate::core::{Input, Output};

/// A peer's connection to a member, and what it said on it.
type Caller<'a> = (ConnectionId, &'a Hello);

impl World {
    /// Connects every pair by the hellos that they would exchange, without a delay. Each member gets
    /// all its hellos in a row, which is faster with the processor's caches.
    pub(super) fn connect_all(&mut self) {
        let hellos: Vec<Option<Hello>> = (0..self.nodes.len()).map(|at| self.hello(at)).collect();
        let callers = self.call_all(&hellos);
        for (to, callers) in callers.iter().enumerate() {
            self.greet(to, callers);
            self.arm(to); // continue what a hello began
        }
    }

    /// The hello of a node to the members that it dials.
    fn hello(&mut self, node: usize) -> Option<Hello> {
        let peer = self.id(node);
        let core = self.nodes[node].core.as_mut()?;
        let mut out = Vec::new();
        core.handle(self.now, Input::Dialed { peer, attempt: 0 }, &mut out);
        out.into_iter().find_map(|output| match output {
            Output::Hello { hello, .. } => Some(hello),
            _ => None,
        })
    }

    /// Opens the connections. Tells who calls each member.
    fn call_all<'a>(&mut self, hellos: &'a [Option<Hello>]) -> Vec<Vec<Caller<'a>>> {
        let mut callers = vec![Vec::new(); self.nodes.len()];
        for (from, hello) in hellos.iter().enumerate() {
            let Some(hello) = hello else { continue };
            for to in self.others(from) {
                let connection = self.network.connect(from, to, self.nodes[to].incarnation);
                self.network.enter(from, to, LinkState::Up(connection));
                self.network.link(from, to).accepted = Some(connection);
                callers[to].push((id(connection), hello));
            }
        }
        callers
    }

    /// A member meets all who call it, and is welcomed by each. Its messages are dropped: they know
    /// all of it.
    fn greet(&mut self, to: usize, callers: &[Caller]) {
        let id = self.id(to);
        for (connection, hello) in callers {
            let hello = Hello { to: id, ..(*hello).clone() };
            let (connection, address) = (*connection, String::new());
            // Welcomed first: a member looks after all peers whenever one is heard that it cannot send to.
            self.learn(to, Input::Welcomed { peer: hello.id, welcome: hello.clone() });
            self.learn(to, Input::Hello { connection, address, hello });
        }
    }

    /// Hands a process an input of the time before the run.
    pub(super) fn learn(&mut self, node: usize, input: Input) {
        self.nodes[node].learn(self.now, input);
        self.compare_disk(node);
    }
}
