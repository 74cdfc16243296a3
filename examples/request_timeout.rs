//! How do I give a request five steps and one time limit?
//!
//! One [`Deadline`] is made when the request arrives and handed to every step, so that what one of
//! them uses up is missing to the next. A step may get a shorter limit of its own.
//!
//! ```text
//! cargo run --release --example request_timeout
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use cogwheel::error::Elapsed;
use cogwheel::time::{Duration, sleep};
use cogwheel::{Deadline, FutureExt as _};

const REQUEST: Duration = Duration::from_millis(200);
const CACHE: Duration = Duration::from_millis(20);

/// Answers each request in the time that the parts of its backend need.
async fn handle(name: &str, cache_ms: u64, database_ms: u64) -> Result<String, Elapsed> {
    let deadline = Deadline::after(REQUEST);

    // The cache gets 20 ms of the 200, and may fail.
    let cached = deadline.cap(CACHE).timeout(ask("cache", cache_ms)).await;
    if let Ok(answer) = cached {
        return Ok(format!("{name}: {answer}"));
    }

    // The database gets whatever is left.
    println!("{name}: no cache, {:?} left", deadline.remaining());
    let row = deadline.timeout(ask("database", database_ms)).await?;

    // Work that does not wait can ask whether it is still wanted.
    deadline.check()?;
    Ok(format!("{name}: {row}"))
}

async fn ask(part: &str, ms: u64) -> String {
    sleep(Duration::from_millis(ms)).await;
    format!("from the {part} after {ms} ms")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    for (name, cache_ms, database_ms) in [("quick", 5, 0), ("usual", 50, 100), ("slow", 50, 400)] {
        match handle(name, cache_ms, database_ms).await {
            Ok(answer) => println!("{answer}"),
            Err(elapsed) => println!("{name}: 504, {elapsed}"),
        }
    }

    // A single future needs no deadline. `lazy_timeout` costs nothing if it is ready at once.
    let limit = Duration::from_millis(50);
    println!("eager: {:?}", ask("mirror", 10).timeout(limit).await);
    println!("lazy:  {:?}", async { 42 }.lazy_timeout(limit).await);
}
