//! Members that are ranked by something else than their ids, and members that take their time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::undead::Undead;
use crate::support::{Cluster, ensure, eventually, watchful};
use serde_json::{Value, json};
use story::story;
use tempfile::TempDir;

/// A number for each member, in a file that its command prints.
struct Numbers(TempDir);

impl Numbers {
    fn new() -> Numbers {
        Numbers(tempfile::tempdir().unwrap())
    }

    fn file(&self, number: usize) -> PathBuf {
        self.0.path().join(number.to_string())
    }

    /// As a whole: a command that reads meanwhile reads the one or the other.
    fn set(&self, member: usize, number: i64) {
        let fresh = self.0.path().join("fresh");
        fs::write(&fresh, format!("{number}\n")).unwrap();
        fs::rename(fresh, self.file(member)).unwrap();
    }

    fn rank(&self, config: &mut Value) {
        config["rank"] = json!({"by": "command", "every": "1s", "timeout": "900ms"});
        for (at, member) in config["members"].as_array_mut().unwrap().iter_mut().enumerate() {
            member["rank"] = json!({"command": ["cat", self.file(at + 1)]});
        }
    }
}

/// The ranks of all members, as this member sees them.
fn ranks(cluster: &Cluster, number: usize) -> Result<Vec<Value>, String> {
    Ok(cluster.status(number)?.members.into_iter().map(|member| member.rank.value).collect())
}

/// Waits until the status of a member says that its rank comes from there.
#[track_caller]
fn ranked_from(cluster: &Cluster, number: usize, words: &str) {
    eventually(&format!("node-{number}'s rank is from {words:?}"), || {
        let source = cluster.status(number)?.rank_source;
        ensure(source.contains(words), || source)
    });
}

fn count(log: &str, words: &str) -> usize {
    log.lines().filter(|line| line.contains(words)).count()
}

#[story]
fn the_greatest_number_leads_and_whoever_has_none_stands_back() {
    let numbers = Numbers::new();
    for (member, number) in [(1, 10), (2, 30), (3, 20)] {
        numbers.set(member, number);
    }
    let cluster = Cluster::start_with(3, |config| numbers.rank(config));
    let first = cluster.agree_on(2);
    let all_know = |expected: [i64; 3]| {
        for number in 1..=3 {
            eventually(&format!("node-{number} knows all ranks"), || {
                let ranks = ranks(&cluster, number)?;
                ensure(ranks == expected, || format!("{ranks:?}"))
            });
        }
    };
    all_know([10, 30, 20]);
    numbers.set(1, 15);
    all_know([15, 30, 20]); // its leader tells the third
    ranked_from(&cluster, 2, "30, printed by `cat ");

    fs::remove_file(numbers.file(2)).unwrap();
    ranked_from(&cluster, 2, "none: `cat ");
    assert_eq!(cluster.agree_on(2), first, "that deposes nobody by itself");

    assert_eq!(cluster.node(2).post("/elections", "").unwrap().code, 200);
    let second = cluster.agree_on(3);
    assert!(second > first);
    eventually("node-2 has no rank and is not eligible", || {
        let members = cluster.status(3)?.members;
        let (eligible, rank) = (members[1].eligible, &members[1].rank.value);
        ensure(!eligible && rank.is_null(), || format!("{eligible} {rank}"))
    });
    let lost = "WARN  node-2: no rank: `cat ";
    cluster.node(2).until_logged(&[lost, "exited with code 1: cat: "]);
    assert_eq!(count(&cluster.node(2).log(), lost), 1, "{}", cluster.node(2).log());

    numbers.set(2, 40);
    assert!(cluster.agree_on(2) > second, "a higher member takes over at once");
    all_know([15, 40, 20]);
    cluster.node(2).until_logged(&["a rank again: 40, "]);
    assert_eq!(count(&cluster.node(2).log(), "a rank again: 40, "), 1);
    assert_eq!(cluster.status(2).unwrap().incarnation, 1, "it never ended");
}

