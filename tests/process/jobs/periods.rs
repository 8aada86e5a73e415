//! `electd exec --once-per`: a job that runs once in each period, on one of three hosts whose clocks differ, while nodes and
//! commands are killed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use story::story;

use super::attached::{Attached, exec};
use super::locks::{electd, shown};
use super::{only_child, with_majority};
use crate::support::clock::clock;
use crate::support::{Cluster, Finished, ensure, eventually};

const PERIOD_MS: u64 = 2000;

/// How the wall clock of each host differs.
const APART: &str = "+= 1, time->tv_nsec += 500000000, time->tv_sec += time->tv_nsec / 1000000000, time->tv_nsec %= 1000000000";
const YEAR_AHEAD: &str = "+= 31536000";

/// Three nodes, and beside each a job that is tried again, and one that is not.
struct Nightly {
    cluster: Cluster,
    clocks: [Option<PathBuf>; 3],
    execs: [RefCell<Vec<Attached>>; 3],
}

impl Nightly {
    /// The clocks of the first and the third host are changed so.
    fn start(changes: [Option<&str>; 3]) -> Nightly {
        let cluster = Cluster::prepare(3, with_majority);
        let library = |at: usize| {
            let folder = cluster.file().with_file_name(format!("clock-{at}"));
            fs::create_dir(&folder).unwrap();
            changes[at].and_then(|change| clock(&folder, change))
        };
        let clocks = [0, 1, 2].map(library);
        let nightly = Nightly { cluster, clocks, execs: Default::default() };
        (1..=3).for_each(|number| nightly.start_host(number));
        nightly.cluster.agree();
        nightly
    }

    fn start_host(&self, number: usize) {
        let library = self.clocks[number - 1].as_ref().map(|path| path.to_str().unwrap());
        let preload = library.map(|library| ("LD_PRELOAD", library));
        self.cluster.node(number).start_in(preload.as_slice());
        self.attach(number);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.cluster.file().with_file_name(name)
    }

    /// The commands beside this node, in place of those before. Each says when it begins and ends, and by which token; the
    /// one that is tried again fails now and then.
    fn attach(&self, number: usize) {
        let execs = [("once", &[][..]), ("tried", &["--retry"])].map(|(name, more)| {
            let script = format!(
                "echo begin $ELECTD_EPOCH >> {0}; sleep 0.2; [ {name} = once ] || [ $((ELECTD_EPOCH % 3)) -gt 0 ] || \
                 {{ echo failed $ELECTD_EPOCH >> {0}; exit 1; }}; echo end $ELECTD_EPOCH >> {0}",
                self.file(name).display()
            );
            let options = [
                &["--lock", name, "--once-per", "2s", "--restart", "always", "--stop-after", "0s"],
                more,
                &["--", "sh", "-c", &script],
            ];
            let mut exec = exec(&self.cluster, number, &options.concat());
            Attached(exec.stdout(Stdio::null()).spawn().unwrap())
        });
        self.execs[number - 1].replace(execs.into());
    }

