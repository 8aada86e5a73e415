//! The election thread's side of the locks: the member's part in them runs beside the core, and follows it after each of
//! its turns. While nobody wants or holds a name it says nothing at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use log::debug;
use parking_lot::RwLock;

use super::forgotten::ForgottenRuns;
use super::hands::HandsThread;
use super::looks::NamesLook;
use super::moves::LockMoves;
use super::named::WantedName;
use super::order::LockOrder;
use super::orders::{LockOrders, MOST_ORDERS};
use super::outlook::{DurableRounds, election_view};
use super::request::{LockRefused, LockRequest};
use super::seen::LocksSeen;

use crate::config::LocksConfig;
use crate::core::Core;
use crate::core::durable::Durable;
use crate::core::locks::member::{LockInput, LockMember};
use crate::core::locks::parcels::Parcels;
use crate::core::locks::table::{Life, LockName};
use crate::core::locks::word::LockWord;
use crate::core::settings::Quorum;
use crate::core::types::{Incarnation, NodeId, Time};
use crate::node::clock;
use crate::node::command::CommandError;
use crate::node::leadership::SharedTerm;
use crate::store::StoreWriter;
use crate::store::locks::{LocksFile, LocksRecord};

/// For how long a member that gave a name back by an order is behind the other candidates.
pub const BEHIND: Duration = Duration::from_secs(10);

/// What the store of the core says of the voter.
pub struct KnownRounds {
    pub durable: DurableRounds,
    /// The same of records that are being written, by their numbers.
    written: Vec<(u64, DurableRounds)>,
}

pub struct LockSide {
    /// None without a majority.
    pub(super) member: Option<LockMember>,
    pub(super) store: StoreWriter<LocksFile>,
    pub(super) rounds: KnownRounds,
    pub(super) names: BTreeMap<u64, WantedName>,
    pub(super) looks: NamesLook,
    /// Until when all names may be acted under.
    pub(super) term: Arc<SharedTerm>,
    pub(super) parcels: Parcels,
    pub(super) orders: LockOrders,
    /// The tokens under which programs began to act.
    pub(super) begun: BTreeMap<LockName, u64>,
    pub(super) forgotten: ForgottenRuns,
    pub(super) moves: LockMoves,
    pub(super) config: LocksConfig,
    /// The name of this member.
    pub(super) own: String,
    /// What is said in this turn besides what the member says.
    pub(super) said: Vec<(NodeId, LockWord)>,
    pub(super) is_healthy: bool,
    pub(super) is_stopping: bool,
    /// It takes turns until then, though nobody wants or holds anything as far as it knows.
    pub(super) awake_until: Time,
    /// It speaks without being asked until then.
    pub(super) speaks_until: Time,
    /// When each member spoke of locks last.
    pub(super) heard: BTreeMap<NodeId, Time>,
    pub(super) seen: LocksSeen,
    pub(super) shown: Arc<RwLock<LocksSeen>>,
    pub(super) hands: HandsThread,
}

impl LockSide {
    /// Of a node that starts now, with what its disk holds.
    pub fn new(
        core: &Core,
        restored: &Durable,
        (store, record): (StoreWriter<LocksFile>, LocksRecord),
        config: LocksConfig,
        (shown, hands): (Arc<RwLock<LocksSeen>>, HandsThread),
    ) -> LockSide {
        let (settings, now) = (core.settings(), clock::now());
        let rounds = KnownRounds { durable: DurableRounds::of(restored), written: Vec::new() };
        let life = Life { member: core.id(), incarnation: core.incarnation() };
        let member = (settings.quorum == Quorum::Majority).then(|| {
            let view = election_view(core, rounds.durable, now);
            // The record of the core has the longest promise of any kind, also if that of the locks was lost.
            let promised = restored.vote.map(|vote| vote.promised).unwrap_or_default();
            let longest = record.longest.max(promised);
            let mut member = LockMember::new(&view, life, record.kept, longest);
            member.set_rules(Arc::new(config.rules()));
            member
        });
        LockSide {
            member,
            store,
            rounds,
            names: BTreeMap::new(),
            looks: NamesLook::default(),
            term: Arc::default(),
            parcels: Parcels::default(),
            orders: LockOrders::default(),
            begun: BTreeMap::new(),
            forgotten: ForgottenRuns::default(),
            moves: LockMoves::default(),
            config,
            own: core.members().name(core.id()),
            said: Vec::new(),
            is_healthy: settings.health.is_none(),
            is_stopping: false,
            awake_until: now,
            speaks_until: now,
            heard: BTreeMap::new(),
            seen: LocksSeen::default(),
            shown,
            hands,
        }
    }

