//! Changes of the member list, as one member sees them.

use std::sync::Arc;

use electd::core::membership::{Change, ListVersion, Member, MemberList};
use electd::core::message::{Done, Forwarded, Message, Opinion, Refusal, Rejection};
use electd::core::settings::{AlgorithmKind, Quorum, Settings};
use electd::core::types::{Epoch, Incarnation, Role};
use electd::core::{Command, CommandId, Input, Output, Phase};

use crate::process::{Process, Sent, TIMING, id, settings};

const ALL: [AlgorithmKind; 3] = AlgorithmKind::ALL;

fn member(number: u8) -> Member {
    Member {
        id: id(number),
        name: format!("P{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    }
}

fn add(number: u8) -> Change {
    Change::Add(member(number))
}

fn remove(number: u8, force: bool) -> Change {
    Change::Remove { id: id(number), force }
}

fn version(epoch: u64, counter: u64) -> ListVersion {
    ListVersion { epoch: Epoch(epoch), counter }
}

/// The present list of a member, by numbers.
fn numbers(process: &Process) -> Vec<u8> {
    process.core.members().iter().map(|member| member.id.0.as_bytes()[15]).collect()
}

/// What a process sends, and what it says to whoever gave it commands, with its disk at rest.
#[derive(Default)]
struct Told {
    sent: Sent,
    answers: Vec<Result<Done, Refusal>>,
    records: Vec<u64>,
}

fn tell(process: &mut Process, input: Input) -> Told {
    let mut out = Vec::new();
    process.core.handle(process.now, input, &mut out);
    let mut told = Told::default();
    for output in out {
        match output {
            Output::Send { to, envelope } => {
                let to = to.iter().map(|id| id.0.as_bytes()[15]).collect();
                told.sent.push((to, envelope.message));
            }
            Output::Answer { result, .. } => told.answers.push(result),
            Output::Persist { number, .. } => told.records.push(number),
            _ => {}
        }
    }
    told
}

fn ask(process: &mut Process, change: Change) -> Told {
    tell(process, Input::Command { id: CommandId(1), command: Command::Change(change) })
}

/// All that was written so far is durable.
fn disk(process: &mut Process) -> Told {
    tell(process, Input::Persisted { number: 1000 })
}

fn hears(process: &mut Process, from: u8, message: Message) -> Told {
    let envelope =
        electd::core::message::Envelope { epoch: Epoch(0), incarnation: Incarnation(1), message };
    let connection = electd::core::detector::ConnectionId(u64::from(from));
    tell(process, Input::Message { connection, from: id(from), envelope })
}

fn lists(sent: &Sent) -> Vec<(Vec<u8>, ListVersion)> {
    let list = |(to, message): &(Vec<u8>, Message)| match message {
        Message::List { list } => Some((to.clone(), list.version())),
        _ => None,
    };
    sent.iter().filter_map(list).collect()
}

/// P5 leads P1 to P5 in epoch 1.
fn leader(quorum: Quorum) -> Process {
    let settings = Settings { quorum, ..settings(AlgorithmKind::Bully, 5) };
    let mut p5 = Process::with(settings).0;
    p5.calls();
    if quorum == Quorum::Majority {
        for question in [1, 2] {
            for voter in [1, 2] {
                let epoch = Epoch(1);
                let message = match question {
                    1 => Message::Opinion { number: 1, opinion: Opinion::Yes, epoch: Epoch(0) },
                    _ => Message::Grant { incarnation: Incarnation(1), number: 2, epoch },
                };
                hears(&mut p5, voter, message);
            }
            disk(&mut p5);
        }
    }
    assert_eq!(p5.core.phase(), Phase::Leading, "{quorum:?}");
    p5
}

#[test]
fn without_a_majority_a_change_is_told_to_all_and_done_when_it_is_stored() {
    let mut p5 = leader(Quorum::None);
    let told = ask(&mut p5, add(6));
    assert_eq!(lists(&told.sent), [(vec![1, 2, 3, 4], version(1, 1))]);
    assert_eq!(told.answers, []);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5, 6]);
    assert_eq!(disk(&mut p5).answers, [Ok(Done::Added(id(6)))]);

    let told = ask(&mut p5, remove(1, false));
    assert_eq!(lists(&told.sent), [(vec![2, 3, 4], version(1, 2))], "who leaves hears of it later");
    let removed = Done::Removed { id: id(1), stored: true, handed_over: false };
    assert_eq!(disk(&mut p5).answers, [Ok(removed)]);
    assert_eq!(numbers(&p5), [2, 3, 4, 5, 6]);
}

