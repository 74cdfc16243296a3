//! The driver's alarm, one `tokio::time::Sleep`, and its death notice, one idle task.
//!
//! Ground rules, each of which was a failure first:
//!
//! 1. The alarm's waker may run while its own turn arms it (a past deadline fires at once): it
//!    only notes that it went off and tries to turn, which leaves a note for the holder.
//! 2. The sleep is polled outside of Tokio's coop budget, or an exhausted task would leave it
//!    unarmed.
//! 3. Every re-arm is a reset and a poll, because firing consumes the waker. A sleep that is armed
//!    earlier than needed is left alone: one empty turn costs less than a reset.
//! 4. The sleep is never polled again once the timer is closed; that would panic inside the drop
//!    of its runtime.

#![forbid(unsafe_code)]

use core::fmt;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::task::Wake;

use tokio::task::coop::unconstrained;
use tokio::time::Sleep;

use crate::clock;
use crate::driver::runtime::{Driver, DriverRef};
use crate::driver::turn::Park;
use crate::primitive::Arc;
use crate::tick::Tick;

/// The longest sleep: Tokio has stalled all its timers when one lay more than 2^36 milliseconds
/// ahead of a driver that had run for 12 days (tokio#8334, mended in 1.54), and a bound costs
/// little. So a lone timer that is due in 30 years costs 30 empty turns.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Clock and alarm of one generation of a driver.
pub(crate) struct Parker {
    driver: &'static Driver,
    sleep: Pin<Box<Sleep>>,
    waker: Waker,
    /// When the sleep will go off, if it has not since.
    armed: Option<Tick>,
}

impl Parker {
    pub(super) fn new(driver: &'static Driver, sleep: Sleep) -> Self {
        Self {
            driver,
            sleep: Box::pin(sleep),
            waker: Waker::from(Arc::new(Alarm(driver))),
            armed: None,
        }
    }
}

impl Parker {
    /// Nothing is to come. An alarm that is set stays: one empty turn costs less than a new sleep,
    /// except where it would show.
    fn disarm(&mut self) {
        if self.armed.is_none() || !self.driver.is_exact() {
            return;
        }
        if let Some(sleep) = self.driver.unarmed_sleep() {
            self.sleep.set(sleep);
            self.armed = None;
        }
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker")
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}

impl Park for Parker {
    fn now(&mut self) -> Tick {
        self.driver.now()
    }

    fn is_exact(&self) -> bool {
        self.driver.is_exact()
    }

    fn arm(&mut self, now: Tick, deadline: Tick) -> bool {
        let bell = self.driver.shared().bell();
        if bell.is_off() {
            bell.clear();
            self.armed = None;
        }
        if deadline == Tick::MAX {
            self.disarm();
            return false;
        }
        let deadline = deadline.min(now.after(LONGEST));
        let exact = self.driver.is_exact();
        let stays = |armed| armed == deadline || (armed < deadline && !exact);
        if self.armed.is_some_and(stays) {
            return false;
        }
        self.sleep.as_mut().reset(clock::instant_of(deadline));
        let mut context = Context::from_waker(&self.waker);
        let poll = pin!(unconstrained(self.sleep.as_mut())).poll(&mut context);
        self.armed = poll.is_pending().then_some(deadline);
        poll.is_ready()
    }
}

/// Runs a turn when Tokio's clock says so.
struct Alarm(&'static Driver);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.alarm();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.alarm();
    }
}

/// A task that waits for ever; its drop tells that the runtime is gone.
pub(super) struct Guard(DriverRef);

impl Guard {
    pub(super) fn new(timer: DriverRef) -> Self {
        Self(timer)
    }
}

impl Future for Guard {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.close();
    }
}
