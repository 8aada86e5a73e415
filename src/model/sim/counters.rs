//! How often what was done to simulated clusters: a fault that never fired was not tested.

use std::ops::{AddAssign, Index};

/// The counters. A fault counts if it had an effect, and not if it was only drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Starts, the first ones included.
    Starts,
    /// Processes killed, with proof.
    Kills,
    /// Hosts that vanished, silently.
    Vanished,
    /// Of these two, deaths between two outputs of one turn.
    Amid,
    /// Hosts that came back without their process.
    Returned,
    /// Processes that shut down cleanly.
    Stops,
    /// Members drained by an operator.
    Drains,
    /// Members undrained.
    Undrains,
    /// Health checks that passed or failed from then on.
    Checks,
    /// Pauses of the cluster asked for.
    ClusterPauses,
    /// Ends of such pauses asked for.
    ClusterResumes,
    /// Switchovers asked for.
    Switchovers,
    /// Ends of switchovers asked for.
    SwitchoversEnded,
    /// Leaders that handed over to a chosen member.
    SwitchedOver,
    /// Timings that a process was reloaded with.
    Retimed,
    /// Messages to processes of an earlier version.
    SentToOlder,
    /// Elections asked for.
    Elects,
    /// Resignations asked for.
    Resigns,
    /// Tasks given to a coordinator.
    Tasks,
    /// Attributes that changed.
    Samples,
    /// Writes that a crash undid.
    Unwritten,
    /// Messages that took longer than the model allows.
    Delayed,
    /// Messages lost one by one, on connections that lived on.
    Lost,
    /// Messages delivered twice.
    Doubled,
    /// Connections that broke.
    Broken,
    /// Messages that were on their way on these.
    Tails,
    /// Of these connections, those of which one side, or neither, noticed the end by itself.
    HalfOpen,
    /// Partitions into groups that stopped something.
    Splits,
    /// Members cut off from all others.
    Isolated,
    /// Cuts in one direction.
    OneWay,
    /// Cuts of some links.
    Partial,
    /// Of these cuts, those that came and went several times.
    Flaps,
    /// Of these cuts, those that cut off a leader.
    Beheaded,
    /// Packets and dials that met a cut.
    Stopped,
    /// Processes paused.
    Pauses,
    /// Of these, amid a turn: what it put out was shown and sent later.
    Unshown,
    /// Of the pauses, those so long that the process noticed.
    Stalls,
    /// Clocks that stepped forward.
    Steps,
    /// Processes whose clock ran at another rate than true time.
    Drifts,
    /// Members that were to be added.
    Additions,
    /// Members that were to be removed.
    Removals,
    /// Of these, the leader.
    Deposed,
    /// Of these, whatever is left.
    Forced,
    /// Changes of the members that were said to be done.
    Changed,
    /// Changes that were refused, or whose outcome was not known.
    Refused,
    /// Faults aimed at a member that led, was a candidate or followed when they happened.
    Aimed,
    /// Disks that hung for a moment.
    DiskStalls,
    /// Writes of disks that are slow.
    SlowWrites,
    /// Writes that failed and were tried again.
    Unwritable,
    /// Disks that write nothing any more.
    Stuck,
    /// Dials to a wrong address or a closed port.
    Astray,
    /// Links that are dead for good, in both directions.
    DeadLinks,
    /// Links that are dead for good in one direction.
    DeadWays,
    /// Members that no peer ever reaches.
    Unreachable,
    /// Files edited between two starts.
    Edited,
    /// Files in which a member has another name.
    Renamed,
    /// Disks that were emptied.
    Wiped,
    /// Disks that went back to an older record.
    RolledBack,
    /// Starts with the disk of another member, which came to nothing.
    Foreign,
    /// Members that are started with `--bootstrap` every time.
    Bootstrapped,
    /// Clusters whose members have unequal timings.
    Unequal,
    /// Worlds with a hasty member, whose timings are far shorter than those of the others.
    Hasty,
    /// Clusters in which far longer timings were tried once.
    Tried,
    /// Clusters of more than eight members.
    Large,
    /// Faults right after a command.
    Adverse,
    /// Stretches of time in which a leader was promised, and measured.
    Promised,
    /// Stretches in which no leader was promised: no fully connected majority was left, or no member
    /// that may lead.
    Unpromised,
    /// Lists that a leader found to be void.
    Overruled,
    /// Lives at whose end some were strangers to others, as each side of a partition had made its own
    /// changes.
    Estranged,
    /// Removed members that ended.
    Ended,
    /// Starts of removed members, which came to nothing.
    Barred,
    /// Drains that the leader is to judge.
    DrainsAsked,
    /// Drains that were answered: the member is drained.
    Drained,
    /// Drains that were refused, as nobody would be left to lead.
    DrainsRefused,
    /// Drains of which no leader said anything in time.
    DrainsUndecided,
    /// Other addresses that were asked for.
    Moves,
    /// Coroners that ended before their processes.
    CoronersEnded,
    /// Of these, those that were replaced.
    CoronersReplaced,
    /// Jobs started.
    JobsStarted,
    /// Of these, those that were to end before their leadership did.
    JobsEnded,
    /// Deaths that a coroner certified.
    Certified,
    /// Deaths that none did, as the guard of a job was killed as well.
    Unclean,
    /// Certificates that came to a process as the answer to a dial.
    Proofs,
    /// Certificates that a process got once more, perhaps long after.
    Replayed,
    /// Certificates that nobody issued.
    Forged,
    /// How often a member came to lead.
    Elected,
    /// Of these, in an epoch in which another had led: it is dead, or behind a partition.
    Repeated,
    /// Of these, while another led.
    Rivals,
}

