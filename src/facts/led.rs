//! The leaderships that several nodes tell, as one list, and for how long nobody led before each: for all who show that, so
//! that they show the same.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use electd_record::trace::length;
use serde::Serialize;

use super::asked::newest_leader;
use super::entry::{GivenUp, History, HistoryEntry, OwnEnd};
use super::status::Status;
use super::tells::{START, Tells};
use super::words::moment;

/// A leadership, as all nodes together know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Led {
    /// The name of the leader.
    pub leader: String,
    /// Its epoch.
    pub epoch: u64,
    /// When it began, in milliseconds since the Unix epoch, as is the end: both by the clock of one node.
    pub since_ms: u64,
    /// When that node heard the leader last; none while it lasts, and if no node saw the end.
    pub until_ms: Option<u64>,
    /// Whether it lasts.
    pub lasts: bool,
    /// The leader before; none if no node knows one.
    pub before: Option<String>,
    /// Why the leadership before ended.
    pub cause: String,
    /// The same in words.
    pub reason: String,
    /// For how long nobody led before; none if no node knows the leadership before, or saw how that ended.
    pub leaderless_ms: Option<u64>,
    /// When its job was ended, as no renewal came in time; left out where no node says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_late_ms: Option<u64>,
}

/// What one node knows of a leadership.
#[derive(Clone, Copy)]
pub struct SeenLeadership<'a> {
    node: &'a str,
    entry: &'a HistoryEntry,
    /// The leadership before, if the node saw that: its epoch and leader.
    before: Option<(u64, &'a str)>,
}

impl<'a> SeenLeadership<'a> {
    /// What this node tells of it.
    #[must_use]
    pub fn by(node: &'a str, entry: &'a HistoryEntry) -> SeenLeadership<'a> {
        let epoch = entry.before_epoch.unwrap_or_default();
        SeenLeadership {
            node,
            entry,
            before: entry.before.as_deref().map(|before| (epoch, before)),
        }
    }

    /// The same of a node of an earlier version, which does not tell the epoch before; that entry may precede this one.
    fn after(self, last: Option<&'a HistoryEntry>) -> SeenLeadership<'a> {
        let is_old = self.entry.before_epoch.is_none() && self.entry.before.is_some();
        let before = last.filter(|_| is_old).map(|last| (last.epoch, last.leader.as_str()));
        SeenLeadership { before: before.or(self.before), ..self }
    }

    /// Whether this node was the leader before, and knows when that ended: if it did not give up itself, it may have stood
    /// still, and learned of the end long after the others.
    fn saw_end_in_time(&self) -> bool {
        let led_before = self.before.is_some_and(|(_, leader)| leader == self.node);
        !led_before || Tells::by(&self.entry.cause) == Tells::Order
    }
}

/// Begin and end of a leadership by the clock of one node: of those that saw it begin and end, the leader itself while it
/// lasts, or the one that knew it longest. Without an end if it lasts, or if no node saw that.
fn span(seen: &[SeenLeadership<'_>], lasts: bool) -> Option<(u64, Option<u64>)> {
    let knows_end =
        |it: &&SeenLeadership<'_>| if lasts { it.entry.lasts } else { it.entry.until_ms.is_some() };
    let length = |it: &SeenLeadership<'_>| {
        it.entry.until_ms.map(|until| until.saturating_sub(it.entry.since_ms))
    };
    let best = seen.iter().filter(knows_end).max_by_key(|it| {
        let is_leader = lasts && it.node == it.entry.leader;
        (it.before.is_some(), is_leader, length(it), Reverse(it.entry.since_ms))
    });
    let first = || seen.iter().min_by_key(|it| it.entry.since_ms);
    best.or_else(first).map(|it| (it.entry.since_ms, it.entry.until_ms.filter(|_| !lasts)))
}

