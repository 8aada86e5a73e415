//! The faults: each is done to one host or to the network, and undone by the turns of the cluster or by the heal.

use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::cluster::Cluster;
use crate::config;
use crate::events::Counts;
use crate::host::{Host, signal};
use crate::names;
use crate::process::Process;

/// Does something to this host, or as an operator there. None if that cannot be done now, otherwise more words about it.
type Deed = fn(&mut Cluster<'_>, usize) -> Option<String>;

/// The faults with their names, and how often each is drawn.
const ALL: &[(&str, usize, Deed)] = &[
    ("kill of electd", 4, |cluster, host| kill(cluster, host, |host, _| Some(&mut host.node))),
    ("kill of exec", 2, |cluster, host| kill(cluster, host, an_exec)),
    ("kill of a guard", 4, |cluster, host| kill_below(cluster, host, Host::guards)),
    ("kill of a command", 1, |cluster, host| kill_below(cluster, host, Host::commands)),
    ("stop of electd", 4, |cluster, host| freeze(cluster, host, |host, _| host.node.pid())),
    ("stop of exec", 2, |cluster, host| freeze(cluster, host, |host, at| an_exec(host, at)?.pid())),
    ("stop of a guard", 3, |cluster, host| freeze(cluster, host, a_guard)),
    ("stop of a host", 2, freeze_whole),
    ("power cut", 2, power_off),
    ("power cut of all", 1, power_off_all),
    ("TERM", 2, terminate),
    ("removal of sockets", 3, |cluster, host| {
        let removed = cluster.hosts[host].remove_sockets();
        (removed > 0).then(|| format!("{removed}"))
    }),
    ("folder that cannot be written", 3, |cluster, host| {
        let time = cluster.time(100, 8000);
        well(cluster, host)?.make_read_only(time);
        Some(format!("for {time:?}"))
    }),
    ("disk that hangs", 3, |cluster, host| {
        let time = cluster.time(100, 8000);
        cluster.hosts[host].hang_disk(time)?;
        Some(format!("for {time:?}"))
    }),
    ("sync that fails", 2, |cluster, host| {
        cluster.hosts[host].fail_sync()?;
        Some(String::new())
    }),
    ("cut", 4, |cluster, host| cut(cluster, |cluster| cluster.network.plug(host + 1, false))),
    ("cut outwards", 2, |cluster, host| cut_ways(cluster, host, |own, other| (own, other))),
    ("cut inwards", 2, |cluster, host| cut_ways(cluster, host, |own, other| (other, own))),
    ("cut of a link one way", 2, cut_link),
    ("partition", 3, part),
    ("flapping cable", 2, |cluster, host| {
        cut(cluster, |cluster| cluster.flaps = Some((host + 1, Instant::now(), false)))
    }),
    ("resign", 2, |cluster, host| order(cluster, host, &["resign"])),
    ("switchover", 2, |cluster, host| {
        let to = another(cluster, host);
        let to = cluster.hosts[to].name.clone();
        order(cluster, host, &["switchover", "--to", &to]).map(|_| format!("to {to}"))
    }),
    ("drain", 1, |cluster, host| order(cluster, host, &["drain"])),
    ("drain of all at once", 2, |cluster, _| {
        cluster.drain_all().then(|| "and all others".to_owned())
    }),
    ("undrain", 2, |cluster, host| order(cluster, host, &["undrain"])),
    ("pause", 1, |cluster, host| order(cluster, host, &["pause", "--for", "5s"])),
    ("resume", 1, |cluster, host| order(cluster, host, &["resume"])),
    ("reload", 2, reload),
    ("kill of a program", 3, |cluster, host| kill(cluster, host, |host, _| a_program(host))),
    ("stop of a program", 2, |cluster, host| {
        freeze(cluster, host, |host, _| a_program(host)?.pid())
    }),
    ("TERM of a program", 1, |cluster, host| {
        let (down, timeout) = (cluster.time(1, 3000), cluster.plan.stop_within());
        let program = a_program(well(cluster, host)?)?;
        program.expect(0);
        program.stop(Signal::TERM, timeout);
        program.stay_down(down);
        Some(format!("for {down:?}"))
    }),
    ("lock release", 3, |cluster, host| order_lock(cluster, host, "release")),
    ("lock move", 4, |cluster, host| order_lock(cluster, host, "move")),
    ("lock forget", 1, |cluster, host| order_lock(cluster, host, "forget")),
];

/// Does something to the cluster: more often to the leader's host than to another.
pub fn strike(cluster: &mut Cluster<'_>, counts: &mut Counts) {
    let drawn: Vec<_> = ALL.iter().flat_map(|fault| std::iter::repeat_n(fault, fault.1)).collect();
    loop {
        let (name, _, deed) = drawn[cluster.pick(drawn.len())];
        let latest = cluster.leaders.latest().filter(|_| cluster.pick(3) > 0);
        let leader = cluster.hosts.iter().position(|host| Some(&host.name) == latest.as_ref());
        let anyone = cluster.pick(cluster.hosts.len());
        let host = leader.unwrap_or(anyone);
        if let Some(more) = deed(cluster, host) {
            let on = &cluster.hosts[host].name;
            cluster.events.add(format!("{name}: {on} {more}"));
            *counts.faults.entry(name).or_default() += 1;
            return;
        }
    }
}

/// This host, if nothing on it is frozen: docs/exec.md excepts a host on which neither electd nor the guard can act, so
/// nothing else is killed or frozen there.
fn well<'c>(cluster: &'c mut Cluster<'_>, host: usize) -> Option<&'c mut Host> {
    Some(&mut cluster.hosts[host]).filter(|host| host.is_well())
}

fn any<T>(all: &[T], number: usize) -> Option<&T> {
    all.get(number % all.len().max(1))
}

fn an_exec(host: &mut Host, number: usize) -> Option<&mut Process> {
    let count = host.execs.len().max(1);
    host.execs.get_mut(number % count).filter(|exec| exec.pid().is_some())
}

fn a_guard(host: &mut Host, number: usize) -> Option<Pid> {
    any(&host.guards(), number).map(|(_, guard)| *guard)
}

fn another(cluster: &mut Cluster<'_>, host: usize) -> usize {
    let all = cluster.hosts.len();
    (host + 1 + cluster.pick(all - 1)) % all
}

fn kill(
    cluster: &mut Cluster<'_>,
    host: usize,
    which: fn(&mut Host, usize) -> Option<&mut Process>,
) -> Option<String> {
    let (down, one) = (cluster.time(1, 3000), cluster.pick(64));
    which(well(cluster, host)?, one)?.kill(down);
    Some(format!("for {down:?}"))
}

/// Kills a guard or a command. The kernel kills the command with its guard.
fn kill_below(
    cluster: &mut Cluster<'_>,
    host: usize,
    which: fn(&Host) -> Vec<(usize, Pid)>,
) -> Option<String> {
    let one = cluster.pick(64);
    let host = well(cluster, host)?;
    let (job, pid) = *any(&which(host), one)?;
    let process = host.all().nth(job)?;
    process.expect(137);
    process.expect(70); // a guard that was about to begin
    signal(&[pid], Signal::KILL);
    Some(format!("of job {job}"))
}

fn freeze(
    cluster: &mut Cluster<'_>,
    host: usize,
    which: fn(&mut Host, usize) -> Option<Pid>,
) -> Option<String> {
    let (time, one) = (cluster.time(50, 5000), cluster.pick(64));
    let host = well(cluster, host)?;
    let pid = which(host, one)?;
    host.freeze(vec![pid], time);
    Some(format!("for {time:?}"))
}

fn freeze_whole(cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let time = cluster.time(50, 5000);
    well(cluster, host)?.freeze_whole(time);
    Some(format!("for {time:?}"))
}

fn power_off(cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let (down, seed) = (cluster.time(1, 3000), cluster.random.draw());
    well(cluster, host)?.power_off(down, seed);
    Some(format!("for {down:?}"))
}

fn power_off_all(cluster: &mut Cluster<'_>, _host: usize) -> Option<String> {
    for at in 0..cluster.hosts.len() {
        let (down, seed) = (cluster.time(1, 1500), cluster.random.draw());
        cluster.hosts[at].power_off(down, seed);
    }
    Some("and all others".to_owned())
}

fn terminate(cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let (down, timeout) = (cluster.time(1, 3000), cluster.plan.stop_within());
    let node = &mut well(cluster, host)?.node;
    node.expect(0);
    node.stop(Signal::TERM, timeout);
    node.stay_down(down);
    Some(format!("for {down:?}"))
}

/// Does something to the network, which is whole again after a while, with all that was cut before.
fn cut(cluster: &mut Cluster<'_>, deed: impl FnOnce(&mut Cluster<'_>)) -> Option<String> {
    deed(cluster);
    let time = cluster.time(100, 8000);
    cluster.heals.get_or_insert(Instant::now() + time);
    Some(format!("for {time:?} at most"))
}

