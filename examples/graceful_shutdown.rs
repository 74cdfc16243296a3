//! A service that stops: the round that runs is waited for, what has not started never does, and
//! what is left when the runtime ends says so.
//!
//! ```text
//! cargo run --example graceful_shutdown
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example prints, and ends when it cannot go on"
)]

use cogwheel::scheduled::Outcome;
use cogwheel::time::{Duration, MissedTickBehavior, sleep, timeout};
use cogwheel::{Scheduled, Timer};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// Writes a snapshot, which takes a while.
async fn snapshot() {
    println!("snapshot begins");
    sleep(Duration::from_millis(150)).await;
    println!("snapshot is complete");
}

/// Serves until it is told to stop; gives back what somebody else has to see to.
async fn serve(timer: Timer, stop: oneshot::Receiver<()>) -> Scheduled<()> {
    let mut snapshots = timer.schedule_every(Duration::from_millis(200), snapshot);
    snapshots.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let retry = timer.schedule(Duration::from_secs(30), async { println!("retries") });
    let report = timer.schedule(Duration::from_secs(3_600), async { println!("reports") });

    stop.await.unwrap();
    println!("told to stop");

    // No further snapshot begins; the one that is being written gets a second to end.
    snapshots.cancel();
    match timeout(Duration::from_secs(1), &mut snapshots).await {
        Ok(outcome) => println!("snapshots: {outcome:?} after {}", snapshots.rounds()),
        Err(_) => println!("snapshots: given up"),
    }
    // Either it has not started and never will, or it is waited for.
    if !retry.cancel() {
        retry.await;
    }
    report
}

fn main() {
    let runtime = Runtime::new().unwrap();
    let (stop, stopped) = oneshot::channel();
    let timer = runtime.block_on(async { Timer::current() });
    // Stands for the signal of an operator.
    let signal = async { stop.send(()).unwrap() };
    drop(timer.schedule(Duration::from_millis(450), signal));
    let report = runtime.block_on(serve(timer, stopped));
    drop(runtime);

    // Nothing hangs on a runtime that is gone.
    let runtime = Runtime::new().unwrap();
    let outcome = runtime.block_on(report);
    assert!(matches!(outcome, Outcome::Closed));
    println!("report: {outcome:?}");
}
