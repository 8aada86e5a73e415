//! The election thread and the locks: these take their turns after those of the core, which knows nothing of them.

use std::time::Duration;

use crossbeam::channel::Sender;

use super::ElectionLoop;
use crate::core::detector::ConnectionId;
use crate::core::locks::member::LockInput;
use crate::core::membership::MembershipChange;
use crate::core::message::{Done, Envelope, Forwarded, Message, Refusal};
use crate::core::types::{NodeId, Time};
use crate::core::{CommandId, Input, OperatorCommand, Output, Phase};
use crate::node::clock;
use crate::node::inbox::CommandOrder;
use crate::node::locks::request::LockRequest;
use crate::node::locks::speech;
use crate::node::locks::turn::LockSteps;
use crate::store::StoreError;

/// How long the end of the node waits for the coordinator to learn that all names were given back.
const LEARNS: Duration = Duration::from_millis(500);

impl ElectionLoop {
    /// A program asks for something.
    pub(super) fn request_locks(&mut self, request: LockRequest) {
        self.locks.request(&self.core, request, clock::now());
        self.turn_locks(None);
    }

    /// The store of the locks has written a record, or could not.
    pub(super) fn locks_stored(&mut self, result: Result<u64, StoreError>) {
        self.turn_locks(result.ok().map(|number| LockInput::Kept { number })); // the store logs failures
    }

    /// A turn of the locks, and what it leads to.
    pub(super) fn turn_locks(&mut self, input: Option<LockInput>) {
        let LockSteps { send, elects } = self.locks.turn(&self.core, clock::now(), input);
        for output in send {
            let _ = self.net.carry(output); // the network carries all of it
        }
        self.net.flush();
        if elects {
            let input = self.command(OperatorCommand::Elect, None);
            self.turn(input);
        }
        let (now, locks) = (clock::now(), &self.locks);
        let is_due = |by: Time| locks.has_given_all_back() || by <= now;
        if let Some((order, _)) = self.stopping.take_if(|(_, by)| is_due(*by)) {
            let input = self.command(order.command, Some(order.answer));
            self.turn(input);
        }
        self.go_on_with_change();
    }

    /// Takes words about locks out of what comes from the network, and keeps from the core for a while what would make the
    /// locks unsafe.
    pub(super) fn without_locks(&mut self, input: Input) -> Option<Input> {
        let Input::Message { connection, from, envelope } = input else { return Some(input) };
        match &envelope.message {
            Message::Lock(_) => {
                self.hear_locks(connection, from, envelope);
                None
            }
            Message::Forward { command, .. } if self.changes_voters_too_soon(command) => {
                self.let_change_wait(Input::Message { connection, from, envelope });
                None
            }
            _ => Some(Input::Message { connection, from, envelope }),
        }
    }

    fn hear_locks(&mut self, connection: ConnectionId, from: NodeId, mut envelope: Envelope) {
        let Message::Lock(words) = &mut envelope.message else { return };
        let (words, now) = (std::mem::take(words), clock::now());
        let life = (from, envelope.incarnation);
        let known = self.locks.known_counter();
        if !speech::is_sound(&self.core, known, (connection, from), (&envelope, &words)) {
            return;
        }
        for word in words {
            let input = self.locks.hear(&self.core, life, word, now);
            self.turn_locks(input);
        }
    }

    /// An order that waits, is refused, or goes to the core now.
    pub(super) fn unless_locks_wait(&mut self, order: CommandOrder) -> Option<CommandOrder> {
        match &order.command {
            OperatorCommand::Stop if self.stopping.is_none() && !self.locks.has_no_part() => {
                self.locks.begin_to_stop();
                let by = clock::now() + self.published.longest_hold() + LEARNS;
                self.stopping = Some((order, by));
                self.turn_locks(None);
                None
            }
            OperatorCommand::ForLeader(command) if self.changes_voters_too_soon(command) => {
                let input = self.command(order.command, Some(order.answer));
                self.let_change_wait(input);
                None
            }
            _ => Some(order),
        }
    }

    /// A command to the core, under a number of its own. Its outcome goes to whoever waits for it.
    pub(super) fn command(
        &mut self,
        command: OperatorCommand,
        answer: Option<Sender<Result<Done, Refusal>>>,
    ) -> Input {
        self.last_command += 1;
        let id = CommandId(self.last_command);
        self.answers.extend(answer.map(|answer| (id, answer)));
        Input::Command { id, command }
    }

    /// Whether this leader is to change the voters while promises by the list before may still run. (G9)
    fn changes_voters_too_soon(&self, command: &Forwarded) -> bool {
        let changes = matches!(
            command,
            Forwarded::Change(MembershipChange::Add(_) | MembershipChange::Remove { .. })
        );
        let leads = self.core.phase() == Phase::Leading;
        changes && leads && !self.locks.may_change_voters(clock::now())
    }

    /// The change of the voters goes to the core once the locks bear it: the leader first reads what the voters have.
    fn let_change_wait(&mut self, input: Input) {
        if self.changing.is_some() {
            return self.refuse_change(input, Refusal::ChangeUnderWay);
        }
        let failure = self.core.settings().timing.failure;
        let by = clock::now() + failure;
        self.locks.wake_until(by + failure);
        self.changing = Some((input, by));
        self.turn_locks(None);
    }

    fn go_on_with_change(&mut self) {
        let now = clock::now();
        let ready = self.core.phase() != Phase::Leading || self.locks.may_change_voters(now);
        let Some((input, _)) = self.changing.take_if(|(_, by)| ready || *by <= now) else { return };
        if ready {
            self.turn(input);
        } else {
            self.refuse_change(input, Refusal::ListNotConfirmed);
        }
    }

    /// Tells whoever wanted this change why it is not made.
    fn refuse_change(&mut self, input: Input, refusal: Refusal) {
        match input {
            Input::Command { id, .. } => {
                let answer = self.answers.remove(&id);
                answer.map(|answer| answer.try_send(Err(refusal))); // the caller may have given up
            }
            Input::Message { from, envelope, .. } => {
                let Message::Forward { number, .. } = envelope.message else { return };
                let message = Message::Outcome { number, result: Err(refusal) };
                let (epoch, incarnation) = (self.core.view().epoch, self.core.incarnation());
                let envelope = Envelope { epoch, incarnation, message };
                let _ = self.net.carry(Output::Send { to: vec![from], envelope });
                self.net.flush(); // no turn of the core follows
            }
            _ => {}
        }
    }
}
