//! One fault after the other: each at a random moment between two heartbeats, followed by one
//! measurement of the floor, and by repair.

use std::thread;
use std::time::{Duration, Instant};

use electd::core::random::Random;
use rustix::process::Signal;

use crate::calm;
use crate::cluster::{Agreement, Cluster};
use crate::floor::Floor;
use crate::report::{Report, Row};
use crate::{FAILURE, HEARTBEAT};

/// How long nobody may change its mind after all agreed, and how long a repaired cluster rests.
/// A restarted node is dialed by all others within this time.
const REST: Duration = Duration::from_millis(200);

/// A failover that takes longer waited for something that it should not wait for.
const SLOW: Duration = Duration::from_millis(50);

/// What happens to the leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGKILL, while no node can write its state.
    KillWithoutDisk,
    /// SIGTERM: it hands over.
    Terminate,
    /// SIGSTOP: only its silence tells.
    Freeze,
}

/// A cluster under measurement.
pub struct Run<'a> {
    pub cluster: Cluster,
    pub floor: Floor,
    /// The floor for processes with as many threads as a node.
    pub threads_floor: Floor,
    pub random: &'a mut Random,
}

impl<'a> Run<'a> {
    pub fn new(cluster: Cluster, random: &'a mut Random) -> Run<'a> {
        thread::sleep(FAILURE); // for as long, a new node looks for the others before it elects
        let threads = cluster.pids().map(calm::threads).max().unwrap_or(1);
        let (floor, threads_floor) = (Floor::start(1), Floor::start(threads));
        Run { cluster, floor, threads_floor, random }
    }

    /// Strikes the leader this many times.
    pub fn measure(&mut self, fault: Fault, times: usize, report: &mut Report) {
        let size = self.cluster.size();
        let mut led = Vec::new();
        let mut agreed = Vec::new();
        let mut floor = Vec::new();
        let mut threads_floor = Vec::new();
        for _ in 0..times {
            let (start, agreement) = self.strike(fault, report);
            led.push(agreement.led_at - start);
            agreed.push(agreement.complete_at - start);
            floor.push(self.floor.measure());
            threads_floor.push(self.threads_floor.measure());
        }
        let beside = match fault {
            Fault::Freeze => vec![vec![FAILURE]],
            _ => vec![floor, threads_floor],
        };
        let what = format!("{} of {size}", fault.name());
        let row = |what, times| Row { what, times, beside: beside.clone() };
        report.row(row(format!("{what}: all agree"), agreed));
        report.row(row(format!("{what}: one leads"), led));
    }

    /// One fault and its repair. Gives the time of the fault and what the survivors came to.
    fn strike(&mut self, fault: Fault, report: &mut Report) -> (Instant, Agreement) {
        let leader = self.cluster.await_agreement().leader;
        report.unsteady(self.cluster.count_changes(REST));
        if fault == Fault::KillWithoutDisk {
            self.cluster.take_disk_away(true);
        }
        thread::sleep(self.random.up_to(HEARTBEAT));

        let start = self.cluster.strike(leader, fault.signal());
        let agreement = self.cluster.await_agreement();
        report.unsteady(self.cluster.count_changes(REST));
        if fault != Fault::Freeze && agreement.complete_at - start > SLOW {
            eprintln!("this one took long:\n{}", self.cluster.latest_lines());
        }

        if fault == Fault::KillWithoutDisk {
            self.cluster.take_disk_away(false);
        }
        if fault == Fault::Freeze {
            self.cluster.thaw(leader);
        } else {
            self.cluster.reap(leader);
            self.cluster.start_node(leader);
        }
        (start, agreement)
    }
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill -9 of the leader",
            Fault::KillWithoutDisk => "kill -9, no disk, leader",
            Fault::Terminate => "SIGTERM to the leader",
            Fault::Freeze => "SIGSTOP of the leader",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Fault::Kill | Fault::KillWithoutDisk => Signal::KILL,
            Fault::Terminate => Signal::TERM,
            Fault::Freeze => Signal::STOP,
        }
    }
}
