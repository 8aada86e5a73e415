//! The kinds of messages in words, and which of them are of an election.

use super::message::Kind;

impl Kind {
    /// The name in traces and drawings, as the papers write it. JSON has older words for pre-votes and votes.
    pub fn title(self) -> String {
        let name = match self {
            Kind::PreVote => "pre-vote",
            Kind::PreVoteReply => "pre-vote-reply",
            Kind::VoteRequest => "vote-request",
            Kind::Vote => "vote",
            Kind::Denial => "denial",
            other => other.name(),
        };
        name.to_uppercase().replace('_', "-")
    }

    /// Whether it is a part of an election or of the end of a leadership: no sign of life, no news of what was missed.
    pub fn is_of_an_election(self) -> bool {
        use Kind::{
            Acknowledge, Alive, Dead, Forward, Heartbeat, List, Listed, Lock, Outcome, Probe, Task,
            Timing, View,
        };
        !matches!(
            self,
            Probe
                | Alive
                | Heartbeat
                | Acknowledge
                | View
                | Dead
                | Timing
                | List
                | Listed
                | Task
                | Forward
                | Outcome
                | Lock
        )
    }

    /// What a message of this kind means, for the legend of a drawing.
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Election | Kind::Ballot => "the sender calls an election",
            Kind::Answer => "the sender lives and ranks higher",
            Kind::Lower => "the sender lives and ranks lower",
            Kind::Coordinator => "the sender leads",
            Kind::AreYouThere => "a question for a coordinator, or for a member of higher rank",
            Kind::AreYouNormal => "the coordinator asks whether the receiver follows it",
            Kind::Halt => "the receiver is to stop its work for a new round",
            Kind::Elected | Kind::Lap => "a new leader is elected",
            Kind::Ready => "the new leader hands out the task",
            Kind::Reply => "the reply to a call",
            Kind::Probe => "a question whether the receiver lives",
            Kind::Alive => "the sender lives",
            Kind::PreVote => "a candidate asks whether the receiver would vote for it",
            Kind::PreVoteReply => "the reply to a pre-vote",
            Kind::VoteRequest => "a candidate asks for the receiver's vote",
            Kind::Vote => "the sender votes for the candidate",
            Kind::Denial => "the sender denies the candidate its vote",
            Kind::Heartbeat => "the leader lives",
            Kind::Acknowledge => "the reply to a heartbeat",
            Kind::View => "the greatest epoch that the sender knows, and its leader",
            Kind::Preempt => "the leader is asked to hand over to a member of higher rank",
            Kind::Release => "the sender leads no more",
            Kind::Freed => "a candidate passes on that the leader released its epoch",
            Kind::Dead => "the proof that a process has ended",
            Kind::Timing => "the sender has other timings",
            Kind::List => "the member list",
            Kind::Listed => "the sender has stored the member list",
            Kind::Task => "a newer task",
            Kind::Forward => "a command for the leader",
            Kind::Outcome => "what came of a command",
            Kind::Lock => "words about locks",
        }
    }
}
