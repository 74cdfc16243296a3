//! A service on Tokio's timers and on Cogwheel's, side by side.
//!
//! A key-value service listens on a loopback socket. Its entries expire, every connection has an
//! idle timeout that each packet resets, every request runs under a timeout, and subscribers get
//! keep-alives. Thousands of clients drive it, some of which stall or vanish on purpose. The same
//! load runs on `tokio::time` and on `cogwheel::time`; the figures of both are printed side by
//! side, and the program checks for itself that no timer fired early and that every stalled
//! connection was closed on time.
//!
//! ```text
//! cargo run --release --example service
//! cargo run --release --example service -- --help
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `service.rs`, `store.rs` | the service: read these first |
//! | `protocol.rs` | the lines and the time limits that both sides agree on |
//! | `client.rs`, `load.rs` | the clients, and what they do to the service |
//! | `metered.rs`, `meter.rs`, `tally.rs` | the counting |
//! | `run.rs`, `checks.rs`, `report.rs` | a run, its checks, its figures |
//! | `args.rs`, `system.rs`, `random.rs` | the small helpers |

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "an example reads the clock as its users do"
)]
#![allow(
    clippy::duplicate_mod,
    reason = "the service is compiled once for each kind of timers"
)]
#![allow(
    clippy::cast_precision_loss,
    reason = "rates are printed with few digits"
)]

mod args;
mod checks;
mod meter;
mod protocol;
mod random;
mod report;
mod run;
mod system;
mod tally;

use std::env;
use std::io::ErrorKind;
use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::run::Backend;

/// The service on Tokio's timers.
#[path = "."]
mod on_tokio {
    use tokio::time;
    use tokio_util::time::delay_queue;

    mod client;
    pub(crate) mod load;
    pub(crate) mod metered;
    mod service;
    mod store;
}

/// The service on Cogwheel's timers: two other `use` lines, and the same files.
#[path = "."]
mod on_cogwheel {
    use cogwheel::delay_queue;
    use cogwheel::time;

    mod client;
    pub(crate) mod load;
    pub(crate) mod metered;
    mod service;
    mod store;
}

/// A wrong argument.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = env::args_os().skip(1);
    let args = args.map(|arg| arg.to_string_lossy().into_owned());
    match args::parse(args) {
        Ok(Command::Help) => {
            report::say(args::help());
            ExitCode::SUCCESS
        }
        Ok(Command::Run(args)) => compare(args),
        Err(error) => {
            eprintln!("service: {error}; see --help");
            ExitCode::from(USAGE)
        }
    }
}

/// Runs the load on each kind of timers asked for, one after the other.
fn compare(mut args: Args) -> ExitCode {
    let allowed = system::allowed_connections(args.connections);
    if allowed < args.connections {
        report::too_few_files(args.connections, allowed);
        args.connections = allowed;
    }

    let backends = backends(&args);
    let names: Vec<_> = backends.iter().map(|backend| backend.name).collect();
    report::announce(args.seconds, &names);
    let mut outcomes = Vec::new();
    for backend in backends {
        match run::run(&backend, &args) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                eprintln!("service: {}: {error}", backend.name);
                return match error.kind() {
                    ErrorKind::Interrupted => ExitCode::from(run::INTERRUPTED),
                    _ => ExitCode::FAILURE,
                };
            }
        }
        if outcomes.iter().any(|outcome| outcome.interrupted) {
            break;
        }
    }
    let all_hold = report::summary(&outcomes);
    if outcomes.iter().any(|outcome| outcome.interrupted) {
        ExitCode::from(run::INTERRUPTED)
    } else if all_hold {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn backends(args: &Args) -> Vec<Backend> {
    let mut backends = Vec::new();
    if args.timers.tokio() {
        backends.push(Backend {
            name: "tokio",
            meter: &on_tokio::metered::METER,
            load: |plan| Box::pin(on_tokio::load::run(plan)),
        });
    }
    if args.timers.cogwheel() {
        backends.push(Backend {
            name: "cogwheel",
            meter: &on_cogwheel::metered::METER,
            load: |plan| Box::pin(on_cogwheel::load::run(plan)),
        });
    }
    backends
}
