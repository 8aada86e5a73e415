//! A command that runs on exactly one host: moved by each kind of failure, never on two, with nothing of it left over.

pub mod attached;
mod bad;
mod begins;
mod cgroups;
mod cleanup;
mod clocks;
mod crowd;
mod defences;
mod ending;
mod exits;
pub mod failing;
mod frozen;
mod guard;
mod inherited;
mod lines;
mod locks;
mod orders;
mod orphans;
mod outliving;
mod periods;
mod processes;
mod ready;
mod registered;
mod renewal;
mod setup;
mod several;
mod signals;
pub mod terminal;
pub mod worker;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use story::story;

use crate::coroner::crash;
use crate::support::{Cluster, Network, Node, eventually};
pub use lines::Lines;
use lines::Run;
pub use processes::{
    Elsewhere, children, command_of, coroner_of, guard_of, no_coroner_is_left, only_child,
};
use worker::{DRAWN, FILE, MANNER, MANNERS, command};

/// The fault of the leader. If the leader is frozen or cut off, the next leader waits for `failure`; if
/// its electd ends where no coroner can say so, for the lease. After the other faults the next member leads immediately,
/// unless a voter that it needs was restarted within the last lease: that one votes for nobody. So two of the crashes
/// come after faults that restart nobody.
const FAULTS: [Fault; 11] = [
    Fault::Freeze,
    Fault::KillElectd,
    Fault::KillCommand,
    Fault::Resign,
    Fault::Cut,
    Fault::BreakMemory,
    Fault::Term,
    Fault::KillGuard,
    Fault::KillBoth,
    Fault::Abort,
    Fault::FreezeCoroner,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    KillElectd,
    /// SEGV and ABRT of electd.
    BreakMemory,
    Abort,
    /// electd is killed after its coroner was, or while that stands still.
    KillBoth,
    FreezeCoroner,
    KillGuard,
    KillCommand,
    Freeze,
    Resign,
    Term,
    Cut,
}

/// The log line of a node whose job ended because its leadership did.
const ENDED_WITH_LEADERSHIP: [&str; 2] = [
    "the job has ended, since the leadership does",
    "the job was ended, since no renewal of the leadership came in time",
];

/// Three nodes that run a command while they lead.
struct Jobs {
    cluster: Cluster,
    lines: Lines,
}

fn with_majority(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "3s", "heartbeat": "100ms", "message": "250ms"});
}

impl Jobs {
    /// Each on a host of its own, where this process may make such.
    fn start() -> Jobs {
        let cluster = match Network::of(3) {
            Some(network) => Cluster::prepare_on(network, with_majority),
            None => Cluster::prepare(3, with_majority),
        };
        let lines = Lines::beside(&cluster);
        let jobs = Jobs { cluster, lines };
        (1..=3).for_each(|number| jobs.start_node(number));
        jobs
    }

    /// The faults that may happen.
    fn faults(&self) -> impl Iterator<Item = Fault> + Clone + use<> {
        let can_be_cut = self.cluster.node(1).home.is_some();
        FAULTS.into_iter().filter(move |fault| *fault != Fault::Cut || can_be_cut)
    }

    fn start_node(&self, number: usize) {
        let command = command();
        let options = ["--stop-after", "300ms", "--"].into_iter();
        let more: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
        let file = self.lines.file();
        // The last is what an electd inherits that a hook of another started: it spares nothing of a job.
        let variables = [(FILE, file.as_str()), (MANNER, DRAWN), ("ELECTD_HELPER", "1")];
        self.cluster.node(number).start_as(&more, &variables);
    }

    fn number(&self, name: &str) -> usize {
        self.cluster.nodes().iter().position(|node| node.name == name).unwrap() + 1
    }

