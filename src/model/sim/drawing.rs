//! The events that are drawn of a run, each with those that brought it about.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::core::types::Time;
use crate::trace::{Caption, DrawnEvent, DrawnWhat, length};

/// A wait of a member: since when, until when by its clock, and what made it wait.
#[derive(Clone, Debug)]
struct DrawnWait {
    since: Time,
    due: Time,
    causes: Vec<usize>,
}

/// The waits of a member for an ANSWER and for a leader.
type Waits = [Option<DrawnWait>; 2];

/// What is known of a member, to tell what brings its events about.
#[derive(Debug, Default)]
struct DrawnMember {
    waits: Waits,
    /// What it handles in its present turn.
    turn: Vec<usize>,
    /// The records that it waits for, by their numbers, with what made it order them.
    records: Vec<(u64, Vec<usize>)>,
    /// Its death, while it is dead.
    died: Option<usize>,
}

/// The events that are drawn so far.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    events: Vec<DrawnEvent>,
    members: BTreeMap<usize, DrawnMember>,
    /// By sender and receiver: the messages that no member has taken yet, by their places among the events.
    under_way: BTreeMap<(usize, usize), VecDeque<usize>>,
}

impl Drawing {
    /// Adds an event. A message is lost until a member takes it.
    pub fn add(&mut self, time: Time, node: usize, what: DrawnWhat) {
        let at = self.events.len();
        let member = self.members.entry(node).or_default();
        let causes = match &what {
            DrawnWhat::Sends { to, .. } => {
                self.under_way.entry((node, *to)).or_default().push_back(at);
                member.turn.clone()
            }
            DrawnWhat::Becomes { .. } => member.turn.clone(),
            DrawnWhat::Dies => {
                *member = DrawnMember { died: Some(at), ..DrawnMember::default() };
                Vec::new()
            }
            DrawnWhat::Starts => {
                *member = DrawnMember::default();
                Vec::new()
            }
            _ => Vec::new(),
        };
        self.events.push(DrawnEvent { time, node, what, causes });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// A member begins a turn, of which these events are the cause.
    pub fn begin_turn(&mut self, node: usize, causes: Vec<usize>) {
        self.members.entry(node).or_default().turn = causes;
    }

    /// A member takes this message: those that were sent before it on that way and did not arrive are lost.
    /// Tells where the message is.
    pub fn arrive(
        &mut self,
        now: Time,
        from: usize,
        to: usize,
        message: &Caption,
    ) -> Option<usize> {
        let queue = self.under_way.get_mut(&(from, to))?;
        // None is there if it is a copy.
        let is_it = |at: &usize| matches!(&self.events[*at].what, DrawnWhat::Sends { message: sent, .. } if sent == message);
        let found = queue.iter().position(is_it)?;
        let at = queue.drain(..=found).next_back()?;
        if let Some(DrawnEvent { what: DrawnWhat::Sends { arrives, lost, .. }, .. }) =
            self.events.get_mut(at)
        {
            (*arrives, *lost) = (now, false);
        }
        Some(at)
    }

    /// Draws the waits of a member that are over by its clock, under these names. Tells where they are.
    pub fn end_waits(
        &mut self,
        now: Time,
        node: usize,
        clock: Time,
        names: [&str; 2],
    ) -> Vec<usize> {
        let waits = self.members.entry(node).or_default().waits.clone();
        let waits = waits.into_iter().zip(names);
        let ended =
            waits.filter_map(|(wait, name)| Some((wait.filter(|wait| wait.due <= clock)?, name)));
        let ended = ended.map(|(DrawnWait { since, causes, .. }, name)| {
            let label = format!("{name} {}", length(now.since(since)));
            self.events.push(DrawnEvent {
                time: now,
                node,
                what: DrawnWhat::Waited { since, label },
                causes,
            });
            self.events.len() - 1
        });
        ended.collect()
    }

    /// Records until when a member waits after its turn.
    pub fn record_waits(&mut self, now: Time, node: usize, due: [Option<Time>; 2]) {
        let DrawnMember { waits, turn, .. } = self.members.entry(node).or_default();
        for (wait, due) in waits.iter_mut().zip(due) {
            if wait.as_ref().map(|wait| wait.due) != due {
                *wait = due.map(|due| DrawnWait { since: now, due, causes: turn.clone() });
            }
        }
    }

    /// A member orders a record.
    pub fn order_record(&mut self, node: usize, number: u64) {
        let DrawnMember { records, turn, .. } = self.members.entry(node).or_default();
        records.push((number, turn.clone()));
    }

    /// All records of a member up to this number are durable: tells what made it order them.
    pub fn written(&mut self, node: usize, number: u64) -> Vec<usize> {
        let records = &mut self.members.entry(node).or_default().records;
        let open = records.iter().position(|(ordered, _)| *ordered > number);
        let done = records.drain(..open.unwrap_or(records.len()));
        done.flat_map(|(_, causes)| causes).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The death of a member that is dead.
    pub fn death(&self, node: usize) -> Option<usize> {
        self.members.get(&node)?.died
    }

    /// All events until this time. A message that would arrive later is neither lost nor taken.
    pub fn finish(self, end: Time) -> Vec<DrawnEvent> {
        let is_open = |event: &DrawnEvent| matches!(event.what, DrawnWhat::Sends { lost: true, arrives, .. } if arrives > end);
        let mut places = Vec::with_capacity(self.events.len());
        let mut left = Vec::new();
        for mut event in self.events {
            places.push(left.len());
            if !is_open(&event) {
                // What nobody took is the cause of nothing.
                event.causes.iter_mut().for_each(|cause| *cause = places[*cause]);
                left.push(event);
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::Kind;

    fn request() -> Caption {
        Caption { kind: Some(Kind::VoteRequest), ..Caption::default() }
    }

    fn sends(to: usize, arrives: u64) -> DrawnWhat {
        DrawnWhat::Sends {
            to,
            message: request(),
            arrives: Time(arrives),
            lost: true,
            unseen: None,
        }
    }

    #[test]
    fn what_is_left_out_at_the_end_moves_no_cause() {
        let mut drawing = Drawing::default();
        drawing.add(Time(0), 0, sends(1, 100)); // too late for the end
        drawing.add(Time(0), 0, sends(2, 5));
        let at = drawing.arrive(Time(5), 0, 2, &request());
        drawing.begin_turn(2, at.into_iter().collect());
        drawing.add(Time(5), 2, sends(0, 6));
        let events = drawing.finish(Time(50));
        assert_eq!(events.len(), 2, "{events:?}");
        assert_eq!(events[1].causes, [0], "{events:?}");
    }

    #[test]
    fn a_record_is_the_cause_of_nothing_before_it_is_durable_or_after_a_death() {
        let mut drawing = Drawing::default();
        drawing.add(Time(0), 1, sends(0, 1));
        drawing.begin_turn(0, vec![0]);
        drawing.order_record(0, 1);
        drawing.order_record(0, 2);
        drawing.order_record(0, 3);
        assert_eq!(drawing.written(0, 2), [0], "one of two records that were written together");
        drawing.add(Time(1), 0, DrawnWhat::Dies);
        assert_eq!((drawing.written(0, 3), drawing.death(0)), (Vec::new(), Some(1)));
        drawing.add(Time(2), 0, DrawnWhat::Starts);
        assert_eq!(drawing.death(0), None);
    }
}
