//! Health checks: a member whose check fails does not lead, and a misbehaving check delays no other
//! work.

use std::fs;
use std::process::Command;

use electd::node::status::HealthStatus;
use serde_json::{Value, json};
use story::story;
use tempfile::TempDir;

use crate::support::undead::Undead;
use crate::support::{Cluster, Finished, ensure, eventually, patient, watchful};

/// A check that fails while the member is ill, which the test decides.
struct Ward(TempDir);

impl Ward {
    fn new() -> Ward {
        Ward(tempfile::tempdir().unwrap())
    }

    fn check(&self, alone: &str) -> Value {
        let script = format!(
            "test ! -e {}/$ELECTD_NODE || {{ echo ill >&2; exit 1; }}; \
             echo $ELECTD_CLUSTER $ELECTD_NODE $ELECTD_STATE $ELECTD_LEADER $ELECTD_EPOCH",
            self.0.path().display()
        );
        json!({
            "command": ["sh", "-c", script],
            "every": "1s", "timeout": "900ms", "fall": 2, "rise": 2, "alone": alone
        })
    }

    fn fall_ill(&self, number: usize) {
        fs::write(self.0.path().join(format!("node-{number}")), "").unwrap();
    }

    fn recover(&self, number: usize) {
        fs::remove_file(self.0.path().join(format!("node-{number}"))).unwrap();
    }
}

fn health(cluster: &Cluster, number: usize) -> Result<HealthStatus, String> {
    cluster.status(number)?.health.ok_or_else(|| "it has no check".to_owned())
}

#[track_caller]
fn until_healthy(cluster: &Cluster, number: usize, healthy: bool) {
    eventually(&format!("node-{number} is healthy: {healthy}"), || {
        let health = health(cluster, number)?;
        ensure(health.healthy == healthy, || format!("{health:?}"))
    });
}

/// Waits until this member knows who is eligible.
#[track_caller]
fn until_eligible(cluster: &Cluster, observer: usize, eligible: [bool; 3]) {
    eventually(&format!("node-{observer} knows who is eligible"), || {
        let members = cluster.status(observer)?.members;
        let found: Vec<bool> = members.iter().map(|member| member.eligible).collect();
        ensure(found == eligible, || format!("{found:?}"))
    });
}

#[track_caller]
fn metric(cluster: &Cluster, number: usize, line: &str) {
    let page = cluster.node(number).metrics().unwrap();
    assert!(page.lines().any(|found| found == line), "{line} is missing from\n{page}");
}

#[story]
fn an_unhealthy_leader_hands_over_and_does_not_lead_until_it_is_healthy_again() {
    let ward = Ward::new();
    let cluster = Cluster::start_with(3, |config| config["health"] = ward.check("lead"));
    let first = cluster.agree_on(3);
    let name = cluster.status(3).unwrap().cluster;
    eventually("the check is told where its member stands", || {
        let output = health(&cluster, 3)?.output;
        ensure(output == format!("{name} node-3 leading node-3 {first}"), || output)
    });
    metric(&cluster, 3, "electd_healthy 1");

    ward.fall_ill(3);
    let second = cluster.agree_on(2);
    assert!(second > first);
    until_eligible(&cluster, 1, [true, true, false]);
    let ill = health(&cluster, 3).unwrap();
    assert!(!ill.healthy && ill.output == "ill", "{ill:?}");
    metric(&cluster, 3, "electd_healthy 0");
    eventually("the problem is told with the last line", || {
        let problems = cluster.status(3)?.problems;
        let told = |text: &str| text.contains("not eligible") && text.ends_with("with code 1: ill");
        let is_told = problems.iter().any(|it| it.kind == "health" && told(&it.text));
        ensure(is_told, || format!("{problems:?}"))
    });

    cluster.node(2).kill_9();
    let third = cluster.agree_on(1);
    ward.recover(3);
    assert!(cluster.agree_on(3) > third, "it is the highest again");
    eventually("the problem is over", || {
        let problems = cluster.status(3)?.problems;
        ensure(problems.iter().all(|it| it.kind != "health"), || format!("{problems:?}"))
    });
    cluster.node(3).until_logged(&["unhealthy: `sh -c test ! -e "]);
    cluster.node(3).until_logged(&[": healthy: the health check passes"]);
}

/// As where it waits for a file system that does not answer.
#[story]
fn a_check_that_kill_does_not_end_has_failed_until_it_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let [hang, pid] = ["hang", "pid"].map(|name| folder.path().join(name));
    let script = "test $ELECTD_NODE = node-1 || test ! -e $0 || { echo $$ >$1; exec sleep 10000; }";
    let cluster = Cluster::start_with(2, |config| {
        config["health"] = json!({
            "command": ["sh", "-c", script, hang, pid], "every": "3s", "timeout": "2900ms", "fall": 1, "rise": 1
        });
    });
    cluster.agree_on(2);
    fs::write(&hang, "").unwrap();
    let undead = Undead::of(&pid);
    cluster.node(2).until_logged(&["took longer than 2.9s and hangs in the system"]);
    cluster.agree_on(1);
    eventually("no other one is begun meanwhile", || {
        let failure = health(&cluster, 2)?.failure.unwrap_or_default();
        ensure(failure.ends_with("still hangs in the system, since an earlier time"), || failure)
    });
    fs::remove_file(&hang).unwrap();
    fs::remove_file(&pid).unwrap();
    drop(undead);
    until_healthy(&cluster, 2, true);
    cluster.agree_on(2);
}

