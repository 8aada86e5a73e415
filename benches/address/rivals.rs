//! Those that hold the address: electd, and keepalived.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::ADDRESS;
use crate::hosts::{Hosts, inside};

/// Processes on all hosts.
pub trait Rival {
    fn start(&mut self, host: usize);
    /// The main process, or all.
    fn kill(&mut self, host: usize, all: bool);
    /// The main process of electd; both of keepalived, whose main process takes no part.
    fn freeze(&mut self, host: usize, frozen: bool);
    /// Asks it to end, and waits until it has.
    fn stop(&mut self, host: usize);
}

/// The processes that were started, by host.
#[derive(Default)]
struct Processes(BTreeMap<usize, Child>);

impl Processes {
    fn start(&mut self, hosts: &Hosts, host: usize, name: &str, mut command: Command) {
        let log = hosts.file(&format!("{name}-{host}.log"));
        let log = File::options().create(true).append(true).open(log).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = inside(&hosts.home(host), || command.spawn());
        self.0.insert(host, child.unwrap());
    }

    fn main(&self, host: usize) -> Option<Pid> {
        self.0.get(&host).map(Pid::from_child)
    }

    /// The main process, and what is directly below it.
    fn all(&self, host: usize) -> Vec<Pid> {
        let Some(main) = self.main(host) else { return Vec::new() };
        let tasks = fs::read_dir(format!("/proc/{}/task", main.as_raw_nonzero()));
        let tasks = tasks.into_iter().flatten().flatten();
        let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")));
        let children = lists.flatten().collect::<Vec<_>>().join(" ");
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        children.filter_map(Pid::from_raw).chain([main]).collect()
    }

    fn signal(pids: &[Pid], signal: Signal) {
        for pid in pids {
            let _ = kill_process(*pid, signal); // it may have ended
        }
    }

    fn kill(&mut self, host: usize, all: bool) {
        let pids = if all { self.all(host) } else { self.main(host).into_iter().collect() };
        if all {
            Processes::signal(&pids, Signal::STOP); // so that none acts for another that has gone
        }
        Processes::signal(&pids, Signal::KILL);
        self.reap(host);
    }

    fn stop(&mut self, host: usize) {
        Processes::signal(&self.main(host).into_iter().collect::<Vec<_>>(), Signal::TERM);
        self.reap(host);
    }

    fn reap(&mut self, host: usize) {
        if let Some(mut child) = self.0.remove(&host) {
            let _ = child.wait();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        let hosts: Vec<usize> = self.0.keys().copied().collect();
        hosts.into_iter().for_each(|host| self.kill(host, true));
    }
}

pub struct Electd<'h> {
    hosts: &'h Hosts,
    processes: Processes,
    config: String,
}

impl<'h> Electd<'h> {
    pub fn new(hosts: &'h Hosts, mode: &Value) -> Electd<'h> {
        let member = |host: usize| {
            let id = format!("{host:08x}-0000-4000-8000-000000000000");
            json!({"name": host.to_string(), "id": id, "address": format!("10.0.0.{host}:7100")})
        };
        let data = hosts.file(&format!("data{mode}").replace(|c: char| !c.is_alphabetic(), ""));
        let mut config = json!({
            "cluster": "bench", "preempt": "never", "data_dir": data, "timing": {"failure": "30ms"},
            "members": (1..=hosts.size()).map(member).collect::<Vec<_>>(),
        });
        for (key, value) in mode.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        let file = data.with_extension("json");
        fs::write(&file, config.to_string()).unwrap();
        Electd { hosts, processes: Processes::default(), config: file.display().to_string() }
    }
}

impl Rival for Electd<'_> {
    fn start(&mut self, host: usize) {
        let program = std::env::var("ADDRESS_ELECTD");
        let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_electd").to_owned());
        let mut command = Command::new(program);
        let address = format!("{ADDRESS}/24%cable");
        let node = host.to_string();
        command.args(["run", "--config", &self.config, "--node", &node, "--address", &address]);
        self.processes.start(self.hosts, host, "electd", command);
    }

    fn kill(&mut self, host: usize, all: bool) {
        self.processes.kill(host, all);
    }

    fn freeze(&mut self, host: usize, frozen: bool) {
        let signal = if frozen { Signal::STOP } else { Signal::CONT };
        Processes::signal(&self.processes.main(host).into_iter().collect::<Vec<_>>(), signal);
    }

    fn stop(&mut self, host: usize) {
        self.processes.stop(host);
    }
}

pub struct Keepalived<'h> {
    hosts: &'h Hosts,
    processes: Processes,
}

impl<'h> Keepalived<'h> {
    pub fn new(hosts: &'h Hosts) -> Result<Keepalived<'h>, String> {
        let version = Command::new("keepalived").arg("--version").output();
        let version =
            version.map_err(|error| format!("keepalived: {error} (apt install keepalived)"))?;
        let words = String::from_utf8_lossy(&version.stderr).into_owned();
        println!("({})", words.lines().next().unwrap_or_default());
        for host in 1..=hosts.size() {
            let text = format!(
                "global_defs {{ vrrp_version 3\n router_id host{host} }}\nvrrp_instance A {{ state BACKUP\n \
                 interface cable\n virtual_router_id 51\n priority {}\n advert_int 0.01\n nopreempt\n \
                 virtual_ipaddress {{ {ADDRESS}/24\n }} }}\n",
                100 + host
            );
            fs::write(hosts.file(&format!("keepalived-{host}.conf")), text).unwrap();
        }
        Ok(Keepalived { hosts, processes: Processes::default() })
    }
}

impl Rival for Keepalived<'_> {
    fn start(&mut self, host: usize) {
        let mut command = Command::new("keepalived");
        let file = |end: &str| self.hosts.file(&format!("keepalived-{host}.{end}"));
        command.args(["--dont-fork", "--log-console", "--vrrp", "--use-file"]).arg(file("conf"));
        command.arg("--pid").arg(file("pid")).arg("--vrrp_pid").arg(file("vrrp-pid"));
        self.processes.start(self.hosts, host, "keepalived", command);
    }

    fn kill(&mut self, host: usize, all: bool) {
        self.processes.kill(host, all);
    }

    fn freeze(&mut self, host: usize, frozen: bool) {
        let signal = if frozen { Signal::STOP } else { Signal::CONT };
        Processes::signal(&self.processes.all(host), signal);
    }

    fn stop(&mut self, host: usize) {
        self.processes.stop(host);
    }
}
