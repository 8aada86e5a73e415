//! The recipes of examples/: their pages are short, and name the files that are there, and all of them.

use std::fs;
use std::path::Path;

use super::assert_none;

const MOST_LINES: usize = 80;
const MOST_COLUMNS: usize = 120;

/// The files of a recipe that its page names by where they are installed.
fn installed<'a>(page: &'a str, folder: &'a str) -> impl Iterator<Item = &'a str> {
    let place = format!("/etc/electd/{folder}/");
    let words = page.split(|c: char| c.is_whitespace() || "`'\"|,()[]{}".contains(c));
    words.filter_map(move |word| word.split_once(&place).map(|(_, file)| file))
}

/// The relative links of a page.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let ends = page.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(link, _)| link.split('#').next().unwrap_or(link))
        .filter(|link| !link.contains("://"))
}

/// Whether a test with processes types what is in this folder.
fn is_typed(folder: &str) -> bool {
    let test = fs::read_to_string("tests/process/jobs/periods.rs");
    test.is_ok_and(|test| test.contains(&format!("examples/{folder}/")))
}

/// A row of a table cannot be broken.
fn is_long(line: &str) -> bool {
    line.chars().count() > MOST_COLUMNS && !line.starts_with('|')
}

#[test]
fn the_page_of_a_recipe_is_short_and_names_its_files() {
    let mut broken = Vec::new();
    for entry in fs::read_dir("examples").expect("the folder is there").flatten() {
        let (folder, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(page) = fs::read_to_string(folder.join("README.md")) else { continue };
        let place = format!("examples/{name}/README.md");
        let lines = page.lines().count();
        if lines > MOST_LINES || page.lines().any(is_long) {
            broken.push(format!(
                "{place} has {lines} lines, or one of more than {MOST_COLUMNS} columns"
            ));
        }
        let written = ["name", "image", "hosts", "password"];
        for file in installed(&page, &name).filter(|file| !written.contains(file)) {
            if !folder.join(file).exists() {
                broken.push(format!("{place} names {file}, which is not there"));
            }
        }
        for link in links(&page).filter(|link| !folder.join(link).exists()) {
            broken.push(format!("{place} links to {link}, which is not there"));
        }
        for file in fs::read_dir(&folder).expect("the folder can be read").flatten() {
            let file = file.file_name().to_string_lossy().into_owned();
            if file != "README.md" && !page.contains(file.as_str()) {
                broken.push(format!("{place} does not name {file}"));
            }
        }
        let is_tried = Path::new(&format!("tests/interop/{name}.py")).exists() || is_typed(&name);
        if !is_tried && !page.contains("By hand: ") {
            broken.push(format!(
                "{place} is not tried by tests/interop/{name}.py, and does not say so"
            ));
        }
    }
    assert_none(&broken, "mend the page, or the recipe");
}