/// All three are ill, node-3 at last, which leads.
fn all_ill(ward: &Ward, alone: &str) -> (Cluster, u64) {
    let cluster = Cluster::start_with(3, |config| {
        config["health"] = ward.check(alone);
        patient(config); // no member could lead after it
    });
    let epoch = cluster.agree_on(3);
    ward.fall_ill(1);
    ward.fall_ill(2);
    until_eligible(&cluster, 3, [false, false, true]);
    assert_eq!(cluster.agree_on(3), epoch);
    ward.fall_ill(3);
    until_healthy(&cluster, 3, false);
    (cluster, epoch)
}

#[story]
fn where_all_are_unhealthy_the_leader_leads_on_and_hands_over_to_the_first_that_is_healthy() {
    let ward = Ward::new();
    let (cluster, epoch) = all_ill(&ward, "lead");
    assert_eq!(cluster.agree_on(3), epoch, "it leads on");
    ward.recover(1);
    assert!(cluster.agree_on(1) > epoch);
    let changes = cluster.status(3).unwrap().changes;
    let led_on = changes.iter().all(|change| change.from != "leading" || change.epoch >= epoch);
    assert!(led_on, "{changes:?}");
    assert!(changes.iter().any(|change| change.cause == "unhealthy"), "{changes:?}");
}

#[story]
#[ignore = "long"]
fn where_it_is_to_step_down_nobody_leads_until_one_is_healthy() {
    let ward = Ward::new();
    let (cluster, epoch) = all_ill(&ward, "step-down");
    eventually("nobody leads", || {
        let leader = |number| Ok::<_, String>(cluster.status(number)?.leader);
        let leaders = [leader(1)?, leader(2)?, leader(3)?];
        ensure(leaders.iter().all(Option::is_none), || format!("{leaders:?}"))
    });
    ward.recover(2);
    assert!(cluster.agree_on(2) > epoch);
}

#[story]
fn a_check_that_hangs_holds_up_neither_the_start_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ >{}; exec sleep 10000", file.display());
    let cluster = Cluster::start_with(1, |config| {
        watchful(config);
        config["health"] =
            json!({"command": ["sh", "-c", script], "timeout": "30m", "every": "1h"});
    });
    let process = eventually("the check runs", || {
        let pid = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let process = format!("/proc/{}", pid.trim());
        ensure(pid.ends_with('\n') && fs::exists(&process).unwrap(), || pid).map(|()| process)
    });
    eventually("it waits for its check", || {
        let status = cluster.status(1)?;
        let told =
            status.problems.iter().any(|it| it.text.starts_with("no health check has ended"));
        let eligible = status.members[0].eligible;
        ensure(told && !eligible && status.state == "waiting", || format!("{status:?}"))
    });
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    assert!(!fs::exists(&process).unwrap(), "{process} is left behind");
}

#[story]
fn a_reload_takes_another_check_and_names_what_needs_a_restart() {
    let cluster = Cluster::start_with(1, |config| {
        watchful(config);
        config["health"] = json!({"command": ["/no/such/check"], "every": "1s"});
    });
    eventually("the check cannot be run", || {
        let failure = health(&cluster, 1)?.failure.unwrap_or_default();
        let words = "`/no/such/check` cannot be run: No such file or directory";
        ensure(failure.starts_with(words), || failure)
    });
    let reload = |health: Value| {
        let mut config = cluster.config().clone();
        config["health"] = health;
        fs::write(cluster.file(), config.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["reload", "--node", "node-1", "--config"]).arg(cluster.file());
        let output = command.env_remove("ELECTD_ADMIN").finished();
        String::from_utf8(output.stdout).unwrap()
    };
    let check = |alone: &str| json!({"command": ["true"], "every": "1s", "alone": alone});
    assert_eq!(reload(check("lead")), "changed immediately: health\n");
    let epoch = cluster.agree_on(1);
    let told = "nothing to change immediately; needs a restart of this node: health.alone\n";
    assert_eq!(reload(check("step-down")), told);
    let none = json!({"command": ["false"], "every": "1s"});
    assert_eq!(reload(none), "changed immediately: health\n");
    until_healthy(&cluster, 1, false);
    assert_eq!(cluster.agree_on(1), epoch, "alone it leads on");
}

/// The last verdict of a check that is not run any more says nothing.
#[story]
fn a_member_whose_check_is_taken_away_is_fit_to_lead() {
    let cluster = Cluster::start_with(2, |config| {
        config["members"][1]["health"] = json!({"command": ["false"], "every": "1s"});
    });
    let epoch = cluster.agree_on(1);
    let mut config = cluster.config().clone();
    config["members"][1].as_object_mut().unwrap().remove("health");
    fs::write(cluster.file(), config.to_string()).unwrap();
    let answer = cluster.node(2).post("/reload", "").unwrap();
    assert_eq!(answer.json()["result"], "changed immediately: health");
    assert!(cluster.agree_on(2) > epoch);
    eventually("nothing is told of a check", || {
        let status = cluster.status(2)?;
        let none = status.health.is_none() && status.problems.is_empty();
        ensure(none, || format!("{:?}, {:?}", status.health, status.problems))
    });
}
