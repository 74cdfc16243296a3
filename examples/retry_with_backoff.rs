//! How do I try again without making things worse?
//!
//! [`Backoff`] doubles the ceiling of its delays up to a cap and picks a random part of each, so
//! that clients which failed together do not come back together.
//!
//! ```text
//! cargo run --release --example retry_with_backoff
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::cell::Cell;

use cogwheel::backoff::Jitter;
use cogwheel::time::{Duration, timeout};
use cogwheel::{Backoff, Deadline};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A service that is down for its first four calls.
struct Flaky {
    calls: Cell<u32>,
}

impl Flaky {
    async fn call(&self) -> Result<&'static str, &'static str> {
        self.calls.set(self.calls.get() + 1);
        match self.calls.get() {
            1 | 2 => Err("503 service unavailable"),
            3 => std::future::pending().await, // hangs
            4 => Err("429 too many requests"),
            _ => Ok("200 ok"),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // The delays by themselves: an iterator.
    for jitter in [Jitter::None, Jitter::Equal, Jitter::Full] {
        let delays = Backoff::new(ms(10))
            .cap(ms(100))
            .jitter(jitter)
            .with_seed(1);
        let delays: Vec<u128> = delays.take(7).map(|delay| delay.as_millis()).collect();
        println!("{jitter:?}: {delays:?} ms");
    }

    // Around a call, each try with a limit of its own, and one deadline over everything.
    let service = Flaky {
        calls: Cell::new(0),
    };
    let mut backoff = Backoff::new(ms(10)).cap(ms(100)).max_attempts(8);
    let attempt = || async {
        let answer = timeout(ms(50), service.call())
            .await
            .unwrap_or(Err("no answer in 50 ms"));
        println!("try {}: {answer:?}", service.calls.get());
        answer
    };
    match Deadline::after(ms(900))
        .timeout(backoff.retry(attempt))
        .await
    {
        Ok(Ok(answer)) => println!("done: {answer}"),
        Ok(Err(gave_up)) => println!("{gave_up}"),
        Err(elapsed) => println!("{elapsed}"),
    }

    // In a loop of your own: `wait` is cancel safe, and `reset` follows a success.
    backoff.reset();
    for _ in 0..2 {
        println!("waited {:.1?}", backoff.wait().await.unwrap_or_default());
    }
}
