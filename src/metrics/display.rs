//! A snapshot for a person: one line per figure, in aligned columns.

use core::fmt;

use crate::metrics::{LevelMetrics, TimerMetrics};

/// Width of a figure: up to a trillion with its separators.
const WIDTH: usize = 17;

impl fmt::Display for TimerMetrics {
    /// One line per figure, the name first, then the value; without a line break at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = [
            ("live", self.live),
            ("created", self.created),
            ("fired", self.fired),
            ("cancelled", self.cancelled),
            ("resets", self.resets),
            ("queued", self.queued),
            ("turns", self.turns),
            ("wake-ups", self.wake_ups),
            ("cascades", self.cascades),
            ("nodes", self.nodes),
        ];
        for (name, figure) in figures {
            writeln!(f, "{name:<9} {:>WIDTH$}", grouped(figure))?;
        }
        writeln!(f, "{:<9} {:>WIDTH$}", "memory", bytes(self.bytes))?;
        let lateness = &self.lateness;
        write!(
            f,
            "{:<9} {:>WIDTH$}   p99 {:.1?}   max {:.1?}",
            "lateness",
            format!("p50 {:.1?}", lateness.p50()),
            lateness.p99(),
            lateness.max()
        )?;
        for (number, level) in self.levels.iter().enumerate() {
            write!(f, "\nlevel {number:<3} {level}")?;
        }
        if self.closed {
            write!(f, "\nclosed")?;
        }
        Ok(())
    }
}

impl fmt::Display for LevelMetrics {
    /// Entries and occupied buckets in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>WIDTH$} in {:>3} buckets of {}",
            grouped(self.entries),
            self.occupied.count_ones(),
            span(self.bucket.as_secs_f64())
        )
    }
}

/// `1234567` as `1,234,567`.
fn grouped(figure: u64) -> String {
    let digits = figure.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[allow(
    clippy::cast_precision_loss,
    reason = "three digits are shown of a number"
)]
fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|unit| bytes >= unit.0) {
        Some(&(size, unit)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None => format!("{bytes} B"),
    }
}

/// A stretch of time in the greatest unit that fits.
fn span(seconds: f64) -> String {
    const UNITS: [(f64, &str); 6] = [
        (31_557_600.0, "years"),
        (86_400.0, "days"),
        (3_600.0, "h"),
        (60.0, "min"),
        (1.0, "s"),
        (0.001, "ms"),
    ];
    match UNITS.iter().find(|unit| seconds >= unit.0) {
        Some(&(size, unit)) => format!("{:.1} {unit}", seconds / size),
        None => format!("{:.1} µs", seconds * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn figures_stand_in_columns_and_in_units_for_people() {
        let mut metrics = TimerMetrics {
            live: 7,
            created: 1_234_567,
            bytes: 3 << 19,
            ..TimerMetrics::default()
        };
        metrics.lateness.record(2_000_000);
        let hour = Duration::from_secs(3600);
        metrics.levels = vec![LevelMetrics::new(hour, 64 * hour, 0b101, 1000)];
        let text = metrics.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "live                      7");
        assert_eq!(lines[1], "created           1,234,567");
        assert_eq!(lines[10], "memory              1.5 MiB");
        assert_eq!(
            lines[11],
            "lateness          p50 2.0ms   p99 2.0ms   max 2.0ms"
        );
        assert_eq!(
            lines[12],
            "level 0               1,000 in   2 buckets of 1.0 h"
        );
        assert_eq!(lines.len(), 13);
    }

    #[test]
    fn small_and_great_amounts_have_their_own_units() {
        assert_eq!(
            (bytes(1023), bytes(1024)),
            ("1023 B".into(), "1.0 KiB".into())
        );
        assert_eq!(bytes(5 << 30), "5.0 GiB");
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(100_000), "100,000");
        assert_eq!(span(0.001_048), "1.0 ms");
        assert_eq!(span(31_557_600.0 * 146.0), "146.0 years");
    }
}
