//! One fault after the other: each at a random moment between two heartbeats, followed by one
//! measurement of the floor, and by repair.

use std::net::SocketAddr;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use electd::core::random::Random;
use electd::core::settings::Quorum;
use rustix::process::Signal;

use crate::calm;
use crate::cluster::{Agreement, Cluster};
use crate::disk::Disk;
use crate::floor::Floor;
use crate::memory;
use crate::process;
use crate::report::{Report, Row};
use crate::{FAILURE, HEARTBEAT};

/// For how long no node may change its view after all agreed, and how long a repaired cluster rests.
/// All others dial a restarted node within this time.
const REST: Duration = Duration::from_millis(200);

/// A failover that takes longer waited for something that it should not wait for.
const SLOW: Duration = Duration::from_millis(50);

/// Between two signals to a process that has a handler.
const AGAIN: Duration = Duration::from_micros(200);

/// The fault of the leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGKILL, while no node can write its state.
    KillWithoutDisk,
    /// SIGSEGV, as by a defect.
    Segfault,
    /// SIGABRT, as by an assertion.
    Abort,
    /// The kernel kills it for want of memory in its control group.
    OutOfMemory,
    /// SIGTERM: it hands over.
    Terminate,
    /// SIGSTOP: only its silence tells.
    Freeze,
}

/// The limit that a failover is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    /// The floor: the time that processes and sockets need.
    Floor,
    /// The silence that makes a suspect.
    Failure,
}

/// A cluster under measurement.
pub struct Run {
    pub cluster: Cluster,
    pub floor: Floor,
    /// The floor for processes with as many threads as a node.
    pub threads_floor: Floor,
    /// Where a failover has to wait for a durable write: what that takes beside the floor.
    pub disk: Option<Disk>,
    random: Random,
}

/// The measurements of one kind of fault, from its signal on.
#[derive(Default)]
struct Times {
    /// Until one leads.
    led: Vec<Duration>,
    /// Until all agree.
    agreed: Vec<Duration>,
    floor: Vec<Duration>,
    threads_floor: Vec<Duration>,
    /// The floor with threads, and a durable write after it.
    disk_floor: Vec<Duration>,
}

/// Strikes the leaders of clusters that differ by their names, by turns, so that whatever else
/// the machine does disturbs all of them alike. The first of them is what the others are held to.
pub fn compare(runs: &mut [(&str, Run)], fault: Fault, times: usize, report: &mut Report) {
    let mut measured: Vec<Times> = runs.iter().map(|_| Times::default()).collect();
    for _ in 0..times {
        for ((_, run), taken) in runs.iter_mut().zip(&mut measured) {
            run.take(fault, taken, report);
            run.cluster.await_agreement(); // the next cluster is struck in quiet
        }
    }
    let agreed: Vec<_> = measured.iter().map(|times| times.agreed.clone()).collect();
    for ((name, run), taken) in runs.iter().zip(measured) {
        let what = format!("{} of {}, {name}", fault.name(), run.cluster.size());
        taken.report(&what, fault, report);
    }
    for ((name, _), times) in runs.iter().zip(&agreed).skip(1) {
        let first = runs[0].0;
        report.comparison(&format!("{name} beside {first}, all agree"), times, &agreed[0]);
    }
}

impl Run {
    pub fn new(cluster: Cluster, seed: u64) -> Run {
        thread::sleep(FAILURE); // for as long, a new node looks for the others before it elects
        let threads = cluster.pids().map(calm::threads).max().unwrap_or(1);
        let (floor, threads_floor) = (Floor::start(1), Floor::start(threads));
        Run { cluster, floor, threads_floor, disk: None, random: Random::new(seed) }
    }

    /// Strikes the leader this many times.
    pub fn measure(&mut self, fault: Fault, times: usize, report: &mut Report) {
        let mut taken = Times::default();
        for _ in 0..times {
            self.take(fault, &mut taken, report);
        }
        let (size, quorum) = (self.cluster.size(), self.cluster.quorum());
        let mode = if quorum == Quorum::Majority { ", majority" } else { "" };
        taken.report(&format!("{} of {size}{mode}", fault.name()), fault, report);
    }

    /// Strikes the leader once, and measures the floor beside it.
    fn take(&mut self, fault: Fault, times: &mut Times, report: &mut Report) {
        let (start, agreement) = self.strike(fault, report);
        times.led.push(agreement.led_at - start);
        times.agreed.push(agreement.complete_at - start);
        times.floor.push(self.floor.measure());
        let floor = self.threads_floor.measure();
        times.threads_floor.push(floor);
        times.disk_floor.extend(self.disk.as_mut().map(|disk| floor + disk.measure()));
    }

    /// One fault and its repair. Gives the time of the fault and what the survivors came to.
    fn strike(&mut self, fault: Fault, report: &mut Report) -> (Instant, Agreement) {
        if self.cluster.quorum() == Quorum::Majority {
            self.cluster.count_changes(FAILURE); // for less than this, a restarted voter is mute
        }
        let leader = self.cluster.await_takeover();
        report.unsteady(self.cluster.count_changes(REST));
        if fault == Fault::KillWithoutDisk {
            self.cluster.take_disk_away(true);
        }
        thread::sleep(self.random.up_to(HEARTBEAT));

        let start =
            self.cluster.strike(leader, fault != Fault::Freeze, |process, listens, home| {
                fault.strike(process, listens, home)
            });
        let agreement = self.cluster.await_agreement();
        report.unsteady(self.cluster.count_changes(REST));
        let quick = fault.beside() == Beside::Floor;
        if quick && agreement.complete_at - start > SLOW {
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

impl Times {
    fn report(self, what: &str, fault: Fault, report: &mut Report) {
        let beside = match fault.beside() {
            Beside::Failure => vec![vec![FAILURE]],
            Beside::Floor => vec![self.floor, self.threads_floor],
        };
        let row = |what, times| Row { what, times, beside: beside.clone() };
        report.row(row(format!("{what}: all agree"), self.agreed.clone()));
        report.row(row(format!("{what}: one leads"), self.led));
        if fault.beside() == Beside::Floor && !self.disk_floor.is_empty() {
            let what = format!("{what}: all agree (floor + write)");
            let beside = vec![self.disk_floor];
            report.row(Row { what, times: self.agreed, beside });
        }
    }
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill -9",
            Fault::KillWithoutDisk => "kill -9, no disk",
            Fault::Segfault => "SEGV",
            Fault::Abort => "ABRT",
            Fault::OutOfMemory => "OOM",
            Fault::Terminate => "SIGTERM",
            Fault::Freeze => "SIGSTOP",
        }
    }

    /// Silence takes its time.
    fn beside(self) -> Beside {
        if self == Fault::Freeze { Beside::Failure } else { Beside::Floor }
    }

    /// Does this to a process that listens there. Gives the time just before.
    fn strike(self, process: &Child, listens: SocketAddr, home: Option<&str>) -> Instant {
        let begin = Instant::now();
        let send = |signal| process::signal(process, signal);
        match self {
            Fault::Kill | Fault::KillWithoutDisk => send(Signal::KILL),
            // The first one may only end the handler that tells a stack overflow from other faults.
            Fault::Segfault => {
                while !process::has_ended(process) {
                    send(Signal::SEGV);
                    thread::sleep(AGAIN);
                }
            }
            Fault::Abort => send(Signal::ABORT),
            Fault::OutOfMemory => return memory::exhaust(process, listens, home),
            Fault::Terminate => send(Signal::TERM),
            Fault::Freeze => send(Signal::STOP),
        }
        begin
    }
}
