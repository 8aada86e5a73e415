//! Events as JSON: what docs/trace.md describes.

use std::time::Duration;

use serde_json::{Value, json};

use super::diagram::Diagram;
use super::event::{DrawnEvent, DrawnWhat};
use crate::core::types::Time;

/// A diagram as JSON: its title, its members and its events.
#[must_use]
pub fn json(diagram: &Diagram) -> Value {
    let Diagram { title, names, events, .. } = diagram;
    let events = events.iter().enumerate().map(|(at, event)| object(at, event, names));
    json!({ "title": title, "members": names, "events": events.collect::<Vec<_>>() })
}

fn object(at: usize, event: &DrawnEvent, names: &[String]) -> Value {
    let mut object = json!({
        "event": at,
        "at_ms": millis(event.time.since(Time(0))),
        "member": names.get(event.node),
        "what": event.what.name(),
        "causes": event.causes,
    });
    if let DrawnWhat::Sends { unseen: Some(unseen), .. } = event.what {
        object["unseen"] = unseen.name().into();
    }
    let more = match &event.what {
        DrawnWhat::Sends { to, arrives, lost, .. } => json!({
            "to": names.get(*to), "arrives_ms": millis(arrives.since(Time(0))), "lost": lost,
        }),
        DrawnWhat::Becomes { phase, reason, .. } => {
            json!({ "phase": phase.name(), "reason": reason })
        }
        DrawnWhat::Waited { since, .. } => json!({ "since_ms": millis(since.since(Time(0))) }),
        DrawnWhat::Led | DrawnWhat::Starts | DrawnWhat::Dies | DrawnWhat::Suffers(_) => json!({}),
    };
    object["label"] = event.what.label().into();
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