/// The list is stamped anew and stored by a majority of it before it changes, and the change is
/// stored by a majority of the new list before it is done.
#[test]
fn with_a_majority_the_list_is_confirmed_before_it_changes_and_stored_before_it_is_done() {
    let mut p5 = leader(Quorum::Majority);
    let told = ask(&mut p5, add(6));
    assert_eq!(lists(&told.sent), [(vec![1, 2, 3, 4], version(1, 1))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
    disk(&mut p5);
    hears(&mut p5, 1, Message::Listed { version: version(0, 0) });
    hears(&mut p5, 2, Message::Listed { version: version(1, 1) });
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5], "two of five have it");
    let told = hears(&mut p5, 1, Message::Listed { version: version(1, 1) });
    assert_eq!(lists(&told.sent), [(vec![1, 2, 3, 4], version(1, 2))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5, 6]);

    let second = ask(&mut p5, remove(1, false));
    assert_eq!(second.answers, [Err(Refusal::ChangeUnderWay)]);
    disk(&mut p5);
    for voter in [1, 2] {
        let told = hears(&mut p5, voter, Message::Listed { version: version(1, 2) });
        assert_eq!(told.answers, [], "three of six, itself included, are no majority");
    }
    let told = hears(&mut p5, 3, Message::Listed { version: version(1, 2) });
    assert_eq!(told.answers, [Ok(Done::Added(id(6)))]);

    // Until they have promised it something under the new list, what a majority of the old one did
    // keeps the leader, and that must not outlast a second change.
    let third = ask(&mut p5, remove(6, false));
    assert_eq!(lists(&third.sent), []);
    p5.after(TIMING.heartbeat);
    let heard = |voter: u8| Message::Acknowledge {
        incarnation: Incarnation(1),
        epoch: Epoch(1),
        number: 1,
        rank: electd::core::types::Rank { value: 0, id: id(voter) },
        stands: true,
    };
    assert_eq!(lists(&hears(&mut p5, 1, heard(1)).sent), []);
    assert_eq!(lists(&hears(&mut p5, 2, heard(2)).sent), []);
    let told = hears(&mut p5, 3, heard(3));
    assert_eq!(lists(&told.sent), [(vec![1, 2, 3, 4], version(1, 3))], "confirmed once");
}

#[test]
fn what_cannot_be_added_or_removed_is_refused_with_the_reason() {
    for quorum in [Quorum::None, Quorum::Majority] {
        let mut p5 = leader(quorum);
        let taken = |what, by| vec![Err(Refusal::Taken { what, by: id(by) })];
        use electd::core::message::Taken;
        assert_eq!(ask(&mut p5, add(2)).answers, taken(Taken::Id, 2));
        let named = Member { name: "P3".into(), ..member(6) };
        assert_eq!(ask(&mut p5, Change::Add(named)).answers, taken(Taken::Name, 3));
        let there = Member { address: "host-4:7101".into(), ..member(6) };
        assert_eq!(ask(&mut p5, Change::Add(there)).answers, taken(Taken::Address, 4));
        let nobody = ask(&mut p5, remove(7, false)).answers;
        assert_eq!(nobody, [Err(Refusal::NotMember(id(7)))]);
    }
}

#[test]
fn a_removal_that_would_lose_the_quorum_needs_force() {
    let mut p5 = leader(Quorum::Majority);
    p5.loses(1);
    p5.after(TIMING.heartbeat);
    p5.loses(2);
    let dead = p5.core.detector().iter().filter(|(_, peer)| !peer.alive());
    assert_eq!(dead.count(), 2, "they are suspected");
    let refusal = Refusal::LosesQuorum { live: 2, needed: 3 };
    assert_eq!(ask(&mut p5, remove(4, false)).answers, [Err(refusal)]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
    assert_eq!(ask(&mut p5, remove(4, true)).answers, [], "it is begun");
}

#[test]
fn an_id_is_for_life_and_who_was_removed_is_told_so_at_its_next_hello() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, remove(1, false));
    disk(&mut p5);
    assert_eq!(ask(&mut p5, add(1)).answers, [Err(Refusal::WasRemoved(id(1)))]);
}

