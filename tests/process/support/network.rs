//! A network that a test can cut: a namespace for each node, with one cable to a switch that has a
//! namespace of its own. It does not touch the host's network; everything is gone when it is dropped.
//!
//! Packets on a cut link vanish silently: no node sees its cable go, and nothing is refused. A whole
//! node is cut off at the switch, which then carries none of its packets. One direction between two
//! nodes is cut at the sender: its neighbour gets a hardware address that no node has.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// All namespaces of tests begin so; the process that made one follows.
const PREFIX: &str = "electd-test-";

/// The port that members dial.
pub const PORT: u16 = 7100;

/// The state of a switch port, as the kernel numbers it.
const DISABLED: u8 = 0;
const FORWARDS: u8 = 3;

/// Where `ip` keeps the namespaces with a name.
const FOLDER: &str = "/run/netns";

/// A switch with one cable to each node, numbered from 1.
pub struct Network {
    title: String,
    nodes: usize,
}

impl Network {
    /// A whole network. None, with a line that says so, where this process may not make one.
    pub fn of(nodes: usize) -> Option<Network> {
        let told = |error| println!("skipped: a network of namespaces needs root and ip: {error}");
        Network::make(nodes).map_err(told).ok()
    }

    /// A whole network.
    pub fn make(nodes: usize) -> Result<Network, String> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        clear_away();
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let network = Network { title: format!("{PREFIX}{}-{number}", process::id()), nodes };
        network.build().map(|()| network)
    }

    fn build(&self) -> Result<(), String> {
        let switch = self.switch();
        ip(&["netns", "add", &switch])?;
        inside(&switch, || ip(&["link", "add", "switch", "type", "bridge"]))?;
        ip(&["-n", &switch, "link", "set", "switch", "up"])?;
        for node in 1..=self.nodes {
            let home = self.home(node);
            ip(&["netns", "add", &home])?;
            let (hardware, port, address) = (hardware(node), port(node), address(node));
            let cable = format!(
                "link add cable address {hardware} type veth peer name {port} netns {switch}\n\
                 address add {address}/24 dev cable\nlink set lo up\nlink set cable up\n"
            );
            all_of("ip", &home, &(cable + &ways(self.others(node), true)))?;
            ip(&["-n", &switch, "link", "set", &port, "master", "switch", "up"])?;
        }
        Ok(())
    }

    /// Where the nodes listen, for members and for HTTP: a test asks them at home, whatever is cut.
    pub fn places(&self) -> Vec<(SocketAddr, SocketAddr)> {
        let parsed = |text: String| text.parse().unwrap();
        let place = |node| (format!("{}:{PORT}", address(node)), format!("127.0.0.{node}:7200"));
        let places = (1..=self.nodes).map(place);
        places.map(|(member, admin)| (parsed(member), parsed(admin))).collect()
    }

    /// The same, with HTTP on the cables: whoever is cut off is so for HTTP, too.
    pub fn places_on_cables(&self) -> Vec<(SocketAddr, SocketAddr)> {
        self.places_with(address)
    }

    /// The same, with HTTP on the second network of [`Network::widen`], which no cut parts.
    pub fn places_beside(&self) -> Vec<(SocketAddr, SocketAddr)> {
        self.places_with(|node| format!("192.168.5.{node}"))
    }

    fn places_with(&self, serves: impl Fn(usize) -> String) -> Vec<(SocketAddr, SocketAddr)> {
        let served =
            |(number, (member, _))| (member, format!("{}:7200", serves(number)).parse().unwrap());
        (1..).zip(self.places()).map(served).collect()
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.title)
    }

    /// The namespace that a node lives in.
    pub fn home(&self, node: usize) -> String {
        format!("{}-{node}", self.title)
    }

    /// Makes the switch a host of its own with these addresses. Gives its namespace.
    pub fn client(&self, addresses: &[&str]) -> String {
        let switch = self.switch();
        for address in addresses {
            let nodad: &[&str] = if address.contains(':') { &["nodad"] } else { &[] };
            let add = ["-n", &switch, "address", "add", address, "dev", "switch"];
            ip(&[&add[..], nodad].concat()).unwrap();
        }
        switch
    }

    /// The node that the client would send to for this address.
    pub fn holder_to_client(&self, address: &str) -> Option<usize> {
        let known = ip_says(&["-n", &self.switch(), "neigh", "show", address]).ok()?;
        let is_known = |node: &usize| known.contains(&hardware(*node));
        (1..=self.nodes).find(is_known)
    }

    /// Puts a firewall on every other node that resets each connection with this one, and refuses all dials, both ways; or
    /// takes it away. The error says what is missing.
    pub fn firewall(&self, node: usize, there: bool) -> Result<(), String> {
        let rules =
            if there { resetting(&address(node)) } else { "delete table inet electd".into() };
        let told = |other| inside(&self.home(other), || said(Command::new("nft").arg(&rules)));
        self.others(node).try_for_each(|other| told(other).map(drop))
    }

    /// Has the client send to this node for an address, until it hears better.
    pub fn mislead_client(&self, address: &str, node: usize) {
        let wrong = [address, "lladdr", &hardware(node), "dev", "switch", "nud", "stale"];
        ip(&[&["-n", &self.switch(), "neigh", "replace"], &wrong[..]].concat()).unwrap();
    }

    /// Gives a node one more interface with this name, or takes it away.
    pub fn interface(&self, node: usize, name: &str, there: bool) {
        let home = self.home(node);
        if there {
            let other = format!("{name}-end");
            let pair = ["link", "add", name, "type", "veth", "peer", "name", &other];
            ip(&[&["-n", &home], &pair[..]].concat()).unwrap();
            ip(&["-n", &home, "link", "set", name, "up"]).unwrap();
        } else {
            ip(&["-n", &home, "link", "delete", name]).unwrap();
        }
    }

    /// Sets a node's interface, as with `ip link set`.
    pub fn set_interface(&self, node: usize, name: &str, how: &[&str]) {
        ip(&[&["-n", &self.home(node), "link", "set", name], how].concat()).unwrap();
    }

    /// Removes an address from a node's cable, as an operator does.
    pub fn remove_address(&self, node: usize, address: &str) {
        ip(&["-n", &self.home(node), "address", "delete", address, "dev", "cable"]).unwrap();
    }

    /// Gives each node an IPv6 address on its cable, `fd00::NODE`, and a second network beside the cables: an interface
    /// `office` with the address `192.168.5.NODE`.
    pub fn widen(&self) {
        let switch = self.switch();
        inside(&switch, || ip(&["link", "add", "office", "type", "bridge"])).unwrap();
        ip(&["-n", &switch, "link", "set", "office", "up"]).unwrap();
        for node in 1..=self.nodes {
            let port = format!("office-{node}");
            let lines = format!(
                "address add fd00::{node}/64 dev cable nodad\n\
                 link add office type veth peer name {port} netns {switch}\n\
                 address add 192.168.5.{node}/24 dev office\nlink set office up\n"
            );
            all_of("ip", &self.home(node), &lines).unwrap();
            ip(&["-n", &switch, "link", "set", &port, "master", "office", "up"]).unwrap();
        }
    }

    /// Gives a node's cable one more address.
    pub fn add_address(&self, node: usize, address: &str) {
        ip(&["-n", &self.home(node), "address", "add", address, "dev", "cable"]).unwrap();
    }

    /// Cuts a node off, or takes it back: both ways, to and from all, at one instant.
    pub fn plug(&self, node: usize, plugged: bool) {
        all_of("bridge", &self.switch(), &plugging(node, plugged)).unwrap();
    }

    /// Cuts a node off. Gives the moment when it was.
    pub fn cut_off(&self, node: usize) -> Instant {
        self.plug(node, false);
        Instant::now()
    }

    /// Drops what one node sends to another, or carries it again.
    pub fn carry(&self, from: usize, to: usize, carried: bool) {
        all_of("ip", &self.home(from), &ways([to], carried)).unwrap();
    }

    /// Drops what these send to those, from one to the other, for some time.
    pub fn lose(&self, losses: &[(usize, usize)], time: Duration) {
        losses.iter().for_each(|(from, to)| self.carry(*from, *to, false));
        thread::sleep(time);
    }

    /// Parts some nodes from all others, both ways.
    pub fn part(&self, some: &[usize]) {
        for node in 1..=self.nodes {
            let is_in = some.contains(&node);
            let far = self.others(node).filter(|other| some.contains(other) != is_in);
            all_of("ip", &self.home(node), &ways(far, false)).unwrap();
        }
    }

    /// Everything is whole again. Gives the moment when it was.
    pub fn heal(&self) -> Instant {
        let ports: String = (1..=self.nodes).map(|node| plugging(node, true)).collect();
        all_of("bridge", &self.switch(), &ports).unwrap();
        for node in 1..=self.nodes {
            all_of("ip", &self.home(node), &ways(self.others(node), true)).unwrap();
        }
        Instant::now()
    }

    /// Cuts a node off and takes it back, in turn, for these times.
    pub fn flap(&self, node: usize, times: impl IntoIterator<Item = Duration>) {
        for (turn, time) in times.into_iter().enumerate() {
            self.plug(node, turn % 2 == 1);
            thread::sleep(time);
        }
    }

    fn others(&self, node: usize) -> impl Iterator<Item = usize> + use<> {
        (1..=self.nodes).filter(move |other| *other != node)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        remove(&format!("{}-", self.title));
    }
}

