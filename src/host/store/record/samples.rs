//! Records of one member, for the tests and the fuzzer.

use super::super::*;
use crate::core::membership::Member;
use crate::core::types::Role;

/// The id of member `n`.
pub fn id(n: u128) -> NodeId {
    let id = uuid::Builder::from_u128(n);
    NodeId(id.with_version(uuid::Version::Random).with_variant(uuid::Variant::RFC4122).into_uuid())
}

/// Member 1 of three, in this epoch.
pub fn record(epoch: u64) -> StoreRecord {
    let member = |n: u128, role| Member {
        id: id(n),
        name: format!("node-{n}"),
        address: format!("127.0.0.1:710{n}"),
        admin: None,
        role,
    };
    let version = ListVersion { epoch: Epoch(4), counter: 2 };
    let members =
        vec![member(1, Role::Member), member(2, Role::Witness), member(3, Role::Observer)];
    let durable = Durable {
        epoch: Epoch(epoch),
        reserved: Epoch(epoch + 100),
        leader: Some(id(2)),
        members: Arc::new(MemberList::new(version, members)),
        ..Durable::default()
    };
    StoreRecord { id: id(1), kept: KeptState { incarnation: Incarnation(3), durable } }
}

/// A record that differs from another by this.
pub fn with(mut record: StoreRecord, change: impl FnOnce(&mut Durable)) -> StoreRecord {
    change(&mut record.kept.durable);
    record
}

/// Member 1 as a voter.
pub fn voter() -> StoreRecord {
    let voted = Some(Vote { epoch: Epoch(6), candidate: id(3) });
    let promised = Duration::from_millis(400);
    let vote = VoterRecord { voted, promised, informed: true, ..VoterRecord::default() };
    with(record(7), |durable| durable.vote = Some(vote))
}

/// A task that a coordinator took.
pub fn taken(content: &[u8]) -> Task {
    Task { version: TaskVersion { epoch: Epoch(6), counter: 2 }, content: content.into() }
}

/// The content of the state file without a checksum, as an electd before format 6 wrote it.
pub fn older(record: &StoreRecord, format: u64) -> String {
    let file = StateFile { format, ..StateFile::from(record) };
    serde_json::to_string_pretty(&file).unwrap() + "\n"
}
