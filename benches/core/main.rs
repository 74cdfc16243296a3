//! This crate's timers next to Tokio's, load by load.
//!
//! ```text
//! cargo bench --bench core [-- [--quick] [--rounds N] [--list] [NAME...]]
//! ```
//!
//! Each load runs in rounds, Tokio and cogwheel in turn, each time in a process of its own, so
//! that neither inherits the other's heap, threads or warm caches. The table shows medians, in
//! brackets the least and the greatest. A benchmark reports; it never fails on a time.
//!
//! `NAME` selects loads whose name contains it. `--one NAME tokio|cogwheel` runs one side of one
//! load in this process, for a profiler.

#![cfg_attr(
    target_os = "linux",
    allow(
        clippy::disallowed_methods,
        clippy::print_stdout,
        reason = "a benchmark reads the clock and prints"
    )
)]

#[cfg(target_os = "linux")]
mod churn;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod firing;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "shared with the other benchmarks")]
#[path = "../common/measure.rs"]
mod measure;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod reset;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "shared with the other benchmarks")]
#[path = "../common/world.rs"]
mod world;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    report::run(&std::env::args().skip(1).collect::<Vec<_>>())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the figures come from /proc and getrusage: Linux only");
}
