//! The election, as the locks see it.

use std::time::Duration;

use crate::core::Core;
use crate::core::detector::Peer;
use crate::core::durable::Durable;
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::periods::WallTime;
use crate::core::locks::table::Life;
use crate::core::settings::Timing;
use crate::core::types::{Epoch, Time};
use crate::node::clock;

/// What a record of the core says of the voter.
#[derive(Clone, Copy)]
pub struct DurableRounds {
    /// The round that it was told when it learned of its cluster. (Q5)
    pub told: Option<Epoch>,
    /// A restart forgets no round up to this one.
    pub reserved: Epoch,
}

impl DurableRounds {
    pub fn of(record: &Durable) -> DurableRounds {
        let told = record.vote.filter(|vote| vote.informed).map(|vote| vote.floor);
        DurableRounds { told, reserved: record.reserved }
    }
}

/// What the election knows by now.
pub fn election_view(core: &Core, durable: DurableRounds, now: Time) -> ElectionView {
    let over =
        |peer: &Peer| peer.certified().map(|incarnation| Life { member: peer.id(), incarnation });
    ElectionView {
        now,
        list: core.members().clone(),
        leader: core.leader().map(|leader| (leader.id, core.view().epoch)),
        told: durable.told,
        reserved: durable.reserved,
        timing: Timing { lease: promised(core), ..core.settings().timing },
        over: core.detector().iter().filter_map(over).collect(),
        wall: WallTime(clock::wall_clock_ms()),
    }
}

/// The length of the promises that a holder asks for: no voter promises anything for longer than its own lease.
fn promised(core: &Core) -> Duration {
    let own = core.settings().timing.lease;
    let voters = core.members().voters().filter_map(|id| core.detector().get(id));
    let theirs = voters.filter(|peer| peer.connected()).filter_map(Peer::timing);
    theirs.map(|[.., lease]| Duration::from_nanos(lease)).fold(own, Duration::min)
}
