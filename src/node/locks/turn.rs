//! A turn of the locks: the member takes what there is, programs learn what they hold, and what is to be said goes out.

use std::sync::Arc;

use electd_facts::hands::DoneTable;
use electd_facts::locks::LockHindrance;

use super::looks::LookedAt;
use super::outlook::election_view;
use super::periods::give_back;
use super::side::LockSide;
use super::speech;
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::member::{LockInput, LockMember, LockOutput};
use crate::core::locks::table::LockName;
use crate::core::locks::word::{LockWants, LockWord};
use crate::core::types::{NodeId, Time};
use crate::core::{Core, Output, bounds};
use crate::node::clock;
use crate::node::leadership::Term;
use crate::store::locks::LocksRecord;

/// What the election thread carries out after a turn of the locks, in this order.
#[derive(Debug, Default)]
pub struct LockSteps {
    pub send: Vec<Output>,
    /// This leader has itself elected anew.
    pub elects: bool,
}

impl LockSide {
    /// One turn: with an input, or because time has passed or the core has moved on.
    pub fn turn(&mut self, core: &Core, now: Time, input: Option<LockInput>) -> LockSteps {
        self.see_versions(core);
        if input.is_none() && self.is_asleep(now) {
            self.see_no_wishes();
            return LockSteps::default();
        }
        let Some(mut member) = self.member.take() else { return LockSteps::default() };
        let view = election_view(core, self.rounds.durable, now);
        let failure = core.settings().timing.failure;
        if let Some(LockInput::Word { from, .. }) = &input {
            self.heard.insert(*from, now);
            self.awake_until = now + failure;
        }
        let hindered = self.hindered(core);
        let may_hold = hindered.is_none();
        let known =
            LookedAt { hindered, is_drained: core.drain().is_some(), ..self.looks.looked_at };
        let mut looks = self.looks.take(now) || known != self.looks.looked_at;
        if looks {
            self.settle(&mut member, &view, may_hold, known.is_drained);
        }
        let mut out = Vec::new();
        if !member.is_idle() {
            member.lengthen(core.settings().timing.lease, &mut out);
        }
        member.take(&view, input.unwrap_or(LockInput::Tick), &mut out);
        if !member.is_idle() {
            (self.awake_until, self.speaks_until) = (now + failure, now + failure);
        }
        let until = member.holder().supported_until();
        let (table, is_supported) = (member.holder().known(), now < until);
        let known = LookedAt { table, is_supported, ..known };
        looks |= known != self.looks.looked_at;
        self.looks.looked_at = known;
        self.renew(&view, until);
        if looks {
            self.show(&mut member, &view, may_hold);
        }
        self.tell_deaf(core, &member, &view);
        let steps = self.steps(core, &member, out, now);
        self.orders.look(&member, core.members(), now);
        self.forgotten.look(member.holder().table(), now);
        self.seen.periods = member.periods().clone();
        if self.seen.learn(member.holder().table(), clock::wall_clock_ms()) {
            self.tell_hands(core, &view);
        }
        if looks {
            self.seen.hindered = hindered.map(|by| {
                let waits = self.names.values().filter(|name| !name.is_dropped);
                (by, Arc::new(waits.map(|name| name.name.clone()).collect()))
            });
            self.parcels.keep(|id| core.members().get(id).is_some());
        }
        self.see_wishes(member.wishes(&view));
        self.seen.differing = member.differing();
        self.seen.own = Some((core.id(), until));
        self.seen.lacks_table = !self.names.is_empty() && self.seen.table.is_none();
        *self.shown.write() = self.seen.clone();
        self.member = Some(member);
        self.move_names(core, &view);
        steps
    }

    /// All names may be acted under until then.
    fn renew(&self, view: &ElectionView, until: Time) {
        let renewal = Some(bounds::certain(view.timing.lease));
        self.term.renew(&Term { epoch: 0, until, renewal, now: view.now });
    }

    /// What members want, as far as this one knows.
    fn see_wishes(&mut self, wishes: Vec<(NodeId, Arc<LockWants>)>) {
        type MemberWish = (NodeId, Arc<LockWants>);
        let same = |(one, other): (&MemberWish, &MemberWish)| {
            one.0 == other.0 && Arc::ptr_eq(&one.1, &other.1)
        };
        let before = &self.seen.wishes;
        if wishes.len() == before.len() && wishes.iter().zip(before).all(same) {
            return;
        }
        self.moves.see_wishes(&wishes);
        self.seen.wishes = wishes;
    }

    /// Those that wanted something last have been silent since.
    fn see_no_wishes(&mut self) {
        if !self.seen.wishes.is_empty() {
            self.seen.wishes.clear();
            self.seen.differing.clear();
            *self.shown.write() = self.seen.clone();
        }
    }

    /// A cluster with a voter that knows no locks has none.
    fn see_versions(&mut self, core: &Core) {
        let older = speech::older_voter(core);
        if older != self.seen.older {
            self.seen.older = older;
            self.shown.write().older = older;
        }
    }

    /// Why this member may hold no names at all.
    fn hindered(&self, core: &Core) -> Option<LockHindrance> {
        let all = [
            (self.is_stopping, LockHindrance::Stopping),
            (self.seen.older.is_some(), LockHindrance::OlderVoter),
            (core.drain().is_some(), LockHindrance::Drained),
            (!self.is_healthy, LockHindrance::Unhealthy),
        ];
        all.into_iter().find(|(is_so, _)| *is_so).map(|(_, by)| by)
    }

