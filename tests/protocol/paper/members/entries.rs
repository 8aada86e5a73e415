//! The leader gives members other names and addresses.

use electd_election::core::membership::Member;
use electd_election::core::message::{Done, Hello, Refusal, Taken};
use electd_election::core::protocol::Protocols;
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_election::core::types::Role;
use electd_election::core::{Input, Output};

use super::{
    MembershipChange, ask, disk, hears, leader, list, listed, lists, member, numbers, tells,
    version,
};
use crate::paper::process::{Process, connection, hello_of, id, settings};

/// P1 to P5 at other hosts.
fn moved(number: u8) -> Member {
    Member { address: format!("other-{number}:7101"), ..member(number) }
}

fn addresses(process: &Process) -> Vec<String> {
    process.core.members().iter().map(|member| member.address.clone()).collect()
}

/// Rule M11.
#[test]
fn all_members_get_other_addresses_in_one_change_and_the_voters_stay() {
    let mut p5 = leader(Quorum::Majority);
    let all: Vec<Member> = (1..=5).map(moved).collect();
    ask(&mut p5, MembershipChange::Set(all.clone()));
    disk(&mut p5);
    hears(&mut p5, 1, listed(1, 1));
    let made = hears(&mut p5, 2, listed(1, 1));
    assert_eq!(lists(&made.sent), [(vec![1, 2, 3, 4], version(1, 2))]);
    assert_eq!(numbers(&p5), [1, 2, 3, 4, 5]);
    let other = |number: u8| format!("other-{number}:7101");
    assert_eq!(addresses(&p5), [1, 2, 3, 4, 5].map(other));
    disk(&mut p5);
    assert_eq!(hears(&mut p5, 1, listed(1, 2)).answers, [], "two of five have stored it");
    assert_eq!(hears(&mut p5, 2, listed(1, 2)).answers, [Ok(Done::Set)]);
    let again = ask(&mut p5, MembershipChange::Set(all));
    assert_eq!((again.answers, lists(&again.sent)), (vec![Ok(Done::Set)], vec![]), "it is so");
}

/// Rule M11.
#[test]
fn what_would_be_another_member_or_share_a_name_or_an_address_is_refused() {
    for quorum in [Quorum::None, Quorum::Majority] {
        let mut p5 = leader(quorum);
        let named = |name: &str| Member { name: name.to_owned(), ..member(1) };
        let taken = |what| Refusal::Taken { what, by: id(2) };
        let admin = Member { admin: Some(member(2).address), ..member(1) };
        for (entry, why) in [
            (moved(6), Refusal::NotMember(id(6))),
            (Member { role: Role::Witness, ..member(1) }, Refusal::RoleStays(id(1))),
            (named("P2"), taken(Taken::Name)),
            (Member { address: member(2).address, ..member(1) }, taken(Taken::Address)),
            (admin, taken(Taken::Admin)),
        ] {
            let before = p5.core.members().clone();
            assert_eq!(ask(&mut p5, MembershipChange::Set(vec![entry])).answers, [Err(why)]);
            assert_eq!(*p5.core.members(), before);
        }
    }
}

/// Rule M11.
#[test]
fn two_members_may_swap_their_addresses() {
    let mut p5 = leader(Quorum::None);
    let [one, two] =
        [(1, 2), (2, 1)].map(|(of, at)| Member { address: member(at).address, ..member(of) });
    ask(&mut p5, MembershipChange::Set(vec![one, two]));
    assert_eq!(disk(&mut p5).answers, [Ok(Done::Set)]);
    assert_eq!(addresses(&p5)[..2], ["host-2:7101", "host-1:7101"]);
}

/// Rule M11.
#[test]
fn a_live_member_of_an_earlier_version_has_to_be_upgraded_first() {
    let mut p5 = leader(Quorum::None);
    let protocols = Protocols { lowest: 5, highest: 7 };
    let hello = Hello { protocols, ..hello_of(3, p5.core.settings()) };
    let address = String::new();
    p5.take(Input::Hello { connection: connection(3), address, hello });
    let answers = ask(&mut p5, MembershipChange::Set(vec![moved(1)])).answers;
    assert_eq!(answers, [Err(Refusal::OldMember(id(3)))]);
    p5.loses(3);
    ask(&mut p5, MembershipChange::Set(vec![moved(1)]));
    assert_eq!(disk(&mut p5).answers, [Ok(Done::Set)], "it takes the list when it is back");
}

/// Rule M11. Without a majority: P6 was added, and the address of P3 changed, while P3 was away; P6 is the only one that is
/// left to say so.
#[test]
fn a_member_whose_entry_changed_while_it_was_away_learns_that_from_whoever_is_left() {
    let mut p3 = Process::alone(settings(AlgorithmKind::Bully, 3));
    for other in [1, 2] {
        p3.meets(other);
    }
    hears(&mut p3, 1, tells(&list(version(1, 1), &[1, 2, 3, 4, 5])));
    let later = list(version(1, 2), &[1, 2, 3, 4, 5, 6]);
    let later =
        std::sync::Arc::new(later.changed(version(1, 3), &MembershipChange::Set(vec![moved(3)])));
    let hello = Hello { list: later, ..hello_of(6, p3.core.settings()) };
    let out = p3.outputs(Input::Hello { connection: connection(6), address: String::new(), hello });
    assert!(out.iter().any(|output| matches!(output, Output::Welcome { .. })), "{out:?}");
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5, 6]);
    assert_eq!(addresses(&p3)[2], "other-3:7101");
}
