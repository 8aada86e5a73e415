//! `health`: the program that tells whether a member is fit to lead.

use std::path::Path;
use std::time::Duration;

use super::choices;
use super::report::{Object, Report, Spot};
use super::types::HealthConfig;
use super::{program, timing};
use electd_election::core::settings::Alone;

const KEYS: &[&str] = &["command", "every", "timeout", "fall", "rise", "alone"];

/// The time from one check to the next, where the file does not say.
const EVERY: Duration = Duration::from_secs(2);
/// More often than this, a check costs more than it tells.
const SHORTEST_EVERY: Duration = Duration::from_millis(100);
/// How long a check may take, where the file does not say; less where `every` is not longer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// In less than this hardly any program starts and ends.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);
/// How many failures and how many passes in a row decide, where the file does not say.
const FALL: u32 = 3;
const RISE: u32 = 2;
/// The most of either. With more the check is as good as none.
const MOST: u32 = 1000;

/// Reads `health`, of the cluster or of a member.
pub(super) fn read<'t>(
    spot: &Spot<'t>,
    folder: &Path,
    report: &mut Report<'t>,
) -> Option<HealthConfig> {
    let object = Object::open(spot, KEYS, report)?;
    let remedy = "list a program and its arguments, such as [\"/etc/electd/check\"]";
    let command = object.require("command", remedy, report);
    let command = command.and_then(|spot| program::read(spot, folder, report));
    let every = match object.get("every") {
        Some(spot) => timing::duration(spot, SHORTEST_EVERY, report),
        None => Some(EVERY),
    };
    let timeout = match object.get("timeout") {
        Some(spot) => timing::duration(spot, SHORTEST_TIMEOUT, report),
        None => every.map(|every| TIMEOUT.min(every / 2)),
    };
    let fall = object.get("fall").map_or(Some(FALL), |spot| count(spot, report));
    let rise = object.get("rise").map_or(Some(RISE), |spot| count(spot, report));
    let alone = match object.get("alone") {
        Some(spot) => report.choice(spot, &choices::all()),
        None => Some(Alone::default()),
    };
    let (every, timeout) = (every?, timeout?);
    if let Some(place) = object.get("timeout").filter(|_| timeout >= every) {
        let what = format!("timeout {timeout:?} is not below every {every:?}");
        let remedy = "lower timeout, or raise every: a check ends before the next begins";
        report.wrong(place, what, remedy);
        return None;
    }
    let ((program, arguments), fall, rise, alone) = (command?, fall?, rise?, alone?);
    Some(HealthConfig { program, arguments, every, timeout, fall, rise, alone })
}

/// How many in a row.
fn count<'t>(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<u32> {
    let number = report.integer(spot)?;
    let count = u32::try_from(number).ok().filter(|count| (1..=MOST).contains(count));
    if count.is_none() {
        let remedy = format!("give a number from 1 to {MOST}");
        report.wrong(spot, "is no number of checks in a row", remedy);
    }
    count
}