    /// Writes what is pending, and ends the thread of its file.
    pub fn stop(self) {
        self.names.values().for_each(|name| name.feed.show(None));
        self.store.stop();
        self.hands.stop();
    }

    /// The core has a record written.
    pub fn recorded(&mut self, number: u64, record: &Durable) {
        self.rounds.written.push((number, DurableRounds::of(record)));
    }

    /// The records of the core up to this number are durable.
    pub fn durable(&mut self, number: u64) {
        let due = self.rounds.written.extract_if(.., |(record, _)| *record <= number);
        self.rounds.durable = due.last().map_or(self.rounds.durable, |(_, rounds)| rounds);
    }

    /// The health check of this member passes or fails.
    pub fn checked(&mut self, is_healthy: bool) {
        self.is_healthy = is_healthy;
    }

    /// The node stops: all names go back.
    pub fn begin_to_stop(&mut self) {
        self.is_stopping = true;
    }

    /// Whether no program acts under a name any more, and the coordinator knows that, if there is one.
    pub fn has_given_all_back(&self) -> bool {
        let given = self.member.as_ref().is_none_or(|it| it.holder().released().is_empty());
        given && !self.looks.is_acting
    }

    /// Whether this member neither wants nor holds anything.
    pub fn has_no_part(&self) -> bool {
        self.names.is_empty() && self.has_given_all_back()
    }

    /// The counter of the last table that this member knows.
    pub fn known_counter(&self) -> u64 {
        self.member.as_ref().map_or(0, |member| member.holder().known().counter)
    }

    /// Whether the voters may change: what those of the list before promised is over. With an older voter there are no
    /// locks. (G9)
    pub fn may_change_voters(&self, now: Time) -> bool {
        let member = self.member.as_ref().filter(|_| self.seen.older.is_none());
        member.is_none_or(|member| member.may_change_list(now))
    }

    /// It takes turns until then, and so reads what the voters have if it leads.
    pub fn wake_until(&mut self, time: Time) {
        self.awake_until = self.awake_until.max(time);
    }

    /// Whether there is nothing to do or to say.
    pub(super) fn is_asleep(&self, now: Time) -> bool {
        let idle = self.member.as_ref().is_none_or(LockMember::is_idle);
        let none = self.orders.is_empty() && self.forgotten.is_empty();
        idle && self.names.is_empty() && none && now >= self.awake_until
    }

    /// When it wants a turn, if nothing happens before.
    pub fn deadline(&self, now: Time) -> Option<Time> {
        let member = self.member.as_ref().filter(|_| !self.is_asleep(now))?;
        let supported = self.looks.is_acting.then(|| member.holder().supported_until());
        let orders = self.orders.deadline().into_iter().chain(self.forgotten.deadline());
        let looks = self.looks.deadline().into_iter();
        looks.chain(supported).chain(orders).chain([member.deadline()]).min()
    }

