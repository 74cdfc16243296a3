//! The figures as tables, for a terminal and for Markdown.

use crate::load::Load;
use crate::measure::as_f64;
use crate::peer::NAMES;
use crate::rounds::{Figure, Results, Verdict};

/// A heading and rows of cells; the first column is text, the others are numbers.
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// Peers down, figures across. The main figure comes with its ratio and its spread.
    pub(crate) fn of(results: &Results<'_>) -> Self {
        let main = results.load.main;
        let others: Vec<&str> = results
            .metrics()
            .into_iter()
            .filter(|&metric| metric != main)
            .collect();
        let mut head = vec![
            "peer".to_owned(),
            main.to_owned(),
            "ratio".to_owned(),
            "least..greatest".to_owned(),
        ];
        head.extend(others.iter().map(|&metric| metric.to_owned()));
        let mut lines = vec![head];
        for row in &results.rows {
            let main = row.figure(main);
            let ratio = main.and_then(|main| {
                let base = results.base(&main.metric)?;
                (base != 0.0).then(|| format!("{:.2}", main.median() / base))
            });
            let dash = || "-".to_owned();
            let spread =
                |main: &Figure| format!("{}..{}", figure(main.least()), figure(main.greatest()));
            let mut line = vec![
                row.peer.to_string(),
                main.map_or_else(dash, |main| figure(main.median())),
                ratio.unwrap_or_else(dash),
                main.map_or_else(dash, spread),
            ];
            line.extend(others.iter().map(|metric| {
                let value = row.figure(metric);
                value.map_or_else(dash, |value| figure(value.median()))
            }));
            lines.push(line);
        }
        Self(lines)
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for (number, line) in self.0.iter().enumerate() {
            text.push_str(&format!("| {} |\n", line.join(" | ")));
            if number == 0 {
                let rule = line.iter().enumerate();
                let rule = rule.map(|(column, _)| if column == 0 { "---" } else { "---:" });
                text.push_str(&format!("| {} |\n", rule.collect::<Vec<_>>().join(" | ")));
            }
        }
        text
    }

    fn plain(&self) -> String {
        let columns = self.0.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let widths = self.0.iter().map(|line| line[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for line in &self.0 {
            text.push_str(&format!("  {:<width$}", line[0], width = widths[0]));
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                text.push_str(&format!("  {cell:>width$}"));
            }
            text.push('\n');
        }
        text
    }
}

/// Prints the loads and what is wanted of them.
pub(crate) fn list(loads: &[Load]) {
    for load in loads {
        println!("{:<16} {}", load.name, load.about);
        for goal in &load.goals {
            println!(
                "{:<16}   target: {} {} {}",
                "", goal.peer, goal.metric, goal.bound
            );
        }
    }
    println!("\npeers:");
    for name in NAMES {
        println!("  {name:<14} {}", name.about());
    }
}

/// Prints the figures of one load and which goals it has met.
pub(crate) fn print(results: &Results<'_>) {
    println!("\n{}: {}", results.load.name, results.load.about);
    print!("{}", Table::of(results).plain());
    for verdict in results.verdicts() {
        println!("  {}", sentence(&verdict));
    }
}

/// Prints how many goals were met, and those that were not.
pub(crate) fn print_verdicts(verdicts: &[Verdict]) {
    let missed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.met).collect();
    let met = verdicts.len() - missed.len();
    println!("\n{met} of {} targets met", verdicts.len());
    for verdict in missed {
        println!("  {}: {}", verdict.load, sentence(verdict));
    }
    for worst in worst_of_groups(verdicts) {
        println!("  {worst}");
    }
}

/// For loads that share a letter and a target, the one that comes off worst.
pub(crate) fn worst_of_groups(verdicts: &[Verdict]) -> Vec<String> {
    let mut worst: Vec<(&Verdict, usize)> = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.ratio().is_some()) {
        let known = worst.iter_mut().find(|(other, _)| other.is_like(verdict));
        match known {
            Some((other, loads)) => {
                *loads += 1;
                if verdict.ratio() > other.ratio() {
                    *other = verdict;
                }
            }
            None => worst.push((verdict, 1)),
        }
    }
    let groups = worst.into_iter().filter(|&(_, loads)| loads > 1);
    let line = |(verdict, loads): (&Verdict, usize)| {
        format!("worst of {loads}, {}: {}", verdict.load, sentence(verdict))
    };
    groups.map(line).collect()
}

/// What was wanted, what came, and whether that is enough.
pub(crate) fn sentence(verdict: &Verdict) -> String {
    let Verdict { goal, met, .. } = verdict;
    let outcome = if *met { "met" } else { "MISSED" };
    format!(
        "target {} {} {}: {} {outcome}",
        goal.peer,
        goal.metric,
        goal.bound,
        against(verdict)
    )
}

/// Our figure, and the one it is compared with.
pub(crate) fn against(verdict: &Verdict) -> String {
    let ours = figure(verdict.ours);
    match verdict.base {
        Some(base) if base != 0.0 => format!(
            "{ours} against {}, {:.2}x,",
            figure(base),
            verdict.ours / base
        ),
        _ => format!("{ours},"),
    }
}

/// A number with about three digits.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    if size < 0.000_5 {
        "0".to_owned()
    } else if size < as_f64(1) {
        format!("{value:.3}")
    } else if size < as_f64(10) {
        format!("{value:.2}")
    } else if size < as_f64(100) {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}
