//! What do I have to change to move from `tokio::time`?
//!
//! One line. Below it is code as it is written for Tokio, and then what becomes simpler.
//!
//! ```text
//! cargo run --release --example migrating_from_tokio
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]
#![allow(
    clippy::disallowed_methods,
    reason = "the clock is that of the application"
)]

use std::pin::pin;

use cogwheel::time::{self, Duration, Instant, MissedTickBehavior}; // was: use tokio::time::{…}

const TICK: Duration = Duration::from_millis(20);

/// Unchanged: pinned sleeps, `reset`, intervals, timeouts, errors.
async fn as_before() {
    let mut beat = time::interval(TICK);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut give_up = pin!(time::sleep(TICK * 5));
    let mut ticks = 0;
    loop {
        tokio::select! {
            biased;
            () = &mut give_up => break,
            _ = beat.tick() => {
                ticks += 1;
                if ticks == 3 {
                    give_up.as_mut().reset(Instant::now() + TICK * 2);
                }
            }
        }
    }
    println!("as before: {ticks} ticks");

    let error = time::timeout(TICK, std::future::pending::<()>()).await;
    println!("as before: {:?}", error.map_err(std::io::Error::from));
}

/// What may be written now.
async fn now_also() {
    // A sleep is Unpin: no `pin!`, no `Box::pin`, and it may lie in a struct.
    let mut idle = time::sleep(TICK);
    (&mut idle).await;
    idle.set_deadline(Instant::now() + TICK);
    (&mut idle).await;
    println!("now also:  a sleep in a plain variable, used twice");

    // Zero does not wait for the next millisecond, and there is no longest duration.
    let start = Instant::now();
    time::sleep(Duration::ZERO).await;
    println!("now also:  sleep(0) took {:.0?}", start.elapsed());
    let forever = time::timeout(Duration::MAX, async { "ready" }).await;
    println!("now also:  {forever:?} within Duration::MAX");
}

/// Both libraries read one clock and may stand side by side: move over file by file.
async fn side_by_side() {
    let start = Instant::now();
    let (ours, theirs) = (time::sleep(TICK), tokio::time::sleep(TICK));
    tokio::join!(ours, theirs);
    println!("together:  both sleeps over after {:.0?}", start.elapsed());
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    as_before().await;
    now_also().await;
    side_by_side().await;
}
