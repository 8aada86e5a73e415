//! The end of a random run: all faults end, and the members have to come to name one leader, in
//! time and for good.

use std::time::Duration;

use super::clock::millis;
use super::counters::Counter;
use super::faults::inflict;
use super::links::DIAL_TIMEOUT;
use super::members;
use super::plan::InjectedFault;
use super::setup::{TIMING, majority};
use super::trouble::SLOWEST;
use super::world::World;
use crate::core::bounds;
use crate::core::departures::STEADY;
use crate::core::settings::{AlgorithmKind, Preempt, Quorum};
use crate::core::streak::Streak;
use crate::core::types::{Epoch, Rank, Role};
use crate::core::{Core, Phase};

/// From the last fault until all live members name one leader, in a cluster of this many.
///
/// Before the last election can start, all survivors are connected: a host that returned is refused its
/// id for `failure` after its last word, then waits out a back-off of `failure`, and a dial to a host
/// that is gone takes its time. Then the others must notice the leader's death; and each further member
/// may have answered and died, or the ring has yet to find it dead.
fn longest(algorithm: AlgorithmKind, members: usize) -> Duration {
    let failover = bounds::worst_failover(algorithm, &TIMING, members);
    let further = bounds::further_death(algorithm, &TIMING) + TIMING.t1(); // it may be dialed anew
    let connected = TIMING.failure * 2 + DIAL_TIMEOUT + TIMING.message * 8;
    let deaths = u32::try_from(members).unwrap_or(u32::MAX);
    let anew = bounds::dialing_anew(algorithm, &TIMING, members);
    connected + anew + failover.unwrap_or(TIMING.failure) + further * deaths
}

/// The time that faults beyond the model add: late messages arrive. A member notices a broken
/// connection by a message on it, after `failure`, and the other side notices the end `failure` later;
/// then the next dial waits for `failure`. Leaders of several sides meet, and elect once more. The
/// slowest clock makes all of this longer by a ninth.
fn beyond_model(algorithm: AlgorithmKind, members: usize) -> Duration {
    let found = TIMING.failure * 3 + DIAL_TIMEOUT + TIMING.message * 4;
    let merged = bounds::convergence(algorithm, &TIMING, members);
    let within = longest(algorithm, members);
    (within + SLOWEST + found + merged) * 10 / 9 - within
}

/// The time that votes add: a promise from before a voter's restart expires, and a candidate that heard
/// of it tries again; a lease is no longer than `failure`. Candidates that ask at the same time may
/// both fail, and do so again after T2 and a pre-vote and a vote request of T1 each: three times is
/// enough.
fn voting() -> Duration {
    TIMING.failure * 2 + (TIMING.t2() + TIMING.t1() * 2) * 3
}

/// How long a better one may have to wait until it takes over: where that is damped, and with a majority (but
/// for halting) where it came and went, by the longest timings that the others had.
fn longest_wait(world: &World) -> Duration {
    let damped = match world.setup.preempt {
        Preempt::Always | Preempt::Never => Duration::ZERO,
        Preempt::After(after) => after * Streak::LONGEST + TIMING.failure * 2,
    };
    let failure = world.longest.map_or(TIMING.failure, |longest| longest.failure);
    match (world.setup.quorum, world.setup.algorithm) {
        (Quorum::Majority, algorithm) if algorithm.passes_over() => damped + failure * STEADY,
        _ => damped,
    }
}

/// With a majority: makes sure that one lives and may vote. A voter of a first start learns the
/// rest when it meets all others, so all have to live where they were not told to begin.
pub(super) fn revive(world: &mut World) {
    if world.setup.quorum == Quorum::None {
        return;
    }
    let list = members::newest_list(world, true);
    let voters = list.iter().filter(|member| member.votes());
    let voters: Vec<usize> = voters.filter_map(|member| world.place(member.id)).collect();
    // A newcomer learns the state of the cluster from a leader, or from all others; and a later change
    // may remove one of a bare majority.
    let knows = world.setup.bootstrap && !world.changes;
    let wanted = if knows { majority(voters.len()) } else { voters.len() };
    let mut live = voters.iter().filter(|at| world.nodes[**at].core.is_some()).count();
    for at in voters.iter().rev() {
        if live < wanted && world.nodes[*at].core.is_none() {
            inflict(world, *at, InjectedFault::Start);
            live += 1;
        }
    }
    // A vote waits for the disk of its voter, and is awaited for as long as a message there and
    // back may take.
    world.setup.disk = world.setup.disk.min(TIMING.message / 4);
}

