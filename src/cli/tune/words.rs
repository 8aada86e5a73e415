//! What `electd tune` says, for people.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Advice, FailureAdvice};
use crate::cli::print::{self, millis};
use crate::core::settings::Timing;
use crate::realtime::probe::WakeUps;
use crate::trace::length;

pub(super) fn text(advice: &Advice<'_>) -> String {
    let measured =
        format!("The last {}, as the nodes measured them:\n", length(advice.tuning.time()));
    let failures =
        "What each `failure` means, if hosts and network stay as they were:\n".to_owned();
    let conclusion = conclusion(advice) + &realtime(advice);
    [measured + &hosts(advice), failures + &meanings(advice), conclusion].join("\n")
}

fn hosts(advice: &Advice<'_>) -> String {
    let rows = advice.tuning.hosts.iter().map(|host| {
        let trip = host.round_trip.map_or_else(|| "leads".to_owned(), length);
        vec![host.node.clone(), length(host.late), trip]
    });
    print::table(&["NODE", "TIMERS LATE BY AT MOST", "ROUND TRIP AT MOST"], rows)
}

fn meanings(advice: &Advice<'_>) -> String {
    let rows = advice.failures.iter().map(|it| {
        let Timing { failure, .. } = it.timing;
        let failover = it.failover.map_or_else(|| "not replaced".to_owned(), length);
        let marks = [
            (Some(failure) == advice.proposed).then_some("proposed"),
            (failure == advice.config.timing.failure).then_some("as now"),
        ];
        let marks = marks.into_iter().flatten().collect::<Vec<_>>().join(", ");
        vec![format!("{failure:?}"), failover, expected(it), marks]
    });
    print::table(&["FAILURE", "SILENT HOST REPLACED WITHIN", "FALSE CHANGES A MONTH", ""], rows)
}

/// How many false changes are expected: a forecast has one digit.
fn expected(one: &FailureAdvice) -> String {
    match one.false_changes {
        it if it < 0.01 => "none".to_owned(),
        it if it < 1.0 => "fewer than 1".to_owned(),
        it if it < 10.0 => format!("about {it:.0}"),
        it if it < 1000.0 => format!("about {:.0}0", it / 10.0),
        _ => "again and again".to_owned(),
    }
}

fn conclusion(advice: &Advice<'_>) -> String {
    let now = advice.config.timing.failure;
    let Some(proposed) = advice.proposed else {
        return "No `failure` up to 80s bears this. Find out what holds these hosts or their network up.\n".to_owned();
    };
    let set = format!(
        "\"timing\": {{\"failure\": \"{proposed:?}\"}} in the file of each node, then `electd reload`"
    );
    let why = if proposed > now {
        format!("{now:?} is too short for these hosts: {set}.")
    } else if proposed < now {
        format!("{now:?} holds; {proposed:?} would, too: {set}.")
    } else {
        format!("{now:?} holds, and is the shortest that does.")
    };
    why + "\nIt decides how long a host that is silent leads on. The end of a process is certified, and needs no time-out.\n"
}

fn realtime(advice: &Advice<'_>) -> String {
    let within = |time: Duration| format!("at most {} late", length(time));
    match &advice.realtime {
        None if advice.config.realtime => "The nodes run in real time (`realtime`).\n".to_owned(),
        None => String::new(),
        Some(WakeUps { ordinary, realtime: Ok(urgent) }) => format!(
            "On this host, for 3 s, an ordinary thread woke up {}, and one in real time {}: \"realtime\": true would change {} here.\n",
            within(*ordinary),
            within(*urgent),
            if *urgent <= *ordinary / 2 { "much" } else { "little" }
        ),
        Some(WakeUps { ordinary, realtime: Err(why) }) => format!(
            "On this host, for 3 s, an ordinary thread woke up {}; one in real time was not measured: {why}.\n",
            within(*ordinary)
        ),
    }
}

/// How late threads of this host wake up, for programs.
pub(super) fn object(woken: &WakeUps) -> Value {
    json!({
        "ordinary_ms": millis(woken.ordinary),
        "realtime_ms": woken.realtime.as_ref().ok().copied().map(millis),
        "refused": woken.realtime.as_ref().err(),
    })
}
