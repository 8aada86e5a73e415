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
use crate::core::restart::{Kept, NoStart, Restored, restart};
use crate::core::settings::Settings;
use crate::core::types::{Incarnation, Task};
use crate::coroner::attending::Coroner;
use crate::coroner::estate::Estate;
use crate::net::{OwnAddress, OwnListener};
use crate::store::{Record, Store};

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
    let kept = record.map(|record| record.kept);
    let restored = restart(kept.as_ref(), file, task).map_err(|why| {
        let name = own.name.clone();
        match why {
            NoStart::Removed { .. } => StartError::Removed { name, folder },
            NoStart::Bootstrapped => StartError::Bootstrapped { name, folder },
        }
    })?;
    let kept = Kept { incarnation: restored.incarnation, durable: restored.record.clone() };
    store.save(&Record { id: own.id, kept })?;
    Ok((store, restored))
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

/// Listens, on the very socket of the last node of this member if its coroner kept that: no dial is refused in between.
/// The settings get the proof of the death of that node, if the coroner leaves it. The caller holds the lock of the state.
pub fn listen(
    config: &Config,
    own: &MemberConfig,
    address: OwnAddress,
    settings: &mut Settings,
) -> Result<OwnListener, StartError> {
    let Estate { listener, certificate } = Estate::take(&config.state_dir(&own.name));
    settings.buried = certificate;
    OwnListener::bind(address, NAMES, listener).map_err(|source| {
        let (name, address) = (own.name.clone(), own.listen.clone());
        StartError::Listen { name, address, source }
    })
}

/// Starts the coroner of this incarnation, if it is to have one; the settings get the hash that the hello tells. Without
/// a coroner the node works on, and its crash costs the others more time.
pub fn attend(
    (config, own): (&Config, &MemberConfig),
    attended: Attended,
    settings: &mut Settings,
    incarnation: Incarnation,
    socket: &OwnListener,
) -> Attendance {
    let Attended::Yes { group } = attended else { return Attendance::Unasked };
    let started = draw().and_then(|secret| {
        let certificate = DeathCertificate { member: own.id, incarnation, secret };
        let listener = socket.socket().ok_or(ErrorKind::NotConnected)?;
        let folder = config.state_dir(&own.name);
        let coroner = Coroner::start(&folder, group, &certificate, &config.timing, &listener)?;
        settings.death = Some(certificate.hash(&config.cluster));
        Ok(coroner)
    });
    match started {
        Ok(coroner) => {
            let moved = coroner.clone();
            socket.on_move(move |listener| moved.listens(listener));
            Attendance::By(coroner)
        }
        Err(error) => Attendance::Failed(error.to_string().into()),
    }
}

/// Draws what proves the death of this incarnation.
fn draw() -> io::Result<Secret> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Secret(secret))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Node, Start, example};
    use super::*;
    use crate::config::Builder;
    use crate::core::settings::{AlgorithmKind, Alone, Margin, Preempt, Quorum, RankKind};

    /// Rule W3.
    #[test]
    fn each_start_is_durable_before_anybody_hears_of_it() {
        let (config, _folder) = example::cluster().unwrap();
        let own = &config.members[0];
        for start in 1..=2 {
            let (store, restored) = restore(&config, own, &settings(&config, own), None).unwrap();
            drop(store);
            let stored = Store::peek(&config.state_dir(&own.name), own.id).unwrap();
            assert_eq!(
                (restored.incarnation, stored.kept.incarnation),
                (Incarnation(start), Incarnation(start))
            );
        }
    }

    /// Two members, with these keys.
    fn config(quorum: &str, more: &[(&str, serde_json::Value)]) -> Config {
        let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
        let builder = Builder::new("two", quorum, "/nowhere");
        let builder = builder.member("a", ids[0], "10.0.0.1:1").member("b", ids[1], "10.0.0.2:1");
        more.iter().fold(builder, |all, (key, value)| all.set(key, value.clone())).build().unwrap()
    }

    #[test]
    fn each_setting_of_the_file_is_one_of_the_core() {
        let of_file = config(
            "none",
            &[
                ("algorithm", json!("halting")),
                ("preempt", json!({"after": "30s"})),
                ("rank", json!({"by": "disk", "path": "/", "margin": "10%"})),
                ("health", json!({"command": ["true"], "alone": "step-down"})),
                ("trust_refused", json!(false)),
                ("timing", json!({"failure": "7s"})),
            ],
        );
        let own = &of_file.members[0];
        let told = settings(&of_file, own);
        assert_eq!((told.cluster.as_str(), told.id), ("two", own.id));
        assert_eq!((told.algorithm, told.quorum), (AlgorithmKind::Halting, Quorum::None));
        assert_eq!(told.preempt, Preempt::After(Duration::from_secs(30)));
        assert_eq!((told.rank, told.margin), (RankKind::Disk, Margin::Percent(10)));
        assert_eq!((told.health, told.trust_refused), (Some(Alone::StepDown), false));
        assert_eq!(told.timing, of_file.timing);
        let names: Vec<_> = told.members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_ne!(told.instance, settings(&of_file, own).instance, "drawn at each start");
        let other = config("none", &[]);
        let told = settings(&other, &other.members[0]);
        assert_eq!((told.health, told.trust_refused), (None, other.trust_refused));
        assert!(told.trust_refused);
    }

    #[test]
    fn a_start_that_makes_no_sense_is_refused_before_its_folder_is_looked_for() {
        let (none, halting) =
            (config("none", &[]), config("none", &[("algorithm", json!("halting"))]));
        let refused = |config: &Config, start| match Node::start_with(config, "a", start) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("it starts"),
        };
        let bootstrap = Start { bootstrap: true, ..Start::default() };
        let words = "a bootstrap is for the first start with quorum \"majority\"; this cluster has \"none\"";
        assert_eq!(refused(&none, bootstrap), words);
        let task = |length| Start { task: Some(vec![b'x'; length]), ..Start::default() };
        let most = Task::LONGEST;
        assert_eq!(
            refused(&halting, task(most + 1)),
            "the task has 65537 bytes; the most is 65536"
        );
        assert!(accepted(&halting, vec![b'x'; most]).is_ok());
        assert!(refused(&none, task(1)).contains("by the algorithm \"halting\" only"));
        let Err(error) = Node::start(&none, "c") else { panic!("it starts") };
        assert_eq!(error.to_string(), "the config has no member named \"c\"");
    }
}
