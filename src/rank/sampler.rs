//! The thread "rank", which takes samples so that the election thread never waits for one.
//!
//! It waits for the time of the next sample, or inside one; it ends when its [`Sampler`] is
//! stopped, or after its first good sample where the attribute does not change.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Receiver, Sender};

use super::stop::{Stop, Stopper, Woken};
use super::{Outcome, Source};

/// How long a stop waits for a sample under way. One that hangs in the system ends with the
/// process.
const GRACE: Duration = Duration::from_millis(300);

/// The handle of the thread; none where the attribute is known without.
#[derive(Debug)]
pub struct Sampler(Option<Running>);

#[derive(Debug)]
struct Running {
    stopper: Stopper,
    /// Ends with the thread.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Sampler {
    /// Takes the first sample and gives it back; the later ones, each `every` after the one
    /// before, go to `deliver`, which tells whether anybody still wants them.
    ///
    /// The start is held up for a moment at most: a first sample that takes longer is none, and
    /// is delivered when it comes.
    ///
    /// # Errors
    /// When the system has no thread or no file left.
    pub fn start(
        source: Source,
        every: Duration,
        deliver: impl Fn(Outcome) -> bool + Send + 'static,
    ) -> io::Result<(Sampler, Outcome)> {
        if source.is_fixed() {
            return Ok((Sampler(None), source.sample()));
        }
        let patience = source.patience();
        let (stopper, stop) = Stop::new()?;
        // Without room: a sample that nobody waits for any more is not lost in it.
        let (first, taken) = channel::bounded(0);
        let (end, ended) = channel::bounded(0);
        let work = Work { source, every, stop, deliver, failing: false, _end: end };
        let thread = thread::Builder::new().name("rank".to_owned()).spawn(|| work.run(first))?;
        let outcome = taken.recv_timeout(patience).unwrap_or_else(|_| {
            let why = format!("the first sample takes longer than {patience:?}");
            log::warn!(event = "rank"; "no rank: {why}; until there is one, this node stands back");
            Err(why)
        });
        Ok((Sampler(Some(Running { stopper, ended, thread })), outcome))
    }

    /// Ends the thread, and a command that runs.
    pub fn stop(self) {
        let Some(Running { stopper, ended, thread }) = self.0 else { return };
        drop(stopper);
        if ended.recv_timeout(GRACE) == Err(channel::RecvTimeoutError::Timeout) {
            log::warn!("a sample of the rank hangs; it ends with this process");
        } else if thread.join().is_err() {
            log::error!("the rank thread panicked");
        }
    }
}

/// What the thread works with.
struct Work<F> {
    source: Source,
    every: Duration,
    stop: Stop,
    deliver: F,
    /// Whether the last sample failed.
    failing: bool,
    /// Dropped at the end.
    _end: Sender<()>,
}

impl<F: Fn(Outcome) -> bool> Work<F> {
    fn run(mut self, first: Sender<Outcome>) {
        let Some(outcome) = self.take() else { return };
        let mut wanted = match first.send(outcome) {
            Ok(()) => true,
            Err(late) => (self.deliver)(late.into_inner()),
        };
        drop(first);
        while wanted && (self.source.changes() || self.failing) && self.waits_for(self.every) {
            let Some(outcome) = self.take() else { return };
            wanted = (self.deliver)(outcome);
        }
    }

    /// A sample; none when the sampler was stopped meanwhile, which may have spoilt it.
    fn take(&mut self) -> Option<Outcome> {
        let outcome = self.source.sample_until(&self.stop);
        let goes_on = self.waits_for(Duration::ZERO);
        goes_on.then(|| {
            self.log(&outcome);
            outcome
        })
    }

    /// Waits for so long. False when the sampler was stopped.
    fn waits_for(&self, time: Duration) -> bool {
        let woken = self.stop.wait(&[], Instant::now() + time);
        matches!(woken, Ok(Woken::Late))
    }

