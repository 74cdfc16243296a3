//! Runs the targets with a stable compiler: see `--help`, and `ci/fuzz` around it.

#![allow(
    clippy::disallowed_methods,
    reason = "how long to run is told by the system's clock"
)]

mod runner;

use std::process::ExitCode;

fn main() -> ExitCode {
    runner::main(std::env::args().skip(1))
}
