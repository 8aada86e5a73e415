//! An address that the leader's host has and no other: each kind of failure moves it, the neighbours
//! learn that immediately, and it is gone with electd.

mod cases;
mod neighbours;
mod presence;

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use story::story;

use crate::jobs::only_child;
use crate::support::network::inside;
use crate::support::{Cluster, Network, ensure, eventually};
use presence::Presence;

/// One of each family.
const ADDRESSES: [&str; 2] = ["10.0.0.99", "fd00::99"];
const OPTIONS: [&str; 4] = ["--address", "10.0.0.99/24%cable", "--address", "fd00::99/64%cable"];

/// The client's own address.
const CLIENT: [&str; 2] = ["10.0.0.200/24", "fd00::200/64"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillElectd,
    KillGuard,
    Freeze,
    Cut,
    Term,
}

fn with_majority(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "2s", "heartbeat": "100ms", "message": "200ms"});
}

/// Three hosts and a client on one switch.
struct Scene {
    presence: Presence,
    client: String,
    /// Gone after all that looks at it.
    cluster: Cluster,
}

impl Scene {
    /// None, with a line that says so, where this process may not make one.
    fn prepare() -> Option<Scene> {
        if !Path::new("/proc/net/if_inet6").exists() {
            println!("skipped: this host has no IPv6");
            return None;
        }
        let network = Network::of(3)?;
        let client = network.client(&CLIENT);
        let cluster = Cluster::prepare_on(network, with_majority);
        let presence = Presence::of(&cluster, &ADDRESSES);
        Some(Scene { presence, client, cluster })
    }

    fn start() -> Option<Scene> {
        let scene = Scene::prepare()?;
        // No end of an address takes its time: there is no command.
        let options = [&OPTIONS[..], &["--stop-after", "1000s"]].concat();
        (1..=3).for_each(|number| scene.cluster.node(number).start_with(&options));
        Some(scene)
    }

    /// Does this to the leader's host, and waits until another has the addresses and the client knows.
    fn suffer(&self, fault: Fault) {
        let leader = self.presence.holder().unwrap();
        let node = self.cluster.node(leader);
        self.until_the_client_knows(leader);
        let before = Instant::now();
        match fault {
            Fault::KillElectd => node.kill_9(),
            Fault::KillGuard => {
                let _ = kill_process(only_child(node.pid()).unwrap(), Signal::KILL);
            }
            Fault::Freeze => node.freeze(),
            Fault::Cut => _ = self.cluster.network().cut_off(leader),
            Fault::Term => node.stop_term(),
        }
        let next = self.presence.next_holder(before);
        self.until_the_client_knows(next);
        match fault {
            Fault::KillElectd => node.start_with(&OPTIONS),
            Fault::Freeze => node.thaw(),
            Fault::Cut => _ = self.cluster.network().heal(),
            Fault::Term => {
                assert_eq!(node.exit_code(), 0, "{}", node.log_tail(10));
                node.start_with(&OPTIONS);
            }
            // A node that handed over does not lead for a while; a restart ends that.
            Fault::KillGuard if next != leader => {
                node.kill_9();
                node.start_with(&OPTIONS);
            }
            Fault::KillGuard => {}
        }
        // A leader hands over only to members that it has met.
        self.cluster.agree();
    }

    /// Waits until the client sends to this host and gets an answer. Once the client knows a host for
    /// the addresses, it does not ask again.
    fn until_the_client_knows(&self, host: usize) {
        for address in ADDRESSES {
            eventually(&format!("the client sends to host {host} for {address}"), || {
                let known = self.cluster.network().holder_to_client(address);
                if known.is_none() {
                    self.knock(address);
                }
                ensure(known == Some(host), || format!("it sends to {known:?}"))
            });
            assert!(self.knock(address), "host {host} does not answer on {address}");
        }
    }

    /// Whether a host answers the client on this address; no process listens there, so it refuses.
    fn knock(&self, address: &str) -> bool {
        let to = SocketAddr::new(address.parse().unwrap(), 9);
        let knock = || TcpStream::connect_timeout(&to, Duration::from_secs(10));
        inside(&self.client, knock)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
    }
}

/// Claim: address.
#[story]
fn the_addresses_move_with_the_leadership_and_are_never_on_two_hosts() {
    let Some(scene) = Scene::start() else { return };
    scene.cluster.agree();
    eventually("the leader's host has the addresses", || scene.presence.holder());
    for fault in [Fault::KillElectd, Fault::Freeze, Fault::Cut, Fault::Term, Fault::KillGuard] {
        println!("{fault:?}");
        scene.suffer(fault);
        scene.presence.assert_never_two();
    }
    assert!(scene.presence.spans().len() >= 2 * 6);
    for number in 1..=3 {
        scene.cluster.node(number).stop_term();
        assert_eq!(scene.cluster.node(number).exit_code(), 0);
    }
    scene.presence.until_gone();
}
