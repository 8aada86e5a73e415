//! The steps of a start before its threads: settings, the durable state, the socket.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::attendance::{Attendance, Attended};
use super::error::StartError;
use super::members;
use crate::config::{Config, MemberConfig};
use crate::core::death::{DeathCertificate, Secret};
use crate::core::durable::Durable;
use crate::core::locks::voter::KeptTable;
use crate::core::restart::{KeptState, NoStart, Restored, restart};
use crate::core::settings::{Quorum, Settings};
use crate::core::types::{Incarnation, Task};
use crate::coroner::attending::Coroner;
use crate::coroner::estate::Estate;
use crate::net::{OwnAddress, OwnListener};
use crate::store::locks::{LocksFile, LocksRecord};
use crate::store::{Store, StoreRecord};

/// The settings that a start may add to the configuration.
///
/// ```
/// use electd::node::Start;
///
/// let first = Start { bootstrap: true, ..Start::default() }; // of a cluster of which some host is missing
/// assert_eq!(first.task, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Halting: goes over the task that this member was handed last. It is what it hands out when
    /// it leads, unless another member has a newer one by then.
    pub task: Option<Vec<u8>>,
    /// Majority: this member may vote though it has no state and has not met all other voters.
    /// Only for the first start of a cluster of which some host is missing: a voter that lost its
    /// state has forgotten its votes.
    pub bootstrap: bool,
}

/// What the locks of a node start with.
pub struct LocksStart {
    pub file: LocksFile,
    pub record: LocksRecord,
    /// The record of the core.
    pub restored: Durable,
}

/// How long the name service has to answer at a start.
const NAMES: Duration = Duration::from_secs(3);

pub fn settings(config: &Config, own: &MemberConfig) -> Settings {
    let members = Arc::new(members::of_file(config));
    Settings {
        instance: Uuid::new_v4().as_u64_pair().0,
        algorithm: config.algorithm,
        quorum: config.quorum,
        preempt: config.preempt,
        rank: config.rank,
        margin: config.margin,
        health: own.health.as_ref().map(|health| health.alone),
        trust_refused: config.trust_refused,
        ..Settings::new(&config.cluster, own.id, members, config.timing)
    }
}

/// A task that this cluster can hand out.
pub fn accepted(config: &Config, task: Vec<u8>) -> Result<Task, StartError> {
    if !config.algorithm.hands_out_tasks() {
        return Err(StartError::NoTask(config.algorithm.name()));
    }
    if task.len() > Task::LONGEST {
        return Err(StartError::TaskTooLong(task.len()));
    }
    Ok(Task::new(task))
}

/// Reads the durable state and makes this start durable, before anybody hears of it. (W3)
pub fn restore(
    config: &Config,
    own: &MemberConfig,
    file: &Settings,
    task: Option<Task>,
) -> Result<(Store, Restored), StartError> {
    let folder = config.state_dir(&own.name);
    members::find_state(config, own)?;
    let (store, record) = Store::open(&folder, own.id)?;
    if record.is_none() && config.quorum == Quorum::Majority {
        LocksFile::begin(&folder, own.id)?;
    }
    let kept = record.map(|record| record.kept);
    let restored = restart(kept.as_ref(), file, task).map_err(|why| {
        let name = own.name.clone();
        match why {
            NoStart::Removed { .. } => StartError::Removed { name, folder },
            NoStart::Bootstrapped => StartError::Bootstrapped { name, folder },
        }
    })?;
    let kept = KeptState { incarnation: restored.incarnation, durable: restored.record.clone() };
    store.save(&StoreRecord { id: own.id, kept })?;
    Ok((store, restored))
}

/// Reads what this member stored of the locks. The caller has opened the store beside it. Without the file of a voter that
/// started before, a table may have been lost: no round of an earlier start was above the floor, so none was later. (G6)
pub fn restore_locks(
    config: &Config,
    own: &MemberConfig,
    restored: &Restored,
) -> Result<LocksStart, StartError> {
    let (file, record) = LocksFile::open(&config.state_dir(&own.name), own.id)?;
    let lost = || LocksRecord { kept: KeptTable::lost(restored.floor), longest: Duration::ZERO };
    let record = record.unwrap_or_else(lost);
    Ok(LocksStart { file, record, restored: restored.record.clone() })
}

/// The address of this member, which the others can dial as far as this host knows.
pub fn own_address(config: &Config, own: &MemberConfig) -> Result<OwnAddress, StartError> {
    let address = OwnAddress::new(&own.listen, &own.address);
    let others = members::others(&members::of_file(config), own.id);
    match address.hidden(&others, NAMES) {
        Some(why) => Err(StartError::Hidden { name: own.name.clone(), why }),
        None => Ok(address),
    }
}

/// Listens, on the very sockets of the last node of this member if its coroner kept those: no dial is refused in between. The
/// coroner of another member leaves its sockets, too.
/// The settings get the proof of the death of that node, if the coroner leaves it. The caller holds the lock of the state.
pub fn listen(
    config: &Config,
    own: &MemberConfig,
    address: OwnAddress,
    settings: &mut Settings,
) -> Result<OwnListener, StartError> {
    let Estate { listeners, certificate } = Estate::take(&config.state_dir(&own.name));
    settings.buried = certificate;
    let mut bound = OwnListener::bind(address.clone(), NAMES, listeners);
    if bound.as_ref().is_err_and(|error| error.kind() == ErrorKind::AddrInUse) {
        let Estate { listeners, certificate } =
            Estate::take_at(&address.look_up(NAMES).unwrap_or_default());
        settings.buried = settings.buried.or(certificate);
        bound = OwnListener::bind(address, NAMES, listeners);
    }
    bound.map_err(|source| {
        let (name, address) = (own.name.clone(), own.listen.clone());
        StartError::Listen { name, address, source }
    })
}

/// Starts the coroner of this incarnation, if it is to have one; the settings get the hash that the hello tells. Without
/// a coroner the node works on, and its crash costs the others more time.
///
/// # Errors
/// When the system draws no random numbers.
pub fn attend(
    (config, own): (&Config, &MemberConfig),
    attended: Attended,
    settings: &mut Settings,
    incarnation: Incarnation,
    socket: &OwnListener,
) -> io::Result<Attendance> {
    if attended == Attended::No {
        return Ok(Attendance::Unasked);
    }
    let certificate = DeathCertificate { member: own.id, incarnation, secret: draw()? };
    settings.death = Some(certificate.hash(&config.cluster));
    let (folder, timing, listens) = (config.state_dir(&own.name), config.timing, socket.clone());
    let attendance = Attendance::begin(move || {
        let listeners = listens.sockets().ok_or(ErrorKind::NotConnected)?;
        Coroner::start(&folder, &certificate, &timing, &listeners)
    });
    let moved = attendance.on_move();
    socket.on_move(move |listeners| moved(listeners));
    Ok(attendance)
}

/// Draws what proves the death of this incarnation.
fn draw() -> io::Result<Secret> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Secret(secret))
}

#[cfg(test)]
mod tests;
