//! Far more clients of HTTP than there are places, which idle, drip or hoard and come back: honest clients are answered,
//! and nothing else of the node notices.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use story::story;

use crate::support::crowd::{Crowd, Manner};
use crate::support::{Cluster, Node, ensure, eventually, http, patient, within};

/// 64 connections, 16 whose threads are about to end, and some threads that have nothing left to do.
const MOST: usize = 64 + 16 + 16;

/// The same connections, a few of honest clients, and a few descriptors that are open for a moment.
const MOST_DESCRIPTORS: usize = MOST + 16;

/// The most that a crowd may cost the node.
const MOST_MEMORY_KB: u64 = 16 * 1024;

/// How soon a client of the crowd is back that has lost its connection.
const RETURN: Duration = Duration::from_millis(10);

/// Ten times a second: so long an honest client waits in 99 of 100 cases at most.
const SOON: Duration = Duration::from_secs(10);

/// How many questions honest clients ask.
const QUESTIONS: usize = 50;

fn descriptors(node: &Node) -> usize {
    fs::read_dir(format!("/proc/{}/fd", node.pid().as_raw_nonzero())).unwrap().count()
}

/// So many clients besiege the leader.
fn besiege(clients: usize) {
    let cluster = Cluster::start_with(3, |config| {
        config["quorum"] = "majority".into();
        patient(config);
    });
    let epoch = cluster.agree_on(3);
    let leader = cluster.node(3);
    let (memory, files) = (leader.figure("VmRSS"), descriptors(leader));
    let manners = [Manner::Silent, Manner::Drip, Manner::Hoard];
    let crowd = Crowd::of(&manners, &[leader.admin], clients, RETURN);
    eventually("all have been there", || {
        ensure(crowd.rounds() > 1, || format!("{} are connected", crowd.open()))
    });
    for _ in 0..QUESTIONS {
        within(SOON, "an honest client is answered", || {
            let answer = leader.get("/leader")?;
            ensure(answer.code == 200, || format!("{answer:?}"))
        });
        within(SOON, "the control socket answers", || {
            let answer = http::tell(&leader.state(), "GET", "/leader", "");
            let answer = answer.map_err(|error| error.to_string())?;
            ensure(answer.code == 200, || format!("{answer:?}"))
        });
        let threads = leader.threads("admin-client").len();
        assert!(threads <= MOST, "{threads} threads");
        let more = descriptors(leader).saturating_sub(files);
        assert!(more <= MOST_DESCRIPTORS, "{more} descriptors more");
        let grown = leader.figure("VmRSS").saturating_sub(memory);
        assert!(grown <= MOST_MEMORY_KB, "it has grown by {grown} kB");
    }
    drop(crowd);
    eventually("no thread and no connection is left of the crowd", || {
        let left = (leader.threads("admin-client").len(), descriptors(leader));
        ensure(left.0 == 0 && left.1 <= files, || format!("{left:?}, and {files} before"))
    });
    let grown = leader.figure("VmRSS").saturating_sub(memory);
    assert!(grown <= MOST_MEMORY_KB, "it has kept {grown} kB");
    assert_eq!(cluster.agree_on(3), epoch, "nobody lost the leadership");
}

/// Claim: bounds.
#[story]
fn five_hundred_clients_share_64_places_and_nobody_else_notices() {
    besiege(500);
}

#[story]
#[ignore = "long"]
fn ten_thousand_clients_share_64_places_and_nobody_else_notices() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    besiege(10_000);
}
