//! The eight views of a cluster, as they are seen on the host of one of its nodes.

use std::fmt;
use std::fs;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use super::alerts;
use super::stages::Scene;
use crate::support::{Finished, Node, command_by, http};

/// How long a scrape waits for a node that is gone without a word.
const SCRAPE: Duration = Duration::from_secs(1);

/// What all views show.
pub struct Seen {
    pub status: Told,
    pub health: Told,
    pub leader: Told,
    pub why: Told,
    pub page: Page,
    pub history: Told,
    /// The nodes that can be reached from here, with their logs and metrics.
    pub nodes: Vec<Reached>,
    /// The alerts that fire if this lasts.
    pub alerts: Vec<String>,
}

/// What a command says.
pub struct Told {
    pub code: i32,
    /// Of stdout, and then of stderr.
    pub lines: Vec<String>,
    /// How many of them are of stdout.
    pub results: usize,
}

/// What `GET /verdict` gives the page.
pub struct Page {
    pub verdict: String,
    pub code: i32,
    pub colour: String,
    pub banner: String,
    /// How many more failures are tolerated.
    pub tolerated: i64,
    pub leaders: Vec<String>,
    /// Each as `KIND: what is wrong`.
    pub boxes: Vec<String>,
    /// What to do about each of them.
    pub remedies: Vec<String>,
    /// What keeps each member from leading, as `NODE: what, COLOUR`.
    pub badges: Vec<String>,
    /// The orders that are in force.
    pub notes: Vec<String>,
}

/// A node, as it is scraped.
pub struct Reached {
    pub name: String,
    pub log: Vec<String>,
    /// None if it does not answer.
    pub metrics: Option<String>,
}

impl Seen {
    pub fn of(scene: &Scene) -> Result<Seen, String> {
        let (cluster, here) = (&scene.cluster, scene.cluster.node(scene.from));
        let file = scene.file();
        let told = |args: &[&str]| {
            let mut command = command_by(&file, args);
            Told::of(&here.at_home(move || command.finished()))
        };
        let answer = here.get("/verdict")?;
        let page = serde_json::from_str(&answer.body).map_err(|_| format!("{answer:?}"))?;
        let scrape = |node: &Node| {
            let (name, admin) = (node.name.clone(), node.admin);
            let ask = move || http::ask_within(SCRAPE, admin, "GET", "/metrics", "");
            let metrics = here.at_home(ask).ok().map(|answer| answer.body);
            Reached { name, log: lines(&node.log()), metrics }
        };
        let nodes: Vec<Reached> = cluster.nodes().iter().map(scrape).collect();
        let alerts = alerts::firing(&nodes);
        Ok(Seen {
            status: told(&["status"]),
            health: told(&["health"]),
            leader: told(&["leader"]),
            why: told(&["why"]),
            page: Page::of(&page),
            history: told(&["history"]),
            nodes,
            alerts,
        })
    }

    /// The metrics of this node, if it can be reached.
    pub fn metrics(&self, number: usize) -> Option<&str> {
        self.nodes[number - 1].metrics.as_deref()
    }
}

impl Told {
    fn of(output: &Output) -> Told {
        let results = lines(&String::from_utf8_lossy(&output.stdout));
        let messages = lines(&String::from_utf8_lossy(&output.stderr));
        let count = results.len();
        let code = output.status.code().unwrap_or(-1);
        Told { code, lines: [results, messages].concat(), results: count }
    }

    /// The lines of stdout.
    pub fn results(&self) -> &[String] {
        &self.lines[..self.results]
    }
}

