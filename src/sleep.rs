//! `Sleep`: waits until a deadline.

#![forbid(unsafe_code)]

mod making;

use core::fmt;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};
use core::time::Duration;

use futures_core::FusedFuture;
use tokio::task::coop;
use tokio::time::Instant;

pub use self::making::{sleep, sleep_until};
use crate::clock;
use crate::driver::runtime::{BOUNDED, COALESCES, DriverRef, Place};
use crate::sync::node::{Next, Polled};
use crate::sync::pool::NodeId;
use crate::tick::Tick;

/// Armed, or to be armed.
const WAITING: u32 = 0;
/// To be armed, and the deadline lay ahead when the sleep was made.
const FRESH: u32 = 1;
/// Completed.
const DONE: u32 = 2;
/// The bits of these.
const STATE: u32 = 3;

/// The last deadline: a wheel without timers has none, and says so with the tick after this.
pub(crate) const LAST: Tick = Tick::new(u64::MAX - 1);

/// A deadline this much later than the driver's is not due yet unless the driver is late.
const AHEAD: Duration = Duration::from_secs(1);
/// A driver that is this late gets help from the thread that notices.
const OVERDUE: Duration = Duration::from_millis(3);

/// A future that completes at its deadline.
///
/// Made by [`sleep`], [`sleep_until`] and [`Timer`](crate::Timer). Unlike Tokio's it is [`Unpin`]:
/// it can be polled through a plain `&mut` in a `select!` loop, stored in a struct and moved at any
/// time, also after it was polled.
///
/// It belongs to the timer it was made with, whatever runtime it is polled in.
///
/// # Completion
///
/// * It never completes early: not before the clock of its runtime has reached
///   [`deadline`](Self::deadline), to the nanosecond.
/// * A poll sees time: a sleep whose deadline has passed is complete on its next poll, even if
///   nothing has turned the wheel since. So a loop that polls without ever yielding ends. The first
///   poll of a deadline that has passed is complete, too, unless all workers have been busy for
///   more than a second: then it may be the next one.
/// * It is fused: polled again after completion it is complete again, until it is reset.
/// * It takes part in Tokio's cooperative budget, as Tokio's own timers do.
///
/// # Panics
///
/// Polling panics, with Tokio's text, once the runtime of its timer has shut down.
///
/// # Cancel safety
///
/// Dropping it at any point cancels the timer, and gives back its place if the timer has a
/// [bound](crate::timer::Builder::max_timers). The waker is released at once, or kept by the thread
/// for the next timer of the same task, one at most; see
/// [`release_wakers`](crate::timer::Builder::release_wakers).
///
/// One that is leaked, by [`core::mem::forget`] or a cycle of references, is safe and in nobody's
/// way: its waker is woken at the deadline, and its node is never used again.
///
/// # Cost
///
/// 24 bytes. Nothing is registered before the first poll that has to wait; that takes a node of 48
/// bytes from the thread's cache. Each further poll reads the clock. Dropping is one atomic
/// exchange. Moving the deadline later is one store.
///
/// # Examples
///
/// An idle timeout that every message moves:
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use cogwheel::time::{Duration, Instant, sleep};
///
/// # let (sender, mut messages) = tokio::sync::mpsc::channel::<u32>(1);
/// # tokio::spawn(async move {
/// #     for n in 0..3 {
/// #         tokio::time::sleep(Duration::from_secs(7)).await;
/// #         sender.send(n).await.unwrap();
/// #     }
/// #     std::future::pending::<()>().await;
/// # });
/// let idle = Duration::from_secs(10);
/// let mut timeout = sleep(idle);
/// let mut received = 0;
/// loop {
///     tokio::select! {
///         Some(_message) = messages.recv() => {
///             received += 1;
///             timeout.set_deadline(Instant::now() + idle);
///         }
///         () = &mut timeout => break,
///     }
/// }
/// assert_eq!(received, 3);
/// # }
/// ```
///
/// # Source
///
/// The interface is that of Tokio's `Sleep`.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Sleep {
    /// A node of this sleep's own, while it is armed.
    node: Option<NodeId>,
    deadline: Tick,
    generation: u32,
    /// The label of the driver, and below it one of the constants above.
    driver_and_state: u32,
}