#[test]
fn the_leader_hands_over_before_it_is_removed_and_the_next_one_is_asked() {
    for algorithm in ALL {
        let mut p5 = Process::new(algorithm, 5);
        p5.calls();
        if p5.core.phase() != Phase::Leading {
            continue; // the paper tests of the algorithm show how it comes to lead
        }
        let told = ask(&mut p5, remove(5, false));
        assert_eq!(told.answers, []);
        let released = |(_, message): &(Vec<u8>, Message)| matches!(message, Message::Release { successor: Some(next), .. } if *next == id(4));
        assert!(told.sent.iter().any(released), "{:?}", told.sent);
        let epoch = Epoch(2);
        let rank = electd::core::types::Rank { value: 0, id: id(4) };
        let told = hears(&mut p5, 4, Message::Coordinator { epoch, rank });
        let command = Forwarded::Change(remove(5, false));
        assert!(told.sent.contains(&(vec![4], Message::Forward { number: 1, command })));

        let (peer, reason) = (id(4), Rejection::Removed(id(5)));
        let told = tell(&mut p5, Input::Rejected { peer, reason });
        let removed = Done::Removed { id: id(5), stored: false, handed_over: true };
        assert_eq!(told.answers, [Ok(removed)]);
        assert_eq!(p5.core.phase(), Phase::Stopping);
    }
}

#[test]
fn a_list_is_acknowledged_when_it_is_stored_and_an_older_one_is_answered_with_the_newer() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    let list = |counter, last| {
        let members = (1..=last).map(member).collect();
        Message::List { list: Arc::new(MemberList::new(version(1, counter), members)) }
    };
    assert_eq!(hears(&mut p3, 5, list(2, 6)).sent, []);
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5, 6]);
    let listed = Message::Listed { version: version(1, 2) };
    assert_eq!(disk(&mut p3).sent, [(vec![5], listed.clone())]);
    assert_eq!(hears(&mut p3, 4, list(2, 6)).sent, [(vec![4], listed)]);
    assert_eq!(lists(&hears(&mut p3, 4, list(1, 5)).sent), [(vec![4], version(1, 2))]);
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn who_is_refused_as_removed_leaves_and_who_is_unknown_goes_on_trying() {
    let mut p3 = Process::alone(settings(AlgorithmKind::Bully, 3));
    let (peer, own) = (id(4), id(3));
    tell(&mut p3, Input::Rejected { peer, reason: Rejection::UnknownId(own) });
    assert_eq!(
        tell(&mut p3, Input::Command { id: CommandId(1), command: Command::Elect }).sent,
        []
    );
    assert_eq!(p3.core.phase(), Phase::Starting, "it does not lead a cluster of its own");
    tell(&mut p3, Input::Rejected { peer, reason: Rejection::Removed(own) });
    assert_eq!(p3.core.phase(), Phase::Stopping);
}

/// A voter grants nothing to a nominee with an older list, and gives it the newer one.
#[test]
fn a_nominee_with_an_older_list_is_refused_and_told_and_asks_again() {
    let list = || Arc::new(MemberList::new(version(1, 1), (1..=5).map(member).collect()));
    let settings =
        |number| Settings { quorum: Quorum::Majority, ..settings(AlgorithmKind::Bully, number) };
    let mut voter = Process::with(settings(3)).0;
    hears(&mut voter, 1, Message::List { list: list() });
    let (number, epoch) = (7, Epoch(4));
    let trial = |list| Message::Trial { number, epoch, list };
    let told = hears(&mut voter, 4, trial(version(0, 9)));
    assert_eq!(lists(&told.sent), [(vec![4], version(1, 1))]);
    let says = |sent: &Sent| {
        sent.iter().find_map(|(_, message)| match message {
            Message::Opinion { opinion, .. } => Some(*opinion),
            _ => None,
        })
    };
    assert!(matches!(says(&told.sent), Some(Opinion::No { .. })));
    let told = hears(&mut voter, 4, trial(version(1, 1)));
    assert_eq!((lists(&told.sent), says(&told.sent)), (vec![], Some(Opinion::Yes)));

    let mut nominee = Process::with(settings(5)).0;
    let trials = |sent: &Sent| {
        let version = |(_, message): &(Vec<u8>, Message)| match message {
            Message::Trial { list, .. } => Some(*list),
            _ => None,
        };
        sent.iter().filter_map(version).collect::<Vec<_>>()
    };
    assert_eq!(trials(&nominee.calls()), [version(0, 0)]);
    let told = hears(&mut nominee, 3, Message::List { list: list() });
    assert_eq!(trials(&told.sent), [version(1, 1)]);
}

