//! What a leader and those who follow it tell each other of the members.

use uuid::Uuid;

use super::*;
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

fn told_by(leader: &mut Detector, own: u128) -> Arc<[MemberReport]> {
    let (incarnation, status) = (Incarnation(0), Liveness::Alive);
    leader.reports(MemberReport { id: id(own), incarnation, status, stands: true, value: 0 })
}

#[test]
fn what_both_know_is_shared_until_one_knows_more() {
    let (mut leader, mut follower) = (detector(3, &[1, 2, 3]), detector(1, &[1, 2, 3]));
    let told = told_by(&mut leader, 3);
    assert_eq!(follower.news(&told), []);
    assert!(Arc::ptr_eq(&follower.reports, &told));

    leader.lose(id(2), Liveness::Suspected);
    let news = follower.news(&told_by(&mut leader, 3));
    assert_eq!(news.iter().map(|report| report.id).collect::<Vec<_>>(), [id(2)]);
    assert!(follower.is_alive(id(2)), "until the word is taken");
    assert!(follower.hearsay(Epoch(1), &news[0]));
    assert_eq!(follower.news(&told_by(&mut leader, 3)), []);
}

#[test]
fn a_leader_with_another_list_displaces_nobody() {
    let (mut leader, mut follower) = (detector(4, &[1, 3, 4]), detector(2, &[1, 2, 3, 4]));
    assert_eq!(follower.news(&told_by(&mut leader, 4)), []);
    assert_eq!([1, 2, 3, 4].map(|number| follower.is_alive(id(number))), [true, false, true, true]);
}

#[test]
fn the_leaders_word_revives_nobody_who_was_lost_and_cannot_be_told_anything() {
    let (mut leader, lost) = (detector(3, &[1, 2, 3]), || {
        let mut follower = detector(1, &[1, 2, 3]);
        follower.lose(id(2), Liveness::Suspected);
        follower
    });
    let told = told_by(&mut leader, 3);
    let report = lost().news(&told)[0];
    assert_eq!((report.id, report.status), (id(2), Liveness::Alive));

    let mut follower = lost();
    follower.hearsay(Epoch(1), &report);
    assert!(!follower.is_alive(id(2)), "the link to it is dead");
    follower.change(id(2), |peer| peer.outbound = true);
    follower.hearsay(Epoch(1), &report);
    assert!(follower.is_alive(id(2)));

    let mut follower = lost();
    follower.hearsay(Epoch(1), &MemberReport { incarnation: Incarnation(1), ..report });
    assert!(follower.is_alive(id(2)), "it was restarted, and may connect soon");
}
