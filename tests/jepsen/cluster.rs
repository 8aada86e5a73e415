//! The cluster of a round: its hosts, what they share, and what is noted of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use electd::core::random::Random;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::config::{self, Bounds, LENGTHS};
use crate::events::{Counts, Events, now};
use crate::host::{Host, signal};
use crate::leaders::Leaders;
use crate::ledger::Ledger;
use crate::names::Names;
use crate::network::Network;
use crate::plan::{Plan, usize};
use crate::process::{End, KILLED};
use crate::programs;
use crate::pulse::Pulse;

/// How an order may end: done, refused, nobody answers, to be tried again, or its host lost its power.
const ENDS_OF_ORDERS: &[End] = &[0, 1, 69, 75, KILLED];

/// A rule that was broken, and when.
pub struct Broken {
    pub at: u64,
    pub what: String,
}

impl Broken {
    /// It was seen at this moment.
    pub fn now(what: String) -> Broken {
        Broken { at: now(), what }
    }
}

pub struct Cluster<'p> {
    pub plan: &'p Plan,
    pub random: Random,
    pub hosts: Vec<Host>,
    pub events: Events,
    pub ledger: Ledger,
    pub names: Names,
    pub leaders: Leaders,
    pub pulse: Pulse,
    /// What was broken, and when that was seen.
    pub broken: Vec<Broken>,
    /// A host whose cable comes and goes: when it does so next, and whether it carries then.
    pub flaps: Option<(usize, Instant, bool)>,
    /// When the network is whole again.
    pub heals: Option<Instant>,
    /// Commands of an operator that have not ended.
    orders: Vec<(String, Child)>,
    /// The members that were drained since all had to be drained at once, until one may be no more.
    drained: Option<BTreeSet<String>>,
    /// Of the shortest and the longest timings that a reload may give.
    pub shortest: Bounds,
    pub longest: Bounds,
    pub network: Network,
    folder: TempDir,
}

