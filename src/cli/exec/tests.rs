//! How `electd exec` ends, and what it waits for.

use crossbeam::channel::bounded;
use signal_hook::consts::{SIGHUP, SIGTERM};

use super::*;
use crate::node::logged::logged;

#[test]
fn each_end_has_its_code_and_its_words() {
    let told = |end, asked_once, signal| {
        outcome(end, ("a", None), asked_once, signal).map_err(|error| (error.exit, error.message))
    };
    let silent = |exit| Err((exit, String::new()));
    let said = |exit, words: &str| Err((exit, words.to_owned()));
    let late = "a does not lead, and did not come to within --wait";
    let lost = "a does not lead any more, and the command was ended";
    let address = "an address could not be held on this host, and a was to hand over";
    let failed = "this host cannot run the command, and a was to hand over";
    for (end, asked_once, signal, expected) in [
        (ExecEnd::Command(0), false, 0, Ok(())),
        (ExecEnd::Command(7), false, 0, silent(Exit::Command(7))),
        (ExecEnd::Stopped(Some(0)), false, SIGTERM, Ok(())),
        (ExecEnd::Stopped(Some(7)), false, SIGTERM, silent(Exit::Command(7))),
        (ExecEnd::Stopped(None), false, SIGTERM, silent(Exit::Command(143))),
        (ExecEnd::Stopped(None), false, SIGHUP, silent(Exit::Command(129))),
        (ExecEnd::NotGained, true, 0, silent(Exit::NotNow)),
        (ExecEnd::NotGained, false, 0, said(Exit::NotNow, late)),
        (ExecEnd::Lost, true, 0, said(Exit::Lost, lost)),
        (ExecEnd::NoAddress, true, 0, said(Exit::Listen, address)),
        (ExecEnd::Failed, true, 0, said(Exit::Internal, failed)),
        (ExecEnd::NodeGone { has_run: true }, true, 0, said(Exit::Unavailable, "a has ended")),
    ] {
        assert_eq!(told(end, asked_once, signal), expected, "{end:?}");
    }
    let lock = LockName::new("backup").unwrap();
    for (end, exit, words) in [
        (ExecEnd::NotGained, Exit::NotNow, ", and did not come to within --wait"),
        (ExecEnd::Lost, Exit::Lost, " any more, and the command was ended"),
    ] {
        let words = format!("a does not hold the lock backup{words}");
        let told = outcome(end, ("a", Some(&lock)), false, 0);
        assert_eq!(told, Err(CliError::new(exit, words)), "{end:?}");
    }
}

#[test]
fn each_reason_not_to_come_to_a_node_has_its_code_and_its_words() {
    let refused = |refused: fn(String) -> Refused| CliError::from(refused("so".to_owned()));
    let mismatch = refused(Refused::Mismatch);
    assert_eq!(mismatch, CliError::new(Exit::Config, "so"));
    assert_eq!(refused(Refused::Forbidden), CliError::new(Exit::No, "so"));
    assert_eq!(refused(Refused::NoAnswer), CliError::new(Exit::Unavailable, "so"));
    let clock = Unattached::Clock { own: "1".to_owned(), node: "2".to_owned() };
    let ended = Unattached::Io(std::io::Error::other("it has ended"));
    let not_wanted = |cause| Unattached::NotWanted { cause, why: "so".to_owned() };
    for (error, exit) in [(clock, Exit::Config), (ended, Exit::Unavailable)] {
        let told = unattached("a", Path::new("/data/a/control.sock"), &error);
        let words = format!("a does not run commands of others at /data/a/control.sock: {error}");
        assert_eq!(told, CliError::new(exit, words));
    }
    for (error, exit) in [
        (not_wanted(NoLockCause::Name), Exit::Usage),
        (not_wanted(NoLockCause::QuorumNone), Exit::Config),
        (not_wanted(NoLockCause::NotAllowed), Exit::Config),
        (not_wanted(NoLockCause::Other), Exit::Unavailable),
        (Unattached::NoLocks, Exit::NotNow),
    ] {
        let told = unattached("a", Path::new("/data/a/control.sock"), &error);
        assert_eq!(told, CliError::new(exit, format!("a does not want the lock: {error}")));
    }
}

