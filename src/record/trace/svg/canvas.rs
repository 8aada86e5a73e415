//! A drawing under way, from the top to the bottom.

use std::fmt;
use std::time::Duration;

use super::instants::{self, Instant};
use super::shapes::{self, LETTER, Point, line};
use crate::core::Phase;
use crate::core::types::Time;
use crate::trace::event::{DrawnEvent, DrawnWhat, gap};
use crate::trace::fans::Fans;
use crate::trace::length::{clock, length};

/// Where things are, in pixels.
pub(super) const ROW: f64 = 26.0;
pub(super) const GUTTER: f64 = 84.0;
pub(super) const TOP: f64 = 98.0;
/// The distance of two arrows that land on one line at one instant.
const EDGE: f64 = 7.0;

/// A part of a lifeline.
pub(super) struct LifelinePart {
    pub from: f64,
    pub to: f64,
    pub dead: bool,
}

/// The lifeline of a member.
pub(super) struct Lifeline {
    pub parts: Vec<LifelinePart>,
    /// Where its last part began, and whether its process is gone in it.
    begun: f64,
    dead: bool,
    /// What is on it: when, and where.
    marks: Vec<(Time, f64)>,
}

/// A drawing under way: what is drawn so far, and how far down.
pub(super) struct Canvas {
    /// The distance of two lifelines.
    pub column: f64,
    /// The row of the latest event.
    pub y: f64,
    /// How far the labels go to the right.
    pub right: f64,
    pub lifelines: Vec<Lifeline>,
    /// The layer on top of the lifelines, and the layer on top of that.
    pub body: String,
    pub labels: String,
    /// Where each event is, by its place among all.
    places: Vec<f64>,
    fans: Fans,
}

impl Canvas {
    pub fn new(nodes: usize, events: &[DrawnEvent]) -> Canvas {
        let words = events.iter().filter(|event| !matches!(event.what, DrawnWhat::Suffers(_)));
        let longest = words.map(|event| event.what.label().chars().count()).max();
        let starts = |node| {
            let first = events.iter().find(|event| event.node == node);
            first.is_some_and(|event| event.what == DrawnWhat::Starts)
        };
        let lifeline = |node| Lifeline {
            parts: Vec::new(),
            begun: TOP - 12.0,
            dead: starts(node),
            marks: Vec::new(),
        };
        Canvas {
            column: (longest.unwrap_or_default() as f64 * LETTER + 24.0).max(96.0),
            y: TOP,
            right: 0.0,
            lifelines: (0..nodes).map(lifeline).collect(),
            body: String::new(),
            labels: String::new(),
            places: vec![TOP; events.len()],
            fans: Fans::of(events),
        }
    }

    pub fn x(&self, place: usize) -> f64 {
        GUTTER + self.column * (place as f64 + 0.5)
    }

    /// Draws the events, instant by instant.
    pub fn draw_all(&mut self, events: &[DrawnEvent]) -> fmt::Result {
        let (longest, mut last) = (gap(events), None);
        for ((time, is_in_run), instant) in instants::of(events) {
            let passed = last.map_or(Duration::ZERO, |last: Time| time.since(last));
            if passed > longest {
                self.skip(passed)?;
            }
            self.instant(time, is_in_run, &instant, events)?;
            last = Some(time);
        }
        let end = self.y + ROW;
        for lifeline in &mut self.lifelines {
            lifeline.turn(end, false);
        }
        Ok(())
    }

    /// Leaves a time out in which nothing happens.
    fn skip(&mut self, passed: Duration) -> fmt::Result {
        self.y += ROW;
        let lines: Vec<f64> = (0..self.lifelines.len()).map(|node| self.x(node)).collect();
        shapes::gap(&mut self.labels, lines.into_iter(), self.y)?;
        let label = format!("+ {}", length(passed));
        shapes::text(&mut self.labels, "time", (GUTTER - 14.0, self.y + 4.0), &label)
    }

    fn instant(
        &mut self,
        time: Time,
        is_in_run: bool,
        instant: &Instant,
        events: &[DrawnEvent],
    ) -> fmt::Result {
        self.y += ROW;
        let (top, right) = (self.y, self.x(self.lifelines.len()));
        line(&mut self.body, "instant", (GUTTER - 8.0, top), (right - self.column / 2.0, top))?;
        let label = if is_in_run { clock(time) } else { "before".to_owned() };
        shapes::text(&mut self.body, "time", (GUTTER - 14.0, top + 4.0), &label)?;
        for (at, event) in &instant.waits {
            self.marked(*at, |canvas| canvas.wait(event, top))?;
        }
        let mut landed = vec![0_u32; self.lifelines.len()];
        for at in &instant.arrivals {
            let DrawnWhat::Sends { to, .. } = events[*at].what else { continue };
            let y = top + f64::from(landed[to]) * EDGE;
            landed[to] += 1;
            let sent = self.places[*at];
            self.marked(*at, |canvas| canvas.arrow(&events[*at], sent, y))?;
            self.y = self.y.max(y);
            self.lifelines[to].marks.push((time, y));
        }
        for (row, (at, event)) in instant.events.iter().enumerate() {
            if let Some(fan) = self.fans.get(*at).filter(|fan| fan.first != *at) {
                self.places[*at] = self.places[fan.first];
                continue;
            }
            // What happens without a message happens at the line.
            self.y += if row == 0 && instant.arrivals.is_empty() { 0.0 } else { ROW };
            self.places[*at] = self.y;
            self.lifelines[event.node].marks.push((time, self.y));
            self.marked(*at, |canvas| canvas.event(event))?;
            if let Some(fan) = self.fans.get(*at) {
                self.marked(*at, |canvas| canvas.count(event, fan.count))?;
            }
        }
        Ok(())
    }

