//! Commands and their outcomes.

use super::*;
use crate::core::types::Epoch;
use crate::node::words::tests::{id, members};

#[test]
fn each_outcome_is_a_sentence_with_the_names_of_members() {
    let (own, successor) = (id(1), Some(id(2)));
    let removed = |stored, handed_over| Done::Removed { id: id(3), stored, handed_over };
    let outcomes = [
        Done::Called,
        Done::Resigned { epoch: Epoch(7), successor },
        Done::Resigned { epoch: Epoch(7), successor: None },
        Done::SwitchoverEnded,
        Done::Added(id(3)),
        Done::Set,
        removed(true, false),
        removed(true, true),
        removed(false, false),
        Done::TaskTaken,
        Done::Drained { successor },
        Done::Drained { successor: None },
        Done::MayDrain,
        Done::Undrained,
        Done::Paused,
        Done::Resumed,
        Done::Leads(id(2)),
        Done::Stopped,
    ];
    let told = outcomes.map(|done| {
        let Outcome { sentence, successor } = Outcome::of(&done, own, &members());
        format!("{sentence} (next: {})", successor.as_deref().unwrap_or("-"))
    });
    insta::assert_snapshot!("outcomes", told.join("\n"));
}

#[test]
fn what_a_later_drain_does_not_say_stays_as_it_was() {
    let drain = |since, until, reason: &str| Drain { since, until, reason: reason.to_owned() };
    let known = || Some(drain(1, Some(5), "new disk"));
    for (known, new, counts) in [
        (None, drain(3, None, ""), drain(3, None, "")),
        (known(), drain(3, None, ""), drain(1, Some(5), "new disk")),
        (known(), drain(3, Some(9), "new host"), drain(1, Some(9), "new host")),
    ] {
        assert_eq!(over(known, new), counts);
    }
}

#[test]
fn a_reason_that_could_spoil_a_screen_or_is_too_long_is_refused() {
    let ask = |reason: String| {
        let drain = Command::Drain { length: None, reason, force: false };
        drain.for_core(&members(), None, None).map(|order| order.is_some())
    };
    for fine in [String::new(), "new disk".to_owned(), "x".repeat(Drain::LONGEST)] {
        assert_eq!(ask(fine), Ok(true));
    }
    for odd in ["x".repeat(Drain::LONGEST + 1), "a\nb".to_owned(), "\u{202e}".to_owned()] {
        let words = format!(
            "the reason has {} bytes: give it at most 200, and no line breaks, other control characters or marks \
             that turn the direction of text",
            odd.len()
        );
        assert_eq!(ask(odd), Err(CommandError::Invalid(words)));
    }
}

/// Each with the names of members as their ids, and its times by the clock of this host.
#[test]
fn each_command_is_one_of_the_core() {
    let core = |command: Command| command.for_core(&members(), Some(id(1)), None);
    let b = || "b".to_owned();
    let member = members().get(id(3)).unwrap().clone();
    let task = b"work".to_vec();
    for (command, expected) in [
        (Command::Elect, core::OperatorCommand::Elect),
        (Command::Resign { to: None }, Forwarded::Resign { to: None }.into()),
        (Command::Resign { to: Some(b()) }, Forwarded::Resign { to: Some(id(2)) }.into()),
        (Command::Switchover { to: b() }, Forwarded::Switchover { to: id(2) }.into()),
        (Command::EndSwitchover, Forwarded::EndSwitchover.into()),
        (Command::Add(member.clone()), Forwarded::Change(MembershipChange::Add(member)).into()),
        (
            Command::Remove { name: b(), force: true },
            Forwarded::Change(MembershipChange::Remove { id: id(2), force: true }).into(),
        ),
        (
            Command::Remove { name: b(), force: false },
            Forwarded::Change(MembershipChange::Remove { id: id(2), force: false }).into(),
        ),
        (Command::Undrain, core::OperatorCommand::Undrain),
        (Command::Resume, Forwarded::Resume.into()),
        (
            Command::HandOut { task: task.clone() },
            core::OperatorCommand::HandOut { task: Task::new(task) },
        ),
    ] {
        assert_eq!(core(command), Ok(Some(expected)));
    }
    assert_eq!(core(Command::Reload), Ok(None), "the node reads its file");
    let begin = wall_clock_ms();
    for (length, lasts) in [(None, None), (Some(Duration::from_secs(60)), Some(60_000))] {
        let drain = |force| Command::Drain { length, reason: "new disk".to_owned(), force };
        let (forced, drain) = (core(drain(true)), core(drain(false)));
        assert!(matches!(forced, Ok(Some(core::OperatorCommand::Drain(_)))), "{forced:?}");
        let pause = core(Command::Pause { length });
        let Ok(Some(core::OperatorCommand::ForLeader(Forwarded::Drain(drain)))) = drain else {
            panic!("{drain:?}")
        };
        let Drain { since, until, reason } = drain;
        assert_eq!((until, reason.as_str()), (lasts.map(|lasts| since + lasts), "new disk"));
        let paused = pause.unwrap().unwrap();
        let core::OperatorCommand::ForLeader(Forwarded::Pause { since: later, until }) = paused
        else {
            panic!("{paused:?}")
        };
        assert_eq!(until, lasts.map(|lasts| later + lasts));
        assert!(begin <= since && since <= later && later <= wall_clock_ms());
    }
    let known = Drain { since: 1, until: None, reason: "new host".to_owned() };
    let again = Command::Drain { length: None, reason: String::new(), force: true };
    let again = again.for_core(&members(), None, Some(known.clone()));
    assert_eq!(again, Ok(Some(core::OperatorCommand::Drain(known))), "since when stays");
}

#[test]
fn a_command_that_names_no_member_or_the_leader_itself_is_refused_in_words() {
    let core = |command: Command, leader| command.for_core(&members(), leader, None);
    let nobody = "no member is named \"x\"; there are a, b, c";
    let x = || "x".to_owned();
    for command in [
        Command::Resign { to: Some(x()) },
        Command::Switchover { to: x() },
        Command::Remove { name: x(), force: true },
    ] {
        assert_eq!(core(command, None), Err(CommandError::Invalid(nobody.to_owned())));
    }
    let to_b = || Command::Resign { to: Some("b".to_owned()) };
    let leads = "b leads already: name another that is to lead, or none";
    let refused = CommandError::Refused(leads.to_owned());
    assert_eq!(refused.to_string(), leads);
    assert_eq!(core(to_b(), Some(id(2))), Err(refused));
    let resign = core::OperatorCommand::from(Forwarded::Resign { to: Some(id(2)) });
    assert_eq!(core(to_b(), None), Ok(Some(resign)));
    let none = core::OperatorCommand::from(Forwarded::Resign { to: None });
    assert_eq!(core(Command::Resign { to: None }, Some(id(2))), Ok(Some(none)));
}
