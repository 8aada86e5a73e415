//! Events as one file of HTML that asks nobody for anything: the drawing and the list of the events, which a script
//! steps through, plays, zooms, filters, and marks by cause. Without scripts both can still be read.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use super::diagram::Diagram;
use super::escaped::Escaped;
use super::fans::Fans;
use super::json::json;
use super::legend;
use super::length::clock;
use super::svg;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = concat!(include_str!("html/drawn.css"), include_str!("html/page.css"));
const SCRIPT: &str = concat!(include_str!("html/drawn.js"), include_str!("html/page.js"));

/// The style of a drawing that shows steps, causes and effects, and of what stands around it; for other pages too.
pub const DRAWN_STYLE: &str = include_str!("html/drawn.css");
/// The script that steps through a drawing and marks causes and effects; for other pages too.
pub const DRAWN_SCRIPT: &str = include_str!("html/drawn.js");

/// What a browser may do with such a document: run its own script, and nothing else.
///
/// ```
/// assert!(electd_record::trace::html::policy().starts_with("default-src 'none'; script-src 'sha256-"));
/// ```
#[must_use]
pub fn policy() -> String {
    // A script or style is the whole content of its element.
    let hash =
        |content: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(content)));
    let [script, style] = [SCRIPT, STYLE].map(|content| hash(&format!("\n{content}")));
    format!("default-src 'none'; script-src {script}; style-src {style} {}", hash(svg::STYLE))
}

/// A diagram as an HTML document: `Html(&diagram).to_string()`.
#[derive(Clone, Copy, Debug)]
pub struct Html<'a>(pub &'a Diagram<'a>);

impl fmt::Display for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In one pass, so that nothing that is filled in is taken for a place to fill.
        let mut parts = PAGE.split("{{");
        f.write_str(parts.next().unwrap_or_default())?;
        for part in parts {
            let (place, rest) = part.split_once("}}").unwrap_or_default();
            self.fill(place, f)?;
            f.write_str(rest)?;
        }
        Ok(())
    }
}

impl Html<'_> {
    fn fill(&self, place: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagram { title, counts, description, .. } = self.0;
        match place {
            "title" => write!(f, "{}", Escaped(title)),
            "counts" => write!(f, "{}", Escaped(counts)),
            "description" => write!(f, "{}", Escaped(description)),
            "style" => f.write_str(STYLE),
            "script" => f.write_str(SCRIPT),
            "policy" => f.write_str(&policy()),
            "drawing" => svg::draw(self.0, None, f),
            "events" => self.list(f),
            "legend" => self.legend(f),
            // No markup ends the element, or opens another, as there is no `<` in it.
            "data" => f.write_str(&json(self.0).to_string().replace('<', "\\u003c")),
            _ => Ok(()),
        }
    }

    fn legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes = legend::shapes(self.0.events).into_iter();
        let shapes = shapes.map(|(shape, meaning)| (shape.to_owned(), meaning));
        for (name, meaning) in legend::messages(self.0.events).into_iter().chain(shapes) {
            writeln!(f, "<dt>{}</dt><dd>{meaning}</dd>", Escaped(&name))?;
        }
        Ok(())
    }

    fn list(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, fans) = (&self.0.names, Fans::of(self.0.events));
        for (at, event) in self.0.events.iter().enumerate() {
            let name = names.get(event.node).map_or("?", String::as_str);
            let (time, sentence) = (clock(event.time), event.sentence(names));
            f.write_str("<li")?;
            if event.what.kind().is_some_and(|kind| !kind.is_of_an_election()) {
                f.write_str(" data-beside")?;
            }
            if let Some(fan) = fans.get(at) {
                write!(f, " data-fan=\"{}\"", fan.first)?;
            }
            writeln!(
                f,
                "><button type=\"button\"><time>{time}</time> <span>{} {}</span></button></li>",
                Escaped(name),
                Escaped(&sentence)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::types::Time;
    use crate::trace::{Caption, DrawnEvent, DrawnWhat};

    #[test]
    fn what_users_typed_is_text_and_no_markup() {
        let evil = "</script><script>alert(1)</script>\"'<!--{{script}}&";
        let what = [
            DrawnWhat::Sends {
                to: 0,
                message: Caption { label: evil.to_owned(), ..Caption::default() },
                arrives: Time(1),
                lost: false,
                unseen: None,
            },
            DrawnWhat::Suffers(evil.to_owned()),
        ];
        let event = |what| DrawnEvent { time: Time(0), node: 0, what, causes: Vec::new() };
        let events = what.map(event);
        let [title, counts, description] = [evil; 3].map(str::to_owned);
        let names = vec![evil.to_owned()];
        let diagram = Diagram { title, counts, description, names, events: &events };
        let page = Html(&diagram).to_string();
        // Its own, and the one that holds the data.
        assert_eq!(page.matches("<script").count(), 2, "{page}");
        assert_eq!(page.matches("</script").count(), 2, "{page}");
        assert!(!page.contains("<!--"), "{page}");
        assert_eq!(page.matches(SCRIPT).count(), 1, "a place is filled in what was filled in");
        let text =
            "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&lt;!--{{script}}&amp;";
        assert!(page.contains(&format!("<span>{text} sends {text} to {text}</span>")), "{page}");
        let data =
            page.split("id=\"data\">").nth(1).and_then(|data| data.split("</script>").next());
        let data: serde_json::Value = serde_json::from_str(data.unwrap()).unwrap();
        assert_eq!(data["members"][0], evil);
    }

    #[test]
    fn every_place_of_the_page_is_filled() {
        let events = [];
        let [title, counts, description] = ["t", "c", "d"].map(str::to_owned);
        let diagram = Diagram { title, counts, description, names: Vec::new(), events: &events };
        let page = Html(&diagram).to_string();
        assert!(!page.contains("{{") && !page.contains("}}"), "{page}");
        for part in ["<title>t</title>", "<p>c</p>", "<p>d</p>", "<svg ", STYLE, SCRIPT] {
            assert_eq!(page.matches(part).count(), 1, "{part}");
        }
        // A browser runs only what the policy names by its hash.
        for (begin, end, count) in [("<script>", "</script>", 1), ("<style>", "</style>", 2)] {
            let elements = page.split(begin).skip(1).filter_map(|rest| rest.split(end).next());
            let hashes = elements.map(|text| BASE64_STANDARD.encode(Sha256::digest(text)));
            let named = hashes.filter(|hash| policy().contains(&format!("'sha256-{hash}'")));
            assert_eq!(named.count(), count, "{begin}");
        }
    }

    /// The names in quotes that come right after this in a script.
    fn named_after<'a>(script: &'a str, before: &str) -> Vec<&'a str> {
        script.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn the_script_finds_its_elements_in_the_page_and_its_classes_in_the_style() {
        let mut ids = named_after(SCRIPT, "by(\"");
        ids.extend(named_after(SCRIPT, "element(\""));
        ids.extend(named_after(SCRIPT, "getElementById(\""));
        ids.extend(["drawing", "list", "now", "place", "first", "back", "next", "last"]);
        assert!(ids.len() > 15, "{ids:?}");
        for id in &ids {
            assert!(
                SCRIPT.contains(&format!("\"{id}\"")) || SCRIPT.contains(&format!("{id}: () =>")),
                "{id}"
            );
            assert_eq!(PAGE.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        }
        for class in ["later", "now", "chosen", "cause", "effect", "aside", "out"] {
            assert!(SCRIPT.contains(&format!("        {class}: ")), "{class}");
            assert!(STYLE.contains(&format!("g.{class}")), "{class}");
        }
    }
}
