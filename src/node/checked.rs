//! A member's health check: from its entry in the configuration to what the election thread hears of it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::bounded;
use parking_lot::Mutex;

use super::clock::{moment, wall_clock_ms};
use super::inbox::{InboxEvent, Queue};
use super::publish::Published;
use super::status::HealthStatus;
use super::surroundings::Surroundings;
use crate::config::{Config, HealthConfig, MemberConfig};
use crate::rank::{Finding, HealthCheck, HealthChecker, HealthVerdict};

/// Runs a member's health check once, now, on this host; none where it has no check. It may take as long as its
/// timeout.
#[must_use]
pub fn check(config: &Config, member: &MemberConfig) -> Option<Finding> {
    let variables = Surroundings::new(config, &member.name).variables();
    let unable = |why| Finding { output: String::new(), failure: Some(why) };
    let health = member.health.as_ref()?;
    Some(of(health).run(&variables).unwrap_or_else(unable))
}

fn of(health: &HealthConfig) -> HealthCheck {
    let HealthConfig { program, arguments, timeout, every, fall, rise, .. } = health.clone();
    HealthCheck { program, arguments, timeout, every, fall, rise }
}

/// Lets the health check of a running member be changed from elsewhere. Cheap to clone.
#[derive(Clone)]
pub struct Checks {
    checker: Arc<Mutex<Option<HealthChecker>>>,
    published: Arc<Published>,
    events: Queue,
    surroundings: Surroundings,
}

impl Checks {
    /// Without a check so far.
    pub(super) fn new(
        published: Arc<Published>,
        events: Queue,
        surroundings: Surroundings,
    ) -> Checks {
        Checks { checker: Arc::default(), published, events, surroundings }
    }

    /// Runs this check from now on, and an earlier one no more. The start of the node does not wait for its first result.
    pub(super) fn start(&self, health: &HealthConfig) -> io::Result<()> {
        let (published, events) = (self.published.clone(), self.events.clone());
        let (closed, opened) = bounded::<()>(0);
        let deliver = move |verdict: HealthVerdict, finding: Finding| {
            let _ = opened.recv(); // the earlier check may have a result until it has stopped
            log(verdict, &finding);
            let before = published.watched().health.clone();
            published.show(|watched| watched.health = Some(shown(before, verdict, finding)));
            if !verdict.is_new {
                return true;
            }
            published.ring();
            events.send(InboxEvent::Checked { healthy: verdict.healthy })
        };
        let checker = HealthChecker::start(of(health), self.surroundings.variables(), deliver)?;
        // Only now: without a thread for this check, the earlier one goes on.
        let earlier = self.checker.lock().replace(checker);
        if let Some(earlier) = earlier {
            earlier.stop();
        }
        if self.published.watched().health.is_none() {
            self.published.show(|watched| watched.health = Some(unknown()));
        }
        drop(closed);
        Ok(())
    }

    /// Runs no check any more.
    pub(super) fn stop(&self) {
        let checker = self.checker.lock().take();
        if let Some(checker) = checker {
            checker.stop();
        }
    }

    /// Runs another check from now on, whose first result alone decides; until then the last verdict
    /// counts. Without one the member counts as healthy.
    ///
    /// # Errors
    /// When the system has no thread left; the present check goes on then.
    pub fn replace(&self, health: Option<&HealthConfig>) -> io::Result<()> {
        if let Some(health) = health {
            return self.start(health);
        }
        self.stop();
        self.published.show(|watched| watched.health = None);
        // The election may have ended.
        let healthy = InboxEvent::Checked { healthy: true };
        let _ = self.events.send_timeout(healthy, Duration::from_secs(1));
        Ok(())
    }
}

/// What is shown after a check, and what was shown before it.
fn shown(before: Option<HealthStatus>, verdict: HealthVerdict, finding: Finding) -> HealthStatus {
    let (healthy, Finding { output, failure }) = (verdict.healthy, finding);
    let before = before.filter(|before| before.healthy == healthy);
    let (since, failed) = before.map_or((now(), None), |it| (it.since, it.failure));
    // The reason of an unhealthy node stays visible until the check has passed often enough.
    let failure = failure.or(failed.filter(|_| !healthy));
    HealthStatus { healthy, since, output, failure }
}

/// No check has ended yet.
fn unknown() -> HealthStatus {
    HealthStatus { since: now(), ..HealthStatus::default() }
}

fn now() -> String {
    moment(wall_clock_ms())
}

