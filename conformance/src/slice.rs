//! Whole items of a source file, so that a file can be taken in part without editing an item.

/// Splits the top level of `source` into items, each with the comments and attributes above it.
pub fn items(source: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut at, mut depth, mut begun) = (0, 0, 0_isize, false);
    for line in source.split_inclusive('\n') {
        at += line.len();
        let code = code_of(line);
        depth += code.chars().map(nesting).sum::<isize>();
        let code = code.trim();
        begun |= !code.is_empty() && !code.starts_with('#');
        if begun && depth == 0 && code.ends_with(['}', ';']) {
            items.push(&source[start..at]);
            (start, begun) = (at, false);
        }
    }
    if !source[start..].trim().is_empty() {
        items.push(&source[start..]);
    }
    items
}

fn nesting(c: char) -> isize {
    match c {
        '{' | '(' | '[' => 1,
        '}' | ')' | ']' => -1,
        _ => 0,
    }
}

/// `line` without its strings and its comment.
fn code_of(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in line.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            quoted = true;
        } else if c == '/' && code.ends_with('/') {
            code.pop();
            break;
        } else {
            code.push(c);
        }
    }
    code
}

/// The item without the comments and attributes above it.
pub fn body(item: &str) -> &str {
    let mut rest = item.trim_start();
    while rest.starts_with("//") || rest.starts_with("#[") || rest.starts_with("#![") {
        rest = rest
            .split_once('\n')
            .map_or("", |(_, behind)| behind.trim_start());
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{body, items};

    const SOURCE: &str = "\
#![cfg(x)] // {
use a::{
    b,
};

/// Doc with } in it.
#[test]
fn f() -> X {
    g(\"}\\\"}\");
}
m!(
    a: B
);
";

    #[test]
    fn items_end_where_their_brackets_close() {
        let bodies: Vec<_> = items(SOURCE)
            .into_iter()
            .map(|i| body(i).trim_end())
            .collect();
        assert_eq!(
            bodies,
            [
                "use a::{\n    b,\n};",
                "fn f() -> X {\n    g(\"}\\\"}\");\n}",
                "m!(\n    a: B\n);"
            ]
        );
        assert_eq!(items(SOURCE).concat(), SOURCE);
    }
}
