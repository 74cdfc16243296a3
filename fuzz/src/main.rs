//! Runs the targets with a stable compiler: see `--help`, and `ci/fuzz` around it.

mod runner;

use std::process::ExitCode;

fn main() -> ExitCode {
    runner::main(std::env::args().skip(1))
}
