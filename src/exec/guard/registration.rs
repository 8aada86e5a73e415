//! A guard registers with the coroner of the node, where there is one.

use super::super::alarms::Alarm;
use super::ends::Failed;
use super::task::Task;
use crate::coroner::guards::Registered;

/// Has the coroner of the node know of this guard, from before anything of the job begins. None where nobody will certify
/// the death of the node.
pub(super) fn register(task: &Task, term: &Alarm) -> Result<Option<Registered>, Failed> {
    let Some(register) = &task.register else { return Ok(None) };
    let left = term.left()?;
    if left.is_zero() {
        return Err(Failed::Late);
    }
    Registered::new(register, left).map_err(Failed::Unregistered)
}
