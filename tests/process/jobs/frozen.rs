//! Processes of a leader that stand still: all at one instant, which are electd, its coroner, the guard and the command; or
//! `electd exec` alone.

use std::process::Stdio;

use rustix::process::{Signal, kill_process};
use story::story;

use super::attached::{Attached, exec, stop};
use super::lines::Lines;
use super::several::leads_on;
use super::worker::{FILE, MANNER, POLITE, command};
use super::{Jobs, with_majority};
use crate::support::recorder::Recorder;
use crate::support::unit::Unit;
use crate::support::{Cluster, Network, ensure, eventually};

/// As the freezer of a container or of a unit does it. docs/exec.md excepts what the command does until its guard acts.
#[story]
fn a_leader_that_is_frozen_with_all_that_it_started_is_not_certified_and_does_not_lead_when_it_thaws()
 {
    let Some(network) = Network::of(3) else { return };
    let cluster = Cluster::prepare_on(network, with_majority);
    let units: Option<Vec<Unit>> = cluster.nodes().iter().map(Unit::of).collect();
    let Some(units) = units else { return };
    let lines = Lines::beside(&cluster);
    let jobs = Jobs { cluster, lines };
    (1..=3).for_each(|number| jobs.start_node(number));
    let Jobs { cluster, lines } = &jobs;
    let old = lines.runs_next(None);
    let leader = jobs.number(&old.node);
    cluster.agree_on(leader);
    let recorder = Recorder::of(cluster.nodes());
    eventually("it was seen to lead", || {
        recorder.claims().leadership(&old.node, old.epoch).map(drop).ok_or_else(String::new)
    });

    units[leader - 1].freeze(true);
    let next = lines.runs_next(Some(&old));
    let others: Vec<usize> = (1..=3).filter(|number| *number != leader).collect();
    cluster.agree_among(&others, jobs.number(&next.node));

    units[leader - 1].freeze(false);
    cluster.agree_on(jobs.number(&next.node));
    let changes = cluster.status(leader).unwrap().changes;
    let mut after = changes.iter().skip_while(|change| change.to != "leading").skip(1);
    let first = after.next().expect("it does not lead any more");
    assert!(first.reason.starts_with("stalled for") && first.leader.is_none(), "{changes:?}");
    eventually("its command has ended", || {
        let left = lines.processes_of(old.epoch);
        ensure(left.is_empty(), || format!("{left:?}"))
    });
    assert_eq!(lines.runs_next(Some(&old)), next);
    recorder.never_two();
    for number in others {
        let log = cluster.node(number).log();
        assert!(!log.contains("its coroner certifies it"), "{log}");
        assert_eq!(cluster.status(number).unwrap().messages["dead"].received, 0);
    }
}

/// Its guard ends the command, and nobody would run it as long as this host leads, or holds the lock.
#[story]
fn the_command_of_a_frozen_exec_runs_on_another_host() {
    for by in [&[][..], &["--lock", "backup"]] {
        let cluster = Cluster::start_with(3, with_majority);
        let lines = Lines::beside(&cluster);
        let command = command();
        let options = by.iter().chain(&["--restart", "always", "--stop-after", "300ms", "--"]);
        let all: Vec<&str> = options.copied().chain(command.iter().map(String::as_str)).collect();
        let execs: Vec<Attached> = (1..=3)
            .map(|number| {
                let mut exec = exec(&cluster, number, &all);
                exec.env(FILE, lines.file()).env(MANNER, POLITE).stdout(Stdio::null());
                Attached(exec.spawn().unwrap())
            })
            .collect();
        let old = lines.runs_next(None);
        let host = cluster.nodes().iter().position(|node| node.name == old.node).unwrap();
        stop(execs[host].pid());
        let elsewhere = || {
            let run = lines.is_next(Some(&old))?;
            ensure(run.node != old.node, || format!("still {run:?}"))?;
            Ok::<_, String>(run)
        };
        let next = eventually("it runs on another host", elsewhere);
        let log = cluster.node(host + 1).log();
        assert!(log.contains("electd exec does not answer"), "{log}");
        kill_process(execs[host].pid(), Signal::CONT).unwrap();
        let (leader, _) = cluster.agree();
        leads_on(&cluster, leader, 20);
        assert_eq!(lines.runs_next(Some(&old)), next, "the frozen exec ran it again");
        lines.assert_never_two();
    }
}
