//! Cases around an address: a command beside it, a host on which no process is left, an interface that
//! goes away, and starts that are refused.

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::{ADDRESSES, OPTIONS, Scene};
use crate::jobs::attached::Attached;
use crate::jobs::only_child;
use crate::support::network::inside;
use crate::support::script::script;
use crate::support::{Finished, Node, done, electd, ensure, eventually, within};

/// Many times the second between two announcements.
const SOON: Duration = Duration::from_secs(20);

/// Addresses on an interface that may go.
const EXTRA: [&str; 4] = ["--address", "10.0.0.99/32%extra", "--address", "fd00::99/128%extra"];

#[story]
fn the_address_is_there_before_the_command_and_until_it_has_ended() {
    let Some(scene) = Scene::prepare() else { return };
    let file = |name: &str| scene.cluster.file().with_file_name(name);
    let show = |to: &str| format!("ip -o address show dev cable > {}", file(to).display());
    // It ends when TERM has come, some time after: the kernel would have removed an address that nobody renews.
    let script = format!(
        "{}; trap 'sleep 5; {}; exit 7' TERM; while :; do sleep 0.05; done",
        show("begin"),
        show("end")
    );
    let more = [&OPTIONS[..], &["--stop-after", "60s", "--", "sh", "-c", &script]].concat();
    (1..=3).for_each(|number| scene.cluster.node(number).start_with(&more));
    let (leader, _) = scene.cluster.agree();
    let shown = |name: &str| {
        let text = fs::read_to_string(file(name)).unwrap_or_default();
        ensure(ADDRESSES.iter().all(|address| text.contains(address)), || text.clone())
    };
    eventually("the command begins with the addresses", || shown("begin"));
    // No other may lead, so that the addresses stay away; and the leader keeps its lease to the end.
    let others = (1..=3).filter(|number| *number != leader);
    for number in others.clone() {
        done(&electd(&scene.cluster, &["drain", "--node", &format!("node-{number}")]));
    }
    for number in [leader].into_iter().chain(others) {
        scene.cluster.node(number).stop_term();
        scene.cluster.node(number).exit_code();
    }
    eventually("the command ends with the addresses", || shown("end"));
    scene.presence.until_gone();
    scene.presence.assert_never_two();
    let log = scene.cluster.node(leader).log();
    assert!(log.contains("holds 10.0.0.99/24%cable, fd00::99/64%cable and runs sh"), "{log}");
}

/// The cleanup may have to speak from them, and the work that it ends elsewhere may still use them: also for longer than the
/// kernel keeps an address that nobody renews.
#[story]
fn the_addresses_stay_until_the_cleanup_has_ended() {
    let Some(scene) = Scene::prepare() else { return };
    let [cleanup, shown] =
        ["cleanup", "shown"].map(|name| scene.cluster.file().with_file_name(name));
    script(&cleanup, &format!("sleep 4.5; ip -o address show dev cable > {}", shown.display()));
    let command = ["--cleanup", cleanup.to_str().unwrap(), "--", "sleep", "1000"];
    let more = [&OPTIONS[..], &command].concat();
    (1..=3).for_each(|number| scene.cluster.node(number).start_with(&more));
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    let node = scene.cluster.node(leader);
    node.stop_term();
    assert_eq!(node.exit_code(), 0, "{}", node.log_tail(9));
    let text = fs::read_to_string(shown).unwrap();
    assert!(ADDRESSES.iter().all(|address| text.contains(address)), "{text}");
    scene.presence.assert_never_two();
}

/// Otherwise connections that the host began from it would end with its leadership.
#[story]
fn a_host_does_not_speak_from_the_ipv6_address_of_its_own_accord() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    let show = ["-o", "address", "show", "dev", "cable"];
    let output = scene.cluster.node(leader).at_home(|| Command::new("ip").args(show).finished());
    let text = done(&output);
    let line = |address| text.lines().find(|line| line.contains(address)).unwrap_or_default();
    assert!(line("fd00::99/128").contains("deprecated"), "{text}");
    assert!(line("fd00::99/128").contains("nodad"), "it would be of no use for a second: {text}");
    assert!(!line("10.0.0.99/32").contains("deprecated"), "{text}");
}

/// Whoever was misled, as by a leader on the other side of a partition, need not ask.
#[story]
fn neighbours_hear_where_the_addresses_live_as_long_as_they_do() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    let (network, other) = (scene.cluster.network(), leader % 3 + 1);
    for address in ADDRESSES.repeat(3) {
        network.mislead_client(address, other);
        within(SOON, &format!("the client sends to host {leader} for {address}"), || {
            let known = network.holder_to_client(address);
            ensure(known == Some(leader), || format!("it sends to {known:?}"))
        });
    }
}

