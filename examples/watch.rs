//! Watches a timer live: its levels and their buckets, the rates of what happens, the lateness.
//!
//! ```text
//! cargo run --release --example watch
//! ```
//!
//! A small made-up service keeps the timer busy: requests with a timeout, connections that are
//! closed when they are idle, and a few things that come due in hours and years. `q` or Ctrl-C
//! ends it, `p` panics, to show that the terminal survives that too. Where the output is no
//! terminal it prints three plain frames and ends.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example shows what it does, as time goes by"
)]

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cogwheel::Timer;
use cogwheel::metrics::{Histogram, LevelMetrics, TimerMetrics};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::widgets::{Block, Paragraph, Sparkline};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// How often the picture is drawn anew.
const FRAME: Duration = Duration::from_millis(250);
/// Frames without a terminal, and the time between them.
const PLAIN_FRAMES: usize = 3;
const PLAIN_FRAME: Duration = Duration::from_millis(600);
const LEVELS: &str =
    " levels: time of a bucket, entries, buckets from now on (two to a character) ";

fn main() -> io::Result<()> {
    let runtime = Runtime::new()?;
    let (timer, mut load) = runtime.block_on(async { (Timer::current(), load::start()) });
    let watch = Watch::new(timer);
    let done = if io::stdout().is_terminal() {
        // From here to `restore` a panic, on whatever thread, puts the terminal back first.
        let mut terminal = ratatui::init();
        let done = live(&mut terminal, watch, &runtime, &mut load);
        ratatui::restore();
        done
    } else {
        plain(watch);
        Ok(())
    };
    runtime.shutdown_background();
    done
}

/// Draws until somebody asks for the end, or the load has panicked.
fn live(
    terminal: &mut DefaultTerminal,
    mut watch: Watch,
    runtime: &Runtime,
    load: &mut JoinSet<()>,
) -> io::Result<()> {
    // In a terminal Ctrl-C is a key; from outside it comes as a signal.
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopped.store(true, Ordering::Relaxed);
        }
    });
    while !stop.load(Ordering::Relaxed) {
        watch.look();
        terminal.draw(|frame| watch.draw(frame))?;
        if event::poll(FRAME)?
            && let Event::Key(key) = event::read()?
        {
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            match key.code {
                KeyCode::Char('q') => break,
                KeyCode::Char('c') if control => break,
                KeyCode::Char('p') => panic!("somebody has pressed p"),
                _ => {}
            }
        }
        // None of them ends but by a panic, and then there is no screen left to draw on.
        if load.try_join_next().is_some() {
            break;
        }
    }
    Ok(())
}

/// Prints a few frames and ends.
fn plain(mut watch: Watch) {
    for _ in 0..PLAIN_FRAMES {
        thread::sleep(PLAIN_FRAME);
        watch.look();
        println!("{}", watch.figures());
        println!("{LEVELS}\n{}", watch.levels());
        println!("{}\n", lateness(&watch.now.lateness));
    }
}

/// The latest snapshot and the one before, which together give the rates.
struct Watch {
    timer: Timer,
    before: TimerMetrics,
    now: TimerMetrics,
    looked: Instant,
    /// The time between the two, in seconds.
    period: f64,
    /// Timers armed per second, in each frame so far.
    armed: Vec<u64>,
}

impl Watch {
    fn new(timer: Timer) -> Self {
        let now = timer.metrics();
        Self {
            timer,
            before: now.clone(),
            now,
            looked: Instant::now(),
            period: 1.0,
            armed: Vec::new(),
        }
    }

    fn look(&mut self) {
        self.before = std::mem::replace(&mut self.now, self.timer.metrics());
        let looked = std::mem::replace(&mut self.looked, Instant::now());
        self.period = (self.looked - looked).as_secs_f64();
        self.armed
            .push(self.rate(self.before.created, self.now.created));
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rate to be looked at"
    )]
    fn rate(&self, before: u64, now: u64) -> u64 {
        ((now - before) as f64 / self.period) as u64
    }

    /// Totals and rates.
    fn figures(&self) -> String {
        let (before, now) = (&self.before, &self.now);
        let rows = [
            ("created", before.created, now.created),
            ("fired", before.fired, now.fired),
            ("cancelled", before.cancelled, now.cancelled),
            ("resets", before.resets, now.resets),
            ("turns", before.turns, now.turns),
            ("wake-ups", before.wake_ups, now.wake_ups),
            ("cascades", before.cascades, now.cascades),
        ];
        let mut text = format!(
            "live {}   queued {}   nodes {}   memory {} KiB",
            now.live,
            now.queued,
            now.nodes,
            now.bytes / 1024
        );
        for (name, before, now) in rows {
            text += &format!("\n{name:<10}{now:>12}{:>10}/s", self.rate(before, now));
        }
        text
    }

    /// The levels of the wheel, the finest first.
    fn levels(&self) -> String {
        let rows: Vec<String> = self.now.levels.iter().map(level).collect();
        rows.join("\n")
    }

    fn draw(&self, frame: &mut ratatui::Frame<'_>) {
        let [figures, rates, levels, late] = Layout::vertical([
            Constraint::Length(10),
            Constraint::Length(5),
            Constraint::Length(10),
            Constraint::Min(3),
        ])
        .areas(frame.area());
        let in_box = |text: String, title: &'static str| {
            Paragraph::new(text).block(Block::bordered().title(title))
        };
        frame.render_widget(in_box(self.figures(), " timers (q ends) "), figures);
        let width = usize::from(rates.width.saturating_sub(2));
        let latest = &self.armed[self.armed.len().saturating_sub(width)..];
        let armed = Sparkline::default()
            .data(latest)
            .block(Block::bordered().title(" armed per second "));
        frame.render_widget(armed, rates);
        frame.render_widget(in_box(self.levels(), LEVELS), levels);
        frame.render_widget(in_box(lateness(&self.now.lateness), " lateness "), late);
    }
}

