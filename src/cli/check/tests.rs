//! What `electd check` says of a node and of its host.

use std::path::Path;

use super::summary::tests::without_job;
use super::summary::{health_words, rank_words, summary, warnings};
use super::*;
use crate::cli::crowded;
use crate::core::durable::Durable;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::restart::KeptState;
use crate::core::types::Epoch;
use crate::store::{Store, StoreRecord};

/// Members that share one host, with a health check and a hook.
pub(super) fn config(members: usize) -> Config {
    let member = |at: usize| {
        let id = format!("00000000-0000-4000-8000-{at:0>12}");
        json!({ "name": format!("n{at}"), "id": id, "address": format!("10.0.0.1:{}", 7000 + at) })
    };
    let text = json!({
        "cluster": "demo", "quorum": "majority", "data_dir": "/no/such", "trust_refused": true, "realtime": true,
        "timing": {"heartbeat": "100ms", "failure": "500ms", "message": "50ms", "lease": "400ms"},
        "health": {"command": ["/no/check"]}, "hooks": {"on_change": ["/no/hook"]},
        "members": (1..=members).map(member).collect::<Vec<_>>(),
    });
    crate::config::parse(&text.to_string(), Path::new("/c.json")).unwrap()
}

pub(super) fn found(config: &Config, disk: Result<Duration, String>) -> HostFindings<'_> {
    let node = &config.members[0];
    HostFindings {
        node,
        asker: AskingUser::of(config, node),
        sample: Err("no file".to_owned()),
        health: Some(Finding { output: String::new(), failure: None }),
        unresolved: Vec::new(),
        hidden: Some("it means loopback".to_owned()),
        urgent: Urgent::of(config),
        disk,
        clocks: None,
    }
}

