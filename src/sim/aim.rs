//! The targets of faults, found when a fault happens: the member that leads then, or is a candidate, or
//! votes.

use super::node::Node;
use super::world::World;

/// The target.
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

    /// One of the members that fit now; none if there is none.
    pub fn find(self, world: &mut World) -> Option<usize> {
        let fits = |at: &usize| self.fits(&world.nodes[*at]);
        let all: Vec<usize> = (0..world.nodes.len()).filter(fits).collect();
        let at = world.random.below(all.len() as u64) as usize;
        all.get(at).copied()
    }
}