/// Claim: address.
#[story]
fn the_kernel_removes_the_addresses_where_nobody_is_left() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    let node = scene.cluster.node(leader);
    node.freeze(); // so that it does not act for its guard
    kill_process(only_child(node.pid()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(scene.presence.holder(), Ok(leader), "somebody acted");
    node.kill_9();
    // The next process waits until the kernel has removed what is left.
    node.start_with(&OPTIONS);
    scene.cluster.agree();
    eventually("the leader's host alone has the addresses", || scene.presence.holder());
    assert!(node.log().matches(" starts ").count() == 2, "{}", node.log_tail(10));
}

#[story]
fn exec_holds_the_addresses_of_a_node_that_runs_already() {
    let Some(scene) = Scene::prepare() else { return };
    scene.cluster.nodes().iter().for_each(Node::start);
    let (leader, _) = scene.cluster.agree();
    let exec = |node: &Node| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["exec", "--restart", "always", "--node", &node.name, "--config"]);
        command.arg(scene.cluster.file()).args(OPTIONS);
        node.at_home(|| command.spawn().unwrap())
    };
    let mut all: Vec<Child> = scene.cluster.nodes().iter().map(exec).collect();
    eventually("the leader's host has the addresses", || {
        ensure(scene.presence.holder()? == leader, || "another has".to_owned())
    });
    scene.cluster.node(leader).post("/resign", "").unwrap();
    scene.presence.moved_from(leader);
    scene.presence.assert_never_two();
    all.iter().for_each(|exec| kill_process(Pid::from_child(exec), Signal::TERM).unwrap());
    for exec in &mut all {
        let ended = || exec.try_wait().unwrap().ok_or_else(|| "it runs".to_owned());
        let code = eventually("electd exec ends", ended).code();
        assert!(code == Some(0) || code == Some(128 + 15), "{code:?}");
    }
    scene.presence.until_gone();
}

#[story]
fn exec_refuses_an_address_that_the_node_of_this_host_holds_while_it_leads() {
    let Some(scene) = Scene::start() else { return };
    let (leader, _) = scene.cluster.agree();
    let follower = scene.cluster.node(if leader == 1 { 2 } else { 1 });
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["exec", "--node", &follower.name, "--config"]).arg(scene.cluster.file());
    command.args(["--address", "10.0.0.99/32%cable", "--wait", "0s"]);
    let Output { status, stderr, .. } = follower.at_home(|| command.finished());
    let why = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(71), "{why}");
    let said = "--address 10.0.0.99/32%cable: the node that runs on this host has 10.0.0.99 itself while it leads";
    assert!(why.contains(said), "{why}");
    assert!(why.contains("10.0.0.99/24%cable"), "{why}");
}

/// Claim: address.
#[story]
fn an_interface_that_goes_takes_the_leadership_along() {
    let Some(scene) = Scene::prepare() else { return };
    let network = scene.cluster.network();
    (1..=3).for_each(|number| network.interface(number, "extra", true));
    (1..=3).for_each(|number| scene.cluster.node(number).start_with(&EXTRA));
    scene.cluster.agree();
    let leader = eventually("a host has the addresses", || scene.presence.holder());
    network.interface(leader, "extra", false);
    let next = scene.presence.moved_from(leader);
    let log = scene.cluster.node(leader).log();
    assert!(log.contains("cannot keep the address 10.0.0.99/32%extra: No such device"), "{log}");
    assert!(log.contains("cannot hold its addresses: the node hands over"), "{log}");
    let (agreed, _) = scene.cluster.agree();
    assert_eq!(agreed, next);
    scene.presence.assert_never_two();
}

#[story]
fn an_exec_whose_interface_goes_ends_with_71_and_the_node_hands_over() {
    let Some(scene) = Scene::prepare() else { return };
    let network = scene.cluster.network();
    (1..=3).for_each(|number| network.interface(number, "extra", true));
    scene.cluster.nodes().iter().for_each(Node::start);
    let (leader, _) = scene.cluster.agree();
    let node = scene.cluster.node(leader);
    let mut exec = Command::new(env!("CARGO_BIN_EXE_electd"));
    exec.args(["exec", "--node", &node.name, "--config"]).arg(scene.cluster.file()).args(EXTRA);
    let mut exec = Attached(node.at_home(|| exec.stderr(Stdio::piped()).spawn().unwrap()));
    eventually("the leader's host has the addresses", || scene.presence.holder());
    network.interface(leader, "extra", false);
    exec.until_told("an address could not be held on this host");
    assert_eq!(exec.code(), 71);
    assert_ne!(scene.cluster.agree().0, leader);
}