/// One leadership for each leader and epoch, in order of time. `one_at_a_time` says that the cluster elects by a
/// majority.
#[must_use]
pub fn merge(histories: &[History], one_at_a_time: bool) -> Vec<Led> {
    let mut seen: BTreeMap<(u64, &str), Vec<SeenLeadership<'_>>> = BTreeMap::new();
    for History { node, leaderships } in histories {
        let before = std::iter::once(None).chain(leaderships.iter().map(Some));
        for (entry, before) in leaderships.iter().zip(before) {
            let saw = SeenLeadership::by(node, entry).after(before);
            seen.entry((entry.epoch, &entry.leader)).or_default().push(saw);
        }
    }
    let mut merged: Vec<(Led, &[SeenLeadership<'_>])> = Vec::new();
    for ((epoch, _), seen) in &seen {
        let before = |(led, _): &&(Led, &[SeenLeadership<'_>])| led.epoch < *epoch;
        let known =
            merged.iter().rev().find(before).map(|(led, _)| (led.epoch, led.leader.clone()));
        let known = known.as_ref().map(|(epoch, leader)| (*epoch, leader.as_str()));
        let mut led = Led::of(seen, known);
        for (earlier, saw) in merged.iter_mut().filter(|_| one_at_a_time) {
            if earlier.epoch < *epoch && !earlier.end_as_seen(saw, seen) {
                earlier.end_by(led.since_ms);
            }
        }
        if let Some((before, saw)) = merged.iter().rev().find(before) {
            led.fit(before, one_at_a_time);
            led.ended_as_told(before, saw);
        }
        merged.push((led, seen));
    }
    let mut merged: Vec<Led> = merged.into_iter().map(|(led, _)| led).collect();
    // Clocks may differ, and with a majority the epochs say what came first.
    merged.sort_by_key(|led| (if one_at_a_time { led.epoch } else { 0 }, led.since_ms, led.epoch));
    merged
}

/// Since when the leader that these nodes name leads, and why its predecessor stopped, as `electd history` says it.
#[must_use]
pub fn since<'s, A: Iterator<Item = &'s Status>>(
    answers: impl Fn() -> A,
    now_ms: u64,
) -> Option<String> {
    let newest = newest_leader(answers())?;
    let led = Led::known(answers(), &newest.name, newest.epoch)?;
    // By the clock of the node that says since when.
    let clock = |status: &Status| {
        let told = status.last_leadership.as_ref()?;
        status.clock_ms.filter(|_| (told.epoch, told.since_ms) == (led.epoch, led.since_ms))
    };
    let clock = answers().find_map(clock).unwrap_or(now_ms);
    let lasts = length(Duration::from_millis(clock.saturating_sub(led.since_ms)));
    let by = alone(answers(), &led).map(|node| format!(", as {node} alone saw it"));
    let begin = format!("since {} ({lasts}){}", moment(led.since_ms), by.unwrap_or_default());
    Some(match (&led.before, led.leaderless_ms) {
        (Some(before), Some(gap)) => format!(
            "{begin}; before it {before} led: {}; nobody led for {}",
            led.reason,
            length(Duration::from_millis(gap))
        ),
        (Some(before), None) => format!(
            "{begin}; before it {before} led: {}; for how long nobody led is not known",
            led.reason
        ),
        (None, _) => format!("{begin}; who led before is not known"),
    })
}

/// The node that alone says since when this lasts, if it is not the leader: it may have learned of it late.
fn alone<'s>(answers: impl Iterator<Item = &'s Status>, led: &Led) -> Option<&'s str> {
    let is_it = |entry: &HistoryEntry| (entry.epoch, &entry.leader) == (led.epoch, &led.leader);
    let mut saw = answers.filter(|one| one.last_leadership.as_ref().is_some_and(is_it));
    let (first, other) = (saw.next()?, saw.next());
    Some(&*first.node.name).filter(|name| other.is_none() && *name != led.leader)
}

impl Led {
    /// The leadership that all of these tell; `before` is one that other nodes may know to precede it.
    ///
    /// A node that missed the leadership before says nothing of how that ended. Of those that saw what befell that leader,
    /// each heard it last at its end or earlier, and the next at its begin or later: so the shortest time without a leader
    /// is right. A node that first received the announcement of the next leader knows less.
    /// Clocks of different hosts are not compared.
    #[must_use]
    pub fn of(seen: &[SeenLeadership<'_>], before: Option<(u64, &str)>) -> Led {
        let entries = || seen.iter().map(|seen| seen.entry);
        let before = seen.iter().filter_map(|seen| seen.before).chain(before).max();
        let know = || seen.iter().filter(|seen| seen.before == before && before.is_some());
        let tells = |seen: &&SeenLeadership<'_>| {
            (Tells::by(&seen.entry.cause), seen.entry.leader == seen.node)
        };
        let (cause, reason) = match (know().max_by_key(tells), before) {
            (Some(SeenLeadership { node, entry, .. }), Some((_, leader))) if *node == leader => {
                (entry.cause.clone(), format!("{node}: {}", entry.reason))
            }
            (Some(SeenLeadership { entry, .. }), _) => (entry.cause.clone(), entry.reason.clone()),
            (None, Some((_, leader))) => (
                "unknown".to_owned(),
                format!("no node that answers saw how {leader} ceased to lead"),
            ),
            (None, None) => (START.to_owned(), "no leader was known before".to_owned()),
        };
        // A moment that is too short for the clock of one node is none only if no other node noticed it.
        let gaps = |in_time: bool| {
            let know = know().filter(move |seen| seen.saw_end_in_time() == in_time);
            know.filter_map(|seen| seen.entry.gap_ms())
        };
        let gap = [true, false].into_iter().find_map(|in_time| {
            let gaps = || gaps(in_time);
            gaps().filter(|gap| *gap > 0).min().or_else(|| gaps().min())
        });
        let lasts = entries().any(|entry| entry.lasts);
        let (since_ms, until_ms) = span(seen, lasts).unwrap_or_default();
        Led {
            leader: seen.first().map(|seen| seen.entry.leader.clone()).unwrap_or_default(),
            epoch: seen.first().map(|seen| seen.entry.epoch).unwrap_or_default(),
            since_ms,
            until_ms,
            lasts,
            before: before.map(|(_, leader)| leader.to_owned()),
            cause,
            reason,
            leaderless_ms: gap,
            job_late_ms: entries().filter_map(|entry| entry.job_late_ms).max(),
        }
    }

    /// The leadership of this leader in this epoch, as these nodes know it together; none if none of them does.
    #[must_use]
    pub fn known<'s>(
        answers: impl Iterator<Item = &'s Status>,
        leader: &str,
        epoch: u64,
    ) -> Option<Led> {
        let answers: Vec<&Status> = answers.collect();
        let known = answers
            .iter()
            .filter_map(|status| Some((&status.node.name, status.last_leadership.as_ref()?)));
        let of_it = known.filter(|(_, entry)| (entry.epoch, &*entry.leader) == (epoch, leader));
        let seen: Vec<SeenLeadership<'_>> =
            of_it.map(|(node, entry)| SeenLeadership::by(node, entry)).collect();
        let mut led = (!seen.is_empty()).then(|| Led::of(&seen, None))?;
        let before = seen.iter().filter_map(|it| it.before).max();
        let gave_up =
            answers.iter().filter_map(|one| Some((&*one.node.name, one.given_up.as_ref()?)));
        let gave_that_up = |(name, up): &(&str, &GivenUp)| before == Some((up.epoch, *name));
        if let Some((name, up)) = gave_up.into_iter().find(gave_that_up) {
            led.end_before(name, &up.end);
        }
        Some(led)
    }

    /// With a majority: takes begin and end from the node that saw this leadership (`own`) and how it ended (`next`), and
    /// heard this leader longest: it saw the shortest time without one. Returns whether there is such a node.
    fn end_as_seen(&mut self, own: &[SeenLeadership<'_>], next: &[SeenLeadership<'_>]) -> bool {
        let this = Some((self.epoch, self.leader.as_str()));
        let saw = |seen: &&SeenLeadership<'_>| {
            seen.before == this
                && Tells::by(&seen.entry.cause) > Tells::Little
                && seen.saw_end_in_time()
        };
        let longest = next.iter().filter(saw).min_by_key(|seen| seen.entry.leaderless_ms);
        let saw_begin = |seen: &&SeenLeadership<'_>| seen.before.is_some() || self.before.is_none();
        let known =
            longest.and_then(|by| own.iter().filter(saw_begin).find(|it| it.node == by.node));
        let Some(until) = known.and_then(|seen| seen.entry.until_ms) else { return false };
        self.since_ms = known.map_or(self.since_ms, |seen| seen.entry.since_ms);
        (self.until_ms, self.lasts) = (Some(until), false);
        true
    }

    /// With a majority this leadership was over when the next began, whatever a node that was cut off knew: the lease of the
    /// old leader ends before another can win.
    fn end_by(&mut self, next_ms: u64) {
        let bound = next_ms.max(self.since_ms);
        let end = if self.lasts { Some(bound) } else { self.until_ms };
        (self.until_ms, self.lasts) = (end.map(|end| end.min(bound)), false);
    }

    /// Takes from the leader before why it gave up, if it says so: it may have ended before it met this leader.
    fn ended_as_told(&mut self, before: &Led, seen: &[SeenLeadership<'_>]) {
        let own = seen.iter().find(|it| it.node == it.entry.leader);
        let Some(end) = own.and_then(|it| it.entry.ended.as_ref()) else { return };
        if self.before.as_ref() == Some(&before.leader) {
            self.end_before(&before.leader, end);
        }
    }

    /// The leader before gave up like this, which no other node can know better.
    fn end_before(&mut self, leader: &str, end: &OwnEnd) {
        if Tells::by(&self.cause) < Tells::Order {
            self.cause.clone_from(&end.cause);
            self.reason = format!("{leader}: {}", end.reason);
        }
    }

    /// Says of the time before what follows from the leadership before: without a majority that may have ended later;
    /// and if no node saw both, the end of the one and the begin of the other are known all the same.
    fn fit(&mut self, before: &Led, one_at_a_time: bool) {
        let since = self.since_ms;
        let overlaps = before.lasts || before.until_ms.is_some_and(|until| until >= since);
        if overlaps && !one_at_a_time {
            self.leaderless_ms = Some(0);
        } else if self.leaderless_ms.is_none() {
            self.leaderless_ms = before.until_ms.map(|until| since.saturating_sub(until));
        }
    }
}

#[cfg(test)]
mod tests;
