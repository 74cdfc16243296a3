//! The public surface, as a list that is compared with `docs/public-api.txt`, so that a change of
//! it shows as a change of that file.
//!
//! The list is read from the sources: everything that says `pub` in the modules that users reach.
//! After a change that is meant, run this test with `UPDATE_PUBLIC_API=1` and commit the file.

#![allow(clippy::unwrap_used, reason = "a failure to unwrap is a failed test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms that no user enters; what is `pub` there is so for the models.
const INSIDE: [&str; 4] = ["driver", "sync", "primitive", "architecture"];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if INSIDE.contains(&name) || name == "tests" {
            continue;
        }
        if path.is_dir() {
            sources(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The declaration that begins on the first of these lines, on one line and without its body.
fn declaration(lines: &[&str]) -> String {
    let mut whole = String::new();
    for line in lines {
        let line = line.trim();
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(line);
        // The braces of a group of names belong to the declaration.
        let is_use = whole.starts_with("pub use");
        // One line that ends in a comma is a field; what goes on after one has a brace or a
        // bracket.
        if let (true, Some(field)) = (whole == line, line.strip_suffix(',')) {
            return field.to_owned();
        }
        if line.ends_with(';') || (!is_use && (line.ends_with('{') || line.ends_with('}'))) {
            break;
        }
    }
    let is_use = whole.starts_with("pub use");
    let end = if is_use { None } else { whole.find(" {") };
    let short = &whole[..end.unwrap_or(whole.len())];
    short.trim_end_matches(';').to_owned()
}

fn surface() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let mut list = String::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let shown = file.strip_prefix(&root).unwrap().display().to_string();
        let mut items = Vec::new();
        let mut block = String::new();
        let mut in_trait = false;
        for (number, line) in lines.iter().enumerate() {
            if line.starts_with("impl") || line.starts_with("pub trait") {
                block = declaration(&lines[number..]);
                in_trait = line.starts_with("pub trait");
            } else if *line == "}" {
                block.clear();
                in_trait = false;
            }
            let item = line.trim_start();
            let named = item.starts_with("pub ") || (in_trait && item.starts_with("fn "));
            let implemented = line.starts_with("impl") && line.contains(" for ");
            if named && !line.starts_with(' ') || implemented {
                items.push(declaration(&lines[number..]));
            } else if named {
                items.push(format!("    {block}: {}", declaration(&lines[number..])));
            }
        }
        if !items.is_empty() {
            writeln!(list, "{}", shown.replace('\\', "/")).unwrap();
            for item in items {
                writeln!(list, "  {item}").unwrap();
            }
        }
    }
    list
}

#[test]
fn the_public_surface_is_the_one_that_is_written_down() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/public-api.txt");
    let surface = surface();
    if std::env::var_os("UPDATE_PUBLIC_API").is_some() {
        fs::write(&file, &surface).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let differences: Vec<String> = surface
        .lines()
        .filter(|line| !written.lines().any(|old| old == *line))
        .map(|line| format!("+ {line}"))
        .chain(
            written
                .lines()
                .filter(|line| !surface.lines().any(|new| new == *line))
                .map(|line| format!("- {line}")),
        )
        .collect();
    assert!(
        differences.is_empty() && written == surface,
        "the public surface has changed; if that is meant, run this test with \
         UPDATE_PUBLIC_API=1 and commit docs/public-api.txt\n{}",
        differences.join("\n")
    );
}
