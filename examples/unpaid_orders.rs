//! Orders close 30 minutes after they were placed unless they are paid for before.
//!
//! The clock is paused, so it jumps from one deadline to the next and half an hour takes no time.
//!
//! ```text
//! cargo run --example unpaid_orders
//! ```

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example prints the time, and ends when it cannot go on"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cogwheel::time::{Duration, Instant, sleep};
use cogwheel::{Scheduled, Timer};

const PATIENCE: Duration = Duration::from_secs(30 * 60);

type Open = Arc<Mutex<BTreeMap<u32, Scheduled<()>>>>;

/// A shop and its unpaid orders.
struct Shop {
    timer: Timer,
    open: Open,
    start: Instant,
}

impl Shop {
    fn place(&self, order: u32) {
        let (open, start) = (self.open.clone(), self.start);
        let close = async move {
            let minutes = start.elapsed().as_secs() / 60;
            // Dropping the handle of work that runs does nothing to it.
            open.lock().unwrap().remove(&order);
            println!("{minutes:>3} min: order {order} is closed, unpaid");
        };
        let closing = self.timer.schedule(PATIENCE, close);
        self.open.lock().unwrap().insert(order, closing);
        self.say(order, "is placed");
    }

    /// Exactly one of this and the closing takes place.
    fn pay(&self, order: u32) {
        let closing = self.open.lock().unwrap().remove(&order);
        match closing.is_some_and(|closing| closing.cancel()) {
            true => self.say(order, "is paid"),
            false => self.say(order, "cannot be paid: it is closed"),
        }
    }

    fn say(&self, order: u32, what: &str) {
        let minutes = self.start.elapsed().as_secs() / 60;
        println!("{minutes:>3} min: order {order} {what}");
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let shop = Shop {
        timer: Timer::current(),
        open: Open::default(),
        start: Instant::now(),
    };
    let minutes = |count: u64| sleep(Duration::from_secs(count * 60));
    shop.place(1);
    shop.place(2);
    minutes(20).await;
    shop.pay(1);
    shop.place(3);
    minutes(15).await;
    shop.pay(2);
    minutes(60).await;
    assert!(shop.open.lock().unwrap().is_empty());
}