/// One line: how long a bucket is, how many entries there are, and which buckets are occupied.
fn level(level: &LevelMetrics) -> String {
    let buckets: String = (0..64)
        .map(|pair| match level.occupied >> (2 * pair) & 0b11 {
            0 => '·',
            1 => '▌',
            2 => '▐',
            _ => '█',
        })
        .collect();
    format!("{:>9} {:>7} {buckets}", length(level.bucket), level.entries)
}

/// A stretch of time in the greatest unit that fits.
fn length(time: Duration) -> String {
    const UNITS: [(f64, &str); 4] = [
        (31_557_600.0, "years"),
        (86_400.0, "days"),
        (3_600.0, "h"),
        (60.0, "min"),
    ];
    let seconds = time.as_secs_f64();
    match UNITS.iter().find(|unit| seconds >= unit.0) {
        Some(&(size, unit)) => format!("{:.1} {unit}", seconds / size),
        None => format!("{time:.1?}"),
    }
}

/// Quantiles, and a bar for each power of two.
fn lateness(lateness: &Histogram) -> String {
    const WIDTH: u64 = 40;
    let mut text = format!(
        "p50 {:.1?}   p99 {:.1?}   max {:.1?}",
        lateness.p50(),
        lateness.p99(),
        lateness.max()
    );
    let mut powers: Vec<(u128, u64)> = Vec::new();
    for (end, count) in lateness.buckets() {
        let power = (end.as_nanos() + 1).next_power_of_two();
        match powers.last_mut() {
            Some((last, sum)) if *last == power => *sum += count,
            _ => powers.push((power, count)),
        }
    }
    let most = powers.iter().map(|&(_, count)| count).max().unwrap_or(1);
    for (power, count) in powers {
        let below = Duration::from_nanos(u64::try_from(power).unwrap_or(u64::MAX));
        let bar = "█".repeat(usize::try_from((count * WIDTH).div_ceil(most)).unwrap_or(0));
        text += &format!("\n< {:<9} {count:>9} {bar}", format!("{below:.1?}"));
    }
    text
}

/// The made-up service.
mod load {
    use super::JoinSet;
    use cogwheel::time::{Duration, Instant, sleep, timeout};

    const REQUESTS: u64 = 150;
    const CONNECTIONS: u64 = 50;

    /// Keeps the timer busy until the set is dropped.
    pub(super) fn start() -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        (0..REQUESTS).for_each(|seed| drop(tasks.spawn(requests(seed + 1))));
        (0..CONNECTIONS).for_each(|seed| drop(tasks.spawn(connection(seed + 1))));
        for hours in [1, 5, 24, 24 * 30, 24 * 365, 24 * 3_650] {
            tasks.spawn(sleep(Duration::from_secs(hours * 3_600)));
        }
        tasks
    }

    /// One request after the other; some take longer than they may.
    async fn requests(mut seed: u64) {
        loop {
            let work = sleep(millis(&mut seed, 130));
            let _ = timeout(Duration::from_millis(120), work).await;
        }
    }

    /// Messages that come and go; each puts off the end of the connection.
    async fn connection(mut seed: u64) {
        let idle = Duration::from_secs(30);
        let mut end = sleep(idle);
        loop {
            tokio::select! {
                () = &mut end => end.set_deadline(Instant::now() + idle),
                () = sleep(millis(&mut seed, 900)) => end.set_deadline(Instant::now() + idle),
            }
        }
    }

    /// 1 to `most` milliseconds, as chance has it (a linear congruence).
    fn millis(seed: &mut u64, most: u64) -> Duration {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((*seed >> 33) % most + 1)
    }
}
