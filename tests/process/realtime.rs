//! Real-time scheduling: the threads that a heartbeat passes have it, and nothing else of a node and of what it starts.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use story::story;

use crate::support::script::{ELECTD, script};
use crate::support::{Cluster, Node, electd, ensure, eventually};

/// The policy of a thread or process, as the kernel shows it: 0 is ordinary, 1 is SCHED_FIFO. None if it has ended.
fn policy(task: impl AsRef<Path>) -> Option<u32> {
    let stat = fs::read_to_string(task.as_ref().join("stat")).ok()?;
    policy_in(&stat)
}

fn policy_in(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(41 - 3)?.parse().ok()
}

/// Whether this host lets a process run in real time and lock its memory, by the word of other programs.
fn host_allows() -> bool {
    let does = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    let locks = "test $(ulimit -l) = unlimited || setpriv --dump | grep -q 'Effective.*ipc_lock'";
    does("chrt", &["--fifo", "10", "true"]) && does("sh", &["-c", locks])
}

/// The names of the threads of a node that run in real time, without those of peers.
fn in_real_time(node: &Node) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", node.pid())).unwrap().flatten();
    let urgent = tasks.filter(|task| policy(task.path()) == Some(1));
    let names = urgent.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    let mut names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
    names.sort();
    names
}

/// The writable parts of its memory that the system may take away, such as those that it got after its start.
fn unlocked(node: &Node) -> Vec<String> {
    let all = fs::read_to_string(format!("/proc/{}/smaps", node.pid())).unwrap();
    let flags = all.lines().filter_map(|line| line.strip_prefix("VmFlags:"));
    let has = |flags: &str, flag| flags.split_whitespace().any(|one| one == flag);
    let unlocked = flags.filter(|flags| has(flags, "wr") && !has(flags, "lo"));
    unlocked.map(str::to_owned).collect()
}

