//! Messages in words.

use std::time::Duration;

use super::{Brief, Caption, Detail, Narrator};
use crate::core::message::{Ballot, Heartbeat, Lap, Message, Opinion, Run, View};

impl Narrator<'_> {
    /// Whether messages of this kind make a line.
    pub(super) fn tells(&self, message: &Message) -> bool {
        self.detail == Detail::All || !Brief::of(message).is_periodic()
    }

    /// A message as a drawing shows it; none if it is not worth an arrow.
    #[must_use]
    pub fn caption(&self, message: &Message) -> Option<Caption> {
        self.tells(message).then(|| Brief::of(message).caption(self.members))
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
            Message::Lock(words) => format!("{} words", words.len()),
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
    fn are_told(rows: &[(Message, &str, &str, Option<u64>)]) {
        let narrator = Narrator { members: &only_c(), detail: Detail::All };
        for (message, words, label, about) in rows {
            assert_eq!(narrator.message(message), *words);
            let caption = narrator.caption(message).expect("an arrow");
            assert_eq!((&*caption.label, caption.kind), (*label, Some(message.kind())));
            let number = Brief::of(message).number.map(|number| number.0);
            assert_eq!(number, *about, "{words}");
            // A trace of an election has no signs of life.
            let is_sign = ["PROBE", "ALIVE", "HEARTBEAT", "ACKNOWLEDGE"].contains(label);
            let election = Narrator { detail: Detail::Election, ..narrator };
            assert_eq!(election.caption(message).is_none(), is_sign, "{words}");
        }
    }

    const EPOCH: Epoch = Epoch(7);
    const ROUND: Epoch = Epoch(8);
    const VERSION: ListVersion = ListVersion { epoch: EPOCH, counter: 2 };
    const LEASE: Duration = Duration::from_millis(400);
    const ABOUT: (Option<u64>, Option<u64>) = (Some(7), Some(8));

    fn only_c() -> MemberList {
        let (address, admin, role) = (String::new(), None, Role::Member);
        let c = Member { id: NodeId::default(), name: "c".to_owned(), address, admin, role };
        MemberList::new(VERSION, vec![c])
    }

    fn rank_of_c() -> Rank {
        Rank { value: -3, id: NodeId::default() }
    }

    #[test]
    fn messages_of_an_election_are_told() {
        let (epoch, round, number, eligible, rank) = (EPOCH, ROUND, 9, true, rank_of_c());
        let (in_epoch, in_round) = ABOUT;
        let task = Task { version: VERSION, content: (*b"any").into() };
        let run = Run { epoch: round, initiator: rank.id };
        let candidate = Candidate { eligible, rank, incarnation: Incarnation(3) };
        let ballot = Message::Ballot(Ballot { run, candidate, hops: 3 });
        let lap = Message::Lap(Lap { run, leader: candidate, hops: 4 });
        let under = Message::AreYouThere { number, under: Some(epoch), rank, eligible };
        let nobody = Message::AreYouThere { number, under: None, rank, eligible };
        let normal = Message::AreYouNormal { number, epoch };
        let halt = Message::Halt { number, round, rank, incumbent: true };
        let elected = Message::Elected { number, round, task: VERSION };
        let (yes, no) = [true, false].map(|accepted| Message::Reply { number, accepted }).into();
        let election = Message::Election { round, rank, eligible };
        let led = Message::Coordinator { epoch, rank };
        are_told(&[
            (election, "ELECTION(round 8)", "ELECTION 8", in_round),
            (Message::Answer { round }, "ANSWER(round 8)", "ANSWER 8", in_round),
            (Message::Lower { round }, "LOWER(round 8)", "LOWER 8", in_round),
            (led, "COORDINATOR(epoch 7)", "COORDINATOR 7", in_epoch),
            (under, "ARE-YOU-THERE", "ARE-YOU-THERE", in_epoch),
            (nobody, "ARE-YOU-THERE", "ARE-YOU-THERE", None),
            (normal, "ARE-YOU-NORMAL", "ARE-YOU-NORMAL", in_epoch),
            (halt, "HALT(round 8)", "HALT 8", in_round),
            (elected, "ELECTED(round 8)", "ELECTED 8", in_round),
            (Message::Ready { number, round, task }, "READY(round 8)", "READY 8", in_round),
            (yes, "REPLY(yes)", "REPLY yes", None),
            (no, "REPLY(no)", "REPLY no", None),
            (ballot, "ELECTION(run 8 of c, candidate c)", "ELECTION 8, c", in_round),
            (lap, "ELECTED(run 8 of c, leader c)", "ELECTED 8, c", in_round),
        ]);
    }

    #[test]
    fn messages_of_a_leader_and_its_voters_are_told() {
        let (epoch, number, eligible, rank, lease) = (EPOCH, 9, true, rank_of_c(), LEASE);
        let (in_epoch, _) = ABOUT;
        let (list, incarnation, pause) = (VERSION, Incarnation(3), None);
        let (settled, members, chosen) = (VERSION, [].into(), None);
        let beat = Heartbeat {
            epoch,
            number,
            rank,
            lease,
            settled,
            members,
            pause: None,
            chosen,
            ending: false,
        };
        let acknowledge =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause };
        let pre_vote = Message::PreVote { number, epoch, list };
        let reply = Message::PreVoteReply { number, opinion: Opinion::Yes, epoch };
        let request = Message::VoteRequest { number, epoch, lease, list };
        let vote = Message::Vote { incarnation, number, epoch };
        let denial = Message::Denial { number, opinion: Opinion::No { wait: lease }, epoch };
        let preempt = Message::Preempt { epoch, rank, votes: Vec::new() };
        let release = |successor| Message::Release { epoch, successor, eligible };
        let view = |leader| Message::View(View { epoch, leader });
        let beat = Message::Heartbeat(beat);
        are_told(&[
            (Message::Probe { number }, "PROBE", "PROBE", None),
            (Message::Alive { number }, "ALIVE", "ALIVE", None),
            (pre_vote, "PRE-VOTE(epoch 7)", "PRE-VOTE", in_epoch),
            (reply, "PRE-VOTE-REPLY(yes, epoch 7)", "PRE-VOTE-REPLY", None),
            (request, "VOTE-REQUEST(epoch 7)", "VOTE-REQUEST", in_epoch),
            (vote, "VOTE(epoch 7)", "VOTE", in_epoch),
            (denial, "DENIAL(no, epoch 7)", "DENIAL", None),
            (beat, "HEARTBEAT(epoch 7, number 9)", "HEARTBEAT", in_epoch),
            (acknowledge, "ACKNOWLEDGE(epoch 7, number 9)", "ACKNOWLEDGE", in_epoch),
            (view(None), "VIEW(epoch 7, no leader)", "VIEW 7", in_epoch),
            (view(Some(rank)), "VIEW(epoch 7, leader c)", "VIEW 7", in_epoch),
            (preempt, "PREEMPT(epoch 7)", "PREEMPT 7", in_epoch),
            (release(None), "RELEASE(epoch 7)", "RELEASE 7", in_epoch),
            (release(Some(rank.id)), "RELEASE(epoch 7, for c)", "RELEASE 7", in_epoch),
        ]);
    }

    #[test]
    fn messages_of_members_and_their_orders_are_told() {
        let (c, epoch, version, number) = (NodeId::default(), EPOCH, VERSION, 9);
        let secret = Secret([0; 32]);
        let dead = DeathCertificate { member: c, incarnation: Incarnation(3), secret };
        let timing = [100, 500, 50, 400].map(|ms| ms * 1_000_000);
        let freed = Message::Freed { leader: c, epoch };
        let list = std::sync::Arc::new(only_c());
        let task = Task { version, content: (*b"any").into() };
        let forward = Message::Forward { number, command: Forwarded::Resume };
        let outcome = Message::Outcome { number, result: Ok(Done::Paused) };
        let times = "TIMING([100ms, 500ms, 50ms, 400ms])";
        are_told(&[
            (freed, "FREED(epoch 7, of c)", "FREED", Some(7)),
            (Message::Dead(dead), "DEAD(c, incarnation 3)", "DEAD", None),
            (Message::Timing { timing }, times, "TIMING", None),
            (Message::List { list }, "LIST(version 7.2)", "LIST", None),
            (Message::Listed { version }, "LISTED(version 7.2)", "LISTED", None),
            (Message::Task(task), "TASK(version 7.2)", "TASK", None),
            (forward, "FORWARD(Resume)", "FORWARD", None),
            (outcome, "OUTCOME(Ok(Paused))", "OUTCOME", None),
        ]);
    }
}
