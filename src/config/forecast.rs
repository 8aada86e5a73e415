//! What would happen to a cluster: who leads on each side, after how long at most, and what is left of its guarantee.
//! It follows from the configuration alone, by the rules of docs/guarantees.md.

use std::collections::BTreeSet;
use std::time::Duration;

use electd_election::core::bounds;
use electd_election::core::settings::{AlgorithmKind, Preempt, Quorum, Timing};
use electd_election::core::types::{NodeId, Role};
use electd_facts::majority;

use super::guarantee::Guarantee;

/// A member as far as a forecast needs it.
#[derive(Clone, Debug)]
pub struct ForecastMember {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Its rank; none if the configuration does not tell it, as it is measured or the member is still to come.
    pub rank: Option<(i64, NodeId)>,
    /// Whether it is added, and does not lead yet.
    pub is_new: bool,
}

/// A cluster and what befalls it.
#[derive(Clone, Debug)]
pub struct Case {
    /// How it elects.
    pub algorithm: AlgorithmKind,
    /// Whether a leader needs a majority.
    pub quorum: Quorum,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// Its timings.
    pub timing: Timing,
    /// Its members.
    pub members: Vec<ForecastMember>,
    /// The member that leads now, by its place; none if the highest does.
    pub leader: Option<usize>,
    /// The members that go down, by their places.
    pub down: BTreeSet<usize>,
    /// The sides of the cut, by places. One that holds all is no cut.
    pub sides: Vec<BTreeSet<usize>>,
}

/// The leader on a side, as far as the configuration tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// The leader of now goes on: one of these, if the configuration does not tell which.
    Stays(Vec<usize>),
    /// Another, or perhaps another: one of these.
    One(Vec<usize>),
    /// Nobody may lead there: all are witnesses or observers, or none lives.
    NoCandidate,
    /// Too few voters live there.
    NoMajority,
}

/// What comes of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The live members.
    pub live: Vec<usize>,
    /// The leader there.
    pub leads: Leads,
    /// How long nobody leads there, at most; none where that never ends, and zero if the leader stays.
    pub within: Option<Duration>,
    /// The live voters.
    pub voters: usize,
    /// How many more members may fail there, one after the other, before nobody leads.
    pub spare: usize,
    /// The leader of now is there and loses its majority: it stops leading within this time.
    pub deposed: Option<Duration>,
}

/// What comes of a case.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The members that may lead now: one, if the configuration tells which.
    pub before: Vec<usize>,
    /// Each side of the cut.
    pub sides: Vec<Side>,
    /// So many voters are needed to lead; none without a majority.
    pub needed: Option<usize>,
    /// The guarantee of the cluster with all its members.
    pub guarantee: Guarantee,
}

impl Case {
    /// The names of the members at these places.
    #[must_use]
    pub fn names(&self, places: &[usize]) -> Vec<&str> {
        places.iter().map(|at| self.members[*at].name.as_str()).collect()
    }

    /// For tests: a cluster of members with these roles, of which a later one ranks higher.
    #[doc(hidden)]
    #[must_use]
    pub fn example(quorum: Quorum, roles: &[Role]) -> Case {
        let member = |(at, role): (usize, &Role)| ForecastMember {
            name: format!("n{at}"),
            role: *role,
            rank: Some((0, NodeId(uuid::Uuid::from_u128(at as u128)))),
            is_new: false,
        };
        let ms = Duration::from_millis;
        Case {
            algorithm: AlgorithmKind::Bully,
            quorum,
            preempt: Preempt::Always,
            timing: Timing {
                heartbeat: ms(100),
                failure: ms(500),
                message: ms(50),
                lease: ms(400),
            },
            members: roles.iter().enumerate().map(member).collect(),
            leader: None,
            down: BTreeSet::new(),
            sides: vec![(0..roles.len()).collect()],
        }
    }

    /// What comes of it.
    #[must_use]
    pub fn forecast(&self) -> Forecast {
        let roles: Vec<Role> = self.members.iter().map(|member| member.role).collect();
        let trust_refused = false; // it is of no account for what is told here
        let guarantee =
            Guarantee::of(self.algorithm, self.quorum, &self.timing, &roles, trust_refused);
        let old = self.candidates((0..self.members.len()).filter(|at| !self.members[*at].is_new));
        let before = self.leader.map_or_else(|| self.best(&old), |leader| vec![leader]);
        let needed = match self.quorum {
            Quorum::None => None,
            Quorum::Majority => Some(majority::of(self.voters(0..self.members.len()))),
        };
        let sides = self.sides.iter().map(|side| self.side(side, &before, needed, &guarantee));
        Forecast { sides: sides.collect(), before, needed, guarantee }
    }

