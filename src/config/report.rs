//! Reads a document against the keys that it may have, and collects every problem on the way.
//!
//! A reading function returns `None` after it reported why, so that its caller continues with the next
//! key and the user sees all problems of a file together.

use std::path::{Path, PathBuf};

use super::choices::{NamedValue, nearest, pick};
use super::json::JsonNode;
use super::problem::{ConfigProblem, Position};
use electd_election::core::types::Rank;
use electd_election::limits::quote;

/// A value with the path of keys that leads to it.
#[derive(Clone, Debug)]
pub(super) struct Spot<'t> {
    pub(super) key: String,
    node: JsonNode<'t>,
}

impl<'t> Spot<'t> {
    /// The document itself.
    pub(super) fn root(node: JsonNode<'t>) -> Spot<'t> {
        Spot { key: String::new(), node }
    }

    /// The path of the object that this is a value of.
    pub(super) fn parent(&self) -> &str {
        self.key.rsplit_once('.').map_or("", |(parent, _)| parent)
    }

    /// The last key of the path.
    fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
    }

    /// Whether it is an object with this key.
    pub(super) fn has(&self, name: &str) -> bool {
        let entries = self.node.entries().unwrap_or_default();
        entries.iter().any(|(key, _)| key.string().as_deref() == Some(name))
    }

    /// Whether it is an object.
    pub(super) fn is_object(&self) -> bool {
        self.node.text().starts_with('{')
    }

    /// The number as it is written, where it is one.
    pub(super) fn number(&self) -> Option<&'t str> {
        (self.node.kind() == "a number").then(|| self.node.text())
    }

    /// The path of a key of this object.
    fn path_of(&self, name: &str) -> String {
        if self.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.key) }
    }
}

/// The problems found so far.
pub(super) struct Report<'t> {
    document: &'t str,
    problems: Vec<ConfigProblem>,
}

