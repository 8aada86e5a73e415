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
    use crate::core::death::{DeathCertificate, Secret};
    use crate::core::membership::{ListVersion, Member, MemberList};
    use crate::core::message::{Candidate, Done, Forwarded};
    use crate::core::types::{Epoch, Incarnation, NodeId, Rank, Role, Task};

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

    /// Each message with what it says, what a drawing says, and the round or epoch that it is about.
    #[test]
    fn each_message_is_told_in_words_and_in_few_words() {
        let (c, number, eligible) = (NodeId::default(), 9, true);
        let (epoch, round, lease) = (Epoch(7), Epoch(8), Duration::from_millis(400));
        let version = ListVersion { epoch, counter: 2 };
        let c_is = Member {
            id: c,
            name: "c".to_owned(),
            address: String::new(),
            admin: None,
            role: Role::Member,
        };
        let members = MemberList::new(version, vec![c_is]);
        let (rank, run) = (Rank { value: -3, id: c }, Run { epoch: round, initiator: c });
        let incarnation = Incarnation(3);
        let candidate = Candidate { eligible, rank, incarnation };
        let task = Task { version, content: (*b"any").into() };
        let heartbeat = Heartbeat {
            epoch,
            number,
            rank,
            lease,
            settled: version,
            members: [].into(),
            pause: None,
            chosen: None,
        };
        let acknowledge =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause: None };
        let dead = DeathCertificate { member: c, incarnation, secret: Secret([0; 32]) };
        let timing = [100, 500, 50, 400].map(|ms| ms * 1_000_000);
        let halt = Message::Halt { number, round, rank, incumbent: true };
        let under = Message::AreYouThere { number, under: Some(epoch), rank, eligible };
        let nobody = Message::AreYouThere { number, under: None, rank, eligible };
        let to_c = Message::Release { epoch, successor: Some(c), eligible };
        let (yes, wait) = (Opinion::Yes, lease);
        let opinion = Message::PreVoteReply { number, opinion: yes, epoch };
        let denial = Message::Denial { number, opinion: Opinion::No { wait }, epoch };
        let forward = Message::Forward { number, command: Forwarded::Resume };
        let ballot = Message::Ballot(Ballot { run, candidate, hops: 3 });
        let list = std::sync::Arc::new(members.clone());
        let narrator = Narrator { members: &members, detail: Detail::All };
        for (message, words, label, about) in [
            (
                Message::Election { round, rank, eligible },
                "ELECTION(round 8)",
                "ELECTION 8",
                Some(8),
            ),
            (Message::Answer { round }, "ANSWER(round 8)", "ANSWER 8", Some(8)),
            (Message::Lower { round }, "LOWER(round 8)", "LOWER 8", Some(8)),
            (
                Message::Coordinator { epoch, rank },
                "COORDINATOR(epoch 7)",
                "COORDINATOR 7",
                Some(7),
            ),
            (under, "ARE-YOU-THERE", "ARE-YOU-THERE", Some(7)),
            (nobody, "ARE-YOU-THERE", "ARE-YOU-THERE", None),
            (Message::AreYouNormal { number, epoch }, "ARE-YOU-NORMAL", "ARE-YOU-NORMAL", Some(7)),
            (halt, "HALT(round 8)", "HALT 8", Some(8)),
            (
                Message::Elected { number, round, task: version },
                "ELECTED(round 8)",
                "ELECTED 8",
                Some(8),
            ),
            (
                Message::Ready { number, round, task: task.clone() },
                "READY(round 8)",
                "READY 8",
                Some(8),
            ),
            (Message::Reply { number, accepted: true }, "REPLY(yes)", "REPLY yes", None),
            (Message::Reply { number, accepted: false }, "REPLY(no)", "REPLY no", None),
            (Message::Probe { number }, "PROBE", "PROBE", None),
            (Message::Alive { number }, "ALIVE", "ALIVE", None),
            (Message::PreVote { number, epoch, list: version }, "TRIAL(epoch 7)", "TRIAL", Some(7)),
            (opinion, "OPINION(yes, epoch 7)", "OPINION", None),
            (
                Message::VoteRequest { number, epoch, lease, list: version },
                "CLAIM(epoch 7)",
                "CLAIM",
                Some(7),
            ),
            (Message::Vote { incarnation, number, epoch }, "GRANT(epoch 7)", "GRANT", Some(7)),
            (denial, "REFUSE(no, epoch 7)", "REFUSE", None),
            (Message::Heartbeat(heartbeat), "HEARTBEAT(epoch 7, number 9)", "HEARTBEAT", Some(7)),
            (acknowledge, "ACKNOWLEDGE(epoch 7, number 9)", "ACKNOWLEDGE", Some(7)),
            (
                Message::View(View { epoch, leader: None }),
                "VIEW(epoch 7, no leader)",
                "VIEW 7",
                Some(7),
            ),
            (
                Message::View(View { epoch, leader: Some(rank) }),
                "VIEW(epoch 7, leader c)",
                "VIEW 7",
                Some(7),
            ),
            (
                Message::Preempt { epoch, rank, votes: Vec::new() },
                "PREEMPT(epoch 7)",
                "PREEMPT 7",
                Some(7),
            ),
            (
                Message::Release { epoch, successor: None, eligible },
                "RELEASE(epoch 7)",
                "RELEASE 7",
                Some(7),
            ),
            (to_c, "RELEASE(epoch 7, for c)", "RELEASE 7", Some(7)),
            (Message::Freed { leader: c, epoch }, "FREED(epoch 7, of c)", "FREED", Some(7)),
            (Message::Dead(dead), "DEAD(c, incarnation 3)", "DEAD", None),
            (Message::Timing { timing }, "TIMING([100ms, 500ms, 50ms, 400ms])", "TIMING", None),
            (Message::List { list }, "LIST(version 7.2)", "LIST", None),
            (Message::Listed { version }, "LISTED(version 7.2)", "LISTED", None),
            (Message::Task(task), "TASK(version 7.2)", "TASK", None),
            (forward, "FORWARD(Resume)", "FORWARD", None),
            (
                Message::Outcome { number, result: Ok(Done::Paused) },
                "OUTCOME(Ok(Paused))",
                "OUTCOME",
                None,
            ),
            (ballot, "ELECTION(run 8 of c, candidate c)", "ELECTION 8, c", Some(8)),
            (
                Message::Lap(Lap { run, leader: candidate, hops: 4 }),
                "ELECTED(run 8 of c, leader c)",
                "ELECTED 8, c",
                Some(8),
            ),
        ] {
            assert_eq!(narrator.message(&message), words);
            assert_eq!(narrator.label(&message).as_deref(), Some(label));
            let number = Brief::of(&message).number.map(|number| number.0);
            assert_eq!(number, about, "{words}");
            // A trace of an election has no signs of life.
            let is_sign = ["PROBE", "ALIVE", "HEARTBEAT", "ACKNOWLEDGE"].contains(&label);
            let election = Narrator { detail: Detail::Election, ..narrator };
            assert_eq!(election.label(&message).is_none(), is_sign, "{words}");
        }
    }
}
