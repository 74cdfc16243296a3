//! The import table of the crate, executed: which module may name which other one.
//!
//! [`TABLE`] is the architecture in one screen. Each source file is broken into tokens, its test
//! code is left out, every path in it is written out in full (`use` groups, `super`, `self`), and
//! what it names is compared with its row. Comments and strings do not count.
//!
//! If a change needs an import that the table forbids, the table and the reason for it come first.

mod planted;
mod scan;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use scan::{paths, tokens};

/// What a module may import from this crate, and what it must not contain.
struct Row {
    /// `wheel` is that module alone, `wheel/*` it and all below; the longest match applies.
    module: &'static str,
    /// Modules of this crate in the same notation. Itself and its own submodules go without saying.
    imports: &'static [&'static str],
    /// Single words anywhere (`async`), or beginnings of paths (`std::time`).
    forbids: &'static [&'static str],
}

const fn row(
    module: &'static str,
    imports: &'static [&'static str],
    forbids: &'static [&'static str],
) -> Row {
    Row {
        module,
        imports,
        forbids,
    }
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    //  module              may import                                                   must not contain
    row("primitive/*",      &[],                                                         &[]),
    row("tick",             &[],                                                         &["tokio", "std::time", "Instant", "Waker", "async", "unsafe"]),
    row("error",            &[],                                                         &["tokio", "Instant", "Waker", "async", "unsafe"]),
    row("wheel/*",          &["tick"],                                                   &["tokio", "std::sync", "std::time", "Instant", "Waker", "async", "unsafe", "tracing"]),
    row("sync/*",           &["primitive/*", "tick"],                                    &["tokio", "Instant", "std::time"]),
    row("clock/*",          &["tick"],                                                   &["unsafe"]),
    row("driver/shared",    &["sync/*", "primitive/*", "tick", "error"],                 &["tokio", "Instant", "std::time", "unsafe"]),
    row("driver/ahead",     &["tick"],                                                   &["tokio", "Instant", "std::time", "unsafe", "tracing"]),
    row("driver/core",      &["driver/ahead", "driver/shared", "driver/counts", "driver/wake_list", "wheel/*", "sync/*", "tick", "error"], &["tokio", "Instant", "std::time", "unsafe", "tracing"]),
    row("driver/counts",    &["metrics/histogram", "metrics", "tick"],                   &["tokio", "Instant", "std::time", "unsafe", "tracing"]),
    row("driver/ledger",    &["driver", "driver/core", "driver/shared", "metrics", "wheel", "primitive/*"], &["tokio", "Instant", "std::time", "unsafe", "tracing"]),
    row("driver/turn",      &["driver/core", "driver/counts", "driver/shared", "driver/wake_list", "primitive/*", "sync/*", "tick", "error"], &["tokio", "Instant", "std::time", "unsafe"]),
    row("driver/wake_list", &["driver/shared", "wheel/*", "sync/*", "primitive/*", "tick", "error"], &["tokio", "Instant", "std::time", "unsafe"]),
    row("driver/*",         &["driver/*", "metrics", "sync/*", "primitive/*", "clock", "tick", "error"], &["unsafe"]),
    row("timer/*",          &["driver/*", "metrics", "sync/*", "primitive/*", "clock", "manual_clock", "tick", "error"], &["unsafe", "Sleep", "Timeout", "Interval"]),
    row("manual_clock/*",   &["timer", "driver/runtime", "primitive/*", "clock", "tick", "error"], &["unsafe", "Sleep", "Timeout", "Interval"]),
    row("sleep/*",          &["timer/*", "driver/*", "sync/*", "clock", "tick", "error"], &["unsafe", "Timeout", "Interval"]),
    row("timeout/*",        &["sleep", "timer", "clock", "tick", "error"],               &["unsafe", "Interval"]),
    row("interval/*",       &["sleep", "timer", "clock", "tick", "error"],               &["unsafe", "Timeout"]),
    row("future_ext",       &["timeout"],                                                &["unsafe", "Interval"]),
    row("deadline",         &["timeout", "sleep", "timer", "driver/registry", "driver/runtime", "clock", "tick", "error"], &["unsafe", "Interval"]),
    row("backoff/*",        &["sleep", "timer", "driver/registry", "driver/runtime", "tick", "error"], &["unsafe", "Timeout", "Interval"]),
    row("stream/*",         &["interval", "sleep", "timer", "tick", "error"],            &["unsafe"]),
    row("scheduled/*",      &["sleep", "interval/*", "timer", "driver/*", "sync/*", "primitive/*", "clock", "tick", "error"], &["unsafe", "Timeout"]),
    row("delay_queue/*",    &["wheel", "primitive/*", "driver/wake_list", "driver/registry", "sleep", "timer", "clock", "tick", "error"], &["unsafe"]),
    row("metrics/*",        &[],                                                         &["tokio", "tracing", "Instant", "std::time", "unsafe"]),
    row("time",             &["error", "interval", "sleep", "timeout"],                  &["fn", "impl", "struct", "enum", "unsafe"]),
    row("guide",            &[],                                                         &["fn", "impl", "use", "unsafe"]),
    row("architecture",     &[],                                                         &["fn", "impl", "use", "unsafe"]),
    row("lib",              &["*"],                                                      &["fn", "impl", "struct", "unsafe"]),
];

/// What only the named module may contain: the doors to shared memory are all in one file.
const ONLY_IN: &[(&str, &str)] = &[
    ("std::sync", "primitive/*"),
    ("core::sync", "primitive/*"),
    ("std::cell::UnsafeCell", "primitive/*"),
    ("core::cell::UnsafeCell", "primitive/*"),
    ("loom", "primitive/*"),
    ("shuttle", "primitive/*"),
];

