//! For a program whose work is to act while it leads: a member that runs around that work.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};
use crossbeam::select;
use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::leadership::{Change, Leadership};
use super::{Node, NodeHandle, StartError};
use crate::config::Config;

/// How often [`Lead::goes_on`] looks at the clock: a leadership that is lost ends by it, without a word.
const LOOK: Duration = Duration::from_millis(10);

/// Runs the member of this name, and `work` in the calling thread each time that it leads, until TERM or INT comes or the
/// member is removed from the cluster.
///
/// The leadership is held while `work` runs: if an operator or a higher member wants it, [`Lead::goes_on`] turns false, and
/// another member leads only after `work` has returned, or after 10 s. If the leadership is *lost*, as in a partition,
/// nobody waits: `work` must not go on for longer than until the next step after `goes_on` is false. Work that began
/// before another member leads can still arrive later; send [`Lead::epoch`] with it, so that the resource can refuse it.
///
/// If `work` returns while the member leads, the member leads on without it.
///
/// ```no_run
/// use electd::config;
/// use electd::node::while_leading;
/// use std::time::Duration;
///
/// let config = config::load("cluster.json".as_ref())?;
/// while_leading(&config, "a", |lead| {
///     while lead.goes_on(Duration::from_secs(1)) {
///         println!("one step of the work, in epoch {}", lead.epoch());
///     }
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the member cannot start.
pub fn while_leading(
    config: &Config,
    name: &str,
    work: impl FnMut(&Lead<'_>),
) -> Result<(), StartError> {
    let (running, stopping) = bounded(0);
    let stop = Stop(Arc::new(Mutex::new(Some(running))));
    // Before the node starts, so that no signal is lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(StartError::Thread)?;
    let registered = signals.handle();
    let stop_by_signal = stop.clone();
    let builder = thread::Builder::new().name("signals".to_owned());
    let thread = builder.spawn(move || signals.forever().for_each(|_| stop_by_signal.now()));
    let thread = thread.map_err(StartError::Thread)?;
    let started = Node::start(config, name).map(|node| {
        node.on_removal(move || stop.now());
        lead_on(&node.handle(), &stopping, work);
        node.stop();
    });
    registered.close();
    let _ = thread.join(); // it has no result
    started
}

/// Runs the work in each leadership until the member is to stop.
fn lead_on(handle: &NodeHandle, stopping: &Receiver<()>, mut work: impl FnMut(&Lead<'_>)) {
    let changes = &handle.leadership_changes();
    let mut done = None;
    loop {
        // The hold comes first, so that the leadership is not handed over in between.
        if handle.leadership().is_some_and(|leadership| Some(leadership.epoch()) != done)
            && let Ok(_hold) = handle.hold()
            && let Some(leadership) = handle.leadership()
        {
            done = Some(leadership.epoch());
            work(&Lead { leadership, changes, stopping });
        }
        select! {
            recv(changes) -> change => if change.is_err() { return },
            recv(stopping) -> _ => return,
        }
    }
}

/// Ends the work and the member: it closes the channel that both look at.
#[derive(Clone)]
struct Stop(Arc<Mutex<Option<Sender<()>>>>);

impl Stop {
    fn now(&self) {
        self.0.lock().take();
    }
}

/// A leadership, in which the work of [`while_leading`] runs.
#[derive(Debug)]
pub struct Lead<'r> {
    leadership: Leadership,
    changes: &'r Receiver<Change>,
    stopping: &'r Receiver<()>,
}

impl Lead<'_> {
    /// The epoch of the leadership: with a majority, a fencing token.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.leadership.epoch()
    }

    /// Waits this long, or until the work has to end; zero only asks. Returns whether the work may go on.
    #[must_use = "the work has to end if this is false"]
    pub fn goes_on(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let is_to_end = select! {
                recv(self.changes) -> change => !matches!(change, Ok(Change::Leading { .. })),
                recv(self.stopping) -> _ => true,
                default(left.min(LOOK)) => false,
            };
            if is_to_end || !self.leadership.is_valid() {
                return false;
            }
            if left.is_zero() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;

    use super::*;
    use crate::config::Builder;
    use crate::node::example;
    use crate::node::handle::{Command, CommandError, Handle};
    use crate::node::leadership::{Feed, Term};
    use crate::testing::alone::alone;
    use crate::testing::within::done_within;
    use serde_json::json;

    use rustix::process::{Signal, getpid, kill_process};

    /// Far longer than anything takes here.
    const LONG: Duration = Duration::from_secs(100);

    /// TERM is for a whole process, and would disturb other tests.
    #[test]
    fn the_work_runs_while_the_member_leads_and_term_ends_both() {
        let this = "node::leading::tests::the_work_runs_while_the_member_leads_and_term_ends_both";
        if alone(this).is_some() {
            return;
        }
        let (config, _folder) = example::cluster().unwrap();
        for signal in [Signal::TERM, Signal::INT] {
            let its = config.clone();
            done_within(LONG, "the signal ends it", move || {
                let mut epochs = Vec::new();
                let outcome = while_leading(&its, "a", |lead| {
                    epochs.push(lead.epoch());
                    assert!(lead.goes_on(Duration::ZERO) && lead.goes_on(Duration::from_millis(1)));
                    kill_process(getpid(), signal).unwrap();
                    let begin = Instant::now();
                    assert!(!lead.goes_on(Duration::from_secs(100)));
                    assert!(begin.elapsed() < Duration::from_secs(50), "the wait was cut short");
                });
                assert!(outcome.is_ok(), "{outcome:?}");
                assert_eq!(epochs.len(), 1, "{epochs:?}");
            });
        }
        let unknown = while_leading(&config, "b", |_| panic!("it does not lead"));
        let words = "the config has no member named \"b\"";
        assert_eq!(unknown.unwrap_err().to_string(), words, "and nothing waits for a signal");
        let again = Node::start(&config, "a").expect("the first ones are gone");
        again.stop();
    }

    /// It asks as often as it likes, and hears of all that has come.
    #[test]
    fn the_work_goes_on_until_the_leadership_is_to_end_or_has_ended_or_the_member_stops() {
        let wait = Duration::from_millis(30);
        let goes_on = |told: &[Change], is_valid: bool, runs: bool| {
            let (feed, now) = (Feed::default(), crate::node::now());
            let until = now + Duration::from_secs(1000);
            feed.show(Some(Term { epoch: 7, until, renewal: None, now }));
            let leadership = feed.leadership().expect("it holds for long");
            let (changes, (running, stopping)) = (&feed.subscribe(), bounded(0));
            let lead = Lead { leadership, changes, stopping: &stopping };
            assert_eq!(lead.epoch(), 7);
            told.iter().for_each(|change| feed.tell(change));
            if !is_valid {
                feed.show(None);
            }
            let running = Some(running).filter(|_| runs);
            let begin = Instant::now();
            let goes_on = lead.goes_on(wait);
            assert!(!goes_on || begin.elapsed() >= wait, "it waits so long");
            drop(running);
            goes_on
        };
        let leading = || Change::Leading { epoch: 7 };
        assert!(goes_on(&[], true, true) && goes_on(&[leading(), leading()], true, true));
        assert!(!goes_on(&[leading(), Change::Ending { within: wait }], true, true));
        assert!(!goes_on(&[Change::NotLeading], true, true));
        assert!(!goes_on(&[], false, true));
        assert!(!goes_on(&[], true, false));
    }

    /// What ends of itself is not begun again before the member leads in another epoch.
    #[test]
    fn work_that_returns_is_done_until_the_next_leadership() {
        let (config, _folder) = example::cluster().unwrap();
        done_within(LONG, "it leads twice", move || {
            let node = Node::start(&config, "a").unwrap();
            let handle = node.handle();
            let (running, stopping) = bounded(0);
            let stop = Stop(Arc::new(Mutex::new(Some(running))));
            let mut epochs = Vec::new();
            lead_on(&handle, &stopping, |lead| {
                epochs.push(lead.epoch());
                if epochs.len() > 1 {
                    return stop.now();
                }
                assert_eq!(handle.tally().exec_running.get(), 1, "it is held meanwhile");
                let change = Change::Leading { epoch: lead.epoch() };
                (0..9).for_each(|_| handle.published.feed.tell(&change));
                let handle = handle.clone();
                thread::spawn(move || handle.command(Command::Elect, Duration::from_secs(60)));
            });
            let [first, second] = epochs[..] else { panic!("{epochs:?}") };
            assert!(first < second);
            node.stop();
        });
    }

    /// The thread that tells of the end of a leadership may itself stand still.
    #[test]
    fn the_work_ends_with_the_lease_though_nobody_tells_of_that() {
        let (feed, now) = (Feed::default(), crate::node::now());
        let until = now + Duration::from_secs(2);
        feed.show(Some(Term { epoch: 7, until, renewal: None, now }));
        let leadership = feed.leadership().expect("it holds for two seconds");
        let (changes, (_running, stopping)) = (&feed.subscribe(), bounded(0));
        let lead = Lead { leadership, changes, stopping: &stopping };
        assert!(!lead.goes_on(Duration::from_secs(10)), "it went on after the lease");
        assert!(crate::node::now() >= until, "it ended before the lease");
    }

    /// Two members in this process, on free ports, which wait long before they suspect each other.
    fn two_members(data_dir: &Path) -> Config {
        let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [a, b] = ports.map(|port| port.local_addr().unwrap().to_string());
        let builder = Builder::new("two", "none", data_dir).member("a", ids[0], &a);
        builder.member("b", ids[1], &b).set("timing", json!({ "failure": "30s" })).build().unwrap()
    }

    #[test]
    fn an_operator_who_wants_the_leadership_waits_for_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let config = two_members(folder.path());
        done_within(LONG, "the operator waits, and the work ends", move || {
            let [a, b] = ["a", "b"].map(|name| Node::start(&config, name).unwrap());
            let (running, stopping) = bounded(0);
            let stop = Stop(Arc::new(Mutex::new(Some(running))));
            let handle = b.handle();
            lead_on(&handle, &stopping, |lead| {
                let order = b.handle();
                let resign = Command::Resign { to: None };
                thread::spawn(move || order.command(resign, Duration::from_secs(60)));
                while lead.goes_on(Duration::from_secs(1)) {}
                assert!(handle.leadership().is_some(), "it is held");
                let refused = CommandError::NotNow("the leadership is about to end".to_owned());
                assert_eq!(handle.hold().err(), Some(refused), "others wait for its end");
                stop.now();
            });
            a.stop();
            b.stop();
        });
    }

    #[test]
    fn a_member_that_is_removed_leads_no_more_and_its_work_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let config = two_members(folder.path());
        let a = Node::start(&config, "a").unwrap();
        let (of_a, (done, over)) = (a.handle(), bounded(1));
        thread::spawn(move || {
            let mut works = 0;
            let outcome = while_leading(&config, "b", |lead| {
                works += 1;
                let (a, remove) =
                    (of_a.clone(), Command::Remove { name: "b".to_owned(), force: false });
                thread::spawn(move || {
                    while a.status().members.len() > 1 {
                        let _ = a.command(remove.clone(), Duration::from_secs(60)); // it may not know yet who leads
                        thread::sleep(LOOK);
                    }
                });
                while lead.goes_on(Duration::from_secs(1)) {}
            });
            done.send((outcome.is_ok(), works))
        });
        assert_eq!(over.recv_timeout(LONG), Ok((true, 1)));
        assert_eq!(a.handle().status().members.len(), 1);
        a.stop();
    }
}