    fn side(
        &self,
        side: &BTreeSet<usize>,
        before: &[usize],
        needed: Option<usize>,
        guarantee: &Guarantee,
    ) -> Side {
        let live: Vec<usize> = side.difference(&self.down).copied().collect();
        let voters = self.voters(live.iter().copied());
        let candidates = self.candidates(live.iter().copied());
        let has_majority = needed.is_none_or(|needed| voters >= needed);
        let here: Vec<usize> = before.iter().copied().filter(|at| live.contains(at)).collect();
        let leads = match (candidates.is_empty(), has_majority) {
            (true, _) => Leads::NoCandidate,
            (_, false) => Leads::NoMajority,
            _ => self.leads(before, &here, &candidates),
        };
        let within = match leads {
            Leads::Stays(_) => Some(Duration::ZERO),
            Leads::One(_) => self.within(live.len(), guarantee),
            Leads::NoCandidate | Leads::NoMajority => None,
        };
        let spare = match &within {
            Some(_) => {
                let voters = needed.map_or(usize::MAX, |needed| voters - needed);
                voters.min(candidates.len() - 1)
            }
            None => 0,
        };
        let deposed = leads == Leads::NoMajority && !here.is_empty();
        let deposed = deposed.then_some(self.timing.lease);
        Side { live, leads, within, voters, spare, deposed }
    }

    /// The leader, where some member can lead.
    fn leads(&self, before: &[usize], here: &[usize], candidates: &[usize]) -> Leads {
        let best = self.best(candidates);
        let takes_over = |at: &usize| self.members[*at].is_new && self.preempt != Preempt::Never;
        if here == before && !best.iter().any(takes_over) {
            return Leads::Stays(here.to_vec());
        }
        let all: BTreeSet<usize> = here.iter().chain(&best).copied().collect();
        Leads::One(all.into_iter().collect())
    }

    /// How long nobody leads among so many members, at most, if their leader is gone silently, and all others that they
    /// miss with it. The ring finds these one after another.
    fn within(&self, live: usize, guarantee: &Guarantee) -> Option<Duration> {
        let gone = (self.members.len() - live).saturating_sub(1);
        let anew = if self.quorum == Quorum::None { self.timing.t1() } else { Duration::ZERO };
        let further = match self.algorithm {
            AlgorithmKind::Ring => bounds::further_death(self.algorithm, &self.timing) + anew,
            AlgorithmKind::Bully | AlgorithmKind::Halting => Duration::ZERO,
        };
        let further = further * u32::try_from(gone).unwrap_or(u32::MAX);
        // Where no voter is to spare nobody replaces a leader that died, but a live one is taken over from all the same.
        let all_live = || bounds::worst_failover(self.algorithm, &self.timing, self.members.len());
        let takeover = || all_live().map(|silent| silent + bounds::voting(&self.timing));
        guarantee.worst_failover.or_else(takeover).map(|worst| worst + further)
    }

    fn candidates(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        places.filter(|at| self.members[*at].role == Role::Member).collect()
    }

    fn voters(&self, places: impl IntoIterator<Item = usize>) -> usize {
        let votes = |at: &usize| self.members[*at].role != Role::Observer;
        places.into_iter().filter(votes).count()
    }

