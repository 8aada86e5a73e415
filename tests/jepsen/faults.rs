//! The faults: each is done to one host or to the network, and undone by the turns of the cluster or by the heal.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cluster::Cluster;
use crate::events::Counts;
use crate::host::signal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillNode,
    KillGuard,
    KillExec,
    KillCommand,
    FreezeNode,
    FreezeGuard,
    FreezeExec,
    FreezeHost,
    Power,
    PowerOfAll,
    Term,
    Cut,
    CutOut,
    CutIn,
    CutLink,
    Part,
    Flap,
    Resign,
    Switchover,
    Drain,
    Undrain,
    Pause,
    Resume,
    Reload,
}

/// The faults with their names, and how often each is drawn.
const ALL: &[(Fault, &str, usize)] = &[
    (Fault::KillNode, "kill of electd", 4),
    (Fault::KillGuard, "kill of a guard", 4),
    (Fault::KillExec, "kill of exec", 2),
    (Fault::KillCommand, "kill of a command", 1),
    (Fault::FreezeNode, "stop of electd", 4),
    (Fault::FreezeGuard, "stop of a guard", 3),
    (Fault::FreezeExec, "stop of exec", 2),
    (Fault::FreezeHost, "stop of a host", 2),
    (Fault::Power, "power cut", 2),
    (Fault::PowerOfAll, "power cut of all", 1),
    (Fault::Term, "TERM", 2),
    (Fault::Cut, "cut", 4),
    (Fault::CutOut, "cut outwards", 2),
    (Fault::CutIn, "cut inwards", 2),
    (Fault::CutLink, "cut of a link one way", 2),
    (Fault::Part, "partition", 3),
    (Fault::Flap, "flapping cable", 2),
    (Fault::Resign, "resign", 2),
    (Fault::Switchover, "switchover", 2),
    (Fault::Drain, "drain", 1),
    (Fault::Undrain, "undrain", 2),
    (Fault::Pause, "pause", 1),
    (Fault::Resume, "resume", 1),
    (Fault::Reload, "reload", 2),
];

