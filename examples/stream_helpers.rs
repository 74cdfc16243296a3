//! Streams that know about time: a search box that asks once its user pauses, a log that is written
//! in batches, and a sensor whose silence is noticed.
//!
//! The clock is paused, so all the waiting takes no time.
//!
//! ```text
//! cargo run --features stream --example stream_helpers
//! ```

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints the time"
)]

use cogwheel::StreamExt as _;
use cogwheel::time::{Duration, Instant, sleep};
use futures::StreamExt as _;
use futures::channel::mpsc;
use futures::stream::Stream;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Gives each item after its pause.
fn played<T: Send + 'static>(script: Vec<(u64, T)>) -> impl Stream<Item = T> + Unpin {
    let (sender, receiver) = mpsc::unbounded();
    tokio::spawn(async move {
        for (pause, item) in script {
            sleep(ms(pause)).await;
            if sender.unbounded_send(item).is_err() {
                return;
            }
        }
    });
    receiver
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let start = Instant::now();
    let at = || start.elapsed().as_millis();

    let keys = played(vec![(0, "c"), (80, "co"), (90, "cog"), (700, "cogs")]);
    let mut searches = keys.debounce(ms(200));
    while let Some(text) = searches.next().await {
        println!("{:>5} ms: search for {text:?}", at());
    }

    let lines = played((1..=7).map(|line| (40, line)).collect());
    let mut batches = lines.chunks_timeout(3, ms(100));
    let mut written = 0;
    while let Some(batch) = batches.next().await {
        println!("{:>5} ms: write lines {batch:?}", at());
        written += batch.len();
    }
    assert_eq!(written, 7);

    let readings = played(vec![(100, 21.5), (900, 22.0), (100, 22.5)]);
    let mut watched = readings.timeout(ms(300));
    let mut silences = 0;
    while let Some(reading) = watched.next().await {
        match reading {
            Ok(degrees) => println!("{:>5} ms: {degrees} degrees", at()),
            Err(_) => {
                silences += 1;
                println!("{:>5} ms: the sensor is silent", at());
            }
        }
    }
    assert_eq!(silences, 1);
}