/// Waits for agreement, now that nothing more is done to the world. Tells how long that took.
pub(super) fn settle(world: &mut World) -> Result<Duration, String> {
    let healed = world.now;
    let (algorithm, members) = (world.setup.algorithm, world.nodes.len());
    let mut longest = longest(algorithm, members);
    let mut wait = longest_wait(world);
    if world.setup.quorum == Quorum::Majority {
        longest += voting();
    }
    if let Some(jobs) = &world.jobs {
        longest += jobs.stops_within() * 2; // a better member waits for the job, perhaps of two leaders
    }
    if !world.setup.faults.is_within_model() {
        longest += beyond_model(algorithm, members);
        wait = wait * 10 / 9;
    }
    longest += retiming(world);
    // All must agree within the bound, and then for good; but for a better one that waits.
    let (mut agreed, mut settled) =
        (agree(world, &members::members_alive(world)).then_some(healed), healed);
    let (soon, late) = (healed + longest, healed + longest + wait);
    for until in [late, late + TIMING.failure * 3] {
        while step(world, until)? {
            let alive = members::members_alive(world);
            if agreed.is_none() && agree(world, &alive) {
                agreed = Some(world.now);
            }
            if !is_settled(world, &alive) {
                settled = world.now;
            }
        }
    }
    match agreed {
        Some(agreed) if agreed <= soon && settled <= late => {
            Ok(if wait.is_zero() { settled } else { agreed }.since(healed))
        }
        _ if members::are_estranged(world) => {
            world.faults.count(Counter::Estranged);
            Ok(Duration::ZERO)
        }
        _ => Err(format!(
            "no lasting agreement {} ms after the last fault, at {:.3} ms: {}",
            (longest + wait).as_millis(),
            millis(late),
            views(world)
        )),
    }
}

pub(super) fn step(world: &mut World, until: crate::core::types::Time) -> Result<bool, String> {
    let stepped = world.step(until);
    world.checker.breach.take().map_or(Ok(stepped), Err)
}

/// Runs the world for this long, as [`step`] does.
pub(super) fn pass(world: &mut World, time: Duration) -> Result<(), String> {
    let until = world.now + time;
    while step(world, until)? {}
    world.now = until;
    Ok(())
}

/// Whether all live members of the newest list have it, and name one live leader, or none if no member
/// is eligible.
fn agree(world: &World, alive: &[(usize, &Core)]) -> bool {
    agreed(world, alive).is_some() || nobody_is_eligible(world, alive)
}

/// Whether none of them names a leader, nor could be eligible.
fn nobody_is_eligible(world: &World, alive: &[(usize, &Core)]) -> bool {
    let could_be_eligible = |at: usize, core: &Core| match world.setup.quorum {
        Quorum::None => core.is_eligible(),
        Quorum::Majority => {
            let settings = &world.nodes[at].settings;
            let role = world.members.at(at).map(|member| member.role);
            role == Some(Role::Member) && settings.value.is_some() && core.drain().is_none()
        }
    };
    alive.iter().all(|(at, core)| core.leader().is_none() && !could_be_eligible(*at, core))
}

/// Whether they also name the one they should: no eligible member that lives is better than the
/// leader as it ranks now. With a majority none of them ever named a later epoch; without one, an earlier incarnation may have.
fn is_settled(world: &World, alive: &[(usize, &Core)]) -> bool {
    let up_to_date = |at: usize, core: &Core| {
        let latest = world.nodes[at].settings.value.unwrap_or(Rank::NO_VALUE);
        core.phase() != Phase::Following || core.rank().value == latest
    };
    let agreed = agreed(world, alive);
    let newest =
        |(_, epoch): (usize, Epoch)| alive.iter().all(|(at, _)| world.checker.named(*at) <= epoch);
    let eligible = alive.iter().filter(|(_, core)| core.is_eligible());
    let best = || eligible.max_by_key(|(at, core)| due_rank(world, *at, core)).map(|(at, _)| *at);
    // A drained leader keeps leading only if no other member is eligible.
    let drained = agreed.is_some_and(|(leader, _)| {
        world.nodes[leader].assured.is_drained()
            && alive.iter().any(|(at, core)| *at != leader && core.is_eligible())
    });
    // All know of the last pause, or of its end, as the leader does.
    let leader = agreed.and_then(|(leader, _)| world.nodes[leader].core.as_ref());
    let pause = leader.map(|core| *core.pause());
    let stays = world.setup.preempt == Preempt::Never || pause.is_some_and(|pause| pause.paused);
    (agreed.is_some() && !drained || nobody_is_eligible(world, alive))
        && (world.setup.quorum == Quorum::None || agreed.is_none_or(newest))
        && alive.iter().all(|(at, core)| up_to_date(*at, core))
        && (stays || best() == agreed.map(|(leader, _)| leader))
        && alive.iter().all(|(_, core)| pause.is_none_or(|pause| *core.pause() == pause))
}

