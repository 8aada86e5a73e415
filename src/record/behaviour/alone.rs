//! One life, turn by turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::leader::LeaderJudge;
use super::life::{LifeStart, RecordedLife, TapedTurn};
use super::voter::VoterJudge;
use super::{Breach, RefusedRecording, SpecAction, ToldAnswer};
use crate::core::durable::Durable;
use crate::core::membership::MemberList;
use crate::core::message::{Done, Envelope, Heartbeat, Hello, Message};
use crate::core::types::{Incarnation, NodeId, Time};
use crate::core::{Input, Note, Output, Phase, Transition};

/// What a life did, for those who compare it with others.
#[derive(Debug)]
pub struct Account<'a> {
    pub life: &'a RecordedLife,
    /// The votes and acknowledgements that it sent, and those that it counted, with the turn.
    pub votes: BTreeSet<ToldAnswer>,
    pub acknowledged: BTreeSet<ToldAnswer>,
    pub counted_votes: BTreeMap<ToldAnswer, usize>,
    pub counted_acknowledged: BTreeMap<ToldAnswer, usize>,
    /// The epochs that it led in.
    pub led: Vec<(u64, usize)>,
    /// The longest promise that it made.
    pub made: std::time::Duration,
}

impl Account<'_> {
    /// The refusal of this turn.
    pub fn refused(&self, turn: usize, breach: Breach) -> RefusedRecording {
        refused(self.life, turn, breach)
    }
}

fn refused(life: &RecordedLife, turn: usize, breach: Breach) -> RefusedRecording {
    let LifeStart { name, incarnation, started, .. } = &life.start;
    let at = turn.checked_sub(1).and_then(|at| life.turns.get(at)).map(|turn| turn.at);
    let at = at.unwrap_or(started.at);
    RefusedRecording { node: name.clone(), incarnation: *incarnation, turn, at, breach }
}

/// Judges one life.
pub fn judge<'a>(
    life: &'a RecordedLife,
    steps: &mut BTreeMap<SpecAction, u64>,
) -> Result<Account<'a>, RefusedRecording> {
    let account = Account {
        life,
        votes: BTreeSet::new(),
        acknowledged: BTreeSet::new(),
        counted_votes: BTreeMap::new(),
        counted_acknowledged: BTreeMap::new(),
        led: life.start.leads.map(|epoch| (epoch.0, 0)).into_iter().collect(),
        made: std::time::Duration::ZERO,
    };
    let (voter, leader) = (VoterJudge::new(&life.start), LeaderJudge::new(&life.start));
    let me = (life.start.id, life.start.incarnation);
    let (start, stops, turn) = (&life.start, false, 0);
    let mut judge = LifeJudge { start, me, voter, leader, account, steps, stops, turn };
    for (at, turn) in life.turns.iter().enumerate() {
        judge.turn = at + 1;
        judge.takes_turn(turn).map_err(|breach| refused(life, at + 1, breach))?;
    }
    judge.account.made = judge.voter.made;
    Ok(judge.account)
}

struct LifeJudge<'a, 'b> {
    start: &'a LifeStart,
    me: (NodeId, Incarnation),
    voter: VoterJudge<'a>,
    leader: LeaderJudge<'a>,
    account: Account<'a>,
    steps: &'b mut BTreeMap<SpecAction, u64>,
    /// Whether it is about to end in order.
    stops: bool,
    turn: usize,
}

impl LifeJudge<'_, '_> {
    fn takes_turn(&mut self, turn: &TapedTurn) -> Result<(), Breach> {
        let TapedTurn { at, input, outputs } = turn;
        let led = self.leader.term.as_ref().map(|term| term.epoch);
        let is_over = self.leader.is_over(*at);
        self.takes(*at, input, outputs);
        for output in outputs {
            self.puts_out(*at, output, turn)?;
        }
        match led.filter(|epoch| is_over && self.leader.leads_in(*epoch)) {
            Some(epoch) => {
                let why = format!("it leads on in epoch {epoch}, and no majority is bound (L4)");
                Breach::of(SpecAction::Renew, why)
            }
            None => Ok(()),
        }
    }

