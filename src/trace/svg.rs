//! An election as a sequence diagram in SVG.
//!
//! Time runs downward, in blocks of the events of one instant: later instants are lower, but their distance is not to
//! scale, and a long one has a break. A message arrives at the line of the instant at which it does; below that line
//! each event has a row, although no time passes between the rows. In a browser the drawing follows the reader's light
//! or dark scheme.

mod canvas;
mod instants;
mod shapes;

use std::fmt;

use super::event::Event;
use canvas::{Canvas, GUTTER, ROW, TOP};
use shapes::{Escaped, line};

/// The most lifelines of a drawing that can still be read.
pub const MOST_NODES: usize = 40;

/// The most events of a drawing that a browser shows at ease.
pub const MOST_EVENTS: usize = 5000;

/// The width of a capital letter, and that of a letter of the heading, in pixels.
const CAPITAL: f64 = 7.4;
const HEADING: f64 = 8.2;

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
    .instant { stroke: currentColor; opacity: 0.1 }
    .wait { stroke: #d29922; stroke-width: 6; opacity: 0.45 }
    .break { stroke: currentColor; stroke-width: 1.5; fill: none }
    .cross { stroke: #c62828; stroke-width: 2; fill: none }
    .phase { fill: #eef0f3; stroke: #8b949e }
    .leads { fill: #1a7f4b; stroke: #1a7f4b }
    .led { fill: #ffffff; stroke: #1a7f4b; stroke-dasharray: 4 3 }
    .leads + text { fill: #ffffff; font-weight: bold }
    @media (prefers-color-scheme: dark) {
      svg { color: #e6edf3 }
      .label { stroke: #14181d }
      .paper { fill: #14181d }
      .cross { stroke: #ff7b72 }
      .phase { fill: #2b3138; stroke: #6e7681 }
      .led { fill: #14181d; stroke: #2ea567 }
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

impl fmt::Display for Diagram<'_> {
    /// The drawing as an SVG document.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut canvas = Canvas::new(self.names.len(), self.events);
        canvas.draw_all(self.events)?;
        let columns = self.names.len().saturating_sub(1) as f64;
        let counts = self.counts.chars().count() as f64 * CAPITAL + 32.0;
        let title = self.title.chars().count() as f64 * HEADING + 32.0;
        let lines = GUTTER + canvas.column * (columns + 1.0);
        let width = lines.max(title).max(counts).max(canvas.right);
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
        for (place, (name, lifeline)) in self.names.iter().zip(&canvas.lifelines).enumerate() {
            let (x, y, name) = (canvas.x(place), TOP - 18.0, Escaped(name));
            writeln!(f, r#"<text class="name" x="{x:.1}" y="{y:.1}">{name}</text>"#)?;
            for part in &lifeline.parts {
                let class = if part.dead { "life dead" } else { "life" };
                line(f, class, (x, part.from), (x, part.to))?;
            }
        }
        Ok(())
    }
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
