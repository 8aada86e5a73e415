//! A member whose rank exceeds the leader's by no more than the margin does not preempt.

use electd_election::core::Input;
use electd_election::core::message::Message;
use electd_election::core::settings::{AlgorithmKind, Margin, Quorum, RankKind, Settings};
use electd_election::core::types::{Epoch, Rank};

use super::process::{Process, Sent, TIMING, id, settings};

/// P2, ranked by its disk, follows P1, which leads with a rank of 1000.
fn p2_follows(algorithm: AlgorithmKind, quorum: Quorum) -> Process {
    let (rank, margin) = (RankKind::Disk, Margin::Percent(10));
    let settings = Settings { rank, margin, quorum, value: Some(1000), ..settings(algorithm, 2) };
    let mut p2 = Process::with(settings).0;
    announced(&mut p2);
    assert_eq!(p2.leader(), Some(id(1)));
    p2
}

fn announced(p2: &mut Process) -> Sent {
    let rank = Rank { value: 1000, id: id(1) };
    let mut sent = p2.hears(1, Message::Coordinator { epoch: Epoch(3), rank });
    sent.extend(p2.stores());
    sent
}

/// Its messages once its rank is this, and the leader has announced itself again.
fn with_rank(p2: &mut Process, value: i64) -> Sent {
    let mut sent = p2.take(Input::Sampled { value: Some(value) });
    sent.extend(announced(p2));
    sent
}

fn preempts(sent: &Sent) -> bool {
    let asks =
        |message: &Message| matches!(message, Message::Preempt { .. } | Message::PreVote { .. });
    sent.iter().any(|(_, message)| asks(message))
}

/// Rule H2.
#[test]
fn within_the_margin_the_leader_stays() {
    for algorithm in [AlgorithmKind::Bully, AlgorithmKind::Ring] {
        for quorum in Quorum::ALL {
            let mut p2 = p2_follows(algorithm, quorum);
            assert!(!preempts(&with_rank(&mut p2, 1100)), "{algorithm:?} {quorum:?}");
            assert_eq!(p2.leader(), Some(id(1)));
        }
    }
}

#[test]
fn beyond_it_the_leader_is_asked_to_hand_over() {
    for algorithm in [AlgorithmKind::Bully, AlgorithmKind::Ring] {
        for quorum in Quorum::ALL {
            let mut p2 = p2_follows(algorithm, quorum);
            assert!(preempts(&with_rank(&mut p2, 1101)), "{algorithm:?} {quorum:?}");
        }
    }
}

/// Rule H2.
#[test]
fn once_the_leader_is_gone_the_greatest_rank_leads_however_little_greater() {
    let mut p2 = p2_follows(AlgorithmKind::Bully, Quorum::None);
    with_rank(&mut p2, 1001);
    [3, 4, 5, 1].into_iter().for_each(|other| drop(p2.loses(other)));
    p2.after(TIMING.t1());
    p2.stores();
    assert_eq!(p2.leader(), Some(id(2)));
}

#[test]
fn an_election_that_an_operator_calls_asks_a_leader_within_the_margin() {
    let mut p2 = p2_follows(AlgorithmKind::Bully, Quorum::None);
    with_rank(&mut p2, 1001);
    assert!(preempts(&p2.calls()));
}
