//! A soak: random users of every kind of timer, with faults on purpose, for as long as you like.
//!
//! Each round runs all scenarios. After each, the books must be even: every timer that was made has
//! fired or was cancelled, none early, none twice, none lost; the memory is back where it was in the
//! first round, and so is the number of threads. The first thing that does not hold is told at
//! once, and the exit code is 1.
//!
//! ```text
//! cargo run --release --example soak -- --seconds 60
//! cargo run --release --example soak -- --help
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `scenarios.rs` | the list of what is run |
//! | `load.rs`, `users.rs`, `foreign.rs` | the users: tasks on two workers, and threads |
//! | `faults.rs`, `clocks.rs`, `edges.rs` | the other scenarios |
//! | `ledger.rs`, `watch.rs`, `process.rs` | the books, who waits in vain, memory and threads |
//! | `args.rs`, `random.rs` | the small helpers |

#![allow(
    clippy::disallowed_methods,
    reason = "an example reads the clock as its users do"
)]
#![allow(clippy::print_stdout, reason = "a program says what it does")]

mod args;
mod clocks;
mod edges;
mod faults;
mod foreign;
mod ledger;
mod load;
mod process;
mod random;
mod scenarios;
mod users;
mod watch;

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use args::{Args, Command};
use ledger::Ledger;
use process::{DeadMan, Held};
use random::Random;
use scenarios::{SCENARIOS, Scenario, Stage};

/// Bytes that may stay behind in a whole run: thread locals and tables of the runtime grow a little.
const SPARE: i64 = 1 << 20;
/// The part of the time that a scenario in real time takes of a round, and the longest.
const SHARE: u32 = 5;
const LONGEST: Duration = Duration::from_secs(30);
/// What a scenario may take beyond that; the load has its own, shorter, limits.
const PATIENCE: Duration = Duration::from_secs(60);

/// The books of the run.
static LEDGER: OnceLock<Ledger> = OnceLock::new();

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::help());
            ExitCode::SUCCESS
        }
        Ok(Command::Run(args)) => soak(&args),
        Err(error) => {
            eprintln!("soak: {error}; see --help");
            ExitCode::from(2)
        }
    }
}

fn soak(args: &Args) -> ExitCode {
    println!("soak: {} s, seed {}", args.seconds, args.seed);
    faults::expect_planned_panics();
    let ledger = LEDGER.get_or_init(Ledger::default);
    let budget = Duration::from_secs(args.seconds);
    let mut stage = Stage {
        ledger,
        random: Random::new(args.seed),
        seed: args.seed,
        time: (budget / SHARE).clamp(Duration::from_secs(1), LONGEST),
    };
    let chosen: Vec<_> = SCENARIOS
        .iter()
        .filter(|scenario| {
            args.only.is_empty() || args.only.iter().any(|name| name == scenario.name)
        })
        .collect();

    let start = Instant::now();
    let threads = Held::now().threads;
    // What each scenario leaves the first time: drivers, pages and the runtime's tables stay.
    let mut held = vec![None; chosen.len()];
    let mut rounds = 0;
    loop {
        let begun = Instant::now();
        for (scenario, held) in chosen.iter().zip(&mut held) {
            run(scenario, &mut stage, threads, held);
        }
        if rounds == 0 {
            // The greatest of them left most, and it stays for the others as well.
            let last = held.last().copied().flatten();
            held.iter_mut().for_each(|held| *held = (*held).max(last));
        }
        rounds += 1;
        let another = start.elapsed() + begun.elapsed() <= budget;
        if ledger.breaches() > 0 || (rounds >= 2 && !another) {
            break;
        }
    }
    report(args, ledger, rounds, start.elapsed())
}

/// Runs a scenario, and compares what the process holds with the `threads` there were at the beginning
/// and with the bytes `held` after the first time.
fn run(scenario: &Scenario, stage: &mut Stage, threads: Option<u64>, held: &mut Option<i64>) {
    let (begun, before) = (Instant::now(), stage.ledger.balance());
    let limit = 4 * stage.time + PATIENCE;
    let dead_man = DeadMan::holds(scenario.name, stage.seed, limit);
    (scenario.run)(stage);
    drop(dead_man);
    let took = begun.elapsed();
    let most = held.map_or(i64::MAX, |bytes| bytes + SPARE);
    let now = process::settled(threads, most);
    let totals = stage.ledger.balance();
    let (name, ledger) = (scenario.name, stage.ledger);
    ledger.check(totals.is_even(), || {
        format!("{name}: the books: {totals:?}")
    });
    ledger.check(totals.live == 0, || {
        format!(
            "{name}: {} timers neither fired nor were cancelled",
            totals.live
        )
    });
    ledger.check(now.threads <= threads, || {
        format!(
            "{name}: threads stay: {threads:?} before, {:?} now",
            now.threads
        )
    });
    ledger.check(now.bytes <= most, || {
        format!("{name}: {} bytes stay", now.bytes - (most - SPARE))
    });
    held.get_or_insert(now.bytes);
    println!(
        "{name:<10} {:>6.2} s {:>9} timers {:>8} KiB held",
        took.as_secs_f64(),
        totals.made - before.made,
        now.bytes / 1024,
    );
}

fn report(args: &Args, ledger: &Ledger, rounds: u32, took: Duration) -> ExitCode {
    let totals = ledger.balance();
    println!(
        "soak: {rounds} rounds in {:.1} s: {} timers made, {} fired, {} cancelled, {} closed, {} live, {} early",
        took.as_secs_f64(),
        totals.made,
        totals.fired,
        totals.cancelled,
        totals.closed,
        totals.live,
        totals.early,
    );
    let late = [500, 990, 999, 1000].map(|share| ledger.lateness(share));
    println!(
        "soak: late by less than {:?} (half), {:?} (99 %), {:?} (99.9 %), {:?} (all; workers were blocked on purpose)",
        late[0], late[1], late[2], late[3]
    );
    match ledger.breaches() {
        0 => ExitCode::SUCCESS,
        breaches => {
            eprintln!("soak: FAILED: {breaches} breaches; seed {}", args.seed);
            ExitCode::FAILURE
        }
    }
}
