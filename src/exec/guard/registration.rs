//! A guard registers with the coroner of the node, where there is one.

use std::time::Duration;

use super::ends::Failed;
use super::task::Task;
use crate::coroner::guards::Registered;

/// Has the coroner of the node know of this guard, from before anything of the job begins, within this time. None where
/// nobody will certify the death of the node.
pub(super) fn register(task: &Task, left: Duration) -> Result<Option<Registered>, Failed> {
    let Some(register) = &task.register else { return Ok(None) };
    Registered::new(register, left).map_err(Failed::Unregistered)
}
