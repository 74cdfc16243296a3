//! Paths, and nothing but paths: `tokio::time` and `tokio_util::time` become the facade's names.

/// `source` with every path of Tokio's timers led to the facade `conf`.
///
/// # Errors
/// The first line of code that still names `tokio::time`: it would test Tokio instead of us.
pub fn to_facade(source: &str) -> Result<String, String> {
    let source = lift_from_use_trees(source);
    let source = replace_path(&source, "tokio_util::time", "conf");
    let source = replace_path(&source, "tokio::time", "conf::time");
    match source.lines().find(|line| names_tokio_time(line)) {
        Some(line) => Err(format!("still names Tokio's timers: {}", line.trim())),
        None => Ok(source),
    }
}

fn names_tokio_time(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.contains("tokio::time") || code.contains("tokio_util::time")
}

/// Replaces `from` where it stands as a path of its own: no identifier or `::` before it, and
/// `::`, `;` or a blank behind it.
fn replace_path(source: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (&rest[..at], &rest[at + from.len()..]);
        let starts = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let ends = behind.starts_with("::") || behind.starts_with([';', ' ', ',', '}']);
        out.push_str(before);
        out.push_str(if starts && ends { to } else { from });
        rest = behind;
    }
    out + rest
}

/// Turns `use tokio::{a, time::b};` into `use tokio::{a}; use conf::time::b;`.
fn lift_from_use_trees(source: &str) -> String {
    const OPENING: &str = "use tokio::{";
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(OPENING) {
        let tree_at = at + OPENING.len();
        let Some(len) = rest[tree_at..].find("};") else {
            break;
        };
        let branches = split_branches(&rest[tree_at..tree_at + len]);
        let (time, other): (Vec<_>, Vec<_>) = branches
            .into_iter()
            .partition(|branch| *branch == "time" || branch.starts_with("time::"));
        out.push_str(&rest[..at]);
        out.push_str(&format!("use tokio::{{{}}};", other.join(", ")));
        for branch in time {
            out.push_str(&format!(" use conf::{branch};"));
        }
        rest = &rest[tree_at + len + "};".len()..];
    }
    out + rest
}

/// Splits the inside of a use tree at its outermost commas.
fn split_branches(tree: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    tree.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|branch| !branch.is_empty())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::to_facade;

    #[test]
    fn paths_and_imports_lead_to_the_facade() {
        for (from, to) in [
            ("use tokio::time;", "use conf::time;"),
            (
                "use tokio::time::{self, sleep};",
                "use conf::time::{self, sleep};",
            ),
            ("use tokio_util::time::DelayQueue;", "use conf::DelayQueue;"),
            ("f(tokio::time::sleep(d))", "f(conf::time::sleep(d))"),
            (
                "use tokio::{net, time};",
                "use tokio::{net}; use conf::time;",
            ),
            (
                "use tokio::{\n    sync::{a, b},\n    time::{sleep, Instant},\n};",
                "use tokio::{sync::{a, b}}; use conf::time::{sleep, Instant};",
            ),
            ("my_tokio::time::x", "my_tokio::time::x"),
            ("// tokio::time::x", "// conf::time::x"),
        ] {
            if from.starts_with("my_") {
                assert!(
                    to_facade(from).is_err(),
                    "{from}: what is not understood is refused"
                );
            } else {
                assert_eq!(to_facade(from).as_deref(), Ok(to));
            }
        }
    }
}
