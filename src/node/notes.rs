//! What the core notes besides its changes of state, as the log tells it.

use log::{info, warn};

use super::clock;
use super::words;
use crate::core::Note;
use crate::core::membership::MemberList;

/// Logs a note. The caller tells of refusals and of their end: it knows which of them are news.
pub fn log(note: Note, members: &MemberList) {
    match note {
        Note::Rejected { .. } | Note::Refused { .. } | Note::Connected { .. } => {}
        Note::Unreachable { peer } => {
            warn!(event = "unreachable", peer = members.name(peer); "{}", words::unreachable(peer, members));
        }
        Note::Reached { peer } => {
            let peer = members.name(peer);
            info!(event = "reached", peer = peer; "{peer} can be reached again");
        }
        Note::DoesNotLead { peer } => warn!(
            event = "passed_over", peer = members.name(peer);
            "{} was to lead and did not in time: its answers are not waited for until it has led",
            members.name(peer)
        ),
        Note::Forged { peer, incarnation, from } => {
            let peer = members.name(peer);
            let from = from.map_or("whoever answers there".to_owned(), |from| members.name(from));
            warn!(
                event = "forged", peer = peer;
                "a death certificate of {peer}, start number {incarnation}, from {from}, is not genuine: it changes nothing"
            );
        }
        Note::Uninformed { voters } => {
            info!(event = "uninformed"; "{}", words::uninformed(&voters, members));
        }
        Note::Paused(pause) if pause.paused => {
            let until = pause.until.map(clock::moment);
            let until = until.map_or("until it is resumed".to_owned(), |at| format!("until {at}"));
            info!(event = "paused"; "the cluster is paused {until}: nobody preempts, and no leader hands over for its health");
        }
        Note::Paused(_) => info!(event = "resumed"; "the cluster is not paused any more"),
        Note::Split(split) => {
            warn!(event = "split"; "{}", words::split(&split, members));
        }
        Note::ListOverruled { peer, version } => warn!(
            event = "list_overruled", peer = members.name(peer);
            "{} had member list {version}, which was not made under this leader: what it \
             changed is void",
            members.name(peer)
        ),
        Note::TimingDiffers { peer, theirs } => {
            let name = members.name(peer);
            let theirs = words::timing(theirs);
            warn!(
                event = "config_differs", peer = name;
                "{name} has other timings ({theirs}): the bounds that status shows do not hold"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::core::Split;
    use crate::core::types::{Epoch, Incarnation, Pause, Time, Version};
    use crate::node::logged::{fields, logged};
    use crate::node::words::tests::{id, members};

    #[test]
    fn each_note_is_a_line_with_its_event_and_with_names() {
        let peer = id(2);
        let split = Split {
            other: peer,
            theirs: Epoch(7),
            own: Epoch(8),
            met: Time(0),
            lasted: Duration::from_millis(1500),
        };
        let pause = |paused, until| Note::Paused(Pause { paused, until, ..Pause::default() });
        let (incarnation, version) = (Incarnation(4), Version { epoch: Epoch(7), counter: 2 });
        let notes = [
            Note::Unreachable { peer },
            Note::Reached { peer },
            Note::DoesNotLead { peer },
            Note::Forged { peer, incarnation, from: Some(id(3)) },
            Note::Forged { peer, incarnation, from: None },
            Note::Uninformed { voters: vec![id(1), peer] },
            pause(true, Some(1000)),
            pause(true, None),
            pause(false, None),
            Note::Split(split),
            Note::ListOverruled { peer, version },
            Note::TimingDiffers { peer, theirs: [1, 2, 3, 4].map(|ms| ms * 1_000_000) },
        ];
        let told = notes.clone().map(|note| fields(|| log(note, &members())).join("\n"));
        assert_eq!(told, FIELDS);
        let lines = notes.map(|note| logged(|| log(note, &members())).join("\n"));
        insta::assert_snapshot!("notes", lines.join("\n"));
        let connected = Note::Connected { peer };
        assert_eq!(
            logged(|| log(connected, &members())),
            [""; 0],
            "the caller tells it if it is news"
        );
    }

    /// What programs read of each of them.
    const FIELDS: [&str; 12] = [
        "event=unreachable peer=b",
        "event=reached peer=b",
        "event=passed_over peer=b",
        "event=forged peer=b",
        "event=forged peer=b",
        "event=uninformed",
        "event=paused",
        "event=paused",
        "event=resumed",
        "event=split",
        "event=list_overruled peer=b",
        "event=config_differs peer=b",
    ];
}
