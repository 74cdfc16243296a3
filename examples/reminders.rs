//! Reminders that can be called off, snoozed and waited for.
//!
//! ```text
//! cargo run --example reminders
//! ```

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints, and shows times"
)]

use std::collections::BTreeMap;

use cogwheel::scheduled::Outcome;
use cogwheel::time::{Duration, Instant};
use cogwheel::{Scheduled, Timer};

/// The reminders that are set, by what they remind of.
struct Reminders {
    timer: Timer,
    begin: Instant,
    set: BTreeMap<&'static str, Scheduled<Duration>>,
}

impl Reminders {
    fn set(&mut self, what: &'static str, after: Duration) {
        let begin = self.begin;
        let ring = async move {
            let at = begin.elapsed();
            println!("{:>4} ms: {what}!", at.as_millis());
            at
        };
        // One that was set before under this name is replaced: its handle is dropped here.
        let reminder = self.timer.schedule(after, ring).with_name(what);
        self.set.insert(what, reminder.cancel_on_drop());
    }

    /// Tells whether it was in time for that.
    fn snooze(&self, what: &str, until: Instant) -> bool {
        let reminder = self.set.get(what);
        reminder.is_some_and(|reminder| reminder.reschedule(until))
    }

    /// Tells whether it was in time for that.
    fn call_off(&self, what: &str) -> bool {
        self.set.get(what).is_some_and(Scheduled::cancel)
    }
}

#[tokio::main]
async fn main() {
    let ms = Duration::from_millis;
    let mut reminders = Reminders {
        timer: Timer::current(),
        begin: Instant::now(),
        set: BTreeMap::new(),
    };
    reminders.set("drink some water", ms(100));
    reminders.set("stand up", ms(200));
    reminders.set("join the meeting", ms(300));
    reminders.set("go home", ms(5_000_000));
    reminders.set("go home", ms(400));

    let later = reminders.begin + ms(500);
    println!("stand up: snoozed {}", reminders.snooze("stand up", later));
    println!("meeting: off {}", reminders.call_off("join the meeting"));

    for (what, reminder) in reminders.set {
        match reminder.await {
            Outcome::Fired(at) => println!("{what}: rang after {at:?}"),
            other => println!("{what}: {other:?}"),
        }
    }
}
