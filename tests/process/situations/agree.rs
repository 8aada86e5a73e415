//! What holds in every situation: no view contradicts another.

use std::collections::BTreeSet;

use super::seen::{Reached, Seen};
use crate::support::ensure;

type Names<'a> = BTreeSet<&'a str>;

/// The sentence, the codes, the colour and the alerts follow from one verdict, and each view names the same leaders.
pub fn none_contradicts(seen: &Seen) -> Result<(), String> {
    one_sentence(seen)?;
    codes_and_colours_fit(seen)?;
    all_name_the_same_leaders(seen)?;
    // An alert for each trouble, and none if all is well.
    let (code, alerts) = (seen.page.code, &seen.alerts);
    ensure((code == 0) == alerts.is_empty(), || {
        format!("the code is {code}, the alerts {alerts:?}")
    })
}

/// `status`, `health` and the page have one sentence, after the same word.
fn one_sentence(seen: &Seen) -> Result<(), String> {
    let page = &seen.page;
    let word = match page.verdict.as_str() {
        "two_leaders" => String::new(), // its sentences begin so
        other => format!("{}: ", other.to_uppercase().replace('_', " ")),
    };
    let banner = format!("{word}{}", page.banner);
    let [status, health] =
        [&seen.status, &seen.health].map(|told| told.lines.first().map_or("", String::as_str));
    ensure(status == banner.as_str(), || format!("status says {status:?}, the page {banner:?}"))?;
    let told = health.strip_prefix("ELECTD ").unwrap_or_default();
    let begins = told.strip_prefix(&*banner).is_some_and(|rest| rest.starts_with("; "));
    ensure(begins, || format!("health says {health:?}, the page {banner:?}"))?;
    let figure = format!(" | failures_tolerated={} ", page.tolerated);
    ensure(health.contains(&figure), || format!("health says {health:?}, the page {figure:?}"))
}

fn codes_and_colours_fit(seen: &Seen) -> Result<(), String> {
    let Seen { page, status, health, leader, why, history, .. } = seen;
    let colour = ["good", "fair", "bad", "bad"][page.code as usize];
    ensure(page.colour == colour, || format!("{} is the colour of {}", page.colour, page.code))?;
    let led = page.leaders.len();
    let of_status = match (page.code, led) {
        (0, _) => 0,
        (_, 2..) => 2,
        (3, _) => 69,
        _ => 1,
    };
    let of_why = match led {
        0 => 1,
        1 => 0,
        _ => 2,
    };
    for (view, found, fits) in [
        ("health", health.code, page.code),
        ("status", status.code, of_status),
        ("leader", leader.code, i32::from(led != 1)),
        ("why", why.code, of_why),
        ("history", history.code, 0),
    ] {
        ensure(found == fits, || {
            format!("{view} ends with {found}, and {fits} fits {} with {led} leaders", page.verdict)
        })?;
    }
    Ok(())
}

/// A leader that cannot be reached from here names itself in no view; the others that can name it.
fn all_name_the_same_leaders(seen: &Seen) -> Result<(), String> {
    let of_page: Names = seen.page.leaders.iter().map(String::as_str).collect();
    let answer = |name: &str| seen.nodes.iter().any(|it| it.name == name && it.metrics.is_some());
    let that_answer: Names = of_page.iter().copied().filter(|name| answer(name)).collect();
    let results = |told: &'static str| match told {
        "leader" => seen.leader.results(),
        "why" => seen.why.results(),
        "status" => seen.status.results(),
        _ => seen.history.results(),
    };
    let named = |view, leads: fn(&str) -> Option<&str>| -> Names {
        results(view).iter().filter_map(|line| leads(line)).collect()
    };
    let first = |line| str::split_whitespace(line).next();
    let leads_now = |line| (str::split_whitespace(line).nth(3) == Some("now")).then_some(line);
    let by_why = named("why", |line| {
        line.split_once(" leads: ").map(|(name, _)| name).filter(|name| *name != "nobody")
    });
    let lasting: Vec<&str> =
        seen.history.results().iter().filter_map(|line| leads_now(line)).collect();
    let in_history: Names = lasting.into_iter().filter_map(first).collect();
    let by_command: Names = seen.leader.results().iter().filter_map(|line| first(line)).collect();
    for (view, found) in [("leader", by_command), ("why", by_why), ("history", in_history)] {
        ensure(found == of_page, || format!("{view} names {found:?}, the page {of_page:?}"))?;
    }
    let in_rows = named("status", |line| {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|_| words.next() == Some("leading"))?;
        Some(name)
    });
    let that = |leads: fn(&Reached) -> bool| -> Names {
        let nodes = seen.nodes.iter().filter(|node| node.metrics.is_some() && leads(node));
        nodes.map(|node| node.name.as_str()).collect()
    };
    let by_metrics = that(|node| {
        let text = node.metrics.as_deref().unwrap_or_default();
        text.lines().any(|line| line.starts_with("electd_is_leader{") && line.ends_with(" 1"))
    });
    let by_log = that(|node| {
        let last = node.log.iter().rev().find(|line| line.contains(" -> "));
        last.is_some_and(|line| line.contains("-> leading"))
    });
    for (view, found) in [("status", in_rows), ("metrics", by_metrics), ("log", by_log)] {
        ensure(found == that_answer, || {
            format!("{view}: {found:?} lead; of the page's those that answer: {that_answer:?}")
        })?;
    }
    Ok(())
}
