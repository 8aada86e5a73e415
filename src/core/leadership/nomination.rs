//! Nominating this member: its questions to the voters, and the next step after their answers.
//!
//! The algorithm nominates this member, the quorum decides. [`Context::nominate`] tells the algorithm to continue
//! now, or parks the nomination until the round is durable and, with a majority, enough voters agree; then it calls
//! the algorithm back. A candidate asks the voters twice: a pre-vote changes nothing, a vote request asks for their
//! votes. We tally the answers once, at the end of every turn.

use std::time::Duration;

use super::candidacy::Aim;
use super::question::{Purpose, Stage};
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::durable::Pace;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

/// A voter's T2 counts for at most so many times this member's own.
const MOST_T2S: u32 = 16;

/// How often a vote request is repeated. Two consecutive writes, the one in progress and that of the vote, may then
/// take four times as long as a leader's lease counts.
pub(super) const MOST_REPEATS: u32 = 3;

impl State {
    /// Whether a parked nomination may continue: its round is durable and, with a majority, enough voters agreed with
    /// the last question.
    fn may_go_on(&self, round: Epoch) -> bool {
        let agreed = !self.needs_majority() || self.candidacy.outcome(round) == Some(true);
        let durable = self.records.cover(round) || Fault::LeadsBeforeDurable.is_planted();
        durable && agreed
    }
}

impl State {
    /// The longest T2 of a voter, as far as this member knows: another member can be elected meanwhile, even if the
    /// timings of this one are far shorter. No file or lie makes it endless.
    pub(super) fn longest_t2(&self) -> Duration {
        let own = self.settings.timing.t2();
        let of = |id| self.detector.get(id).and_then(Peer::t2);
        let longest = self.membership.list().voters().filter_map(of).fold(own, Duration::max);
        longest.min(own * MOST_T2S)
    }

    /// Whether enough voters have voted for this member in this round, and it may ask for their votes again in the
    /// same epoch if these have expired.
    pub(in crate::core) fn may_repeat_votes(&self, round: Epoch) -> bool {
        let repeated = self.candidacy.votes_repeated(round);
        repeated.is_some_and(|times| times < MOST_REPEATS) && !Fault::VotesRunOut.is_planted()
    }

    /// The other voters that this member has not met since its start, or that have a newer list.
    pub(in crate::core) fn unmet_voters(&self) -> Vec<NodeId> {
        let version = self.membership.version();
        let is_met = |peer: &Peer| peer.incarnation().0 > 0 && peer.list() <= version;
        let unmet = |id: NodeId| self.detector.get(id).is_some_and(|peer| !is_met(peer));
        self.membership.list().voters().filter(|id| unmet(*id)).collect()
    }
}

