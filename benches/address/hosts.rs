//! Hosts on one bridge: network namespaces, removed when this is dropped.

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;

use crate::ADDRESS;

pub struct Hosts {
    title: String,
    size: usize,
    /// For files, in memory where that is possible: this is not about disks.
    pub folder: TempDir,
}

impl Hosts {
    pub fn build(size: usize) -> Result<Hosts, String> {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.map_err(|error| error.to_string())?;
        let hosts = Hosts { title: format!("electd-bench-{}", process::id()), size, folder };
        let switch = hosts.switch();
        ip(&format!("netns add {switch}"))?;
        ip(&format!("-n {switch} link add switch type bridge"))?;
        ip(&format!("-n {switch} address add 10.0.0.200/24 dev switch"))?;
        ip(&format!("-n {switch} link set switch up"))?;
        for host in 1..=size {
            let home = hosts.home(host);
            ip(&format!("netns add {home}"))?;
            ip(&format!(
                "-n {home} link add cable type veth peer name port-{host} netns {switch}"
            ))?;
            ip(&format!("-n {home} address add 10.0.0.{host}/24 dev cable"))?;
            ip(&format!("-n {home} link set lo up"))?;
            ip(&format!("-n {home} link set cable up"))?;
            ip(&format!("-n {switch} link set port-{host} master switch up"))?;
        }
        Ok(hosts)
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Where the client is.
    pub fn switch(&self) -> String {
        format!("{}-switch", self.title)
    }

    pub fn home(&self, host: usize) -> String {
        format!("{}-{host}", self.title)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Cuts the cable of a host at the switch, or mends it.
    pub fn plug(&self, host: usize, plugged: bool) {
        let to = if plugged { "master switch" } else { "nomaster" };
        ip(&format!("-n {} link set port-{host} {to}", self.switch())).unwrap();
    }

    pub fn has_address(&self, host: usize) -> bool {
        inside(&self.home(host), || UdpSocket::bind((ADDRESS, 0)).is_ok())
    }

    pub fn remove_address(&self, host: usize) {
        let _ = ip(&format!("-n {} address flush dev cable to {ADDRESS}", self.home(host))); // if it is there
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let homes = (1..=self.size).map(|host| self.home(host));
        for name in homes.chain([self.switch()]) {
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// Runs something in a namespace, on a thread that ends.
pub fn inside<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    let thread = || {
        enter(namespace);
        work()
    };
    thread::scope(|scope| scope.spawn(thread).join().expect("it does not panic"))
}

/// Takes this thread into a namespace, for good.
pub fn enter(namespace: &str) {
    let door = File::open(Path::new("/run/netns").join(namespace)).unwrap();
    move_into_link_name_space(door.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    let said = || format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
    output.status.success().then_some(()).ok_or_else(said)
}
