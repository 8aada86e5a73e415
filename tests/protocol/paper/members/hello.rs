//! The members that are admitted: a hello carries the list.

use std::sync::Arc;
use std::time::Duration;

use electd_election::core::detector::Peer;
use electd_election::core::membership::{Member, MemberList};
use electd_election::core::message::{Agreement, Hello, Rejection, View};
use electd_election::core::settings::{AlgorithmKind, PowerOn, Quorum, Settings};
use electd_election::core::types::{Epoch, Role};
use electd_election::core::{CommandId, Input, OperatorCommand, Output, Phase};

use super::{
    ask, disk, hears, leader, list, lists, numbers, remove, says_hello, tell, tells, version,
};
use crate::paper::process::{Process, TIMING, id, rank, settings};

fn stranger() -> Option<Rejection> {
    Some(Rejection::UnknownId(id(6)))
}

/// P5 tells its list, which is taken.
fn tell_list(process: &mut Process, list: &Arc<MemberList>) {
    hears(process, 5, tells(list));
    assert_eq!(process.core.members(), list);
}

/// Rule M8.
#[test]
fn who_is_refused_as_removed_leaves_and_who_is_unknown_goes_on_trying() {
    let mut p3 = Process::alone(settings(AlgorithmKind::Bully, 3));
    let (peer, own) = (id(4), id(3));
    tell(&mut p3, Input::Rejected { peer, reason: Rejection::UnknownId(own) });
    assert_eq!(
        tell(&mut p3, Input::Command { id: CommandId(1), command: OperatorCommand::Elect }).sent,
        []
    );
    assert_eq!(p3.core.phase(), Phase::Starting, "it does not lead a cluster of its own");
    tell(&mut p3, Input::Rejected { peer, reason: Rejection::Removed(own) });
    assert_eq!(p3.core.phase(), Phase::Stopping);
}

/// P3 as it starts without a majority, for some time, while P4 refuses it again and again for this.
fn refused_from_the_start(reason: &Rejection, reached: Option<u8>) -> Process {
    let power_on = PowerOn::Elect;
    let mut p3 = Process::alone(Settings { power_on, ..settings(AlgorithmKind::Bully, 3) });
    if let Some(number) = reached {
        p3.meets(number);
    }
    for _ in 0..64 {
        p3.take(Input::Rejected { peer: id(4), reason: reason.clone() });
        p3.after(TIMING.heartbeat);
        p3.stores();
    }
    p3
}

/// `electd init` ran on each host, or the files differ otherwise: each host answers, and each would lead. (M8)
#[test]
fn who_is_refused_by_all_that_answer_does_not_lead_whatever_the_reason() {
    let text = |text: &str| text.to_owned();
    for reason in [
        Rejection::WrongAddress { expected: id(4), found: id(9) },
        Rejection::OwnId(id(3)),
        Rejection::UnknownId(id(3)),
        Rejection::Protocol { ours: 9, theirs: 5 },
        Rejection::Cluster { ours: text("other"), theirs: text("test") },
        Rejection::Disagreement { key: text("tls"), ours: text("on"), theirs: text("off") },
    ] {
        let mut p3 = refused_from_the_start(&reason, None);
        assert_eq!((p3.core.phase(), p3.leader()), (Phase::Starting, None), "{reason:?}");
        // The peer is gone: one survivor is enough. It stays so, also after a pause, though the peer is back.
        let mut later = |refused: bool, time: Duration| {
            for _ in 0..20 {
                if refused {
                    p3.take(Input::Rejected { peer: id(4), reason: reason.clone() });
                }
                p3.after(TIMING.heartbeat);
                p3.stores();
            }
            p3.after(time);
            p3.leader()
        };
        assert_eq!(later(false, Duration::ZERO), Some(id(3)), "{reason:?}");
        if !matches!(reason, Rejection::UnknownId(_)) {
            later(true, TIMING.failure * 2);
            assert_eq!(later(true, Duration::ZERO), Some(id(3)), "it has led already: {reason:?}");
        }
        let among_others = refused_from_the_start(&reason, Some(2));
        assert_eq!(among_others.leader(), Some(id(3)), "it reaches a member: {reason:?}");
    }
}

/// As if each host had an authority of its own: no hello is said. (M8)
#[test]
fn who_trusts_nobody_that_answers_does_not_lead_either() {
    let power_on = PowerOn::Elect;
    let mut p3 = Process::alone(Settings { power_on, ..settings(AlgorithmKind::Bully, 3) });
    let later = |p3: &mut Process, refused: bool| {
        for _ in 0..20 {
            if refused {
                p3.take(Input::Untrusted { peer: id(4) });
            }
            p3.after(TIMING.heartbeat);
            p3.stores();
        }
        (p3.core.phase(), p3.leader())
    };
    assert_eq!(later(&mut p3, true), (Phase::Starting, None));
    assert_eq!(later(&mut p3, false), (Phase::Leading, Some(id(3))), "the peer is gone");
    assert_eq!(later(&mut p3, true), (Phase::Leading, Some(id(3))), "it has led already");
}

