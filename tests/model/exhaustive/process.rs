//! One process of the search with its disk: the real core, and what only this member's own past
//! can show to be wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use electd_election::core::death::{DeathCertificate, Secret};
use electd_election::core::durable::{Durable, Vote, VoterRecord};
use electd_election::core::membership::{ListVersion, Member, MemberList};
use electd_election::core::message::Message;
use electd_election::core::restart::{KeptState, NoStart, Restored, restart};
use electd_election::core::settings::{Settings, Timing};
use electd_election::core::types::{Epoch, Incarnation, NodeId, Role, Time};
use electd_election::core::{Core, Input, Output, Phase};
use uuid::Uuid;

use crate::member::voter;

/// The most members that there are; all vote.
pub const MEMBERS: usize = 5;

/// Few units of time, so that few instants differ. A message takes the least time there is, so all
/// jitter is zero. The promise runs for 11, of which the leader may count on 9.
pub const TIMING: Timing = Timing {
    heartbeat: Duration::from_nanos(5),
    failure: Duration::from_nanos(13),
    message: Duration::from_nanos(1),
    lease: Duration::from_nanos(11),
};

/// The member at this place: the first is P1, the lowest.
pub fn id(place: usize) -> NodeId {
    NodeId(Uuid::from_u128(0x4000_8000_0000_0000_0001 + place as u128))
}

/// The place of a member in the list.
pub fn place(id: NodeId) -> usize {
    usize::from(id.0.as_bytes()[15]) - 1
}

/// The entry in the member list of the member at this place.
pub fn member(place: usize) -> Member {
    Member {
        id: id(place),
        name: format!("P{}", place + 1),
        address: format!("P{}:1", place + 1),
        admin: None,
        role: Role::Member,
    }
}

/// The file names the founders, and a newcomer its own member as well.
fn settings(place: usize, founders: usize, run: u64) -> Settings {
    let named = (0..MEMBERS).filter(|other| *other < founders || *other == place);
    let members = MemberList::new(ListVersion::default(), named.map(member).collect());
    voter(id(place), run, Arc::new(members), TIMING) // the start itself says whether it is the first
}

/// The certificate of the death of this run of a member.
fn certificate(place: usize, incarnation: Incarnation) -> DeathCertificate {
    let mut secret = [0; 32];
    (secret[0], secret[1]) = (place as u8, incarnation.0 as u8);
    DeathCertificate { member: id(place), incarnation, secret: Secret(secret) }
}

/// An event at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all are inputs: a box would cost each of them"
)]
pub enum Event {
    /// It is handed something.
    Input(Input),
    /// The oldest record that waits for the disk is written, and the process learns that.
    Written,
    /// The process ends. So many of the records that waited were written all the same.
    Crash { kept: usize },
    /// It starts with what its disk holds.
    Start,
}

/// A process, or what is left of it while it is down.
#[derive(Clone, Hash)]
pub struct Process {
    place: usize,
    /// The first list names the first members, this many.
    founders: usize,
    /// Whether it is to begin without the others, as long as its disk is empty.
    bootstraps: bool,
    pub core: Option<Core>,
    incarnation: u64,
    disk: Durable,
    /// The records that wait for the disk, the oldest first.
    waiting: Vec<(u64, Durable)>,
    /// The last vote that was sent to a candidate, in any incarnation.
    sent_vote: Option<Vote>,
    /// If its disk had not that vote when it started: until then the vote may count.
    forgot_until: Option<Time>,
    /// The greatest epoch whose leader it named, in any run.
    named: Epoch,
}

impl Process {
    /// A process that never ran.
    pub fn new(place: usize, founders: usize) -> Process {
        let (disk, waiting) = (Durable::default(), Vec::new());
        let (core, sent_vote, forgot_until, named) = (None, None, None, Epoch(0));
        let bootstraps = place < founders;
        Process {
            place,
            founders,
            bootstraps,
            core,
            incarnation: 0,
            disk,
            waiting,
            sent_vote,
            forgot_until,
            named,
        }
    }

    /// Whether the process is about to end: it was removed.
    pub fn leaves(&self) -> bool {
        self.core.as_ref().is_some_and(|core| core.phase() == Phase::Stopping)
    }

    /// Whether it knows another member, so that it dials it.
    pub fn knows(&self, place: usize) -> bool {
        self.core.as_ref().is_some_and(|core| core.members().get(id(place)).is_some())
    }

    /// Whether it may start: not once its disk says that it was removed.
    pub fn may_start(&self) -> bool {
        self.begin().is_ok()
    }

    fn begin(&self) -> Result<(Settings, Restored), NoStart> {
        let incarnation = Incarnation(self.incarnation);
        let kept = KeptState { incarnation, durable: self.disk.clone() };
        let mut file = settings(self.place, self.founders, incarnation.next().0);
        file.bootstrap = self.bootstraps && !self.disk.knows_its_cluster();
        let restored = restart((self.incarnation > 0).then_some(&kept), &file, None)?;
        file.death = Some(certificate(self.place, restored.incarnation).hash(&file.cluster));
        Ok((file, restored))
    }

    /// The certificate of its last run that is over, if any is.
    pub fn certificate(&self) -> Option<DeathCertificate> {
        let over = self.incarnation.checked_sub(u64::from(self.core.is_some()))?;
        (over > 0).then(|| certificate(self.place, Incarnation(over)))
    }

    /// The same member with an empty disk; its operator does not bootstrap it again.
    pub fn emptied(&self) -> Process {
        Process {
            bootstraps: false,
            sent_vote: self.sent_vote,
            ..Process::new(self.place, self.founders)
        }
    }

