//! The deadline that the driver sleeps until, and when it moved.
//!
//! The turn publishes its next deadline here, then sets `PARKED` on the inboxes. Whoever arms a
//! timer rings (turns the wheel itself) only if its deadline is earlier than the published one.
//!
//! Why a stale read does no harm: a push that finds `PARKED` has acquired the `park` that set it,
//! so it reads the deadline of that turn or of a later one. A later turn takes all inboxes before
//! it publishes; if it published without taking this node, the push came after, and found the bit
//! that this later turn set.

use crate::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::tick::Tick;

/// The published deadline, and whether the alarm that was set for it has gone off.
#[derive(Debug)]
pub struct Doorbell {
    parked: AtomicU64,
    off: AtomicU32,
}

impl Doorbell {
    /// The bell of a driver that sleeps for ever.
    pub fn new() -> Self {
        Self {
            parked: AtomicU64::new(Tick::MAX.count()),
            off: AtomicU32::new(0),
        }
    }

    /// Publishes the deadline of the sleep that follows. For the turn only, before it parks.
    pub fn publish(&self, deadline: Tick) {
        // ORDERING: the release of `Inbox::park` publishes this store.
        self.parked.store(deadline.count(), Ordering::Relaxed);
    }

    /// The published deadline.
    #[inline]
    pub fn deadline(&self) -> Tick {
        Tick::new(self.parked.load(Ordering::Relaxed))
    }

    /// Whether a timer of `deadline` has to wake the driver.
    #[inline]
    pub fn rings(&self, deadline: Tick) -> bool {
        // ORDERING: see the module documentation.
        deadline < self.deadline()
    }
}

impl Doorbell {
    /// Notes that the alarm has gone off. Whoever notes it tries to turn afterwards.
    pub fn go_off(&self) {
        // ORDERING: Release orders the note before the attempt to turn: the holder of the turn
        // lock that finds that attempt's note finds this one.
        self.off.store(1, Ordering::Release);
    }

    /// Whether the alarm has gone off and was not set again.
    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::Acquire) != 0
    }

    /// Clears the note before the alarm is set again. For the turn only.
    pub fn clear(&self) {
        self.off.store(0, Ordering::Relaxed);
    }
}

impl Default for Doorbell {
    fn default() -> Self {
        Self::new()
    }
}
