//! The thread "rank", which takes samples so that the election thread never waits for one.
//!
//! It waits for the time of the next sample, or inside one; it ends when its [`Sampler`] is
//! stopped, or after its first good sample where the attribute does not change.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{self, Sender};

use super::aside::Aside;
use super::running::ProbeThread;
use super::stop::{Stop, Woken};
use super::{AttributeSource, SAMPLING, SampleResult, Variables};

/// The handle of the thread; none where the attribute is known without.
#[derive(Debug)]
pub struct Sampler(Option<ProbeThread>);

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
        source: AttributeSource,
        every: Duration,
        variables: Variables,
        deliver: impl Fn(SampleResult) -> bool + Send + 'static,
    ) -> io::Result<(Sampler, SampleResult)> {
        if source.is_fixed() {
            return Ok((Sampler(None), source.sample(&variables)));
        }
        let timeout = source.first_within();
        // A channel without a buffer: it cannot lose a sample that nothing waits for any longer.
        let (first, taken) = channel::bounded(0);
        let running = ProbeThread::start("rank", move |stop| {
            SamplerThread::new(source, every, variables, stop, deliver).run(first);
        })?;
        let outcome = taken.recv_timeout(timeout).unwrap_or_else(|_| {
            let why = format!("the first sample takes longer than {timeout:?}");
            log::warn!(event = "rank"; "no rank: {why}; until there is one, this node is not eligible");
            Err(why)
        });
        Ok((Sampler(Some(running)), outcome))
    }

    /// Ends the thread, and a command that runs.
    pub fn stop(self) {
        if let Some(running) = self.0 {
            running.stop();
        }
    }
}

/// The thread's data.
struct SamplerThread<F> {
    source: AttributeSource,
    every: Duration,
    variables: Variables,
    stop: Arc<Stop>,
    aside: Aside<SampleResult>,
    deliver: F,
    /// Whether the last sample failed.
    failing: bool,
}

impl<F: Fn(SampleResult) -> bool> SamplerThread<F> {
    fn new(
        source: AttributeSource,
        every: Duration,
        variables: Variables,
        stop: Stop,
        deliver: F,
    ) -> SamplerThread<F> {
        let (stop, aside) = (Arc::new(stop), Aside::new(SAMPLING));
        SamplerThread { source, every, variables, stop, aside, deliver, failing: false }
    }

    fn run(mut self, first: Sender<SampleResult>) {
        let Some(outcome) = self.take() else { return };
        let mut wanted = match first.send(outcome) {
            Ok(()) => true,
            Err(late) => (self.deliver)(late.into_inner()),
        };
        while wanted && (self.source.changes() || self.failing) && self.waits_for(self.every) {
            let Some(outcome) = self.take() else { return };
            wanted = (self.deliver)(outcome);
        }
    }

    /// A sample; none when the sampler was stopped meanwhile, which may have spoilt it.
    fn take(&mut self) -> Option<SampleResult> {
        let outcome = self.source.sample_until(&self.variables, &self.stop, &mut self.aside);
        let goes_on = self.waits_for(Duration::ZERO);
        goes_on.then(|| {
            self.log(&outcome);
            outcome
        })
    }

    /// Waits for this long. False when the sampler was stopped.
    fn waits_for(&self, time: Duration) -> bool {
        let woken = self.stop.wait(&[], Instant::now() + time);
        matches!(woken, Ok(Woken::Late))
    }

