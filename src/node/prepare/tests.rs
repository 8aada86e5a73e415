//! What a start makes of the configuration, and why it is refused.

use serde_json::json;

use super::super::{Node, Start, example};
use super::*;
use crate::config::Builder;
use crate::core::membership::{Member, MembershipChange};
use crate::core::settings::{AlgorithmKind, Alone, Margin, Preempt, Quorum, RankKind};
use crate::core::types::{Epoch, NodeId, Role, Version};

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
    let (none, halting) = (config("none", &[]), config("none", &[("algorithm", json!("halting"))]));
    let refused = |config: &Config, start| match Node::start_with(config, "a", start) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it starts"),
    };
    let bootstrap = Start { bootstrap: true, ..Start::default() };
    let words =
        "a bootstrap is for the first start with quorum \"majority\"; this cluster has \"none\"";
    assert_eq!(refused(&none, bootstrap), words);
    let task = |length| Start { task: Some(vec![b'x'; length]), ..Start::default() };
    let most = Task::LONGEST;
    assert_eq!(refused(&halting, task(most + 1)), "the task has 65537 bytes; the most is 65536");
    assert_eq!(accepted(&halting, vec![b'x'; most]).unwrap(), Task::new(vec![b'x'; most]));
    assert_eq!(
        refused(&none, task(1)),
        "a task is handed out by the algorithm \"halting\" only, and this cluster has \"bully\""
    );
    let Err(error) = Node::start(&none, "c") else { panic!("it starts") };
    assert_eq!(error.to_string(), "the config has no member named \"c\"");
}

/// Whoever stops at a start reads which member it is, and what to do about it.
#[test]
fn a_member_that_was_removed_or_bootstrapped_twice_is_refused_by_its_name() {
    let (config, _folder) = example::cluster().unwrap();
    let (own, folder) = (&config.members[0], config.state_dir("a"));
    let known = settings(&config, own);
    drop(restore(&config, own, &known, None).unwrap());
    let after = |counter, change: MembershipChange| {
        let (store, record) = Store::open(&folder, own.id).unwrap();
        let mut kept = record.unwrap().kept;
        let version = Version { epoch: Epoch(1), counter };
        kept.durable.members = kept.durable.members.changed(version, &change).into();
        store.save(&StoreRecord { id: own.id, kept }).unwrap();
        drop(store);
        let again = Settings { bootstrap: counter == 1, ..known.clone() };
        let Err(error) = restore(&config, own, &again, None) else { panic!("it starts") };
        error
    };
    let id = NodeId(Uuid::new_v4());
    let (name, address, admin, role) = ("b".to_owned(), "h:2".to_owned(), None, Role::Member);
    let error = after(1, MembershipChange::Add(Member { id, name, address, admin, role }));
    let StartError::Bootstrapped { name, folder: of } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), of), ("a", &folder));
    let error = after(2, MembershipChange::Remove { id: own.id, force: true });
    let StartError::Removed { name, folder: of } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), of), ("a", &folder));
}

#[test]
fn an_address_that_the_others_cannot_dial_or_that_is_taken_is_refused_by_its_name() {
    let (mut config, _folder) = example::cluster().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    (config.members[0].listen, config.members[0].address) = (address.clone(), "h:1".to_owned());
    let own = config.members[0].clone();
    let socket = OwnAddress::new(&own.listen, &own.address);
    let mut core = settings(&config, &own);
    let Err(error) = listen(&config, &own, socket, &mut core) else { panic!("it is free") };
    let StartError::Listen { name, address: told, source } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), told), ("a", &address));
    assert_eq!(source.kind(), ErrorKind::AddrInUse);

    let two = Builder::new("two", "none", "/nowhere");
    let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
    let two = two.member("a", ids[0], "127.0.0.1:7100").member("b", ids[1], "192.0.2.1:7100");
    let two = two.build().unwrap();
    let Err(error) = own_address(&two, &two.members[0]) else { panic!("b can dial it") };
    let StartError::Hidden { name, why } = &error else { panic!("{error}") };
    assert_eq!(name, "a");
    let words = "127.0.0.1:7100 is 127.0.0.1 on this host, which no other host can dial, and b is on another";
    assert!(why.starts_with(words), "{why}");
    assert!(own_address(&two, &two.members[1]).is_ok(), "as far as this host knows");
    let mut everywhere = two.members[0].clone();
    everywhere.listen = "0.0.0.0:7100".to_owned();
    assert!(own_address(&two, &everywhere).is_ok(), "it does not listen on loopback alone");
}

/// Its crash costs the others more time, and that is all.
#[test]
fn a_node_without_a_coroner_works_on_and_says_why() {
    let (config, _folder) = example::cluster().unwrap();
    let own = &config.members[0];
    let address = own_address(&config, own).unwrap();
    let mut core = settings(&config, own);
    let socket = listen(&config, own, address, &mut core).unwrap();
    let start = Incarnation(1);
    let of = Config { data_dir: config.data_dir.join("missing"), ..config.clone() };
    let mut attend = |attended| attend((&of, own), attended, &mut core, start, &socket).unwrap();
    assert!(matches!(attend(Attended::No), Attendance::Unasked));
    let problem = attend(Attended::Yes).look().expect("it has none");
    let why = io::Error::from(rustix::io::Errno::NOENT).to_string();
    assert!(problem.contains(&format!(": {why})")), "{problem}");
    assert!(core.death.is_some(), "another may begin later");
}

/// Whoever guesses it proves the death of a node that lives.
#[test]
fn each_start_draws_a_secret_of_its_own() {
    let secrets: std::collections::BTreeSet<_> = (0..9).map(|_| draw().unwrap().0).collect();
    assert_eq!(secrets.len(), 9);
    let bytes = secrets.iter().flatten().collect::<std::collections::BTreeSet<_>>();
    assert!(bytes.len() > 50, "{bytes:?}");
    assert!(!secrets.contains(&[0; 32]));
}

/// Rule G6: the file of the locks is there from the first start on, so a voter that does not find it beside its state may
/// have lost a table, and knows no round that was later than that.
#[test]
fn a_voter_that_lost_the_file_of_the_locks_alone_does_not_take_itself_for_a_new_one() {
    let (config, _folder) = example::cluster().unwrap();
    let config = Config { quorum: Quorum::Majority, ..config };
    let own = &config.members[0];
    let start = || {
        let (store, restored) = restore(&config, own, &settings(&config, own), None).unwrap();
        drop(store);
        (restored.floor, restore_locks(&config, own, &restored).unwrap().record)
    };
    assert_eq!(start().1, LocksRecord::default());
    assert_eq!(start().1, LocksRecord::default());
    std::fs::remove_file(config.state_dir(&own.name).join("locks.json")).unwrap();
    let (floor, record) = start();
    assert!(floor > Epoch(0));
    assert_eq!(record.kept, KeptTable::lost(floor));
}
