//! The kinds of problems of a node or its cluster that keep neither from working, with the remedy of each.

use strum::{IntoStaticStr, VariantArray};

use super::hint::{ClusterFlags, Hint, starts};
use super::refused::{MutualRefusal, OTHER};
use super::words::and_some;

/// The kind of a problem. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, Eq, IntoStaticStr, PartialEq, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ProblemKind {
    /// The state of this node cannot be written, or soon cannot.
    Storage,
    /// This node has no rank, so it is not eligible.
    Rank,
    /// The health check of this node fails, so it is not eligible.
    Health,
    /// The others cannot dial this node.
    Address,
    /// The job of this node failed, so it leads only if no other can.
    Job,
    /// The job of this node was ended, as no renewal of the leadership came in time.
    Renewal,
    /// A member does not answer.
    PeerDown,
    /// This node hears nobody: it is probably cut off.
    CutOff,
    /// A member refuses this node, or this node a member.
    Rejected,
    /// The election thread missed its turn.
    Stalled,
    /// The leader changes again and again, and no operator ordered that.
    LeaderChanges,
    /// The system refuses the real-time scheduling or the locked memory that the file asks for.
    Realtime,
    /// No further voter may fail.
    QuorumMargin,
    /// Members run with different files, or this node with an old one.
    ConfigDiffers,
    /// The certificate ends soon, or new files of it cannot be used.
    Certificate,
    /// A crash of this node would not be certified.
    Coroner,
}

impl ProblemKind {
    /// All of them.
    pub const ALL: &'static [ProblemKind] = ProblemKind::VARIANTS;

    /// Its name in status, metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The kind of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<ProblemKind> {
        ProblemKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// What to do about it: the page shows this, and docs/operations.md has it in its table.
    #[must_use]
    pub fn remedy(self, of: Subject, flags: &ClusterFlags) -> String {
        let node = of.node.unwrap_or("the node");
        let check = || Hint::Check.of(of.node, flags);
        match self {
            ProblemKind::Storage => {
                format!("free space on {node}, or mend its disk: it then writes again by itself")
            }
            ProblemKind::Rank => {
                format!("mend what `rank` of {node} reads: {} on its host takes a sample", check())
            }
            ProblemKind::Health => format!(
                "mend what the health check of {node} looks at: {} on its host runs it once",
                check()
            ),
            ProblemKind::Address => {
                "correct the name in DNS or `/etc/hosts`, give the member a `listen`, or raise `LimitNOFILE`, as the \
                 message says"
                    .to_owned()
            }
            ProblemKind::Job => format!(
                "mend what {node} runs (its output is in the log), or its host where the message says so; at the time in \
                 the message it may lead again by itself"
            ),
            ProblemKind::Renewal => format!("look at the host of {node}, its disk and the network"),
            ProblemKind::PeerDown => of.missed.remedy(of.about, flags),
            ProblemKind::CutOff => format!("mend the network of {node}"),
            ProblemKind::Rejected => {
                of.refusal.map_or_else(|| OTHER.to_owned(), |refusal| refusal.remedy(flags))
            }
            ProblemKind::Stalled => format!(
                "look at the host of {node}: it was frozen, or has too little processor time"
            ),
            ProblemKind::LeaderChanges => format!(
                "look first at the host, the link and the job of the node that lost it most often ({} has the reasons); if \
                 several lose it, lengthen the timings",
                Hint::History.by(flags)
            ),
            ProblemKind::Realtime => {
                "give the unit the limit that the message names: docs/operations.md says how".to_owned()
            }
            ProblemKind::QuorumMargin => "bring the others back".to_owned(),
            ProblemKind::ConfigDiffers => format!(
                "give all members the same file; then {}, or restart the nodes that the message names",
                Hint::Reload.of(of.node, flags)
            ),
            ProblemKind::Certificate => "renew it: docs/security.md says how".to_owned(),
            ProblemKind::Coroner => {
                "do what the message says; where it names nothing to do, another one begins by itself".to_owned()
            }
        }
    }
}

/// The node and the member that a problem is of, as far as its remedy depends on them.
#[derive(Clone, Debug, Default)]
pub struct Subject<'a> {
    /// The node that reports it; none if several do.
    pub node: Option<&'a str>,
    /// The other member that it is about.
    pub about: Option<&'a str>,
    /// How that member is missed.
    pub missed: Missed,
    /// That member and the node refuse each other.
    pub refusal: Option<MutualRefusal>,
}

impl<'a> Subject<'a> {
    /// Of this node alone.
    #[must_use]
    pub fn of(node: &'a str) -> Subject<'a> {
        Subject { node: Some(node), ..Subject::default() }
    }
}

/// How a node misses a member, as far as the node knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The node hears it, and elections pass it over.
    Heard,
    /// Its process has ended: its host certified that, or refuses connections.
    Ended,
    /// It is silent: nothing says whether it, its host or the network between is at fault. With the name or the address of
    /// its host, or nothing.
    Silent(String),
}

impl Default for Missed {
    fn default() -> Missed {
        Missed::Silent(String::new())
    }
}

impl Missed {
    /// What to do about this member, what is known of it first.
    fn remedy(&self, member: Option<&str>, flags: &ClusterFlags) -> String {
        let name = member.unwrap_or("the member");
        let start = member.map_or_else(|| Hint::Run.by(flags), |member| starts(member, flags));
        match self {
            Missed::Heard => format!("find out why {name} restarts, or cannot be dialed"),
            Missed::Ended => format!("start {name} on its host ({start})"),
            Missed::Silent(host) => format!(
                "look whether the host of {} is up and can be reached; then whether {name} runs there ({start}), or is \
                 frozen",
                at(name, host)
            ),
        }
    }

    /// The same in a few words, for several at once that are missed alike.
    #[must_use]
    pub fn first_step(&self, names: &[String]) -> String {
        match (self, names) {
            (Missed::Silent(host), [name]) => {
                format!("look whether the host of {} is up and can be reached", at(name, host))
            }
            (Missed::Silent(_), several) => {
                format!("look whether the hosts of {} are up and can be reached", and_some(several))
            }
            _ => format!("start {}", and_some(names)),
        }
    }
}

/// A member with its host, if that is known.
fn at(name: &str, host: &str) -> String {
    if host.is_empty() { name.to_owned() } else { format!("{name} ({host})") }
}

#[cfg(test)]
mod tests;
