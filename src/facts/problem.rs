//! The kinds of problems of a node or its cluster that keep neither from working, with the remedy of each.

use std::borrow::Cow;

use strum::{IntoStaticStr, VariantArray};

use super::hint::{ClusterFlags, Hint};

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

    /// What to do about it, at this member if it is of one: the page shows this, and docs/operations.md has it in its
    /// table.
    #[must_use]
    pub fn remedy(self, member: Option<&str>, flags: &ClusterFlags) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            ProblemKind::Storage => {
                "free space, or repair the disk: the node then writes again by itself"
            }
            ProblemKind::Rank => "repair the program or path of `rank`",
            ProblemKind::Health => "repair what the check looks at",
            ProblemKind::Address => {
                "correct the name in DNS or `/etc/hosts`, give the member a `listen`, or raise `LimitNOFILE`, as the \
                 message says"
            }
            ProblemKind::Job => {
                let undrain = Hint::Undrain.of(member, flags);
                return format!("look at the output of CMD, repair the cause, then {undrain}")
                    .into();
            }
            ProblemKind::Renewal => "look at its host, its disk and the network",
            ProblemKind::PeerDown => {
                "start the member; check firewalls; find out why it restarts or is cut off"
            }
            ProblemKind::CutOff => "mend the network of this node",
            ProblemKind::Rejected => "give both the same file; the message says what differs",
            ProblemKind::Stalled => {
                "look at its host: it was frozen, or has too little processor time"
            }
            ProblemKind::LeaderChanges => {
                let history = Hint::History.by(flags);
                return format!(
                    "see {history} for the reasons; lengthen the timings, or repair the host or link that fails"
                )
                .into();
            }
            ProblemKind::Realtime => {
                "give the unit the limit that the message names: docs/operations.md says how"
            }
            ProblemKind::QuorumMargin => "bring the others back",
            ProblemKind::ConfigDiffers => {
                "give all members the same file; reload, or restart the nodes that the message names"
            }
            ProblemKind::Certificate => "renew it: docs/security.md says how",
            ProblemKind::Coroner => {
                "wait: another one begins once the job has ended, and is tried once a minute"
            }
        })
    }
}

#[cfg(test)]
mod tests;