/// Paths that are exempt from [`ONLY_IN`], each with its module.
const EXEMPT: &[(&str, &str)] = &[
    ("std::sync::OnceLock", "clock"), // the origin of time, set once
];

#[test]
fn every_module_imports_only_what_its_row_allows() {
    let sources = sources(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path());
    assert!(sources.iter().any(|source| source.module == "lib"));
    let complaints = check(&sources);
    assert!(
        complaints.is_empty(),
        "the import table (tests/architecture/main.rs) is broken:\n  {}\n",
        complaints.join("\n  ")
    );
}

#[test]
fn every_row_names_modules_that_the_table_knows() {
    for row in TABLE {
        for import in row.imports.iter().filter(|import| **import != "*") {
            let module = import.trim_end_matches("/*");
            assert!(
                row_of(module).is_some(),
                "{} imports {import}, which has no row",
                row.module
            );
        }
    }
}

/// One source file.
struct Source {
    /// Its path below `src` without the extension: `wheel/level`.
    module: String,
    text: String,
}

/// The source files below `root`, without those that are compiled for tests alone.
fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be read") {
            let path = entry.expect("src can be read").path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !is_test_file(&name)
            {
                let module = path.strip_prefix(root).expect("it lies below src");
                let module = module.with_extension("");
                found.push(Source {
                    module: module.to_string_lossy().replace('\\', "/"),
                    text: fs::read_to_string(&path).expect("sources are UTF-8"),
                });
            }
        }
    }
    found.sort_by(|a, b| a.module.cmp(&b.module));
    found
}

fn is_test_file(name: &str) -> bool {
    matches!(name, "tests" | "check" | "model") || name.starts_with("cases")
}

/// One sentence for each violation.
fn check(sources: &[Source]) -> Vec<String> {
    let modules: BTreeSet<&str> = sources.iter().map(|source| &*source.module).collect();
    let exports = sources
        .iter()
        .filter(|source| source.module == "lib")
        .flat_map(|lib| paths(&tokens(&lib.text), &[]))
        .filter(|path| path[0] == "crate" && path.len() > 2)
        .collect::<Vec<_>>();
    let mut complaints = BTreeSet::new();
    for Source { module, text } in sources {
        let Some(row) = row_of(module) else {
            complaints.insert(format!("{module}: has no row; add one"));
            continue;
        };
        let tokens = tokens(text);
        let paths = paths(&tokens, &segments(module));
        for path in paths.iter().filter(|path| path[0] == "crate") {
            let target = target(path, &modules, &exports);
            if !may_import(row, module, &target) {
                complaints.insert(format!("{module}: must not import `{target}`"));
            }
        }
        for word in row.forbids {
            if contains(&tokens, &paths, word) {
                complaints.insert(format!("{module}: must not contain `{word}`"));
            }
        }
        for (word, home) in ONLY_IN {
            let at_home = matches(home, module);
            if !at_home
                && paths
                    .iter()
                    .any(|path| starts_with(path, word) && !is_exempt(path, module))
            {
                complaints.insert(format!("{module}: `{word}` belongs into {home}"));
            }
        }
    }
    complaints.into_iter().collect()
}

fn is_exempt(path: &[String], module: &str) -> bool {
    EXEMPT
        .iter()
        .any(|(exempt, home)| *home == module && starts_with(path, exempt))
}

/// The row with the longest pattern that covers `module`.
fn row_of(module: &str) -> Option<&'static Row> {
    TABLE
        .iter()
        .filter(|row| matches(row.module, module))
        .max_by_key(|row| {
            (
                row.module.trim_end_matches("/*").len(),
                row.module == module,
            )
        })
}

fn matches(pattern: &str, module: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(folder) => module.starts_with(folder) || Some(module) == folder.strip_suffix('/'),
        None => pattern == module,
    }
}

fn may_import(row: &Row, module: &str, target: &str) -> bool {
    target.is_empty()
        || matches(&format!("{module}/*"), target)
        || (row.module.ends_with("/*") && matches(row.module, target))
        || row.imports.iter().any(|import| matches(import, target))
}

/// The module that a path from the crate root leads to: `crate::wheel::level::Level` to
/// `wheel/level`, and a name that `lib.rs` re-exports to where it comes from.
fn target(path: &[String], modules: &BTreeSet<&str>, exports: &[Vec<String>]) -> String {
    let names = &path[1..];
    for end in (1..=names.len()).rev() {
        let module = names[..end].join("/");
        if modules.contains(&*module) {
            return module;
        }
    }
    let Some(first) = names.first() else {
        return String::new();
    };
    match exports.iter().find(|export| export.last() == Some(first)) {
        Some(export) => target(&export[..export.len() - 1], modules, &[]),
        None => first.clone(),
    }
}

fn contains(tokens: &[String], paths: &[Vec<String>], word: &str) -> bool {
    if word.contains("::") {
        paths.iter().any(|path| starts_with(path, word))
    } else {
        tokens.iter().any(|token| token == word)
    }
}

fn starts_with(path: &[String], beginning: &str) -> bool {
    let mut names = path.iter();
    beginning
        .split("::")
        .all(|segment| names.next().is_some_and(|name| name == segment))
}

fn segments(module: &str) -> Vec<String> {
    match module {
        "lib" => Vec::new(),
        _ => module.split('/').map(str::to_owned).collect(),
    }
}
