//! That a published leadership expires by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::super::clock;
use super::{Known, Published};
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::message::Liveness;
use crate::core::restart::restart;
use crate::core::settings::{Settings, Timing};
use crate::core::types::{NodeId, Role, Time};
use crate::core::{Core, Input, Output, Phase};
use crate::rank::Sample;
use crate::realtime::Realtime;

const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(40),
    failure: Duration::from_millis(200),
    message: Duration::from_millis(20),
    lease: Duration::from_millis(160),
};

/// A cluster of one, whose vote is enough.
fn settings() -> Settings {
    let id = NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0001));
    let (name, address) = ("alone".to_owned(), String::new());
    let member = Member { id, name, address, admin: None, role: Role::Member };
    let members = Arc::new(MemberList::new(ListVersion::default(), vec![member]));
    Settings { value: Some(0), bootstrap: true, ..Settings::new("alone", id, members, TIMING) }
}

/// A core that leads, with a lease that begins about now.
fn leader() -> Core {
    let started = Time(clock::now().0 - u64::try_from(TIMING.failure.as_nanos()).unwrap());
    let settings = settings();
    let restored = restart(None, &settings, None).unwrap();
    let mut core = Core::new(started, settings, restored, 0);
    let mut inputs = vec![Input::Tick];
    while let Some(input) = inputs.pop() {
        let mut out = Vec::new();
        core.handle(clock::now(), input, &mut out);
        inputs.extend(out.into_iter().filter_map(|output| match output {
            Output::Persist { number, .. } => Some(Input::Persisted { number }),
            _ => None,
        }));
    }
    assert_eq!(core.phase(), Phase::Leading);
    core
}

#[test]
fn a_leader_whose_election_thread_stands_still_is_not_believed_beyond_its_lease() {
    let (core, start) = (leader(), Instant::now());
    let sample = Ok(Sample { value: 0, from: String::new() });
    let published =
        Published::new(&core, core.members().clone(), &sample, Arc::default(), Realtime::default());
    let until = core.lease_until().unwrap();
    let mut leading = 0;
    loop {
        let (before, status) = (clock::now(), published.status());
        let leads = status.state == "leading" && status.leader.is_some();
        assert!(!leads || before < until, "{:?} after its lease", before.since(until));
        assert_eq!(leads, status.lease_remaining_ms.is_some());
        leading += u32::from(leads);
        if !leads {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "it leads for ever");
        std::thread::yield_now();
    }
    assert!(leading > 0, "it led at first");
    assert_eq!(core.phase(), Phase::Leading, "the core has not been asked since");
}

#[test]
fn a_node_stands_back_only_where_another_that_is_there_may_lead() {
    let core = leader();
    let sample = Ok(Sample { value: 0, from: String::new() });
    let published =
        Published::new(&core, core.members().clone(), &sample, Arc::default(), Realtime::default());
    let known = |id, eligible, status| {
        let (passed_over, value, timing, version) = Default::default();
        Known { id, eligible, status, passed_over, value, timing, version }
    };
    let could = |phase, eligible, other| {
        published.carry_on(|snapshot| {
            snapshot.phase = phase;
            snapshot.members = vec![known(core.id(), eligible, Liveness::Alive)];
            snapshot.members.extend(other);
        });
        published.could_stand_back()
    };
    let other = |eligible, status| Some(known(NodeId::default(), eligible, status));
    let (follows, alive) = (Phase::Following, Liveness::Alive);
    assert!(could(follows, true, other(true, alive)));
    assert!(!could(follows, true, None) && !could(follows, true, other(false, alive)));
    for gone in [Liveness::Dead, Liveness::Suspected] {
        assert!(!could(follows, true, other(true, gone)), "{gone:?}");
    }
    assert!(!could(follows, false, other(true, alive)), "it does so already");
    assert!(!could(Phase::Electing, true, other(true, alive)));
}
