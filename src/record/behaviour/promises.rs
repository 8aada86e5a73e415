//! The promises that a voter told leaders and candidates, and what ends them before their time.

use std::collections::BTreeMap;

use crate::core::death::{DeathCertificate, DeathHash};
use crate::core::types::{Epoch, Incarnation, NodeId, Time};

/// A promise to vote for nobody else.
#[derive(Clone, Copy, Debug)]
pub struct ToldPromise {
    pub to: NodeId,
    pub incarnation: Incarnation,
    pub epoch: Epoch,
    pub until: Time,
}

/// All promises of one life, and what it learned of releases and deaths.
#[derive(Debug, Default)]
pub struct Promises {
    running: Vec<ToldPromise>,
    /// The greatest epoch that each member released, and when this voter learned that.
    released: BTreeMap<NodeId, (Epoch, Time)>,
    /// The hashes that lives of members told in their hellos.
    hashes: BTreeMap<(NodeId, Incarnation), Vec<DeathHash>>,
    /// The lives that are proved to be over, and since when this voter knows.
    buried: BTreeMap<(NodeId, Incarnation), Time>,
}

impl Promises {
    /// A voter binds itself by the answer to what it took at this time, unless it was freed since.
    pub fn make(&mut self, promise: ToldPromise, taken: Time) {
        let ToldPromise { to, incarnation, epoch, until } = promise;
        let freed = self.released.get(&to).is_some_and(|(of, at)| *of >= epoch && *at >= taken);
        if freed || self.buried.contains_key(&(to, incarnation)) {
            return;
        }
        match self.running.iter_mut().find(|running| running.to == to) {
            // Of two lives of a member the later one begins after the end of the earlier one.
            Some(same) => {
                same.incarnation = same.incarnation.max(incarnation);
                same.epoch = same.epoch.max(epoch);
                same.until = same.until.max(until);
            }
            None => self.running.push(promise),
        }
    }

    /// The promise to another member than this that forbids a vote for it. `IsFree` in Promises.tla.
    pub fn against(&self, candidate: NodeId, now: Time) -> Option<ToldPromise> {
        let binds = |promise: &&ToldPromise| promise.to != candidate && now < promise.until;
        self.running.iter().find(binds).copied()
    }

    /// `TakeRelease`: the promises to this member in this epoch, and before, are over.
    pub fn free(&mut self, by: NodeId, epoch: Epoch, now: Time) {
        let released = self.released.entry(by).or_default();
        *released = (*released).max((epoch, now));
        self.running.retain(|promise| promise.to != by || promise.epoch > epoch);
    }

    /// A member said hello.
    pub fn meet(&mut self, life: (NodeId, Incarnation), hash: Option<DeathHash>) {
        let told = self.hashes.entry(life).or_default();
        told.extend(hash.filter(|hash| !told.contains(hash)));
    }

    /// `TakeCertificate`: the promise to this life is over, if the secret has the hash that this life told; and none to a
    /// later life. Where the recording lacks the hello, the certificate may be genuine.
    pub fn bury(
        &mut self,
        certificate: &DeathCertificate,
        cluster: &str,
        is_whole: bool,
        now: Time,
    ) {
        let life = (certificate.member, certificate.incarnation);
        let genuine = match self.hashes.get(&life) {
            Some(told) => told.contains(&certificate.hash(cluster)),
            None => !is_whole,
        };
        if genuine {
            self.running.retain(|promise| (promise.to, promise.incarnation) != life);
            self.buried.entry(life).or_insert(now);
        }
    }

    /// Whether this life was proved to be over before then.
    pub fn knew_dead(&self, life: (NodeId, Incarnation), taken: Time) -> bool {
        self.buried.get(&life).is_some_and(|known| *known < taken)
    }

    /// The promise to itself ends.
    pub fn end_own(&mut self, id: NodeId) {
        self.running.retain(|promise| promise.to != id);
    }
}
