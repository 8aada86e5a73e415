//! The files of a room can be read one after the other: none of them import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{ARROWS, CRATES, Source, assert_none, sources};

/// The files of one room, by the path of their module, and what each imports.
struct Room {
    files: BTreeMap<Vec<String>, Source>,
}

impl Room {
    fn of(folder: &str) -> Room {
        let tests = |file: &Source| file.path.ends_with("/tests.rs");
        let files = sources(&[folder]).into_iter().filter(|file| !tests(file));
        Room { files: files.map(|file| (file.module(), file)).collect() }
    }

    /// The file that a path leads to. A name that a file only hands on is that of the file it comes from.
    fn find(&self, from: &[String], path: &[String]) -> Option<&Vec<String>> {
        let mut at = from.to_vec();
        let mut rest = path.iter();
        let mut next = rest.next()?;
        match next.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => _ = at.pop(),
            child if self.files.contains_key(&[from, &[child.to_owned()]].concat()) => {
                at.push(child.to_owned());
            }
            _ => return None,
        }
        for word in rest {
            next = word;
            if word == "super" {
                at.pop();
            } else if self.leads_below(&at, word) {
                at.push(word.clone());
            } else {
                break;
            }
        }
        let (module, file) = self.files.get_key_value(&at)?;
        let handed_on = file.imports().into_iter().find(|(hands_on, path)| {
            *hands_on && path.last() == Some(next) && path.as_slice() != [next.clone()]
        });
        match handed_on {
            Some((_, path)) => self.find(module, &path),
            None => Some(module),
        }
    }

    fn leads_below(&self, at: &[String], word: &str) -> bool {
        let below = [at, &[word.to_owned()]].concat();
        self.files.keys().any(|module| module.starts_with(&below))
    }

    /// The files of this room that each one imports.
    fn arrows(&self) -> BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> {
        let arrows = self.files.iter().map(|(module, file)| {
            let used = file.imports().into_iter().filter(|(hands_on, _)| !hands_on);
            let to = used.filter_map(|(_, path)| self.find(module, &path));
            (module, to.filter(|to| *to != module).collect())
        });
        arrows.collect()
    }
}

impl Source {
    /// The path of its module in its crate.
    fn module(&self) -> Vec<String> {
        let below = self.path_in_crate().or_else(|| self.path.strip_prefix("benches/failover/"));
        let parts = below.unwrap_or(&self.path).trim_end_matches(".rs").split('/');
        parts.filter(|part| *part != "mod").map(str::to_owned).collect()
    }

    /// All paths that it names outside its tests, and whether it only hands them on.
    fn imports(&self) -> Vec<(bool, Vec<String>)> {
        let code: Vec<&str> = self.code().map(|(_, line)| line).collect();
        let text = code.join("\n").replace("(in crate::", "(in ");
        let text = text.split("mod tests {").next().unwrap_or_default();
        let mut found = Vec::new();
        for statement in text.split(';') {
            let plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_:{},*".contains(c);
            let used = statement.split_once("use ").filter(|(head, tree)| {
                let line = head.rsplit('\n').next().unwrap_or_default().trim_start();
                (line.is_empty() || line.starts_with("pub")) && tree.chars().all(plain)
            });
            if let Some((head, tree)) = used {
                let hands_on = head.rsplit('\n').next().is_some_and(|line| line.contains("pub"));
                let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
                found.extend(leaves(&tree).into_iter().map(|path| (hands_on, path)));
            } else {
                let part_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
                let words = statement.split(|c: char| !part_of_path(c));
                let paths = words.filter(|word| {
                    ["super::", "crate::"].iter().any(|start| word.starts_with(start))
                });
                found.extend(paths.map(|path| (false, segments(path))));
            }
        }
        found
    }
}

fn segments(path: &str) -> Vec<String> {
    let parts = path.split("::").map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The single paths of the tree of a `use`.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let Some((stem, rest)) = tree.split_once('{') else {
        return vec![segments(tree.split(" as ").next().unwrap_or_default())];
    };
    let (mut depth, mut start, mut found) = (0_u32, 0, Vec::new());
    let branches = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    for (at, c) in branches.char_indices().chain([(branches.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                for leaf in leaves(&branches[start..at]) {
                    found.push([segments(stem), leaf].concat());
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let mut broken = Vec::new();
    let homes = || CRATES.iter().map(|name| format!("src/{name}/")).chain(["src/".to_owned()]);
    let folder = |room: &str| {
        let mut folders = homes().map(|home| format!("{home}{room}"));
        folders.find(|folder| PathBuf::from(folder).exists()).expect("the room is there")
    };
    let rooms = ARROWS.iter().map(|(room, _)| folder(room));
    for folder in rooms.chain(["benches/failover".to_owned()]) {
        let room = Room::of(&folder);
        let mut arrows = room.arrows();
        // A file that imports nothing, or that nothing imports, is in no circle.
        loop {
            let left: BTreeSet<_> = arrows.keys().copied().collect();
            let used: BTreeSet<_> = arrows.values().flatten().copied().collect();
            for to in arrows.values_mut() {
                to.retain(|file| left.contains(file));
            }
            arrows.retain(|file, to| !to.is_empty() && used.contains(file));
            if arrows.len() == left.len() {
                break;
            }
        }
        for (file, to) in arrows {
            let to: Vec<String> = to.into_iter().map(|file| file.join("/")).collect();
            broken.push(format!("{} imports {}", file.join("/"), to.join(", ")));
        }
    }
    assert_none(
        &broken,
        "files that import each other cannot be read one after the other: move what both need into a \
         third file below them",
    );
}
