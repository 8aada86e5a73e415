//! The words themselves: an operator reads them, and does what they say.

use uuid::Uuid;

use super::*;
use crate::core::membership::{ListVersion, Member, MembershipChange};
use crate::core::message::Taken;
use crate::core::types::Role;
use crate::node::status::PauseStatus;

/// The id of the member of this number.
pub fn id(number: u128) -> NodeId {
    NodeId(Uuid::from_u128(number))
}

/// The members a, b and c, of the numbers 1, 2 and 3.
pub fn members() -> MemberList {
    let member = |(number, name): (u128, &str)| Member {
        id: id(number),
        name: name.to_owned(),
        address: format!("{name}:7100"),
        admin: None,
        role: Role::Member,
    };
    MemberList::new(ListVersion::default(), [(1, "a"), (2, "b"), (3, "c")].map(member).to_vec())
}

#[test]
fn a_leader_that_is_to_lead_hears_whether_that_lasts() {
    let answer = |preempt: &str, switchover: Option<&str>| {
        let (preempt, switchover) = (preempt.to_owned(), switchover.map(str::to_owned));
        leads_already("c", &Status { preempt, switchover, ..Status::default() })
    };
    let lasts = "c leads already; nothing changed, and a member that ranks higher may still preempt it (a pause \
                 prevents that)";
    assert_eq!(answer("always", None), lasts);
    assert_eq!(answer("after 30s", Some("b")), lasts);
    assert_eq!(answer("never", None), "c leads already; nothing changed");
    let pause = Some(PauseStatus { since: String::new(), until: None });
    let paused = leads_already("c", &Status { pause, ..Status::default() });
    assert_eq!(paused, "c leads already; nothing changed");
    let chosen = "c leads already, by a switchover; nothing changed";
    assert_eq!(answer("always", Some("c")), chosen);
    assert_eq!(answer("never", Some("c")), chosen);
}

/// Whoever hears that a command was refused relies on it that nothing has changed.
#[test]
fn a_command_of_which_the_outcome_is_not_known_is_not_called_refused() {
    let [a, b, c] = [1, 2, 3].map(id);
    let refusals = [
        Refusal::NoLeader,
        Refusal::NotLeader,
        Refusal::NoSuccessor,
        Refusal::LastEligible,
        Refusal::Undecided,
        Refusal::CannotLead(b),
        Refusal::Outranked { to: a, by: b },
        Refusal::Switching(b),
        Refusal::NotTaken(b),
        Refusal::OldLeader(c),
        Refusal::TooMany,
        Refusal::NoReply,
        Refusal::Stopping,
        Refusal::NoTask,
        Refusal::NotCoordinator(Some(c)),
        Refusal::NotCoordinator(None),
        Refusal::TaskTooLong(70_000),
        Refusal::Taken { what: Taken::Name, by: b },
        Refusal::WasRemoved(id(9)),
        Refusal::ListFull,
        Refusal::NotMember(b),
        Refusal::RoleStays(b),
        Refusal::OldMember(b),
        Refusal::ChangeUnderWay,
        Refusal::LosesQuorum { live: 1, needed: 2 },
        Refusal::LastCandidate,
        Refusal::LastMember,
        Refusal::ListNotConfirmed,
        Refusal::NotStoredYet,
        Refusal::ChangeUnsure,
        Refusal::HandedOver,
    ];
    let told = refusals.map(|reason| match refusal(&reason, "draining it", &members()) {
        CommandError::Refused(words) => format!("refused: {words}"),
        CommandError::NotNow(words) => format!("not now: {words}"),
        CommandError::Unanswered(words) => format!("not known: {words}"),
        CommandError::Invalid(words) => format!("wrong: {words}"),
    });
    insta::assert_snapshot!("refusals", told.join("\n"));
}

#[test]
fn a_rejected_hello_is_told_with_what_differs_and_what_to_do() {
    let [ours, theirs] = ["x", "y"].map(str::to_owned);
    let (key, address) = ("preempt".to_owned(), "10.0.0.2:40000".to_owned());
    let lost = |known| Rejection::StateLost { id: id(2), known, told: Incarnation(3) };
    let limit = Rejection::Beyond { key: "round".to_owned(), most: 7, told: 9 };
    let rejections = [
        Rejection::Protocol { ours: 7, theirs: 5 },
        Rejection::Cluster { ours: ours.clone(), theirs: theirs.clone() },
        Rejection::UnknownId(id(9)),
        Rejection::Removed(id(2)),
        Rejection::OwnId(id(2)),
        Rejection::IdInUse { id: id(2), address },
        lost(Incarnation(5)),
        lost(Incarnation::LOST),
        Rejection::Disagreement { key, ours, theirs },
        limit,
        Rejection::WrongAddress { expected: id(2), found: id(3) },
    ];
    let told = rejections.map(|reason| rejection(&reason, &members()));
    insta::assert_snapshot!("rejections", told.join("\n"));
}

#[test]
fn a_command_says_what_it_would_have_done_to_the_last_leader() {
    let change = MembershipChange::Remove { id: id(1), force: false };
    let drain = Drain { since: 0, until: None, reason: String::new() };
    let orders = [
        (OperatorCommand::Drain(drain.clone()), "draining it"),
        (Forwarded::Drain(drain).into(), "draining it"),
        (Forwarded::Change(change).into(), "removing it"),
        (Forwarded::Resign { to: None }.into(), "resigning"),
    ];
    for (order, words) in orders {
        assert_eq!(act(&order), words);
    }
}

#[test]
fn who_drains_a_drained_member_hears_since_when_and_until_when_it_is() {
    let again = |until, reason: &str| {
        drained_again(&OperatorCommand::Drain(Drain {
            since: 1000,
            until,
            reason: reason.to_owned(),
        }))
    };
    let begin = "; it was drained already, since 1970-01-01T00:00:01.000Z, and stays so until ";
    assert_eq!(again(None, ""), Some(format!("{begin}it is undrained")));
    let all = format!("{begin}1970-01-01T00:00:02.000Z: new disk");
    assert_eq!(again(Some(2000), "new disk"), Some(all));
    assert_eq!(drained_again(&OperatorCommand::Undrain), None);
}

#[test]
fn who_was_removed_meanwhile_has_no_address_in_the_words_about_it() {
    let words = unreachable(id(9), &members());
    let expected = "connects to this node, and nothing could be told to it for the failure time: elections pass it over \
                    until it can be dialed at : check that address, and whether something closes it";
    assert_eq!(words, format!("{} {expected}", id(9)));
    assert_eq!(
        timing([1, 2_000, 3_000_000, 4_000_000_000]),
        "heartbeat 1ns, failure 2µs, message 3ms, lease 4s"
    );
}