/// A program that prints ten less each time, from this number on.
fn less_and_less(file: &Path, first: i64) -> Value {
    fs::write(file, format!("{first}\n")).unwrap();
    json!(["sh", "-c", "n=$(cat $0); echo $((n - 10)) >$0; echo $n", file])
}

#[story]
#[ignore = "long"]
fn a_leader_whose_program_prints_less_and_less_is_replaced() {
    for quorum in ["none", "majority"] {
        let numbers = Numbers::new();
        numbers.set(1, 70);
        numbers.set(2, 80);
        let cluster = Cluster::start_with(3, |config| {
            numbers.rank(config);
            config["quorum"] = json!(quorum);
            config["rank"]["margin"] = json!("10%");
            config["members"][2]["rank"]["command"] = less_and_less(&numbers.file(3), 150);
        });
        let first = cluster.agree_on(3);
        let second = cluster.agree_on(2);
        assert!(second > first);
        let printed: i64 = fs::read_to_string(numbers.file(3)).unwrap().trim().parse().unwrap();
        assert!(printed < 70, "80 is within the margin of what it printed before: {printed}");
        let changes = cluster.status(1).unwrap().changes;
        let named = changes.iter().filter_map(|change| change.leader.as_deref());
        let mut leaders: Vec<&str> = named.collect();
        leaders.dedup();
        assert_eq!(leaders, ["node-3", "node-2"], "nobody led in between");
    }
}

#[story]
#[ignore = "long"]
fn two_members_that_are_nearly_equal_do_not_take_turns() {
    let numbers = Numbers::new();
    (1..=3).for_each(|member| numbers.set(member, 100));
    let cluster = Cluster::start_with(3, |config| {
        numbers.rank(config);
        config["rank"]["margin"] = json!("10%");
    });
    let first = cluster.agree_on(3);
    for (own, other) in [(95, 104), (105, 95), (98, 107), (92, 101)] {
        // The follower first: in between they are nearly equal as well.
        for (member, number) in [(2, other), (3, own)] {
            numbers.set(member, number);
            ranked_from(&cluster, member, &format!("{number}, printed by"));
        }
        eventually("the follower knows what its leader has now", || {
            let ranks = ranks(&cluster, 2)?;
            ensure(ranks[2] == own, || format!("{ranks:?}"))
        });
        assert_eq!(cluster.agree_on(3), first);
    }
    numbers.set(3, 90);
    assert!(cluster.agree_on(2) > first, "101 exceeds 90 by more than a tenth");
    numbers.set(2, 80);
    cluster.agree_on(1);
}

#[story]
fn a_rank_that_rises_takes_over_and_no_lower_one_does_afterwards() {
    let numbers = Numbers::new();
    (1..=3).for_each(|member| numbers.set(member, 10));
    let cluster = Cluster::start_with(3, |config| numbers.rank(config));
    let first = cluster.agree_on(3);
    numbers.set(1, 11);
    let second = cluster.agree_on(1);
    assert!(second > first);
    numbers.set(1, 20);
    ranked_from(&cluster, 1, "20, printed by");
    numbers.set(2, 15);
    ranked_from(&cluster, 2, "15, printed by");
    assert_eq!(cluster.agree_on(1), second, "15 exceeds what it was elected with, not what it has");
    cluster.node(1).kill_9();
    cluster.agree_on(2);
}

#[story]
fn priorities_go_over_ids_and_equal_ones_fall_to_the_greater_id() {
    let cluster = Cluster::start_with(4, |config| {
        config["rank"] = json!({"by": "priority", "priority": 1});
        for at in [0, 1] {
            config["members"][at]["rank"] = json!({"priority": 7});
        }
    });
    cluster.agree_on(2);
    assert_eq!(ranks(&cluster, 2).unwrap(), [7, 7, 1, 1]);
    cluster.node(2).kill_9();
    cluster.agree_on(1);
    cluster.node(1).kill_9();
    cluster.agree_on(4);
    assert_eq!(cluster.status(4).unwrap().rank_source, "the configuration");
}

/// One node, ranked by this, that does not wait long for others.
fn alone(rank: Value) -> Cluster {
    Cluster::start_with(1, |config| {
        watchful(config);
        config["rank"] = rank;
    })
}

