//! The charts of `docs/performance.md`.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::prelude::*;

use crate::peer::{Name, TIMERS_AND_FREE};
use crate::rounds::Results;

type Outcome = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (820, 420);
/// The lines and bars of the charts, by what they stand for.
const PERCENTILES: [(&str, &str); 6] = [
    ("50 %", "late p50 us"),
    ("90 %", "late p90 us"),
    ("99 %", "late p99 us"),
    ("99.9 %", "late p99.9 us"),
    ("99.99 %", "late p99.99 us"),
    ("max", "late max us"),
];
const LENGTHS: [(&str, &str); 4] = [
    ("30 s", "a/fixed"),
    ("random 1-60 s", "a/random"),
    ("mixed", "a/mixed"),
    ("dropped elsewhere", "a/elsewhere"),
];
const TASKS: [(&str, &str); 3] = [
    ("1 task, 1 thread", "a/fixed"),
    ("2 tasks, 2 workers", "b2/fixed"),
    ("8 tasks, 2 workers", "b8/fixed"),
];

/// Draws all of them into `folder`.
pub(crate) fn draw(folder: &Path, all: &[Results<'_>]) {
    let median = |load: &str, peer, metric: &str| {
        let results = all.iter().find(|results| results.load.name == load)?;
        Some(results.row(peer)?.figure(metric)?.median())
    };
    let outcomes = [
        groups(
            &folder.join("create-cancel.svg"),
            "CPU time to make, poll and drop a timeout (ns, less is better)",
            &LENGTHS.map(|(text, _)| text),
            |group, peer| median(LENGTHS[group].1, peer, "cpu ns/op"),
        ),
        groups(
            &folder.join("scaling.svg"),
            "Million timeouts made and dropped per second (more is better)",
            &TASKS.map(|(text, _)| text),
            |group, peer| Some(1e3 / median(TASKS[group].1, peer, "wall ns/op")?),
        ),
        lateness(&folder.join("lateness.svg"), |percentile, peer| {
            median("f/1m-tasks", peer, PERCENTILES[percentile].1)
        }),
    ];
    for outcome in outcomes {
        outcome.expect("a chart can be drawn");
    }
}

/// The same colour for a peer in all charts.
const fn colour(peer: Name) -> RGBColor {
    match peer {
        Name::Tokio | Name::TokioUtil => RGBColor(110, 118, 129),
        Name::Cogwheel => RGBColor(9, 105, 218),
        Name::CogwheelFree => RGBColor(116, 180, 250),
        Name::Pingora => RGBColor(218, 120, 9),
        Name::AsyncIo => RGBColor(130, 80, 223),
        Name::FuturesTimer => RGBColor(191, 57, 137),
        Name::Heap => RGBColor(45, 140, 70),
    }
}

fn drawing(path: &Path) -> Result<Area<'_>, Box<dyn std::error::Error>> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    Ok(area)
}

/// Groups of bars, one bar for each peer. Bars that leave the chart end in their number.
fn groups(
    path: &Path,
    title: &str,
    names: &[&str],
    value: impl Fn(usize, Name) -> Option<f64>,
) -> Outcome {
    let area = drawing(path)?;
    let peers = TIMERS_AND_FREE;
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let of_all = (0..names.len()).flat_map(|group| peers.iter().map(move |&peer| (group, peer)));
    let top = of_all.filter_map(|(group, peer)| value(group, peer));
    let top = top.fold(1.0, f64::max) * 1.1;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(56)
        .build_cartesian_2d(Groups(names), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(names.len())
        .x_label_formatter(&|at| Groups(names).format(at))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    let width = 0.86 / count(peers.len());
    for (place, &peer) in peers.iter().enumerate() {
        let bars = (0..names.len()).filter_map(|group| {
            let left = count(group) + 0.07 + width * count(place);
            let height = value(group, peer)?;
            let corners = [(left, 0.0), (left + width * 0.9, height)];
            Some(Rectangle::new(corners, colour(peer).filled()))
        });
        chart
            .draw_series(bars)?
            .label(peer.text())
            .legend(move |(x, y)| {
                Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour(peer).filled())
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.9))
        .draw()?;
    area.present()?;
    Ok(())
}

/// A line for each peer over the percentiles, on a logarithmic scale.
fn lateness(path: &Path, value: impl Fn(usize, Name) -> Option<f64>) -> Outcome {
    let area = drawing(path)?;
    let names = PERCENTILES.map(|(text, _)| text);
    let mut chart = ChartBuilder::on(&area)
        .caption(
            "Lateness of a million timers within two seconds (us, less is better)",
            ("sans-serif", 18),
        )
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(72)
        .build_cartesian_2d(Groups(&names), (1.0..2e6).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(names.len())
        .x_label_formatter(&|at| Groups(&names).format(at))
        .y_label_formatter(&|micros| format!("{micros:.0}"))
        .draw()?;
    for &peer in TIMERS_AND_FREE {
        let points: Vec<(f64, f64)> = (0..6_u8)
            .filter_map(|at| Some((f64::from(at) + 0.5, value(at.into(), peer)?.max(1.0))))
            .collect();
        if points.is_empty() {
            continue;
        }
        chart
            .draw_series(LineSeries::new(points, colour(peer).stroke_width(2)))?
            .label(peer.text())
            .legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 12, y)], colour(peer).stroke_width(2))
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .draw()?;
    area.present()?;
    Ok(())
}

/// An axis of named places, each one wide, its name in the middle.
struct Groups<'a>(&'a [&'a str]);

impl Ranged for Groups<'_> {
    type FormatOption = plotters::coord::ranged1d::DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.numbers().map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let count = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        (0..count).map(|at| f64::from(at) + 0.5).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.numbers().range()
    }
}

impl Groups<'_> {
    fn numbers(&self) -> plotters::coord::types::RangedCoordf64 {
        let end = f64::from(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        (0.0..end).into()
    }
}

impl Groups<'_> {
    fn format(&self, at: &f64) -> String {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place between the ends of the axis"
        )]
        let index = *at as usize;
        self.0
            .get(index)
            .map_or_else(String::new, |&name| name.to_owned())
    }
}