    /// Puts what is drawn of an event into groups that have its place among all events.
    fn marked(
        &mut self,
        event: usize,
        draw: impl FnOnce(&mut Canvas) -> fmt::Result,
    ) -> fmt::Result {
        let (body, labels) = (self.body.len(), self.labels.len());
        draw(self)?;
        for (layer, from) in [(&mut self.body, body), (&mut self.labels, labels)] {
            if layer.len() > from {
                layer.insert_str(from, &format!("<g data-event=\"{event}\">\n"));
                layer.push_str("</g>\n");
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &DrawnEvent) -> fmt::Result {
        let (at, label) = ((self.x(event.node), self.y), event.what.label());
        match &event.what {
            DrawnWhat::Sends { to, .. } => {
                // Above the beginning of its arrow.
                let ahead = if *to > event.node { 0.5 } else { -0.5 };
                shapes::text(
                    &mut self.labels,
                    "label",
                    (at.0 + ahead * self.column, at.1 - 4.0),
                    label,
                )
            }
            DrawnWhat::Becomes { phase: Phase::Leading, .. } => {
                shapes::pill(&mut self.labels, "phase leads", at, label)
            }
            DrawnWhat::Becomes { .. } => shapes::pill(&mut self.labels, "phase", at, label),
            DrawnWhat::Led => shapes::pill(&mut self.labels, "phase led", at, label),
            DrawnWhat::Starts => {
                self.lifelines[event.node].turn(self.y, false);
                shapes::pill(&mut self.labels, "phase", at, label)
            }
            DrawnWhat::Dies => {
                self.lifelines[event.node].turn(self.y, true);
                shapes::cross(&mut self.body, at)?;
                self.beside(at, label)
            }
            DrawnWhat::Suffers(_) => self.beside(at, label),
            DrawnWhat::Waited { .. } => Ok(()), // drawn with its instant
        }
    }

    /// To how many a broadcast goes: below the beginning of its arrows.
    fn count(&mut self, event: &DrawnEvent, count: usize) -> fmt::Result {
        let DrawnWhat::Sends { to, .. } = event.what else { return Ok(()) };
        let side = if to > event.node { 14.0 } else { -14.0 };
        let at = (self.x(event.node) + side, self.y + 12.0);
        shapes::text(&mut self.labels, "label", at, &format!("to {count}"))
    }

    /// A message, from where it was sent to where it arrives.
    fn arrow(&mut self, event: &DrawnEvent, sent: f64, y: f64) -> fmt::Result {
        let DrawnWhat::Sends { to, lost, unseen, .. } = event.what else { return Ok(()) };
        let (start, end): (Point, Point) = ((self.x(event.node), sent), (self.x(to), y));
        let class = match unseen {
            _ if lost => "arrow lost",
            Some(_) => "arrow unseen",
            None => "arrow",
        };
        line(&mut self.body, class, start, end)?;
        if lost {
            shapes::cross(&mut self.body, end)
        } else {
            shapes::head(&mut self.body, start, end)
        }
    }

    /// A wait that ends here.
    fn wait(&mut self, event: &DrawnEvent, end: f64) -> fmt::Result {
        let DrawnWhat::Waited { since, label } = &event.what else { return Ok(()) };
        let (x, marks) = (self.x(event.node), &self.lifelines[event.node].marks);
        let start = marks.iter().rev().find(|(time, _)| time <= since).map_or(TOP, |(_, y)| *y);
        line(&mut self.body, "wait", (x, start), (x, end))?;
        self.beside((x, end - ROW), label)
    }

    /// Writes to the right of a place on a lifeline.
    fn beside(&mut self, (x, y): Point, label: &str) -> fmt::Result {
        let width = label.chars().count() as f64 * LETTER;
        self.right = self.right.max(x + width + 24.0);
        shapes::text(&mut self.labels, "label", (x + width / 2.0 + 12.0, y + 4.0), label)
    }
}

impl Lifeline {
    /// Begins another part of it.
    fn turn(&mut self, y: f64, dead: bool) {
        self.parts.push(LifelinePart { from: self.begun, to: y, dead: self.dead });
        (self.begun, self.dead) = (y, dead);
    }
}