impl<'t> Report<'t> {
    pub(super) fn new(document: &'t str) -> Report<'t> {
        Report { document, problems: Vec::new() }
    }

    /// All problems in the order of the file.
    pub(super) fn finish(mut self) -> Vec<ConfigProblem> {
        self.problems.sort_by_key(|problem| problem.position);
        self.problems
    }

    /// A value is wrong.
    pub(super) fn wrong(
        &mut self,
        spot: &Spot<'t>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let value = Some(quote(spot.node.text()));
        self.add(spot.node, spot.key.clone(), what.into(), value, remedy.into());
    }

    /// The line of a value.
    pub(super) fn line(&self, spot: &Spot<'t>) -> usize {
        self.position(spot.node).line
    }

    fn position(&self, node: JsonNode<'t>) -> Position {
        Position::of(self.document, node.offset(self.document))
    }

    fn add(
        &mut self,
        at: JsonNode<'t>,
        key: String,
        what: String,
        value: Option<String>,
        remedy: String,
    ) {
        let position = Some(self.position(at));
        self.problems.push(ConfigProblem { position, key, what, value, remedy });
    }

    /// A string.
    pub(super) fn string(&mut self, spot: &Spot<'t>) -> Option<String> {
        let content = spot.node.string();
        if content.is_none() {
            self.wrong_kind(spot, "a string", "write it in double quotes");
        }
        content
    }

    /// true or false.
    pub(super) fn boolean(&mut self, spot: &Spot<'t>) -> Option<bool> {
        let content = spot.node.boolean();
        if content.is_none() {
            self.wrong_kind(spot, "a boolean", "write true or false, without quotes");
        }
        content
    }

    /// The values of a list.
    pub(super) fn list(&mut self, spot: &Spot<'t>) -> Option<Vec<Spot<'t>>> {
        let Some(items) = spot.node.items() else {
            self.wrong_kind(spot, "a list", "write it as [...]");
            return None;
        };
        let spot = |(at, node)| Spot { key: format!("{}[{at}]", spot.key), node };
        Some(items.into_iter().enumerate().map(spot).collect())
    }

    /// One of the names of a choice that this version has.
    pub(super) fn choice<T: Copy>(
        &mut self,
        spot: &Spot<'t>,
        choices: &[NamedValue<T>],
    ) -> Option<T> {
        let word = self.string(spot)?;
        match pick(spot.name(), &word, choices) {
            Ok(value) => Some(value),
            Err((what, remedy)) => {
                self.add(spot.node, spot.key.clone(), what, None, remedy);
                None
            }
        }
    }

    /// A whole number that a rank can have: see [`Rank::VALUES`].
    pub(super) fn integer(&mut self, spot: &Spot<'t>) -> Option<i64> {
        let Some(text) = spot.number() else {
            self.wrong_kind(spot, "a number", "write it without quotes");
            return None;
        };
        let number = text.parse().ok().filter(|number| Rank::VALUES.contains(number));
        if number.is_none() {
            let remedy =
                format!("give one from {} to {}", Rank::VALUES.start(), Rank::VALUES.end());
            self.wrong(spot, "is not a whole number that a rank can have", remedy);
        }
        number
    }

    /// A path; a relative one starts at `folder`.
    pub(super) fn path(&mut self, spot: &Spot<'t>, folder: &Path) -> Option<PathBuf> {
        let text = self.string(spot)?;
        if text.is_empty() || text.contains('\0') {
            let remedy = "name a path; relative ones start at this file's folder";
            self.wrong(spot, "is not a path", remedy);
            return None;
        }
        Some(folder.join(text))
    }

    /// A key that must be given in the object at this place. It is reported once, however often it is
    /// missed.
    pub(super) fn missing(&mut self, at: &Spot<'t>, name: &str, remedy: &str) {
        let (path, position) = (at.path_of(name), Some(self.position(at.node)));
        let known =
            self.problems.iter().any(|known| known.key == path && known.position == position);
        if !known {
            self.add(at.node, path, "is missing".to_owned(), None, remedy.to_owned());
        }
    }

    fn wrong_kind(&mut self, spot: &Spot<'t>, wanted: &str, remedy: &str) {
        let found = spot.node.kind();
        let what = if found == wanted {
            // Only a string can be of the right kind and still not be readable.
            "holds an escape that is no character".to_owned()
        } else {
            format!("is {found}, not {wanted}")
        };
        self.wrong(spot, what, remedy);
    }
}

/// An object whose keys have been checked: all known, none twice.
pub(super) struct Object<'t> {
    spot: Spot<'t>,
    entries: Vec<(String, Spot<'t>)>,
    /// Keys that an unknown one was probably meant to be; they are not reported as missing too.
    meant: Vec<&'static str>,
}

impl<'t> Object<'t> {
    /// Reads an object that may have these keys.
    pub(super) fn open(
        spot: &Spot<'t>,
        known: &[&'static str],
        report: &mut Report<'t>,
    ) -> Option<Object<'t>> {
        Object::open_with(spot, Some(known), report)
    }

    /// Reads an object whose keys are names: the caller judges them.
    pub(super) fn open_any(spot: &Spot<'t>, report: &mut Report<'t>) -> Option<Object<'t>> {
        Object::open_with(spot, None, report)
    }

    fn open_with(
        spot: &Spot<'t>,
        known: Option<&[&'static str]>,
        report: &mut Report<'t>,
    ) -> Option<Object<'t>> {
        let Some(pairs) = spot.node.entries() else {
            report.wrong_kind(spot, "an object", "write it as {...}");
            return None;
        };
        let mut object = Object { spot: spot.clone(), entries: Vec::new(), meant: Vec::new() };
        for (key, value) in pairs {
            object.enter(key, value, known, report);
        }
        Some(object)
    }

    fn enter(
        &mut self,
        key: JsonNode<'t>,
        value: JsonNode<'t>,
        known: Option<&[&'static str]>,
        report: &mut Report<'t>,
    ) {
        let name = key.string().unwrap_or_else(|| key.text().to_owned());
        let path = self.spot.path_of(&quote(&name));
        if let Some(first) = self.get(&name) {
            let what = format!("is given twice, first on line {}", report.line(first));
            report.add(key, path, what, Some(quote(value.text())), "keep one of them".to_owned());
        } else if known.is_none_or(|known| known.contains(&name.as_str())) {
            self.entries.push((name, Spot { key: path, node: value }));
        } else {
            let known = known.unwrap_or_default();
            let remedy = match nearest(&name, known) {
                Some(near) => {
                    self.meant.push(near);
                    format!("did you mean `{near}`?")
                }
                None => format!("remove it; the keys here are {}", known.join(", ")),
            };
            report.add(key, path, "unknown key".to_owned(), Some(quote(value.text())), remedy);
        }
    }

    /// The object itself.
    pub(super) fn spot(&self) -> &Spot<'t> {
        &self.spot
    }

    /// All keys, with their values.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Spot<'t>)> {
        self.entries.iter().map(|(key, spot)| (key.as_str(), spot))
    }

    /// The value of a key, where it is given.
    pub(super) fn get(&self, name: &str) -> Option<&Spot<'t>> {
        self.entries.iter().find(|(key, _)| key == name).map(|(_, spot)| spot)
    }

    /// The value of a key that must be given.
    pub(super) fn require(
        &self,
        name: &str,
        remedy: &str,
        report: &mut Report<'t>,
    ) -> Option<&Spot<'t>> {
        let found = self.get(name);
        if found.is_none() && !self.meant.contains(&name) {
            report.missing(&self.spot, name, remedy);
        }
        found
    }
}
