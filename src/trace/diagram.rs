//! What is shown of some events, in whatever form.

use super::event::Event;

/// What happened to some members. Its forms are [`Svg`](super::svg::Svg), [`Html`](super::html::Html) and
/// [`json`](super::json::json); the events may come from a simulation or from nodes.
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
