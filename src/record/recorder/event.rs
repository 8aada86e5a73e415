//! One event of the record: nothing in it is a secret, or as long as a message can be.

use crate::trace::reason;
use std::sync::Arc;
use std::time::Duration;

use crate::core::membership::MemberList;
use crate::core::types::{Incarnation, NodeId, Time};
use crate::core::{Reason, Redial, Transition};
use crate::trace::record::Entry;
use crate::trace::{Brief, Detail, Narrator, length};

/// What the member took or did in a turn.
#[derive(Clone, Debug)]
pub struct RecordedEvent {
    pub number: u64,
    pub time: Time,
    pub what: RecordedWhat,
    /// The events that brought it about, by their numbers.
    pub causes: Arc<[u64]>,
    /// Whether this member had a leader meanwhile, and kept it.
    pub is_quiet: bool,
}

/// The kinds of events.
#[derive(Clone, Debug)]
pub enum RecordedWhat {
    Started,
    Got {
        from: NodeId,
        incarnation: Incarnation,
        said: Brief,
        place: u64,
    },
    Sent {
        to: NodeId,
        said: Brief,
        place: u64,
    },
    Became(Transition),
    Waited {
        for_answer: bool,
        since: Time,
    },
    Connected {
        peer: NodeId,
        incarnation: Incarnation,
    },
    Met {
        peer: NodeId,
        incarnation: Incarnation,
    },
    Lost {
        peer: NodeId,
    },
    Ended {
        peer: NodeId,
        redial: Redial,
    },
    Refused {
        peer: NodeId,
    },
    /// The peer's coroner answered a dial; nothing of the certificate is kept.
    Certified {
        peer: NodeId,
    },
    Stalled {
        time: Duration,
    },
    Asked {
        words: String,
    },
}

impl RecordedEvent {
    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        let more = match &self.what {
            RecordedWhat::Asked { words } => words.len(),
            RecordedWhat::Became(change) => match &change.reason {
                Reason::Uninformed(voters) | Reason::VotersUninformed(voters) => {
                    size_of_val(&voters[..])
                }
                _ => 0,
            },
            _ => 0,
        };
        size_of::<RecordedEvent>() + size_of_val(&self.causes[..]) + more
    }

    /// The event as readers see it, with the names of these members.
    pub fn entry(&self, members: &MemberList) -> Entry {
        let narrator = Narrator { members, detail: Detail::Election };
        let name = |id: &NodeId| members.name(*id);
        let (what, peer, label) = match &self.what {
            RecordedWhat::Started => ("started", None, "starts".to_owned()),
            RecordedWhat::Got { from, said, .. } => ("got", Some(from), said.label(members)),
            RecordedWhat::Sent { to, said, .. } => ("sent", Some(to), said.label(members)),
            RecordedWhat::Became(change) => ("became", None, narrator.phase(change)),
            RecordedWhat::Waited { for_answer, since } => {
                let why = if *for_answer { "an answer" } else { "a leader" };
                ("waited", None, format!("{why} for {}", length(self.time.since(*since))))
            }
            RecordedWhat::Connected { peer, .. } => {
                ("connected", Some(peer), format!("connected to {}", name(peer)))
            }
            RecordedWhat::Met { peer, .. } => {
                ("met", Some(peer), format!("{} connects", name(peer)))
            }
            RecordedWhat::Lost { peer } => {
                ("lost", Some(peer), format!("connection to {} ended", name(peer)))
            }
            RecordedWhat::Ended { peer, redial } => {
                let redial = match redial {
                    Redial::Accepted => "accepted",
                    Redial::Refused => "refused",
                    Redial::Failed => "failed",
                };
                let label = format!("connection from {} ended, redial {redial}", name(peer));
                ("ended", Some(peer), label)
            }
            RecordedWhat::Refused { peer } => {
                ("refused", Some(peer), format!("dial to {} refused", name(peer)))
            }
            RecordedWhat::Certified { peer } => {
                ("certified", Some(peer), format!("{} is certified dead", name(peer)))
            }
            RecordedWhat::Stalled { time } => {
                ("stalled", None, format!("did not run for {}", length(*time)))
            }
            RecordedWhat::Asked { words } => ("asked", None, words.clone()),
        };
        let entry = Entry {
            n: self.number,
            at_ns: self.time.0,
            what: what.to_owned(),
            causes: self.causes.to_vec(),
            label,
            peer: peer.map(name),
            ..Entry::default()
        };
        self.with_more(entry, members)
    }

    /// The fields that only some kinds have.
    fn with_more(&self, entry: Entry, members: &MemberList) -> Entry {
        match &self.what {
            RecordedWhat::Got { incarnation, said, place, .. } => {
                Entry { incarnation: Some(incarnation.0), ..of_message(entry, said, *place) }
            }
            RecordedWhat::Sent { said, place, .. } => of_message(entry, said, *place),
            RecordedWhat::Met { incarnation, .. } | RecordedWhat::Connected { incarnation, .. } => {
                Entry { incarnation: Some(incarnation.0), ..entry }
            }
            RecordedWhat::Ended { redial, .. } => {
                Entry { gone: *redial == Redial::Refused, ..entry }
            }
            RecordedWhat::Certified { .. } => Entry { gone: true, ..entry },
            RecordedWhat::Became(change) => Entry {
                phase: Some(change.to.name().to_owned()),
                number: Some(change.epoch.0),
                leader: change.leader.map(|leader| members.name(leader)),
                reason: Some(reason::sentence(&change.reason, members)),
                ..entry
            },
            RecordedWhat::Waited { since, .. } => Entry { since_ns: Some(since.0), ..entry },
            _ => entry,
        }
    }
}

fn of_message(entry: Entry, said: &Brief, place: u64) -> Entry {
    Entry {
        kind: Some(said.kind.into()),
        number: said.number.map(|number| number.0),
        place: Some(place),
        ..entry
    }
}