/// Says once that the checks fail, and once that they pass.
fn log(verdict: HealthVerdict, finding: &Finding) {
    match (verdict, &finding.failure) {
        (HealthVerdict { healthy: false, is_new: true }, Some(why)) => log::warn!(
            event = "health";
            "unhealthy: {why}; until it is healthy again, this node is not eligible"
        ),
        (HealthVerdict { healthy: true, is_new: true }, _) => {
            log::info!(event = "health"; "healthy: the health check passes");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::core::settings::Alone;
    use crate::node::logged::{fields, logged};

    #[test]
    fn a_check_is_as_the_file_says() {
        let health = HealthConfig {
            program: "probe".into(),
            arguments: vec!["fast".to_owned()],
            every: Duration::from_secs(3),
            timeout: Duration::from_secs(2),
            fall: 4,
            rise: 5,
            alone: Alone::default(),
        };
        let expected = HealthCheck {
            program: "probe".into(),
            arguments: vec!["fast".to_owned()],
            timeout: Duration::from_secs(2),
            every: Duration::from_secs(3),
            fall: 4,
            rise: 5,
        };
        assert_eq!(of(&health), expected);
    }

    fn finding(output: &str, failure: Option<&str>) -> Finding {
        Finding { output: output.to_owned(), failure: failure.map(str::to_owned) }
    }

    #[test]
    fn a_node_shows_why_it_is_unhealthy_until_it_is_healthy_and_since_when() {
        let after = |before: &HealthStatus, healthy, failure| {
            let verdict = HealthVerdict { healthy, is_new: healthy != before.healthy };
            shown(Some(before.clone()), verdict, finding("said", failure))
        };
        let ill = HealthStatus { since: "then".to_owned(), ..HealthStatus::default() };
        let fails = after(&ill, false, Some("code 1"));
        assert_eq!((fails.since.as_str(), fails.failure.as_deref()), ("then", Some("code 1")));
        let passes_once = after(&fails, false, None);
        assert_eq!((passes_once.since.as_str(), passes_once.output.as_str()), ("then", "said"));
        assert_eq!(passes_once.failure.as_deref(), Some("code 1"), "it is not healthy yet");
        let well = after(&passes_once, true, None);
        assert!(well.healthy && well.failure.is_none() && well.since.starts_with("20"), "{well:?}");
        let well = HealthStatus { since: "later".to_owned(), ..well };
        let fails_once = after(&well, true, Some("code 2"));
        assert_eq!(
            (fails_once.since.as_str(), fails_once.failure.as_deref()),
            ("later", Some("code 2"))
        );
        assert_eq!(after(&fails_once, true, None), well, "it was one failure");
        let verdict = HealthVerdict { healthy: true, is_new: true };
        let first = shown(None, verdict, finding("said", None));
        assert_eq!(first, HealthStatus { since: first.since.clone(), ..well });
        assert!(first.since.starts_with("20") && first.since.ends_with('Z'), "{first:?}");
    }

    #[test]
    fn a_verdict_is_logged_when_it_changes() {
        let line = |healthy, is_new| {
            logged(|| log(HealthVerdict { healthy, is_new }, &finding("", Some("code 1"))))
                .join("\n")
        };
        let ill =
            "WARN health: unhealthy: code 1; until it is healthy again, this node is not eligible";
        assert_eq!((line(false, true).as_str(), line(false, false).as_str()), (ill, ""));
        let well = "INFO health: healthy: the health check passes";
        assert_eq!((line(true, true).as_str(), line(true, false).as_str()), (well, ""));
        let fields_of = |healthy| {
            fields(|| log(HealthVerdict { healthy, is_new: true }, &finding("", Some("code 1"))))
        };
        assert_eq!([fields_of(false), fields_of(true)].concat(), ["event=health"; 2]);
    }

    /// Whatever the old one finds is not shown after that.
    #[test]
    fn a_check_that_is_replaced_runs_no_more() {
        use crate::node::{example, publish::tests::published};

        let (config, _folder) = example::cluster().unwrap();
        let (sender, events) = crossbeam::channel::bounded(9);
        let queue = Queue::new(sender, crate::realtime::Realtime::default());
        let published = Arc::new(published());
        let checks = Checks::new(published.clone(), queue, Surroundings::new(&config, "a"));
        let (holders, limit) = (Arc::strong_count(&published), Duration::from_secs(60));
        let health = |command: &str| HealthConfig {
            program: "sh".into(),
            arguments: ["-c", command].map(str::to_owned).to_vec(),
            every: limit,
            timeout: limit,
            fall: 1,
            rise: 1,
            alone: Alone::default(),
        };
        let verdict = || match events.recv_timeout(limit) {
            Ok(InboxEvent::Checked { healthy }) => healthy,
            other => panic!("{other:?}"),
        };
        let now = || published.watched().health.clone();
        let news = published.news();
        let _ = news.try_recv(); // of an earlier time
        checks.start(&health("echo well $ELECTD_NODE")).unwrap();
        assert!(verdict());
        let well = now().unwrap();
        assert_eq!(
            (well.healthy, well.output.as_str(), well.failure.as_deref()),
            (true, "well a", None)
        );
        assert!(news.try_recv().is_ok(), "the problems are looked for at once");
        checks.replace(Some(&health("echo ill; exit 3"))).unwrap();
        assert!(!verdict(), "the first result of another check decides");
        let ill = now().unwrap();
        assert_eq!((ill.healthy, ill.output.as_str()), (false, "ill"));
        assert!(ill.failure.as_ref().is_some_and(|why| why.ends_with("code 3: ill")), "{ill:?}");
        checks.replace(None).unwrap();
        assert_eq!(Arc::strong_count(&published), holders, "its thread has ended");
        assert_eq!(now(), None);
        assert!(matches!(events.try_recv(), Ok(InboxEvent::Checked { healthy: true })));
    }

    /// A lack that passes must not leave a member that nobody checks.
    #[test]
    fn a_check_goes_on_where_there_is_no_thread_or_descriptor_for_the_one_that_is_to_replace_it() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        use crate::node::{example, publish::tests::published};
        use crate::testing::{alone::alone, within::within};

        let this = "a_check_goes_on_where_there_is_no_thread_or_descriptor_for_the_one_that_is_to_replace_it";
        if alone(&format!("node::checked::tests::{this}")).is_some() {
            return;
        }
        let (config, _folder) = example::cluster().unwrap();
        let (sender, _events) = crossbeam::channel::bounded(9);
        let queue = Queue::new(sender, crate::realtime::Realtime::default());
        let published = Arc::new(published());
        let checks = Checks::new(published.clone(), queue, Surroundings::new(&config, "a"));
        let (folder, limit) = (tempfile::tempdir().unwrap(), Duration::from_secs(60));
        let health = |name: &str| HealthConfig {
            program: "touch".into(),
            arguments: vec![folder.path().join(name).display().to_string()],
            every: Duration::from_millis(1),
            timeout: limit,
            fall: 1,
            rise: 1,
            alone: Alone::default(),
        };
        checks.start(&health("first")).unwrap();
        let usual = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..usual }).unwrap();
        let refused = checks.replace(Some(&health("second")));
        setrlimit(Resource::Nofile, usual).unwrap();
        assert_eq!(refused.map_err(|error| error.raw_os_error()), Err(Some(24)), "EMFILE");
        for _ in 0..3 {
            let _ = std::fs::remove_file(folder.path().join("first")); // it may not be there yet
            within(limit, "the first one runs", || folder.path().join("first").exists());
        }
        assert!(!folder.path().join("second").exists());
        checks.replace(Some(&health("second"))).unwrap();
        within(limit, "the second one runs", || folder.path().join("second").exists());
        checks.stop();
    }

    /// A node that starts waits for no check, and is not eligible until one passes.
    #[test]
    fn a_check_that_has_not_ended_yet_shows_a_node_that_is_not_healthy() {
        use crate::node::{example, publish::tests::published};

        let (config, _folder) = example::cluster().unwrap();
        let (sender, events) = crossbeam::channel::bounded(9);
        let queue = Queue::new(sender, crate::realtime::Realtime::default());
        let published = Arc::new(published());
        let checks = Checks::new(published.clone(), queue, Surroundings::new(&config, "a"));
        let (folder, limit) = (tempfile::tempdir().unwrap(), Duration::from_secs(60));
        let gate = folder.path().join("gate");
        let waits = HealthConfig {
            program: "sh".into(),
            arguments: vec![
                "-c".into(),
                "echo >>\"$0.runs\"; until test -e \"$0\"; do sleep 0.01; done".into(),
            ],
            every: Duration::from_millis(1),
            timeout: limit,
            fall: 1,
            rise: 1,
            alone: Alone::default(),
        };
        let waits = HealthConfig {
            arguments: [waits.arguments, vec![gate.display().to_string()]].concat(),
            ..waits
        };
        checks.start(&waits).unwrap();
        let shown = published.watched().health.clone().unwrap();
        let expected = HealthStatus { since: shown.since.clone(), ..HealthStatus::default() };
        assert_eq!((shown.healthy, &shown), (false, &expected));
        assert!(shown.since.starts_with("20"), "{shown:?}");
        std::fs::write(&gate, "").unwrap();
        assert!(matches!(events.recv_timeout(limit), Ok(InboxEvent::Checked { healthy: true })));
        let since = || published.watched().health.as_ref().map(|shown| shown.since.clone());
        let passed = since();
        checks.replace(Some(&waits)).unwrap();
        assert!(matches!(events.recv_timeout(limit), Ok(InboxEvent::Checked { healthy: true })));
        assert_eq!(since(), passed, "it was healthy all the time");
        let runs =
            || std::fs::read_to_string(folder.path().join("gate.runs")).unwrap().lines().count();
        let before = runs();
        crate::testing::within::within(limit, "it runs thrice", || runs() > before + 2);
        checks.stop();
        assert!(events.is_empty(), "a verdict is told when it changes");
    }

    #[test]
    fn a_member_without_a_check_is_checked_by_none_and_another_once() {
        let (config, _folder) = crate::node::example::cluster().unwrap();
        let own = &config.members[0];
        assert_eq!(check(&config, own), None);
        let health = |command: &str| {
            let health = HealthConfig {
                program: "sh".into(),
                arguments: ["-c", command].map(str::to_owned).to_vec(),
                every: Duration::from_secs(1),
                timeout: Duration::from_secs(60),
                fall: 3,
                rise: 1,
                alone: Alone::default(),
            };
            check(&config, &MemberConfig { health: Some(health), ..own.clone() }).unwrap()
        };
        assert_eq!(health("echo well $ELECTD_NODE"), finding("well a", None));
        let ill = health("echo ill; exit 3");
        assert_eq!(ill.output, "ill");
        assert!(ill.failure.is_some_and(|why| why.ends_with("code 3: ill")));
    }
}
