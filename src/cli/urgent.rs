//! What `electd check` says of `realtime` on this host.

use serde_json::{Value, json};

use crate::config::Config;
use crate::realtime;

/// Whether a node could run in real time here, where its file asks for that.
pub struct Urgent(Option<Result<(), String>>);

impl Urgent {
    /// Tries it, as the user that runs this.
    pub fn of(config: &Config) -> Urgent {
        Urgent(config.realtime.then(|| realtime::refusal().map_or(Ok(()), Err)))
    }

    /// The finding in words; none where the file does not ask for it.
    pub fn words(&self) -> Option<String> {
        Some(match self.0.as_ref()? {
            Ok(()) => "the threads of the election can run in real time".to_owned(),
            Err(why) => format!("WARNING: as this user, with the limits of this shell, {why}"),
        })
    }

    /// What the system refuses, for programs.
    pub fn refused(&self) -> Value {
        json!(self.0.as_ref().and_then(|tried| tried.as_ref().err()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_a_warning_and_what_is_not_asked_for_is_not_told() {
        let refused = Urgent(Some(Err("its memory is not locked".to_owned())));
        let warning =
            "WARNING: as this user, with the limits of this shell, its memory is not locked";
        assert_eq!(refused.words().as_deref(), Some(warning));
        assert_eq!(refused.refused(), "its memory is not locked");
        let can = Urgent(Some(Ok(())));
        assert_eq!(
            can.words().as_deref(),
            Some("the threads of the election can run in real time")
        );
        assert_eq!(can.refused(), Value::Null);
        let not_asked = Urgent(None);
        assert_eq!((not_asked.words(), not_asked.refused()), (None, Value::Null));
    }
}