/// All processes below this one, by their numbers.
fn below(pid: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> =
        lists.flat_map(|list| list.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    let children = children.into_iter().filter(|child| !child.is_empty());
    children.flat_map(|child| [below(&child), vec![child]].concat()).collect()
}

/// The command line of a process.
fn command_line(pid: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// A shell script that writes how it is scheduled into this file, and goes on as told.
fn witness(file: &Path, then: &str) -> String {
    format!("read stat </proc/$$/stat; echo \"$stat\" >>{}; {then}", file.display())
}

/// Waits until such a script has run, and looks at each of its runs.
#[track_caller]
fn ran_ordinarily(file: &Path) {
    let told = eventually(&format!("{} ran", file.display()), || {
        let told = fs::read_to_string(file).map_err(|error| error.to_string())?;
        ensure(told.ends_with('\n'), || told.clone()).map(|()| told)
    });
    let policies: Vec<_> = told.lines().map(policy_in).collect();
    assert!(policies.iter().all(|policy| *policy == Some(0)), "{}: {told}", file.display());
}

#[story]
fn only_what_a_heartbeat_passes_runs_in_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["hook", "check", "rank", "job", "cleanup"].map(|name| folder.path().join(name));
    let [hook, check, rank, job, cleanup] = &files;
    let cluster = Cluster::prepare(2, |config| {
        config["realtime"] = true.into();
        config["hooks"] = json!({"on_change": ["sh", "-c", witness(hook, "exit 0")]});
        config["health"] = json!({"command": ["sh", "-c", witness(check, "exit 0")]});
        config["rank"] = json!({"by": "command", "command": ["sh", "-c", witness(rank, "echo 1")]});
    });
    let command = witness(job, "sleep 1000");
    let program = folder.path().join("cleanup.sh");
    script(&program, &witness(cleanup, "exit 0"));
    let program = program.to_str().unwrap();
    cluster.node(1).start();
    cluster.node(2).start_with(&["--cleanup", program, "--", "sh", "-c", &command]);
    cluster.agree_on(2);
    let status = cluster.status(2).unwrap();
    if !status.realtime.as_ref().unwrap().holds {
        assert!(!host_allows(), "{status:?}");
        println!("skipped: {status:?}");
        return;
    }
    let expected = ["election", "listener", "reader-node-1", "writer-node-1"];
    eventually("these threads run in real time", || {
        let found = in_real_time(cluster.node(2));
        ensure(found == expected, || format!("{found:?}"))
    });
    assert!(cluster.node(2).figure("VmLck") > 0);
    let unlocked = unlocked(cluster.node(2));
    assert!(unlocked.is_empty(), "{unlocked:?}");
    for file in [hook, check, rank, job] {
        ran_ordinarily(file);
    }
    let processes = below(&cluster.node(2).pid().to_string());
    let words: Vec<String> = processes.iter().map(|pid| command_line(pid)).collect();
    for kind in ["electd coroner ", "electd guard "] {
        assert!(words.iter().any(|words| words.starts_with(kind)), "no {kind}in {words:?}");
    }
    for pid in processes {
        assert!(policy(format!("/proc/{pid}")).is_none_or(|policy| policy == 0), "{pid}");
    }
    let problems = cluster.status(2).unwrap().problems;
    assert!(problems.iter().all(|found| found.kind != "realtime"), "{problems:?}");
    let output = electd(&cluster, &["check", "--node", "node-1"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("the threads of the election can run in real time"), "{told}");
    cluster.node(2).stop_term();
    assert_eq!(cluster.node(2).exit_code(), 0);
    ran_ordinarily(cleanup);
}

/// Root has the two capabilities, whatever the limits are.
#[story]
fn a_node_that_is_refused_it_says_so_and_runs_on() {
    let cluster = Cluster::prepare(2, |config| config["realtime"] = true.into());
    let program = cluster.file().with_file_name("limited");
    let limits = "ulimit -r 0; ulimit -l 64";
    let without = "exec setpriv --bounding-set=-sys_nice,-ipc_lock --inh-caps=-all";
    script(&program, &format!("{limits}\n{without} {ELECTD} \"$@\""));
    if !Command::new(&program).arg("--version").output().unwrap().status.success() {
        println!("skipped: to go without a capability needs root and setpriv");
        return;
    }
    for node in cluster.nodes() {
        node.build.replace(Some(program.clone()));
        node.start();
    }
    cluster.agree_on(2);
    eventually("the problem is told with its remedy", || {
        let status = cluster.status(1)?;
        ensure(!status.realtime.as_ref().is_some_and(|it| it.holds), || format!("{status:?}"))?;
        let text = status.problems.iter().find(|found| found.kind == "realtime");
        let text = text.map(|found| found.text.clone()).unwrap_or_default();
        let all = ["LimitRTPRIO=10", "LimitMEMLOCK=infinity"].iter().all(|it| text.contains(it));
        ensure(all, || format!("{text} in {:?}", status.problems))
    });
    assert_eq!(in_real_time(cluster.node(1)), [""; 0]);
    assert_eq!(cluster.node(1).figure("VmLck"), 0);
    // Not the line for people, which is short: beside others a problem may have no room there.
    eventually("health tells it", || {
        let health = electd(&cluster, &["health", "--output", "json"]);
        let line = String::from_utf8_lossy(&health.stdout).into_owned();
        let told = health.status.code() == Some(1) && line.contains("RLIMIT_RTPRIO is 0");
        ensure(told, || format!("{health:?}"))
    });
    let mut check = Command::new(&program);
    check.args(["check", "--node", "node-1", "--output", "json", "--config"]).arg(cluster.file());
    let told = String::from_utf8(check.output().unwrap().stdout).unwrap();
    for limit in ["RLIMIT_RTPRIO is 0", "RLIMIT_MEMLOCK is 65536 bytes"] {
        assert!(told.contains(limit), "{limit}: {told}");
    }
    cluster.node(1).until_logged(&["WARN", "realtime: its threads have ordinary scheduling"]);
}
