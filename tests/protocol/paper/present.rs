//! A leader tells its present rank with its heartbeats, and members preempt it by that one.

use electd_election::core::message::{Heartbeat, Liveness, MemberReport, Message};
use electd_election::core::settings::{AlgorithmKind, Margin, Preempt, Quorum, RankKind, Settings};
use electd_election::core::types::{Epoch, Incarnation, Rank};
use electd_election::core::{Input, Phase};

use super::process::{
    Process, Sent, TIMING, comes_to_lead, heartbeat_of, hello_of, id, releases, settings,
};

/// A member of a cluster that is ranked by disks.
fn by_disk(algorithm: AlgorithmKind, number: u8, value: i64) -> Settings {
    let (rank, margin) = (RankKind::Disk, Margin::Percent(10));
    Settings { rank, margin, value: Some(value), ..settings(algorithm, number) }
}

/// P1 was elected with 1000, and has this rank now.
fn heartbeat(present: i64) -> Message {
    let report = MemberReport {
        id: id(1),
        incarnation: Incarnation(1),
        status: Liveness::Alive,
        eligible: true,
        value: present,
    };
    let rank = Rank { value: 1000, id: id(1) };
    Message::Heartbeat(Heartbeat { rank, members: [report].into(), ..heartbeat_of(1, 3, 1) })
}

/// P2 has this rank and follows P1, which was elected with 1000.
fn p2_follows(algorithm: AlgorithmKind, quorum: Quorum, preempt: Preempt, value: i64) -> Process {
    let settings = Settings { quorum, preempt, ..by_disk(algorithm, 2, value) };
    let mut p2 = Process::with(settings).0;
    if algorithm == AlgorithmKind::Halting {
        let leads = comes_to_lead(algorithm, 3, Rank { value: 1000, id: id(1) });
        leads.into_iter().for_each(|message| drop(p2.hears(1, message)));
    }
    p2.hears(1, heartbeat(1000));
    p2.stores();
    assert_eq!(p2.leader(), Some(id(1)));
    p2
}

fn asks(sent: &Sent) -> bool {
    let asks =
        |message: &Message| matches!(message, Message::Preempt { .. } | Message::PreVote { .. });
    sent.iter().any(|(_, message)| asks(message))
}

/// P1 leads by itself, elected with 1000.
fn p1_leads() -> Process {
    let mut p1 = Process::with(by_disk(AlgorithmKind::Bully, 1, 1000)).0;
    [2, 3, 4, 5].into_iter().for_each(|other| drop(p1.loses(other)));
    p1.calls();
    p1.stores();
    assert_eq!(p1.core.phase(), Phase::Leading);
    [2, 3, 4, 5].into_iter().for_each(|other| drop(p1.meets(other)));
    p1
}

fn sampled(p1: &mut Process, value: Option<i64>) {
    p1.take(Input::Sampled { value });
}

/// P2 of this rank asks P1 to hand over.
fn p2_preempts(p1: &mut Process, value: i64) -> Sent {
    let (epoch, rank) = (p1.core.view().epoch, Rank { value, id: id(2) });
    p1.hears(2, Message::Preempt { epoch, rank, votes: Vec::new() })
}

/// The rank that P1 was elected with and its present one, as it tells them.
fn ranks_shown(p1: &mut Process) -> (i64, i64) {
    let sent = p1.after(TIMING.heartbeat);
    let shown = sent.iter().find_map(|(_, message)| match message {
        Message::Heartbeat(Heartbeat { rank, members, .. }) => {
            let own = members.iter().find(|report| report.id == id(1));
            Some((rank.value, own.expect("it reports itself").value))
        }
        _ => None,
    });
    shown.expect("it leads")
}

/// Rule H2.
#[test]
fn a_leader_tells_what_it_was_elected_with_and_what_it_ranks_now() {
    let mut p1 = p1_leads();
    assert_eq!(ranks_shown(&mut p1), (1000, 1000));
    sampled(&mut p1, Some(700));
    assert_eq!(ranks_shown(&mut p1), (1000, 700));
    sampled(&mut p1, None);
    assert_eq!(ranks_shown(&mut p1), (1000, 1000), "nobody knows any better");
}