    /// Says once that samples fail, and once that they do not any more.
    fn log(&mut self, outcome: &Outcome) {
        match outcome {
            Err(why) if !self.failing => log::warn!(
                event = "rank";
                "no rank: {why}; until there is one, this node stands back from every election"
            ),
            Ok(sample) if self.failing => {
                log::warn!(event = "rank"; "a rank again: {}, {}", sample.value, sample.from);
            }
            _ => {}
        }
        self.failing = outcome.is_err();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Far longer than any sample here takes; only a failing test waits for it.
    const PATIENCE: Duration = Duration::from_secs(20);

    const OFTEN: Duration = Duration::from_millis(1);

    /// A sampler whose later samples wait until they are taken.
    fn start(source: Source, every: Duration) -> (Sampler, Outcome, Receiver<Outcome>) {
        let (sender, samples) = channel::bounded(0);
        let deliver = move |outcome| sender.send(outcome).is_ok();
        let (sampler, first) = Sampler::start(source, every, deliver).unwrap();
        (sampler, first, samples)
    }

    fn command(program: &str, argument: &str, timeout: Duration) -> Source {
        Source::Command { program: program.into(), arguments: vec![argument.to_owned()], timeout }
    }

    fn next(samples: &Receiver<Outcome>) -> Outcome {
        samples.recv_timeout(PATIENCE).expect("a sample comes")
    }

    fn files(folder: &Path) -> Source {
        Source::Files(folder.to_owned())
    }

    #[test]
    fn what_changes_is_sampled_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = folder.path().join("jobs");
        fs::create_dir(&jobs).unwrap();
        let (sampler, first, samples) = start(files(&jobs), OFTEN);
        assert_eq!(first.unwrap().value, 0);
        fs::write(jobs.join("a"), "").unwrap();
        assert!((0..3).any(|_| next(&samples).unwrap().value == 1));
        fs::remove_dir_all(&jobs).unwrap();
        assert!((0..3).any(|_| next(&samples).is_err()));
        fs::create_dir(&jobs).unwrap();
        assert!((0..3).any(|_| next(&samples).is_ok()));
        drop(samples);
        sampler.stop();
    }

    #[test]
    fn what_stays_is_read_once() {
        for source in [Source::Id, Source::Priority(7), Source::Address("127.0.0.1:1".to_owned())] {
            let (sampler, first, samples) = start(source, OFTEN);
            assert!(first.is_ok());
            assert!(samples.recv().is_err(), "nothing more will come");
            sampler.stop();
        }
    }

    #[test]
    fn what_stays_is_tried_until_it_can_be_read() {
        let (sampler, first, samples) = start(Source::Address("nobody".to_owned()), OFTEN);
        assert!(first.is_err() && next(&samples).is_err() && next(&samples).is_err());
        drop(samples);
        sampler.stop();
    }

    #[test]
    fn a_stop_does_not_wait_for_the_next_sample_nor_for_a_command() {
        let (sampler, first, _samples) = start(Source::Cpu, PATIENCE * 100);
        assert!(first.is_ok());
        let begun = Instant::now();
        sampler.stop();
        assert!(begun.elapsed() < GRACE, "{:?}", begun.elapsed());

        let (stopper, stop) = Stop::new().unwrap();
        let source = command("sleep", "1000", PATIENCE * 100);
        let thread = thread::spawn(move || source.sample_until(&stop));
        drop(stopper);
        let error = thread.join().unwrap().unwrap_err();
        assert!(error.ends_with("was ended, as this node stops"), "{error}");
    }

    #[test]
    fn a_slow_command_holds_up_a_start_no_longer_than_its_timeout() {
        let limit = Duration::from_millis(50);
        let (sampler, first, samples) = start(command("sleep", "1000", limit), OFTEN);
        assert_eq!(first.unwrap_err(), "`sleep 1000` took longer than 50ms");
        assert!(next(&samples).is_err());
        drop(samples);
        sampler.stop();
    }
}
