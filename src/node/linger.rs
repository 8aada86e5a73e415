//! When the process of a leader that stops ends: not before its successor leads.
//!
//! The end of a process wakes a thread in every other node, and these redial and elect. If members
//! share a machine, that takes the processor from the handover; and so do the threads of the leader
//! itself as they end.
//!
//! Only the bully does this, since no member waits there for an ineligible one. With the other
//! algorithms the others wait for the end of the process.

use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::Receiver;

use super::inbox::Event;
use crate::core::message::Kind;
use crate::core::settings::AlgorithmKind;
use crate::core::types::NodeId;
use crate::core::{Core, Input};
use crate::net::Event as NetEvent;

/// Far longer than a handover takes on one machine.
const LONGEST: Duration = Duration::from_millis(50);

/// How long it waits after that: the leader that stops is among the first to hear of its successor, and the others
/// need the processor to hear of it.
const COURTESY: Duration = Duration::from_millis(1);

/// Waits for the successor of a leader that has stepped down, for `message` or 50 ms at most, and [`COURTESY`] more.
pub fn await_successor(core: &Core, events: &Receiver<Event>) {
    let settings = core.settings();
    if settings.algorithm == AlgorithmKind::Bully
        && let Some(successor) = core.successor()
    {
        await_last_word(successor, events, Instant::now() + settings.timing.message.min(LONGEST));
        thread::sleep(COURTESY);
    }
}

/// Takes what comes, and answers nothing, until a member leads, asks for an answer, or the successor
/// is gone.
fn await_last_word(successor: NodeId, events: &Receiver<Event>, until: Instant) {
    let last_word = |event: &Event| match event {
        Event::Net(NetEvent::Input(Input::Message { envelope, .. })) => {
            matches!(envelope.message.kind(), Kind::Coordinator | Kind::Election)
        }
        Event::Net(NetEvent::Input(Input::Ended { peer, .. })) => *peer == successor,
        _ => false,
    };
    while events.recv_deadline(until).is_ok_and(|event| !last_word(&event)) {}
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::unbounded;
    use uuid::Uuid;

    use super::*;
    use crate::core::Redial;
    use crate::core::detector::ConnectionId;
    use crate::core::message::{Envelope, Message};
    use crate::core::types::{Epoch, Incarnation, Rank};

    const CONNECTION: ConnectionId = ConnectionId(1);

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn says(message: Message) -> Input {
        let envelope = Envelope { epoch: Epoch(2), incarnation: Incarnation(1), message };
        Input::Message { connection: CONNECTION, from: id(2), envelope }
    }

    fn ended(number: u128) -> Input {
        Input::Ended { connection: CONNECTION, peer: id(number), redial: Redial::Refused }
    }

    /// How much of this is taken while the successor, member 2, is awaited.
    fn taken(inputs: Vec<Input>) -> usize {
        let (sender, events) = unbounded();
        let all = inputs.len();
        for input in inputs {
            sender.send(Event::Net(NetEvent::Input(input))).unwrap();
        }
        await_last_word(id(2), &events, Instant::now() + Duration::from_millis(1));
        all - events.len()
    }

    #[test]
    fn the_last_word_ends_the_wait() {
        let (epoch, rank) = (Epoch(2), Rank { value: 0, id: id(2) });
        let probe = || says(Message::Probe { number: 1 });
        let last_words = [
            says(Message::Coordinator { epoch, rank }),
            says(Message::Election { round: epoch, rank, eligible: true }),
            ended(2),
        ];
        for last in last_words {
            assert_eq!(taken(vec![probe(), ended(3), last, probe()]), 3);
        }
        assert_eq!(taken(vec![probe(), ended(3)]), 2, "and so does its time");
    }
}