#[story]
fn an_interface_that_is_down_or_renamed_leaves_no_address_behind() {
    let Some(scene) = Scene::prepare() else { return };
    let network = scene.cluster.network();
    (1..=3).for_each(|number| network.interface(number, "extra", true));
    (1..=3).for_each(|number| scene.cluster.node(number).start_with(&EXTRA));
    scene.cluster.agree();
    let first = eventually("a host has the addresses", || scene.presence.holder());
    network.set_interface(first, "extra", &["down"]);
    let second = scene.presence.moved_from(first);
    let log = scene.cluster.node(first).log();
    assert!(log.contains("cannot keep the address 10.0.0.99/32%extra: Network is down"), "{log}");
    network.set_interface(first, "extra", &["up"]);
    // electd removes what a killed guard leaves, under whichever name.
    network.set_interface(second, "extra", &["name", "other"]);
    let guard = only_child(scene.cluster.node(second).pid()).unwrap();
    kill_process(guard, Signal::KILL).unwrap();
    scene.presence.moved_from(second);
    scene.presence.assert_never_two();
}

#[story]
fn a_leader_whose_guard_is_frozen_has_the_addresses_again() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    let node = scene.cluster.node(leader);
    let guard = only_child(node.pid()).unwrap();
    let before = std::time::Instant::now();
    kill_process(guard, Signal::STOP).unwrap();
    scene.presence.next_holder(before);
    let log = node.log();
    assert!(log.contains("the guard of the job did not act in time: killing both"), "{log}");
    scene.presence.assert_never_two();
}

#[story]
fn an_address_that_somebody_removes_is_added_again() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    let before = scene.presence.spans().len();
    scene.cluster.network().remove_address(leader, "10.0.0.99/32");
    eventually("the address is there again", || {
        let again = scene.presence.spans().len() > before;
        ensure(again && scene.presence.holder()? == leader, || "it is not".to_owned())
    });
    let log = scene.cluster.node(leader).log();
    let said = "electd: somebody removed the address 10.0.0.99/24%cable: it is added again";
    assert_eq!(log.matches(said).count(), 1, "{log}");
    assert_eq!(log.matches("somebody removed").count(), 1, "{log}");
}

/// Runs a node in its namespace, by this program if not by itself; it ends, as its start is refused.
fn refused(node: &Node, scene: &Scene, before: &[&str], more: &[&str]) -> Output {
    let electd = [env!("CARGO_BIN_EXE_electd"), "run", "--node", &node.name, "--config"];
    let file = scene.cluster.file().display().to_string();
    let all = [before, &electd, &[&file], more].concat();
    inside(node.home.as_ref().unwrap(), || Command::new(all[0]).args(&all[1..]).finished())
}

#[story]
fn an_address_that_cannot_be_held_is_refused_before_the_node_starts() {
    let Some(scene) = Scene::prepare() else { return };
    let node = scene.cluster.node(1);
    let check = |before: &[&str], more: &[&str], code: i32, said: &str| {
        let output = refused(node, &scene, before, more);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{more:?}: {text}");
        assert!(text.contains(said), "{more:?}: {text}");
        assert!(!node.state().join("state.json").exists(), "the node has started");
    };
    check(&[], &["--address", "10.0.0.99"], 2, "write it as 10.0.0.9/24%eth0");
    let twice = ["--address", "10.0.0.99/24%cable", "--address", "10.0.0.99/32%lo"];
    check(&[], &twice, 2, "--address 10.0.0.99 is given twice");
    check(&[], &["--address", "10.0.0.99/24%nic"], 71, "no interface \"nic\"");
    check(&[], &["--address", "10.0.0.1/32%lo"], 71, "this host has 10.0.0.1 already, on cable");
    let disable = "/proc/sys/net/ipv6/conf/cable/disable_ipv6";
    node.at_home(|| fs::write(disable, "1")).unwrap();
    check(&[], &["--address", "fd00::99/64%cable"], 71, "IPv6 is disabled on cable");
    let without = ["setpriv", "--bounding-set=-net_raw"];
    if Command::new("setpriv").arg("--version").output().is_ok() {
        check(&without, &OPTIONS, 71, "needs the capability CAP_NET_RAW");
        check(&["setpriv", "--bounding-set=-net_admin"], &OPTIONS, 71, "CAP_NET_ADMIN");
    } else {
        println!("skipped: to go without a capability needs setpriv");
    }
}

#[story]
fn an_address_that_another_process_renews_is_refused() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    let leader = eventually("the leader's host has the addresses", || scene.presence.holder());
    // Another node on the same host. It waits first, as if a killed process had left the address.
    let mut config = scene.cluster.config().clone();
    config["data_dir"] = "other".into();
    let (address, admin) = ("127.0.0.1:7301", "127.0.0.1:7302");
    config["members"] = serde_json::json!([{
        "name": "other", "id": uuid::Uuid::new_v4(), "address": address, "admin": admin,
    }]);
    let places = (address.parse().unwrap(), admin.parse().unwrap());
    let mut other = scene.cluster.process(1, places, "other", &config);
    other.home = Some(scene.cluster.network().home(leader));
    other.start_with(&["--address", "fd00::99/64%cable"]);
    assert_eq!(other.exit_code(), 71, "{}", other.log_tail(5));
    let log = other.log();
    assert!(log.contains("this host has fd00::99 already, on cable"), "{log}");
}