/// All counters with their names, in the order in which they are shown.
const TITLES: [(Counter, &str); 88] = [
    (Counter::Starts, "starts and restarts"),
    (Counter::Kills, "processes killed"),
    (Counter::Vanished, "hosts vanished"),
    (Counter::Amid, "  deaths amid a turn, of these"),
    (Counter::Returned, "hosts back without process"),
    (Counter::Stops, "processes stopped"),
    (Counter::Retimed, "timings reloaded"),
    (Counter::SentToOlder, "messages to an earlier version"),
    (Counter::Elects, "elections asked for"),
    (Counter::Resigns, "resignations asked for"),
    (Counter::Tasks, "tasks given to a leader"),
    (Counter::Samples, "attributes changed"),
    (Counter::Unwritten, "writes undone by a crash"),
    (Counter::Delayed, "messages beyond their time"),
    (Counter::Lost, "messages lost one by one"),
    (Counter::Doubled, "messages delivered twice"),
    (Counter::Broken, "connections broken"),
    (Counter::Tails, "  messages lost with them"),
    (Counter::HalfOpen, "  half-open, of these"),
    (Counter::Splits, "partitions into groups"),
    (Counter::Isolated, "members cut off"),
    (Counter::OneWay, "one-way cuts"),
    (Counter::Partial, "partial cuts"),
    (Counter::Flaps, "  flapping, of these cuts"),
    (Counter::Beheaded, "  of a leader, of these cuts"),
    (Counter::Stopped, "packets and dials stopped"),
    (Counter::Pauses, "processes paused"),
    (Counter::Unshown, "  amid a turn, of these"),
    (Counter::Stalls, "  long enough to notice"),
    (Counter::Steps, "clocks stepped forward"),
    (Counter::Drifts, "clocks fast or slow"),
    (Counter::Additions, "members to be added"),
    (Counter::Removals, "members to be removed"),
    (Counter::Deposed, "  of these, the leader"),
    (Counter::Forced, "  by force, of these"),
    (Counter::Changed, "changes done"),
    (Counter::Refused, "changes refused or not known"),
    (Counter::Aimed, "faults aimed at whom they meet"),
    (Counter::DiskStalls, "disks that stood still"),
    (Counter::SlowWrites, "writes of slow disks"),
    (Counter::Unwritable, "writes that failed"),
    (Counter::Stuck, "disks stuck for good"),
    (Counter::Astray, "dials gone astray"),
    (Counter::DeadLinks, "links dead for good"),
    (Counter::DeadWays, "  in one direction only"),
    (Counter::Unreachable, "members never reachable"),
    (Counter::Edited, "files edited"),
    (Counter::Renamed, "members renamed"),
    (Counter::Wiped, "disks wiped"),
    (Counter::RolledBack, "disks rolled back"),
    (Counter::Foreign, "disks of another, refused"),
    (Counter::Bootstrapped, "bootstraps kept on"),
    (Counter::Unequal, "clusters of unequal timings"),
    (Counter::Hasty, "clusters with a hasty member"),
    (Counter::Tried, "clusters of longer timings once"),
    (Counter::Large, "clusters of more than 8"),
    (Counter::Adverse, "faults right after a command"),
    (Counter::Promised, "times a leader was promised"),
    (Counter::Unpromised, "times none was"),
    (Counter::Overruled, "changes void"),
    (Counter::Estranged, "sides estranged by changes"),
    (Counter::Ended, "removed members ended"),
    (Counter::Barred, "removed members barred"),
    (Counter::Drains, "members drained"),
    (Counter::Undrains, "members undrained"),
    (Counter::Checks, "health checks that changed"),
    (Counter::ClusterPauses, "pauses asked for"),
    (Counter::ClusterResumes, "ends of pauses asked for"),
    (Counter::Switchovers, "switchovers asked for"),
    (Counter::SwitchoversEnded, "ends of switchovers asked for"),
    (Counter::SwitchedOver, "  handed over, of these"),
    (Counter::DrainsAsked, "drains that a leader judges"),
    (Counter::Drained, "drains answered"),
    (Counter::DrainsRefused, "  refused, of those judged"),
    (Counter::DrainsUndecided, "  not decided in time"),
    (Counter::Moves, "other addresses asked for"),
    (Counter::CoronersEnded, "coroners that ended"),
    (Counter::CoronersReplaced, "  replaced, of these"),
    (Counter::JobsStarted, "jobs started"),
    (Counter::JobsEnded, "  ended in order, of these"),
    (Counter::Certified, "deaths certified"),
    (Counter::Unclean, "  not, for a guard was killed"),
    (Counter::Proofs, "dials that a coroner answered"),
    (Counter::Replayed, "certificates that came again"),
    (Counter::Forged, "certificates forged"),
    (Counter::Elected, "leaders elected"),
    (Counter::Repeated, "  in an epoch of another"),
    (Counter::Rivals, "  beside another leader"),
];

/// How often what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults([u64; TITLES.len()]);

impl Default for Faults {
    fn default() -> Faults {
        Faults([0; TITLES.len()])
    }
}

impl Faults {
    /// All figures with their names.
    pub fn list(&self) -> impl Iterator<Item = (&'static str, u64)> {
        TITLES.iter().map(|(counter, title)| (*title, self[*counter]))
    }

    pub(super) fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    pub(super) fn add(&mut self, counter: Counter, times: u64) {
        self.0[counter as usize] += times;
    }
}

impl Index<Counter> for Faults {
    type Output = u64;

    fn index(&self, counter: Counter) -> &u64 {
        &self.0[counter as usize]
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Faults) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }
}