/// Rule H2.
#[test]
fn a_member_takes_over_from_a_leader_whose_rank_fell_by_more_than_the_margin() {
    for algorithm in AlgorithmKind::ALL {
        for quorum in Quorum::ALL {
            let mut p2 = p2_follows(algorithm, quorum, Preempt::Always, 900);
            assert!(!asks(&p2.hears(1, heartbeat(819))), "within it: {algorithm:?} {quorum:?}");
            assert_eq!(p2.leader(), Some(id(1)));
            assert!(asks(&p2.hears(1, heartbeat(818))), "{algorithm:?} {quorum:?}");
        }
    }
}

#[test]
fn where_nobody_preempts_the_leader_stays_however_far_its_rank_falls() {
    for quorum in Quorum::ALL {
        let mut p2 = p2_follows(AlgorithmKind::Bully, quorum, Preempt::Never, 900);
        assert!(!asks(&p2.hears(1, heartbeat(1))));
    }
}

#[test]
fn a_leader_whose_rank_rose_is_not_asked() {
    for quorum in Quorum::ALL {
        let mut p2 = p2_follows(AlgorithmKind::Bully, quorum, Preempt::Always, 900);
        p2.hears(1, heartbeat(2000));
        assert!(!asks(&p2.take(Input::Sampled { value: Some(1500) })), "{quorum:?}");
        assert!(!asks(&p2.hears(1, heartbeat(2000))), "{quorum:?}");
        assert!(asks(&p2.hears(1, heartbeat(1300))), "{quorum:?}");
    }
}

#[test]
fn a_member_that_asked_follows_again_if_the_leaders_rank_rises_meanwhile() {
    let mut p2 = p2_follows(AlgorithmKind::Bully, Quorum::None, Preempt::Always, 900);
    assert!(asks(&p2.hears(1, heartbeat(500))));
    assert_eq!(p2.leader(), None);
    p2.hears(1, heartbeat(1000));
    assert_eq!(p2.leader(), Some(id(1)));
}

#[test]
fn what_an_earlier_leadership_told_counts_no_more() {
    let mut p2 = p2_follows(AlgorithmKind::Bully, Quorum::None, Preempt::Always, 900);
    p2.hears(1, heartbeat(850));
    let rank = Rank { value: 1000, id: id(1) };
    assert!(!asks(&p2.hears(1, Message::Coordinator { epoch: Epoch(5), rank })));
    p2.stores();
    assert!(!asks(&p2.take(Input::Sampled { value: Some(1050) })), "850 was before");
    assert_eq!(p2.leader(), Some(id(1)));
}

/// Rule H2.
#[test]
fn a_leader_hands_over_to_whoever_exceeds_its_present_rank() {
    let mut p1 = p1_leads();
    assert!(!releases(&p2_preempts(&mut p1, 900)));
    sampled(&mut p1, Some(950));
    assert!(!releases(&p2_preempts(&mut p1, 900)));
    sampled(&mut p1, Some(700));
    assert!(releases(&p2_preempts(&mut p1, 900)));
    assert_eq!(p1.core.rank().value, 700, "or it would overrule P2 in the election");
}

/// Rule H2.
#[test]
fn a_leader_whose_rank_rose_keeps_its_leadership() {
    let mut p1 = p1_leads();
    sampled(&mut p1, Some(2000));
    let sent = p2_preempts(&mut p1, 1500);
    assert!(!releases(&sent) && p1.core.phase() == Phase::Leading);
    assert!(matches!(sent[..], [(_, Message::View(_))]), "{sent:?}");
}

#[test]
fn a_member_that_joins_learns_the_present_rank_from_the_hello() {
    for (present, takes_over) in [(800, true), (2000, false)] {
        let settings = by_disk(AlgorithmKind::Bully, 2, 1500);
        let mut p2 = Process::with(settings.clone()).0;
        let mut hello = hello_of(1, &settings);
        hello.view.epoch = Epoch(3);
        hello.view.leader = Some(Rank { value: 1000, id: id(1) });
        hello.rank.value = present;
        let (connection, address) = (super::process::connection(1), String::new());
        let sent = p2.take(Input::Hello { connection, address, hello });
        assert_eq!(asks(&sent), takes_over, "{sent:?}");
    }
}
