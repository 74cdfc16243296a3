//! `ManualClock`: time that moves when you say so.

#![forbid(unsafe_code)]

use core::fmt;
use core::time::Duration;

use tokio::time::Instant;

use crate::clock;
use crate::driver::runtime::DriverRef;
use crate::primitive::{Arc, AtomicU64, Ordering};
use crate::tick::Tick;
use crate::timer::Timer;

/// The clock of a timer that is driven by hand.
///
/// Code that is given the [`timer`](Self::timer), or runs where it was
/// [made the default](Timer::make_default), waits for this clock: in tasks of a runtime with any
/// number of threads, on plain threads, with no runtime at all. The clock never moves by itself,
/// and it cannot be moved back. It begins at the time at which it is made.
///
/// # Moving it
///
/// The clock goes from deadline to deadline and stops at each, so timers fire in the order of their
/// deadlines, and each wake-up happens while [`now`](Self::now) is exactly its deadline. Timers of
/// equal deadlines fire at the same stop, in no promised order. A timer that a *waker* arms at such
/// a stop, itself, fires in the same call if it is due before the end. A *task* is only woken: it
/// runs when its runtime lets it, mostly after the call, and what it arms counts from where the
/// clock stands then. So where a task sleeps again and again, move the clock with
/// [`advance_to_next`](Self::advance_to_next), and let it arrive in between: wait until
/// [`pending`](Self::pending) says that all who will wait do.
///
/// Cancelled timers are no stops. Wakers run on the thread that moves the clock, before the call
/// returns, unless another thread arms a timer at the same moment: then that one may run some. Of
/// two threads that move the clock at once, the farther target is where it stands in the end. A
/// waker may move it as well; the call that runs the waker then fires what is due.
///
/// # Closing
///
/// Clones share the clock. With the last of them goes the timer: nobody could move it any more. It
/// is [closed](Timer::close) then, as [`close`](Self::close) does at any time: what is pending is
/// woken and panics when it is polled, and nothing hangs.
///
/// # Cost
///
/// A stop is one turn of the wheel.
///
/// # Examples
///
/// ```
/// use cogwheel::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let timer = clock.timer();
/// let begun = clock.now();
/// let waiter = std::thread::spawn(move || {
///     futures::executor::block_on(timer.sleep(Duration::from_secs(3_600)));
///     timer.now()
/// });
/// while clock.pending() == 0 {
///     std::thread::yield_now();
/// }
/// let stop = clock.advance_to_next().unwrap();
/// assert_eq!((stop.now, stop.fired), (begun + Duration::from_secs(3_600), 1));
/// assert_eq!(waiter.join().unwrap(), stop.now);
/// ```
#[derive(Clone)]
pub struct ManualClock {
    hand: Arc<Hand>,
}

/// What all clones of a clock share; its drop closes the timer.
struct Hand {
    driver: DriverRef,
    /// Where the clock stands, for when the driver is another's.
    time: AtomicU64,
}

/// What moving a [`ManualClock`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advanced {
    /// How many pending timers have fired.
    pub fired: usize,
    /// Where the clock stands.
    pub now: Instant,
}

impl ManualClock {
    /// A clock that stands at the present time, and its timer.
    ///
    /// [`Builder::build_manual`](crate::timer::Builder::build_manual) offers choices.
    #[must_use]
    pub fn new() -> Self {
        Timer::builder().build_manual()
    }

    pub(crate) fn of(driver: DriverRef, start: Tick) -> Self {
        let time = AtomicU64::new(start.count());
        Self {
            hand: Arc::new(Hand { driver, time }),
        }
    }

    /// A handle to the timer of this clock. It does not keep the clock: see [above](Self#closing).
    #[must_use]
    pub fn timer(&self) -> Timer {
        Timer::of(self.hand.driver)
    }

    /// Where the clock stands. Never earlier than any call saw it before.
    #[must_use]
    pub fn now(&self) -> Instant {
        clock::instant_of(self.hand.now())
    }

    /// Moves the clock by `duration` and fires what is due by then.
    ///
    /// One that overflows moves it to the end of all time, where no deadline that was meant as
    /// "never" lies yet. On a closed clock nothing happens, in this and the other methods.
    ///
    /// # Examples
    ///
    /// ```
    /// use cogwheel::ManualClock;
    /// use std::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let begun = clock.now();
    /// let moved = clock.advance(Duration::from_nanos(1_500));
    /// assert_eq!(moved.now, begun + Duration::from_nanos(1_500));
    /// assert_eq!(moved.fired, 0);
    /// ```
    pub fn advance(&self, duration: Duration) -> Advanced {
        self.hand.advance_to(self.hand.now().after(duration))
    }

    /// Moves the clock to `target` and fires what is due by then.
    ///
    /// A `target` that is not ahead leaves the clock where it is; what is due already fires.
    pub fn advance_to(&self, target: Instant) -> Advanced {
        self.hand.advance_to(clock::tick_of(target))
    }

    /// Moves the clock to the next deadline of a pending timer and fires what is due by then.
    ///
    /// `None` if none is pending, or only such as will never come.
    pub fn advance_to_next(&self) -> Option<Advanced> {
        let next = self.hand.driver.next_deadline()?;
        Some(self.hand.advance_to(next))
    }

    /// The exact deadline that [`advance_to_next`](Self::advance_to_next) would move to.
    ///
    /// On a timer that [coalesces](crate::timer::Builder::coalesce), the wake-up.
    ///
    /// # Cost
    ///
    /// A walk over the timers that lie near the next deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.hand.driver.next_deadline().map(clock::instant_of)
    }

    /// How many timers are pending: armed by a poll, neither fired nor dropped.
    ///
    /// # Cost
    ///
    /// A look at as many nodes as were ever in use at once.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.hand.driver.armed()
    }

    /// Closes the timer of this clock, as [`Timer::close`] does.
    pub fn close(&self) {
        self.hand.driver.close();
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock")
            .field("now", &self.now())
            .field("closed", &self.hand.driver.is_closed())
            .finish_non_exhaustive()
    }
}

impl Hand {
    fn now(&self) -> Tick {
        let own = self.time.load(Ordering::Acquire);
        // Inside of a step the driver's clock may be ahead.
        let driver = self.driver.now().count();
        let open = !self.driver.is_closed();
        Tick::new(if open { driver.max(own) } else { own })
    }

    fn advance_to(&self, target: Tick) -> Advanced {
        let (fired, now) = match self.driver.advance_to(target) {
            Some(moved) => {
                self.time.fetch_max(moved.now.count(), Ordering::AcqRel);
                (moved.fired, moved.now)
            }
            None => (0, self.now()),
        };
        Advanced {
            fired: usize::try_from(fired).unwrap_or(usize::MAX),
            now: clock::instant_of(now),
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.driver.close();
    }
}