#[story]
fn every_other_kind_finds_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (rank, words) in [
        (json!({"by": "address"}), "127."),
        (json!({"by": "cpu"}), " core"),
        (json!({"by": "disk", "path": path}), " bytes are free on the file system of "),
        (json!({"by": "files", "path": path}), "0 files in "),
    ] {
        let cluster = alone(rank.clone());
        cluster.agree_on(1);
        let status = cluster.status(1).unwrap();
        assert!(status.rank_source.contains(words), "{rank}: {}", status.rank_source);
        assert_eq!(status.members[0].rank.by, rank["by"]);
        assert!(status.members[0].rank.value.is_i64(), "{:?}", status.members[0]);
    }
}

#[story]
fn a_lone_member_without_a_rank_waits_until_it_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = folder.path().join("jobs");
    let cluster = alone(json!({"by": "files", "path": jobs, "every": "100ms"}));
    ranked_from(&cluster, 1, "none: the files in ");
    eventually("it waits", || {
        let status = cluster.status(1)?;
        ensure(status.state == "waiting" && !status.members[0].eligible, || status.state)
    });
    fs::create_dir(&jobs).unwrap();
    cluster.agree_on(1);
}

#[story]
fn a_command_that_hangs_holds_up_neither_the_start_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ >{}; exec sleep 10000", file.display());
    let cluster = alone(json!({
        "by": "command", "command": ["sh", "-c", script], "timeout": "30m", "every": "1h"
    }));
    ranked_from(&cluster, 1, "none: the first sample takes longer than 3s");
    let process = eventually("the command runs", || {
        let pid = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let process = format!("/proc/{}", pid.trim());
        ensure(pid.ends_with('\n') && fs::exists(&process).unwrap(), || pid).map(|()| process)
    });
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    assert!(!fs::exists(&process).unwrap(), "{process} is left behind");
    assert!(!cluster.node(1).log().contains("was ended"), "that is no failure");
}

/// Its last value would be kept for ever.
#[story]
fn a_command_that_kill_does_not_end_gives_no_rank() {
    let folder = tempfile::tempdir().unwrap();
    let [hang, pid] = ["hang", "pid"].map(|name| folder.path().join(name));
    let script = "test ! -e $0 || { echo $$ >$1; exec sleep 10000; }; echo $2";
    let cluster = Cluster::start_with(2, |config| {
        config["rank"] = json!({"by": "command", "every": "3s", "timeout": "2900ms"});
        let members = config["members"].as_array_mut().unwrap();
        members[0]["rank"] = json!({"command": ["echo", "1"]});
        members[1]["rank"] = json!({"command": ["sh", "-c", script, hang, pid, "2"]});
    });
    cluster.agree_on(2);
    fs::write(&hang, "").unwrap();
    let undead = Undead::of(&pid);
    ranked_from(&cluster, 2, "took longer than 2.9s and hangs in the system");
    fs::remove_file(&hang).unwrap();
    drop(undead);
    ranked_from(&cluster, 2, "2, printed by");
    cluster.agree_on(2);
}

#[story]
fn who_takes_its_time_follows_first() {
    let cluster = Cluster::prepare(3, |config| {
        watchful(config);
        config["preempt"] = json!({"after": "2s"});
    });
    cluster.node(1).start();
    cluster.node(2).start();
    let first = cluster.agree_on(2);
    assert_eq!(cluster.status(2).unwrap().preempt, "after 2s");

    cluster.node(3).start();
    assert!(cluster.agree_on(3) > first, "in the end it takes over");
    let changes = cluster.status(3).unwrap().changes;
    let follows = |leader: Option<&str>| leader == Some("node-2");
    let followed = changes.iter().find(|change| follows(change.leader.as_deref())).unwrap();
    let led = changes.iter().find(|change| change.to == "leading").unwrap();
    let waited = led.at_ms - followed.at_ms;
    // It is known to be eligible from its hello on, a moment before it follows.
    assert!(waited > 1800, "it waited for {waited} ms\n{changes:#?}");
}