/// P3 is the last voter of a list that was changed, and P1, an observer, has missed that it was added. P3
/// knows that it belongs to the cluster, and leads. (M8)
#[test]
fn who_was_added_leads_although_the_only_other_member_does_not_know_it() {
    let mut left: Vec<Member> = list(version(0, 4), &[1, 3]).iter().cloned().collect();
    left[0].role = Role::Observer;
    let members = MemberList::new(version(0, 4), left).with_removed(vec![id(2)]);
    let (quorum, power_on) = (Quorum::Majority, PowerOn::Elect);
    let file = settings(AlgorithmKind::Bully, 3);
    let members = Arc::new(members);
    let mut p3 = Process::alone(Settings { quorum, members, power_on, ..file });
    let refusal = Input::Rejected { peer: id(1), reason: Rejection::UnknownId(id(3)) };
    for _ in 0..8 {
        p3.take(refusal.clone());
        p3.after(TIMING.failure / 4);
        p3.stores();
    }
    assert_eq!(p3.leader(), Some(id(3)));
}

/// A member tells a removed peer so if it has stored the removal and the peer's list is older;
/// otherwise the peer is a stranger.
#[test]
fn a_hello_of_a_removed_member_is_answered_so() {
    let mut p5 = leader(Quorum::None);
    ask(&mut p5, remove(1, false));
    let refused = |p5: &mut Process, number, version| {
        let list = Arc::new(p5.core.members().stamped(version));
        says_hello(p5, number, &list).expect("it is no member")
    };
    let unknown = Rejection::UnknownId;
    assert_eq!(refused(&mut p5, 1, version(0, 0)), unknown(id(1)), "not stored yet");
    disk(&mut p5);
    assert_eq!(refused(&mut p5, 1, version(0, 0)), Rejection::Removed(id(1)));
    assert_eq!(refused(&mut p5, 1, version(9, 1)), unknown(id(1)), "added anew, it may be");
    assert_eq!(refused(&mut p5, 6, version(0, 0)), unknown(id(6)));
}

/// "Every hello carries the whole list. Without a majority, a node that was away while a newcomer was
/// added learns of the newcomer even if only the newcomer is left to say so." With a majority it learns
/// of the newcomer from the members that it knows.
#[test]
fn a_stranger_with_a_newer_list_that_names_both_is_let_in_without_a_majority() {
    for (quorum, refused) in [(Quorum::None, None), (Quorum::Majority, stranger())] {
        let settings = Settings { quorum, ..settings(AlgorithmKind::Bully, 3) };
        let mut p3 = Process::alone(settings);
        let newer = list(version(1, 1), &[1, 2, 3, 4, 5, 6]);
        assert_eq!(says_hello(&mut p3, 6, &newer), refused);
        assert_eq!(*p3.core.members() == newer, refused.is_none());
    }
}

/// Neither with an older list, nor with a newer one in which the receiver or the stranger itself is
/// not.
#[test]
fn a_stranger_with_another_list_stays_one() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    tell_list(&mut p3, &list(version(1, 2), &[1, 2, 3, 4, 5]));
    let all = [1, 2, 3, 4, 5, 6];
    let mut strange = vec![list(version(1, 1), &all), list(version(0, 9), &all)];
    strange.push(list(version(1, 3), &[1, 2, 4, 5, 6]));
    strange.push(list(version(1, 3), &[1, 2, 3, 4, 5, 7]));
    for strange in strange {
        assert_eq!(says_hello(&mut p3, 6, &strange), stranger(), "{strange:?}");
        assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
    }
    assert_eq!(says_hello(&mut p3, 6, &list(version(1, 3), &all)), None);
}

/// "A new cluster begins with the members of the file. From the first change on, the list that the
/// nodes have stored counts": no other file is newer than one, nor than a list.
#[test]
fn the_list_of_a_file_never_replaces_another() {
    let changed = list(version(1, 1), &[1, 2, 3, 4, 5]);
    let file = list(version(0, 0), &[1, 2, 3, 4, 5]);
    for own in [file, changed] {
        let mut p3 = Process::new(AlgorithmKind::Bully, 3);
        hears(&mut p3, 5, tells(&own));
        for epoch in [0, 9] {
            for others in [&[1, 2, 3, 4, 5, 6][..], &[1, 2, 3, 4, 6]] {
                let other = list(version(epoch, 0), others);
                assert_eq!(says_hello(&mut p3, 6, &other), stranger());
                hears(&mut p3, 4, tells(&other));
                assert_eq!(*p3.core.members(), own, "{other:?}");
            }
        }
    }
}

