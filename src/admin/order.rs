//! The commands of operators, as a client sends them.

use std::time::Duration;

use serde_json::Value;

use crate::config::timing::with_unit;

/// What an operator may ask for: wall clocks count milliseconds, and 10 years are as good as no end.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(87_600 * 60 * 60);

/// A command to a node, as an HTTP request.
///
/// ```
/// use electd::admin::client::Order;
/// use serde_json::json;
///
/// let pause = Order::post("pause", &json!({ "for": "30m" }));
/// let resign = Order::post("resign", &json!({ "to": "node-2" })).ending_a_leadership();
/// assert_ne!(pause, resign);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) body: String,
    pub(super) waits: WaitsFor,
}

/// What a command may have to wait for before it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Nothing but the leader.
    Leader,
    /// The end of promises by the last list of the members.
    Promises,
    /// The end of a job.
    Job,
}

impl Order {
    /// `POST` to this path.
    #[must_use]
    pub fn post(path: &str, body: &Value) -> Order {
        let (path, body) = (path.to_owned(), body.to_string());
        Order { method: "POST", path, body, waits: WaitsFor::Leader }
    }

    /// `DELETE` of this path.
    #[must_use]
    pub fn delete(path: String) -> Order {
        Order { method: "DELETE", path, body: String::new(), waits: WaitsFor::Leader }
    }

    /// The same, which may end a leadership: then the client waits until the leader's job has ended.
    #[must_use]
    pub fn ending_a_leadership(self) -> Order {
        Order { waits: WaitsFor::Job, ..self }
    }

    /// The same, which changes the members: the leader may have to wait until what voters promised by the last list has ended.
    #[must_use]
    pub fn changing_members(self) -> Order {
        Order { waits: WaitsFor::Promises, ..self }
    }
}

/// For how long an order is to last. The commands judge it as the node does, which may be of another version.
///
/// # Errors
/// In words.
pub fn how_long(text: &str) -> Result<Duration, String> {
    let time = with_unit(text).and_then(|time| Duration::try_from(time).ok());
    let time =
        time.ok_or_else(|| format!("\"{text}\" is no time: give a number and a unit, such as 1h"))?;
    if !(SHORTEST..=LONGEST).contains(&time) {
        let range = "give 1ms to 87600h, or leave it out for no end";
        return Err(format!("\"{text}\" is out of range: {range}"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_order_is_a_request() {
        let pause = Order::post("pause", &json!({ "for": "1h" }));
        let parts = |order: &Order| (order.method, order.path.clone(), order.body.clone());
        let expected = ("POST", "pause".to_owned(), r#"{"for":"1h"}"#.to_owned());
        assert_eq!((parts(&pause), pause.waits), (expected, WaitsFor::Leader));
        let end = Order::delete("switchover".to_owned());
        let expected = ("DELETE", "switchover".to_owned(), String::new());
        assert_eq!((parts(&end), end.waits), (expected, WaitsFor::Leader));
        assert_eq!(end.clone().changing_members().waits, WaitsFor::Promises);
        assert_eq!(end.ending_a_leadership().waits, WaitsFor::Job);
    }

    #[test]
    fn a_time_is_taken_in_its_range_alone() {
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        for (text, taken) in
            [("1ms", Duration::from_millis(1)), ("1h", hours(1)), ("87600h", hours(87_600))]
        {
            assert_eq!(how_long(text), Ok(taken), "{text}");
        }
        for text in ["0ms", "87601h"] {
            let expected = format!(
                "\"{text}\" is out of range: give 1ms to 87600h, or leave it out for no end"
            );
            assert_eq!(how_long(text), Err(expected));
        }
        let expected = "\"soon\" is no time: give a number and a unit, such as 1h";
        assert_eq!(how_long("soon"), Err(expected.to_owned()));
    }
}