    /// Another table is done.
    fn tell_hands(&self, core: &Core, view: &ElectionView) {
        let Some(table) = self.seen.table.clone() else { return };
        let silent = self.heard.iter().map(|(id, at)| (*id, view.now.since(*at))).collect();
        let (list, over) = (core.members().clone(), view.over.clone());
        self.hands.tell(DoneTable { table, list, over, silent, at_ms: clock::wall_clock_ms() });
    }

    /// The member wants what programs want, and gives back what is to be given back.
    fn settle(
        &mut self,
        member: &mut LockMember,
        view: &ElectionView,
        may_hold: bool,
        is_drained: bool,
    ) {
        let now = view.now;
        let at_once = self.ends_at_once(is_drained);
        let mut ending = self.names.values().filter(|name| name.is_ending()).count();
        for name in self.names.values_mut() {
            if !may_hold && name.token.is_some() && !name.is_ending() && ending < at_once {
                ending += 1;
                name.end(now);
            } else if !name.is_wanted() {
                name.end(now);
            }
            if name.has_ended(now) {
                give_back(member, view, (&name.name, name.code), &self.begun);
                name.show(None, may_hold, now);
                self.looks.at(now); // another one may end now
            }
        }
        self.names.retain(|_, name| {
            let is_over = name.token.is_none() && name.is_dropped;
            if is_over {
                self.looks.numbers.remove(&name.name);
            }
            !is_over
        });
        let wanted = self.names.values().filter(|name| may_hold && name.is_wanted());
        let wants: LockWants = wanted.map(|name| (name.name.clone(), name.wish(now))).collect();
        let wanted = self.names.values().filter(|name| wants.contains_key(&name.name));
        let once = wanted.filter_map(|name| Some((name.name.clone(), name.once?))).collect();
        member.want_once(view, once);
        if wants != **member.wants() {
            member.want(view, wants);
            let until = now + view.timing.failure;
            (self.awake_until, self.speaks_until) = (until, until);
        }
    }

    /// How many names are given back at a time: a drain takes them one after the other, if the configuration says so.
    fn ends_at_once(&self, is_drained: bool) -> usize {
        let only_drained = is_drained && self.is_healthy && !self.is_stopping;
        let spread = self.config.rebalance.filter(|_| only_drained);
        spread.map_or(usize::MAX, |spread| spread.at_once)
    }

    /// Programs learn what they hold, before anything is said: what they lose they have lost before others learn of it.
    fn show(&mut self, member: &mut LockMember, view: &ElectionView, may_hold: bool) {
        let now = view.now;
        let numbers = &self.looks.numbers;
        let is_late = |name: &&LockName| {
            let wanted = numbers.get(name).and_then(|number| self.names.get(number));
            let acts = wanted.is_some_and(|known| known.token.is_some());
            let late = !may_hold || wanted.is_none_or(|known| known.is_dropped);
            let spent = wanted.is_some_and(|known| self.is_spent(member, known));
            !acts && (late || spent)
        };
        let held = member.holder().held().map(|(name, _)| name);
        let late: Vec<LockName> = held.filter(is_late).cloned().collect();
        late.iter().for_each(|name| give_back(member, view, (name, None), &self.begun));
        let (holder, table) = (member.holder(), member.holder().table());
        let token = |name: &LockName| table.and_then(|table| table.get(name)).map(|it| it.token);
        (self.looks.is_acting, self.looks.lacking) = (false, 0);
        for name in self.names.values_mut() {
            if name.show(holder.token(&name.name, now), may_hold, now) {
                self.looks.at(now);
            }
            if let (Some(token), true) = (name.token, name.is_held()) {
                self.begun.insert(name.name.clone(), token);
            }
            self.looks.is_acting |= name.token.is_some();
            self.looks.lacking += usize::from(token(&name.name).is_none());
            if let Some(due) = name.deadline(now) {
                self.looks.at(due);
            }
        }
        self.begun.retain(|name, begun| token(name) == Some(*begun));
    }

    /// The coordinator tells those of its table that never speak of locks: they know of none.
    fn tell_deaf(&mut self, core: &Core, member: &LockMember, view: &ElectionView) {
        let table = member.holder().table().filter(|table| !table.is_empty());
        let Some(table) = table.filter(|_| view.leads(core.id()).is_some()) else { return };
        let limit = view.timing.failure;
        for id in view.list.iter().map(|member| member.id).filter(|id| *id != core.id()) {
            let silent = self.heard.get(&id).is_none_or(|at| view.now.since(*at) > limit);
            if silent && speech::knows_locks(core, id) {
                self.heard.insert(id, view.now);
                self.said.push((id, LockWord::Done { table: table.clone() }));
            }
        }
    }

    /// What is to be carried out: records are handed to the disk, and words go out.
    fn steps(
        &mut self,
        core: &Core,
        member: &LockMember,
        out: Vec<LockOutput>,
        now: Time,
    ) -> LockSteps {
        let leader = core.leader().map(|leader| leader.id);
        let acts = !member.wants().is_empty() || member.holder().is_holding();
        let mut elects = false;
        for output in out {
            match output {
                LockOutput::Say { word: LockWord::Ask { .. } | LockWord::Want { .. }, .. }
                    if now >= self.speaks_until => {}
                // Whoever holds nothing needs no promise; the leader's answer says which table is done.
                LockOutput::Say { to, word: LockWord::Ask { .. } }
                    if !acts && Some(to) != leader => {}
                LockOutput::Say { to, word } => self.said.push((to, word)),
                LockOutput::Keep { number, kept } => {
                    let record = LocksRecord { kept, longest: member.longest() };
                    self.store.submit(number, record);
                }
                LockOutput::Elect => elects = true,
            }
        }
        let said: Vec<(NodeId, LockWord)> = std::mem::take(&mut self.said);
        LockSteps { send: speech::messages(core, &mut self.parcels, said), elects }
    }
}