    /// What a program of this process asks for.
    pub fn request(&mut self, core: &Core, request: LockRequest, now: Time) {
        match &request {
            // Many of these may come, one right after the other.
            LockRequest::Want { .. }
            | LockRequest::Unwant { .. }
            | LockRequest::GiveBack { .. } => {
                self.looks.soon(now, core.settings().timing.heartbeat);
            }
            _ => self.looks.at(now),
        }
        match request {
            LockRequest::Want { number, name, want, once, answer } => {
                let wanted = self.want(number, name, want, once);
                let is_wanted = wanted.is_ok();
                if answer.try_send(wanted).is_err() && is_wanted {
                    self.forget_name(number); // the caller gave up
                }
            }
            LockRequest::Unwant { number } => self.change(number, |name| {
                name.is_dropped = true;
                name.end(now);
            }),
            LockRequest::Hold { number, hold, most, held } => self.change(number, |name| {
                if name.hold(hold, most) {
                    let _ = held.try_send(()); // the caller may have given up
                }
            }),
            LockRequest::LetGo { number, hold } => self.change(number, |name| name.let_go(hold)),
            LockRequest::GiveBack { number, behind } => self.change(number, |name| {
                name.fall_behind(now + behind);
                name.end(now);
            }),
            LockRequest::EndRun { number, code, behind } => self.change(number, |name| {
                name.code = Some(code);
                name.fall_behind(now + behind);
                name.end(now);
            }),
            LockRequest::Rebalance { answer, .. } | LockRequest::Order { answer, .. }
                if self.waiting_orders() >= MOST_ORDERS =>
            {
                let why = format!("{MOST_ORDERS} orders wait already, which is the most");
                let _ = answer.try_send(Err(CommandError::NotNow(why))); // the caller may have given up
            }
            LockRequest::Configure { config, done } => {
                self.configure(config);
                let _ = done.try_send(()); // the caller may have given up
            }
            LockRequest::Rebalance { timeout, answer } => {
                let first = self.order_rebalance(core, (now + timeout, answer));
                self.pass_on(core, first, now);
            }
            LockRequest::Order { name, order, timeout, answer } => {
                if order == LockOrder::Forget && self.is_remembered(&name) {
                    self.forget(core, name, (now, now + timeout, answer));
                    return;
                }
                let Some(member) = &self.member else {
                    let refused = CommandError::Refused(LockRefused::QuorumNone.to_string());
                    let _ = answer.try_send(Err(refused)); // the caller may have given up
                    return;
                };
                let (until, order) = (now + timeout, (name, order));
                let (of, wishes) = ((member, &**core.members()), &self.seen.wishes[..]);
                let first = self.orders.take(of, wishes, order, (until, answer));
                self.pass_on(core, first, now);
            }
        }
    }

    /// How many orders of operators wait, without the moves of this coordinator.
    fn waiting_orders(&self) -> usize {
        let of_others = self.moves.passed.len() + self.forgotten.len();
        self.orders.len().saturating_sub(self.moves.under_way.len()) + of_others
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut WantedName)) {
        if let Some(name) = self.names.get_mut(&number) {
            change(name);
        }
    }

    /// Passes an order on, perhaps to this member itself.
    pub(super) fn pass_on(&mut self, core: &Core, order: Option<(NodeId, LockWord)>, now: Time) {
        let Some((to, word)) = order else { return };
        if to == core.id() {
            self.hear(core, (to, core.incarnation()), word, now);
        } else {
            self.said.push((to, word));
        }
    }

    /// A word about locks came in. Those about orders are for this room, and the others for the member.
    pub fn hear(
        &mut self,
        core: &Core,
        (from, incarnation): (NodeId, Incarnation),
        word: LockWord,
        now: Time,
    ) -> Option<LockInput> {
        let word = self.parcels.unpack((from, incarnation), word);
        match word.inspect_err(|why| debug!("a table of locks is refused: {why}")).ok()?? {
            LockWord::Order { number, name, token } => {
                let done = self.obey(&name, token, now);
                self.pass_on(core, Some((from, LockWord::Ordered { number, done })), now);
                None
            }
            LockWord::Rebalance { number } => {
                let leads = core.leader().is_some_and(|leader| leader.id == core.id());
                self.moves.is_asked |= leads;
                self.pass_on(core, Some((from, LockWord::Ordered { number, done: leads })), now);
                None
            }
            LockWord::Ordered { number, done } if self.moves.answered(number, done) => None,
            LockWord::Ordered { number, done } => {
                let member = self.member.as_ref()?;
                let outcome = (from, number, done);
                let next = self.orders.ordered((member, core.members()), outcome, now);
                self.pass_on(core, next, now);
                None
            }
            word => Some(LockInput::Word { from, word }),
        }
    }

    /// Does what another member's operator wants of this one. False if it has nothing to do with it any more.
    fn obey(&mut self, name: &LockName, token: Option<u64>, now: Time) -> bool {
        self.looks.at(now);
        let known = self.looks.numbers.get(name).and_then(|number| self.names.get_mut(number));
        let Some(known) = known.filter(|known| !known.is_dropped) else { return false };
        match token {
            Some(_) if known.token != token => return false,
            Some(_) => {
                known.fall_behind(now + BEHIND);
                known.end(now);
            }
            None => known.favour(now),
        }
        true
    }
}