/// After a heal, the leader that remains makes its own list the one that counts.
#[test]
fn a_leader_that_meets_a_newer_list_stamps_its_own_above_it() {
    let mut p5 = leader(Quorum::None);
    let other = MemberList::new(version(1, 3), (1..=4).map(member).collect());
    let told = hears(&mut p5, 2, Message::List { list: Arc::new(other) });
    assert_eq!(lists(&told.sent), [(vec![1, 2, 3, 4], version(1, 4))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
}

/// A newcomer knows two of the members, and one of them has a newer list without it: it does not
/// vote by its own list, and lets nobody draw it into an election by that.
#[test]
fn who_knows_of_a_newer_list_neither_votes_nor_elects_by_its_own() {
    let file = MemberList::new(version(0, 0), [1, 4].map(member).into());
    let old = Settings {
        quorum: Quorum::Majority,
        members: Arc::new(file),
        power_on: electd::core::settings::PowerOn::Elect,
        ..settings(AlgorithmKind::Bully, 4)
    };
    let mut p4 = Process::alone(old);
    let list = version(2, 2);
    let strange = MemberList::new(list, (1..=3).map(member).collect());
    for input in p4.hello(1, &Arc::new(strange)) {
        let told = tell(&mut p4, input);
        assert_eq!(told.sent, [], "it calls no election");
    }
    assert_eq!((p4.core.phase(), p4.core.stands()), (Phase::Starting, false));
    let trial = Message::Trial { number: 1, epoch: Epoch(9), list };
    let told = hears(&mut p4, 1, trial);
    let refuses = |(_, message): &(Vec<u8>, Message)| {
        matches!(message, Message::Opinion { opinion: Opinion::No { .. }, .. })
    };
    assert!(told.sent.iter().any(refuses), "{:?}", told.sent);
    let newer = MemberList::new(list, (1..=4).map(member).collect());
    hears(&mut p4, 1, Message::List { list: Arc::new(newer) });
    assert!(p4.core.stands());
}

/// A removed member is told so if its list is older, and by one that does not forget it; a stranger
/// is a stranger.
#[test]
fn a_hello_of_a_removed_member_is_answered_so() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, remove(1, false));
    let mut rejections = Vec::new();
    let hellos = [(1, version(0, 0)), (1, version(0, 0)), (1, version(9, 1)), (6, version(0, 0))];
    for (turn, (number, list)) in hellos.into_iter().enumerate() {
        if turn == 1 {
            disk(&mut p5);
        }
        let list = p5.core.members().stamped(list);
        let hello = p5.hello(number, &Arc::new(list)).remove(0);
        let mut out = Vec::new();
        p5.core.handle(p5.now, hello, &mut out);
        rejections.extend(out.into_iter().filter_map(|output| match output {
            Output::Reject { reason, .. } => Some(reason),
            _ => None,
        }));
    }
    let unknown = Rejection::UnknownId;
    let expected = [unknown(id(1)), Rejection::Removed(id(1)), unknown(id(1)), unknown(id(6))];
    assert_eq!(rejections, expected);
}

/// In the middle of an election, a member that is asked and then removed counts as dead.
#[test]
fn an_election_goes_on_without_who_is_removed_meanwhile() {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    p4.calls();
    assert_eq!(p4.core.phase(), Phase::Electing);
    let list = MemberList::new(version(1, 1), (1..=4).map(member).collect());
    hears(&mut p4, 3, Message::List { list: Arc::new(list) });
    assert_eq!(p4.core.phase(), Phase::Leading);

    let mut p4 = Process::new(AlgorithmKind::Ring, 4);
    let sent = p4.calls();
    assert_eq!(sent.first().map(|(to, _)| to.clone()), Some(vec![5]));
    let list = MemberList::new(version(1, 1), (1..=4).map(member).collect());
    let told = hears(&mut p4, 3, Message::List { list: Arc::new(list) });
    let ballot =
        |(to, message): &(Vec<u8>, Message)| to == &[1] && matches!(message, Message::Ballot(_));
    assert!(told.sent.iter().any(ballot), "{:?}", told.sent);
}