impl Context<'_> {
    /// The algorithm nominates this member in a round. Returns whether the algorithm continues now; otherwise it is
    /// called back.
    pub fn nominate(&mut self, round: Epoch, aim: Aim, reason: &Reason) -> bool {
        let goes_on = match aim {
            Aim::Call => !self.state.needs_majority() || self.state.may_go_on(round),
            Aim::Halt => self.state.may_go_on(round),
            Aim::Lead => self.is_elected(round),
        };
        if !goes_on {
            self.park(round, aim, reason);
        }
        goes_on
    }

    /// Whether this member may lead in the epoch of this round: the epoch is durable and, with a majority, enough
    /// voters have voted for this member, for long enough to acknowledge its first heartbeat. Otherwise it asks them
    /// once more, if it may.
    pub fn is_elected(&self, round: Epoch) -> bool {
        let heartbeat = self.state.settings.timing.message * 2;
        let lasts = || self.state.has_votes(round, self.now + heartbeat);
        let elected = || self.state.has_votes(round, self.now);
        let votes = || lasts() || elected() && !self.state.may_repeat_votes(round);
        self.state.may_go_on(round) && (!self.state.needs_majority() || votes())
    }

    fn park(&mut self, round: Epoch, aim: Aim, reason: &Reason) {
        // A coordinator that has handed out its task is about to lead, and stays in its phase.
        let readies = aim == Aim::Lead && self.state.phase() == Phase::Reorganizing;
        if self.state.phase() != Phase::Electing && !readies {
            self.become_electing(reason.clone());
        }
        self.state.timers.cancel(Timer::Answer);
        self.state.timers.cancel(Timer::Coordinator);
        self.state.candidacy.parked = Some((aim, round)); // the record was ordered when the round was noted
        if !self.state.records.cover(round) {
            self.arm(Timer::Coordinator, self.state.settings.timing.t2());
        }
        self.ask_next_question(round);
    }

    /// Asks the voters for a pre-vote, then for their votes. A candidate to which the last leader handed over skips
    /// the first pre-vote: the voters are free, and no other nomination is expected.
    fn ask_next_question(&mut self, round: Epoch) {
        if !self.state.needs_majority() {
            return;
        }
        let (epoch, candidacy) = (self.state.view().epoch, &mut self.state.candidacy);
        let leads_next = candidacy.next_epoch() == Some(round);
        let stage = match candidacy.outcome(round) {
            None if leads_next && candidacy.take_designation() == Some(epoch) => Stage::Vote,
            None => Stage::PreVote,
            Some(false) => return, // the voters are being asked
            Some(true) => Stage::Vote,
        };
        self.ask_voters(Purpose::Win, stage, round);
    }

    /// With a majority: whether the last leader just handed over to this member. The voters are free, so this member
    /// need not ask those that rank higher: they may preempt it, if they can win.
    pub fn succeeds(&self) -> bool {
        let epoch = self.state.view().epoch;
        self.state.needs_majority() && self.state.candidacy.is_designated_in(epoch)
    }

    /// Asks the voters, unless they are being asked, whether this member may take over from the leader that it
    /// follows. If its disk was late, it first has the disk write, more than once: otherwise its own vote would come
    /// too late, and nobody would lead meanwhile.
    pub fn poll_for_takeover(&mut self) {
        let candidacy = &self.state.candidacy;
        if candidacy.question().is_some() || self.now < candidacy.next_takeover_poll {
            return;
        }
        let pace = self.state.records.pace(self.state.longest_vote(), self.now);
        if pace == Pace::Quick {
            let (view, next) = (self.state.view(), self.state.epochs.round().next());
            return self.ask_voters(Purpose::Preempt(view), Stage::PreVote, next);
        }
        if pace == Pace::Late {
            self.put_off_takeover();
        }
        if !self.state.records.are_under_way() {
            self.persist();
        }
    }

    /// Does not ask to take over for a while, longer each time.
    pub(super) fn put_off_takeover(&mut self) {
        let unit = self.state.longest_t2();
        let longest = self.now + unit * 4; // or a better member would come too late
        let candidacy = &mut self.state.candidacy;
        candidacy.takeovers.again(unit, self.now);
        candidacy.next_takeover_poll = match Fault::TakeoverAtOnce.is_planted() {
            true => self.now,
            false => candidacy.takeovers.until().min(longest),
        };
    }
}

impl Turn<'_> {
    /// Continues a parked nomination, if it may by now.
    pub fn unpark(&mut self) {
        if let Some((aim, round)) = self.cx.state.candidacy.parked
            && self.cx.state.may_go_on(round)
        {
            self.cx.state.candidacy.parked = None;
            self.algorithm.get().go_on(&mut self.cx, aim, round);
        }
    }

    /// No outcome of an election came in time. A candidate that is held up by its own disk withdraws until
    /// the disk has written, so that another member can win.
    pub fn nobody_came(&mut self) {
        self.cx.suspect_unreachable();
        let state = &mut *self.cx.state;
        match state.candidacy.parked {
            Some((_, round)) if !state.records.cover(round) => {
                state.candidacy.withdraw_until_disk_writes();
                self.cx.become_waiting(self.cx.now, Reason::DiskLags);
            }
            _ if state.is_discovering(self.cx.now) => self.call(Reason::NoCoordinator),
            _ if state.candidacy.is_denied() => self.await_voters(),
            _ => self.algorithm.get().expire(&mut self.cx, Timer::Coordinator),
        }
    }

    /// An election had no outcome in time; this member does not call another before the voters agree.
    pub fn await_voters(&mut self) {
        if self.cx.state.phase() == Phase::Waiting {
            self.cx.arm(Timer::Coordinator, self.cx.state.settings.timing.t2());
        } else {
            self.cx.become_waiting(self.cx.now, Reason::NoCoordinator);
        }
    }
}
