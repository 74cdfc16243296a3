//! A deterministic test on a runtime with many threads: the code under test retries with a backoff,
//! and the test moves its time by hand. An hour passes in no time.
//!
//! ```text
//! cargo run --example manual_clock
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use cogwheel::time::{Instant, sleep};
use cogwheel::{ManualClock, Timer};
use tokio::task::JoinHandle;

/// The code under test, which knows nothing of clocks: it calls `cogwheel::time` as ever.
async fn connect_with_backoff(id: u64, successful_attempt: u32) -> (u64, u32, Instant) {
    let mut pause = Duration::from_secs(id);
    for attempt in 1.. {
        if attempt == successful_attempt {
            break;
        }
        sleep(pause).await;
        pause *= 2;
    }
    (id, successful_attempt, Timer::current().now())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = ManualClock::new();
    clock.timer().make_default()?;
    let begun = clock.now();

    let clients: Vec<JoinHandle<_>> = (1..=5)
        .map(|id| tokio::spawn(connect_with_backoff(id, 10)))
        .collect();

    loop {
        // All clients that have not ended sleep: only then does time go on.
        let waiting = loop {
            let running = clients.iter().filter(|task| !task.is_finished()).count();
            if clock.pending() == running {
                break running;
            }
            tokio::task::yield_now().await;
        };
        if waiting == 0 {
            break;
        }
        let stop = clock
            .advance_to_next()
            .ok_or("everybody waits for a time")?;
        println!(
            "{:>6.0?}: {} of {waiting} try again",
            stop.now - begun,
            stop.fired
        );
    }

    for client in clients {
        let (id, attempts, at) = client.await?;
        // 1 + 2 + 4 + ... + 256 pauses, exactly.
        assert_eq!(at - begun, Duration::from_secs(511 * id));
        println!(
            "client {id} was connected at attempt {attempts}, after {:?}",
            at - begun
        );
    }
    Ok(())
}
