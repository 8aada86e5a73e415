//! Planted faults: a test build can break, by name, each rule of the core that the simulator guards, so that `make
//! mutants` checks that the simulator finds it.
//!
//! To add one: add a row to the table below, with the name of the rule in docs/protocol.md, and write
//! `Fault::Name.is_planted()` in the one condition that it breaks. `make mutants MUTANTS=name` prints the first seed that
//! finds it: record that in the row. If no seed below the bound finds the fault, it guards nothing: make the runs denser,
//! or change the fault.
//!
//! Without the cargo feature `planted`, no fault is ever planted, and the compiler removes each condition.

#[cfg_attr(not(feature = "planted"), path = "planted/absent.rs")]
mod present;

pub use present::{BUILT_IN, plant};

/// Declares [`Fault`] and its table: `Variant "rule" "name": "algorithm quorum faults" seed, "what is wrong"`.
macro_rules! faults {
    ($($fault:ident $rule:literal $name:literal: $runs:literal $seed:literal, $what:literal;)*) => {
        /// A rule that can be broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $(#[doc = $what] $fault,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Fault] = &[$(Fault::$fault,)*];

            /// Its row of the table.
            pub const fn plan(self) -> PlantedFault {
                match self {
                    $(Fault::$fault => PlantedFault {
                        rule: $rule, name: $name, runs: $runs, seed: $seed, what: $what
                    },)*
                }
            }
        }
    };
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlantedFault {
    /// The rule of docs/protocol.md that it breaks.
    pub rule: &'static str,
    /// Its name for `make mutants`.
    pub name: &'static str,
    /// The simulated runs that find it: algorithm, quorum and set of faults. Or "exhaustive" and a word of the name
    /// of the exhaustive search that finds it, or "locks" and the name of one of the locks. Or "words": lies to one member.
    /// Or "runs": names that are held once in each period.
    pub runs: &'static str,
    /// A seed that found it: a hint if a search finds nothing. For "locks" the steps of the shortest schedule.
    pub seed: u64,
    /// What goes wrong then.
    pub what: &'static str,
}