    /// Those of these that may rank highest.
    fn best(&self, places: &[usize]) -> Vec<usize> {
        let known = places.iter().copied().filter(|at| self.members[*at].rank.is_some());
        let best = known.max_by_key(|at| self.members[*at].rank);
        let unknown = |at: &usize| self.members[*at].rank.is_none();
        places.iter().copied().filter(|at| unknown(at) || Some(*at) == best).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn five(quorum: Quorum) -> Case {
        Case::example(quorum, &[Role::Member; 5])
    }

    fn cut(case: Case, sides: &[&[usize]]) -> Vec<(Leads, Option<Duration>, usize)> {
        let sides = sides.iter().map(|side| side.iter().copied().collect()).collect();
        let sides = Case { sides, ..case }.forecast().sides;
        sides.into_iter().map(|side| (side.leads, side.within, side.spare)).collect()
    }

    fn down(case: Case, down: &[usize]) -> (Leads, Option<Duration>, usize) {
        let down = down.iter().copied().collect();
        let side = Case { down, ..case }.forecast().sides.remove(0);
        (side.leads, side.within, side.spare)
    }

    const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

    #[test]
    fn the_highest_that_lives_leads_where_there_is_a_majority() {
        use Quorum::{Majority, None as Alone};
        let worst = |quorum| five(quorum).forecast().guarantee.worst_failover;
        assert_eq!(down(five(Majority), &[0, 1]), (Leads::Stays(vec![4]), AT_ONCE, 0));
        assert_eq!(down(five(Majority), &[4]), (Leads::One(vec![3]), worst(Majority), 1));
        assert_eq!(down(five(Majority), &[0, 3, 4]), (Leads::NoMajority, None, 0));
        assert_eq!(down(five(Alone), &[0, 3, 4]), (Leads::One(vec![2]), worst(Alone), 1));
        assert_eq!(down(five(Alone), &[0, 1, 2, 3, 4]).0, Leads::NoCandidate);
        let ring = Case { algorithm: AlgorithmKind::Ring, ..five(Majority) };
        let one = down(ring.clone(), &[4]).1.unwrap();
        let each = bounds::further_death(AlgorithmKind::Ring, &ring.timing);
        assert_eq!(down(ring, &[3, 4]).1, Some(one + each), "it finds them one after another");
    }

    #[test]
    fn a_cut_leaves_a_leader_on_the_side_of_the_majority_or_on_each() {
        let worst = |quorum| five(quorum).forecast().guarantee.worst_failover;
        let sides: &[&[usize]] = &[&[0, 1, 2], &[3, 4]];
        let majority = five(Quorum::Majority);
        let expected =
            [(Leads::One(vec![2]), worst(Quorum::Majority), 0), (Leads::NoMajority, None, 0)];
        assert_eq!(cut(majority.clone(), sides), expected);
        let sides_of = Case { sides: vec![[0, 1, 2].into(), [3, 4].into()], ..majority.clone() };
        let deposed: Vec<_> = sides_of.forecast().sides.iter().map(|side| side.deposed).collect();
        assert_eq!(deposed, [None, Some(majority.timing.lease)]);
        let expected =
            [(Leads::One(vec![2]), worst(Quorum::None), 2), (Leads::Stays(vec![4]), AT_ONCE, 1)];
        assert_eq!(cut(five(Quorum::None), sides), expected);
    }

    #[test]
    fn witnesses_vote_and_observers_do_not_and_neither_leads() {
        use Role::{Member, Observer, Witness};
        let roles = [Member, Member, Witness, Observer, Observer];
        let of = |quorum| Case::example(quorum, &roles);
        assert_eq!(of(Quorum::Majority).forecast().needed, Some(2));
        assert_eq!(down(of(Quorum::Majority), &[3, 4]), (Leads::Stays(vec![1]), AT_ONCE, 1));
        assert_eq!(down(of(Quorum::Majority), &[1]).0, Leads::One(vec![0]));
        assert_eq!(down(of(Quorum::Majority), &[1, 2]).0, Leads::NoMajority);
        assert_eq!(down(of(Quorum::None), &[0, 1]).0, Leads::NoCandidate);
    }

    #[test]
    fn what_the_configuration_does_not_tell_is_not_guessed() {
        let mut measured = five(Quorum::Majority);
        measured.members.iter_mut().for_each(|member| member.rank = None);
        assert_eq!(measured.forecast().before, [0, 1, 2, 3, 4]);
        assert_eq!(down(measured.clone(), &[]).0, Leads::Stays(vec![0, 1, 2, 3, 4]));
        assert_eq!(down(measured.clone(), &[4]).0, Leads::One(vec![0, 1, 2, 3]));
        let led = Case { leader: Some(1), ..measured };
        assert_eq!(down(led.clone(), &[4]), (Leads::Stays(vec![1]), AT_ONCE, 1));
        assert_eq!(down(led, &[1]).0, Leads::One(vec![0, 2, 3, 4]));
        let mut grown = five(Quorum::Majority);
        (grown.members[4].is_new, grown.members[4].rank) = (true, None);
        assert_eq!(grown.forecast().before, [3]);
        assert_eq!(down(grown.clone(), &[]).0, Leads::One(vec![3, 4]));
        let never = Case { preempt: Preempt::Never, ..grown };
        assert_eq!(down(never.clone(), &[]).0, Leads::Stays(vec![3]));
        assert_eq!(down(never, &[3]).0, Leads::One(vec![2, 4]));
    }

    /// Each side has all of its figures, and no other's.
    #[test]
    fn a_side_is_told_whole() {
        let three = Case {
            sides: vec![[0, 1, 2].into(), [3].into(), [4].into()],
            ..five(Quorum::Majority)
        };
        let forecast = Case { down: [0].into(), ..three }.forecast();
        let side = |live: &[usize], voters, deposed| Side {
            live: live.to_vec(),
            leads: Leads::NoMajority,
            within: None,
            voters,
            spare: 0,
            deposed,
        };
        let expected = [
            side(&[1, 2], 2, None),
            side(&[3], 1, None),
            side(&[4], 1, Some(Duration::from_millis(400))),
        ];
        assert_eq!(forecast.sides, expected);
        assert_eq!((forecast.before, forecast.needed), (vec![4], Some(3)));
        let stays = Side {
            leads: Leads::Stays(vec![4]),
            within: AT_ONCE,
            spare: 2,
            ..side(&[0, 1, 2, 3, 4], 5, None)
        };
        assert_eq!(five(Quorum::Majority).forecast().sides, [stays]);
    }

    #[test]
    fn more_than_half_of_the_voters_are_needed_and_what_is_to_spare_are_voters_and_candidates() {
        use Role::{Member, Observer, Witness};
        let needed =
            |voters| Case::example(Quorum::Majority, &vec![Member; voters]).forecast().needed;
        assert_eq!([1, 2, 3, 4, 5].map(needed), [1, 2, 2, 3, 3].map(Some));
        assert_eq!(five(Quorum::None).forecast().needed, None);
        let spare = |quorum, roles: &[Role]| down(Case::example(quorum, roles), &[]).2;
        assert_eq!(spare(Quorum::Majority, &[Member, Member, Witness, Witness, Witness]), 1);
        assert_eq!(spare(Quorum::Majority, &[Member, Member, Member, Observer, Witness]), 1);
        assert_eq!(spare(Quorum::None, &[Member, Member, Member, Observer, Witness]), 2);
    }

    /// The ring without a majority asks all anew for each that is gone.
    #[test]
    fn a_ring_finds_those_that_are_gone_one_after_another() {
        let of = |algorithm, quorum, gone: &[usize]| {
            down(Case { algorithm, ..five(quorum) }, gone).1.unwrap()
        };
        let ring = |quorum, gone: &[usize]| of(AlgorithmKind::Ring, quorum, gone);
        let each = bounds::further_death(AlgorithmKind::Ring, &five(Quorum::None).timing);
        let anew = five(Quorum::None).timing.t1();
        assert_eq!(ring(Quorum::None, &[2, 3, 4]), ring(Quorum::None, &[4]) + (each + anew) * 2);
        assert_eq!(ring(Quorum::Majority, &[3, 4]), ring(Quorum::Majority, &[4]) + each);
        let ring_alone = Case { algorithm: AlgorithmKind::Ring, ..five(Quorum::None) };
        let worst = ring_alone.forecast().guarantee.worst_failover;
        assert_eq!(Some(ring(Quorum::None, &[4])), worst, "the leader alone is gone");
        for algorithm in [AlgorithmKind::Bully, AlgorithmKind::Halting] {
            let of = |gone: &[usize]| of(algorithm, Quorum::None, gone);
            assert_eq!(of(&[2, 3, 4]), of(&[4]), "{algorithm:?}");
        }
    }

    /// The cluster of two could not replace a leader that dies, and takes over from a live one all the same.
    #[test]
    fn a_takeover_by_a_new_member_has_a_bound_where_no_voter_is_to_spare() {
        let mut two = Case::example(Quorum::Majority, &[Role::Member; 2]);
        (two.members[1].is_new, two.members[1].rank) = (true, None);
        assert_eq!(two.forecast().guarantee.worst_failover, None);
        let timing = two.timing;
        let bound = bounds::worst_failover(AlgorithmKind::Bully, &timing, 2).unwrap()
            + bounds::voting(&timing);
        assert_eq!(down(two, &[]), (Leads::One(vec![0, 1]), Some(bound), 0));
    }
}
