//! Several commands beside one node: the leadership waits for all of them, and each ends for itself.

use std::path::PathBuf;
use std::process::Stdio;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::attached::{Attached, exec, lives};
use super::{command_of, only_child};
use crate::support::{Cluster, Finished, ensure, eventually, http};

/// A command beside the leader that ends after TERM, once the test lets it.
struct Gated {
    exec: Attached,
    command: Pid,
    gate: PathBuf,
}

impl Gated {
    fn start(cluster: &Cluster, leader: usize, number: usize, stop_after: &str) -> Gated {
        let gate = cluster.file().with_file_name(format!("gate-{number}"));
        let script = format!(
            "trap 'touch {0}.termed; until [ -e {0} ]; do sleep 0.02; done; exit 0' TERM; echo; while :; do sleep 0.02; done",
            gate.display()
        );
        let mut exec =
            exec(cluster, leader, &["--stop-after", stop_after, "--", "sh", "-c", &script]);
        let mut exec = Attached(exec.stdout(Stdio::piped()).spawn().unwrap());
        exec.hear();
        let command = command_of(only_child(exec.pid()).unwrap()).unwrap();
        Gated { exec, command, gate }
    }

    #[track_caller]
    fn until_termed(&self) {
        let termed = self.gate.with_extension("termed");
        eventually("it got TERM", || ensure(termed.exists(), || "it did not".to_owned()));
    }

    fn open(&self) {
        std::fs::write(&self.gate, "").unwrap();
    }
}

/// Waits until this leader has sent this many heartbeats more.
#[track_caller]
pub fn leads_on(cluster: &Cluster, number: usize, more: u64) {
    let sent = || {
        let status = cluster.status(number)?;
        ensure(status.state == "leading", || panic!("it is {}", status.state))?;
        Ok::<u64, String>(status.messages["heartbeat"].sent)
    };
    let first = eventually("it answers", sent);
    eventually("it leads on", || {
        let now = sent()?;
        ensure(now >= first + more, || format!("{now} after {first}"))
    });
}

#[story]
fn a_leadership_waits_for_the_command_that_ends_last() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    // The first and the last may take the shortest time: more heartbeats are sent than fit into it.
    let mut all = [(1, "300ms"), (2, "1000s"), (3, "1000s"), (4, "1000s"), (5, "300ms")]
        .map(|(number, stop_after)| Gated::start(&cluster, 2, number, stop_after));
    let state = cluster.node(2).state();
    thread::scope(|scope| {
        let asked = scope.spawn(|| http::tell(&state, "POST", "/resign", "").unwrap());
        // Each of them is killed after its time.
        assert_eq!([all[0].exec.code(), all[4].exec.code()], [76; 2]);
        leads_on(&cluster, 2, 20);
        // It is killed together with its exec.
        kill_process(all[1].exec.pid(), Signal::KILL).unwrap();
        eventually("its guard has killed it", || {
            ensure(!lives(all[1].command), || "it lives".to_owned())
        });
        leads_on(&cluster, 2, 20);
        // It ends by itself.
        all[2].open();
        assert_eq!(all[2].exec.code(), 76);
        leads_on(&cluster, 2, 20);
        assert!(!asked.is_finished() && lives(all[3].command));
        all[3].open();
        assert_eq!(all[3].exec.code(), 76);
        let answer = asked.join().unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
    });
    cluster.agree_on(1);
}

#[story]
fn one_command_of_several_ends_alone() {
    let cluster = Cluster::start(2);
    let epoch = cluster.agree_on(2);
    let mut all = [1, 2, 3].map(|number| Gated::start(&cluster, 2, number, "1000s"));
    all[1].open();
    kill_process(all[1].exec.pid(), Signal::TERM).unwrap();
    assert_eq!(all[1].exec.code(), 0, "the command's own code");
    leads_on(&cluster, 2, 5);
    assert!([0, 2].into_iter().all(|other| lives(all[other].command)));
    kill_process(all[0].exec.pid(), Signal::KILL).unwrap();
    eventually("its guard has killed it", || {
        ensure(!lives(all[0].command), || "it lives".to_owned())
    });
    leads_on(&cluster, 2, 5);
    assert!(lives(all[2].command));
    assert_eq!(cluster.agree_on(2), epoch);
    let metrics = cluster.node(2).metrics().unwrap();
    assert!(metrics.contains("electd_exec_running 1\n"), "{metrics}");
}

/// It waits for as long as the command may take, and finds nothing amiss in that.
#[story]
fn a_node_that_stops_waits_for_its_command() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let mut command = Gated::start(&cluster, 2, 1, "1000s");
    let node = cluster.node(2);
    node.stop_term();
    command.until_termed();
    // Without a command a stop takes no second: 30 heartbeats are three.
    let heard = || Ok::<u64, String>(cluster.status(1)?.messages["heartbeat"].received);
    let first = eventually("node-1 answers", heard);
    eventually("node-2 leads on", || {
        let now = heard()?;
        ensure(now >= first + 30, || format!("{now} after {first}"))
    });
    assert!(lives(command.command));
    command.open();
    command.exec.code();
    assert_eq!(node.exit_code(), 0, "{}", node.log_tail(20));
    assert!(!node.log().contains("did not answer in time"), "{}", node.log_tail(20));
    cluster.agree_on(1);
}

/// It would hold up a leadership that others wait for the end of.
#[story]
fn no_command_begins_while_the_leadership_ends() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let mut first = Gated::start(&cluster, 2, 1, "1000s");
    let state = cluster.node(2).state();
    thread::scope(|scope| {
        let asked = scope.spawn(|| http::tell(&state, "POST", "/resign", "").unwrap());
        first.until_termed();
        let ran = cluster.file().with_file_name("ran");
        let touch = ["--wait", "1s", "--", "touch", ran.to_str().unwrap()];
        let code = exec(&cluster, 2, &touch).finished().status.code();
        assert_eq!((code, ran.exists()), (Some(75), false), "it does not come to lead");
        assert!(!asked.is_finished() && lives(first.command));
        first.open();
        assert_eq!(first.exec.code(), 76);
        let answer = asked.join().unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
    });
    cluster.agree_on(1);
}
