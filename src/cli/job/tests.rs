//! What the flags of a job mean, and how electd ends with it.

use std::path::Path;

use clap::Parser;

use super::*;
use crate::node::Attendance;

/// The plan of a job with these flags: of `run`, and of `exec`.
fn plans(words: &[&str]) -> [Plan; 2] {
    let job = flags(&[words, &["--", "worker", "1"]].concat());
    let text = include_str!("../../../conf/cluster.json").replace("\"none\"", "\"majority\"");
    let config = crate::config::parse(&text, Path::new("c.json")).unwrap();
    [true, false].map(|returns| job.plan(&config, "node-1", returns))
}

#[test]
fn run_hands_over_when_its_command_has_ended_and_exec_does_not_unless_a_flag_says_otherwise() {
    use Restart::{Always, Never, OnFailure};
    let kinds = |flags: &[&str]| plans(flags).map(|it| (it.restart, it.moves, it.returns));
    assert_eq!(kinds(&[]), [(Never, true, true), (Never, false, false)]);
    assert_eq!(kinds(&["--then", "exit"]), [(Never, false, true), (Never, false, false)]);
    assert_eq!(kinds(&["--then", "resign"]), [(Never, true, true), (Never, true, false)]);
    let failing = ["--restart", "on-failure"];
    assert_eq!(kinds(&failing), [(OnFailure, true, true), (OnFailure, false, true)]);
    assert_eq!(kinds(&["--restart", "always"])[1], (Always, false, true));
}

#[test]
fn a_plan_has_each_flag_in_its_place() {
    let address = "10.0.0.9/24%eth0";
    let given = ["--wait", "3s", "--stop-after", "4s", "--cleanup", "tidy", "--address", address];
    for (flags, wait, stop_after, cleanup, addresses) in [
        (&[][..], None, 10, None, 0),
        (&given, Some(Duration::from_secs(3)), 4, Some("tidy".into()), 1),
    ] {
        let [plan, _] = plans(flags);
        let stop_after = Duration::from_secs(stop_after);
        assert_eq!((plan.wait, plan.stop_after, plan.cleanup), (wait, stop_after, cleanup));
        assert_eq!(
            (plan.command, plan.addresses.len()),
            (vec!["worker".into(), "1".into()], addresses)
        );
        assert_eq!((plan.node.as_str(), plan.cluster.as_str()), ("node-1", "demo"));
        assert!(plan.is_leased);
        assert_eq!(plan.cgroup, CgroupUse::Auto);
    }
    assert_eq!(plans(&["--cgroup", "always"])[0].cgroup, CgroupUse::Always);
    let job = flags(&["--", "worker"]);
    let text = include_str!("../../../conf/cluster.json");
    let config = crate::config::parse(text, Path::new("c.json")).unwrap();
    let plan = job.plan(&config, "node-1", true);
    assert!(!plan.is_leased, "without a majority there is no lease");
    assert_eq!(format!("{:?}", plan.deadlines), format!("{:?}", Deadlines::of(&config)));
}

#[test]
fn a_flag_of_a_job_needs_a_job() {
    for words in [
        &["--wait", "1s"][..],
        &["--stop-after", "1s"],
        &["--restart", "always"],
        &["--then", "exit"],
        &["--cleanup", "tidy", "--address", "10.0.0.9/24%eth0"],
        &["--cgroup", "always", "--address", "10.0.0.9/24%eth0"],
    ] {
        let error = try_flags(words).err().map(|error| error.kind());
        assert_eq!(error, Some(clap::error::ErrorKind::MissingRequiredArgument), "{words:?}");
    }
    for words in [
        &["--wait", "1s", "--stop-after", "1s", "--then", "exit", "--address", "10.0.0.9/24%eth0"]
            [..],
        &["--cleanup", "tidy", "--", "worker"],
        &["--address", "10.0.0.9/24%eth0", "--address", "10.0.0.8/24%eth0", "--", "worker"],
    ] {
        assert!(try_flags(words).is_ok(), "{words:?}");
    }
    let no_time = try_flags(&["--wait", "soon", "--", "worker"]).err().unwrap();
    assert_eq!(no_time.kind(), clap::error::ErrorKind::ValueValidation);
}

#[test]
fn a_lock_that_cannot_be_looked_at_keeps_a_node_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.json");
    let text = include_str!("../../../conf/cluster.json");
    let config = crate::config::parse(text, &file).unwrap();
    assert_eq!(await_last(&config, "node-1"), Ok(()));
    std::fs::write(folder.path().join("data"), "").unwrap();
    let words = format!(
        "cannot use {}: Not a directory (os error 20); give a data_dir that is a folder, and in which this user may \
         write",
        folder.path().join("data/node-1/job.lock").display()
    );
    assert_eq!(await_last(&config, "node-1"), Err(CliError::new(Exit::DataDir, words)));
}

#[test]
fn a_node_ends_with_its_job_unless_it_is_to_lead_on_without_its_command() {
    let ends = |end| [None, Some(Then::Resign), Some(Then::Exit)].map(|then| ends_node(end, then));
    for code in [0, 7] {
        assert_eq!(ends(ExecEnd::Command(code)), [true, true, false]);
    }
    for end in [
        ExecEnd::Stopped(Some(0)),
        ExecEnd::Stopped(None),
        ExecEnd::NotGained,
        ExecEnd::Lost,
        ExecEnd::NoAddress,
        ExecEnd::NodeGone { has_run: true },
    ] {
        assert_eq!(ends(end), [true; 3], "{end:?}");
    }
}

