//! What each fault of a plan does to the world.

use super::counters::Counter;
use super::half_open;
use super::link_faults::Disturbance;
use super::network;
use super::node::{Death, Node};
use super::orders;
use super::pause;
use super::plan::{FaultTarget, InjectedFault, LinkShape};
use super::world::World;
use crate::core::Input;
use crate::core::settings::Quorum;
use crate::trace::DrawnWhat;

/// Does it to this member, where that makes sense.
pub(super) fn inflict(world: &mut World, node: usize, fault: InjectedFault) {
    let runs = world.nodes[node].core.is_some();
    match fault {
        InjectedFault::Aimed(aim, fault) => {
            let found = find(aim, world);
            world.faults.add(Counter::Aimed, u64::from(found.is_some()));
            inflict(world, found.unwrap_or(node), *fault);
        }
        InjectedFault::OfLeader(fault) => {
            let leader = leader(world).unwrap_or(node);
            inflict(world, leader, *fault);
        }
        InjectedFault::Start if !runs => start(world, node),
        InjectedFault::HostReturns if !runs => {
            let gone = !world.nodes[node].host;
            world.faults.add(Counter::Returned, u64::from(gone));
            world.nodes[node].host = true;
        }
        InjectedFault::Die(death, outputs) if runs => die(world, node, death, outputs),
        InjectedFault::Tick if runs => world.tell_now(node, Input::Tick),
        InjectedFault::CoronerEnds if runs => orders::end_coroner(world, node),
        InjectedFault::Start
        | InjectedFault::HostReturns
        | InjectedFault::Die(..)
        | InjectedFault::Tick
        | InjectedFault::CoronerEnds => {}
        InjectedFault::Pause(name) => pause::pause(world, node, name),
        // With a majority promises run by the clocks of the voters, which are assumed to keep time
        // within a tenth. Those that such a step cannot shorten are of the one who leads, unless it supports holders of names.
        InjectedFault::Step(_)
            if world.setup.quorum == Quorum::Majority
                && (!world.nodes[node].leads() || world.names.is_some()) => {}
        InjectedFault::Step(by) => pause::step_clock(world, node, by),
        InjectedFault::StallDisk(length) => {
            world.faults.count(Counter::DiskStalls);
            world.nodes[node].drive.stalled_until = world.now + length;
        }
        InjectedFault::Begin(name, what, shape, again) => {
            begin(world, node, name, (what, shape), again)
        }
        InjectedFault::End(name) => {
            world.link_faults.end(name);
            pause::resume(world, |pause| pause == name);
        }
        InjectedFault::Break { other, .. } if other == node => {}
        InjectedFault::Break { other, dialer, at_once, accepter } => {
            for (from, to) in [(node, other), (other, node)] {
                half_open::snap(world, from, to, dialer.then_some(at_once), accepter);
            }
        }
        InjectedFault::Sample(value) => {
            world.faults.count(Counter::Samples);
            world.nodes[node].settings.value = value; // what the next process finds
            world.tell_now(node, Input::Sampled { value });
        }
        InjectedFault::Check(healthy) => orders::check_health(world, node, healthy),
        InjectedFault::Retime(timing) => orders::retime(world, node, timing),
        InjectedFault::Replay if runs => replay(world, node),
        InjectedFault::Forge if runs => forge(world, node),
        InjectedFault::HandOut(_) => {
            if let Some(leader) = world.nodes.iter().position(Node::leads) {
                orders::give(world, leader, fault);
            }
        }
        order if runs => orders::give(world, node, order),
        _ => {}
    }
}

/// One of the members that fit now; none if there is none.
pub(super) fn find(aim: FaultTarget, world: &mut World) -> Option<usize> {
    let fits = |at: &usize| {
        let node = &world.nodes[*at];
        match (aim, &node.core) {
            (FaultTarget::Dead, core) => core.is_none(),
            (_, None) => false,
            (FaultTarget::Leader, Some(_)) => node.leads(),
            (FaultTarget::Candidate, Some(core)) => core.phase().elects(),
            (FaultTarget::Follower, Some(_)) => !node.leads(),
        }
    };
    let all: Vec<usize> = (0..world.nodes.len()).filter(fits).collect();
    let at = world.random.below(all.len() as u64) as usize;
    all.get(at).copied()
}

/// One of those that lead now. Nothing is drawn where nobody does.
fn leader(world: &mut World) -> Option<usize> {
    world.nodes.iter().any(Node::leads).then(|| find(FaultTarget::Leader, world)).flatten()
}

fn start(world: &mut World, node: usize) {
    if world.nodes[node].is_removed() {
        world.faults.count(Counter::Barred);
        world.nodes[node].host = true;
        return;
    }
    world.faults.count(Counter::Starts);
    orders::start(world, node);
    network::dial_all(world, node);
}

fn die(world: &mut World, node: usize, death: Death, outputs: u64) {
    world.faults.count(match death {
        Death::Vanished => Counter::Vanished,
        Death::Killed => Counter::Kills,
    });
    world.faults.add(Counter::Amid, u64::from(outputs > 0));
    if outputs == 0 {
        world.die(node, death);
    } else {
        world.nodes[node].fuse = Some((outputs, death));
    }
}

/// A certificate comes to a process once more, or for the first time, long after the death.
fn replay(world: &mut World, node: usize) {
    let now = world.now;
    let certificate = world.coroners.as_mut().and_then(|coroners| coroners.any(now));
    if let Some(certificate) = certificate {
        world.faults.count(Counter::Replayed);
        world.tell_now(node, Input::Dead(certificate));
    }
}

/// A process gets a certificate of another that lives, without the secret of that.
fn forge(world: &mut World, node: usize) {
    let target = leader(world).filter(|leader| *leader != node);
    let life =
        target.and_then(|at| Some((world.id(at), world.nodes[at].core.as_ref()?.incarnation())));
    let Some(((member, incarnation), coroners)) = life.zip(world.coroners.as_mut()) else { return };
    let certificate = coroners.forge(member, incarnation);
    world.faults.count(Counter::Forged);
    world.tell_now(node, Input::Dead(certificate));
}

/// Messages suffer on links of this shape, as the member sees them.
fn begin(
    world: &mut World,
    node: usize,
    name: u32,
    (what, shape): (Disturbance, LinkShape),
    again: bool,
) {
    let cuts = matches!(what, Disturbance::Cuts(_));
    world.say(node, || format!("network: {what:?} on {shape:?} as it sees them, from now on"));
    world.draw(node, |_| Some(DrawnWhat::Suffers(what.words())));
    let links = shape.links(world.nodes.len(), node);
    let beheads = cuts && world.nodes[node].leads() && shape.beheads();
    world.link_faults.begin(name, links, what, (again, beheads));
}
