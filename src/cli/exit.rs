//! The exit codes of every command.

/// Why a command ended. The numbers are part of electd's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// The answer is no.
    No,
    /// The command line is wrong.
    Usage,
    /// Nobody leads, or several members do, for `health`, `status` and `why`, whose number monitoring systems take so.
    Outage,
    /// The state of the cluster is unknown (`electd health` alone).
    Unknown,
    /// The stored state is damaged or of a newer format.
    State,
    /// A file that the node needs cannot be read: its file system may be mounted later.
    Unread,
    /// No node answers.
    Unavailable,
    /// A defect in electd.
    Internal,
    /// An address cannot be listened on, or held.
    Listen,
    /// The data directory is locked or cannot be written.
    DataDir,
    /// Not now, and perhaps later: leadership was not gained in time, or something else is under way.
    NotNow,
    /// The leadership was lost, and the command ended for it.
    Lost,
    /// The member was removed from the cluster.
    Removed,
    /// The configuration is wrong.
    Config,
    /// The command that ran while this node led ended with this code.
    Command(u8),
}

impl Exit {
    /// The number that the process exits with.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage | Exit::Outage => 2,
            Exit::Unknown => 3,
            Exit::State => 65,
            Exit::Unread => 66,
            Exit::Unavailable => 69,
            Exit::Internal => 70,
            Exit::Listen => 71,
            Exit::DataDir => 73,
            Exit::NotNow => 75,
            Exit::Lost => 76,
            Exit::Removed => 77,
            Exit::Config => 78,
            Exit::Command(code) => code,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts and units compare them.
    #[test]
    fn the_codes_are_those_of_the_manual() {
        let codes = [
            (Exit::Done, 0, "done"),
            (Exit::No, 1, "no"),
            (Exit::Usage, 2, "usage"),
            (Exit::Outage, 2, ""),  // of `health`, `status` and `why` alone
            (Exit::Unknown, 3, ""), // of `health` alone
            (Exit::State, 65, "state damaged or of a newer format"),
            (Exit::Unread, 66, "a file of the node cannot be read"),
            (Exit::Unavailable, 69, "no node answers"),
            (Exit::Internal, 70, "internal"),
            (Exit::Listen, 71, "cannot listen or have an --address or --cgroup"),
            (Exit::DataDir, 73, "data directory locked or not writable"),
            (Exit::NotNow, 75, "not now: leadership not gained in time, or try again"),
            (Exit::Lost, 76, "leadership lost"),
            (Exit::Removed, 77, "removed"),
            (Exit::Config, 78, "configuration"),
            (Exit::Command(126), 126, ""),
        ];
        let help = crate::cli::command().get_after_help().unwrap().to_string();
        let (_, listed) = help.split_once("Exit codes: ").unwrap();
        let (listed, last) = listed.split_once(". ").unwrap();
        let listed: Vec<String> =
            listed.split(';').map(|it| it.trim().replace('\n', " ")).collect();
        let told = codes.iter().filter(|(.., words)| !words.is_empty());
        let told: Vec<String> = told.map(|(_, code, words)| format!("{code} {words}")).collect();
        assert_eq!((listed, last), (told, "`run -- CMD` and `exec` pass CMD's own code on."));
        for (exit, code, _) in codes {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }
}