impl Sleep {
    /// When it completes.
    ///
    /// Exact for what was asked for; a deadline more than 500 years ahead shows as one about that
    /// far ahead.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::time::{Duration, Instant, sleep_until};
    ///
    /// let deadline = Instant::now() + Duration::from_nanos(1_234_567);
    /// assert_eq!(sleep_until(deadline).deadline(), deadline);
    /// # }
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        clock::instant_of(self.deadline)
    }

    /// Whether it has completed, or has fired and was not polled since.
    ///
    /// This does not look at the clock. Once its timer has ended, it tells what had fired by then; but
    /// if it was not polled since, that is forgotten when a later timer in the same place ends, too.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        match self.node {
            Some(node) => self.fired(node),
            None => self.state() == DONE,
        }
    }

    /// Moves the deadline, whether it has completed or not.
    ///
    /// If it is pending, the task that polled it last is woken at the new deadline; at once, if that
    /// has passed. One that has woken its task already, or has completed, must be polled again.
    /// This is Tokio's signature; [`set_deadline`](Self::set_deadline) does the same without the
    /// pin.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().set_deadline(deadline);
    }

    /// Moves the deadline, whether it has completed or not.
    ///
    /// If it is pending, the task that polled it last is woken at the new deadline; at once, if that
    /// has passed. One that has woken its task already, or has completed, must be polled again.
    ///
    /// # Cost
    ///
    /// Later: one store. Earlier: a few atomic operations, and a turn of the wheel if nothing else
    /// is due before.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use cogwheel::time::{Duration, Instant, sleep};
    ///
    /// let start = Instant::now();
    /// let mut again = sleep(Duration::from_secs(1));
    /// (&mut again).await;
    /// again.set_deadline(start + Duration::from_secs(5));
    /// assert!(!again.is_elapsed());
    /// again.await;
    /// assert_eq!(start.elapsed(), Duration::from_secs(5));
    /// # }
    /// ```
    pub fn set_deadline(&mut self, deadline: Instant) {
        self.set_tick(clock::tick_of(deadline));
    }

    pub(crate) fn tick(&self) -> Tick {
        self.deadline
    }

    /// The time on the clock that this waits for.
    pub(crate) fn now(&self) -> Tick {
        self.timer().now()
    }

    /// Whether it waits on `timer`.
    pub(crate) fn is_of(&self, timer: DriverRef) -> bool {
        self.timer() == timer
    }

    #[inline]
    pub(crate) fn set_tick(&mut self, deadline: Tick) {
        let deadline = deadline.min(LAST);
        let old = self.target();
        self.deadline = deadline;
        let deadline = self.target();
        match self.node {
            // Later needs neither the thread's cache nor an inbox, nor even the driver.
            Some(node) if deadline >= old => {
                let next = node.node().reset(old, deadline);
                debug_assert_eq!(next, Next::Settled);
                DriverRef::count_reset(self.driver_and_state);
            }
            Some(node) => self.timer().reset(node, old, deadline),
            None => self.set_state(WAITING),
        }
    }

    #[inline]
    fn timer(&self) -> DriverRef {
        DriverRef::of_label(self.driver_and_state, self.generation)
    }

    /// When it is to be woken: at its deadline, or after that at the timer's next common wake-up.
    #[inline]
    fn target(&self) -> Tick {
        if self.coalesces() {
            self.timer().coalesced(self.deadline).min(LAST)
        } else {
            self.deadline
        }
    }

    #[inline]
    fn coalesces(&self) -> bool {
        self.driver_and_state & COALESCES != 0
    }

    #[inline]
    fn state(&self) -> u32 {
        self.driver_and_state & STATE
    }

    #[inline]
    fn set_state(&mut self, state: u32) {
        self.driver_and_state = self.driver_and_state & !STATE | state;
    }

    /// Whether this node has fired for the deadline that this sleep has now.
    fn fired(&self, node: NodeId) -> bool {
        node.node().has_fired() && self.deadline <= self.timer().elapsed()
    }
}

// === polling ===

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !coop::has_budget_remaining() {
            // Wakes the task again after the others had their turn.
            ready!(pin!(coop::consume_budget()).poll(cx));
        }
        ready!(self.poll_deadline(cx));
        // One unit of the budget for each completion; there was one left.
        let _ = pin!(coop::consume_budget()).poll(cx);
        Poll::Ready(())
    }
}