    /// The words of a job, each with its token.
    fn words(&self, name: &str) -> Vec<(String, u64)> {
        let text = fs::read_to_string(self.file(name)).unwrap_or_default();
        let word = |line: &str| {
            let (word, token) = line.split_once(' ')?;
            Some((word.to_owned(), token.parse().ok()?))
        };
        text.lines().map(|line| word(line).unwrap_or_else(|| panic!("{line:?}"))).collect()
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// What became of the runs of one job.
#[derive(Debug, Default)]
struct Told {
    /// The token of each run that was seen in the table, by the end of its period.
    runs: BTreeMap<u64, Vec<u64>>,
    /// The ends of the periods of which the table says that the job ended with 0.
    done: Vec<u64>,
}

impl Told {
    fn note(&mut self, lock: &Value) {
        let Some(run) = lock["last_run"].as_object() else { return };
        let [until, token] = ["until_ms", "token"].map(|key| run[key].as_u64().unwrap());
        let tokens = self.runs.entry(until).or_default();
        if !tokens.contains(&token) {
            tokens.push(token);
        }
        if run["code"] == 0 && !self.done.contains(&until) {
            self.done.push(until);
        }
    }
}

/// Lives through so many periods; at the begin of every fifth one a node is killed, or a command with its guard. Returns
/// the periods that were not disturbed.
fn live_through(nightly: &Nightly, periods: u64) -> [Told; 2] {
    let (mut told, mut disturbed) = ([Told::default(), Told::default()], 0);
    let begin = now_ms() / PERIOD_MS + 1;
    eventually_each(periods, |passed| {
        let present = now_ms() / PERIOD_MS;
        for (told, name) in told.iter_mut().zip(["once", "tried"]) {
            for number in 1..=3 {
                if let Ok(answer) = nightly.cluster.node(number).get(&format!("/locks/{name}")) {
                    told.note(&answer.json()["locks"][0]);
                }
            }
        }
        let round = present.saturating_sub(begin);
        if round / 5 > disturbed {
            disturbed = round / 5;
            let number = (disturbed % 3) as usize + 1;
            if disturbed % 2 == 0 {
                nightly.cluster.node(number).kill_9();
                nightly.execs[number - 1].take();
                nightly.start_host(number);
            } else {
                let execs = nightly.execs[number - 1].take();
                for exec in &execs {
                    let guard = only_child(exec.pid());
                    for process in guard.into_iter().chain([exec.pid()]) {
                        let _ = kill_process(process, Signal::KILL); // it may have no guard
                    }
                }
                drop(execs);
                nightly.attach(number);
            }
        }
        *passed = round;
    });
    told
}

/// Calls this again and again, until so many rounds have passed.
fn eventually_each(rounds: u64, mut look: impl FnMut(&mut u64)) {
    let mut passed = 0;
    while passed < rounds {
        let before = passed;
        eventually("a period passes", || {
            look(&mut passed);
            ensure(passed > before, || format!("{passed} periods have passed"))
        });
    }
}

fn judge(nightly: &Nightly, [once, tried]: &[Told; 2], periods: u64) {
    for (name, told) in [("once", once), ("tried", tried)] {
        let words = nightly.words(name);
        let begun: Vec<u64> =
            words.iter().filter(|(word, _)| word == "begin").map(|(_, token)| *token).collect();
        let all: Vec<u64> = told.runs.values().flatten().copied().collect();
        let mut runs = 0;
        for (until, tokens) in &told.runs {
            let begun_here: Vec<_> = begun.iter().filter(|token| tokens.contains(*token)).collect();
            assert!(
                name != "once" || begun_here.len() <= 1,
                "{name}: twice until {until}: {tokens:?}"
            );
            assert!(
                begun_here.iter().all(|token| begun.iter().filter(|it| it == token).count() == 1),
                "{name}: a token has two runs: {begun_here:?}"
            );
            runs += u64::from(!begun_here.is_empty());
        }
        // A run that fails is followed by the next: on a busy machine a look at the table misses some.
        let missed = begun.iter().filter(|token| !all.contains(*token)).count() as u64;
        assert!(missed <= 2 + periods / 10, "{name}: {missed} runs were not seen: {told:?}");
        let latest = now_ms() + 3600 * 1000;
        assert!(told.runs.keys().all(|until| *until < latest), "{told:?}");
        // A disturbed period may have none; two in each of the disturbances, on a busy machine.
        let least = periods - 2 * (periods / 5) - 1;
        println!("{name}: {runs} of {periods} periods have a run, {} began", begun.len());
        assert!(runs >= least, "{name}: {runs} of {periods} periods: {told:?}");
    }
}

fn runs_once_in_each_period(changes: [Option<&str>; 3], periods: u64) {
    let nightly = Nightly::start(changes);
    let told = live_through(&nightly, periods);
    nightly.execs.iter().for_each(|execs| _ = execs.take());
    judge(&nightly, &told, periods);
}

/// Claim: once-per.
#[story]
fn a_job_runs_once_in_each_period_while_hosts_die_and_one_has_the_clock_of_next_year() {
    runs_once_in_each_period([Some(YEAR_AHEAD), None, None], 20);
}

#[story]
#[ignore = "long"]
fn a_job_runs_once_in_each_of_200_periods_with_clocks_that_are_apart() {
    runs_once_in_each_period([Some(APART), None, Some(APART)], 200);
}

/// As cron starts it on each host.
///
/// Claim: once-per.
#[story]
fn a_host_that_comes_later_in_the_period_learns_when_and_where_the_job_ran() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree();
    let run = |number: usize, options: &[&str]| {
        let options = [&["--lock", "report", "--once-per", "8000h"], options].concat();
        let mut command = exec(&cluster, number, &[&options[..], &["--", "echo", "runs"]].concat());
        let output = command.finished();
        let [out, told] = [output.stdout, output.stderr]
            .map(|text| String::from_utf8_lossy(&text).trim_end().to_owned());
        (output.status.code().unwrap(), out, told)
    };
    assert_eq!(run(1, &[]), (0, "runs".to_owned(), String::new()));
    for (number, options) in [(2, &[][..]), (3, &["--wait", "1s"]), (1, &[])] {
        let (code, out, told) = run(number, options);
        assert_eq!((code, out.as_str()), (75, ""), "{told}");
        let words = "already run in this period: node-1 ran it at ";
        assert!(told.contains(words), "{told}");
        assert!(told.contains(", and it ended with 0; the next period begins at "), "{told}");
    }
    let lock = shown(&cluster, 2, "report");
    assert_eq!((&lock["holder"], &lock["last_run"]["outcome"]), (&Value::Null, &"ended".into()));
    let (code, printed, _) = electd(&cluster, &["lock", "show", "report"]);
    assert!(code == 1 && printed.contains("\nlast run    node-1 ran it at "), "{printed}");
    let (code, _, told) = electd(&cluster, &["lock", "forget", "report"]);
    let words = "the lock report has had its run of this period, which ends at ";
    assert!(code == 1 && told.starts_with(words), "{code}: {told}");
}

/// Else each of them would run by its own periods.
#[story]
fn two_hosts_with_other_periods_for_one_name_are_told_so() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree();
    let waits = |number: usize, period: &str, more: &[&str]| {
        let options = [&["--lock", "report", "--once-per", period], more].concat();
        exec(&cluster, number, &[&options[..], &["--", "echo", "runs"]].concat())
    };
    let mut first = waits(1, "8000h", &["--restart", "always"]);
    let mut first = Attached(first.stdout(Stdio::piped()).spawn().unwrap());
    first.hears("runs\n");
    for (number, period, more) in [(2, "7000h", &[][..]), (3, "8000h", &["--retry"])] {
        let output = waits(number, period, more).finished();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(78), &b""[..]), "{told}");
        assert!(told.contains("another host wants other periods for this lock"), "{told}");
    }
}

