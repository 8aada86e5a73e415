//! The commands of operators that a client gives, but for changes of the members.

use serde_json::json;

use super::client::{Achieved, Client, ClientError, Recipient};

impl Client {
    /// Asks this node to let the leader resign, whichever node it is.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn resign(&self, to: Recipient<'_>, next: Option<&str>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "resign", &json!({ "to": next }).to_string())
    }

    /// Asks this node to have that member lead, whatever its rank.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn switchover(&self, to: Recipient<'_>, next: &str) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "switchover", &json!({ "to": next }).to_string())
    }

    /// Asks this node to have the leader that a switchover chose preempted again as any other.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn end_switchover(&self, to: Recipient<'_>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "switchover", r#"{"clear": true}"#)
    }

    /// Asks this node not to lead any more: for so long, or until it is undrained.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn drain(
        &self,
        to: Recipient<'_>,
        length: Option<&str>,
        reason: &str,
    ) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "drain", &json!({ "for": length, "reason": reason }).to_string())
    }

    /// Asks this node to lead again where it may.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn undrain(&self, to: Recipient<'_>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "undrain", "{}")
    }

    /// Asks this node to have the cluster paused: for so long, or until it is resumed.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn pause(&self, to: Recipient<'_>, length: Option<&str>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "pause", &json!({ "for": length }).to_string())
    }

    /// Asks this node to have the cluster resumed.
    ///
    /// # Errors
    /// When nobody answers there, or the node refuses.
    pub fn resume(&self, to: Recipient<'_>) -> Result<Achieved, ClientError> {
        self.command(to, "POST", "resume", "{}")
    }
}