/// Of a node that has stopped.
#[test]
fn a_job_that_does_not_begin_in_time_says_when_it_is_over() {
    let node = crate::node::example::leader().unwrap();
    let (config, handle) = (crate::config::load(&node.config()).unwrap(), node.handle());
    drop(node);
    let (sender, over) = bounded(1);
    let start = |words: &[&str]| {
        let sender = sender.clone();
        let node = (handle.clone(), Attendance::Unasked);
        flags(words).start(&config, "a", node, move || sender.send(()).unwrap()).unwrap()
    };
    assert!(start(&[]).is_none() && over.is_empty(), "there is nothing to run");
    let job = start(&["--wait", "0s", "--", "true"]).expect("it has a command");
    assert_eq!(over.recv_timeout(Duration::from_secs(60)), Ok(()));
    assert_eq!(job.finish().map_err(|error| error.exit), Err(Exit::NotNow));
}

fn flags(flags: &[&str]) -> JobArgs {
    try_flags(flags).unwrap()
}

fn try_flags(flags: &[&str]) -> Result<JobArgs, clap::Error> {
    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        job: JobArgs,
    }
    Flags::try_parse_from([&["x"], flags].concat()).map(|flags| flags.job)
}

#[test]
fn the_flags_say_how_long_to_wait_and_whether_to_start_again() {
    let told = |words: &[&str]| {
        let job = flags(&[words, &["--", "worker"]].concat());
        (job.wait(), job.asks_once(), job.is_restarted(), job.then())
    };
    assert_eq!(told(&[]), (None, false, false, None));
    assert_eq!(told(&["--wait", "0s"]), (Some(Duration::ZERO), true, false, None));
    assert_eq!(told(&["--wait", "3s"]), (Some(Duration::from_secs(3)), false, false, None));
    assert_eq!(told(&["--restart", "always"]), (None, false, true, None));
    assert_eq!(told(&["--restart", "on-failure"]), (None, false, true, None));
    assert_eq!(told(&["--then", "exit"]), (None, false, false, Some(Then::Exit)));
    assert!(flags(&[]).is_empty() && !flags(&["--", "worker"]).is_empty());
    assert!(!flags(&["--address", "10.0.0.9/24%eth0"]).is_empty());
}

#[test]
fn addresses_that_cannot_be_held_are_refused_before_the_node_leads() {
    let (own, same) = ("10.0.0.9/24%none0", "10.0.0.9/16%eth0");
    let twice = flags(&["--address", own, "--address", own]).check().unwrap_err();
    assert_eq!(twice.exit, Exit::Usage);
    assert_eq!(twice.message, "--address 10.0.0.9 is given twice: give it once");
    let refused = flags(&["--address", own]).check().unwrap_err();
    assert_eq!(
        refused.exit,
        Exit::Listen,
        "there is no such interface, or it may not: {}",
        refused.message
    );
    let (job, node) = (flags(&["--address", own]), flags(&["--address", same]));
    assert!(job.differs_from(&[]).is_ok());
    let held = job.differs_from(node.addresses()).unwrap_err();
    assert_eq!(held.exit, Exit::Listen);
    let begin = "the node that runs on this host has 10.0.0.9 itself";
    assert!(held.message.contains(begin), "{}", held.message);
    // The program of the tests is none that becomes a command.
    let mut job = flags(&["--cgroup", "never", "--", "/no/such/worker"]);
    assert!(job.check().is_ok(), "it may come later");
}

#[test]
fn how_a_job_ended_is_how_electd_ends() {
    let finished = |work: fn() -> ExecEnd| {
        let ((stopping, _), (tell, ended)) = (bounded(0), bounded(1));
        thread::spawn(move || tell.send(work()));
        let job = JobThread { stopping, ended };
        job.finish().map_err(|error| (error.exit, error.message))
    };
    let others = [
        || ExecEnd::Stopped(Some(3)),
        || ExecEnd::Stopped(None),
        || ExecEnd::Lost,
        || ExecEnd::NoAddress,
        || ExecEnd::NodeGone { has_run: true },
        || ExecEnd::Command(0),
    ];
    for end in others {
        assert_eq!(finished(end), Ok(()));
    }
    assert_eq!(finished(|| ExecEnd::Command(3)), Err((Exit::Command(3), String::new())));
    let late = "this node did not come to lead within --wait".to_owned();
    assert_eq!(finished(|| ExecEnd::NotGained), Err((Exit::NotNow, late)));
    let panicked = "the thread of the job panicked".to_owned();
    assert_eq!(finished(|| panic!("of a test")), Err((Exit::Internal, panicked)));
    let ((stopping, _), (_tell, ended)) = (bounded(0), bounded(1));
    let hangs = JobThread { stopping, ended }.finish().unwrap_err();
    assert!(
        hangs.exit == Exit::Internal && hangs.message.starts_with("the job has not ended in time"),
        "{hangs:?}"
    );
}