/// How each live member sees the cluster, in words.
pub(super) fn views(world: &World) -> String {
    let agreed = agreed(world, &members::members_alive(world));
    let names = |(at, core): (usize, &Core)| {
        let leader = core.leader().map_or_else(|| "none".to_owned(), |l| world.members.name(l.id));
        let (phase, epoch) = (core.phase().name(), core.view().epoch);
        let eligible = if core.is_eligible() { "" } else { ", is not eligible" };
        let better = agreed.is_some_and(|(l, _)| {
            let leads = world.nodes[l].core.as_ref().map(|core| due_rank(world, l, core));
            core.is_eligible() && leads.is_some_and(|rank| due_rank(world, at, core) > rank)
        });
        let better = if better { ", is better" } else { "" };
        let role = world.members.at(at).map_or("", |member| member.role.name());
        format!(
            "node-{} ({role}{eligible}{better}) is {phase}, names {leader} in epoch {epoch}, has list \
             {} of {}",
            at + 1,
            core.members().version(),
            core.members().iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(" ")
        )
    };
    world.live().map(names).collect::<Vec<_>>().join("; ")
}

/// The live leader that all live members of the newest list name, by its place, and its epoch.
/// These members have that list and, with a majority, each removed member has ended, if enough
/// members of its own list are alive to tell it.
pub(super) fn agreed(world: &World, alive: &[(usize, &Core)]) -> Option<(usize, Epoch)> {
    let view = |core: &Core| (core.leader(), core.view().epoch);
    let (leader, epoch) = view(alive.first()?.1);
    let place = world.place(leader?.id)?;
    let list =
        world.nodes[place].core.as_ref().filter(|core| core.phase() == Phase::Leading)?.members();
    let agrees = |core: &Core| view(core) == (leader, epoch) && core.members() == list;
    let by_majority = world.setup.quorum == Quorum::Majority;
    let lives = |id| world.place(id).is_some_and(|at| world.nodes[at].core.is_some());
    let may_hear = |core: &Core| {
        let others = core.members().iter().filter(|m| m.votes() && m.id != core.id());
        let (could, all) = others.fold((0, 0), |(could, all), other| {
            let may = lives(other.id) && list.get(other.id).is_some();
            (could + usize::from(may), all + 1)
        });
        could >= majority(all)
    };
    let removed =
        |core: &Core| by_majority && list.removed().contains(&core.id()) && may_hear(core);
    let agree =
        alive.iter().all(|(_, core)| agrees(core)) && !world.live().any(|(_, core)| removed(core));
    agree.then_some((place, epoch))
}

/// The rank by which a member is to lead: its own at present, unless an operator chose it. A leader that has no
/// attribute any more keeps the rank that it was elected with.
pub(super) fn due_rank(world: &World, node: usize, core: &Core) -> Rank {
    let (rank, latest) = (core.rank(), world.nodes[node].settings.value);
    let present = match core.phase() {
        Phase::Leading => latest,
        _ => Some(latest.unwrap_or(Rank::NO_VALUE)).filter(|_| rank.is_chosen()),
    };
    let own = present.filter(|_| !core.is_chosen());
    own.map_or(rank, |value| Rank { value, ..rank })
}

/// How much longer it may take until all agree: the longest promise expires by the slowest clock,
/// and waits in an election that began with older timings keep these.
pub(super) fn retiming(world: &World) -> Duration {
    world.longest.map_or(Duration::ZERO, |longest| {
        (longest.lease + longest.failure * 2 + longest.t2() * 2) * 10 / 9
    })
}

/// How long a leader that was asked to stop may wait for its job, with the slowest clock.
pub(super) fn ending(world: &World) -> Duration {
    world.jobs.as_ref().map_or(Duration::ZERO, |jobs| jobs.stops_within() * 10 / 9)
}
