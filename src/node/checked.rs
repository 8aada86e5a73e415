//! A member's health check: from its entry in the configuration to what the election thread hears of it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::clock::{moment, wall_clock_ms};
use super::inbox::{Event, Queue};
use super::publish::Published;
use super::status::HealthStatus;
use super::surroundings::Surroundings;
use crate::config::{Config, HealthConfig, MemberConfig};
use crate::rank::{Check, Checker, Finding, Verdict};

/// Runs a member's health check once, now, on this host; none where it has no check. It may take as long as its
/// timeout.
#[must_use]
pub fn check(config: &Config, member: &MemberConfig) -> Option<Finding> {
    let variables = Surroundings::new(config, &member.name).variables();
    let unable = |why| Finding { output: String::new(), failure: Some(why) };
    let health = member.health.as_ref()?;
    Some(of(health).run(&variables).unwrap_or_else(unable))
}

fn of(health: &HealthConfig) -> Check {
    let HealthConfig { program, arguments, timeout, every, fall, rise, .. } = health.clone();
    Check { program, arguments, timeout, every, fall, rise }
}

/// Lets the health check of a running member be changed from elsewhere. Cheap to clone.
#[derive(Clone)]
pub struct Checks {
    checker: Arc<Mutex<Option<Checker>>>,
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

    /// Runs this check from now on. The start of the node does not wait for its first result.
    pub(super) fn start(&self, health: &HealthConfig) -> io::Result<()> {
        let (published, events) = (self.published.clone(), self.events.clone());
        if published.watched().health.is_none() {
            published.show(|watched| watched.health = Some(HealthStatus::unknown()));
        }
        let deliver = move |verdict: Verdict, finding: Finding| {
            log(verdict, &finding);
            show(&published, verdict, finding);
            if !verdict.is_new {
                return true;
            }
            published.ring();
            events.send(Event::Checked { healthy: verdict.healthy })
        };
        let checker = Checker::start(of(health), self.surroundings.variables(), deliver)?;
        *self.checker.lock() = Some(checker);
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
    /// When the system has no thread left; no check runs then, and the last verdict stays.
    pub fn replace(&self, health: Option<&HealthConfig>) -> io::Result<()> {
        self.stop();
        if let Some(health) = health {
            return self.start(health);
        }
        self.published.show(|watched| watched.health = None);
        // The election may have ended.
        let healthy = Event::Checked { healthy: true };
        let _ = self.events.send_timeout(healthy, Duration::from_secs(1));
        Ok(())
    }
}

fn show(published: &Published, verdict: Verdict, finding: Finding) {
    let (healthy, Finding { output, failure }) = (verdict.healthy, finding);
    let before = published.watched().health.clone().filter(|before| before.healthy == healthy);
    let (since, failed) = before.map_or((now(), None), |it| (it.since, it.failure));
    // The reason of an unhealthy node stays visible until the check has passed often enough.
    let failure = failure.or(failed.filter(|_| !healthy));
    let health = HealthStatus { healthy, since, output, failure };
    published.show(|watched| watched.health = Some(health));
}

impl HealthStatus {
    /// No check has ended yet.
    fn unknown() -> HealthStatus {
        HealthStatus { since: now(), ..HealthStatus::default() }
    }
}

fn now() -> String {
    moment(wall_clock_ms())
}

/// Says once that the checks fail, and once that they pass.
fn log(verdict: Verdict, finding: &Finding) {
    match (verdict, &finding.failure) {
        (Verdict { healthy: false, is_new: true }, Some(why)) => log::warn!(
            event = "health";
            "unhealthy: {why}; until it is healthy again, this node is not eligible"
        ),
        (Verdict { healthy: true, is_new: true }, _) => {
            log::info!(event = "health"; "healthy: the health check passes");
        }
        _ => {}
    }
}
