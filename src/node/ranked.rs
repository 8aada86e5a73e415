//! A member's rank: from its entry in the configuration to samples for the election thread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::inbox::{InboxEvent, Queue};
use super::surroundings::Surroundings;
use crate::config::{Attribute, Config, MemberConfig};
use crate::core::types::Role;
use crate::rank::{AttributeSource, SampleResult, Sampler};

/// Takes one sample of the rank of a member of this cluster now, on this host. It may take as long as its command's
/// timeout, or a name server.
///
/// # Errors Says in words why there is no value.
pub fn sample(config: &Config, member: &MemberConfig) -> SampleResult {
    source(member).sample(&Surroundings::new(config, &member.name).variables())
}

/// Takes the first sample, and starts to take the others for the election thread.
pub(super) fn start(
    member: &MemberConfig,
    events: Queue,
    surroundings: &Surroundings,
) -> io::Result<(Sampler, SampleResult)> {
    let deliver = move |outcome| events.send(InboxEvent::Sampled(outcome));
    Sampler::start(source(member), member.rank.every, surroundings.variables(), deliver)
}

/// A member that never leads needs no rank.
fn source(member: &MemberConfig) -> AttributeSource {
    if member.role != Role::Member {
        return AttributeSource::Id;
    }
    match member.rank.attribute.clone() {
        Attribute::Id => AttributeSource::Id,
        Attribute::Priority(number) => AttributeSource::Priority(number),
        Attribute::Address => AttributeSource::Address(member.address.clone()),
        Attribute::Cpu => AttributeSource::Cpu,
        Attribute::Disk(path) => AttributeSource::Disk(path),
        Attribute::Files(path) => AttributeSource::Files(path),
        Attribute::Command { program, arguments, timeout } => {
            AttributeSource::Command { program, arguments, timeout }
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
        let _ = self.events.send_timeout(InboxEvent::Sampled(first), Duration::from_secs(1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crossbeam::channel::bounded;
    use serde_json::json;

    use super::*;
    use crate::config::Builder;
    use crate::realtime::Realtime;

    /// A member whose rank is read as this entry says.
    fn config(by: &str, rank: &serde_json::Value) -> Config {
        let (id, address) = ("018db8ac-db45-4792-a0b9-9560d9932c98", "127.0.0.1:7100");
        let member = json!({ "name": "a", "id": id, "address": address, "rank": rank });
        let builder = Builder::new("c", "none", "/nowhere").member_with(member);
        builder.set("rank", json!({ "by": by })).build().unwrap()
    }

    #[test]
    fn each_way_to_rank_has_its_source() {
        let path = || PathBuf::from("/nowhere/x");
        let command = AttributeSource::Command {
            program: PathBuf::from("/bin/rank"),
            arguments: vec!["x".to_owned()],
            timeout: Duration::from_secs(7),
        };
        let command_entry = json!({ "command": ["/bin/rank", "x"], "timeout": "7s" });
        for (by, entry, expected) in [
            ("id", json!({}), AttributeSource::Id),
            ("priority", json!({ "priority": 7 }), AttributeSource::Priority(7)),
            ("address", json!({}), AttributeSource::Address("127.0.0.1:7100".to_owned())),
            ("cpu", json!({}), AttributeSource::Cpu),
            ("disk", json!({ "path": "/nowhere/x" }), AttributeSource::Disk(path())),
            ("files", json!({ "path": "/nowhere/x" }), AttributeSource::Files(path())),
            ("command", command_entry, command),
        ] {
            assert_eq!(source(&config(by, &entry).members[0]), expected, "{by}");
        }
        for role in [Role::Witness, Role::Observer] {
            let command = json!({ "command": ["/bin/rank"] });
            let mut config = config("command", &command);
            config.members[0].role = role;
            let expected = AttributeSource::Id;
            assert_eq!(
                source(&config.members[0]),
                expected,
                "a {role:?} never leads, and needs no rank"
            );
        }
        let priority = config("priority", &json!({ "priority": 7 }));
        assert_eq!(sample(&priority, &priority.members[0]).map(|sample| sample.value), Ok(7));
    }

    #[test]
    fn a_program_that_ranks_hears_of_which_member_it_is_asked() {
        let script = "[ \"$ELECTD_NODE$ELECTD_CLUSTER\" = ac ] && echo 5";
        let config = config("command", &json!({ "command": ["/bin/sh", "-c", script] }));
        assert_eq!(sample(&config, &config.members[0]).map(|sample| sample.value), Ok(5));
    }

    /// The last sample counts: the new one goes over whatever the old source brought meanwhile.
    #[test]
    fn a_rank_that_is_replaced_is_sampled_at_once_and_the_old_one_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("echo >> {}/runs; echo 3", folder.path().display());
        let command = ["/bin/sh", "-c", &script];
        let old = config("command", &json!({ "command": command, "every": "1s" }));
        let (sender, events) = bounded(99);
        let queue = Queue::new(sender, Realtime::default());
        let surroundings = Surroundings::new(&old, "a");
        let (sampler, first) = start(&old.members[0], queue.clone(), &surroundings).unwrap();
        assert_eq!(first.map(|sample| sample.value), Ok(3));
        let ranks = Ranks::new(sampler, queue, surroundings);
        let new = config("priority", &json!({ "priority": 8 }));
        ranks.replace(&new.members[0]).unwrap();
        let last = events.try_iter().last();
        let Some(InboxEvent::Sampled(Ok(sample))) = last else { panic!("{last:?}") };
        assert_eq!(sample.value, 8);
        ranks.stop();
        assert!(ranks.sampler.lock().is_none() && events.is_empty());
        drop(ranks);
        assert!(events.recv().is_err(), "no thread is left that samples");
    }
}
