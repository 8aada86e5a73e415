//! Messages in words.

use std::time::Duration;

use super::{Brief, Detail, Narrator};
use crate::core::message::{Ballot, Heartbeat, Lap, Message, Opinion, Run, View};

impl Narrator<'_> {
    /// Whether messages of this kind make a line.
    pub(super) fn tells(&self, message: &Message) -> bool {
        self.detail == Detail::All || !Brief::of(message).is_periodic()
    }

    /// A message in few words, for a drawing; none if it is not worth an arrow.
    #[must_use]
    pub fn label(&self, message: &Message) -> Option<String> {
        self.tells(message).then(|| Brief::of(message).label(self.members))
    }

    /// A message with what it says; of one that has no words here, the name alone.
    pub(super) fn message(&self, message: &Message) -> String {
        let name = message.kind().title();
        let content = match message {
            Message::Election { round, .. }
            | Message::Answer { round }
            | Message::Lower { round }
            | Message::Halt { round, .. }
            | Message::Elected { round, .. }
            | Message::Ready { round, .. } => format!("round {round}"),
            Message::Reply { accepted: true, .. } => "yes".to_owned(),
            Message::Reply { accepted: false, .. } => "no".to_owned(),
            Message::Ballot(Ballot { run, candidate, .. }) => {
                format!("{}, candidate {}", self.run(*run), self.members.name(candidate.rank.id))
            }
            Message::Lap(Lap { run, leader, .. }) => {
                format!("{}, leader {}", self.run(*run), self.members.name(leader.rank.id))
            }
            Message::Coordinator { epoch, .. }
            | Message::Preempt { epoch, .. }
            | Message::PreVote { epoch, .. }
            | Message::VoteRequest { epoch, .. }
            | Message::Vote { epoch, .. }
            | Message::Release { epoch, successor: None, .. } => format!("epoch {epoch}"),
            Message::Heartbeat(Heartbeat { epoch, number, .. })
            | Message::Acknowledge { epoch, number, .. } => {
                format!("epoch {epoch}, number {number}")
            }
            Message::View(View { epoch, leader: None }) => format!("epoch {epoch}, no leader"),
            Message::View(View { epoch, leader: Some(leader) }) => {
                format!("epoch {epoch}, leader {}", self.members.name(leader.id))
            }
            Message::Release { epoch, successor: Some(next), .. } => {
                format!("epoch {epoch}, for {}", self.members.name(*next))
            }
            Message::Dead(dead) => {
                format!("{}, incarnation {}", self.members.name(dead.member), dead.incarnation)
            }
            Message::Timing { timing } => format!("{:?}", timing.map(Duration::from_nanos)),
            Message::Freed { leader, epoch } => {
                format!("epoch {epoch}, of {}", self.members.name(*leader))
            }
            Message::PreVoteReply { opinion, epoch, .. }
            | Message::Denial { opinion, epoch, .. } => {
                let says = match opinion {
                    Opinion::Yes => "yes".to_owned(),
                    Opinion::YesIf { released, .. } => format!("yes if {released} is released"),
                    Opinion::No { .. } | Opinion::Uninformed { .. } => "no".to_owned(),
                };
                format!("{says}, epoch {epoch}")
            }
            Message::Task(task) => format!("version {}", task.version),
            Message::List { list } => format!("version {}", list.version()),
            Message::Listed { version } => format!("version {version}"),
            Message::Forward { command, .. } => format!("{command:?}"),
            Message::Outcome { result, .. } => format!("{result:?}"),
            _ => return name,
        };
        format!("{name}({content})")
    }

    fn run(&self, run: Run) -> String {
        format!("run {} of {}", run.epoch, self.members.name(run.initiator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::membership::{ListVersion, MemberList};
    use crate::core::types::Epoch;

    #[test]
    fn an_answer_to_a_candidate_says_what_the_voter_thinks() {
        let members = MemberList::new(ListVersion::default(), Vec::new());
        let narrator = Narrator { members: &members, detail: Detail::All };
        let (wait, epoch, number) = (Duration::from_secs(1), Epoch(7), 1);
        for (opinion, says) in [
            (Opinion::Yes, "yes"),
            (Opinion::YesIf { released: Epoch(5), wait }, "yes if 5 is released"),
            (Opinion::No { wait }, "no"),
            (Opinion::Uninformed { wait }, "no"),
        ] {
            let words = format!("({says}, epoch 7)");
            for message in [
                Message::PreVoteReply { number, opinion, epoch },
                Message::Denial { number, opinion, epoch },
            ] {
                let told = narrator.message(&message);
                assert!(told.ends_with(&words), "{told}");
            }
        }
    }
}