fn exec(flags: &[&str]) -> ExecArgs {
    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        exec: ExecArgs,
    }
    <Flags as clap::Parser>::parse_from([&["x"], flags].concat()).exec
}

/// What each run beside a node comes to, how often it is tried, and whether each time has a limit.
#[test]
fn a_command_is_tried_beside_the_next_node_until_it_has_run_or_for_ever() {
    let none = || Err(CliError::new(Exit::Unavailable, "no node runs"));
    let gone = |has_run| Ok(ExecEnd::NodeGone { has_run });
    let other = || Err(CliError::new(Exit::No, "another's"));
    let old = || Err(CliError::new(Exit::NotNow, "it knows no locks"));
    let done = || Ok(ExecEnd::Command(0));
    let [wait, now, restart] = [&["--wait", "1h"][..], &["--wait", "0s"], &["--restart", "always"]];
    let both = [wait, restart].concat();
    let now_both = [now, restart].concat();
    for (flags, outcomes, limits) in [
        (&[][..], vec![none()], "-"),
        (&[], vec![gone(false)], "-"),
        (&[], vec![done()], "-"),
        (now, vec![none()], "0"),
        (now, vec![gone(false)], "0"),
        (wait, vec![none(), gone(false), other()], "+++"),
        (wait, vec![none(), done()], "++"),
        (wait, vec![old(), done()], "++"),
        (now, vec![old()], "0"),
        (wait, vec![none(), gone(true)], "++"),
        (restart, vec![none(), gone(false), gone(true), none(), done()], "-----"),
        (&both, vec![none(), gone(true), none(), done()], "++--"),
        (&now_both, vec![none()], "0"),
        (&now_both, vec![gone(true), none(), done()], "0--"),
    ] {
        let (wakes, stopping) = bounded(outcomes.len());
        outcomes.iter().for_each(|_| wakes.send(()).unwrap()); // no pause is long
        let (last, mut told) = (outcomes.last().cloned(), String::new());
        let mut outcomes = outcomes.into_iter();
        let end = exec(&[flags, &["--", "true"]].concat()).job.attached("a", &stopping, |left| {
            told.push(left.map_or('-', |left| if left.is_zero() { '0' } else { '+' }));
            outcomes.next().expect("it goes on for too long")
        });
        assert_eq!((Some(end), told.as_str()), (last, limits), "{flags:?}");
    }
}

/// Not at each look.
#[test]
fn a_command_that_waits_for_a_node_says_so() {
    let none = || Err(CliError::new(Exit::Unavailable, "no node runs"));
    let gone = || Ok(ExecEnd::NodeGone { has_run: true });
    let outcomes = [none(), none(), gone(), gone(), none(), none(), Ok(ExecEnd::Lost)];
    let (wakes, stopping) = bounded(outcomes.len());
    outcomes.iter().for_each(|_| wakes.send(()).unwrap());
    let (exec, mut outcomes) = (exec(&["--restart", "always", "--", "true"]), outcomes.into_iter());
    let told = logged(|| {
        let end = exec.job.attached("a", &stopping, |_| outcomes.next().unwrap());
        assert_eq!(end, Ok(ExecEnd::Lost));
    });
    let lines = ["no node runs", "a has ended", "no node runs"];
    let waits = |why| format!("WARN : {why}; waiting for a node on this host");
    assert_eq!(told, lines.map(waits));
}

#[test]
fn a_command_that_waits_for_a_node_ends_with_a_signal() {
    let (sender, stopping) = bounded(0);
    let mut sender = Some(sender);
    let end = exec(&["--restart", "always", "--", "true"]).job.attached("a", &stopping, |_| {
        assert!(sender.take().is_some(), "once");
        Ok(ExecEnd::NodeGone { has_run: false })
    });
    assert_eq!(end, Ok(ExecEnd::Stopped(None)));
}

