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
pub struct Event {
    pub number: u64,
    pub time: Time,
    pub what: What,
    /// The events that brought it about, by their numbers.
    pub causes: Arc<[u64]>,
    /// Whether this member had a leader meanwhile, and kept it.
    pub is_quiet: bool,
}

/// The kinds of events.
#[derive(Clone, Debug)]
pub enum What {
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

impl Event {
    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        let more = match &self.what {
            What::Asked { words } => words.len(),
            What::Became(change) => match &change.reason {
                Reason::Uninformed(voters) | Reason::VotersUninformed(voters) => {
                    size_of_val(&voters[..])
                }
                _ => 0,
            },
            _ => 0,
        };
        size_of::<Event>() + size_of_val(&self.causes[..]) + more
    }

    /// The event as readers see it, with the names of these members.
    pub fn entry(&self, members: &MemberList) -> Entry {
        let narrator = Narrator { members, detail: Detail::Election };
        let name = |id: &NodeId| members.name(*id);
        let (what, peer, label) = match &self.what {
            What::Started => ("started", None, "starts".to_owned()),
            What::Got { from, said, .. } => ("got", Some(from), said.label(members)),
            What::Sent { to, said, .. } => ("sent", Some(to), said.label(members)),
            What::Became(change) => ("became", None, narrator.phase(change)),
            What::Waited { for_answer, since } => {
                let why = if *for_answer { "an answer" } else { "a leader" };
                ("waited", None, format!("{why} for {}", length(self.time.since(*since))))
            }
            What::Connected { peer, .. } => {
                ("connected", Some(peer), format!("connected to {}", name(peer)))
            }
            What::Met { peer, .. } => ("met", Some(peer), format!("{} connects", name(peer))),
            What::Lost { peer } => {
                ("lost", Some(peer), format!("connection to {} ended", name(peer)))
            }
            What::Ended { peer, redial } => {
                let redial = match redial {
                    Redial::Accepted => "accepted",
                    Redial::Refused => "refused",
                    Redial::Failed => "failed",
                };
                let label = format!("connection from {} ended, redial {redial}", name(peer));
                ("ended", Some(peer), label)
            }
            What::Refused { peer } => {
                ("refused", Some(peer), format!("dial to {} refused", name(peer)))
            }
            What::Certified { peer } => {
                ("certified", Some(peer), format!("{} is certified dead", name(peer)))
            }
            What::Stalled { time } => {
                ("stalled", None, format!("did not run for {}", length(*time)))
            }
            What::Asked { words } => ("asked", None, words.clone()),
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
            What::Got { incarnation, said, place, .. } => {
                Entry { incarnation: Some(incarnation.0), ..of_message(entry, said, *place) }
            }
            What::Sent { said, place, .. } => of_message(entry, said, *place),
            What::Met { incarnation, .. } | What::Connected { incarnation, .. } => {
                Entry { incarnation: Some(incarnation.0), ..entry }
            }
            What::Ended { redial, .. } => Entry { gone: *redial == Redial::Refused, ..entry },
            What::Certified { .. } => Entry { gone: true, ..entry },
            What::Became(change) => Entry {
                phase: Some(change.to.name().to_owned()),
                number: Some(change.epoch.0),
                leader: change.leader.map(|leader| members.name(leader)),
                reason: Some(reason::sentence(&change.reason, members)),
                ..entry
            },
            What::Waited { since, .. } => Entry { since_ns: Some(since.0), ..entry },
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
