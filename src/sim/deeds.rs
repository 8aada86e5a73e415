//! How often what was done to simulated clusters: a fault that never fired was not tested.

use std::ops::{AddAssign, Index};

/// What is counted. A fault counts where it made a difference, and not where it was only drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
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
    /// Processes stopped in order.
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
    OldTold,
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
    /// Of these connections, those whose end one side did not notice by itself, or neither.
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
    /// Of the pauses, those for so long that the process noticed.
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
    /// Faults aimed at one that led, stood for election or followed when they happened.
    Aimed,
    /// Disks that stood still for a moment.
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
    /// Members that nobody ever reaches.
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
    /// Members that are told to bootstrap at every start.
    Bootstrapped,
    /// Clusters whose members have unequal timings.
    Unequal,
    /// Clusters in which far longer timings were tried once.
    Tried,
    /// Clusters of more than eight members.
    Large,
    /// Faults right after a command.
    Adverse,
    /// Stretches of time in which a leader was promised, and measured.
    Promised,
    /// Stretches in which none was: no fully connected majority was left, or nobody that may lead.
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
    /// Jobs started.
    JobsStarted,
    /// Of these, those that were to end before their leadership did.
    JobsEnded,
    /// How often a member came to lead.
    Elected,
    /// Of these, in an epoch in which another had led: it is dead, or behind a partition.
    Repeated,
    /// Of these, while another led.
    Rivals,
}

/// All deeds with their names, in the order in which they are shown.
const TITLES: [(Deed, &str); 75] = [
    (Deed::Starts, "starts and restarts"),
    (Deed::Kills, "processes killed"),
    (Deed::Vanished, "hosts vanished"),
    (Deed::Amid, "  deaths amid a turn, of these"),
    (Deed::Returned, "hosts back without process"),
    (Deed::Stops, "processes stopped"),
    (Deed::Retimed, "timings reloaded"),
    (Deed::OldTold, "messages to an earlier version"),
    (Deed::Elects, "elections asked for"),
    (Deed::Resigns, "resignations asked for"),
    (Deed::Tasks, "tasks given to a leader"),
    (Deed::Samples, "attributes changed"),
    (Deed::Unwritten, "writes undone by a crash"),
    (Deed::Delayed, "messages beyond their time"),
    (Deed::Lost, "messages lost one by one"),
    (Deed::Doubled, "messages delivered twice"),
    (Deed::Broken, "connections broken"),
    (Deed::Tails, "  messages lost with them"),
    (Deed::HalfOpen, "  half-open, of these"),
    (Deed::Splits, "partitions into groups"),
    (Deed::Isolated, "members cut off"),
    (Deed::OneWay, "one-way cuts"),
    (Deed::Partial, "partial cuts"),
    (Deed::Flaps, "  flapping, of these cuts"),
    (Deed::Beheaded, "  of a leader, of these cuts"),
    (Deed::Stopped, "packets and dials stopped"),
    (Deed::Pauses, "processes paused"),
    (Deed::Unshown, "  amid a turn, of these"),
    (Deed::Stalls, "  long enough to notice"),
    (Deed::Steps, "clocks stepped forward"),
    (Deed::Drifts, "clocks fast or slow"),
    (Deed::Additions, "members to be added"),
    (Deed::Removals, "members to be removed"),
    (Deed::Deposed, "  of these, the leader"),
    (Deed::Forced, "  by force, of these"),
    (Deed::Changed, "changes done"),
    (Deed::Refused, "changes refused or not known"),
    (Deed::Aimed, "faults aimed at whom they meet"),
    (Deed::DiskStalls, "disks that stood still"),
    (Deed::SlowWrites, "writes of slow disks"),
    (Deed::Unwritable, "writes that failed"),
    (Deed::Stuck, "disks stuck for good"),
    (Deed::Astray, "dials gone astray"),
    (Deed::DeadLinks, "links dead for good"),
    (Deed::DeadWays, "  in one direction only"),
    (Deed::Unreachable, "members never reachable"),
    (Deed::Edited, "files edited"),
    (Deed::Renamed, "members renamed"),
    (Deed::Wiped, "disks wiped"),
    (Deed::RolledBack, "disks rolled back"),
    (Deed::Foreign, "disks of another, refused"),
    (Deed::Bootstrapped, "bootstraps kept on"),
    (Deed::Unequal, "clusters of unequal timings"),
    (Deed::Tried, "clusters of longer timings once"),
    (Deed::Large, "clusters of more than 8"),
    (Deed::Adverse, "faults right after a command"),
    (Deed::Promised, "times a leader was promised"),
    (Deed::Unpromised, "times none was"),
    (Deed::Overruled, "changes void"),
    (Deed::Estranged, "sides estranged by changes"),
    (Deed::Ended, "removed members ended"),
    (Deed::Barred, "removed members barred"),
    (Deed::Drains, "members drained"),
    (Deed::Undrains, "members undrained"),
    (Deed::Checks, "health checks that changed"),
    (Deed::ClusterPauses, "pauses asked for"),
    (Deed::ClusterResumes, "ends of pauses asked for"),
    (Deed::Switchovers, "switchovers asked for"),
    (Deed::SwitchoversEnded, "ends of switchovers asked for"),
    (Deed::SwitchedOver, "  handed over, of these"),
    (Deed::JobsStarted, "jobs started"),
    (Deed::JobsEnded, "  ended in order, of these"),
    (Deed::Elected, "leaders elected"),
    (Deed::Repeated, "  in an epoch of another"),
    (Deed::Rivals, "  beside another leader"),
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
        TITLES.iter().map(|(deed, title)| (*title, self[*deed]))
    }

    pub(super) fn count(&mut self, deed: Deed) {
        self.add(deed, 1);
    }

    pub(super) fn add(&mut self, deed: Deed, times: u64) {
        self.0[deed as usize] += times;
    }
}

impl Index<Deed> for Faults {
    type Output = u64;

    fn index(&self, deed: Deed) -> &u64 {
        &self.0[deed as usize]
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Faults) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }
}
