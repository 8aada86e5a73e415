//! The commands of operators, as a client sends them.

use serde_json::Value;

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
    pub(super) ends_leadership: bool,
}

impl Order {
    /// `POST` to this path.
    #[must_use]
    pub fn post(path: &str, body: &Value) -> Order {
        let (path, body) = (path.to_owned(), body.to_string());
        Order { method: "POST", path, body, ends_leadership: false }
    }

    /// `DELETE` of this path.
    #[must_use]
    pub fn delete(path: String) -> Order {
        Order { method: "DELETE", path, body: String::new(), ends_leadership: false }
    }

    /// The same, which may end a leadership: then the client waits until the leader's job has ended.
    #[must_use]
    pub fn ending_a_leadership(self) -> Order {
        Order { ends_leadership: true, ..self }
    }
}
