//! A change of state, as the status, the history and the events tell it.

use serde::{Deserialize, Serialize};

/// One change of state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeStatus {
    /// Counts the changes since the start, from 1.
    pub number: u64,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// Its state in the halting algorithm: down, election, reorganization or normal; null with the
    /// others.
    pub halting: Option<String>,
    /// The leader named afterwards, by its name.
    pub leader: Option<String>,
    /// The epoch known afterwards.
    pub epoch: u64,
    /// Why, in words.
    pub reason: String,
    /// Why, as one word for programs, such as leader_dead.
    #[serde(default)]
    pub cause: String,
    /// Whether that keeps the members from electing a leader. Not told: `leaderless` tells what does.
    #[serde(skip)]
    pub hinders: bool,
    /// For how long this node had not heard the leader before, or had stood still, in milliseconds; 0 if it heard that
    /// leader until this change.
    #[serde(default)]
    pub silent_ms: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    /// A member of another version may lack what came later.
    #[test]
    fn a_change_is_told_whole_but_for_what_hinders_and_read_without_what_came_later() {
        let change = ChangeStatus {
            number: 1,
            at_ms: 2,
            from: "following".to_owned(),
            to: "electing".to_owned(),
            halting: Some("election".to_owned()),
            leader: Some("b".to_owned()),
            epoch: 3,
            reason: "b is dead".to_owned(),
            cause: "leader_dead".to_owned(),
            hinders: true,
            silent_ms: 4,
        };
        let mut told = json!({
            "number": 1, "at_ms": 2, "from": "following", "to": "electing", "halting": "election", "leader": "b",
            "epoch": 3, "reason": "b is dead", "cause": "leader_dead", "silent_ms": 4
        });
        assert_eq!(json!(change), told);
        let read = ChangeStatus { hinders: false, ..change };
        assert_eq!(from_value::<ChangeStatus>(told.clone()).unwrap(), read);
        let fields = told.as_object_mut().unwrap();
        fields.retain(|key, _| !["cause", "silent_ms"].contains(&key.as_str()));
        let early = ChangeStatus { cause: String::new(), silent_ms: 0, ..read };
        assert_eq!(from_value::<ChangeStatus>(told).unwrap(), early);
    }
}
