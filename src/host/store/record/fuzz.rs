//! What the fuzzer puts into a state file, and what must hold of every state that is accepted.

#[path = "samples.rs"]
pub(in crate::store) mod samples;

use super::super::file::LARGEST;
use super::*;
use crate::core::restart::restart;
use crate::core::settings::{Quorum, Settings};
use crate::core::types::{Drain, Time};
use crate::core::{Core, Input};
use samples::{id, older, record, taken, voter, with};

/// Records of every format, without their checksums.
pub fn seeds() -> Vec<Vec<u8>> {
    let drain = Some(Drain { since: 5, until: Some(9), reason: "a new disk".to_owned() });
    let pause = Pause {
        version: record(7).kept.durable.members.version(),
        paused: true,
        since: 5,
        until: Some(9),
    };
    let met = [(id(2), Incarnation(4))].into();
    let busy = with(voter(), |kept| (kept.task, kept.met) = (taken(b"any \xff\0 bytes"), met));
    let newest =
        [with(voter(), |kept| kept.drain = drain), with(busy.clone(), |kept| kept.pause = pause)];
    let newest = newest.iter().filter_map(|record| unsealed(&record.to_json().ok()?).ok());
    let older =
        [(record(7), 1), (record(7), 2), (voter(), 3), (voter(), 4), (busy, 5), (voter(), 6)]
            .map(|(record, format)| older(&record, format).into_bytes());
    older.into_iter().chain(newest).collect()
}

/// The bytes as they are, and with the checksum that a newer format needs: no fuzzer would find it.
pub fn check(bytes: &[u8]) {
    let json = bytes.trim_ascii_end();
    let with_seal = json.ends_with(END).then(|| sealed(json.to_vec()));
    for bytes in [bytes.to_vec()].into_iter().chain(with_seal) {
        match StoreRecord::from_json(&bytes) {
            Ok(record) => keeps_to_bounds(&record),
            Err(Unfit::Newer(format)) => assert!(format > FORMAT),
            Err(Unfit::Damaged(why)) => {
                assert!(why.len() < 2000 && !why.contains(char::is_control), "{why:?}");
            }
        }
    }
}

fn keeps_to_bounds(record: &StoreRecord) {
    let KeptState { incarnation, durable } = &record.kept;
    let Durable { members, task, vote, met, drain, pause, .. } = durable;
    assert_eq!(members.judge(), Ok(()));
    let mut numbers = vec![durable.epoch.0, incarnation.0];
    for version in [members.version(), task.version, pause.version] {
        numbers.extend([version.epoch.0, version.counter]);
    }
    numbers.extend(met.iter().map(|(_, incarnation)| incarnation.0));
    numbers.extend([pause.since].into_iter().chain(pause.until));
    numbers.extend(drain.iter().flat_map(|drain| [drain.since].into_iter().chain(drain.until)));
    if let Some(VoterRecord { voted, promised, floor, .. }) = vote {
        numbers.extend(voted.map(|vote| vote.epoch.0));
        numbers.push(floor.0);
        assert!(*promised <= Timing::LONGEST, "{promised:?}");
    }
    assert!(numbers.iter().all(|number| *number <= GREATEST), "beyond {GREATEST}: {record:?}");
    assert!(durable.reserved.0 <= 2 * GREATEST, "{record:?}");
    assert!(met.len() <= MOST_MEMBERS);
    assert!(task.content.len() <= Task::LONGEST);
    assert!(drain.as_ref().is_none_or(|drain| drain.reason.len() <= Drain::LONGEST));

    let again = record.to_json().expect("what was read can be written");
    assert!(again.len() as u64 <= LARGEST, "it has {} bytes", again.len());
    assert_eq!(StoreRecord::from_json(&again).as_ref(), Ok(record));
    for quorum in Quorum::ALL {
        starts(record, quorum);
    }
}

/// A member starts with the accepted state, and its clock runs for a while.
fn starts(record: &StoreRecord, quorum: Quorum) {
    let settings = settings(record, quorum);
    let Ok(restored) = restart(Some(&record.kept), &settings, None) else { return };
    assert!(restored.incarnation > record.kept.incarnation);
    let mut core = Core::new(Time(0), settings, restored, 1);
    let mut out = Vec::new();
    for step in 1..20 {
        core.handle(Time(step * 100_000_000), Input::Tick, &mut out);
    }
}

fn settings(record: &StoreRecord, quorum: Quorum) -> Settings {
    let [heartbeat, failure, message, lease] = [100, 500, 50, 400].map(Duration::from_millis);
    let timing = Timing { heartbeat, failure, message, lease };
    let members = record.kept.durable.members.clone();
    Settings { quorum, value: Some(0), ..Settings::new("fuzz", record.id, members, timing) }
}
