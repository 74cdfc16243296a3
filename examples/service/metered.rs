//! The timers in use, counted: `sleep`, `timeout` and `interval` as the service calls them.
//!
//! This file is compiled twice, once below `on_tokio` and once below `on_cogwheel`; `super::time`
//! is the one difference.

use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::time::error::Elapsed;
use super::time::{self, Duration, Instant, MissedTickBehavior};
use crate::meter::{Meter, Ticket};

/// The counts of this kind of timer.
pub(crate) static METER: LazyLock<Meter> = LazyLock::new(Meter::new);

/// Completes after `duration`.
pub(crate) fn sleep(duration: Duration) -> Sleep {
    let deadline = Instant::now() + duration;
    Sleep {
        sleep: time::sleep_until(deadline),
        ticket: Ticket::new(&METER, deadline),
    }
}

pin_project! {
    /// A counted `Sleep`.
    pub(crate) struct Sleep {
        #[pin]
        sleep: time::Sleep,
        ticket: Ticket,
    }
}

impl Sleep {
    /// Moves the deadline.
    pub(crate) fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        this.sleep.reset(deadline);
        this.ticket.arm(deadline);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        ready!(this.sleep.poll(cx));
        this.ticket.fire();
        Poll::Ready(())
    }
}

/// The output of `future`, unless it takes longer than `duration`.
pub(crate) async fn timeout<F: Future>(
    duration: Duration,
    future: F,
) -> Result<F::Output, Elapsed> {
    let deadline = Instant::now() + duration;
    let mut ticket = Ticket::new(&METER, deadline);
    let result = time::timeout_at(deadline, future).await;
    if result.is_err() {
        ticket.fire();
    }
    result
}

/// Ticks now and then every `period`; a late tick moves the ones after it.
pub(crate) fn interval(period: Duration) -> Interval {
    let first = Instant::now();
    let mut interval = time::interval_at(first, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Interval {
        interval,
        ticket: Ticket::new(&METER, first),
    }
}

/// A counted `Interval`: each tick is a timer that fires and a new one that is created.
pub(crate) struct Interval {
    interval: time::Interval,
    ticket: Ticket,
}

impl Interval {
    /// Waits for the next tick.
    pub(crate) async fn tick(&mut self) {
        let scheduled = self.interval.tick().await;
        self.ticket.fire_at(scheduled);
        self.ticket.arm(scheduled + self.interval.period());
    }
}