    /// Does this to the leader, and waits until a new command runs and all nodes are up. On a busy
    /// machine the leadership may move by itself at any instant; then the fault hits a follower.
    fn suffer(&self, fault: Fault, leader: &Run) -> (Run, Took) {
        let number = self.number(&leader.node);
        let node = self.cluster.node(number);
        let begin = Instant::now();
        let ends_of_jobs = || {
            let log = node.log();
            ENDED_WITH_LEADERSHIP.iter().map(|words| log.matches(words).count()).sum::<usize>()
        };
        let ended_before = ends_of_jobs();
        let mut struck = self.strike(fault, number).unwrap_or(false);
        let next = eventually("a command begins to run", || {
            let next = self.lines.is_next(Some(leader));
            if next.is_err() && !struck {
                struck = self.strike(fault, number)?;
            }
            next
        });
        let runs = begin.elapsed();
        match fault {
            Fault::KillElectd
            | Fault::BreakMemory
            | Fault::Abort
            | Fault::KillBoth
            | Fault::FreezeCoroner => self.start_node(number),
            Fault::Freeze => node.thaw(),
            Fault::Cut => self.cluster.network().plug(number, true),
            Fault::Term => {
                assert_eq!(node.exit_code(), 0);
                self.start_node(number);
            }
            Fault::KillCommand if struck => {
                // It may have ended for its leadership's sake, at the very moment: then the node lives.
                let code =
                    eventually("the node ends with its command, or has lost the lead", || {
                        let code = node.ended().map(Some);
                        let lost = (ends_of_jobs() > ended_before).then_some(None);
                        code.or(lost).ok_or_else(|| node.log_tail(10))
                    });
                if let Some(code) = code {
                    assert_eq!(code, 137, "{}", node.log_tail(10));
                    self.start_node(number);
                }
            }
            // A member that handed over does not lead for a while; a restart ends that.
            Fault::KillGuard | Fault::Resign if next.node != leader.node => {
                node.kill_9();
                self.start_node(number);
            }
            Fault::KillGuard | Fault::Resign | Fault::KillCommand => {}
        }
        // A leader hands over only to members that it has met.
        self.cluster.agree();
        (self.lines.runs_next(Some(leader)), Took { runs, agrees: begin.elapsed() })
    }

    /// Does this to a node, unless it cannot be done yet: a command may be about to begin, and a resignation is refused
    /// while the leader has met no other.
    fn strike(&self, fault: Fault, number: usize) -> Result<bool, String> {
        let node = self.cluster.node(number);
        let kill = |process: Option<Pid>| {
            process.is_some_and(|process| kill_process(process, Signal::KILL).is_ok())
        };
        match fault {
            Fault::KillElectd => node.kill_9(),
            Fault::BreakMemory => crash(node, Signal::SEGV),
            Fault::Abort => crash(node, Signal::ABORT),
            Fault::KillBoth => signal_coroner_and_kill(node, Signal::KILL),
            Fault::FreezeCoroner => signal_coroner_and_kill(node, Signal::STOP),
            // A node that does not lead any more has nothing but what waits to become the command.
            Fault::KillCommand => {
                let guard = only_child(node.pid()).ok_or("no guard")?;
                return Ok(kill(command_of(guard)));
            }
            Fault::KillGuard => return Ok(kill(only_child(node.pid()))),
            Fault::Freeze => node.freeze(),
            Fault::Resign => {
                // Those whose command was killed soon after its start stand back, for minutes in the end.
                for other in self.cluster.running() {
                    other.post("/undrain", "")?;
                }
                return Ok(node.post("/resign", "")?.code == 200);
            }
            Fault::Term => node.stop_term(),
            Fault::Cut => _ = self.cluster.network().cut_off(number),
        }
        Ok(true)
    }

    /// Stops all nodes cleanly; no process of any command is left then, and no coroner.
    fn end(self) {
        for number in 1..=3 {
            let node = self.cluster.node(number);
            node.stop_term();
            node.exit_code();
        }
        self.lines.assert_nobody_writes();
        self.cluster.nodes().iter().for_each(no_coroner_is_left);
    }
}

