//! A turn of the locks: the member takes what there is, programs learn what they hold, and what is to be said goes out.

use std::collections::BTreeMap;

use super::named::WantedName;
use super::outlook::election_view;
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
        let view = election_view(core, self.told.durable, now);
        let failure = core.settings().timing.failure;
        if let Some(LockInput::Word { from, .. }) = &input {
            self.heard.insert(*from, now);
            self.awake_until = now + failure;
        }
        let may_hold = self.may_hold(core);
        self.settle(&mut member, &view, may_hold);
        let mut out = Vec::new();
        if !member.is_idle() {
            member.lengthen(core.settings().timing.lease, &mut out);
        }
        member.take(&view, input.unwrap_or(LockInput::Tick), &mut out);
        if !member.is_idle() {
            (self.awake_until, self.speaks_until) = (now + failure, now + failure);
        }
        self.show(&mut member, &view, may_hold);
        self.tell_deaf(core, &member, &view);
        let steps = self.steps(core, &member, out, now);
        self.orders.look(&member, core.members(), now);
        self.seen.learn(member.holder().table(), clock::wall_clock_ms());
        self.seen.wishes = member.wishes(&view);
        self.seen.own = Some((core.id(), member.holder().supported_until()));
        self.seen.lacks_table = !self.names.is_empty() && self.seen.table.is_none();
        *self.shown.write() = self.seen.clone();
        self.member = Some(member);
        steps
    }

    /// Those that wanted something last have been silent since.
    fn see_no_wishes(&mut self) {
        if !self.seen.wishes.is_empty() {
            self.seen.wishes.clear();
            self.shown.write().wishes.clear();
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

    /// Whether this member may hold names at all.
    fn may_hold(&self, core: &Core) -> bool {
        let fit = self.is_healthy && core.drain().is_none() && self.seen.older.is_none();
        fit && !self.is_stopping
    }

    /// The member wants what programs want, and gives back what is to be given back.
    fn settle(&mut self, member: &mut LockMember, view: &ElectionView, may_hold: bool) {
        let now = view.now;
        for name in self.names.values_mut() {
            if !may_hold {
                name.end(now);
            }
            if name.has_ended(now) {
                member.release(view, &name.name);
                name.show(None);
            }
        }
        self.names.retain(|_, name| name.token.is_some() || !name.is_dropped);
        let wanted = self.names.values().filter(|name| may_hold && !name.is_dropped);
        let wants: LockWants = wanted.map(|name| (name.name.clone(), name.wish(now))).collect();
        if wants != **member.wants() {
            member.want(view, wants);
            let until = now + view.timing.failure;
            (self.awake_until, self.speaks_until) = (until, until);
        }
    }

    /// Programs learn what they hold, before anything is said: what they lose they have lost before others learn of it.
    fn show(&mut self, member: &mut LockMember, view: &ElectionView, may_hold: bool) {
        let now = view.now;
        let known: BTreeMap<&LockName, &WantedName> =
            self.names.values().map(|known| (&known.name, known)).collect();
        let is_late = |name: &&LockName| {
            let wanted = known.get(name);
            let acts = wanted.is_some_and(|known| known.token.is_some());
            !acts && (!may_hold || wanted.is_none_or(|known| known.is_dropped))
        };
        let held = member.holder().held().map(|(name, _)| name);
        let late: Vec<LockName> = held.filter(is_late).cloned().collect();
        late.iter().for_each(|name| member.release(view, name));
        let (holder, renewal) = (member.holder(), Some(bounds::certain(view.timing.lease)));
        let until = holder.supported_until();
        for name in self.names.values_mut() {
            let token = holder.token(&name.name, now);
            name.show(token.map(|epoch| Term { epoch, until, renewal, now }));
        }
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
        let acts = !member.wants().is_empty() || member.holder().held().next().is_some();
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
        LockSteps { send: speech::messages(core, said), elects }
    }
}
