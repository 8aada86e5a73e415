//! What this room logs: tests in a process of their own, since a process has one log.

use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, panic};

use crossbeam::channel;
use log::{LevelFilter, Log, Metadata, Record};

use super::running::ProbeThread;
use super::{AttributeSource, Sampler, no_variables};
use crate::testing::alone::alone;
use crate::testing::line::line;

/// Keeps all lines.
struct LoggedLines(Mutex<Vec<String>>);

static LINES: LoggedLines = LoggedLines(Mutex::new(Vec::new()));

impl Log for LoggedLines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push(line(record));
    }

    fn flush(&self) {}
}

fn hangs(name: &str) -> String {
    format!("WARN : a program or a sample of the thread {name} hangs; it ends with this process")
}

fn hangs_and_panics() {
    let (release, waits) = channel::bounded::<()>(0);
    ProbeThread::start("slow", move |_| _ = waits.recv()).unwrap().stop();
    drop(release);
    let (begun, mut is_told) = (Instant::now(), false);
    while !is_told {
        assert!(begun.elapsed() < Duration::from_secs(20));
        // Without a message, whose trace takes long.
        ProbeThread::start("rash", move |_| panic::resume_unwind(Box::new(()))).unwrap().stop();
        let mut lines = LINES.0.lock().unwrap();
        lines.retain(|line| *line != hangs("rash")); // on a busy host
        is_told = lines.len() > 1;
    }
}

/// No rank, two more times none, one, one more, and none again.
fn loses_and_finds_a_rank(jobs: &std::path::Path) {
    let (sender, samples) = channel::bounded(0);
    let deliver = move |outcome| sender.send(outcome).is_ok();
    let every = Duration::from_millis(1);
    let source = AttributeSource::Files(jobs.to_owned());
    let (sampler, first) = Sampler::start(source, every, no_variables(), deliver).unwrap();
    assert!(first.is_err());
    let until = |is_there: bool| {
        let begun = Instant::now();
        while samples.recv_timeout(Duration::from_secs(20)).unwrap().is_ok() != is_there {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
    };
    (0..2).for_each(|_| until(false));
    fs::create_dir(jobs).unwrap();
    (0..2).for_each(|_| until(true));
    fs::remove_dir(jobs).unwrap();
    (0..2).for_each(|_| until(false));
    drop(samples);
    sampler.stop();
}

#[test]
fn what_hangs_or_fails_is_logged_and_a_rank_when_it_is_lost_or_found() {
    let name = "rank::logged::what_hangs_or_fails_is_logged_and_a_rank_when_it_is_lost_or_found";
    if alone(name).is_some() {
        return;
    }
    log::set_logger(&LINES).unwrap();
    log::set_max_level(LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    let jobs = folder.path().join("jobs");
    hangs_and_panics();
    loses_and_finds_a_rank(&jobs);
    let shown = jobs.display();
    let lost = format!(
        "WARN rank: no rank: the files in {shown} cannot be counted: No such file or directory (os error 2); until \
         there is one, this node is not eligible"
    );
    let expected = [
        "WARN : a program or a sample of the thread slow hangs; it ends with this process"
            .to_owned(),
        "ERROR : the rash thread panicked".to_owned(),
        lost.clone(),
        format!("WARN rank: a rank again: 0, 0 files in {shown}"),
        lost,
    ];
    let mut lines = LINES.0.lock().unwrap().clone();
    lines.retain(|line| *line != hangs("rank")); // on a busy host
    assert_eq!(lines, expected);
}
