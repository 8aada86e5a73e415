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

use super::diagram::Diagram;
use super::escaped::Escaped;
use super::event::DrawnEvent;
use super::legend;
use canvas::{Canvas, GUTTER, ROW, TOP};
use shapes::line;

/// The most lifelines of a drawing that can still be read.
pub const MOST_NODES: usize = 40;

/// The most events of a drawing that a browser shows at ease.
pub const MOST_EVENTS: usize = 5000;

/// The width of a capital letter, and that of a letter of the heading, in pixels.
const CAPITAL: f64 = 7.4;
const HEADING: f64 = 8.2;

/// The height of a line of the legend.
const LINE: f64 = 16.0;

/// The style of a drawing, for pages that rebuild it without its own.
pub const STYLE: &str = "
    svg { color: #1c2128; font: 11px sans-serif }
    text { fill: currentColor; text-anchor: middle }
    .label { paint-order: stroke; stroke: #ffffff; stroke-width: 4; stroke-linejoin: round }
    .paper { fill: #ffffff }
    .heading { font-size: 14px; font-weight: bold; text-anchor: start }
    .counts { text-anchor: start }
    .legend { text-anchor: start; opacity: 0.8 }
    .name { font-weight: bold }
    .time { text-anchor: end; opacity: 0.65 }
    .life { stroke: currentColor; opacity: 0.3 }
    .dead { stroke-dasharray: 2 5 }
    .arrow { stroke: currentColor; fill: none }
    .lost { stroke-dasharray: 5 4; opacity: 0.6 }
    .unseen { stroke-dasharray: 1 4; opacity: 0.8 }
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

/// A diagram as an SVG document: `Svg(&diagram).to_string()`. What is drawn of an event is in groups that have its
/// place among the events as `data-event`.
#[derive(Clone, Copy, Debug)]
pub struct Svg<'a>(pub &'a Diagram<'a>);

impl fmt::Display for Svg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A document of its own names its language; in HTML an element has it already.
        draw(self.0, Some(r#" xmlns="http://www.w3.org/2000/svg""#), f)
    }
}

/// Draws a diagram: as a document, with these attributes of its element besides its own, or as a part of one that has the
/// heading already.
pub(super) fn draw(
    diagram: &Diagram,
    document: Option<&str>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let Diagram { title, counts, description, names, events } = diagram;
    let mut canvas = Canvas::new(names.len(), events);
    canvas.draw_all(events)?;
    let columns = names.len().saturating_sub(1) as f64;
    let lines = GUTTER + canvas.column * (columns + 1.0);
    let heading = [(title, HEADING), (counts, CAPITAL)]
        .map(|(text, letter)| text.chars().count() as f64 * letter + 32.0);
    let heading = if document.is_some() { heading[0].max(heading[1]) } else { 0.0 };
    let width = lines.max(heading).max(canvas.right);
    let legend = if document.is_some() { below_it(events) } else { Vec::new() };
    let below = canvas.y + ROW * 2.0;
    let height = below + LINE * legend.len() as f64;
    // A part of a document begins with the names.
    let top = if document.is_some() { 0.0 } else { TOP - 42.0 };
    let (attributes, height) = (document.unwrap_or_default(), height - top);
    writeln!(
        f,
        r#"<svg{attributes} width="{width:.0}" height="{height:.0}" viewBox="0 {top:.0} {width:.0} {height:.0}" role="img" aria-labelledby="title description">"#
    )?;
    let [title, counts, description] = [title, counts, description].map(|text| Escaped(text));
    writeln!(f, r#"<title id="title">{title}</title>"#)?;
    writeln!(f, r#"<desc id="description">{description}</desc>"#)?;
    writeln!(f, "<style>{STYLE}</style>")?;
    writeln!(f, r#"<rect class="paper" width="100%" height="100%"/>"#)?;
    if document.is_some() {
        writeln!(f, r#"<text class="heading" x="16" y="26">{title}</text>"#)?;
        writeln!(f, r#"<text class="counts" x="16" y="46">{counts}</text>"#)?;
    }
    lifelines(names, &canvas, f)?;
    for (row, words) in legend.iter().enumerate() {
        let y = below + LINE * row as f64;
        writeln!(f, r#"<text class="legend" x="16" y="{y:.1}">{}</text>"#, Escaped(words))?;
    }
    writeln!(f, "{}{}</svg>", canvas.body, canvas.labels)
}

/// What stands below a drawing that is a document of its own.
fn below_it(events: &[DrawnEvent]) -> Vec<String> {
    let messages = legend::messages(events).into_iter();
    messages.map(|(name, meaning)| format!("{name}: {meaning}")).collect()
}

fn lifelines(names: &[String], canvas: &Canvas, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, (name, lifeline)) in names.iter().zip(&canvas.lifelines).enumerate() {
        let (x, y, name) = (canvas.x(place), TOP - 18.0, Escaped(name));
        writeln!(f, r#"<text class="name" x="{x:.1}" y="{y:.1}">{name}</text>"#)?;
        for part in &lifeline.parts {
            let class = if part.dead { "life dead" } else { "life" };
            line(f, class, (x, part.from), (x, part.to))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_hold_is_text_and_no_markup() {
        let diagram = Diagram {
            title: "</title>".to_owned(),
            counts: String::new(),
            description: "1 < 2".to_owned(),
            names: vec!["<a&b>\"\u{1b}".to_owned()],
            events: &[],
        };
        let svg = Svg(&diagram).to_string();
        assert!(svg.contains("&lt;a&amp;b&gt;&quot; </text>"), "{svg}");
        assert!(svg.contains(r#"<title id="title">&lt;/title&gt;</title>"#), "{svg}");
    }

    #[test]
    fn a_drawing_is_wide_enough_for_each_line_above_it() {
        let width = |title: usize, counts: usize| {
            let diagram = Diagram {
                title: "M".repeat(title),
                counts: "M".repeat(counts),
                description: String::new(),
                names: vec!["a".to_owned()],
                events: &[],
            };
            let svg = Svg(&diagram).to_string();
            let (_, rest) = svg.split_once(" width=\"").unwrap();
            rest.split('"').next().unwrap().parse::<usize>().unwrap()
        };
        for longest in [100, 200] {
            assert!(width(longest, 1) > 7 * longest && width(1, longest) > 7 * longest);
        }
    }
}