    /// The same member, whose disk has what it had before the vote.
    pub fn forgetful(&self) -> Process {
        let vote = self.disk.vote.map(|vote| VoterRecord { voted: None, ..vote });
        let disk = Durable { epoch: Epoch(0), leader: None, vote, ..self.disk.clone() };
        Process { disk, ..self.clone() }
    }

    /// The same member: it voted for another in the next epoch, as it did not hear its leader, and its disk has not that.
    pub fn faithless(&self) -> Process {
        let epoch = self.disk.epoch.next();
        Process { sent_vote: Some(Vote { epoch, candidate: id(1) }), ..self.clone() }
    }

    /// How many records wait for the disk.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The epoch in which it leads and must be believed.
    pub fn leads(&self, now: Time) -> Option<Epoch> {
        let core = self.core.as_ref().filter(|core| core.phase() == Phase::Leading)?;
        (now < core.believable_until(now)).then_some(core.view().epoch)
    }

    /// Something happens to it. Tells what it puts out.
    pub fn turn(&mut self, now: Time, event: &Event) -> Result<Vec<Output>, String> {
        match event {
            Event::Input(input) => self.take(now, input.clone()),
            Event::Written => {
                let (number, record) = self.waiting.remove(0);
                self.disk = record;
                self.take(now, Input::Persisted { number })
            }
            Event::Crash { kept } => {
                self.waiting.truncate(*kept);
                if let Some((_, record)) = self.waiting.pop() {
                    self.disk = record;
                }
                self.waiting.clear();
                self.core = None;
                Ok(Vec::new())
            }
            Event::Start => self.start(now).map(|()| Vec::new()),
        }
    }

    /// As the store opens: the incarnation, the reserve and the length of a promise are durable
    /// before the process runs.
    fn start(&mut self, now: Time) -> Result<(), String> {
        let (file, restored) = self.begin().map_err(|why| why.to_string())?;
        if restored.record.epoch.max(restored.floor) < self.named {
            return Err(format!("forgot the epoch {} that it named", self.named));
        }
        let has =
            |vote: Vote| restored.vote.and_then(|kept| kept.voted).is_some_and(|kept| kept >= vote);
        let forgot = self.sent_vote.is_some_and(|vote| !has(vote));
        self.forgot_until = forgot.then(|| now + TIMING.lease);
        self.incarnation = restored.incarnation.0;
        self.disk = restored.record.clone();
        self.core = Some(Core::new(now, file, restored, 0));
        Ok(())
    }

    fn take(&mut self, now: Time, input: Input) -> Result<Vec<Output>, String> {
        let Some(core) = &mut self.core else { return Ok(Vec::new()) };
        let before = core.view().epoch;
        let mut out = Vec::new();
        catch_unwind(AssertUnwindSafe(|| core.handle(now, input, &mut out)))
            .map_err(|_| "panicked".to_owned())?;
        if core.view().epoch < before {
            return Err(format!("went back from epoch {before} to {}", core.view().epoch));
        }
        if core.leader().is_some() {
            self.named = self.named.max(core.view().epoch);
        }
        out.iter().try_for_each(|output| self.look_at(output, now))?;
        Ok(out)
    }

    /// No vote of its may contradict an earlier one.
    fn look_at(&mut self, output: &Output, now: Time) -> Result<(), String> {
        match output {
            Output::Persist { number, record } => {
                let last = self.waiting.last().map_or(&self.disk, |(_, record)| record);
                let voted = |record: &Durable| record.vote.and_then(|vote| vote.voted);
                contradicts(voted(last), voted(record))?;
                self.waiting.push((*number, record.clone()));
            }
            Output::Send { to, envelope } => {
                if let Message::Vote { epoch, .. } = envelope.message {
                    for candidate in to {
                        self.tells(Vote { epoch, candidate: *candidate })?;
                    }
                }
                if let Message::Acknowledge { epoch, .. } = envelope.message {
                    self.acknowledges(epoch, now)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// It does not count for an older leader than it voted for, as long as that vote may count.
    fn acknowledges(&self, epoch: Epoch, now: Time) -> Result<(), String> {
        let counts = self.forgot_until.is_none_or(|until| now < until);
        match self.sent_vote.filter(|vote| vote.epoch > epoch && counts) {
            Some(vote) => {
                Err(format!("acknowledged epoch {epoch} after it voted in {}", vote.epoch))
            }
            None => Ok(()),
        }
    }

    fn tells(&mut self, vote: Vote) -> Result<(), String> {
        contradicts(self.sent_vote, Some(vote))?;
        self.sent_vote = Some(vote);
        let record = self.disk.vote.unwrap_or_default();
        let durable = record.voted.is_some_and(|durable| durable.epoch >= vote.epoch);
        let covered = record.behind && record.informed && vote.epoch <= self.disk.reserved;
        if !durable && !covered {
            return Err(format!("voted in epoch {} before that was durable", vote.epoch));
        }
        Ok(())
    }
}

/// A voter votes for one candidate only in an epoch, and in no older epoch after a newer.
fn contradicts(before: Option<Vote>, after: Option<Vote>) -> Result<(), String> {
    let Some(before) = before else { return Ok(()) };
    let name = |vote: Vote| format!("epoch {} for P{}", vote.epoch, place(vote.candidate) + 1);
    match after {
        Some(after) if after.epoch > before.epoch || after == before => Ok(()),
        Some(after) => Err(format!("voted in {} after {}", name(after), name(before))),
        None => Err(format!("forgot that it voted in {}", name(before))),
    }
}