/// A reason that keeps two members from talking also keeps a list from being taken.
#[test]
fn the_list_of_another_cluster_is_not_taken() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    let newer = list(version(1, 1), &[1, 2, 3, 4, 5, 6]);
    let Some(Input::Hello { connection, address, hello }) = p3.hello(6, &newer).into_iter().next()
    else {
        panic!("who dials says hello");
    };
    let agreement = Agreement { cluster: "another".into(), ..(*hello.agreement).clone() };
    let hello = Hello { agreement: Arc::new(agreement), ..hello };
    p3.outputs(Input::Hello { connection, address, hello });
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
}

/// Nor does a member that has left its tenure for good take any.
#[test]
fn a_stopping_member_lets_no_stranger_in() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.take(Input::Command { id: CommandId(1), command: OperatorCommand::Stop });
    let newer = list(version(1, 1), &[1, 2, 3, 4, 5, 6]);
    assert_eq!(says_hello(&mut p3, 6, &newer), stranger());
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
}

/// A leader does not take the list of a stranger either, nor does it stamp its own anew: "a refused hello
/// changes nothing".
#[test]
fn a_leader_refuses_a_stranger_with_a_list_of_its_epoch_and_goes_on() {
    let mut p5 = leader(Quorum::None);
    let newer = list(version(1, 3), &[1, 2, 3, 4, 5, 6]);
    let hello = p5.hello(6, &newer).remove(0);
    assert_eq!(lists(&tell(&mut p5, hello).sent), []);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
    assert_eq!(says_hello(&mut p5, 6, &newer), stranger());
}

/// No other member hears a stranger in a later epoch, so the leader takes its list first.
#[test]
fn a_leader_takes_the_list_of_a_stranger_that_is_in_a_later_epoch() {
    let mut p5 = leader(Quorum::None);
    let newer = list(version(4, 3), &[1, 2, 3, 4, 5, 6]);
    let Input::Hello { connection, address, hello } = p5.hello(6, &newer).remove(0) else {
        panic!("no hello")
    };
    let view = View { epoch: Epoch(4), leader: None };
    p5.outputs(Input::Hello { connection, address, hello: Hello { view, ..hello } });
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5, 6]);
    assert_eq!((p5.core.phase(), p5.core.view().epoch), (Phase::Leading, Epoch(5)));
}

/// It heeds a third one so soon no more (S2). A stranger that was let in all the same would count as connected, and be
/// heard by nobody once a list that names it has come.
#[test]
fn a_leader_lets_no_stranger_in_whose_list_it_does_not_take() {
    let mut p5 = leader(Quorum::None);
    for (number, refused) in [(6, None), (7, None), (8, Some(Rejection::UnknownId(id(8))))] {
        let epoch = 2 * u64::from(number);
        let later = list(version(epoch, 1), &[1, 2, 3, 4, 5, number]);
        assert_eq!(says_hello(&mut p5, number, &later), refused, "P{number}");
        assert_eq!(numbers(&p5).contains(&number), refused.is_none());
    }
}

/// A stopping one takes none.
#[test]
fn a_stopping_member_takes_no_list_from_a_hello() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.take(Input::Command { id: CommandId(1), command: OperatorCommand::Stop });
    says_hello(&mut p3, 4, &list(version(1, 1), &[1, 2, 3, 4, 5, 6]));
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
}

/// A leader that removed itself says hello until another member has stored that: nobody follows it
/// again.
#[test]
fn a_leader_that_is_in_its_own_list_no_more_is_not_followed() {
    let mut p3 = Process::alone(settings(AlgorithmKind::Bully, 3));
    let list = list(version(1, 1), &[1, 2, 3, 4]);
    let Some(Input::Welcomed { welcome, peer }) = p3.hello(5, &list).pop() else {
        panic!("no welcome")
    };
    let view = View { epoch: Epoch(1), leader: Some(rank(5)) };
    p3.take(Input::Welcomed { peer, welcome: Hello { view, ..welcome } });
    assert_eq!(numbers(&p3), [1, 2, 3, 4]);
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Starting, None));
}

/// A wrong address in a file: the member reached instead keeps the true connection of the dialer.
#[test]
fn a_hello_that_is_meant_for_another_is_refused() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    let own = p3.core.members().clone();
    let Input::Hello { connection, address, hello } = p3.hello(4, &own).remove(0) else {
        panic!("no hello")
    };
    let hello = Hello { to: id(2), ..hello };
    let outputs = p3.outputs(Input::Hello { connection, address, hello });
    let reason = Rejection::WrongAddress { expected: id(2), found: id(3) };
    assert_eq!(outputs.first(), Some(&Output::Reject { connection, reason }));
    assert!(p3.core.detector().get(id(4)).is_some_and(Peer::connected));
}
