//! A member's rank: from its entry in the configuration to samples for the election thread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::inbox::{Event, Queue};
use super::surroundings::Surroundings;
use crate::config::{Attribute, Config, MemberConfig};
use crate::rank::{Outcome, Sampler, Source};

/// Takes one sample of the rank of a member of this cluster now, on this host. It may take as long as its command's
/// timeout, or a name server.
///
/// # Errors Says in words why there is no value.
pub fn sample(config: &Config, member: &MemberConfig) -> Outcome {
    source(member).sample(&Surroundings::new(config, &member.name).variables())
}

/// Takes the first sample, and starts to take the others for the election thread.
pub(super) fn start(
    member: &MemberConfig,
    events: Queue,
    surroundings: &Surroundings,
) -> io::Result<(Sampler, Outcome)> {
    let deliver = move |outcome| events.send(Event::Sampled(outcome));
    Sampler::start(source(member), member.rank.every, surroundings.variables(), deliver)
}

fn source(member: &MemberConfig) -> Source {
    match member.rank.attribute.clone() {
        Attribute::Id => Source::Id,
        Attribute::Priority(number) => Source::Priority(number),
        Attribute::Address => Source::Address(member.address.clone()),
        Attribute::Cpu => Source::Cpu,
        Attribute::Disk(path) => Source::Disk(path),
        Attribute::Files(path) => Source::Files(path),
        Attribute::Command { program, arguments, timeout } => {
            Source::Command { program, arguments, timeout }
        }
    }
}

/// Lets the rank of a running member be read from elsewhere. Cheap to clone.
#[derive(Clone)]
pub struct Ranks {
    sampler: Arc<Mutex<Option<Sampler>>>,
    events: Queue,
    surroundings: Surroundings,
}

impl Ranks {
    pub(super) fn new(sampler: Sampler, events: Queue, surroundings: Surroundings) -> Ranks {
        Ranks { sampler: Arc::new(Mutex::new(Some(sampler))), events, surroundings }
    }

    /// Stops sampling.
    pub(super) fn stop(&self) {
        if let Some(sampler) = self.sampler.lock().take() {
            sampler.stop();
        }
    }

    /// Reads the rank from now on as this entry says. The present leader stays unless `preempt` has it
    /// otherwise. Waits for the first sample, as a start does.
    ///
    /// # Errors
    /// When the system has no thread left; nothing has changed then.
    pub fn replace(&self, own: &MemberConfig) -> io::Result<()> {
        let mut sampler = self.sampler.lock();
        let (new, first) = start(own, self.events.clone(), &self.surroundings)?;
        if let Some(old) = sampler.replace(new) {
            old.stop();
        }
        // Last, so that it goes over what the old one brought meanwhile. The election may have ended.
        let _ = self.events.send_timeout(Event::Sampled(first), Duration::from_secs(1));
        Ok(())
    }
}