faults! {
    DeadStayHigher "B1" "bully-dead-stay-higher": "bully none model" 1,
        "The dead count as higher for ever.";
    NoPowerOn "C2" "bully-no-power-on": "bully none model" 0,
        "A new process does not look for the others before it elects.";
    NoRelease "H1" "bully-no-release": "bully none model" 0,
        "A lower leader need not hand over before a higher one begins.";
    NoReserve "W2" "bully-no-reserve": "bully none model" 179,
        "A new run counts on from the epoch it knew, not from what was reserved.";
    NoT2 "E5" "bully-no-t2": "bully none model" 34,
        "A candidate that got an ANSWER waits for its leader for ever.";
    NotDurable "W1" "bully-not-durable": "bully none model" 21,
        "A leader is named before its epoch is durable.";
    OlderCoordinator "E2" "bully-older-coordinator": "bully none model" 11,
        "An older COORDINATOR is accepted.";
    AnyElected "K2" "halting-any-elected": "halting majority all" 93,
        "ELECTED of the round is accepted from anybody, not only from the halter.";
    NoCheck "K3" "halting-no-check": "halting none model" 1,
        "The coordinator does not look for members that are not Normal.";
    HaltedForEver "E5" "halting-no-t2": "halting none model" 203,
        "A halted member waits for ever for an organizer that gave up.";
    LeadsBeforeDurable "W1" "halting-not-durable": "halting none model" 3,
        "An epoch is led in that is not durable.";
    OlderTask "K7" "halting-older-task": "halting majority all" 40_709,
        "A member goes back to an older task, as its newer one was lost on its way.";
    ReplyLost "K6" "halting-reply-lost": "halting none model" 25_769,
        "A reply does not wait for the connection to the caller.";
    TaskUnheeded "K7" "halting-task-unheeded": "halting majority all" 183,
        "The organizer hands out its own task, though it was told a newer one.";
    TimeoutAny "K5" "halting-timeout-any": "halting none model" 3,
        "A coordinator that leads no more still counts as there.";
    EarlyBallot "C2" "ring-early-ballot": "ring none model" 14_542,
        "A member that is still discovering the others sends ballots past those it has not met.";
    FlagKept "R1" "ring-flag-kept": "ring none model" 26,
        "A greater run does not clear the flag of having participated.";
    NoRunTimer "E5" "ring-no-run-timer": "ring none model" 4_215,
        "Nobody begins a run anew when its messages are lost unnoticed.";
    UnmetLeader "R6" "ring-unmet-leader": "ring none model" 8_908,
        "A leader that was never met is followed, and never missed.";
    EpochTwice "Q1" "majority-epoch-twice": "bully majority all" 56,
        "A voter votes twice in one epoch.";
    VoteNoPromise "L1" "majority-vote-no-promise": "bully majority all" 3,
        "A vote is no promise.";
    VoteNotDurable "Q2" "majority-vote-not-durable": "bully majority all" 0,
        "A vote is told before it is durable, though a start after a crash would not count on it.";
    ReserveForgotten "Q13" "majority-reserve-forgotten": "exhaustive forgotten" 0,
        "A voter that crashed believes that its record has all its votes.";
    Unsure "Q13" "majority-unsure": "exhaustive unsure" 0,
        "A voter that crashed acknowledges the leader of an epoch in which it may have voted, while that vote may count.";
    LeadsAfterRelease "H8" "majority-leads-after-release": "bully majority all" 5,
        "A leader says that it released before it stops.";
    LeaseFromReceipt "L4" "majority-lease-from-receipt": "bully majority all" 0,
        "A lease counts from the receipt of an acknowledgement.";
    NoConfirmation "M3" "majority-no-confirmation": "bully majority all" 1_656,
        "A new leader changes the list that it found before it has confirmed it.";
    NoDrift "L4" "majority-no-drift": "bully majority all" 0,
        "A lease has no margin for clocks that differ.";
    OlderCopy "E3" "majority-older-copy": "bully majority all" 116,
        "The acknowledgement of an older heartbeat counts for the newest.";
    OlderLeader "L5" "majority-older-leader": "bully majority all" 86,
        "An older leader is acknowledged after a vote.";
    OlderRelease "H13" "majority-older-release": "bully majority all" 93,
        "The release of an older epoch frees a voter, whoever it is bound to.";
    OwnVoteFree "Q3" "majority-own-vote-free": "bully majority all" 1_596,
        "The own vote obeys no rule.";
    DoneTooSoon "M2" "majority-done-too-soon": "bully majority all" 2,
        "A change is said to be done before a majority has stored it.";
    PromiseForgotten "Q4" "majority-promise-forgotten": "bully majority all" 66,
        "A promise is forgotten by a restart.";
    ReleaseNotAwaited "H1" "majority-release-not-awaited": "bully majority all" 28,
        "A voter does not wait for the release of who was asked to hand over.";
    SnapshotForEver "L6" "majority-snapshot-for-ever": "bully majority all" 0,
        "What a leader published outlives its lease.";
    UnsteadyLeads "S5" "majority-unsteady-leads": "bully majority stay" 259,
        "A member that comes and goes is elected each time.";
    StaleVote "E3" "majority-stale-vote": "bully majority all" 10,
        "The vote of an earlier question counts.";
    StaleList "Q6" "majority-stale-list": "bully majority all" 92,
        "A member with an older list may be nominated, and neither a hello nor a voter hands over the newer one.";
    AnswerStretched "L2" "majority-answer-stretched": "bully majority storm" 15,
        "A leader counts an answer for its new lease, though its question asked for the older one.";
    PromiseTooSoon "L2" "majority-promise-too-soon": "bully majority storm" 15,
        "A voter acknowledges a longer promise than any before, and that is not durable yet.";
    OwnPromiseUnstored "L2" "majority-own-promise-unstored": "bully majority storm" 61,
        "A leader counts its own longer promise before that is durable.";
    JobNotAwaited "H11" "majority-job-not-awaited": "bully majority jobs" 2,
        "A leader hands over while its job runs.";
    JobUntold "H12" "majority-job-untold": "bully majority jobs" 12,
        "A leader that stepped down frees its votes while its job runs.";
    UnknownSaid "C4" "jobs-unknown-said": "bully majority jobs" 45,
        "A member is told what its version of the protocol does not know.";
    DrainForgotten "A5" "jobs-drain-forgotten": "bully majority jobs" 64,
        "A drained member may lead after a restart.";
    DrainUnjudged "A6" "orders-drain-unjudged": "bully majority orders" 0,
        "A leader agrees to the drain of the last member that may lead.";
    AgreementForgotten "A6" "orders-agreement-forgotten": "bully majority orders" 2,
        "A leader counts on a member to whose drain it agreed a moment before.";
    UndrainNotDurable "A6" "orders-undrain-not-durable": "bully majority orders" 6,
        "A member that is undrained may lead before that is on its disk.";
    SaidAnywhere "A6" "orders-said-anywhere": "bully majority orders" 28,
        "A leader that judges a drain counts on what a late message says of another member.";
    ReplacedAmidJob "Z7" "orders-replaced-amid-job": "bully majority orders" 1_337,
        "A coroner takes the place of another while a job runs.";
    UnfitLeads "H9" "jobs-unfit-leads": "bully majority jobs" 208,
        "A drained leader does not hand over.";
    PauseForgotten "H4" "jobs-pause-forgotten": "bully majority jobs" 58,
        "A member forgets by a restart that the cluster is paused.";
    PauseUnheeded "H3" "jobs-pause-unheeded": "bully majority jobs" 23,
        "In a paused cluster members preempt, and leaders hand over, as ever.";
    ChoiceUnheeded "H6" "jobs-choice-unheeded": "bully majority jobs" 71,
        "A member that an operator chose to lead shows its own rank.";
    ChoiceKept "H5" "jobs-choice-kept": "bully majority jobs" 43,
        "A member that led by a switchover ranks first after that as well.";
    RankKept "H2" "rank-kept": "bully none model" 152,
        "A leader goes by the rank that it was elected with, however its attribute changes.";
    ChoiceUncleared "H6" "jobs-choice-uncleared": "bully majority jobs" 1_098,
        "A leader whose switchover was cleared leads on, whoever ranks higher.";
    AnswersUnheard "N2" "majority-answers-unheard": "bully majority all" 2,
        "A question that ended by its answers counts as unanswered, unless a majority answered.";
    FileWins "M10" "majority-file-wins": "bully majority stay" 18,
        "An edited file wins over the voters of a record that has voted.";
    DeafCounts "D7" "stay-deaf-counts": "bully none stay" 1_269,
        "A member that can be told nothing stays a rival.";
    DiskNotNormal "W5" "stay-disk-not-normal": "halting majority stay" 12,
        "A member that waits for its disk is not Normal.";
    LeaderToStoreUnwatched "W5" "stay-leader-unwatched": "bully none stay" 982,
        "A member that stores its leader's epoch does not notice that the leader dies.";
    LeaderLeftOut "R5" "stay-leader-left-out": "ring none stay" 102,
        "A ballot that was sent past a live leader goes on.";
    ListEpoch "Q6" "majority-list-epoch": "words" 0,
        "A vote is given in an epoch in which the own list was stamped.";
    LeaderForgotten "Q8" "majority-leader-forgotten": "words" 1,
        "A restarted voter forgets who led in its epoch.";
    NoFloor "Q5" "majority-no-floor": "exhaustive loss" 0,
        "A voter whose store was lost votes in an epoch of before that.";
    PromiseKept "Q4" "majority-promise-kept": "bully majority stay" 65,
        "The longest promise ever made delays every start.";
    NotDrawnIn "R3" "ring-not-drawn-in": "ring none stay" 13_054_323,
        "The sender of an older ballot does not get the ballot of the present run.";
    LapOn "R2" "ring-lap-on": "ring none stay" 0,
        "A ballot that comes by again does not go straight to its candidate.";
    TakeoverAtOnce "S3" "majority-takeover-at-once": "ring majority stay" 256,
        "A candidate that asked for a hand-over and did not lead asks again at once.";
    OutbidAtOnce "S2" "stay-outbid-at-once": "bully none stay" 8_577,
        "A leader ends its epoch for each later list of another leader that a third member tells of.";
    SecondLeader "Q8" "words-second-leader": "words" 125,
        "A word makes a member follow a second leader of an epoch.";
    FarAhead "X2" "words-far-ahead": "words" 0,
        "A number is taken that cannot have come about.";
    RefusedCounts "C3" "words-refused-counts": "words" 0,
        "A hello that is refused changes the round.";
    StrangersList "M6" "words-strangers-list": "words" 0,
        "With a majority the member list of a stranger is taken.";
    OutcomeOfEarlier "X3" "words-outcome-of-earlier": "words" 0,
        "The outcome of a command of an earlier run answers one of this run.";
    LongPromise "L2" "words-long-promise": "words" 0,
        "A voter promises its vote for as long as a word says.";
    RemovalBelieved "M7" "words-removal-believed": "words" 0,
        "A member leaves on the word of any other one.";
    SecondDisplaces "C6" "words-second-displaces": "words" 0,
        "Another process with the id of a live member takes its place.";
    OutcomeUnjudged "X3" "words-outcome-unjudged": "words" 0,
        "Whoever tells how a command ended is believed.";
    CertificateBelieved "Z1" "death-believed": "bully majority all" 1,
        "A certificate counts without the hash that its incarnation told.";
    AnyLife "Z2" "death-any-life": "exhaustive again" 0,
        "A certificate frees the promises to any incarnation of its member.";
    DeadBinds "Z3" "death-binds": "bully majority all" 252,
        "A heartbeat of a certified incarnation binds a voter again.";
    CertificateEarly "Z6" "death-early": "bully majority jobs" 714,
        "A coroner certifies a death before the job has ended.";
    GuardUnheeded "Z6" "death-guard-unheeded": "bully majority jobs" 1_146,
        "A coroner certifies a death though the guard of the job was killed.";
    ActOnStored "G1" "locks-act-on-stored": "locks told" 8,
        "A voter hands on its table as done though no coordinator said so.";
    NothingAdopted "G2" "locks-nothing-adopted": "locks taken" 7,
        "A new coordinator goes on from the oldest table that it read.";
    OlderProposal "G2" "locks-older-proposal": "locks overtaken" 10,
        "A voter stores the table of an earlier coordinator than the one that read its own.";
    NoteForgotten "G3" "locks-note-forgotten": "locks removed" 7,
        "The note of a removed member is forgotten, and without one nothing counts as taken.";
    StoredWhileSupported "G4" "locks-stored-while-supported": "locks takes" 9,
        "A voter stores a table that takes something from a member that it supports.";
    OwnTableAlone "G4" "locks-own-table-alone": "locks back" 8,
        "A voter sees what a table takes by its own table alone.";
    NoTrap "G5" "locks-no-trap": "locks takes" 9,
        "A voter supports a member that does not know of what the voter's table takes from it.";
    RestartForgets "G6" "locks-restart-forgets": "locks restart" 10,
        "A restarted voter counts the promises of before as over.";
    EmptyCounts "G6" "locks-empty-counts": "locks loss" 8,
        "A voter without a table counts in the reading of a new coordinator.";
    LostUpTo "G6" "locks-lost-up-to": "locks lost" 2,
        "A voter that lost its disk stores a table of an epoch in which it may have stored before.";
    AnyHolder "G7" "locks-any-life": "locks again" 9,
        "A certificate frees the promises to any life of its member.";
    ListUnnamed "G9" "locks-list-unnamed": "locks left" 5,
        "A holder counts the promises of voters that have another list.";
    ListUnsettled "G9" "locks-list-unsettled": "locks added" 8,
        "The voters change before a majority of their present list has stored a table that was made for it.";
    ReleasedActs "G10" "locks-released-acts": "locks release" 10,
        "A member acts under a token that it gave back.";
    WithdrawnCounts "G11" "locks-withdrawn-counts": "locks withdrawn" 7,
        "That a voter stored a table which was withdrawn counts for the one in its place.";
    RunForgotten "G13" "locks-run-forgotten": "runs" 0,
        "A coordinator gives a name to a candidate though its period has had its run.";
    RunRepeated "G13" "locks-run-repeated": "runs" 0,
        "A job that is tried again until it ended with 0 is tried again after that.";
    OwnClock "G14" "locks-own-clock": "runs" 0,
        "A coordinator goes by its own clock.";
    NoBackOff "S2" "stay-no-back-off": "bully none stay" 0,
        "A leader that is overruled on a third member's word calls again at once.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<_> = Fault::ALL.iter().map(|fault| fault.plan().name).collect();
        assert_eq!(names.len(), Fault::ALL.len());
    }

    #[test]
    fn nothing_is_planted_unless_it_is_asked_for() {
        assert!(!Fault::ALL.iter().any(|fault| fault.is_planted()));
    }
}