/// Sends this to the coroner of a node, if it has one, and kills the node.
fn signal_coroner_and_kill(node: &Node, signal: Signal) {
    if let Some(coroner) = coroner_of(node.pid()) {
        let _ = kill_process(coroner, signal);
    }
    node.kill_9();
}

/// How long it took until the next command ran, and until all nodes agreed again.
struct Took {
    runs: Duration,
    agrees: Duration,
}

/// Says for each fault what its failovers took: the middle one, and the longest.
fn report(took: &BTreeMap<Fault, Vec<Took>>) {
    let figures = |mut times: Vec<Duration>| {
        times.sort();
        (times[times.len() / 2], times[times.len() - 1])
    };
    for (fault, took) in took {
        let runs = figures(took.iter().map(|took| took.runs).collect());
        let agrees = figures(took.iter().map(|took| took.agrees).collect());
        println!(
            "{fault:?}: {} times, the next runs after {runs:.1?}, all agree after {agrees:.1?}",
            took.len()
        );
    }
}

/// How often each fault has met each manner of a command. The manner of the next one is drawn so that all pairs occur: the
/// order of the faults is given, and by the number of the node each would meet nearly always the same.
pub struct Pairs<F>(BTreeMap<(F, &'static str), usize>);

impl<F: Copy + Ord + std::fmt::Debug> Pairs<F> {
    pub fn new() -> Pairs<F> {
        Pairs(BTreeMap::new())
    }

    /// This fault meets a command of this manner.
    pub fn met(&mut self, fault: F, manner: &'static str) {
        *self.0.entry((fault, manner)).or_default() += 1;
    }

    /// The manner that this fault has met least often.
    pub fn rarest(&self, fault: F) -> &'static str {
        let count = |manner: &&str| self.0.get(&(fault, *manner)).copied().unwrap_or_default();
        MANNERS.into_iter().min_by_key(count).unwrap()
    }

    /// Each of these faults has met each manner.
    #[track_caller]
    pub fn assert_all(&self, faults: impl Iterator<Item = F>) {
        let all = faults.flat_map(|fault| MANNERS.map(|manner| (fault, manner)));
        let missed: Vec<_> = all.filter(|pair| !self.0.contains_key(pair)).collect();
        assert!(missed.is_empty(), "never met: {missed:?}; {:?}", self.0);
    }
}

fn failovers(times: usize) {
    let jobs = Jobs::start();
    jobs.cluster.agree();
    let (mut leader, mut all) = (jobs.lines.runs_next(None), BTreeMap::<Fault, Vec<Took>>::new());
    let (mut pairs, mut coming) = (Pairs::new(), jobs.faults().cycle().skip(1));
    for (number, fault) in jobs.faults().cycle().take(times).enumerate() {
        pairs.met(fault, jobs.lines.manner(&leader));
        jobs.lines.draw(pairs.rarest(coming.next().unwrap()));
        let (next, took) = jobs.suffer(fault, &leader);
        leader = next;
        all.entry(fault).or_default().push(took);
        jobs.lines.assert_never_two();
        if (number + 1) % 50 == 0 {
            println!("{} of {times} failovers", number + 1);
        }
    }
    report(&all);
    // A move by itself, on a busy machine, may take a command from the fault that it was drawn for.
    if times >= 2 * FAULTS.len() * MANNERS.len() {
        pairs.assert_all(jobs.faults());
    }
    assert!(jobs.lines.assert_never_two() > times);
    jobs.end();
}

/// Claim: one-job.
#[story]
fn a_job_moves_with_the_leadership_and_never_runs_on_two_hosts() {
    failovers(FAULTS.len());
}

/// `FAILOVERS=1000 cargo test --release --test process jobs:: -- --ignored for_long`
#[story]
#[ignore = "long"]
fn a_job_moves_with_the_leadership_for_long() {
    failovers(std::env::var("FAILOVERS").map_or(60, |times| times.parse().unwrap()));
}