    /// Says once that samples fail, and once that they do not any more.
    fn log(&mut self, outcome: &SampleResult) {
        match outcome {
            Err(why) if !self.failing => log::warn!(
                event = "rank";
                "no rank: {why}; until there is one, this node is not eligible"
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
    use std::thread;

    use crossbeam::channel::Receiver;

    use super::*;
    use crate::rank::no_variables;
    use crate::rank::running::GRACE;

    /// Far longer than any sample here takes; only a failing test waits for it.
    const TIMEOUT: Duration = Duration::from_secs(20);

    const OFTEN: Duration = Duration::from_millis(1);

    /// A sampler whose later samples wait until they are taken.
    fn start(
        source: AttributeSource,
        every: Duration,
    ) -> (Sampler, SampleResult, Receiver<SampleResult>) {
        let (sender, samples) = channel::bounded(0);
        let deliver = move |outcome| {
            assert_eq!(thread::current().name(), Some("rank"));
            sender.send(outcome).is_ok()
        };
        let (sampler, first) = Sampler::start(source, every, no_variables(), deliver).unwrap();
        (sampler, first, samples)
    }

    fn command(program: &str, argument: &str, timeout: Duration) -> AttributeSource {
        AttributeSource::Command {
            program: program.into(),
            arguments: vec![argument.to_owned()],
            timeout,
        }
    }

    fn next(samples: &Receiver<SampleResult>) -> SampleResult {
        samples.recv_timeout(TIMEOUT).expect("a sample comes")
    }

    fn files(folder: &Path) -> AttributeSource {
        AttributeSource::Files(folder.to_owned())
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
    fn it_is_sampled_no_more_often_than_it_is_to_be() {
        let (every, begun) = (Duration::from_millis(50), Instant::now());
        let (sampler, first, samples) = start(AttributeSource::Cpu, every);
        assert!(first.is_ok() && next(&samples).is_ok() && next(&samples).is_ok());
        assert!(begun.elapsed() >= every * 2, "{:?}", begun.elapsed());
        drop(samples);
        sampler.stop();
    }

    #[test]
    fn a_first_sample_that_nobody_waits_for_any_more_is_delivered() {
        let (sender, samples) = channel::bounded(1);
        let deliver = move |outcome| sender.send(outcome).is_ok();
        let (_stopper, stop) = Stop::new().unwrap();
        let (first, taken) = channel::bounded(0);
        drop(taken);
        let (source, variables) =
            (AttributeSource::Address("127.0.0.1:1".to_owned()), no_variables());
        SamplerThread::new(source, OFTEN, variables, stop, deliver).run(first);
        assert_eq!(samples.recv().unwrap().unwrap().value, 0x7f00_0001);
    }

    #[test]
    fn what_stays_is_read_once() {
        let address = AttributeSource::Address("127.0.0.1:1".to_owned());
        for (source, is_read) in
            [(AttributeSource::Id, false), (AttributeSource::Priority(7), false), (address, true)]
        {
            let (sampler, first, samples) = start(source, OFTEN);
            assert!(first.is_ok());
            assert_eq!(sampler.0.is_some(), is_read, "a thread for what is to be read alone");
            assert!(samples.recv().is_err(), "nothing more will come");
            sampler.stop();
        }
    }

    #[test]
    fn nothing_is_sampled_that_nobody_wants_any_more() {
        for first_is_late in [false, true] {
            let (sender, samples) = channel::bounded(1);
            let deliver = move |outcome: SampleResult| {
                sender.send(outcome.is_ok()).unwrap();
                false
            };
            let (_stopper, stop) = Stop::new().unwrap();
            let (first, taken) = channel::bounded(1);
            let taken = (!first_is_late).then_some(taken);
            let (source, variables) = (AttributeSource::Cpu, no_variables());
            let work = SamplerThread::new(source, OFTEN, variables, stop, deliver);
            let thread = thread::spawn(move || work.run(first));
            assert_eq!(samples.recv_timeout(TIMEOUT), Ok(true));
            assert_eq!(samples.recv_timeout(TIMEOUT), Err(channel::RecvTimeoutError::Disconnected));
            thread.join().unwrap();
            assert_eq!(
                taken.is_some_and(|taken| taken.recv().is_ok_and(|it| it.is_ok())),
                !first_is_late
            );
        }
    }

    /// A command that is ended by the stop has failed for no other reason.
    #[test]
    fn what_a_stop_has_spoilt_is_not_delivered() {
        let (sender, samples) = channel::bounded(1);
        let deliver = move |outcome: SampleResult| sender.send(outcome).is_ok();
        let (stopper, stop) = Stop::new().unwrap();
        let (first, taken) = channel::bounded(1);
        let (source, variables) = (command("sleep", "1000", TIMEOUT * 100), no_variables());
        let work = SamplerThread::new(source, OFTEN, variables, stop, deliver);
        let thread = thread::spawn(move || work.run(first));
        drop(stopper);
        thread.join().unwrap();
        assert!(taken.recv().is_err() && samples.recv().is_err());
    }

    #[test]
    fn what_stays_is_tried_until_it_can_be_read() {
        let (sampler, first, samples) = start(AttributeSource::Address("nobody".to_owned()), OFTEN);
        assert!(first.is_err() && next(&samples).is_err() && next(&samples).is_err());
        drop(samples);
        sampler.stop();
    }

    #[test]
    fn a_stop_does_not_wait_for_the_next_sample_nor_for_a_command() {
        let (sampler, first, samples) = start(AttributeSource::Cpu, TIMEOUT * 100);
        assert!(first.is_ok());
        let begun = Instant::now();
        sampler.stop();
        assert!(begun.elapsed() < GRACE, "{:?}", begun.elapsed());
        assert_eq!(
            samples.try_recv(),
            Err(channel::TryRecvError::Disconnected),
            "its thread has ended"
        );

        let (stopper, stop) = Stop::new().unwrap();
        let source = command("sleep", "1000", TIMEOUT * 100);
        let thread = thread::spawn(move || source.read(&no_variables(), &stop));
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
