//! An engine that answers as it is told to, and how a job sees it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;

/// What the engine does, and what it was asked.
#[derive(Default)]
struct StubState {
    /// Another has the lock.
    is_taken: AtomicBool,
    /// It does not answer.
    is_silent: AtomicBool,
    /// It has taken the lock away.
    is_lost: AtomicBool,
    /// The last token.
    token: AtomicU64,
    takes: AtomicU64,
    renewals: AtomicU64,
    releases: AtomicU64,
    /// When it was last asked for more time.
    asked: AtomicU64,
}

struct Stub(Arc<StubState>);

impl Stub {
    fn answer<T>(&self, answer: T) -> Result<T, EngineError> {
        let silent = || Err(EngineError::Unreachable("silent".to_owned()));
        if self.0.is_silent.load(Ordering::SeqCst) { silent() } else { Ok(answer) }
    }
}

fn count(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Ordering::SeqCst) + 1
}

impl Engine for Stub {
    fn take(&mut self, _: &str) -> Result<LockAnswer, EngineError> {
        self.0.asked.store(now().0, Ordering::SeqCst);
        count(&self.0.takes);
        if self.0.is_taken.load(Ordering::SeqCst) {
            let other = EngineHolder { name: "other".to_owned(), token: 7, left: None };
            return self.answer(LockAnswer::Other(other));
        }
        self.0.is_lost.store(false, Ordering::SeqCst);
        self.answer(LockAnswer::Held(count(&self.0.token)))
    }

    fn renew(&mut self, _: &str) -> Result<bool, EngineError> {
        self.0.asked.store(now().0, Ordering::SeqCst);
        count(&self.0.renewals);
        self.answer(!self.0.is_lost.load(Ordering::SeqCst))
    }

    fn release(&mut self, _: &str) -> Result<(), EngineError> {
        count(&self.0.releases);
        self.answer(())
    }

    fn give_back(&mut self, _: u64) -> Result<(), EngineError> {
        self.answer(())
    }

    fn watch(&mut self) -> Result<Option<EngineHolder>, EngineError> {
        self.answer(None)
    }

    fn describe(&mut self) -> Result<Vec<String>, EngineError> {
        self.answer(Vec::new())
    }
}

fn start(told: &Arc<StubState>, ttl: u64, waits: bool) -> Result<EngineLock, EngineError> {
    let pace = EnginePace::new(Duration::from_millis(ttl));
    EngineLock::start(Box::new(Stub(told.clone())), pace, waits)
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    crate::testing::within::within(Duration::from_secs(60), what, is_so);
}

#[test]
fn a_lock_that_is_free_is_held_at_once_counted_from_before_the_request() {
    let told = Arc::default();
    let lock = start(&told, 60_000, false).unwrap();
    let leadership = lock.leadership().expect("it leads at once");
    let asked = Time(told.asked.load(Ordering::SeqCst));
    assert_eq!(leadership.epoch(), 1);
    let renewal = Duration::from_millis(60_000) * 9 / 11;
    assert!(leadership.until() <= asked + renewal, "the engine was asked later than it counts");
    assert_eq!(leadership.renewal(), Some(renewal));
    drop(lock);
    assert!(!leadership.is_valid());
    assert_eq!(told.releases.load(Ordering::SeqCst), 1, "it is given back");
}

#[test]
fn a_lock_that_another_has_is_waited_for() {
    let told: Arc<StubState> = Arc::default();
    told.is_taken.store(true, Ordering::SeqCst);
    let lock = start(&told, 1000, false).unwrap();
    assert!(lock.leadership().is_none() && lock.other().unwrap().name == "other");
    told.is_taken.store(false, Ordering::SeqCst);
    until("it holds it", || lock.leadership().is_some());
    let first = lock.leadership().unwrap();
    until("it has been renewed", || told.renewals.load(Ordering::SeqCst) > 10);
    assert!(first.is_valid(), "it is the same leadership");
}

/// Nor is it asked for again, as the job may have yet to end.
#[test]
fn without_an_answer_a_lock_ends_by_itself_and_is_wanted_again_after_the_job() {
    let told: Arc<StubState> = Arc::default();
    let lock = start(&told, 500, false).unwrap();
    let hold = lock.hold(Duration::ZERO).expect("it leads");
    let leadership = lock.leadership().unwrap();
    told.is_silent.store(true, Ordering::SeqCst);
    until("it has ended", || !leadership.is_valid());
    assert!(lock.hold(Duration::ZERO).is_none() && told.takes.load(Ordering::SeqCst) == 1);
    drop(hold);
    until("it is given back again and again", || told.releases.load(Ordering::SeqCst) > 2);
    assert_eq!(told.takes.load(Ordering::SeqCst), 1, "what it had would be in the way");
    told.is_silent.store(false, Ordering::SeqCst);
    until("it holds it again", || lock.leadership().is_some_and(|again| again.epoch() == 2));
    assert!(!leadership.is_valid(), "the first one stays over");
}

#[test]
fn a_lock_that_the_engine_took_away_ends_at_once() {
    let told: Arc<StubState> = Arc::default();
    let lock = start(&told, 10_000, false).unwrap();
    let (leadership, renewals) = (lock.leadership().unwrap(), told.renewals.load(Ordering::SeqCst));
    told.is_lost.store(true, Ordering::SeqCst);
    until("it was told", || told.renewals.load(Ordering::SeqCst) > renewals);
    until("it has ended, long before its time", || !leadership.is_valid());
}

#[test]
fn a_lock_is_handed_over_after_the_job_or_else_not_renewed() {
    let told: Arc<StubState> = Arc::default();
    let lock = start(&told, 1500, false).unwrap();
    let leadership = lock.leadership().unwrap();
    let hold = lock.hold(Duration::ZERO).unwrap();
    lock.hand_over();
    until("its time is over", || !leadership.is_valid());
    assert!(told.renewals.load(Ordering::SeqCst) <= 1, "it is not renewed");
    drop(hold);
    until("it is given back", || told.releases.load(Ordering::SeqCst) > 0);
    until("it holds it again", || lock.leadership().is_some());
    let (releases, again) = (told.releases.load(Ordering::SeqCst), lock.leadership().unwrap());
    lock.hand_over();
    until("it is given back at once", || told.releases.load(Ordering::SeqCst) > releases);
    assert!(!again.is_valid());
}

#[test]
fn an_engine_that_does_not_answer_is_waited_for_where_that_is_wanted() {
    let told: Arc<StubState> = Arc::default();
    told.is_silent.store(true, Ordering::SeqCst);
    let silent = EngineError::Unreachable("silent".to_owned());
    assert_eq!(start(&told, 1000, false).err(), Some(silent.clone()));
    let lock = start(&told, 1000, true).unwrap();
    assert_eq!(lock.trouble(), Some(silent));
    told.is_silent.store(false, Ordering::SeqCst);
    until("it holds it", || lock.leadership().is_some());
    assert_eq!(lock.trouble(), None);
}
