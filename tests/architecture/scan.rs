//! Just enough of Rust's grammar to see what a source file names.

/// All paths in the code of the module at `home`, `use` groups unfolded, those into this crate
/// from its root: `crate::…`. A single name is a path of one segment.
pub(crate) fn paths(tokens: &[String], home: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // Inline modules that are open, with the depth of their braces: `super` counts from there.
    let (mut inner, mut depth) = (Vec::<(String, usize)>::new(), 0);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inner.retain(|(_, opened)| *opened <= depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|token| token == "{") => {
                inner.push((tokens[at + 1].clone(), depth + 1));
            }
            _ if is_name(token) => {
                let mut here = home.to_vec();
                here.extend(inner.iter().map(|(name, _)| name.clone()));
                let mut tree = Vec::new();
                at = unfold(tokens, at, &mut Vec::new(), &mut tree);
                found.extend(tree.into_iter().map(|path| from_root(path, &here)));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads one path that starts at `at`, with all branches of its groups; returns where it ends.
fn unfold(
    tokens: &[String],
    mut at: usize,
    trunk: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> usize {
    let length = trunk.len();
    while tokens.get(at).is_some_and(|token| is_name(token)) {
        trunk.push(tokens[at].clone());
        at += 1;
        if tokens.get(at).is_none_or(|token| token != "::") {
            break;
        }
        at += 1;
    }
    if tokens[at - 1] == "::" && tokens.get(at).is_some_and(|token| token == "{") {
        at += 1;
        while tokens.get(at).is_some_and(|token| token != "}") {
            at = if is_name(&tokens[at]) {
                unfold(tokens, at, trunk, found)
            } else {
                at + 1
            };
        }
        at += 1;
    } else {
        found.push(trunk.clone());
    }
    trunk.truncate(length);
    at
}

/// Writes out `self` and `super` as seen from the module at `here`.
fn from_root(path: Vec<String>, here: &[String]) -> Vec<String> {
    let relative = path.iter().take_while(|name| *name == "super").count();
    let skip = relative.max(usize::from(path[0] == "self"));
    if skip == 0 {
        return path;
    }
    let base = &here[..here.len().saturating_sub(relative)];
    let mut rooted = vec!["crate".to_owned()];
    rooted.extend(base.iter().chain(&path[skip..]).cloned());
    rooted
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

/// Names, `::` and single signs, without comments, literals and items for tests.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = literal(rest) {
            length
        } else if is_name(rest) {
            let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
            tokens.push(rest[..end.unwrap_or(rest.len())].to_owned());
            end.unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    without_tests(tokens)
}

/// The length of the string or character that `text` starts with, if it does.
fn literal(text: &str) -> Option<usize> {
    let prefix = usize::from(text.starts_with(['b', 'c']));
    let body = &text[prefix..];
    let length = match body.chars().next()? {
        'r' => raw_string(body),
        '"' => string(body),
        '\'' => character(body),
        _ => None,
    };
    length.map(|length| prefix + length)
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let start = 1 + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    let body = text[start - 1..].strip_prefix('"')?;
    body.find(&close).map(|end| start + end + close.len())
}

fn string(text: &str) -> Option<usize> {
    let mut signs = text.char_indices().skip(1);
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Some(at + 1),
            '\\' => _ = signs.next(),
            _ => {}
        }
    }
    None
}

/// A lifetime is none: no quote closes it.
fn character(text: &str) -> Option<usize> {
    let inner = text[1..].chars().next()?;
    if inner == '\\' {
        return text[3..].find('\'').map(|end| 3 + end + 1);
    }
    let end = 1 + inner.len_utf8();
    text[end..].starts_with('\'').then_some(end + 1)
}

/// Leaves out each `#[cfg(…)]` and `cfg!(…)`, and the item behind one that asks for `test`.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&["cfg", "!"].map(str::to_owned)) {
            at = closing(&tokens, at + 2);
        } else if tokens[at..].starts_with(&["#", "[", "cfg"].map(str::to_owned)) {
            let end = closing(&tokens, at + 1);
            let asks = |word: &str| tokens[at..end].iter().any(|token| token == word);
            let is_test = asks("test") && !asks("not");
            at = if is_test { item_end(&tokens, end) } else { end };
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Where the item at `at` ends: behind its first block or semicolon outside any bracket.
fn item_end(tokens: &[String], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            ";" => return at + 1,
            "{" => return closing(tokens, at),
            "(" | "[" => at = closing(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// Behind the bracket that closes the one at `at`.
fn closing(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    at
}
