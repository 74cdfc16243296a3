//! What is printed: a line each second, the table at the end, and the verdict.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process;
use std::time::Duration;

use crate::checks;
use crate::meter::{Counts, Percentiles};
use crate::protocol::IDLE_TIMEOUT;
use crate::run::Outcome;
use crate::tally::TOLERANCE;

/// Prints a line. When nobody reads any more, the work is done.
pub(crate) fn say(line: impl Display) {
    if writeln!(io::stdout(), "{line}").is_err() {
        process::exit(0);
    }
}

/// Says that fewer connections are opened than were asked for.
pub(crate) fn too_few_files(asked: usize, allowed: usize) {
    say(format_args!(
        "the limit of open files allows {allowed} connections, not {asked} (see 'ulimit -n')"
    ));
}

/// What is about to happen, and where to read more.
pub(crate) fn announce(seconds: u64, names: &[&str]) {
    say(format_args!(
        "{seconds} s of load on {}; --help says what the figures mean",
        names.join(", then on ")
    ));
}

/// The head of a run.
pub(crate) fn connected(
    name: &str,
    connections: usize,
    took: Duration,
    refusal: Option<&io::Error>,
) {
    say("");
    say(format_args!(
        "{name}: {connections} connections, opened in {:.2} s",
        took.as_secs_f64()
    ));
    if let Some(refusal) = refusal {
        say(format_args!("no more could be opened: {refusal}"));
    }
    say(format_args!(
        "{:>9} {:>4} {:>9} {:>8} {:>8} {:>10} {:>8}   {:>10} {:>10} {:>10}",
        "timers", "s", "req/s", "live", "fired", "cancelled", "resets", "late p50", "p99", "max"
    ));
}

/// The figures of one second.
pub(crate) struct Second {
    pub(crate) name: &'static str,
    pub(crate) second: u64,
    pub(crate) requests_per_second: f64,
    pub(crate) live: u64,
    pub(crate) counts: Counts,
    pub(crate) lateness: Percentiles,
}

/// The line of one second.
pub(crate) fn second(second: &Second) {
    let Second {
        counts, lateness, ..
    } = second;
    say(format_args!(
        "{:>9} {:>4} {:>9.0} {:>8} {:>8} {:>10} {:>8}   {:>10} {:>10} {:>10}",
        second.name,
        second.second,
        second.requests_per_second,
        second.live,
        counts.fired,
        counts.cancelled,
        counts.resets,
        Millis(lateness.p50),
        Millis(lateness.p99),
        Millis(lateness.max),
    ));
}

/// One line of the table: a title, and what stands below each run's name.
type Row = (&'static str, fn(&Outcome) -> String);

const ROWS: [Row; 20] = [
    ("connections", |run| run.connections.to_string()),
    ("requests/s", |run| {
        format!("{:.0}", run.requests as f64 / run.elapsed.as_secs_f64())
    }),
    ("CPU seconds", |run| match run.cpu {
        Some(cpu) => format!("{:.2}", cpu.as_secs_f64()),
        None => "unknown".to_owned(),
    }),
    ("CPU per request", |run| match run.cpu {
        Some(cpu) if run.requests > 0 => {
            format!("{:.2} us", cpu.as_secs_f64() * 1e6 / run.requests as f64)
        }
        _ => "unknown".to_owned(),
    }),
    ("timers created", |run| run.counts.created.to_string()),
    ("  fired", |run| run.counts.fired.to_string()),
    ("  cancelled", |run| run.counts.cancelled.to_string()),
    ("  left over", |run| run.counts.live().to_string()),
    ("resets", |run| run.counts.resets.to_string()),
    ("live at most", |run| run.peak_live.to_string()),
    ("lateness p50", |run| Millis(run.lateness.p50).to_string()),
    ("lateness p99", |run| Millis(run.lateness.p99).to_string()),
    ("lateness max", |run| Millis(run.lateness.max).to_string()),
    ("fired early", |run| run.counts.early.to_string()),
    ("stalled", |run| run.totals.stalled.to_string()),
    ("  closed on time", |run| run.totals.on_time.to_string()),
    ("  closed early", |run| run.totals.early.to_string()),
    ("  closed late", |run| run.totals.late.to_string()),
    ("  latest close", |run| {
        Millis(run.totals.latest).to_string()
    }),
    ("vanished", |run| run.totals.vanished.to_string()),
];

/// Prints the runs side by side, then the verdict. Returns whether every check holds.
pub(crate) fn summary(outcomes: &[Outcome]) -> bool {
    say("");
    let heads = outcomes.iter().map(|run| run.name.to_owned());
    say(row("", heads));
    for (title, cell) in ROWS {
        say(row(title, outcomes.iter().map(cell)));
    }
    say("");
    let mut all_hold = true;
    for outcome in outcomes {
        let totals = &outcome.totals;
        say(format_args!(
            "{}: stalled {}, closed on time {} (idle timeout {:?}, tolerance {:?})",
            outcome.name, totals.stalled, totals.on_time, IDLE_TIMEOUT, TOLERANCE
        ));
        if totals.stalled == 0 {
            say("no connection stalled: more connections or more seconds show more");
        }
        for failure in checks::failures(outcome) {
            all_hold = false;
            say(format_args!("checks: FAILED: {}: {failure}", outcome.name));
        }
    }
    if outcomes.iter().any(|run| run.interrupted) {
        say("interrupted: the figures are those of the part that ran");
    }
    if all_hold {
        say("checks: ok");
    }
    all_hold
}

fn row(title: &str, cells: impl Iterator<Item = String>) -> String {
    let mut row = format!("{title:<18}");
    for cell in cells {
        row.push_str(&format!("{cell:>16}"));
    }
    row
}

/// A duration in milliseconds.
struct Millis(Duration);

impl Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2} ms", self.0.as_secs_f64() * 1e3))
    }
}
