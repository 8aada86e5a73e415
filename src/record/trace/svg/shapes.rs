//! The shapes of a drawing.

use std::fmt::{self, Write};

use crate::trace::escaped::Escaped;

/// The width of a letter, in pixels.
pub(super) const LETTER: f64 = 6.4;

/// A place in the drawing, in pixels.
pub(super) type Point = (f64, f64);

pub(super) fn line(out: &mut impl Write, class: &str, from: Point, to: Point) -> fmt::Result {
    let ((x1, y1), (x2, y2)) = (from, to);
    writeln!(out, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#)
}

pub(super) fn text(out: &mut impl Write, class: &str, at: Point, text: &str) -> fmt::Result {
    let ((x, y), text) = (at, Escaped(text));
    writeln!(out, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#)
}

/// The point of an arrow.
pub(super) fn head(out: &mut impl Write, from: Point, to: Point) -> fmt::Result {
    let (x, y) = to;
    let angle = (y - from.1).atan2(x - from.0).to_degrees();
    writeln!(
        out,
        r#"<path class="head" d="M0 0L-9 -3.5L-9 3.5z" transform="translate({x:.1} {y:.1}) rotate({angle:.1})"/>"#
    )
}

/// A word in a rounded box.
pub(super) fn pill(out: &mut impl Write, class: &str, at: Point, label: &str) -> fmt::Result {
    let width = label.chars().count() as f64 * LETTER + 16.0;
    let (left, top, (x, y)) = (at.0 - width / 2.0, at.1 - 9.0, at);
    write!(
        out,
        r#"<rect class="{class}" x="{left:.1}" y="{top:.1}" width="{width:.1}" height="18" rx="9"/>"#
    )?;
    writeln!(out, r#"<text x="{x:.1}" y="{:.1}">{}</text>"#, y + 4.0, Escaped(label))
}

pub(super) fn cross(out: &mut impl Write, at: Point) -> fmt::Result {
    let (left, right, top, bottom) = (at.0 - 6.0, at.0 + 6.0, at.1 - 6.0, at.1 + 6.0);
    writeln!(
        out,
        r#"<path class="cross" d="M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{left:.1} {bottom:.1}L{right:.1} {top:.1}"/>"#
    )
}

/// A break of all lines at these places: time that is left out.
pub(super) fn gap(out: &mut impl Write, lines: impl Iterator<Item = f64>, y: f64) -> fmt::Result {
    write!(out, r#"<path class="break" d=""#)?;
    for x in lines {
        for y in [y - 2.5, y + 2.5] {
            write!(out, "M{:.1} {:.1}L{:.1} {:.1}", x - 7.0, y + 3.0, x + 7.0, y - 3.0)?;
        }
    }
    writeln!(out, r#""/>"#)
}
