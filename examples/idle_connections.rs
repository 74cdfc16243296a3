//! How do I close connections that have been silent for too long?
//!
//! Each connection keeps one [`Sleep`](cogwheel::time::Sleep) and moves its deadline with every
//! message. Moving it later is one store, so a busy connection costs the timer nothing: the wheel
//! finds out when it would have fired.
//!
//! ```text
//! cargo run --release --example idle_connections
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]
#![allow(
    clippy::disallowed_methods,
    reason = "the clock is that of the application"
)]

use cogwheel::time::{Duration, Instant, sleep};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinSet, yield_now};

const IDLE: Duration = Duration::from_millis(250);
const CONNECTIONS: u64 = 1_000;
const MESSAGES: u64 = 100;

/// Serves one connection until its client is silent; tells how many messages it had, and for how
/// long it was silent.
async fn serve(mut messages: Receiver<Instant>) -> (u64, Duration) {
    let mut latest = Instant::now();
    let mut idle = sleep(IDLE); // no pinning: it is Unpin
    let mut served = 0;
    loop {
        tokio::select! {
            biased;
            Some(arrived) = messages.recv() => {
                served += 1;
                latest = arrived;
                idle.set_deadline(arrived + IDLE);
            }
            () = &mut idle => return (served, latest.elapsed()),
        }
    }
}

#[tokio::main]
async fn main() {
    let start = Instant::now();
    let mut connections = JoinSet::new();
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (client, messages) = channel(4);
        connections.spawn(serve(messages));
        clients.spawn(async move {
            for _ in 0..MESSAGES {
                if client.send(Instant::now()).await.is_err() {
                    break;
                }
                yield_now().await;
            }
            client // stays open, and silent
        });
    }
    let _silent = clients.join_all().await;
    let total = CONNECTIONS * MESSAGES;
    println!(
        "{total} messages, each of which moved a deadline, in {:.0?}",
        start.elapsed()
    );

    let closed = connections.join_all().await;
    let served: u64 = closed.iter().map(|(served, _)| served).sum();
    println!("{served} served; all {CONNECTIONS} connections closed for silence");
    let silences = || closed.iter().map(|(_, silence)| *silence);
    let least = silences().min().unwrap_or_default();
    let most = silences().max().unwrap_or_default();
    println!("the limit is {IDLE:?}; the silences lasted {least:.1?} to {most:.1?}");
}
