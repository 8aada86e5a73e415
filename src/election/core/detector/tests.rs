//! The reports that a leader and its followers exchange.

use uuid::Uuid;

use super::*;
use crate::core::membership::ListVersion;
use crate::core::types::Role;

fn id(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(number))
}

fn list(numbers: &[u128]) -> Arc<MemberList> {
    let member = |number: &u128| Member {
        id: id(*number),
        name: format!("node-{number}"),
        address: format!("host-{number}:7101"),
        admin: None,
        role: Role::Member,
    };
    Arc::new(MemberList::new(ListVersion::default(), numbers.iter().map(member).collect()))
}

/// All are met and alive for member `own` of this list.
fn detector(own: u128, numbers: &[u128]) -> Detector {
    let mut detector = Detector::new(&list(numbers), id(own));
    for number in numbers {
        detector.hear(id(*number), Time(0));
    }
    detector
}

fn reports_of(leader: &mut Detector, own: u128) -> Arc<[MemberReport]> {
    let (incarnation, status) = (Incarnation(0), Liveness::Alive);
    leader.reports(MemberReport { id: id(own), incarnation, status, eligible: true, value: 0 })
}

#[test]
fn what_both_know_is_shared_until_one_knows_more() {
    let (mut leader, mut follower) = (detector(3, &[1, 2, 3]), detector(1, &[1, 2, 3]));
    let reports = reports_of(&mut leader, 3);
    assert_eq!(follower.news(&reports), []);
    assert!(Arc::ptr_eq(&follower.reports, &reports));

    leader.lose(id(2), Liveness::Suspected);
    let news = follower.news(&reports_of(&mut leader, 3));
    assert_eq!(news.iter().map(|report| report.id).collect::<Vec<_>>(), [id(2)]);
    assert!(follower.is_alive(id(2)), "until the word is taken");
    assert!(follower.hearsay(Epoch(1), &news[0]));
    assert_eq!(follower.news(&reports_of(&mut leader, 3)), []);
}

#[test]
fn a_leader_with_another_list_displaces_nobody() {
    let (mut leader, mut follower) = (detector(4, &[1, 3, 4]), detector(2, &[1, 2, 3, 4]));
    assert_eq!(follower.news(&reports_of(&mut leader, 4)), []);
    assert_eq!([1, 2, 3, 4].map(|number| follower.is_alive(id(number))), [true, false, true, true]);
}

/// Rule D5.
#[test]
fn the_leaders_word_about_an_older_run_counts_for_nothing() {
    let mut follower = detector(1, &[1, 2, 3]);
    follower.change(id(2), |peer| peer.process.incarnation = Incarnation(2));
    let report = |incarnation| {
        let (incarnation, status) = (Incarnation(incarnation), Liveness::Dead);
        MemberReport { id: id(2), incarnation, status, eligible: true, value: 0 }
    };
    assert!(!follower.hearsay(Epoch(1), &report(1)));
    assert!(follower.is_alive(id(2)), "another run of it died");
    assert!(follower.hearsay(Epoch(1), &report(2)));
    assert!(!follower.is_alive(id(2)));
}

/// Rule D5.
#[test]
fn the_leaders_word_revives_nobody_who_was_lost_and_cannot_be_told_anything() {
    let (mut leader, lost) = (detector(3, &[1, 2, 3]), || {
        let mut follower = detector(1, &[1, 2, 3]);
        follower.lose(id(2), Liveness::Suspected);
        follower
    });
    let reports = reports_of(&mut leader, 3);
    let report = lost().news(&reports)[0];
    assert_eq!((report.id, report.status), (id(2), Liveness::Alive));

    let mut follower = lost();
    follower.hearsay(Epoch(1), &report);
    assert!(!follower.is_alive(id(2)), "the link to it is dead");
    follower.change(id(2), |peer| peer.lines.set_up(true));
    follower.hearsay(Epoch(1), &report);
    assert!(follower.is_alive(id(2)));

    let mut follower = lost();
    follower.hearsay(Epoch(1), &MemberReport { incarnation: Incarnation(1), ..report });
    assert!(follower.is_alive(id(2)), "it was restarted, and may connect soon");
}

/// Rule D5.
#[test]
fn the_leaders_word_revives_nobody_again_who_was_never_met_and_did_not_come() {
    let mut follower = Detector::new(&list(&[1, 2, 3]), id(1));
    let (incarnation, status) = (Incarnation(4), Liveness::Alive);
    let report = MemberReport { id: id(2), incarnation, status, eligible: true, value: 0 };
    follower.hearsay(Epoch(1), &report);
    assert!(follower.is_alive(id(2)), "it may connect soon");
    follower.lose(id(2), Liveness::Suspected);
    follower.hearsay(Epoch(1), &report);
    assert!(!follower.is_alive(id(2)), "the link to it is dead");
    follower.hearsay(Epoch(1), &MemberReport { incarnation: Incarnation(5), ..report });
    assert!(follower.is_alive(id(2)), "it was restarted, and may connect soon");

    let mut follower = Detector::new(&list(&[1, 2, 3]), id(1));
    follower.change(id(2), |peer| peer.process.incarnation = incarnation);
    follower.hearsay(Epoch(1), &report);
    assert!(follower.is_alive(id(2)), "its number is known, and it may connect soon");
    follower.lose(id(2), Liveness::Suspected);
    follower.hearsay(Epoch(1), &report);
    assert!(!follower.is_alive(id(2)), "it was not heard meanwhile");
}

#[test]
fn who_could_be_told_nothing_is_passed_over_until_it_is_reached_however_often_it_falls_silent() {
    let (limit, mut detector) = (Duration::from_nanos(10), detector(1, &[1, 2]));
    let at = |detector: &mut Detector, now, heard| {
        let speak = |peer: &mut Peer| {
            peer.lines.accept(ConnectionId(1), String::new());
            peer.heard = Some(Time(heard));
        };
        detector.change(id(2), speak);
        detector.look_for_unreachable((limit, limit * 4), Time(now));
        detector.get(id(2)).is_some_and(|peer| peer.lines.is_unreachable())
    };
    assert!(!at(&mut detector, 0, 0));
    assert!(at(&mut detector, 10, 9));
    assert!(at(&mut detector, 50, 9), "it fell silent");
    assert!(at(&mut detector, 60, 60), "and is heard again");
    detector.change(id(2), |peer| peer.lines.set_up(true));
    assert!(!detector.get(id(2)).is_some_and(|peer| peer.lines.is_unreachable()), "it was reached");
}