impl Page {
    fn of(answer: &Value) -> Page {
        let word = |value: &Value| untimed(value.as_str().unwrap_or_default());
        let name = |leader: &Value| word(&leader["name"]);
        let led = answer["leaders"].as_array().map(|all| all.iter().map(name).collect());
        let one = || answer["leader"].as_object().map(|_| name(&answer["leader"]));
        let notes = answer["orders"].as_array().into_iter().flatten();
        let told = |it: &Value| format!("{}: {}", word(&it["kind"]), word(&it["text"]));
        let badges = answer["badges"].as_object().into_iter().flatten();
        let badge = |name: &str, it: &Value| {
            format!("{name}: {}, {}", word(&it["text"]), word(&it["colour"]))
        };
        let badges = badges.flat_map(|(name, all)| {
            all.as_array().into_iter().flatten().map(move |it| badge(name, it))
        });
        Page {
            verdict: word(&answer["verdict"]),
            code: answer["code"].as_i64().map_or(-1, |code| code as i32),
            colour: word(&answer["colour"]),
            banner: word(&answer["banner"]),
            tolerated: answer["failures_tolerated"].as_i64().unwrap_or(-1),
            leaders: led.unwrap_or_else(|| one().into_iter().collect()),
            boxes: answer["boxes"].as_array().into_iter().flatten().map(told).collect(),
            remedies: answer["boxes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|it| word(&it["remedy"]))
                .collect(),
            badges: badges.collect(),
            notes: notes.filter(|it| it.is_string()).map(word).collect(),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = [
            ("status", &self.status),
            ("health", &self.health),
            ("leader", &self.leader),
            ("why", &self.why),
            ("history", &self.history),
        ];
        for (view, Told { code, lines, .. }) in each {
            writeln!(f, "--- {view}: {code}\n    {}", lines.join("\n    "))?;
        }
        let Page { code, colour, verdict, banner, boxes, remedies, badges, notes, .. } = &self.page;
        writeln!(f, "--- page: {code}, {colour}, {verdict}: {banner}")?;
        for (found, remedy) in boxes.iter().zip(remedies) {
            writeln!(f, "    {found}\n      => {remedy}")?;
        }
        badges.iter().chain(notes).try_for_each(|text| writeln!(f, "    {text}"))?;
        for Reached { name, log, metrics } in &self.nodes {
            let last = log[log.len().saturating_sub(20)..].join("\n    ");
            writeln!(f, "--- log of {name}\n    {last}")?;
            let figures = metrics.iter().flat_map(|text| text.lines());
            let figures = figures.filter(|line| line.starts_with("electd_problems"));
            let figures: Vec<&str> = figures.filter(|line| !line.ends_with(" 0")).collect();
            writeln!(f, "--- metrics of {name}\n    {}", figures.join("\n    "))?;
        }
        write!(f, "--- alerts: {:?}", self.alerts)
    }
}

/// The lines of a text that have words, with TIME for lengths of time, WHEN for moments, and one space between words.
pub fn lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(untimed).collect()
}

fn untimed(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_matches(['(', ')', ';', ',', ':', '.']);
        let last = words.last().map_or("", |last| last.trim_start_matches('('));
        let is_unit = ["ns", "µs", "ms", "s"].contains(&bare) && last.parse::<f64>().is_ok();
        let goes_on = is_part(bare) && last == "TIME"; // as in 3m 4s
        if is_unit || goes_on {
            let opened = words.pop().is_some_and(|last| last.starts_with('('));
            let time = word.replacen(bare, "TIME", 1);
            words.push(if opened { format!("({time}") } else { time });
        } else {
            let is_moment = bare.len() == 24 && bare.starts_with("20") && bare.ends_with('Z');
            let name = if is_moment { "WHEN" } else { "TIME" };
            let is_timed = is_moment || is_part(bare);
            words.push(if is_timed { word.replacen(bare, name, 1) } else { word.to_owned() });
        }
    }
    words.join(" ")
}

/// Whether this is a part of a length of time, such as 3m of `3m 4s`.
fn is_part(word: &str) -> bool {
    let number = word.strip_suffix(['d', 'h', 'm', 's']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()))
}

/// Whether the line is as the pattern says, in which `…` is any text.
pub fn matches(line: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('…');
    let Some(mut rest) = line.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        // The last piece is the end of the line.
        last = Some(piece);
        rest = &rest[at + piece.len()..];
    }
    last.map_or(rest.is_empty(), |piece| piece.is_empty() || line.ends_with(piece))
}

/// The alert rules that operators are given.
pub fn rules() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/prometheus/electd-rules.yml");
    fs::read_to_string(path).unwrap()
}
