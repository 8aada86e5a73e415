//! A member's rank: from its entry in the configuration to samples for the election thread.

use std::io;

use crossbeam::channel::Sender;

use super::election::Event;
use crate::config::{Attribute, MemberConfig};
use crate::rank::{Outcome, Sampler, Source};

/// Takes one sample of a member's rank now, on this host. It may take as long as its command's
/// timeout, or a name server.
///
/// # Errors
/// In words, when there is nothing to be read.
pub fn sample(member: &MemberConfig) -> Outcome {
    source(member).sample()
}

/// Takes the first sample, and starts to take the others for the election thread.
pub(super) fn start(
    member: &MemberConfig,
    events: Sender<Event>,
) -> io::Result<(Sampler, Outcome)> {
    let deliver = move |outcome| events.send(Event::Sampled(outcome)).is_ok();
    Sampler::start(source(member), member.rank.every, deliver)
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