/// Runs something in a namespace: on a thread that goes there and ends. Its children stay there.
pub fn inside<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter(namespace);
            work()
        });
        thread.join().expect("it does not panic")
    })
}

/// Takes this thread into a namespace, for good.
pub fn enter(namespace: &str) {
    let door = File::open(Path::new(FOLDER).join(namespace)).unwrap();
    move_into_link_name_space(door.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

/// Removes what tests left behind that could not end cleanly.
fn clear_away() {
    for name in namespaces(PREFIX) {
        let owner = name[PREFIX.len()..].split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(owner).exists() {
            end_processes(&name);
            remove(&name);
        }
    }
}

/// The processes in a namespace.
pub fn processes(namespace: &str) -> Vec<Pid> {
    let pids = ip_says(&["netns", "pids", namespace]).unwrap_or_default();
    pids.lines().filter_map(|pid| Pid::from_raw(pid.trim().parse().ok()?)).collect()
}

/// Ends what a test that was killed left running there.
fn end_processes(namespace: &str) {
    for pid in processes(namespace) {
        let _ = kill_process(pid, Signal::KILL); // it may have ended by itself
    }
}

/// Removes the namespaces that begin so. With them go the cables and the switch.
fn remove(prefix: &str) {
    for name in namespaces(prefix) {
        let _ = ip(&["netns", "delete", &name]); // another test may have cleared it away
    }
}

fn namespaces(prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

fn address(node: usize) -> String {
    format!("10.0.0.{node}")
}

/// The hardware address of a node; 0 is that of no node.
fn hardware(node: usize) -> String {
    format!("02:00:00:00:00:{node:02x}")
}

/// The switch's end of a node's cable.
fn port(node: usize) -> String {
    format!("port-{node}")
}

/// The rules of a firewall against this address. What this host sends there, also the mere acknowledgement of what came from
/// there, is answered with a reset in its name. What comes then finds no connection, and the system resets it; a dial from
/// there is refused.
fn resetting(address: &str) -> String {
    format!(
        "table inet electd {{
             chain sent {{
                 type filter hook output priority 0
                 ip daddr {address} tcp flags & rst != rst reject with tcp reset
             }}
             chain dials {{
                 type filter hook input priority 0
                 ip saddr {address} tcp flags & (syn | ack) == syn reject with tcp reset
             }}
         }}"
    )
}

/// The address to which a node sends for each of these neighbours, or that of no node. No node ever
/// asks for an address, or its system would learn in time which links are cut.
fn ways(to: impl IntoIterator<Item = usize>, carried: bool) -> String {
    let way = |to| {
        let (neighbour, hardware) = (address(to), if carried { hardware(to) } else { hardware(0) });
        format!("neigh replace {neighbour} lladdr {hardware} dev cable nud permanent\n")
    };
    to.into_iter().map(way).collect()
}

/// Has the switch carry what a node sends and gets, or not. Its cable stays where it is: the system takes a cable away while no other
/// network of this machine may change, and may have to wait meanwhile.
fn plugging(node: usize, plugged: bool) -> String {
    let state = if plugged { FORWARDS } else { DISABLED };
    format!("link set dev {} state {state}\n", port(node))
}

/// Calls `ip` or `bridge`, which come together, once for all of these lines, in a namespace.
fn all_of(program: &str, namespace: &str, lines: &str) -> Result<(), String> {
    let mut file = tempfile::tempfile().map_err(|error| format!("a file: {error}"))?;
    file.write_all(lines.as_bytes()).map_err(|error| format!("a file: {error}"))?;
    file.rewind().map_err(|error| format!("a file: {error}"))?;
    said(Command::new(program).args(["-n", namespace, "-batch", "-"]).stdin(file)).map(drop)
}

/// Calls `ip`. The error says whether it is missing, or what it said.
fn ip(arguments: &[&str]) -> Result<(), String> {
    ip_says(arguments).map(drop)
}

fn ip_says(arguments: &[&str]) -> Result<String, String> {
    said(Command::new("ip").args(arguments))
}

fn said(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    let said = || format!("{program} {}: {}", arguments.join(" "), words.trim());
    let answer = || String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(answer).ok_or_else(said)
}
