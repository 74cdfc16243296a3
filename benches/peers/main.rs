//! This crate's timers next to those that a Tokio user can pick instead, load by load.
//!
//! ```text
//! cargo bench --bench peers -- [--load a,b/2-random,...] [--peer tokio,cogwheel,...]
//!                              [--rounds N] [--quick] [--report] [--list] [--help]
//! ```
//!
//! Each load runs in rounds, the peers in turn, each time in a process of its own, so that nobody
//! inherits another's heap, threads or warm caches. The tables show medians, and for the main
//! figure the least and the greatest. Every figure that has a target prints it, and whether it was
//! met. A benchmark reports; it fails on wrong flags and crashes, never on a time.
//!
//! `--report` writes `docs/performance.md` and the charts beside it.

#![cfg_attr(
    target_os = "linux",
    allow(
        clippy::disallowed_methods,
        clippy::print_stdout,
        reason = "a benchmark reads the clock and prints"
    )
)]

#[cfg(target_os = "linux")]
mod busy;
#[cfg(target_os = "linux")]
mod charts;
#[cfg(target_os = "linux")]
mod churn;
#[cfg(target_os = "linux")]
mod firing;
#[cfg(target_os = "linux")]
mod floor;
#[cfg(target_os = "linux")]
mod handed;
#[cfg(target_os = "linux")]
mod heap;
#[cfg(target_os = "linux")]
mod held;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "shared with the other benchmarks")]
#[path = "../common/measure.rs"]
mod measure;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod peer;
#[cfg(target_os = "linux")]
mod queue;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod requests;
#[cfg(target_os = "linux")]
mod reset;
#[cfg(target_os = "linux")]
mod rivals;
#[cfg(target_os = "linux")]
mod rounds;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "shared with the other benchmarks")]
#[path = "../common/world.rs"]
mod world;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    options::run(&std::env::args().skip(1).collect::<Vec<_>>())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the figures come from /proc and getrusage: Linux only");
}