/// Without the line of a host that is slow.
pub(super) fn without_jobs(shown: &str) -> String {
    let lines = shown.lines().filter(|line| !line.starts_with("its jobs "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// With the timings of its file.
fn guarantee(config: &Config) -> Guarantee {
    Guarantee::of_config(config, &config.timing)
}

#[test]
fn each_finding_about_a_node_has_a_line() {
    let config = config(51);
    let shown = summary(&config, Some(&found(&config, Ok(Duration::from_millis(1)))));
    let warning = config.warnings[0].clone();
    let crowd = crowded::words((0..51).map(|_| "10.0.0.1:1")).unwrap();
    let urgent = Urgent::of(&config).words().unwrap();
    let first = format!(
        "\
cluster    demo
quorum     majority
algorithm  bully
preempt    always: a higher member takes over from a live leader at once
rank       by id
data_dir   /no/such
file       WARNING: {warning}
health     51 of 51 members have a health check
hosts      {crowd}
"
    );
    let last = format!(
        "\
node       n1, its state in /no/such/n1
asked as   {}
its rank   WARNING: none: no file; without one it is not eligible
its check  `/no/check` every 2s, each for at most 1s; unhealthy after 3 failures in a row, healthy after 2 passes; \
alone: lead
its health passes
its hook   WARNING: /no/hook is not on this host, or this user may not run it
real time  {urgent}
its disk   a durable write takes 1 ms here
its address WARNING: it means loopback
",
        AskingUser::of(&config, &config.members[0]).name(),
    );
    assert_eq!(without_jobs(&shown), format!("{first}{last}"));
    assert_eq!(summary(&config, None), first);
}

/// Any search takes longer than no time.
#[test]
fn a_host_where_no_job_could_be_ended_in_time_is_warned_of() {
    let mut config = config(3);
    config.timing.lease = Duration::ZERO;
    let shown = summary(&config, Some(&found(&config, Ok(Duration::ZERO))));
    let jobs = shown.lines().skip_while(|line| !line.starts_with("its disk ")).nth(1).unwrap();
    let words = "its jobs   WARNING: to find the processes of a job takes ";
    assert!(jobs.starts_with(words) && jobs.contains("KILL comes 0ns before"), "{shown}");
}

#[test]
fn a_disk_is_slow_from_the_longest_write_on_and_only_where_a_majority_is_needed() {
    let mut config = config(3);
    let limit = bounds::longest_write(&config.timing);
    let judged = |config: &Config, disk| {
        let found = found(config, disk);
        (found.disk_is_slow(config), found.disk_words(config))
    };
    let below = limit - Duration::from_nanos(1);
    let takes = format!("a durable write takes {} here", length(limit));
    assert_eq!(judged(&config, Ok(below)).0, Some(false));
    assert!(judged(&config, Ok(below)).1.starts_with("a durable write takes "));
    let words = format!(
        "WARNING: {takes}; lease 400ms * 9/11 is to be above heartbeat 100ms + 2 * message 50ms + such a write, or \
         elections take several tries: give a longer timing.failure, or another data_dir"
    );
    assert_eq!(judged(&config, Ok(limit)), (Some(true), words));
    let unknown = "how long a durable write takes cannot be told: no folder".to_owned();
    assert_eq!(judged(&config, Err("no folder".to_owned())), (None, unknown));
    config.quorum = Quorum::None;
    assert_eq!(judged(&config, Ok(limit)), (None, takes));
}

#[test]
fn what_a_check_found_is_put_in_words() {
    let health = |failure: Option<&str>, output: &str| {
        health_words(&Finding { output: output.to_owned(), failure: failure.map(str::to_owned) })
    };
    assert_eq!(health(None, ""), "passes");
    assert_eq!(health(None, "well"), "passes: well");
    assert_eq!(
        health(Some("exit 1"), "ill"),
        "WARNING: fails: exit 1; unhealthy, a node does not lead"
    );
    let sample = Sample { value: 7, from: "the file x".to_owned() };
    assert_eq!(rank_words(&Ok(sample)), "7 (the file x)");
    let none = "tls        none: use it in a network that you trust, see docs/security.md\n";
    assert_eq!(tls(&config(3), &[]), none);
}

/// A file with another value in each place.
fn whole() -> Config {
    let health = json!({
        "command": ["/no/check", "-v"], "every": "2s", "timeout": "700ms", "fall": 4, "rise": 5, "alone": "step-down"
    });
    let id = |at: usize| format!("00000000-0000-4000-8000-{at:0>12}");
    let text = json!({
        "cluster": "demo", "quorum": "none", "algorithm": "ring", "data_dir": "/no/such", "realtime": false,
        "preempt": {"after": "40s"}, "trust_refused": true,
        "rank": {"by": "files", "path": "/no/such", "every": "3s", "margin": 2},
        "timing": {"heartbeat": "110ms", "failure": "600ms", "message": "30ms", "lease": "300ms"},
        "members": [
            {"name": "a", "id": id(1), "address": "192.0.2.1:7001", "listen": "0.0.0.0:7009",
             "admin": "192.0.2.1:7101", "admin_listen": "0.0.0.0:7109", "health": health},
            {"name": "b", "id": id(2), "address": "192.0.2.2:7002"},
            {"name": "c", "id": id(3), "address": "192.0.2.3:7003", "role": "observer"},
        ],
    });
    crate::config::parse(&text.to_string(), Path::new("/c.json")).unwrap()
}

const WHOLE: &str = "\
MEMBER  ID                                    ADDRESS         LISTEN          ADMIN           ADMIN LISTEN  ROLE      RANK
a       00000000-0000-4000-8000-000000000001  192.0.2.1:7001  0.0.0.0:7009    192.0.2.1:7101  0.0.0.0:7109  member    files /no/such
b       00000000-0000-4000-8000-000000000002  192.0.2.2:7002  192.0.2.2:7002  -               -             member    files /no/such
c       00000000-0000-4000-8000-000000000003  192.0.2.3:7003  192.0.2.3:7003  -               -             observer  files /no/such

TIMING     VALUE   MEANING
heartbeat  110ms   between two heartbeats of the leader
failure    600ms   silence that makes a suspect
message    30ms    longest time of one message, its processing included
T1         60ms    wait for an ANSWER: 2 * message
T2         240ms   wait for a COORDINATOR: 2 * T1 + 4 * message
stall      540ms   a leader this late counts itself as failed: failure - 2 * message
lease      300ms   with a majority: for how long a voter promises its vote
job term   135ms   run -- CMD: TERM comes so long before the leadership ends unrenewed
job kill   67.5ms  run -- CMD: KILL comes so long before it ends

GUARANTEE
";

#[test]
fn people_get_the_summary_the_members_the_timings_and_the_guarantee() {
    let config = whole();
    let mut found = found(&config, Ok(Duration::from_micros(1500)));
    found.sample = Ok(Sample { value: 7, from: "the file x".to_owned() });
    found.unresolved = unresolved_of(&config.members[1]);
    let head = "\
cluster    demo
quorum     none
algorithm  ring
preempt    after 40s: so long a higher member is eligible without a break before it takes over
rank       by files, then by id; sampled again and again; preempts when it exceeds the leader's by more than 2
data_dir   /no/such
health     1 of 3 members have a health check
";
    let tls = "tls        none: use it in a network that you trust, see docs/security.md\n";
    let guaranteed = guarantee(&config).sentences;
    let guaranteed: String = guaranteed.iter().map(|it| format!("  {it}\n")).collect();
    let rest = format!("{tls}\n{WHOLE}{guaranteed}");
    assert_eq!(text(&config, None, &[]), format!("{head}{rest}"));
    assert!(
        guaranteed.contains("within 240ms, as its port refuses (trust_refused)"),
        "{guaranteed}"
    );
    let of_node = format!(
        "\
node       a, its state in /no/such/a
asked as   {}
its rank   7 (the file x)
its check  `/no/check -v` every 2s, each for at most 700ms; unhealthy after 4 failures in a row, healthy after 5 \
passes; alone: step-down
its health passes
its disk   a durable write takes 1.5 ms here
its address WARNING: it means loopback
its peers  {}
",
        found.asker.name(),
        found.unresolved[0].words(),
    );
    let shown = without_jobs(&text(&config, Some(&found), &[]));
    assert_eq!(shown, format!("{head}{of_node}{rest}"));
}

/// That this member has a name that does not resolve.
fn unresolved_of(member: &MemberConfig) -> Vec<Unresolved<'_>> {
    let why = std::io::Error::other("no such name");
    vec![Unresolved { member, why }]
}

/// What programs get of that file.
fn expected() -> Value {
    let id = |at: usize| format!("00000000-0000-4000-8000-{at:0>12}");
    let health = json!({
        "command": ["/no/check", "-v"], "every_ms": 2000, "timeout_ms": 700, "fall": 4, "rise": 5, "alone": "step-down"
    });
    let member = |at: usize, name: &str, role: &str| {
        let address = format!("192.0.2.{at}:700{at}");
        json!({
            "name": name, "id": id(at), "address": address, "listen": address, "admin": null, "admin_listen": null,
            "role": role, "rank": "files /no/such", "health": null, "rank_every_ms": 3000
        })
    };
    let mut first = member(1, "a", "member");
    first["listen"] = "0.0.0.0:7009".into();
    first["admin"] = "192.0.2.1:7101".into();
    first["admin_listen"] = "0.0.0.0:7109".into();
    first["health"] = health;
    json!({
        "cluster": "demo", "quorum": "none", "algorithm": "ring", "preempt": "after 40s", "rank": "files",
        "margin": "2", "trust_refused": true, "warnings": [], "data_dir": "/no/such", "node": null, "asked_as": null,
        "state_of": null, "differs_from_file": null, "durable_write_ms": null, "disk_is_slow": null,
        "realtime": false, "realtime_refused": null, "node_rank": null, "node_health": null, "unresolved": null,
        "hidden": null, "tls": false, "certificates": [],
        "members": [first, member(2, "b", "member"), member(3, "c", "observer")],
        "timing": {
            "heartbeat_ms": 110, "failure_ms": 600, "message_ms": 30, "t1_ms": 60, "t2_ms": 240, "stall_ms": 540,
            "lease_ms": 300, "job_term_ms": 135, "job_kill_ms": 67.5
        },
        "guarantee": guarantee(&whole()).sentences.join(" "),
        "worst_failover_ms": 780, "crash_failover_ms": 240, "proven_failover_ms": 240, "unsteady_adds_ms": null,
        "dual_leader_window_ms": 830,
    })
}

#[test]
fn programs_get_each_value_in_its_place() {
    let mut config = whole();
    let mut told = expected();
    assert_eq!(object(&config, None, &[]), told);
    let mut found = found(&config, Ok(Duration::from_micros(1500)));
    found.unresolved = unresolved_of(&config.members[1]);
    found.health = Some(Finding { output: "ill".to_owned(), failure: Some("exit 1".to_owned()) });
    told["node"] = "a".into();
    told["asked_as"] = found.asker.name().into();
    told["durable_write_ms"] = 1.5.into();
    told["node_rank"] = json!({ "value": null, "from": "none: no file" });
    told["node_health"] = json!({ "passes": false, "output": "ill", "failure": "exit 1" });
    told["unresolved"] = json!([found.unresolved[0].object()]);
    told["hidden"] = "it means loopback".into();
    let of_host = |found: &HostFindings<'_>| {
        let mut object = object(&config, Some(found), &[]);
        without_job(object["warnings"].as_array_mut().unwrap());
        object
    };
    let address = "its address: it means loopback";
    let peers = format!("its peers: {}", &found.unresolved[0].words()["WARNING: ".len()..]);
    let ill = "its health: fails: exit 1; unhealthy, a node does not lead";
    let rank = "its rank: none: no file; without one it is not eligible";
    told["warnings"] = json!([rank, ill, address, peers]);
    assert_eq!(of_host(&found), told);
    found.sample = Ok(Sample { value: 7, from: "the file x".to_owned() });
    told["node_rank"] = json!({ "value": 7, "from": "the file x" });
    found.health = None;
    told["node_health"] = Value::Null;
    told["warnings"] = json!([address, peers]);
    assert_eq!(of_host(&found), told);
    config.rank = super::tests::config(1).rank;
    let fixed = object(&config, None, &[]);
    assert_eq!(fixed["members"][0]["rank_every_ms"], Value::Null, "an id does not change");
    let majority = super::tests::config(3);
    let found = super::tests::found(&majority, Ok(Duration::from_secs(1)));
    let told = object(&majority, Some(&found), &[]);
    assert_eq!((&told["disk_is_slow"], &told["realtime"]), (&json!(true), &json!(true)));
    assert_eq!(told["realtime_refused"], Urgent::of(&majority).refused());
    assert_eq!(told["warnings"], json!(warnings(&majority, Some(&found), &[])));
    let of = guarantee(&majority);
    let times = [of.worst_failover, of.crash_failover, of.proven_failover, of.unsteady];
    let times = times.map(|time| time.map(millis).unwrap());
    assert!((1..4).all(|at| !times[..at].contains(&times[at])), "each is another: {times:?}");
    let keys = ["worst_failover_ms", "crash_failover_ms", "proven_failover_ms", "unsteady_adds_ms"];
    assert_eq!(keys.map(|key| told[key].clone()), times);
}

#[test]
fn certificates_are_told_with_the_first_that_ends_and_with_their_warnings() {
    let mut config = whole();
    let of = |path: &str| path.into();
    let files = crate::tls::Files { ca: of("/ca"), cert: of("/cert"), key: of("/key") };
    config.members[1].tls = Some(files);
    let judged = |member: &str, end: &str, exposed: Option<&str>| Judged {
        member: member.to_owned(),
        end: Ok(end.parse().unwrap()),
        exposed: exposed.map(str::to_owned),
    };
    let all = [
        judged("b", "2999-01-02T00:00:00Z", Some("others may read the key")),
        judged("a", "2998-01-02T00:00:00Z", None),
        judged("c", "2998-01-03T00:00:00Z", None),
    ];
    let words = "\
tls        certificates of 3 members are here; that of a ends first, on 2998-01-02T00:00:00Z
           WARNING: b: others may read the key
";
    assert_eq!(tls(&config, &all), words);
    assert_eq!(tls(&config, &[]), "tls        with certificates that are on other hosts\n");
    let told = object(&config, None, &all);
    let certificates = json!([
        { "member": "b", "ends": "2999-01-02T00:00:00Z", "warnings": ["others may read the key"] },
        { "member": "a", "ends": "2998-01-02T00:00:00Z", "warnings": [] },
        { "member": "c", "ends": "2998-01-03T00:00:00Z", "warnings": [] },
    ]);
    assert_eq!((&told["tls"], &told["certificates"]), (&json!(true), &certificates));
}

/// A node that stored another list of members says how the file differs from it.
#[test]
fn a_list_that_counts_and_differs_from_the_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = whole();
    config.data_dir = folder.path().to_owned();
    let node = config.members[0].clone();
    let list = config.members[..2].iter().map(|member| Member {
        id: member.id,
        name: member.name.clone(),
        address: member.address.clone(),
        admin: member.admin.clone(),
        role: member.role,
    });
    let version = ListVersion { epoch: Epoch(3), counter: 1 };
    let members = std::sync::Arc::new(MemberList::new(version, list.collect()));
    let durable = Durable { members, ..Durable::default() };
    let record = StoreRecord { id: node.id, kept: KeptState { durable, ..KeptState::default() } };
    let (store, _) = Store::open(&config.state_dir("a"), node.id).unwrap();
    store.save(&record).unwrap();
    let found = found(&config, Ok(Duration::ZERO));
    let differs = stored_against_file(&config, &node).unwrap();
    assert!(differs.contains("without c"), "{differs}");
    let shown = summary(&config, Some(&found));
    let state = folder.path().join("a");
    let lines = format!(
        "node       a, its state in {}\nits list   {differs}\nasked as   ",
        state.display()
    );
    assert!(shown.contains(&lines), "{shown}");
    assert_eq!(object(&config, Some(&found), &[])["differs_from_file"], differs);
}
