//! `hooks`: the program that runs at each change.

use std::path::Path;
use std::time::Duration;

use super::report::{Object, Report, Spot};
use super::types::HooksConfig;
use super::{program, timing};

const KEYS: &[&str] = &["on_change", "timeout"];

/// How long a program may take, where the file does not say.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads `hooks`, of the cluster or of a member.
pub(super) fn read<'t>(
    spot: &Spot<'t>,
    folder: &Path,
    report: &mut Report<'t>,
) -> Option<HooksConfig> {
    let object = Object::open(spot, KEYS, report)?;
    let remedy = "list a program and its arguments, such as [\"/etc/electd/notify.sh\"]";
    let command = object.require("on_change", remedy, report);
    let command = command.and_then(|spot| program::read(spot, folder, report));
    let timeout = match object.get("timeout") {
        Some(spot) => timing::duration(spot, timing::SHORTEST, report),
        None => Some(TIMEOUT),
    };
    let (program, arguments) = command?;
    Some(HooksConfig { program, arguments, timeout: timeout? })
}
