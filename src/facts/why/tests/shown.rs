//! What the text says besides the reasons.

use super::super::super::status::{Problem, RefusalCause, RejectionStatus};
use super::super::of_member::why;
use super::super::text_of;
use super::super::view::{WhyAnswer, WhyCause};
use super::{holds, pair, problem, seen_in};

/// What only changes who leads is no remedy, unless somebody asks about that member.
#[test]
fn where_nothing_is_wrong_no_remedy_is_offered_unasked() {
    let asked = pair(3, 5, |_| ());
    let view = seen_in(&asked);
    let members = ["a", "b"].map(|name| (name, why(name, &view)));
    let remedied = |chosen| text_of(&view, None, &members, chosen).contains("=>");
    assert_eq!((remedied(false), remedied(true)), (false, true));
    let drained = pair(3, 5, |status| status.resigned = status.node.name == "a");
    let view = seen_in(&drained);
    assert!(text_of(&view, None, &[("a", why("a", &view))], false).contains("=>"), "a is hindered");
}

/// Whoever asks why a member leads may ask since it changes so often.
#[test]
fn a_leader_that_changes_again_and_again_is_told_with_what_to_do() {
    let text = "the leader changed 6 times within 10 min";
    let restless = pair(3, 5, |status| {
        status.problems =
            vec![Problem { about: String::new(), ..problem("leader_changes", "", text) }];
    });
    let WhyAnswer { cause, reason, remedy } = why("b", &seen_in(&restless));
    assert_eq!(cause, WhyCause::Leads);
    assert!(reason.ends_with(&format!(". But {text}")), "{reason}");
    assert!(remedy.is_some_and(|it| it.contains("electd history")));
}

/// The others hear a node that they refuse, whatever an earlier version says of itself.
#[test]
fn a_node_that_is_refused_is_not_said_to_be_cut_off() {
    let apart = pair(9, 5, |own| {
        if own.node.name == "a" {
            own.leader = None;
            own.problems = vec![problem("cut_off", "", "no"), problem("rejected", "b", "so")];
            let (peer, reason) = ("b".to_owned(), "so".to_owned());
            let cause = Some(RefusalCause::Disagreement);
            own.rejections = vec![RejectionStatus { peer, reason, cause, by_peer: false }];
        }
    });
    let words = "it and another member refuse each other: so => give both the same file";
    holds(&apart, "a", WhyCause::Rejected, words);
}