/// A lock comes only after a while, even if nobody holds it.
#[test]
fn a_command_waits_for_a_lock_for_failure_at_least_and_moves_if_it_fails() {
    let text = r#"{"cluster": "c", "quorum": "majority", "data_dir": "d", "timing": {"failure": "3s"}, "members": [
        {"name": "a", "id": "00000000-0000-4000-8000-000000000001", "address": "h:1"}]}"#;
    let config = crate::config::parse(text, Path::new("/c.json")).unwrap();
    let lock = LockName::new("backup").unwrap();
    let plan = |flags: &[&str]| {
        let exec = exec(&[flags, &["--", "true"]].concat());
        let place = Beside { config: &config, name: "a", lock: Some(&lock), period: None };
        exec.of_lock(&lock, place, exec.job.plan(&config, "a", false))
    };
    let seconds = |count| Some(Duration::from_secs(count));
    for (flags, wait, moves) in [
        (&[][..], None, true),
        (&["--wait", "0s", "--then", "resign"], seconds(3), true),
        (&["--wait", "1m", "--then", "exit"], seconds(60), false),
    ] {
        let plan = plan(flags);
        assert_eq!((plan.lock.as_deref(), plan.wait, plan.moves), (Some("backup"), wait, moves));
    }
}

/// It is shown on one line, however long it is and whatever is in it.
#[test]
fn a_bad_name_of_a_lock_is_wrong_usage() {
    let long = "a".repeat(10_000);
    let rule = "use 1 to 63 of the characters a-z 0-9 . _ -, the first of them a letter or a digit";
    for (name, shown) in [
        ("", String::new()),
        ("..", "..".to_owned()),
        ("a\n", "a\\n".to_owned()),
        (&long, format!("{}...", "a".repeat(60))),
    ] {
        let error = exec(&["--lock", name, "--", "true"]).run().unwrap_err();
        let words = format!("--lock: \"{shown}\" is no name of a lock: {rule}");
        assert_eq!(error, CliError::new(Exit::Usage, words));
    }
}

#[test]
fn a_command_line_with_nothing_to_run_is_wrong() {
    let error = exec(&[]).run().unwrap_err();
    let words = "say what to run: electd exec -- CMD, or give --address";
    assert_eq!(error, CliError::new(Exit::Usage, words));
}

#[test]
fn periods_that_are_none_are_wrong_usage() {
    let error = |flags: &[&str]| exec(&[flags, &["--", "true"]].concat()).run().unwrap_err();
    let periods = |length: &'static str| ["--lock", "report", "--once-per", length];
    for (flags, words) in [
        (&periods("0s")[..], "--once-per: a period is 1s to 366d"),
        (&periods("999ms"), "--once-per: a period is 1s to 366d"),
        (&periods("8800h"), "--once-per: a period is 1s to 366d"),
        (
            &[&periods("1h")[..], &["--restart", "on-failure"]].concat(),
            "--once-per: say --retry rather than --restart on-failure",
        ),
        (
            &["--lock", "etcd://h:1/report", "--once-per", "1h"],
            "--once-per is not for use with the lock of an engine",
        ),
    ] {
        assert_eq!(error(flags), CliError::new(Exit::Usage, words), "{flags:?}");
    }
}

#[test]
fn periods_begin_at_a_time_of_the_day_in_utc() {
    for (flags, length, begin) in [
        (&["24h"][..], 24.0, 0.0),
        (&["24h", "--at", "03:00"], 24.0, 3.0),
        (&["24h", "--at", "03:00+05:00"], 24.0, 22.0),
        (&["1h", "--at", "03:15"], 1.0, 0.25),
        (&["2s", "--retry"], 2.0 / 3600.0, 0.0),
    ] {
        let flags = [&["--lock", "report", "--once-per"], flags, &["--", "true"]].concat();
        let mut exec = exec(&flags);
        let wish = exec.period.wish(&mut exec.job).unwrap().unwrap();
        let millis = |hours: f64| (hours * 3_600_000.0).round() as u64;
        assert_eq!((wish.length_ms, wish.begin_ms), (millis(length), millis(begin)), "{flags:?}");
        assert_eq!(wish.retry, flags.contains(&"--retry"));
        assert!(!wish.stays);
    }
}