    fn count(&mut self, action: SpecAction) {
        *self.steps.entry(action).or_default() += 1;
    }

    fn takes(&mut self, now: Time, input: &Input, outputs: &[Output]) {
        match input {
            Input::Hello { connection, hello, .. } => {
                let welcomes = |output: &Output| matches!(output, Output::Welcome { connection: to, .. } if to == connection);
                if outputs.iter().any(welcomes) {
                    self.meets(hello);
                }
            }
            Input::Welcomed { peer, welcome } => {
                let refuses = |output: &Output| matches!(output, Output::Note(Note::Refused { peer: of, .. }) if of == peer);
                if !outputs.iter().any(refuses) {
                    self.meets(welcome);
                }
            }
            Input::Dead(certificate) => self.buries(certificate, now),
            Input::Message { from, envelope, .. } => self.hears(*from, envelope, now),
            Input::Timed { timing } => self.voter.retime(timing.lease),
            Input::Persisted { number } => {
                self.voter.disk.wrote_up_to(*number);
                self.leader.counts_itself(&self.voter);
            }
            Input::JobStarted { .. } => self.leader.job_runs = true,
            Input::JobEnded => {
                self.leader.job_runs = false;
                self.frees_itself();
            }
            _ => {}
        }
    }

    fn meets(&mut self, hello: &Hello) {
        let list = self.leader.list.clone();
        self.voter.meet(hello, &list);
    }

    fn buries(&mut self, certificate: &crate::core::death::DeathCertificate, now: Time) {
        let LifeStart { cluster, is_whole, .. } = self.start;
        self.voter.promises.bury(certificate, cluster, *is_whole, now);
    }

    /// Without a leadership and without a job nothing rests on its promise to itself. (H12)
    fn frees_itself(&mut self) {
        if self.leader.term.is_none() && !self.leader.job_runs {
            self.voter.promises.end_own(self.start.id);
        }
    }

    fn hears(&mut self, from: NodeId, envelope: &Envelope, now: Time) {
        let by = (from, envelope.incarnation);
        let told = |number, epoch: crate::core::types::Epoch| ToldAnswer {
            by,
            to: self.me,
            epoch: epoch.0,
            number,
        };
        match &envelope.message {
            Message::VoteRequest { number, epoch, lease, list } => {
                self.voter.takes_request(by, (*number, *epoch), now, *lease, *list);
            }
            Message::Heartbeat(heartbeat) => self.voter.takes(by, heartbeat, now),
            Message::List { list } => {
                self.voter.takes_list(from, envelope.epoch, list.version(), now);
            }
            Message::Listed { version } => self.leader.hears_stored(from, *version),
            Message::Release { epoch, .. } => self.voter.promises.free(from, *epoch, now),
            Message::Freed { leader, epoch } if self.leader.list.is_voter(from) => {
                self.voter.promises.free(*leader, *epoch, now);
            }
            Message::Dead(certificate) => self.buries(certificate, now),
            Message::Vote { incarnation, number, epoch } if *incarnation == self.me.1 => {
                let told = told(*number, *epoch);
                if self.leader.gets_vote(from, *number, *epoch) {
                    self.account.counted_votes.entry(told).or_insert(self.turn);
                }
            }
            Message::Acknowledge { incarnation, number, epoch, .. }
                if *incarnation == self.me.1 =>
            {
                let told = told(*number, *epoch);
                if self.leader.gets_acknowledged(from, *number, *epoch) {
                    self.account.counted_acknowledged.entry(told).or_insert(self.turn);
                }
                self.count(SpecAction::Renew);
            }
            _ => {}
        }
    }

