//! What we do otherwise on purpose, read from the one place where it is explained to users.

/// Where the table stands.
pub const DOCUMENT: &str = "docs/deviations.md";
/// The section that holds it.
pub const SECTION: &str = "## Tokio's time tests";

/// How the reason begins of a test that must hang instead of failing.
const ENDLESS: &str = "never ends";

/// The rows of the table: tests that must fail, and assertions that hold the other way round.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Deviations {
    /// `target::test`, the endless ones included.
    pub tests: Vec<String>,
    /// Those of `tests` that must hang, because what they wait for never comes here.
    pub endless: Vec<String>,
    /// An assertion with `!Unpin` as Tokio has it, blanks and all.
    pub assertions: Vec<String>,
}

impl Deviations {
    /// Reads the section's table rows: | `name` | reason |.
    ///
    /// # Errors
    /// A row without a reason, a row of unknown form, a name listed twice, or no section.
    pub fn parse(document: &str) -> Result<Self, String> {
        let (_, section) = document
            .split_once(&format!("{SECTION}\n"))
            .ok_or_else(|| format!("{DOCUMENT} has no section `{SECTION}`"))?;
        let section = section.split("\n## ").next().unwrap_or_default();
        let mut found = Self::default();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let &[name, reason] = cells.as_slice() else {
                return Err(format!("expected two cells, name and reason: {row}"));
            };
            if reason.is_empty() {
                return Err(format!("a deviation needs a reason: {row}"));
            }
            let name = name.trim_matches('`').to_owned();
            if reason.starts_with(ENDLESS) {
                found.endless.push(name.clone());
            }
            let list = if name.contains("!(") && name.contains("!Unpin") {
                &mut found.assertions
            } else if name.split("::").count() >= 2 && !name.contains([' ', '(']) {
                &mut found.tests
            } else {
                return Err(format!(
                    "neither `target::test` nor an `!Unpin` assertion: {row}"
                ));
            };
            if list.contains(&name) {
                return Err(format!("listed twice: {name}"));
            }
            list.push(name);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::Deviations;

    fn parse(rows: &str) -> Result<Deviations, String> {
        Deviations::parse(&format!(
            "# T\n\n## Tokio's time tests\n\n{rows}\n## Other\n| `a::c` | r |\n"
        ))
    }

    #[test]
    fn only_the_section_is_read() {
        let found = parse(
            "| test | why |\n|---|---|\n| `a::b` | r |\n| `a::e` | never ends: r |\n| `m!(T: !Unpin);` | r |\n",
        );
        let expected = Deviations {
            tests: vec!["a::b".to_owned(), "a::e".to_owned()],
            endless: vec!["a::e".to_owned()],
            assertions: vec!["m!(T: !Unpin);".to_owned()],
        };
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn rows_that_explain_nothing_are_refused() {
        for rows in [
            "| `a::b` | |",
            "| `a::b` |",
            "| `ab` | r |",
            "| `a::b` | r |\n| `a::b` | r |",
        ] {
            assert!(parse(rows).is_err(), "{rows}");
        }
    }
}
