//! How long members take to acknowledge a heartbeat of this node, while it leads: measured here, as the core has no
//! clock of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::core::message::{Heartbeat, Message};
use crate::core::types::{NodeId, Time};
use crate::core::{Input, Output};

/// How many heartbeats may be under way to one member; an answer to an earlier one is not measured.
const UNDER_WAY: usize = 8;

/// The members that this node sent heartbeats to. Only the election thread notes anything here.
#[derive(Debug, Default)]
pub struct RoundTrips(Mutex<BTreeMap<NodeId, PeerTrips>>);

#[derive(Debug, Default)]
struct PeerTrips {
    /// When each of the latest heartbeats was handed over, by its number.
    sent: [Option<(u64, Time)>; UNDER_WAY],
    latest: Option<Duration>,
}

impl RoundTrips {
    /// Notes the outputs that are about to be sent.
    pub fn sending(&self, outputs: &[Output], now: Time) {
        for output in outputs {
            if let Output::Send { to, envelope } = output
                && let Message::Heartbeat(Heartbeat { number, .. }) = envelope.message
            {
                let mut members = self.0.lock();
                for id in to {
                    members.entry(*id).or_default().sent[place(number)] = Some((number, now));
                }
            }
        }
    }

    /// Notes an event that came in. Returns whose round trip this ends, and how long that took.
    pub fn received(&self, input: &Input, now: Time) -> Option<(NodeId, Duration)> {
        let Input::Message { from, envelope, .. } = input else { return None };
        let Message::Acknowledge { number, .. } = envelope.message else { return None };
        let mut members = self.0.lock();
        let member = members.get_mut(from)?;
        let (_, sent) = member.sent[place(number)].take_if(|(sent, _)| *sent == number)?;
        member.latest = Some(now.since(sent));
        Some((*from, now.since(sent)))
    }

    /// The latest of a member; none where none was measured.
    pub fn latest(&self, id: NodeId) -> Option<Duration> {
        self.0.lock().get(&id).and_then(|member| member.latest)
    }

    /// Forgets all, as this node does not lead any more.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

fn place(number: u64) -> usize {
    (number % UNDER_WAY as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use uuid::Uuid;

    use super::*;
    use crate::core::detector::ConnectionId;
    use crate::core::membership::ListVersion;
    use crate::core::message::Envelope;
    use crate::core::types::{Epoch, Incarnation, Rank};

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    fn envelope(message: Message) -> Envelope {
        Envelope { epoch: Epoch(2), incarnation: Incarnation(1), message }
    }

    fn heartbeat(number: u64) -> Output {
        let (epoch, rank, lease) = (Epoch(2), Rank { value: 0, id: id(3) }, Duration::ZERO);
        let (settled, members) = (ListVersion::default(), Arc::new([]));
        let message = Message::Heartbeat(Heartbeat {
            epoch,
            number,
            rank,
            lease,
            settled,
            members,
            pause: None,
            chosen: None,
            ending: false,
        });
        Output::Send { to: vec![id(1), id(2)], envelope: envelope(message) }
    }

    fn acknowledged(from: u128, number: u64) -> Input {
        let (incarnation, epoch, rank) =
            (Incarnation(1), Epoch(2), Rank { value: 0, id: id(from) });
        let message =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible: true, pause: None };
        Input::Message { connection: ConnectionId(1), from: id(from), envelope: envelope(message) }
    }

    #[test]
    fn an_acknowledgement_is_measured_from_its_own_heartbeat() {
        let (trips, at) = (RoundTrips::default(), |ms| Time(0) + Duration::from_millis(ms));
        trips.sending(&[heartbeat(1)], at(100));
        trips.sending(&[heartbeat(2)], at(200));
        trips.received(&acknowledged(1, 1), at(203));
        assert_eq!(
            trips.latest(id(1)),
            Some(Duration::from_millis(103)),
            "slower than the interval"
        );
        trips.received(&acknowledged(1, 2), at(204));
        assert_eq!(trips.latest(id(1)), Some(Duration::from_millis(4)));
        trips.received(&acknowledged(1, 2), at(300));
        assert_eq!(trips.latest(id(1)), Some(Duration::from_millis(4)), "told again");
        assert_eq!(trips.latest(id(2)), None);
        trips.received(&acknowledged(7, 2), at(300));
        assert_eq!(trips.latest(id(7)), None, "nothing was sent there");
        for number in 3..20 {
            trips.sending(&[heartbeat(number)], at(number * 100));
        }
        trips.received(&acknowledged(2, 3), at(9000));
        assert_eq!(trips.latest(id(2)), None, "long ago");
        trips.received(&acknowledged(2, 11), at(9000));
        assert_eq!(trips.latest(id(2)), None, "eight more were sent since");
        trips.received(&acknowledged(2, 12), at(2500));
        assert_eq!(trips.latest(id(2)), Some(Duration::from_millis(1300)), "seven more");
        trips.clear();
        assert_eq!(trips.latest(id(2)), None);
        assert_eq!(trips.latest(id(1)), None);
    }
}
