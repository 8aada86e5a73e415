//! What is shown of some events, in whatever form.

use super::event::DrawnEvent;

/// What happened to some members. Its forms are [`Svg`](super::svg::Svg), [`Html`](super::html::Html) and
/// [`json`](super::json::json); the events may come from a simulation or from nodes.
///
/// ```
/// use electd_election::core::types::Time;
/// use electd_record::trace::{Diagram, DrawnEvent, DrawnWhat};
/// use electd_record::trace::{html::Html, json::json, svg::Svg};
///
/// let (time, what) = (Time::default(), DrawnWhat::Dies);
/// let death = |node| DrawnEvent { time, node, what: what.clone(), causes: Vec::new() };
/// let [title, counts, description] = ["Two deaths", "", "Of two nodes."].map(str::to_owned);
/// let names = ["node-1", "node-2"].map(str::to_owned).to_vec();
/// let diagram = Diagram { title, counts, description, names, events: &[death(1), death(0)] };
/// assert!(Svg(&diagram).to_string().starts_with("<svg "));
/// assert!(Html(&diagram).to_string().starts_with("<!doctype html>"));
/// assert_eq!(json(&diagram)["members"][0], "node-1");
/// ```
#[derive(Clone, Debug)]
pub struct Diagram<'a> {
    /// The title of the drawing.
    pub title: String,
    /// The figures below the title.
    pub counts: String,
    /// A description for readers who cannot see it.
    pub description: String,
    /// The members' names, in the order of their places.
    pub names: Vec<String>,
    /// What happened, in the order of time.
    pub events: &'a [DrawnEvent],
}