impl Sleep {
    #[inline]
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(polled) = self.try_poll(cx) else {
            panic!("{}", self.timer().closed_text());
        };
        polled
    }

    /// Polls regardless of the task's budget; `None` if the timer is closed.
    #[inline]
    pub(crate) fn try_poll(&mut self, cx: &mut Context<'_>) -> Option<Poll<()>> {
        let timer = self.timer();
        if timer.is_closed() {
            return self.poll_closed();
        }
        match self.node {
            Some(node) => self.poll_armed(timer, node, cx),
            None if self.state() == DONE => Some(Poll::Ready(())),
            None => self.arm(timer, cx),
        }
    }

    /// A timer with a clock of its own completes what was due when it was closed.
    #[cold]
    fn poll_closed(&mut self) -> Option<Poll<()>> {
        if self.deadline > self.timer().end() {
            return None;
        }
        if let Some(node) = self.node {
            return Some(self.complete(node));
        }
        self.set_state(DONE);
        Some(Poll::Ready(()))
    }

    /// The first poll, or the first since the deadline was moved after completion.
    #[inline]
    fn arm(&mut self, timer: DriverRef, cx: &mut Context<'_>) -> Option<Poll<()>> {
        if self.may_be_due(timer) && self.is_due(timer) {
            self.set_state(DONE);
            return Some(Poll::Ready(()));
        }
        let Some((node, turned)) = timer.arm(self.target(), cx.waker()) else {
            return self.poll_closed();
        };
        self.node = Some(node);
        self.set_state(WAITING);
        // That turn has fired it if it became due just now. Any other wakes the task.
        if turned && self.fired(node) {
            return Some(self.complete(node));
        }
        Some(Poll::Pending)
    }

    /// Whether the clock has to be read before this is armed.
    ///
    /// Not if it can only be due while the driver is a second late, on a clock that does not jump;
    /// and not if the deadline lay ahead just now and the turn that will be run for it finds out. A
    /// turn for a common wake-up does not: that lies after the deadline.
    #[inline]
    fn may_be_due(&self, timer: DriverRef) -> bool {
        let parked = timer.parked();
        let fresh = self.state() == FRESH;
        if self.deadline >= parked.after(AHEAD) {
            return !fresh && timer.clock_may_jump();
        }
        !fresh || parked <= self.deadline || self.coalesces()
    }

    fn poll_armed(
        &mut self,
        timer: DriverRef,
        node: NodeId,
        cx: &mut Context<'_>,
    ) -> Option<Poll<()>> {
        match node.node().register(cx.waker()) {
            Polled::Armed if self.is_due(timer) => Some(self.complete(node)),
            Polled::Armed => Some(Poll::Pending),
            Polled::Fired if self.fired(node) => Some(self.complete(node)),
            Polled::Fired => {
                // It fired for a deadline that has been moved since.
                self.node = None;
                timer.cancel(node);
                self.arm(timer, cx)
            }
        }
    }

    /// Whether the deadline has come.
    fn is_due(&self, timer: DriverRef) -> bool {
        let now = timer.now();
        help(timer, now);
        self.deadline <= now
    }

    fn complete(&mut self, node: NodeId) -> Poll<()> {
        self.node = None;
        self.set_state(DONE);
        self.timer().complete(node);
        Poll::Ready(())
    }
}

/// Turns a wheel that is overdue: all workers are busy, or somebody would have.
#[inline]
fn help(timer: DriverRef, now: Tick) {
    if now > timer.parked().after(OVERDUE) {
        timer.turn();
    }
}
impl FusedFuture for Sleep {
    /// True after completion, until the deadline is moved.
    fn is_terminated(&self) -> bool {
        self.state() == DONE
    }
}

impl Drop for Sleep {
    #[inline]
    fn drop(&mut self) {
        if self.driver_and_state & BOUNDED != 0 {
            return self.leave();
        }
        if let Some(node) = self.node {
            self.timer().cancel(node);
        }
    }
}

impl Sleep {
    /// The drop of a sleep that has a place.
    #[cold]
    fn leave(&self) {
        // PANIC: cancelling drops a waker; the place is given back whatever that does.
        let _place = Place(self.timer());
        if let Some(node) = self.node {
            self.timer().cancel(node);
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline())
            .field("elapsed", &self.is_elapsed())
            .finish_non_exhaustive()
    }
}
