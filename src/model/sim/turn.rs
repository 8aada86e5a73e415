//! A turn of a process: it is handed an input, and what it puts out is carried out, one by one.

use super::counters::Counter;
use super::members;
use super::named;
use super::network;
use super::node::{Death, Node};
use super::setup::FaultSet;
use super::speech;
use super::waiting;
use super::world::{CHANGE, World};
use crate::core::message::{Done, Refusal};
use crate::core::types::Role;
use crate::core::{CommandId, Input, Note, Output};

impl World {
    /// Hands a process an input and carries out what it answers, one by one: it may die between
    /// any two of them.
    pub fn give(&mut self, node: usize, input: Input) {
        self.notice_stall(node);
        let Some(input) = waiting::wait_amid(self, node, input) else { return };
        self.trace(node, |narrator| narrator.input(&input));
        self.draw_turn(node, &input);
        let tick = input == Input::Tick;
        let now = self.nodes[node].local(self.now);
        self.nodes[node].turned = now;
        if let Input::Dead(certificate) = &input {
            speech::hears_of_death(self, node, certificate);
        }
        let process = (node, self.nodes[node].incarnation);
        let Some(core) = &mut self.nodes[node].core else { return };
        let mut out = std::mem::take(&mut self.outputs);
        self.flights.iter_mut().for_each(|flights| flights.begin(process, now, &input));
        #[cfg(test)]
        self.records.iter_mut().for_each(|records| records.begin(process, core, now, &input));
        core.handle(now, input, &mut out);
        self.flights.iter_mut().for_each(|flights| flights.end(process, core, now, &out));
        #[cfg(test)]
        self.records.iter_mut().for_each(|records| records.end(process, core, now, &out));
        let due = core.deadline().is_some_and(|due| due <= now);
        let busy = &mut self.nodes[node].busy; // a new list makes the leader send a heartbeat immediately
        if tick && due && *busy {
            self.checker.fail(self.now, "its deadline has passed after a tick, again");
        }
        *busy = due && (tick || *busy);
        if let Some(out) = waiting::pause_amid(self, node, out) {
            self.carry_out(node, out);
        } else {
            self.nodes[node].busy = false; // time passes
        }
    }

    /// Tells a process that it was stalled, if it was, before it handles anything else.
    pub(super) fn notice_stall(&mut self, node: usize) {
        if let Some(time) = self.nodes[node].stalled.take() {
            self.faults.count(Counter::Stalls);
            self.give(node, Input::Stalled { time });
        }
    }

    /// Publishes the state of a process after a turn, and carries out the outputs of the turn.
    pub(super) fn carry_out(&mut self, node: usize, mut out: Vec<Output>) {
        self.publish(node);
        for output in out.drain(..) {
            if self.burnt(node) {
                break;
            }
            self.trace(node, |narrator| narrator.output(&output));
            self.carry(node, output);
        }
        self.outputs = out;
        self.check(node);
        self.look_after_job(node);
        self.look_after_coroner(node);
        named::after_turn(self, node);
        self.record_waits(node);
        self.arm(node);
        self.leave(node);
    }

    /// The operator of a member gets the answer that it is drained. Where the leader judges all drains, they never leave
    /// nobody that may lead, whoever crashes now. (A6)
    fn note_drain(&mut self, node: usize, id: CommandId) {
        self.nodes[node].assured.note_drain(id);
        self.faults.count(Counter::Drained);
        let role = |at: usize| self.members.at(at).map(|member| member.role);
        let mut leaders = (0..self.nodes.len()).filter(|at| role(*at) == Some(Role::Member));
        let judged = self.setup.faults == FaultSet::Orders;
        if judged && leaders.all(|at| self.nodes[at].disk.holds_drain()) {
            self.checker.fail(self.now, "all members that may lead are drained");
        }
    }

    /// Another coroner takes the place of one that ended, while no job runs.
    fn look_after_coroner(&mut self, node: usize) {
        let now = self.nodes[node].local(self.now);
        let job_runs = self.jobs.as_ref().is_some_and(|jobs| jobs.runs(node, now));
        let lives = self.nodes[node].core.is_some();
        let replaced = self.coroners.as_mut().filter(|_| lives);
        let replaced = replaced.is_some_and(|coroners| coroners.replace(node, job_runs));
        self.faults.add(Counter::CoronersReplaced, u64::from(replaced));
    }

    fn carry(&mut self, node: usize, output: Output) {
        match output {
            Output::Hello { to, attempt, hello } => {
                let Some(to) = self.place(to) else { return };
                network::say_hello(self, node, to, attempt, hello);
            }
            Output::Welcome { connection, welcome, .. } => {
                network::welcome(self, connection, welcome)
            }
            Output::Reject { connection, reason } => network::reject(self, connection, reason),
            Output::Send { to, envelope } => speech::send_all(self, node, &to, envelope),
            Output::Close { connection } => network::shut(self, connection.0 as usize),
            Output::Disconnect { peer } => {
                let Some(peer) = self.place(peer) else { return };
                network::disconnect(self, node, peer);
            }
            Output::Dial { peer } => {
                let Some(peer) = self.place(peer) else { return };
                network::dial(self, node, peer);
            }
            Output::Persist { number, record } => self.persist(node, number, record),
            Output::Changed(change) => self.changed(node, &change),
            // The last output of a process that was asked to stop: it ends cleanly.
            Output::Answer { result: Ok(Done::Stopped), .. } => self.die(node, Death::Killed),
            Output::Answer { id, result: Ok(Done::Drained { .. }) } => {
                self.note_drain(node, id);
            }
            Output::Answer {
                result: Err(refusal @ (Refusal::LastEligible | Refusal::Undecided)),
                ..
            } => {
                let refused = refusal == Refusal::LastEligible;
                let counter =
                    if refused { Counter::DrainsRefused } else { Counter::DrainsUndecided };
                self.faults.count(counter);
            }
            Output::Answer { result: Ok(Done::Paused | Done::Resumed), .. } => {
                let Node { core: Some(core), assured, disk, .. } = &mut self.nodes[node] else {
                    return;
                };
                assured.note_pause(core, disk.pause());
            }
            Output::Answer { id: CHANGE, result } => members::answered(self, node, result),
            Output::Note(Note::ListOverruled { .. }) => self.faults.count(Counter::Overruled),
            Output::Members(list) => network::adopt_list(self, node, list),
            Output::EndJob { .. } => self.end_job(node),
            Output::Answer { .. } | Output::Note(_) => {}
        }
    }
}
