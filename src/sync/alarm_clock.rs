//! When a thread that does nothing but turn one timer has to wake up.
//!
//! One word, which the turn sets and the thread sleeps by:
//!
//! ```text
//! the turn                                 the thread
//!   set(deadline): exchange the word         check(now): read the word
//!   earlier than before? unpark                ahead ─► park until then, check again
//!                                              due ─► exchange it for "never" ─► turn
//! ```
//!
//! Why no wake-up is lost: `unpark` leaves a token, so a thread that has read the word before it
//! was set does not stay parked, and reads it again. A deadline that is not earlier needs no token,
//! as the thread wakes before it and then finds it. The thread exchanges the word only if it still
//! is what it read, so it never takes a deadline away that was set meanwhile.

use crate::primitive::{AtomicU64, Ordering};
use crate::tick::Tick;

/// What the thread finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Check {
    /// It is to turn now. The alarm is set no more.
    Due,
    /// It is to park until this tick, or until it is unparked, and to check again.
    Wait(Tick),
}

/// The alarm of one thread.
#[derive(Debug)]
pub struct AlarmClock {
    until: AtomicU64,
}

impl AlarmClock {
    /// An alarm that is not set.
    pub fn new() -> Self {
        Self {
            until: AtomicU64::new(Tick::MAX.count()),
        }
    }

    /// Sets the alarm; tells whether the thread has to be unparked. For the turn only.
    #[must_use = "a thread that sleeps for too long has to be unparked"]
    pub fn set(&self, deadline: Tick) -> bool {
        // ORDERING: the word carries nothing but itself. The token of `unpark` comes after it.
        let before = self.until.swap(deadline.count(), Ordering::Relaxed);
        deadline.count() < before
    }

    /// Looks at the alarm. For the thread only.
    pub fn check(&self, now: Tick) -> Check {
        // ORDERING: a thread that was unparked has acquired what came before that.
        let mut until = self.until.load(Ordering::Relaxed);
        while until <= now.count() {
            match self.until.compare_exchange(
                until,
                Tick::MAX.count(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Check::Due,
                Err(set) => until = set,
            }
        }
        Check::Wait(Tick::new(until))
    }
}

impl Default for AlarmClock {
    fn default() -> Self {
        Self::new()
    }
}