impl<'p> Cluster<'p> {
    pub fn new(plan: &'p Plan) -> Result<Cluster<'p>, String> {
        let network = Network::make(plan.voters)?;
        let folder = programs::folder().map_err(|error| format!("no folder: {error}"))?;
        let path = folder.path();
        if plan.tls {
            config::certify(plan, path);
        }
        let bounds = |length: (u32, u32)| {
            config::write(plan, path, &network, length);
            Bounds::of(&path.join("cluster.json"))
        };
        let (shortest, longest) = (bounds(LENGTHS[0])?, bounds(LENGTHS[2])?);
        config::write(plan, path, &network, LENGTHS[1]);
        let new = |number| Host::new(number, network.home(number), path, plan);
        let hosts: Vec<Host> = (1..=plan.voters).map(new).collect();
        let leaders = Leaders::of(hosts.iter().map(|host| (host.name.clone(), host.state())));
        Ok(Cluster {
            plan,
            random: plan.random(),
            ledger: Ledger::new(path, ""),
            names: Names::new(path, plan.majority),
            hosts,
            events: Events::default(),
            leaders,
            pulse: Pulse::start(),
            broken: Vec::new(),
            flaps: None,
            heals: None,
            orders: Vec::new(),
            drained: None,
            shortest,
            longest,
            network,
            folder,
        })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A number below this one.
    pub fn pick(&mut self, choices: usize) -> usize {
        usize(self.random.below(choices as u64))
    }

    /// A time between these, short ones as often as long ones.
    pub fn time(&mut self, shortest: u64, longest: u64) -> Duration {
        let doublings = u64::from((longest / shortest).ilog2()) + 1;
        let bound = shortest << self.random.below(doublings);
        let millis = bound + self.random.below(bound);
        Duration::from_millis(millis.min(longest))
    }

    /// One turn of what goes on beside the faults: starts what is due, sees what has ended, and undoes what is over.
    pub fn turn(&mut self, counts: &mut Counts) {
        for host in &mut self.hosts {
            host.thaw(false);
            host.make_writable(false);
            host.go_on(false);
            for process in host.all() {
                match process.ended() {
                    Ok(Some(end)) => {
                        self.events.add(format!("{} ended with {end}", process.title));
                        let kind = process.title.split(['-', ' ']).next().unwrap_or_default();
                        *counts.ends.entry(format!("{kind} {end}")).or_default() += 1;
                    }
                    Ok(None) => {}
                    Err(why) => self.broken.push(Broken::now(why)),
                }
            }
            host.start(self.plan, &mut self.random, self.ledger.path(), &self.names);
        }
        self.reap_orders();
        self.turn_network();
        sleep(Duration::from_millis(5));
    }

    fn turn_network(&mut self) {
        let now = Instant::now();
        if self.heals.is_some_and(|heals| heals <= now) {
            self.heal_network();
        } else if let Some((host, next, carries)) = self.flaps
            && next <= now
        {
            self.network.plug(host, carries);
            let next = now + self.time(20, 600);
            self.flaps = Some((host, next, !carries));
        }
    }

    pub fn heal_network(&mut self) {
        if self.heals.take().is_some() {
            self.flaps = None;
            self.network.heal();
            self.events.add("the network is whole");
        }
    }

    /// Orders all hosts to drain their members at once: one member stays. Returns whether it did: while a member may
    /// still be undrained, nothing could be concluded.
    pub fn drain_all(&mut self) -> bool {
        let busy = self.orders.iter().any(|(title, _)| title.starts_with("undrain "));
        if !busy {
            self.drained = Some(BTreeSet::new());
            for host in 0..self.hosts.len() {
                self.order(host, &["drain"]);
            }
        }
        !busy
    }

    /// Gives an order as an operator does on this host.
    pub fn order(&mut self, host: usize, words: &[&str]) {
        if words[0] == "undrain" {
            self.undrained();
        }
        let host = &self.hosts[host];
        let words = [words, &["--timeout", "10s"]].concat();
        let mut command = host.electd(&words, self.ledger.path());
        let spawn = || command.spawn().expect("electd can be started");
        let child = crate::network::inside(&host.home, spawn);
        self.orders.push((format!("{} at {}", words.join(" "), host.name), child));
    }

    /// From now on a member may be drained no more.
    pub fn undrained(&mut self) {
        self.drained = None;
    }

    fn reap_orders(&mut self) {
        let (events, broken) = (&mut self.events, &mut self.broken);
        let (drained, all) = (&mut self.drained, self.hosts.len());
        self.orders.retain_mut(|(title, child)| {
            let Some(status) = child.try_wait().expect("it is a child") else { return true };
            let end = status.code().unwrap_or(KILLED);
            events.add(format!("{title}: exit code {end}"));
            if let Some(drained) = drained
                && title.starts_with("drain ")
                && end == 0
            {
                drained.insert(title.clone());
                if drained.len() == all {
                    broken.push(Broken::now("all members were drained at once".to_owned()));
                }
            }
            if !ENDS_OF_ORDERS.contains(&end) {
                broken.push(Broken::now(format!("{title}: exit code {end}")));
            }
            false
        });
    }

    /// Whether no order is under way.
    pub fn has_answered(&self) -> bool {
        self.orders.is_empty()
    }

    /// Writes the file with other timings: a host takes them when it restarts or is told to.
    pub fn retime(&mut self) {
        let length = LENGTHS[self.pick(LENGTHS.len())];
        config::write(self.plan, self.folder.path(), &self.network, length);
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        for _ in 0..100 {
            let left: Vec<_> = self.hosts.iter().flat_map(Host::processes).collect();
            signal(&left, Signal::KILL);
            for process in self.hosts.iter_mut().flat_map(Host::all) {
                let _ = process.ended(); // takes it off the system's list, however it ended
            }
            if left.is_empty() {
                break;
            }
        }
        for (_, mut child) in self.orders.drain(..) {
            let _ = child.kill(); // it may have ended
            let _ = child.wait();
        }
    }
}
