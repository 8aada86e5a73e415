//! What is shown of some events, in whatever form.

use super::event::Event;

/// What happened to some members. Its forms are [`Svg`](super::svg::Svg), [`Html`](super::html::Html) and
/// [`json`](super::json::json); the events may come from a simulation or from nodes.
///
/// ```
/// use electd::sim::Scenario;
/// use electd::trace::Diagram;
/// use electd::trace::{html::Html, json::json, svg::Svg};
///
/// let outcome = Scenario { trace: true, ..Scenario::new(3) }.run()?;
/// let [title, counts, description] = ["An election", "", "Of three nodes."].map(str::to_owned);
/// let names = ["node-1", "node-2", "node-3"].map(str::to_owned).to_vec();
/// let diagram = Diagram { title, counts, description, names, events: &outcome.events };
/// assert!(Svg(&diagram).to_string().starts_with("<svg "));
/// assert!(Html(&diagram).to_string().starts_with("<!doctype html>"));
/// assert_eq!(json(&diagram)["members"][0], "node-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
    pub events: &'a [Event],
}
