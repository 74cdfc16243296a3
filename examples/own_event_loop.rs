//! The wheel alone, in an event loop of one's own: no async, no Tokio, only the standard library.
//!
//! The loop waits for a message or for the next deadline, whichever is first, as a loop around
//! `epoll` would. Requests that are not answered in time are given up.
//!
//! ```text
//! cargo run --example own_event_loop
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example prints, reads the clock, and ends when it cannot go on"
)]

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use cogwheel::{Tick, Wheel};

const PATIENCE: Duration = Duration::from_millis(300);

fn main() {
    // A tick of the wheel is whatever its owner says: here a nanosecond since the start.
    let start = Instant::now();
    let now = || Tick::ZERO.after(start.elapsed());
    let mut wheel = Wheel::new();
    let mut open = BTreeMap::new();

    // The other side answers request n after n * 100 ms.
    let (answers, inbox) = mpsc::channel();
    for request in 1_u32..=5 {
        open.insert(request, wheel.insert(now().after(PATIENCE), request));
        let answers = answers.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(100) * request - Duration::from_millis(50));
            // The loop may have given up on it.
            let _ = answers.send(request);
        });
    }
    drop(answers);

    let (mut answered, mut given_up) = (0, 0);
    while let Some(next) = wheel.next_deadline() {
        match inbox.recv_timeout(next.since(now())) {
            // Still waited for: take its timer off the wheel.
            Ok(request) => {
                if let Some(key) = open.remove(&request) {
                    wheel.remove(key);
                    answered += 1;
                    println!("{:>4} ms: answer {request}", start.elapsed().as_millis());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(next.since(now())),
        }
        wheel.advance(now());
        while let Some(expired) = wheel.pop() {
            open.remove(&expired.value);
            given_up += 1;
            let at = start.elapsed().as_millis();
            println!("{at:>4} ms: no answer to {}", expired.value);
        }
    }
    assert!(open.is_empty() && wheel.is_empty());
    assert_eq!(answered + given_up, 5);
}
