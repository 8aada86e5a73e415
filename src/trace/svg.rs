//! An election as a sequence diagram in SVG.
//!
//! Time runs downward, an event a row: later events are lower, but rows are not to scale. Events of one
//! instant at several members have no order; a sender comes after its receiver, so that arrows are
//! short and level. In a browser the drawing follows the reader's light or dark scheme.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::event::{Event, What};
use crate::core::Phase;
use crate::core::types::Time;

/// The most lifelines of a drawing that can still be read.
pub const MOST_NODES: usize = 40;

/// Where things are, in pixels.
const ROW: f64 = 26.0;
const SLANT: f64 = 7.0;
const EDGE: f64 = 6.0;
const GUTTER: f64 = 84.0;
const TOP: f64 = 98.0;
const LETTER: f64 = 6.4;
const CAPITAL: f64 = 7.4;

const STYLE: &str = "
    svg { color: #1c2128; font: 11px sans-serif }
    text { fill: currentColor; text-anchor: middle }
    .label { paint-order: stroke; stroke: #ffffff; stroke-width: 4; stroke-linejoin: round }
    .paper { fill: #ffffff }
    .heading { font-size: 14px; font-weight: bold; text-anchor: start }
    .counts { text-anchor: start }
    .name { font-weight: bold }
    .time { text-anchor: end; opacity: 0.65 }
    .life { stroke: currentColor; opacity: 0.3 }
    .dead { stroke-dasharray: 2 5 }
    .arrow { stroke: currentColor; fill: none }
    .lost { stroke-dasharray: 5 4; opacity: 0.6 }
    .head { fill: currentColor }
    .cross { stroke: #c62828; stroke-width: 2; fill: none }
    .phase { fill: #eef0f3; stroke: #8b949e }
    .leads { fill: #1a7f4b; stroke: #1a7f4b }
    .leads + text { fill: #ffffff; font-weight: bold }
    @media (prefers-color-scheme: dark) {
      svg { color: #e6edf3 }
      .label { stroke: #14181d }
      .paper { fill: #14181d }
      .cross { stroke: #ff7b72 }
      .phase { fill: #2b3138; stroke: #6e7681 }
      .leads { fill: #2ea567; stroke: #2ea567 }
      .leads + text { fill: #0b0f12 }
    }
";

/// A drawing of what happened to some members.
#[derive(Clone, Copy, Debug)]
pub struct Diagram<'a> {
    /// The title of the drawing.
    pub title: &'a str,
    /// The figures below the title.
    pub counts: &'a str,
    /// A description for readers who cannot see it.
    pub description: &'a str,
    /// The members' names, in the order of their places.
    pub names: &'a [String],
    /// What happened, in the order of time.
    pub events: &'a [Event],
}

/// Text between tags, and in attributes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            letter if letter.is_control() => f.write_char(' '),
            letter => f.write_char(letter),
        })
    }
}

/// A drawing under way: what is drawn so far, and how far down.
struct Canvas {
    /// The distance of two lifelines.
    column: f64,
    /// The row of the latest event.
    y: f64,
    /// The latest event of each lifeline, and where it died.
    latest: Vec<f64>,
    died: Vec<Option<f64>>,
    /// The layer on top of the lifelines, and the layer on top of that.
    body: String,
    labels: String,
}

impl fmt::Display for Diagram<'_> {
    /// The drawing as an SVG document.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut canvas = Canvas::new(self);
        canvas.draw_all(self.events)?;
        let columns = self.names.len().saturating_sub(1) as f64;
        let counts = self.counts.chars().count() as f64 * CAPITAL + 32.0;
        let width = (GUTTER + canvas.column * (columns + 1.0)).max(counts);
        let height = canvas.y + ROW * 2.0;
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-labelledby="title description">"#
        )?;
        writeln!(f, r#"<title id="title">{}</title>"#, Escaped(self.title))?;
        writeln!(f, r#"<desc id="description">{}</desc>"#, Escaped(self.description))?;
        writeln!(f, "<style>{STYLE}</style>")?;
        writeln!(f, r#"<rect class="paper" width="100%" height="100%"/>"#)?;
        writeln!(f, r#"<text class="heading" x="16" y="26">{}</text>"#, Escaped(self.title))?;
        writeln!(f, r#"<text class="counts" x="16" y="46">{}</text>"#, Escaped(self.counts))?;
        self.lifelines(f, &canvas)?;
        writeln!(f, "{}{}</svg>", canvas.body, canvas.labels)
    }
}

impl Diagram<'_> {
    fn lifelines(&self, f: &mut fmt::Formatter<'_>, canvas: &Canvas) -> fmt::Result {
        let end = canvas.y + ROW;
        for (place, name) in self.names.iter().enumerate() {
            let x = canvas.x(place);
            let (top, name) = (TOP - 12.0, Escaped(name));
            writeln!(f, r#"<text class="name" x="{x:.1}" y="{:.1}">{name}</text>"#, top - 6.0)?;
            let died = canvas.died[place].unwrap_or(end);
            line(f, "life", (x, top), (x, died))?;
            if died < end {
                line(f, "life dead", (x, died), (x, end))?;
            }
        }
        Ok(())
    }
}

impl Canvas {
    fn new(diagram: &Diagram) -> Canvas {
        let longest = diagram.events.iter().map(|event| event.what.label().chars().count()).max();
        let nodes = diagram.names.len();
        Canvas {
            column: (longest.unwrap_or_default() as f64 * LETTER + 24.0).max(96.0),
            y: TOP,
            latest: vec![TOP; nodes],
            died: vec![None; nodes],
            body: String::new(),
            labels: String::new(),
        }
    }

    fn x(&self, place: usize) -> f64 {
        GUTTER + self.column * (place as f64 + 0.5)
    }

    /// Draws the events in order. An arrow is drawn when its message arrives, since other events may
    /// come between.
    fn draw_all(&mut self, events: &[Event]) -> fmt::Result {
        let mut under_way: Vec<(Time, f64, &Event)> = Vec::new();
        for instant in events.chunk_by(|one, other| one.time == other.time) {
            self.arrive(&mut under_way, instant[0].time)?;
            self.time(instant[0].time)?;
            for event in in_order(instant) {
                self.y += ROW;
                self.latest[event.node] = self.y;
                match &event.what {
                    What::Sends { arrives, .. } => under_way.push((*arrives, self.y, event)),
                    What::Becomes { phase, label } => self.phase(event.node, *phase, label)?,
                    What::Dies => self.death(event.node)?,
                }
            }
        }
        self.arrive(&mut under_way, Time(u64::MAX))
    }

    /// The time of the next row, at the margin.
    fn time(&mut self, time: Time) -> fmt::Result {
        let (x, y, tenths) = (GUTTER - 14.0, self.y + ROW + 4.0, time.0 / 100_000);
        let (whole, tenth) = (tenths / 10, tenths % 10);
        let tenth = if tenth == 0 { String::new() } else { format!(".{tenth}") };
        writeln!(self.body, r#"<text class="time" x="{x:.1}" y="{y:.1}">{whole}{tenth} ms</text>"#)
    }

    fn death(&mut self, node: usize) -> fmt::Result {
        let (x, y) = (self.x(node), self.y);
        self.died[node] = Some(y);
        self.cross((x, y))?;
        self.label((x + 26.0, y + 4.0), "dies")
    }

    /// Draws the messages that have arrived by now, each below what its receiver saw before.
    fn arrive(&mut self, under_way: &mut Vec<(Time, f64, &Event)>, now: Time) -> fmt::Result {
        under_way.sort_by_key(|(arrives, _, _)| *arrives);
        let arrived = under_way.partition_point(|(arrives, _, _)| *arrives <= now);
        for (_, sent, event) in under_way.drain(..arrived) {
            if let What::Sends { to, label, lost, .. } = &event.what {
                // Below the edge of what was drawn there last; the dead see nothing.
                let before = if *lost { 0.0 } else { self.latest[*to] + EDGE };
                let end = sent.max(before) + SLANT;
                self.latest[*to] = end;
                self.y = self.y.max(end - SLANT);
                self.arrow((event.node, sent), (*to, end), label, *lost)?;
            }
        }
        Ok(())
    }

    fn arrow(
        &mut self,
        from: (usize, f64),
        to: (usize, f64),
        label: &str,
        lost: bool,
    ) -> fmt::Result {
        let (start, end) = ((self.x(from.0), from.1), (self.x(to.0), to.1));
        let ahead = if end.0 > start.0 { 1.0 } else { -1.0 };
        let class = if lost { "arrow lost" } else { "arrow" };
        line(&mut self.body, class, start, end)?;
        if lost {
            self.cross(end)?
        } else {
            self.head(start, end)?
        }
        self.label((start.0 + ahead * self.column / 2.0, from.1 - 4.0), label)
    }

    fn head(&mut self, from: (f64, f64), to: (f64, f64)) -> fmt::Result {
        let (x, y) = to;
        let angle = (y - from.1).atan2(x - from.0).to_degrees();
        writeln!(
            self.body,
            r#"<path class="head" d="M0 0L-9 -3.5L-9 3.5z" transform="translate({x:.1} {y:.1}) rotate({angle:.1})"/>"#
        )
    }

    fn phase(&mut self, node: usize, phase: Phase, label: &str) -> fmt::Result {
        let width = label.chars().count() as f64 * LETTER + 16.0;
        let (x, y) = (self.x(node), self.y);
        let class = if phase == Phase::Leading { "phase leads" } else { "phase" };
        let (left, top) = (x - width / 2.0, y - 9.0);
        write!(
            self.labels,
            r#"<rect class="{class}" x="{left:.1}" y="{top:.1}" width="{width:.1}" height="18" rx="9"/>"#
        )?;
        writeln!(self.labels, r#"<text x="{x:.1}" y="{:.1}">{}</text>"#, y + 4.0, Escaped(label))
    }

    fn cross(&mut self, (x, y): (f64, f64)) -> fmt::Result {
        let (left, right, top, bottom) = (x - 6.0, x + 6.0, y - 6.0, y + 6.0);
        writeln!(
            self.body,
            r#"<path class="cross" d="M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"/>"#
        )
    }

    fn label(&mut self, (x, y): (f64, f64), text: &str) -> fmt::Result {
        writeln!(
            self.labels,
            r#"<text class="label" x="{x:.1}" y="{y:.1}">{}</text>"#,
            Escaped(text)
        )
    }
}

/// Puts the events of one instant in order, member by member: next is always the member with the fewest
/// messages for those still to come, whose rows would be in the way of the arrows.
fn in_order(instant: &[Event]) -> Vec<&Event> {
    let mut members: BTreeMap<usize, Vec<&Event>> = BTreeMap::new();
    for event in instant {
        members.entry(event.node).or_default().push(event);
    }
    let mut order = Vec::new();
    let in_the_way = |events: &[&Event], members: &BTreeMap<usize, Vec<&Event>>| {
        let receivers = events.iter().filter_map(|event| match event.what {
            What::Sends { to, .. } => Some(to),
            _ => None,
        });
        receivers.filter(|to| members.contains_key(to)).count()
    };
    while let Some(next) = members
        .iter()
        .min_by_key(|(_, events)| in_the_way(events, &members))
        .map(|(member, _)| *member)
    {
        order.extend(members.remove(&next).unwrap_or_default());
    }
    order
}

impl What {
    fn label(&self) -> &str {
        match self {
            What::Sends { label, .. } | What::Becomes { label, .. } => label,
            What::Dies => "",
        }
    }
}

fn line(out: &mut impl Write, class: &str, from: (f64, f64), to: (f64, f64)) -> fmt::Result {
    let ((x1, y1), (x2, y2)) = (from, to);
    writeln!(out, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_hold_is_text_and_no_markup() {
        let names = ["<a&b>\"".to_owned()];
        let diagram = Diagram {
            title: "</title>",
            counts: "",
            description: "1 < 2",
            names: &names,
            events: &[],
        };
        let svg = diagram.to_string();
        assert!(svg.contains("&lt;a&amp;b&gt;&quot;</text>"), "{svg}");
        assert!(svg.contains(r#"<title id="title">&lt;/title&gt;</title>"#), "{svg}");
    }
}
