//! Stands for an engine that this build does not have.

use std::time::Duration;

use super::{Engine, EngineError, EngineUrl};

/// Refuses.
pub fn open(url: &EngineUrl, _: Duration, _: Duration) -> Result<Box<dyn Engine>, EngineError> {
    let kind = url.kind.name();
    Err(EngineError::Usage(format!("this electd was built without the feature `{kind}`")))
}
