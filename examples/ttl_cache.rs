//! A cache whose entries live for a while after they were last used.
//!
//! One task owns the map, and a `DelayQueue` of the keys tells it which entry has expired. A use
//! just moves a deadline, which wakes nobody. The clock is paused, so two minutes take no time.
//!
//! ```text
//! cargo run --example ttl_cache
//! ```

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example tells what it does, and when"
)]

use std::collections::HashMap;

use cogwheel::time::{Duration, Instant, sleep_until};
use cogwheel::{DelayQueue, delay_queue};
use futures::StreamExt;

const TTL: Duration = Duration::from_secs(30);

struct Cache<V> {
    entries: HashMap<String, (V, delay_queue::Key)>,
    expirations: DelayQueue<String>,
}

impl<V: Clone> Cache<V> {
    fn new() -> Self {
        Self {
            entries: HashMap::new(),
            expirations: DelayQueue::new(),
        }
    }

    fn insert(&mut self, name: &str, value: V) {
        let key = self.expirations.insert(name.to_owned(), TTL);
        if let Some((_, old)) = self.entries.insert(name.to_owned(), (value, key)) {
            self.expirations.remove(&old);
        }
    }

    fn get(&mut self, name: &str) -> Option<V> {
        let (value, key) = self.entries.get(name)?;
        self.expirations.reset(key, TTL);
        Some(value.clone())
    }

    /// Waits until an entry expires and removes it; `None` if there is none.
    async fn expire(&mut self) -> Option<String> {
        let name = self.expirations.next().await?.into_inner();
        self.entries.remove(&name);
        Some(name)
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let start = Instant::now();
    let seconds = || start.elapsed().as_secs();
    let mut cache = Cache::new();
    cache.insert("stone", 1);
    cache.insert("paper", 2);
    cache.insert("paper", 3);
    // A user who asks for the stone every ten seconds, for two minutes.
    let mut next_use = start + Duration::from_secs(10);
    while !cache.entries.is_empty() {
        tokio::select! {
            Some(name) = cache.expire() => println!("{:>4} s: {name} has expired", seconds()),
            () = sleep_until(next_use), if next_use <= start + Duration::from_secs(120) => {
                let stone = cache.get("stone").expect("it is used often enough");
                println!("{:>4} s: the stone is {stone}", seconds());
                next_use += Duration::from_secs(10);
            }
        }
    }
    assert!(start.elapsed() >= Duration::from_secs(150));
}