    fn puts_out(&mut self, now: Time, output: &Output, turn: &TapedTurn) -> Result<(), Breach> {
        match output {
            Output::Send { to, envelope } => {
                for to in to {
                    self.sends(*to, &envelope.message, now)?;
                }
                self.sends_to_all(&envelope.message, now, &turn.input)
            }
            Output::Persist { number, record } => self.writes(*number, record, now),
            Output::Changed(change) => self.changes(change, now, &turn.outputs),
            Output::Members(list) => {
                self.leader.changes_list(list);
                self.voter.list = list.version();
                Ok(())
            }
            Output::Answer { result: Ok(done), .. } => self.judge_done(done, &turn.input),
            _ => Ok(()),
        }
    }

    /// It sends a message to one other.
    fn sends(&mut self, to: NodeId, message: &Message, now: Time) -> Result<(), Breach> {
        let by = self.me;
        match *message {
            Message::Vote { incarnation, number, epoch } => {
                self.count(SpecAction::GiveVote);
                let to = (to, incarnation);
                self.account.votes.insert(ToldAnswer { by, to, epoch: epoch.0, number });
                self.voter.votes(to, (number, epoch), now)
            }
            Message::Acknowledge { incarnation, number, epoch, .. } => {
                self.count(SpecAction::Acknowledge);
                let to = (to, incarnation);
                self.account.acknowledged.insert(ToldAnswer { by, to, epoch: epoch.0, number });
                self.voter.acknowledges(to, (number, epoch), now)
            }
            Message::Listed { version } => {
                self.count(SpecAction::Take);
                self.voter.judge_stored(to, version)
            }
            _ => Ok(()),
        }
    }

    /// It sends a message, to whomever.
    fn sends_to_all(&mut self, message: &Message, now: Time, input: &Input) -> Result<(), Breach> {
        match message {
            Message::VoteRequest { number, epoch, lease, .. } => {
                self.leader.asks(&self.voter, (*number, *epoch), now, *lease);
                Ok(())
            }
            Message::Heartbeat(Heartbeat { number, epoch, lease, .. }) => {
                self.count(SpecAction::Beat);
                self.leader.beats(&mut self.voter, (*number, *epoch), now, *lease)
            }
            Message::Release { epoch, .. } => {
                self.count(SpecAction::Release);
                self.leader.releases(*epoch)
            }
            Message::Outcome { result: Ok(done), .. } => self.judge_done(done, input),
            _ => Ok(()),
        }
    }

    /// It says that a change of the list is done, and not what another said.
    fn judge_done(&mut self, done: &Done, input: &Input) -> Result<(), Breach> {
        let passes_on = matches!(
            input,
            Input::Message { envelope: Envelope { message: Message::Outcome { .. }, .. }, .. }
        );
        let rests = matches!(done, Done::Added(_) | Done::Removed { stored: true, .. });
        if passes_on || !rests {
            return Ok(());
        }
        self.count(SpecAction::Done);
        self.leader.judge_done(&self.voter)
    }

    fn writes(&mut self, number: u64, record: &Durable, now: Time) -> Result<(), Breach> {
        self.count(SpecAction::Write);
        let made = self.voter.made;
        let vote = self.voter.disk.takes((number, record), (now, self.stops), made)?;
        self.voter.wrote(vote);
        Ok(())
    }

    fn changes(
        &mut self,
        change: &Transition,
        now: Time,
        outputs: &[Output],
    ) -> Result<(), Breach> {
        let Transition { to, epoch, .. } = *change;
        self.stops |= to == Phase::Stopping;
        if to != Phase::Leading {
            self.leader.term = None;
            self.frees_itself();
            return Ok(());
        }
        if self.leader.leads_in(epoch) {
            return Ok(());
        }
        self.count(SpecAction::Become);
        self.account.led.push((epoch.0, self.turn));
        let taken = outputs.iter().filter_map(|output| match output {
            Output::Members(list) => Some(list),
            _ => None,
        });
        let before = self.leader.list.clone();
        let lists: Vec<&Arc<MemberList>> = std::iter::once(&before).chain(taken).collect();
        self.leader.becomes(&self.voter, epoch, now, &lists)
    }
}