fn cut_ways(
    cluster: &mut Cluster<'_>,
    host: usize,
    way: fn(usize, usize) -> (usize, usize),
) -> Option<String> {
    cut(cluster, |cluster| {
        for other in (0..cluster.hosts.len()).filter(|other| *other != host) {
            let (from, to) = way(host + 1, other + 1);
            cluster.network.carry(from, to, false);
        }
    })
}

fn cut_link(cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let other = another(cluster, host) + 1;
    let time = cut(cluster, |cluster| cluster.network.carry(host + 1, other, false))?;
    Some(format!("to node-{other} {time}"))
}

fn part(cluster: &mut Cluster<'_>, host: usize) -> Option<String> {
    let other = another(cluster, host) + 1;
    let some = if cluster.hosts.len() > 3 { vec![host + 1, other] } else { vec![host + 1] };
    let time = cut(cluster, |cluster| cluster.network.part(&some))?;
    Some(format!("{some:?} from the others {time}"))
}

fn order(cluster: &mut Cluster<'_>, host: usize, words: &[&str]) -> Option<String> {
    cluster.order(host, words);
    Some(String::new())
}

/// The program that holds names there, while it runs.
fn a_program(host: &mut Host) -> Option<&mut Process> {
    let program = host.program.as_mut().map(|(process, _)| process);
    program.filter(|process| process.pid().is_some() && !process.is_stopping())
}

/// Orders something about one of all locks. It moves to a member on another host, which may be one that does not want it.
fn order_lock(cluster: &mut Cluster<'_>, host: usize, what: &str) -> Option<String> {
    if !cluster.plan.majority {
        return None;
    }
    let mut names: Vec<String> = names::of_programs().collect();
    let of_execs = (1..=names::OF_EXECS).map(names::of_exec);
    names.extend(of_execs.flat_map(|name| std::iter::repeat_n(name, 4)));
    let name = names.swap_remove(cluster.pick(names.len()));
    let other = another(cluster, host) + 1;
    let to = if name.starts_with("job") { format!("node-{other}") } else { config::program(other) };
    let mut words = vec!["lock", what, &name];
    if what == "move" {
        words.extend(["--to", &to]);
    }
    order(cluster, host, &words).map(|_| words[2..].join(" "))
}

fn reload(cluster: &mut Cluster<'_>, _host: usize) -> Option<String> {
    cluster.retime();
    for number in 0..cluster.hosts.len() {
        if cluster.pick(2) == 0 {
            cluster.order(number, &["reload"]);
        }
    }
    Some("and others".to_owned())
}