/// Does something to the cluster: more often to the leader's host than to another.
pub fn strike(cluster: &mut Cluster<'_>, counts: &mut Counts) {
    let all: usize = ALL.iter().map(|(_, _, weight)| weight).sum();
    loop {
        let mut at = cluster.pick(all);
        let drawn = ALL.iter().find(|(_, _, weight)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        let (fault, name, _) = *drawn.expect("it is below the sum");
        let latest = cluster.leaders.latest().filter(|_| cluster.pick(3) > 0);
        let leader = cluster.hosts.iter().position(|host| Some(&host.name) == latest.as_ref());
        let anyone = cluster.pick(cluster.hosts.len());
        let host = leader.unwrap_or(anyone);
        if let Some(more) = does(fault, cluster, host) {
            let on = &cluster.hosts[host].name;
            cluster.events.note(format!("{name}: {on} {more}"));
            *counts.faults.entry(name).or_default() += 1;
            return;
        }
    }
}

/// Does this. None if it cannot be done to this host now, otherwise more words about it.
fn does(fault: Fault, cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    match fault {
        Fault::KillNode
        | Fault::KillGuard
        | Fault::KillExec
        | Fault::KillCommand
        | Fault::FreezeNode
        | Fault::FreezeGuard
        | Fault::FreezeExec
        | Fault::FreezeHost
        | Fault::Power
        | Fault::PowerOfAll
        | Fault::Term => to_processes(fault, cluster, host),
        Fault::Cut | Fault::CutOut | Fault::CutIn | Fault::CutLink | Fault::Part | Fault::Flap => {
            to_network(fault, cluster, host)
        }
        Fault::Resign
        | Fault::Switchover
        | Fault::Drain
        | Fault::Undrain
        | Fault::Pause
        | Fault::Resume
        | Fault::Reload => by_operator(fault, cluster, host),
    }
}

/// On a host with a frozen process nothing else is killed or frozen: docs/exec.md excepts a host on which neither electd nor
/// the guard can act.
fn to_processes(fault: Fault, cluster: &mut Cluster<'_>, number: usize) -> Option<String> {
    let (down, frozen) = (cluster.time(1, 3000), cluster.time(50, 5000));
    let (one, patience) = (cluster.pick(64), cluster.plan.stop_after + Duration::from_secs(20));
    if fault == Fault::PowerOfAll {
        for at in 0..cluster.hosts.len() {
            let down = cluster.time(1, 1500);
            cluster.hosts[at].power_off(down);
        }
        return Some("and all others".to_owned());
    }
    let host = &mut cluster.hosts[number];
    if !host.is_well() {
        return None;
    }
    match fault {
        Fault::KillNode => host.node.kill(down),
        Fault::KillGuard => {
            let (of, guard) = *any(&host.guards(), one)?;
            if let Some(exec) = of.checked_sub(1) {
                host.execs[exec].expect(137); // the kernel kills the command
            }
            signal(&[guard], Signal::KILL);
            return Some(format!("of job {of}"));
        }
        Fault::KillCommand => {
            let (of, command) = *any(&host.commands(), one)?;
            host.all().nth(of)?.expect(137);
            signal(&[command], Signal::KILL);
            return Some(format!("of job {of}"));
        }
        Fault::KillExec => {
            let count = host.execs.len().max(1);
            host.execs.get_mut(one % count).filter(|exec| exec.pid().is_some())?.kill(down);
        }
        Fault::FreezeNode => host.freeze(host.node.pid().into_iter().collect(), frozen),
        Fault::FreezeGuard => {
            let (of, guard) = *any(&host.guards(), one)?;
            host.freeze(vec![guard], frozen);
            return Some(format!("of job {of} for {frozen:?}"));
        }
        Fault::FreezeExec => {
            let exec = any(&host.execs, one)?.pid()?;
            host.freeze(vec![exec], frozen);
        }
        Fault::FreezeHost => host.freeze_whole(frozen),
        Fault::Power => host.power_off(down),
        _ => {
            host.node.expect(0);
            host.node.stop(Signal::TERM, patience);
            host.node.stay_down(down);
        }
    }
    Some(format!("for {:?}", if host.is_well() { down } else { frozen }))
}

fn any<T>(all: &[T], number: usize) -> Option<&T> {
    all.get(number % all.len().max(1))
}

fn to_network(fault: Fault, cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let (own, all) = (host + 1, cluster.hosts.len());
    let other = (host + 1 + cluster.pick(all - 1)) % all + 1;
    let others = (1..=all).filter(|number| *number != own);
    let network = &cluster.network;
    let mut what = String::new();
    match fault {
        Fault::Cut => network.plug(own, false),
        Fault::CutOut => others.for_each(|to| network.carry(own, to, false)),
        Fault::CutIn => others.for_each(|from| network.carry(from, own, false)),
        Fault::CutLink => {
            network.carry(own, other, false);
            what = format!("to node-{other} ");
        }
        Fault::Part => {
            let some = [own, other];
            network.part(&some[..1 + usize::from(all > 3)]);
            what = format!("and node-{other} if there are more than three ");
        }
        _ => cluster.flaps = Some((own, Instant::now(), false)),
    }
    let time = cluster.time(100, 8000);
    let until = Instant::now() + time;
    cluster.heals = Some(cluster.heals.map_or(until, |heals| heals.max(until)));
    Some(format!("{what}for {time:?}"))
}

fn by_operator(fault: Fault, cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let other = cluster.pick(cluster.hosts.len());
    let other = cluster.hosts[other].name.clone();
    match fault {
        Fault::Resign => cluster.order(host, &["resign"]),
        Fault::Switchover => cluster.order(host, &["switchover", "--to", &other]),
        Fault::Drain => cluster.order(host, &["drain"]),
        Fault::Undrain => cluster.order(host, &["undrain"]),
        Fault::Pause => cluster.order(host, &["pause", "--for", "5s"]),
        Fault::Resume => cluster.order(host, &["resume"]),
        _ => {
            cluster.retime();
            for number in 0..cluster.hosts.len() {
                if cluster.pick(2) == 0 {
                    cluster.order(number, &["reload"]);
                }
            }
        }
    }
    let to = format!("to {other}");
    Some(if fault == Fault::Switchover { to } else { String::new() })
}