/// A period that ended is forgotten on demand.
#[story]
fn the_last_run_is_forgotten_once_its_period_has_ended() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree();
    let mut run =
        exec(&cluster, 1, &["--lock", "report", "--once-per", "1s", "--", "sh", "-c", "exit 3"]);
    assert_eq!(run.finished().status.code(), Some(3));
    eventually("the last run is forgotten", || {
        let (code, printed, told) = electd(&cluster, &["lock", "forget", "report"]);
        ensure(code == 0, || format!("{code} {printed} {told}"))
    });
    eventually("no node knows of it", || {
        let lock = shown(&cluster, 2, "report");
        ensure(lock["last_run"].is_null(), || lock.to_string())
    });
}

/// The line of examples/nightly/electd.cron, as cron starts it on each host.
#[story]
fn the_line_of_the_recipe_runs_the_job_on_one_host() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree();
    let table = fs::read_to_string("examples/nightly/electd.cron").unwrap();
    let line = table.lines().last().unwrap().split_once(" electd exec ").unwrap().1;
    let (config, ran) = (cluster.file(), cluster.file().with_file_name("ran"));
    let job = cluster.file().with_file_name("job");
    fs::write(&job, format!("#!/bin/sh\necho \"$ELECTD_LOCK\" >> {}\n", ran.display())).unwrap();
    fs::set_permissions(&job, Permissions::from_mode(0o755)).unwrap();
    let (line, log) = line.split_once(" | ").unwrap();
    assert_eq!(log, "logger -t nightly");
    let line = line.replace("/etc/electd/cluster.json", config.to_str().unwrap());
    let line = line.replace("/etc/electd/nightly/job", job.to_str().unwrap());
    let codes: Vec<i32> = (1..=3)
        .map(|number| {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("{} exec {line}", env!("CARGO_BIN_EXE_electd")));
            shell.env("ELECTD_NODE", &cluster.node(number).name);
            shell.finished().status.code().unwrap()
        })
        .collect();
    assert_eq!(codes, [0, 75, 75]);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "nightly\n");
}
