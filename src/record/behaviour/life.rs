//! The lives of nodes in their recordings.

use std::sync::Arc;
use std::time::Duration;

use crate::core::durable::Started;
use crate::core::membership::MemberList;
use crate::core::settings::Quorum;
use crate::core::types::{Epoch, Incarnation, NodeId, Time};
use crate::core::{Core, Input, Output, Phase};
use crate::flight::replay::Unreadable;
use crate::flight::tape::SEGMENTS;

/// One life of a node, from its start on or from where the recording begins.
#[derive(Clone, Debug)]
pub struct RecordedLife {
    /// How it began.
    pub start: LifeStart,
    /// Its turns.
    pub turns: Vec<TapedTurn>,
}

/// A turn: all that the core did about one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapedTurn {
    /// When, by the clock of the node.
    pub at: Time,
    /// What it took.
    pub input: Input,
    /// What it put out, in this order.
    pub outputs: Vec<Output>,
}

/// What is known where a recording begins.
#[derive(Clone, Debug)]
pub struct LifeStart {
    /// The member.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// Which life it is.
    pub incarnation: Incarnation,
    /// The name of the cluster, which is in the hash of a death certificate.
    pub cluster: String,
    /// Whether a leader needs a majority.
    pub quorum: Quorum,
    /// Whether it was started to begin a cluster.
    pub bootstrap: bool,
    /// For how long it would promise its vote.
    pub lease: Duration,
    /// The member list.
    pub list: Arc<MemberList>,
    /// The epoch in which it leads, if it does.
    pub leads: Option<Epoch>,
    /// What its start found and wrote.
    pub started: Started,
    /// Whether no turn of this life is missing before.
    pub is_whole: bool,
}

impl LifeStart {
    fn of(core: &Core, is_whole: bool) -> LifeStart {
        let settings = core.settings();
        LifeStart {
            id: core.id(),
            name: core.members().name(core.id()),
            incarnation: core.incarnation(),
            cluster: settings.cluster.clone(),
            quorum: settings.quorum,
            bootstrap: settings.bootstrap,
            lease: settings.timing.lease,
            list: core.members().clone(),
            leads: Some(core.view().epoch).filter(|_| core.phase() == Phase::Leading),
            started: *core.started(),
            is_whole,
        }
    }
}

impl RecordedLife {
    /// The parts of one life in the segments of a flight: one, and another after each gap. A turn that was not over is left
    /// out.
    ///
    /// # Errors
    /// If a segment is not what this version writes.
    pub fn read<T: AsRef<Vec<u8>>>(segments: &[T]) -> Result<Vec<RecordedLife>, Unreadable> {
        let mut lives: Vec<RecordedLife> = Vec::new();
        for (place, segment) in segments.iter().enumerate() {
            let unreadable = |why| Unreadable { segment: place + 1, why };
            let segment = segment.as_ref().as_slice();
            let start = postcard::take_from_bytes::<(bool, Time, Core)>(segment);
            let ((follows, _, core), mut rest) = start.map_err(unreadable)?;
            if place == 0 || !follows {
                let is_whole = place == 0 && segments.len() < SEGMENTS;
                lives.push(RecordedLife {
                    start: LifeStart::of(&core, is_whole),
                    turns: Vec::new(),
                });
            }
            while !rest.is_empty() {
                let turn = postcard::take_from_bytes::<(Time, Input)>(rest);
                let ((at, input), after) = turn.map_err(unreadable)?;
                if after.is_empty() {
                    break;
                }
                let (outputs, after) =
                    postcard::take_from_bytes::<Vec<Output>>(after).map_err(unreadable)?;
                rest = after;
                lives.last_mut().into_iter().for_each(|life| {
                    let (input, outputs) = (input.clone(), outputs.clone());
                    life.turns.push(TapedTurn { at, input, outputs });
                });
            }
        }
        Ok(lives)
    }
}
