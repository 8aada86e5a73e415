//! The exit codes of every command.

/// Why a command ended. The numbers are part of electd's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The answer is no.
    No = 1,
    /// The command line is wrong.
    Usage = 2,
    /// It cannot be told (`electd health` alone).
    Unknown = 3,
    /// The stored state is damaged or of a newer format.
    State = 65,
    /// No node answers.
    Unavailable = 69,
    /// A defect in electd.
    Internal = 70,
    /// An address cannot be listened on.
    Listen = 71,
    /// The data directory is locked or cannot be written.
    DataDir = 73,
    /// The member was removed from the cluster.
    Removed = 77,
    /// The configuration is wrong.
    Config = 78,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
