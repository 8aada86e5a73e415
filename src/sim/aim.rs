//! At whom a fault is aimed, found when it happens: who leads then, or stands for election, or votes.

use super::node::Node;
use super::world::World;

/// At whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// One that leads.
    Leader,
    /// One that takes part in an election, or awaits its outcome.
    Candidate,
    /// One that lives and does not lead.
    Follower,
    /// One whose process is gone.
    Dead,
}

impl Aim {
    fn fits(self, node: &Node) -> bool {
        let Some(core) = &node.core else { return self == Aim::Dead };
        match self {
            Aim::Leader => node.leads(),
            Aim::Candidate => core.phase().elects(),
            Aim::Follower => !node.leads(),
            Aim::Dead => false,
        }
    }

    /// Any of those that fit now; none if nobody does.
    pub fn find(self, world: &mut World) -> Option<usize> {
        let fits = |at: &usize| self.fits(&world.nodes[*at]);
        let all: Vec<usize> = (0..world.nodes.len()).filter(fits).collect();
        let at = world.random.below(all.len() as u64) as usize;
        all.get(at).copied()
    }
}
